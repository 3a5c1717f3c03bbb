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

/* Mishaps that can be provoked. */
enum md_fault {
	MD_DEVICE_BUSY,	/* SCSI: queuecommand returns SCSI_MLQUEUE_DEVICE_BUSY */
	MD_HOST_BUSY,	/* SCSI: queuecommand returns SCSI_MLQUEUE_HOST_BUSY */
	MD_FULL,	/* SCSI: the command ends at once with TASK SET FULL */
	MD_HANG,	/* the command is swallowed until the error handler asks for it */
	MD_ATTENTION,	/* SCSI: the command ends at once with a unit attention */
	MD_HW_ERROR,	/* the command ends in its normal time with a hardware error */
	/* SCSI: the command is not found when the error handler wants to abort it */
	MD_DEAF,
	MD_STUBBORN,	/* SCSI: a reset of the device, or of the bus, fails */
	MD_FAULTS	/* how many there are */
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

/* A command, as far as ports have it in common. */
struct md_cmd {
	struct kthread_work work;	/* moves the data */
	struct md_run *run;	/* the drive */
	/* in md_run.hung or md_run.waking, or on a list of commands being reset */
	struct list_head node;
	struct mde_range range;	/* what it wants */
	enum md_state state;	/* protected by md_run.lock */
	u64 report_ns;	/* when it is to be reported (set at the start of its service) */
	u64 begun_ns;	/* that start */
	u64 medium_ns;	/* a write's data are on the medium; 0: in the cache */
	u32 good;	/* sectors that go well */
	u8 asc;	/* medium error after those, or 0 */
	u8 error;	/* enum mde_error, of which kind */
	bool info;	/* the error's INFORMATION is valid */
	bool hw_error;	/* ends with a hardware error */
};

/* What a drive is attached by. */
struct md_port {
	const char *name;	/* the word of the record "interface" */
	u32 faults;	/* bits of the enum md_fault that it knows */
	/* add a disk; see md_run_power_on() */
	struct md_run *(*power_on)(const struct mde_config *cfg,
				   const struct mdp_modes *saved, struct device *parent);
	/* remove it, whatever it is doing; saves mode pages if it has any */
	void (*power_off)(struct md_run *r, struct mdp_modes *saved);
	struct Scsi_Host *(*host)(struct md_run *r);	/* the drive's SCSI host */
	/*
	 * move a command's data, which are with the worker, and work out how it ends; process
	 * context, sleeps
	 */
	void (*move)(struct md_run *r, struct md_cmd *c);
	/* it ends; hard interrupt context or the worker's, without md_run.lock */
	void (*done)(struct md_run *r, struct md_cmd *c);
};

extern const struct md_port mdh_port;	/* mechdisk_scsi.c */

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

/* A powered-on drive. */
struct md_run {
	const struct md_port *port;	/* what it is attached by */
	const struct mde_config *cfg;	/* what it is */
	unsigned int id;	/* its target's number at the host */
	struct mds store;	/* its data */
	struct kthread_worker *worker;	/* moves data, SCHED_FIFO */
	struct hrtimer timer;	/* fires at the engine's next event */
	spinlock_t lock;	/* spinlock, hard interrupt context; see mechdisk_run.c */
	struct mde engine;	/* mechanics and firmware */
	/* commands by the engine's slot; NULL: nobody waits for that one */
	struct md_cmd *slot[MDE_SLOTS];
	struct list_head hung;	/* commands swallowed */
	struct list_head waking;	/* commands that reach the engine when the link is awake */
	u64 awake_ns;	/* which it is from then on */
	u32 fault[MD_FAULTS];	/* mishaps to come */
	struct mdx power;	/* whether it has any */
	struct md_counts counts;	/* statistics */
};

/* For a port's driver. */

/*
 * Power a drive on. Context: process, sleeps. Returns 0 or a negative error; then there is
 * nothing to exit. @port: what it is attached by. @cfg: what it is; must stay until
 * md_run_exit(). @number: of the host, for the worker's name.
 */
int md_run_init(struct md_run *r, const struct md_port *port, const struct mde_config *cfg,
		unsigned int number);

/* Power a drive off. Context: process, sleeps. @r: the drive; no command is in flight. */
void md_run_exit(struct md_run *r);

/* A command comes. @c: the command; nobody has it. */
void md_run_cmd_init(struct md_run *r, struct md_cmd *c);

/*
 * Hand a command that wants sectors, or a flush, to the engine. One with @at_once need not be
 * waited for. Returns 0 or -EBUSY. @r: the drive, locked.
 */
int md_run_submit(struct md_run *r, struct md_cmd *c);

/*
 * Have the worker carry a command out. @r: the drive, locked. @c: the command; the engine has no
 * part in it.
 */
void md_run_at_once(struct md_run *r, struct md_cmd *c);

/*
 * Whether the next command meets a mishap. Returns true if it does; there is one less to come
 * then. @r: the drive, locked.
 */
bool md_run_fault(struct md_run *r, enum md_fault fault);

/* Keep a command until the error handler takes it back. @r: the drive, locked. */
void md_run_swallow(struct md_run *r, struct md_cmd *c);

/*
 * Forget a command; what the head is doing for it goes on. One that is past its end stays with
 * the worker, which completes it. @r: the drive, locked.
 */
void md_run_forget(struct md_run *r, struct md_cmd *c);

/* Forget all commands that are not past their end. @r: the drive, locked. @gone: takes them. */
void md_run_forget_all(struct md_run *r, struct list_head *gone);

/* Wait for whoever may be completing a command no longer queued. Context: process, sleeps. */
void md_run_settle(struct md_run *r);

/* Switch the cache. @r: the drive, locked. */
void md_run_set_caching(struct md_run *r, const struct mde_caching *caching);

/*
 * The medium is not ready for a while; see mde_hold(). @r: the drive, locked. @ms: for how long.
 * @stood: the platters come to stand at any angle.
 */
void md_run_hold(struct md_run *r, u32 ms, bool stood);

/* Whether the drive has no command for the engine. @r: the drive, locked. */
bool md_run_is_idle(const struct md_run *r);

/*
 * Commands reach the engine when the link is awake, and not before. @r: the drive, locked. @ns:
 * so long from now.
 */
void md_run_wake_link(struct md_run *r, u64 ns);

/*
 * Fill a command's buffers with its first sectors. Context: the worker. @sgl: its buffers.
 * @nents: entries of those. @bytes: how much.
 */
void md_run_read(struct md_run *r, struct md_cmd *c, struct scatterlist *sgl,
		 unsigned int nents, u64 bytes);

/*
 * Take a command's data out of its buffers. Context: the worker. Returns 0 or -ENOMEM. @sgl: its
 * buffers. @nents: entries of those.
 */
int md_run_write(struct md_run *r, struct md_cmd *c, struct scatterlist *sgl,
		 unsigned int nents);

/* For the control files. */

/* Name of the block device. @name: set to for example "sda", or to "" if there is none. */
void md_run_disk_name(struct md_run *r, char name[MD_RUN_NAME]);

/* Counters as "key value" lines. Returns bytes written. @page: a page to fill. */
ssize_t md_run_show_stats(struct md_run *r, char *page);

/* Start counting anew; empties the journal too. */
void md_run_reset_stats(struct md_run *r);

/*
 * Plan a loss of power. From then on no command ends, and none is served.  Another instant may
 * have been planned before.  Context: process, sleeps. Returns 0, -EBUSY if it has no power any
 * more, or -ENOMEM. @us: so many microseconds from now.
 */
int md_run_cut(struct md_run *r, u64 us);

/*
 * Copy bytes of the log of a drive that has lost its power. Context: process, sleeps. Returns
 * bytes copied, or -EBUSY while it still has power. @pos: the first.
 */
ssize_t md_run_cut_log(struct md_run *r, loff_t pos, void *buf, size_t len);

#endif /* MECHDISK_RUN_H */
