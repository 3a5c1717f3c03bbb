/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulated drive loses its power at a chosen instant.
 *
 * From then on it answers nothing.  Up to then a log is kept from which somebody else can tell what
 * is on the platters afterwards, and what of it the head has read: each job at the medium
 * with its time, and for each write what its sectors held before.
 */
#ifndef MECHDISK_POWER_H
#define MECHDISK_POWER_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "mechdisk_engine.h"

/* What is not one of enum mde_op: what a write's sectors held before. */
#define MDX_OLD		4

/* An entry of the log, as user space reads it. */
struct mdx_record {
	/*
	 * enum mde_op: a job at the medium, see struct mde_pass; MDX_OLD: a write command began
	 * to be served, and the bytes that its sectors held before follow
	 */
	__le32 kind;
	__le32 count;	/* LBNs */
	__le64 lbn;	/* the first */
	__le64 from_ns;	/* the job, or the command's service, began */
	/* the last sector had passed; of MDX_OLD: the same, or 0 if the data went to the cache */
	__le64 to_ns;
};

/* A drive's power. */
struct mdx {
	/* private: */
	spinlock_t *lock;	/* the drive's; protects the rest */
	u64 cut_ns;	/* when it goes, CLOCK_MONOTONIC; MDE_NEVER: it stays */
	u8 *log;	/* the log; NULL until a cut is planned */
	size_t used;	/* bytes in it */
	u64 overflow;	/* entries that found no room */
};

/* A drive whose power stays. @x: its power. @lock: the drive's lock. */
void mdx_init(struct mdx *x, spinlock_t *lock);

/* Free the log. */
void mdx_exit(struct mdx *x);

/*
 * The power will go. The log begins, if it has not yet; another instant may have been planned
 * before. Context: process, sleeps. Returns 0, -EBUSY if it has gone already, or -ENOMEM.
 * @cut_ns: then.
 */
int mdx_plan(struct mdx *x, u64 cut_ns);

/*
 * The last instant that the drive lives to see. Context: any, with the drive's lock. Returns now,
 * or when the power went.
 */
u64 mdx_now(const struct mdx *x);

/* Whether the power has gone. Context: any, with the drive's lock. */
bool mdx_is_dead(const struct mdx *x);

/* Note a job at the medium. Context: any, with the drive's lock. */
void mdx_pass(void *arg, const struct mde_pass *pass);

/*
 * Note a write whose data are about to replace others. Context: process; takes the drive's lock.
 * Returns room for the bytes replaced, for the caller to fill, or NULL if no cut is planned or
 * there is no room. @pass: the write; @to_ns 0 if it is a cached one. @bytes: how much it writes.
 */
void *mdx_old(struct mdx *x, const struct mde_pass *pass, size_t bytes);

#endif /* MECHDISK_POWER_H */
