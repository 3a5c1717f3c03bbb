// SPDX-License-Identifier: GPL-2.0
/*
 * Gaps and their plans, from the scheduler to the search and back; see core/engine/gap.h. Core.
 */
#include "core/engine/gap.h"

static void fb_gap_close(struct fb_gap_mail *mail)
{
	WRITE_ONCE(mail->gen, mail->gen + 1);
	mail->open = false;
	mail->plan.kind = FB_PLAN_NONE;
}

/**
 * fb_gap_open() - open a gap for the search
 * @mail: state
 * @gap: from the previous request to one that may be next
 * @lim: limits of a plan
 * @shared: it is one of those that the search asks for (fb_gap_ask())
 */
void fb_gap_open(struct fb_gap_mail *mail, const struct fb_gap *gap, const struct fb_limits *lim,
		 bool shared)
{
	fb_gap_close(mail);
	mail->asked &= shared;
	mail->shared = shared;
	mail->gap = *gap;
	mail->lim = *lim;
	mail->open = true;
}

/**
 * fb_gap_ask() - have the search ask for gaps, one after the other (fb_round_next())
 * @mail: state
 * @joint: what it may cost, and the price of a turn
 */
void fb_gap_ask(struct fb_gap_mail *mail, const struct fb_joint *joint)
{
	mail->asked = true;
	mail->price = fb_joint_miss_price(joint);
	mail->cost_ppm = joint->cost_ppm;
}

/**
 * fb_gap_settle() - say which of the gaps is used, and with which plan
 * @mail: state
 * @gap: the gap
 * @plan: its plan, which fb_gap_plan() returns from now on; of kind FB_PLAN_NONE: there is none
 * @searched: it has been searched
 */
void fb_gap_settle(struct fb_gap_mail *mail, const struct fb_gap *gap, const struct fb_plan *plan,
		   bool searched)
{
	fb_gap_void(mail);
	mail->gap = *gap;
	mail->plan = *plan;
	mail->plan_gen = mail->gen;
	mail->settled = searched;
	mail->value = plan->kind == FB_PLAN_NONE ? 0 : plan->value;
}

/**
 * fb_gap_void() - close the gap; its plan and a search of it become void
 * @mail: state
 */
void fb_gap_void(struct fb_gap_mail *mail)
{
	fb_gap_close(mail);
	mail->asked = false;
}

/**
 * fb_gap_plan() - get the plan for the present gap
 * @mail: state
 *
 * Return: the plan, or NULL.
 */
const struct fb_plan *fb_gap_plan(const struct fb_gap_mail *mail)
{
	if (mail->plan.kind == FB_PLAN_NONE || mail->plan_gen != mail->gen)
		return NULL;
	return &mail->plan;
}

/**
 * fb_gap_take() - take the open gap, @mail->gap with @mail->lim, to search it
 * @mail: state
 * @probe: what is known of the drive's look-ahead
 * @now_ns: the time
 *
 * Return: false: no gap is open.
 */
bool fb_gap_take(struct fb_gap_mail *mail, struct fb_lookahead *probe, u64 now_ns)
{
	bool open = mail->open;

	mail->open = false;
	if (open && mail->probing)
		mail->lim.lift = fb_lookahead_allowed(probe, mail->lim.lift, now_ns);
	return open;
}

/**
 * fb_gap_publish() - publish the best plan so far
 * @mail: state
 * @plan: the plan
 * @gen: generation of the gap that it is for
 *
 * Return: false: that gap has been voided.
 */
bool fb_gap_publish(struct fb_gap_mail *mail, const struct fb_plan *plan, u32 gen)
{
	if (mail->gen != gen)
		return false;
	mail->plan = *plan;
	mail->plan_gen = gen;
	return true;
}
