// SPDX-License-Identifier: GPL-2.0
/* Gaps and their plans, from the scheduler to the search and back; see core/engine/engine.h. */
#include "core/engine/engine.h"

static void fb_gap_close(struct fb_gap_mail *mail)
{
	WRITE_ONCE(mail->gen, mail->gen + 1);
	mail->open = false;
	mail->plan.kind = FB_PLAN_NONE;
}

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

void fb_gap_ask(struct fb_gap_mail *mail, const struct fb_joint *joint)
{
	mail->asked = true;
	mail->price = fb_joint_miss_price(joint);
	mail->cost_ppm = joint->cost_ppm;
}

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

void fb_gap_void(struct fb_gap_mail *mail)
{
	fb_gap_close(mail);
	mail->asked = false;
}

const struct fb_plan *fb_gap_plan(const struct fb_gap_mail *mail)
{
	if (mail->plan.kind == FB_PLAN_NONE || mail->plan_gen != mail->gen)
		return NULL;
	return &mail->plan;
}

bool fb_gap_take(struct fb_gap_mail *mail, struct fb_lookahead *probe, u64 now_ns)
{
	bool open = mail->open;

	mail->open = false;
	if (open && mail->probing)
		mail->lim.lift = fb_lookahead_allowed(probe, mail->lim.lift, now_ns);
	return open;
}

bool fb_gap_publish(struct fb_gap_mail *mail, const struct fb_plan *plan, u32 gen)
{
	if (mail->gen != gen)
		return false;
	mail->plan = *plan;
	mail->plan_gen = gen;
	return true;
}
