/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages about a disk that are due while its lock is held. A console may take milliseconds for
 * a line, so they are printed by a work item, without the lock and with interrupts on.
 */
#ifndef FB_MESSAGE_H
#define FB_MESSAGE_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct fb_disk;
struct fb_disk_client;

enum fb_message {
	FB_MESSAGE_NO_VERIFY,		/* the drive refuses VERIFY */
	FB_MESSAGE_NO_FUA,		/* and READ with FUA */
	FB_MESSAGE_CACHED_VERIFY,	/* VERIFY is answered from the cache */
	FB_MESSAGE_CACHED_FUA,		/* and READ with FUA */
	FB_MESSAGE_BAD_VERIFY,		/* VERIFY fails where READ does not */
	FB_MESSAGE_BAD_FUA,		/* and READ with FUA */
	FB_MESSAGE_GUARD,		/* the guard stopped free reads */
	FB_MESSAGE_MISFIT,		/* completions do not fit the model */
	FB_MESSAGE_PHASE,		/* the phase was given up */
	FB_MESSAGES,
};

/**
 * struct fb_messages - messages of a disk that are to be printed
 * @work: prints them
 * @due: a bit for each enum fb_message [L]
 */
struct fb_messages {
	struct work_struct work;
	u32 due;
};

extern const struct fb_disk_client fb_message_client;

void fb_message_note(struct fb_disk *fd, enum fb_message message);

#endif /* FB_MESSAGE_H */
