// SPDX-License-Identifier: GPL-2.0
/* Can the phase be found at all? See core/phase.h. */
#include "core/phase.h"

/* reads count that follow a command within so many turns: 300 ppm are 2 % of a turn by then */
#define FB_PHASE_TURNS 64

void fb_phase_init(struct fb_phase *p)
{
	memset(p, 0, sizeof(*p));
	p->pause_ns = FB_PAUSE_NS;
}

bool fb_phase_read(struct fb_phase *p, const struct fb_head *head, u64 sent_ns, u64 end_ns)
{
	u64 before_ns = p->last_ns, began_ns = max(sent_ns, before_ns);
	u64 turn_ns = dm_period_ns(head->dm);

	fb_phase_other(p, end_ns);
	if (p->off_until_ns)
		return false;
	if (fb_head_locked(head, end_ns)) {
		p->seen = 0;
		p->pause_ns = FB_PAUSE_NS;
		p->given_up = 0;
		return false;
	}
	if (began_ns - before_ns > FB_PHASE_TURNS * turn_ns)
		return false;
	p->seen += end_ns < began_ns + turn_ns / FB_HEAD_CACHE_PART ? 1 : FB_PHASE_SHORT;
	if (p->seen < FB_PHASE_READS * FB_PHASE_SHORT)
		return false;
	p->off_until_ns = end_ns + p->pause_ns;
	p->pause_ns = min_t(u64, 2 * p->pause_ns, FB_PAUSE_MAX_NS);
	p->given_up++;
	return true;
}

void fb_phase_other(struct fb_phase *p, u64 end_ns)
{
	p->last_ns = max(p->last_ns, end_ns);
}

bool fb_phase_on(struct fb_phase *p, u64 now_ns)
{
	if (!p->off_until_ns)
		return true;
	if (now_ns < p->off_until_ns)
		return false;
	p->off_until_ns = 0;
	p->seen = 0;
	return true;
}
