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

/**
 * struct mdx_record - an entry of the log, as user space reads it
 * @kind: enum mde_op: a job at the medium, see struct mde_pass; MDX_OLD: a write command
 *	began to be served, and the bytes that its sectors held before follow
 * @count: LBNs
 * @lbn: the first
 * @from_ns: the job, or the command's service, began
 * @to_ns: the last sector had passed; of MDX_OLD: the same, or 0 if the data went to the
 *	cache
 */
struct mdx_record {
	__le32 kind;
	__le32 count;
	__le64 lbn;
	__le64 from_ns;
	__le64 to_ns;
};

/**
 * struct mdx - a drive's power
 * @lock: the drive's; protects the rest
 * @cut_ns: when it goes, CLOCK_MONOTONIC; MDE_NEVER: it stays
 * @log: the log; NULL until a cut is planned
 * @used: bytes in it
 * @overflow: entries that found no room
 */
struct mdx {
	/* private: */
	spinlock_t *lock;
	u64 cut_ns;
	u8 *log;
	size_t used;
	u64 overflow;
};

/**
 * mdx_init() - a drive whose power stays
 * @x: its power
 * @lock: the drive's lock
 */
void mdx_init(struct mdx *x, spinlock_t *lock);

/**
 * mdx_exit() - free the log
 * @x: the power
 */
void mdx_exit(struct mdx *x);

/**
 * mdx_plan() - the power will go
 * @x: the power
 * @cut_ns: then
 *
 * The log begins, if it has not yet; another instant may have been planned before.
 * Context: process, sleeps.
 * Return: 0, -EBUSY if it has gone already, or -ENOMEM.
 */
int mdx_plan(struct mdx *x, u64 cut_ns);

/**
 * mdx_now() - the last instant that the drive lives to see
 * @x: the power
 *
 * Context: any, with the drive's lock.
 * Return: now, or when the power went.
 */
u64 mdx_now(const struct mdx *x);

/**
 * mdx_is_dead() - whether the power has gone
 * @x: the power
 *
 * Context: any, with the drive's lock.
 */
bool mdx_is_dead(const struct mdx *x);

/**
 * mdx_pass() - note a job at the medium
 * @arg: the power
 * @pass: the job
 *
 * Context: any, with the drive's lock.
 */
void mdx_pass(void *arg, const struct mde_pass *pass);

/**
 * mdx_old() - note a write whose data are about to replace others
 * @x: the power
 * @pass: the write; @to_ns 0 if it is a cached one
 * @bytes: how much it writes
 *
 * Context: process; takes the drive's lock.
 * Return: room for the bytes replaced, for the caller to fill, or NULL if no cut is planned
 * or there is no room.
 */
void *mdx_old(struct mdx *x, const struct mde_pass *pass, size_t bytes);

#endif /* MECHDISK_POWER_H */
