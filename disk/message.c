// SPDX-License-Identifier: GPL-2.0
/* Messages about a disk that are due while its lock is held; see disk/parts.h. */
#include "disk/disk.h"

static void fb_message_work(struct work_struct *work)
{
	struct fb_disk *fd = container_of(work, struct fb_disk, messages.work);
	const char *due[FB_MESSAGES];
	char name[FB_NAME_LEN];
	u32 i;

	spin_lock_irq(&fd->lock);
	memcpy(due, fd->messages.due, sizeof(due));
	memset(fd->messages.due, 0, sizeof(due));
	strscpy(name, fd->name, sizeof(name));
	spin_unlock_irq(&fd->lock);
	for (i = 0; i < FB_MESSAGES && due[i]; i++)
		pr_notice("freeblock: %s: %s\n", name, due[i]);
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

/* Have a constant text printed soon, once if it is noted again before. */
void fb_message_note(struct fb_disk *fd, const char *text)
{
	u32 i = 0;

	lockdep_assert_held(&fd->lock);
	while (i < FB_MESSAGES && fd->messages.due[i] && fd->messages.due[i] != text)
		i++;
	if (i < FB_MESSAGES)
		fd->messages.due[i] = text;
	schedule_work(&fd->messages.work);
}
