// SPDX-License-Identifier: GPL-2.0
/*
 * The mailbox between scheduler and thread: the gap before the next foreground request, and its
 * plan (freeblock paper, 4.1 and 4.3; Documentation/design.rst, The gap, the plan, and the
 * carrier). The foreground never waits for the search. Locks: fb_disk.lock.
 */
#include "disk/disk.h"
#include "disk/trace_events.h"

static void fb_gap_close(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	WRITE_ONCE(fd->mail.gen, fd->mail.gen + 1);
	fd->mail.open = false;
	fd->mail.plan.kind = FB_PLAN_NONE;
}

static void fb_gap_put(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim)
{
	fd->mail.gap = *gap;
	fd->mail.lim = *lim;
	fd->mail.open = true;
	fd->stats.gaps++;
	trace_freeblock_gap(fd, gap);
}

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
	fd->mail.shared = false;
	fb_gap_put(fd, gap, lim);
	wake_up(&fd->wait);
}

/**
 * fb_gap_ask() - have the thread ask for gaps, one after the other (fb_disk_sched_ops.next_gap)
 * @fd: the disk, locked
 * @joint: what it may cost, and the price of a turn
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_ask(struct fb_disk *fd, const struct fb_joint *joint)
{
	lockdep_assert_held(&fd->lock);
	fd->mail.asked = true;
	fd->mail.price = fb_joint_miss_price(joint);
	fd->mail.cost_ppm = joint->cost_ppm;
	wake_up(&fd->wait);
}

/**
 * fb_gap_go_on() - open the next of the gaps that the thread asks for
 * @fd: the disk, locked
 * @gap: from the previous request to one that may be next
 * @lim: limits of a plan
 *
 * Context: the thread; fb_disk.lock held.
 */
void fb_gap_go_on(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim)
{
	fb_gap_close(fd);
	fd->mail.shared = true;
	fb_gap_put(fd, gap, lim);
}

/**
 * fb_gap_settle() - say which of the gaps is used, and with which plan
 * @fd: the disk, locked
 * @gap: the gap
 * @plan: its plan, which fb_gap_plan() returns from now on; of kind FB_PLAN_NONE: there is none
 * @searched: it has been searched
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_settle(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_plan *plan,
		   bool searched)
{
	struct fb_gap_mail *mail = &fd->mail;

	fb_gap_void(fd);
	mail->gap = *gap;
	mail->plan = *plan;
	mail->plan_gen = mail->gen;
	mail->settled = searched;
	mail->value = plan->kind == FB_PLAN_NONE ? 0 : plan->value;
}

/**
 * fb_gap_void() - close the gap; its plan and a search of it become void
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_void(struct fb_disk *fd)
{
	fb_gap_close(fd);
	fd->mail.asked = false;
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
