// SPDX-License-Identifier: GPL-2.0
/* Messages about a disk that are due while its lock is held; see disk/parts.h. */
#include "disk/disk.h"

static const char *const fb_message_text[FB_MESSAGES] = {
	[FB_MESSAGE_NO_VERIFY] = "the drive refuses VERIFY",
	[FB_MESSAGE_NO_FUA] = "the drive refuses READ with FUA",
	[FB_MESSAGE_CACHED_VERIFY] =
		"VERIFY ends too early to have read the medium and is no longer used",
	[FB_MESSAGE_CACHED_FUA] =
		"READ with FUA ends too early to have read the medium and is no longer used",
	[FB_MESSAGE_BAD_VERIFY] = "VERIFY fails where READ does not and is no longer used",
	[FB_MESSAGE_BAD_FUA] = "READ with FUA fails where READ does not and is no longer used",
	[FB_MESSAGE_GUARD] =
		"free reads cost the foreground too many revolutions and stop for a while",
	[FB_MESSAGE_MISFIT] =
		"the model is wrong, a write cache is on, or a busy host reports completions late: requests are scheduled as by mq-deadline",
	[FB_MESSAGE_PHASE] =
		"reads end at no angle of the model: it is another drive's, or the disk is a RAID or virtual; only idle time is used: measure the drive again (freeblock setup --measure)",
};

static void fb_message_work(struct work_struct *work)
{
	struct fb_disk *fd = container_of(work, struct fb_disk, messages.work);
	char name[FB_NAME_LEN];
	unsigned long due;
	u32 i;

	spin_lock_irq(&fd->lock);
	due = fd->messages.due;
	fd->messages.due = 0;
	strscpy(name, fd->name, sizeof(name));
	spin_unlock_irq(&fd->lock);
	for_each_set_bit(i, &due, FB_MESSAGES)
		pr_notice("freeblock: %s: %s\n", name, fb_message_text[i]);
}

static void fb_message_init(struct fb_disk *fd)
{
	INIT_WORK(&fd->messages.work, fb_message_work);
}

/* No scheduler is attached: nothing is noted any more. */
static void fb_message_exit(struct fb_disk *fd)
{
	flush_work(&fd->messages.work);
}

const struct fb_disk_client fb_message_client = {
	.init = fb_message_init,
	.exit = fb_message_exit,
};

/* Have a message printed soon, once if it is noted again before. */
void fb_message_note(struct fb_disk *fd, enum fb_message message)
{
	lockdep_assert_held(&fd->lock);
	fd->messages.due |= BIT(message);
	schedule_work(&fd->messages.work);
}
