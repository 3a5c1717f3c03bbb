// SPDX-License-Identifier: GPL-2.0
/* Power states and the policy that lets a drive sleep; see core/power.h. */
#include "core/power.h"

/* SPC-5, table of sense keys and additional sense codes */
#define FB_POWER_KEY_NOT_READY 0x02
#define FB_POWER_ASC_LOW 0x5e

/* mode page 1Ah, Power Condition (SPC-5, 7.5.15) */
#define FB_POWER_PAGE 0x1a
#define FB_POWER_TICK_NS (100ULL * NSEC_PER_MSEC)

/* fields of a descriptor of the Power Conditions log, 08h (ACS-4) */
#define FB_POWER_LOG_ENABLED 0x04	/* in byte 1: the current timer is enabled */
#define FB_POWER_LOG_CURRENT 12		/* byte at which that timer is */

/* messages by enum fb_power_state, of those that hold reads */
static const char *const fb_power_name[] = {
	[FB_POWER_IDLE_C] = "asleep (idle_c)",
	[FB_POWER_STANDBY_Y] = "asleep (standby_y)",
	[FB_POWER_STANDBY_Z] = "asleep (standby_z)",
	[FB_POWER_STOPPED] = "asleep (stopped)",
	[FB_POWER_LOW] = "asleep (low power)",
	[FB_POWER_SUSPENDED] = "asleep (suspended)",
	[FB_POWER_UNKNOWN] = "asleep (no known answer)",
};

/* Does a drive in this state serve a read at once? */
bool fb_power_spins(enum fb_power_state state)
{
	return state <= FB_POWER_IDLE_B;
}

/* Translate the answer of CHECK POWER MODE (ACS-4, 7.3). @count: the count register. */
enum fb_power_state fb_power_of_ata(u8 count)
{
	switch (count) {
	case 0x00:
		return FB_POWER_STANDBY_Z;
	case 0x01:
		return FB_POWER_STANDBY_Y;
	case 0x80:
		return FB_POWER_IDLE;
	case 0x81:
		return FB_POWER_IDLE_A;
	case 0x82:
		return FB_POWER_IDLE_B;
	case 0x83:
		return FB_POWER_IDLE_C;
	case 0xff:
		return FB_POWER_ACTIVE;
	default:
		return FB_POWER_UNKNOWN;
	}
}

/* Translate the answer of REQUEST SENSE (SPC-5, annex F): key, code and its qualifier. */
enum fb_power_state fb_power_of_sense(u8 key, u8 asc, u8 ascq)
{
	/* by timer and by command */
	static const enum fb_power_state low[] = {
		[0x00] = FB_POWER_LOW,
		[0x01] = FB_POWER_IDLE_A,
		[0x02] = FB_POWER_STANDBY_Z,
		[0x03] = FB_POWER_IDLE_A,
		[0x04] = FB_POWER_STANDBY_Z,
		[0x05] = FB_POWER_IDLE_B,
		[0x06] = FB_POWER_IDLE_B,
		[0x07] = FB_POWER_IDLE_C,
		[0x08] = FB_POWER_IDLE_C,
		[0x09] = FB_POWER_STANDBY_Y,
		[0x0a] = FB_POWER_STANDBY_Y,
	};

	if (asc == FB_POWER_ASC_LOW)
		return ascq < ARRAY_SIZE(low) ? low[ascq] : FB_POWER_UNKNOWN;
	return key == FB_POWER_KEY_NOT_READY ? FB_POWER_STOPPED : FB_POWER_ACTIVE;
}

/* the shorter of two timers, 0: none; of @ticks of 100 ms */
static u64 fb_power_least_ns(u64 least_ns, u32 ticks)
{
	u64 ns = ticks * FB_POWER_TICK_NS;

	return ns && (!least_ns || ns < least_ns) ? ns : least_ns;
}

/* The shortest timer of mode page 1Ah after which a drive sleeps; 0: none, or another page. */
u64 fb_power_page_ns(const u8 *page, u32 len)
{
	/* where a timer is enabled, and where it is */
	static const struct {
		u32 byte, bit, at;
	} timers[] = {
		{ .byte = 3, .bit = 0x01, .at = 8 },	/* standby_z */
		{ .byte = 3, .bit = 0x08, .at = 16 },	/* idle_c */
		{ .byte = 2, .bit = 0x01, .at = 20 },	/* standby_y */
	};
	u64 least = 0;
	u32 i;

	if (len < 4 || (page[0] & 0x3f) != FB_POWER_PAGE)
		return 0;
	len = min_t(u32, len, page[1] + 2);
	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		const u8 *at = page + timers[i].at;

		/* before SPC-4 the page ends after standby_z */
		if (timers[i].at + 4 > len || !(page[timers[i].byte] & timers[i].bit))
			continue;
		least = fb_power_least_ns(least, (u32)at[0] << 24 | at[1] << 16 | at[2] << 8 |
					  at[3]);
	}
	return least;
}

/* The same of an ATA drive. @log: its Power Conditions log, from page 0 on. */
u64 fb_power_log_ns(const u8 *log, u32 len)
{
	/* idle_c is on page 0, standby_y and standby_z on page 1 */
	static const u32 where[] = { 128, 512 + 384, 512 + 448 };
	u64 least = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(where); i++) {
		const u8 *at = log + where[i] + FB_POWER_LOG_CURRENT;

		if (where[i] + FB_POWER_LOG_CURRENT + 4 > len ||
		    !(log[where[i] + 1] & FB_POWER_LOG_ENABLED))
			continue;
		least = fb_power_least_ns(least, at[0] | at[1] << 8 | at[2] << 16 |
					  (u32)at[3] << 24);
	}
	return least;
}

/* the time of silence after which the drive may sleep */
static u64 fb_power_timer_ns(const struct fb_power *p)
{
	u64 ns = p->drive_ns;

	if (p->host_ns && (!ns || p->host_ns < ns))
		ns = p->host_ns;
	return ns ? ns : FB_POWER_TIMER_NS;
}

/* Its timer restarts with the last read; half of it more for what is slow to look. */
static u64 fb_power_rest_ns(const struct fb_power *p)
{
	return fb_power_timer_ns(p) * 3 / 2 << p->rests;
}

/* the rest that the drive did not use was longer than any timer */
static bool fb_power_stays(const struct fb_power *p)
{
	return p->rests && fb_power_rest_ns(p) / 2 >= FB_POWER_LONGEST_NS;
}

static bool fb_power_is_resting(const struct fb_power *p, u64 now)
{
	u64 spell_ns = p->rests ? fb_power_rest_ns(p) / 2 : fb_power_timer_ns(p);

	return !p->keep_awake && !fb_power_stays(p) && now >= p->from_ns + spell_ns;
}

/* Begin a spell of idle reads. */
void fb_power_begin(struct fb_power *p, u64 now)
{
	p->state = FB_POWER_ACTIVE;
	p->from_ns = now;
	p->rests = 0;
}

/* The foreground, which wakes the drive, was last active then; as before: it is silent. */
void fb_power_foreground(struct fb_power *p, u64 fg_ns)
{
	if (fg_ns == p->fg_ns)
		return;
	p->fg_ns = fg_ns;
	fb_power_begin(p, fg_ns);
}

/* Should the drive be asked for its state before an idle read? For "touched" see core/power.h. */
bool fb_power_must_ask(const struct fb_power *p, u64 touched_ns, u64 now)
{
	/* an answer stays good for a moment though nothing was found to read then */
	if (!p->doubt && fb_power_spins(p->state) && p->asked_ns &&
	    now - p->asked_ns < FB_POWER_AGAIN_NS)
		return false;
	return p->doubt || !fb_power_spins(p->state) || fb_power_is_resting(p, now) ||
	       now - touched_ns > FB_POWER_ASK_NS;
}

/*
 * Note the drive's answer. What fb_power_doubt() said between question and answer holds: the caller
 * clears @p->doubt before it asks.
 */
void fb_power_told(struct fb_power *p, enum fb_power_state state, u64 touched_ns, u64 now)
{
	bool woken = !fb_power_spins(p->state) && fb_power_spins(state);
	bool unused = fb_power_spins(state) && fb_power_is_resting(p, now) &&
		      now >= touched_ns + fb_power_rest_ns(p);

	p->told_ns = now;
	if (woken) {
		/* by a command that is no foreground */
		fb_power_begin(p, now);
	} else if (unused) {
		p->from_ns = now;
		p->rests++;
	}
	p->state = state;
}

/* When the next idle read may be sent, or the drive asked; it may be past. */
u64 fb_power_due_ns(const struct fb_power *p, u64 touched_ns, u64 now)
{
	if (!fb_power_spins(p->state))
		return p->doubt ? 0 : p->told_ns + FB_POWER_ASK_NS;
	return fb_power_is_resting(p, now) ? touched_ns + fb_power_rest_ns(p) : 0;
}

/* Why the drive's power keeps idle reads from being sent; NULL: it does not. */
const char *fb_power_why(const struct fb_power *p, u64 touched_ns, u64 now)
{
	if (!fb_power_spins(p->state))
		return fb_power_name[p->state];
	if (fb_power_due_ns(p, touched_ns, now) > now)
		return "resting: the drive may fall asleep";
	return NULL;
}
