/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A drive that runs in the kernel, whatever it is attached by: engine, data,
 * timer, worker, mishaps.
 *
 * A command goes through these hands:
 *   port's driver   hands it to the engine
 *   service starts  the engine has decided when the command ends; a kernel
 *                   thread moves the data meanwhile, so that nothing remains
 *                   to be done at the end
 *   timer           completes it at the instant the engine named
 * Should the thread be late, it completes the command itself, and the delay
 * counts as lateness like the timer's own.
 */
#ifndef MECHDISK_RUN_H
#define MECHDISK_RUN_H

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <scsi/scsi_host.h>

#include "mechdisk_engine.h"
#include "mechdisk_pages.h"
#include "mechdisk_power.h"
#include "mechdisk_reply.h"
#include "mechdisk_store.h"

/* Room for the name of a block device, as DISK_NAME_LEN. */
#define MD_RUN_NAME	32

struct md_run;

/**
 * enum md_fault - mishaps that can be provoked
 * @MD_DEVICE_BUSY: SCSI: queuecommand returns SCSI_MLQUEUE_DEVICE_BUSY
 * @MD_HOST_BUSY: SCSI: queuecommand returns SCSI_MLQUEUE_HOST_BUSY
 * @MD_FULL: SCSI: the command ends at once with TASK SET FULL
 * @MD_HANG: the command is swallowed until the error handler asks for it
 * @MD_ATTENTION: SCSI: the command ends at once with a unit attention
 * @MD_HW_ERROR: the command ends in its normal time with a hardware error
 * @MD_DEAF: SCSI: the command is not found when the error handler wants to abort it
 * @MD_STUBBORN: SCSI: a reset of the device, or of the bus, fails
 * @MD_FAULTS: how many there are
 */
enum md_fault {
	MD_DEVICE_BUSY,
	MD_HOST_BUSY,
	MD_FULL,
	MD_HANG,
	MD_ATTENTION,
	MD_HW_ERROR,
	MD_DEAF,
	MD_STUBBORN,
	MD_FAULTS
};

/**
 * enum md_state - where a command is
 * @MD_IDLE: not ours
 * @MD_QUEUED: in the engine, or with the worker before its end
 * @MD_READY: data moved, waits for its end
 * @MD_OVERDUE: past its end, waits for the worker
 * @MD_AT_ONCE: not for the engine: ends when the worker has moved its data
 * @MD_HUNG: swallowed
 * @MD_WAKING: on its way: the link has to wake first
 */
enum md_state { MD_IDLE, MD_QUEUED, MD_READY, MD_OVERDUE, MD_AT_ONCE, MD_HUNG, MD_WAKING };

/**
 * struct md_cmd - a command, as far as ports have it in common
 * @work: moves the data
 * @run: the drive
 * @node: in md_run.hung or md_run.waking, or on a list of commands being reset
 * @range: what it wants
 * @state: protected by md_run.lock
 * @report_ns: when it is to be reported (set at the start of its service)
 * @begun_ns: that start
 * @medium_ns: a write's data are on the medium; 0: in the cache
 * @good: sectors that go well
 * @asc: medium error after those, or 0
 * @error: enum mde_error, of which kind
 * @info: the error's INFORMATION is valid
 * @hw_error: ends with a hardware error
 */
struct md_cmd {
	struct kthread_work work;
	struct md_run *run;
	struct list_head node;
	struct mde_range range;
	enum md_state state;
	u64 report_ns;
	u64 begun_ns;
	u64 medium_ns;
	u32 good;
	u8 asc;
	u8 error;
	bool info;
	bool hw_error;
};

/**
 * struct md_port - what a drive is attached by
 * @name: the word of the record "interface"
 * @faults: bits of the enum md_fault that it knows
 * @power_on: add a disk; see md_run_power_on()
 * @power_off: remove it, whatever it is doing; saves mode pages if it has any
 * @host: the drive's SCSI host
 * @move: move a command's data, which are with the worker, and work out how it
 *	ends; process context, sleeps
 * @done: it ends; hard interrupt context or the worker's, without md_run.lock
 */
struct md_port {
	const char *name;
	u32 faults;
	struct md_run *(*power_on)(const struct mde_config *cfg,
				   const struct mdp_modes *saved, struct device *parent);
	void (*power_off)(struct md_run *r, struct mdp_modes *saved);
	struct Scsi_Host *(*host)(struct md_run *r);
	void (*move)(struct md_run *r, struct md_cmd *c);
	void (*done)(struct md_run *r, struct md_cmd *c);
};

/* Counted since power-on or the last reset, as Documentation/drive-format.rst says. */
struct md_counts {
	u64 commands;
	u64 late_max;
	u64 late_sum;
	u64 late_over;
	u64 store_failures;
	u64 aborts;
	u64 resets;
	u64 urgent;		/* the rest is the port's */
	u64 wakes;
	u64 link_wakes;
};

/**
 * struct md_run - a powered-on drive
 * @port: what it is attached by
 * @cfg: what it is
 * @id: its target's number at the host
 * @store: its data
 * @worker: moves data, SCHED_FIFO
 * @timer: fires at the engine's next event
 * @lock: spinlock, hard interrupt context; see mechdisk_run.c
 * @engine: mechanics and firmware
 * @slot: commands by the engine's slot; NULL: nobody waits for that one
 * @hung: commands swallowed
 * @waking: commands that reach the engine when the link is awake
 * @awake_ns: which it is from then on
 * @fault: mishaps to come
 * @power: whether it has any
 * @counts: statistics
 */
struct md_run {
	const struct md_port *port;
	const struct mde_config *cfg;
	unsigned int id;
	struct mds store;
	struct kthread_worker *worker;
	struct hrtimer timer;
	spinlock_t lock;
	struct mde engine;
	struct md_cmd *slot[MDE_SLOTS];
	struct list_head hung;
	struct list_head waking;
	u64 awake_ns;
	u32 fault[MD_FAULTS];
	struct mdx power;
	struct md_counts counts;
};

/* For a port's driver. */

/**
 * md_run_init() - power a drive on
 * @r: the drive
 * @port: what it is attached by
 * @cfg: what it is; must stay until md_run_exit()
 * @number: of the host, for the worker's name
 *
 * Context: process, sleeps.
 * Return: 0 or a negative error; then there is nothing to exit.
 */
int md_run_init(struct md_run *r, const struct md_port *port, const struct mde_config *cfg,
		unsigned int number);

/**
 * md_run_exit() - power a drive off
 * @r: the drive; no command is in flight
 *
 * Context: process, sleeps.
 */
void md_run_exit(struct md_run *r);

/**
 * md_run_cmd_init() - a command comes
 * @r: the drive
 * @c: the command; nobody has it
 */
void md_run_cmd_init(struct md_run *r, struct md_cmd *c);

/**
 * md_run_submit() - hand a command that wants sectors, or a flush, to the engine
 * @r: the drive, locked
 * @c: the command
 *
 * One with @at_once need not be waited for.
 *
 * Return: 0 or -EBUSY.
 */
int md_run_submit(struct md_run *r, struct md_cmd *c);

/**
 * md_run_at_once() - have the worker carry a command out
 * @r: the drive, locked
 * @c: the command; the engine has no part in it
 */
void md_run_at_once(struct md_run *r, struct md_cmd *c);

/**
 * md_run_fault() - whether the next command meets a mishap
 * @r: the drive, locked
 * @fault: which
 *
 * Return: true if it does; there is one less to come then.
 */
bool md_run_fault(struct md_run *r, enum md_fault fault);

/**
 * md_run_swallow() - keep a command until the error handler takes it back
 * @r: the drive, locked
 * @c: the command
 */
void md_run_swallow(struct md_run *r, struct md_cmd *c);

/**
 * md_run_forget() - forget a command; what the head is doing for it goes on
 * @r: the drive, locked
 * @c: the command
 *
 * One that is past its end stays with the worker, which completes it.
 */
void md_run_forget(struct md_run *r, struct md_cmd *c);

/**
 * md_run_forget_all() - forget all commands that are not past their end
 * @r: the drive, locked
 * @gone: takes them
 */
void md_run_forget_all(struct md_run *r, struct list_head *gone);

/**
 * md_run_settle() - wait for whoever may be completing a command no longer queued
 * @r: the drive
 *
 * Context: process, sleeps.
 */
void md_run_settle(struct md_run *r);

/**
 * md_run_set_caching() - switch the cache
 * @r: the drive, locked
 * @caching: the new state
 */
void md_run_set_caching(struct md_run *r, const struct mde_caching *caching);

/**
 * md_run_hold() - the medium is not ready for a while; see mde_hold()
 * @r: the drive, locked
 * @ms: for how long
 * @stood: the platters come to stand at any angle
 */
void md_run_hold(struct md_run *r, u32 ms, bool stood);

/**
 * md_run_is_idle() - whether the drive has no command for the engine
 * @r: the drive, locked
 */
bool md_run_is_idle(const struct md_run *r);

/**
 * md_run_wake_link() - commands reach the engine when the link is awake, and not before
 * @r: the drive, locked
 * @ns: so long from now
 */
void md_run_wake_link(struct md_run *r, u64 ns);

/**
 * md_run_read() - fill a command's buffers with its first sectors
 * @r: the drive
 * @c: the command
 * @sgl: its buffers
 * @nents: entries of those
 * @bytes: how much
 *
 * Context: the worker.
 */
void md_run_read(struct md_run *r, struct md_cmd *c, struct scatterlist *sgl,
		 unsigned int nents, u64 bytes);

/**
 * md_run_write() - take a command's data out of its buffers
 * @r: the drive
 * @c: the command
 * @sgl: its buffers
 * @nents: entries of those
 *
 * Context: the worker.
 * Return: 0 or -ENOMEM.
 */
int md_run_write(struct md_run *r, struct md_cmd *c, struct scatterlist *sgl,
		 unsigned int nents);

/* For the control files. */

/**
 * md_run_disk_name() - name of the block device
 * @r: the drive
 * @name: set to for example "sda", or to "" if there is none
 */
void md_run_disk_name(struct md_run *r, char name[MD_RUN_NAME]);

/**
 * md_run_show_stats() - counters as "key value" lines
 * @r: the drive
 * @page: a page to fill
 *
 * Return: bytes written.
 */
ssize_t md_run_show_stats(struct md_run *r, char *page);

/**
 * md_run_reset_stats() - start counting anew; empties the journal too
 * @r: the drive
 */
void md_run_reset_stats(struct md_run *r);

/**
 * md_run_cut() - plan a loss of power
 * @r: the drive
 * @us: so many microseconds from now
 *
 * From then on no command ends, and none is served.  Another instant may have been planned
 * before.  Context: process, sleeps.
 * Return: 0, -EBUSY if it has no power any more, or -ENOMEM.
 */
int md_run_cut(struct md_run *r, u64 us);

/**
 * md_run_cut_log() - copy bytes of the log of a drive that has lost its power
 * @r: the drive
 * @pos: the first
 * @buf: where to
 * @len: how many
 *
 * Context: process, sleeps.
 * Return: bytes copied, or -EBUSY while it still has power.
 */
ssize_t md_run_cut_log(struct md_run *r, loff_t pos, void *buf, size_t len);

#endif /* MECHDISK_RUN_H */
