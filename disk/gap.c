// SPDX-License-Identifier: GPL-2.0
/*
 * The mailbox between scheduler and thread: the gap before the next foreground request, and its
 * plan (freeblock paper, 4.1 and 4.3; Documentation/design.rst, The gap, the plan, and the
 * carrier). The foreground never waits for the search. Locks: fb_disk.lock.
 */
#include "disk/disk.h"
#include "disk/trace_events.h"

/**
 * fb_gap_open() - open a new gap for the thread to search
 * @fd: the disk, locked
 * @gap: from the previous request to the next one
 * @lim: limits of a plan
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_open(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim)
{
	fb_gap_void(fd);
	fd->mail.gap = *gap;
	fd->mail.lim = *lim;
	fd->mail.open = true;
	fd->stats.gaps++;
	trace_freeblock_gap(fd, gap);
	wake_up(&fd->wait);
}

/**
 * fb_gap_void() - close the gap; its plan and a search of it become void
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_void(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	WRITE_ONCE(fd->mail.gen, fd->mail.gen + 1);
	fd->mail.open = false;
	fd->mail.plan.kind = FB_PLAN_NONE;
}

/**
 * fb_gap_plan() - get the plan for the present gap
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: the plan, or NULL.
 */
const struct fb_plan *fb_gap_plan(const struct fb_disk *fd)
{
	const struct fb_gap_mail *mail = &fd->mail;

	lockdep_assert_held(&fd->lock);
	if (mail->plan.kind == FB_PLAN_NONE || mail->plan_gen != mail->gen)
		return NULL;
	return &mail->plan;
}

/**
 * fb_gap_take() - take the open gap, to search it
 * @fd: the disk, locked
 * @gap: filled
 * @lim: filled with the limits of a plan
 *
 * Context: the thread; fb_disk.lock held. The gap is of generation fb_gap_mail.gen.
 *
 * Return: false: no gap is open.
 */
bool fb_gap_take(struct fb_disk *fd, struct fb_gap *gap, struct fb_limits *lim)
{
	bool open = fd->mail.open;

	lockdep_assert_held(&fd->lock);
	fd->mail.open = false;
	if (open && fd->mail.probing)
		fd->mail.lim.lift = fb_lookahead_allowed(&fd->lookahead, fd->mail.lim.lift,
							 ktime_get_ns());
	*gap = fd->mail.gap;
	*lim = fd->mail.lim;
	return open;
}

/**
 * fb_gap_publish() - publish the best plan so far
 * @fd: the disk
 * @plan: the plan
 * @gen: generation of the gap that it is for
 *
 * Context: no lock of ours held.
 *
 * Return: false: that gap has been voided.
 */
bool fb_gap_publish(struct fb_disk *fd, const struct fb_plan *plan, u32 gen)
{
	bool current_gap;

	spin_lock_irq(&fd->lock);
	current_gap = fd->mail.gen == gen;
	if (current_gap) {
		fd->mail.plan = *plan;
		fd->mail.plan_gen = gen;
		trace_freeblock_plan(fd, plan);
	}
	spin_unlock_irq(&fd->lock);
	return current_gap;
}

const struct fb_disk_client fb_gap_client = {
	.changed = fb_gap_void,
	.model_swapped = fb_gap_void,
};
