/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads that must come from the medium, not from the drive's cache: how our separate reads
 * are sent, and whether the drive obeyed (Practical Scrubbing, III).
 */
#ifndef FB_VERIFY_H
#define FB_VERIFY_H

#include <linux/blk-mq.h>

#include "core/head.h"

#define FB_VERIFY_TEXT 160		/* bytes that fb_verify_describe() needs */

struct fb_free_read;
struct fb_disk;
struct fb_disk_client;

/**
 * enum fb_verify_how - how a read of ours was sent
 * @FB_VERIFY_READ: as an ordinary read, which may come from the cache
 * @FB_VERIFY_FUA: READ with FUA
 * @FB_VERIFY_COMMAND: VERIFY: nothing is transferred
 */
enum fb_verify_how {
	FB_VERIFY_READ,
	FB_VERIFY_FUA,
	FB_VERIFY_COMMAND,
};

/**
 * struct fb_verify_way - VERIFY, or READ with FUA, on a disk; all under fb_disk.lock
 * @barred: why it is not used, as a text; NULL: it is used
 * @proven: one took as long as the medium needs; none is believed before
 * @early: those that ended too early to have read the medium; halved every FB_VERIFY_FORGET
 * @watched: those whose completion time was checked
 * @failed: those in a row that failed where a READ did not
 */
struct fb_verify_way {
	const char *barred;
	bool proven;
	u32 early;
	u32 watched;
	u32 failed;
};

/**
 * struct fb_verify - how the drive can be made to read the medium; all under fb_disk.lock
 * @verify: VERIFY
 * @fua: READ with FUA
 * @sata: the drive is one: FUA is queued there and VERIFY is not, and only NCQ has FUA
 * @libata: the kernel's own library translates for it
 * @depth: the queue depth when FUA was refused
 * @refused_ns: when that was
 * @checking: a VERIFY or FUA failed, and not by the medium: READ is to tell whose fault it is
 * @check_lbn: where that was: the block if it is known; READ has read what lay before
 * @check_nsect: its sectors
 * @check_ns: when it failed
 */
struct fb_verify {
	struct fb_verify_way verify;
	struct fb_verify_way fua;
	bool sata;
	bool libata;
	u32 depth;
	u64 refused_ns;
	enum fb_verify_how checking;
	u64 check_lbn;
	u32 check_nsect;
	u64 check_ns;
};

/**
 * enum fb_verify_fault - whose fault it is that a read of ours failed
 * @FB_VERIFY_FAULT_OTHER: what may pass, or the place is not known
 * @FB_VERIFY_FAULT_MEDIUM: the medium's
 * @FB_VERIFY_FAULT_COMMAND: that command is not known: the blocks must be read in another way
 */
enum fb_verify_fault {
	FB_VERIFY_FAULT_OTHER,
	FB_VERIFY_FAULT_MEDIUM,
	FB_VERIFY_FAULT_COMMAND,
};

extern const struct fb_disk_client fb_verify_client;

enum fb_verify_how fb_verify_how(const struct fb_disk *fd);
u32 fb_verify_proof(const struct fb_disk *fd);
u32 fb_verify_least(const struct fb_disk *fd);
void fb_verify_describe(const struct fb_disk *fd, char *text, size_t size);
u32 fb_verify_max(const struct fb_disk *fd);
void fb_verify_apply(const struct fb_free_read *buf, struct request *rq);
void fb_verify_restore(struct request *rq);
void fb_verify_judge(struct fb_disk *fd, struct request *rq, const enum fb_head_verdict *verdict);
void fb_verify_place(struct fb_free_read *buf);
void fb_verify_split(struct fb_disk *fd, struct request *rq);
bool fb_verify_failed(struct request *rq);
enum fb_verify_fault fb_verify_fault(struct fb_disk *fd, const struct fb_free_read *buf);
void fb_verify_check(struct fb_disk *fd, const struct fb_free_read *buf, bool good);
void fb_verify_is_bad(struct fb_disk *fd, u64 lbn);
void fb_verify_renew(struct fb_disk *fd);
bool fb_verify_has_fua(const struct fb_disk *fd);

#endif /* FB_VERIFY_H */
