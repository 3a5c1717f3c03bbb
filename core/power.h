/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The power states of a drive, and when idle reads, which restart its timers, let it sleep. A
 * foreground that has been silent for as long as such a timer ends a spell of idle reads, and a
 * rest begins in which no command is sent. A drive that still spins after it has a longer timer or
 * none: another spell begins, as long as that rest, and the next rest is twice as long, up to
 * FB_POWER_LONGEST_NS. "Touched" is when a foreground request or a read of ours was last at the
 * drive. Core; the caller serialises.
 */
#ifndef FB_POWER_H
#define FB_POWER_H

#include "include/fb_shim.h"

/* After this time without a command a drive may have spun down. One asleep is asked as often. */
#define FB_POWER_ASK_NS (10ULL * NSEC_PER_SEC)
/* and not again so soon after an answer, ns */
#define FB_POWER_AGAIN_NS NSEC_PER_SEC
#define FB_POWER_TIMER_NS (600ULL * NSEC_PER_SEC)	/* what a drive's own timer may be */
/* No drive's timer is longer: hdparm -S ends at 5.5 hours. */
#define FB_POWER_LONGEST_NS (21600ULL * NSEC_PER_SEC)

/* What a drive answers, by the names of SPC-5 and ACS-4 */
enum fb_power_state {
	FB_POWER_ACTIVE,		/* it spins: active, idle, idle_a, idle_b */
	FB_POWER_IDLE_C,		/* it spins slower, or not, and takes seconds to be back */
	FB_POWER_STANDBY_Y,		/* the spindle stands, or is slow */
	FB_POWER_STANDBY_Z,		/* the spindle stands */
	FB_POWER_STOPPED,		/* not ready: it waits for START UNIT, or is on its way */
	FB_POWER_LOW,			/* low power condition, it does not say which */
	FB_POWER_SUSPENDED,		/* the kernel has suspended it */
	FB_POWER_UNKNOWN,		/* it does not answer, or in a way that no standard has */
};

/* What is known of a drive's power, and the policy; all private but the first */
struct fb_power {
	bool keep_awake;	/* setting: idle reads go on, and overdue tasks wake the drive */
	u64 host_ns;			/* the kernel's, autosuspend; 0: none */
	enum fb_power_state state;	/* the last answer, or active after a foreground request */
	u64 told_ns;			/* when it came */
	u64 asked_ns;			/* when the drive was last asked */
	bool doubt;	/* a command has passed by that may have changed the state */
	u64 fg_ns;			/* the last foreground activity that was noted here */
	u64 from_ns;			/* when the spell of idle reads began */
	u32 rests;			/* rests of this silence that the drive did not use */
};

void fb_power_begin(struct fb_power *p, u64 now);
void fb_power_foreground(struct fb_power *p, u64 fg_ns);
bool fb_power_must_ask(const struct fb_power *p, u64 touched_ns, u64 now);
void fb_power_told(struct fb_power *p, enum fb_power_state state, u64 touched_ns, u64 now);
u64 fb_power_due_ns(const struct fb_power *p, u64 touched_ns, u64 now);
const char *fb_power_why(const struct fb_power *p, u64 touched_ns, u64 now);

#endif /* FB_POWER_H */
