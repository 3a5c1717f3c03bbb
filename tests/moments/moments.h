/* SPDX-License-Identifier: GPL-2.0 */
/*
 * moments - hard moments of a disk: a foreground that knows what each block must hold in front,
 * tasks behind, and events drawn from a seed (Documentation/tests.rst).
 *
 * Threads of the foreground and processes of tasks share a mapped file, struct shared. Every
 * 4 KiB block has one writer, the thread that its chunk belongs to; a write has a number, which
 * is in each sector. Number 0 is what the drive holds where nothing was ever written.
 *
 *	system.c	files, modules, time, words to the host
 *	front.c		the foreground
 *	behind.c	a process with a task of /dev/freeblock
 *	tasks.c		those processes, scan and scrub, from the side of the events
 *	mishaps.c	events that the drive or the machine does to us
 *	events.c	events that somebody types, and the table of all
 *	main.c		the course of a guest
 */
#ifndef MOMENTS_H
#define MOMENTS_H

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/types.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SECTOR 512
#define BLOCK 4096
#define BLOCK_SECTORS (BLOCK / SECTOR)
/* Blocks of a chunk. The foreground never asks for the last one: requests of it do not merge */
#define CHUNK 16
#define CHUNK_SECTORS (CHUNK * BLOCK_SECTORS)
/* Threads that write and read what they wrote; one more slot, for the last check */
#define WRITERS 5
#define READERS_ONLY 2
#define THREADS (WRITERS + READERS_ONLY + 1)
#define TASKS 2
#define BADS_MAX 8192
/*
 * Guest's seconds in which a command that the drive swallowed is taken back, and what waits for
 * it goes on. A VERIFY of the scrubber has 16 s, and a reset, or another's error, may come before
 */
#define HANDLED_S 150
#define NSEC 1000000000ULL
#define MSEC 1000000ULL

/* @done: number of the last write that ended well; @issued: of the last one */
struct block {
	atomic_uint done;
	atomic_uint issued;
};

/* Sectors that could not be read from @from to @to (CLOCK_MONOTONIC; 0: still) */
struct bad {
	u64 first;
	u64 count;
	u64 from;
	atomic_ullong to;
};

/* What a task's process says of itself; counted over all tasks that it had */
struct task_words {
	atomic_int pid;
	atomic_ullong begun;
	atomic_ullong finished;
	atomic_ullong stopped;
	atomic_ullong closed;
	atomic_ullong blocks;
	atomic_ullong wrong;
	/* The administrator has stopped a task, which may be this one */
	atomic_int may_stop;
	/* Wanted: 1: end when this task is over; 2: begin no task */
	atomic_int last;
};

enum finding { HANG, LEAK, WRONG, ERROR, UNTRUE, FINDINGS };

struct shared {
	u64 sectors;
	u64 blocks;
	u64 seed;
	/* Of the event that runs; errors of a disk that is gone are its own */
	atomic_int gone;
	atomic_int gen;
	char disk[32];
	atomic_int over;
	atomic_int hold;
	atomic_int starved;
	atomic_ullong starved_until;
	/* The clock is real, the drive in slow motion: what takes long is spared */
	atomic_int real;
	atomic_ullong reads;
	atomic_ullong writes;
	atomic_ullong checked;
	/* By enum finding; of WRONG, bytes */
	atomic_ullong count[FINDINGS];
	atomic_ullong own_medium;
	atomic_ullong own_gone;
	atomic_ullong own_memory;
	atomic_int open;
	/* Since when each thread waits for a request, 0: for none */
	atomic_ullong waits_since[THREADS];
	/* The longest that each waited */
	u64 longest_ms[THREADS];
	atomic_ullong hot_first;
	struct task_words task[TASKS];
	atomic_uint bads;
	struct bad bad[BADS_MAX];
	struct block block[];
};

extern struct shared *sh;

/* system.c */
u64 now_ns(void);
void rest_ms(u64 ms);
bool is_starved(u64 since);
u64 draw(u64 *state);
u64 below(u64 *state, u64 n);
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void found(enum finding kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int put(const char *path, const char *text);
int get(const char *path, char *buf, size_t size);
long long number_in(const char *path);
long long value_of(const char *path, const char *key);
char *queue_file(const char *name);
char *fb_file(const char *name);
bool exists(const char *path);
bool wait_until(u64 seconds, bool (*holds)(const void *), const void *arg);
bool is_word(const char *path, const char *word);
int module_remove(const char *name);
int module_insert(const char *path);

/* front.c */
void front_map(const char *path, u64 sectors, u64 seed);
void front_attach(const char *path);
void front_start(void);
void front_stop(void);
bool front_progress(u64 from, u64 requests, u64 seconds);
u64 front_count(void);
void front_check_all(void);
bool front_writes(u64 chunk);
bool overlaps_bad(u64 first, u64 count, u64 since, u64 around);
bool sector_is(const u8 *data, u64 lbn, u32 lo, u32 hi);

/* behind.c */
int behind_main(int argc, char **argv);

/* tasks.c */
void tasks_start(void);
void tasks_kill(void);
void tasks_end(bool finish);
int task_kill_one(unsigned int i);
int task_close_one(unsigned int i);
int tasks_wait_begun(unsigned int i, u64 than);
void jobs_start(u64 *rng);
void jobs_stop(void);
void jobs_check(u64 *rng);
long task_id(u64 *rng);

/* events.c, mishaps.c */
#define WHY 160
struct event {
	u64 *rng;
	char why[WHY];
	u64 before, before2;
	u64 first, count;
	int n;
	const char *text;
};

/* What an event must not be beside */
enum { ARMED = 1, NO_ARMS = 2, NEEDS_CPUS = 4, NEEDS_FAULTS = 8, NEEDS_SUSPEND = 32,
	NEEDS_CGROUP = 64, NO_FAULTS = 256 };

struct kind {
	const char *name;
	int (*begin)(struct event *e);
	/* Whether it has truly happened; makes an end of it in any case */
	int (*settle)(struct event *e);
	unsigned int weight;
	unsigned int flags;
};

extern const struct kind kinds[];
extern const unsigned int nr_kinds;
extern char drive[32];
extern unsigned int features;

int refused(struct event *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *drive_file(const char *name);
int schedule(void);
int settle_scheduler(void);
int model_put(const char *path);
const char *model_path(void);
void trust(void);

int begin_medium(struct event *e), settle_medium(struct event *e);
int begin_hw_error(struct event *e), begin_attention(struct event *e), begin_busy(struct event *e);
int begin_hang(struct event *e), settle_hang(struct event *e), settle_injected(struct event *e);
int begin_memory(struct event *e), settle_memory(struct event *e);
int begin_throttle(struct event *e), settle_throttle(struct event *e);
int do_lun_reset(struct event *e), do_bus_reset(struct event *e), do_host_reset(struct event *e);
int do_cpu(struct event *e), do_suspend(struct event *e);

#endif /* MOMENTS_H */
