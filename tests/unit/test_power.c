// SPDX-License-Identifier: GPL-2.0
/*
 * Power states and the policy that lets a drive sleep. The states are those of ACS-4, 7.3 (CHECK
 * POWER MODE) and of SPC-5's list of additional sense codes (5Eh); the times come from
 * core/power.h.
 *
 * Seen to fail with: 81h and 82h taken for sleeping (test_ata); 5Eh 05h taken for sleeping
 * (test_sense); no "p->rests++" (test_rests: reads never begin); fb_power_is_resting() false
 * (test_policy: the drive never rests); the foreground's activity not noted (test_foreground:
 * asleep for ten seconds more).
 */
#include <string.h>

#include "disk/power_answer.h"
#include "support.h"

#define SEC 1000000000ULL
#define TIMER FB_POWER_TIMER_NS

TEST(test_ata)
{
	u32 count, spins = 0;

	assert_int_equal(fb_power_of_ata(0x00), FB_POWER_STANDBY_Z);
	assert_int_equal(fb_power_of_ata(0x01), FB_POWER_STANDBY_Y);
	assert_int_equal(fb_power_of_ata(0x83), FB_POWER_IDLE_C);
	for (count = 0; count < 256; count++) {
		bool now = fb_power_of_ata(count) == FB_POWER_ACTIVE;

		assert_int_equal(now, count == 0xff || (count >= 0x80 && count <= 0x82));
		spins += now;
	}
	assert_int_equal(spins, 4);
}

TEST(test_sense)
{
	static const enum fb_power_state low[] = {
		FB_POWER_LOW, FB_POWER_ACTIVE, FB_POWER_STANDBY_Z, FB_POWER_ACTIVE,
		FB_POWER_STANDBY_Z, FB_POWER_ACTIVE, FB_POWER_ACTIVE, FB_POWER_IDLE_C,
		FB_POWER_IDLE_C, FB_POWER_STANDBY_Y, FB_POWER_STANDBY_Y, FB_POWER_UNKNOWN,
	};
	u32 ascq;

	for (ascq = 0; ascq < ARRAY_SIZE(low); ascq++)
		assert_int_equal(fb_power_of_sense(0, 0x5e, ascq), low[ascq]);
	assert_int_equal(fb_power_of_sense(0, 0x5e, 0xff), FB_POWER_UNKNOWN);
	/* nothing to say; LUN not ready, initializing command required */
	assert_int_equal(fb_power_of_sense(0, 0, 0), FB_POWER_ACTIVE);
	assert_int_equal(fb_power_of_sense(2, 4, 2), FB_POWER_STOPPED);
}

/* the disk's foreground was active until @at */
static struct fb_power after(u64 at)
{
	struct fb_power p = { .keep_awake = 0 };

	fb_power_begin(&p, 0);
	fb_power_foreground(&p, at);
	return p;
}

TEST(test_policy)
{
	u64 fg = 1000 * SEC, end = fg + TIMER;
	struct fb_power p = after(fg);

	/* reads until the foreground has been silent for ten minutes, then none for fifteen */
	assert_int_equal(fb_power_due_ns(&p, end - SEC, end - 1), 0);
	assert_null(fb_power_why(&p, end - SEC, end - 1));
	assert_int_equal(fb_power_due_ns(&p, end - SEC, end), end - SEC + 3 * TIMER / 2);
	assert_string_equal(fb_power_why(&p, end - SEC, end),
			    "resting: the drive may fall asleep");
	/* the kernel's timer */
	p.host_ns = 60 * SEC;
	assert_int_equal(fb_power_due_ns(&p, fg, fg + 60 * SEC - 1), 0);
	assert_int_equal(fb_power_due_ns(&p, fg, fg + 60 * SEC), fg + 90 * SEC);
	p.keep_awake = 1;
	assert_int_equal(fb_power_due_ns(&p, fg, fg + 100000 * SEC), 0);
}

/* A drive that does not use its rests is read in between, and always after the longest one. */
TEST(test_rests)
{
	struct fb_power p = after(0);
	u64 now = TIMER, rest_ns = 3 * TIMER / 2, rested_ns = 0;

	while (rest_ns <= 2 * FB_POWER_LONGEST_NS && fb_power_due_ns(&p, now, now)) {
		assert_int_equal(fb_power_due_ns(&p, now, now), now + rest_ns);
		/* an answer in the middle of a rest is none to the question */
		fb_power_told(&p, FB_POWER_ACTIVE, now, now + rest_ns - 1);
		assert_int_equal(fb_power_due_ns(&p, now, now + rest_ns - 1), now + rest_ns);
		rested_ns = rest_ns;
		assert_true(fb_power_must_ask(&p, now, now + rest_ns));
		fb_power_told(&p, FB_POWER_ACTIVE, now, now + rest_ns);
		now += rest_ns;
		/* the next spell is as long */
		assert_int_equal(fb_power_due_ns(&p, now + rest_ns - 1, now + rest_ns - 1), 0);
		now += rest_ns;
		rest_ns *= 2;
	}
	assert_true(rested_ns >= FB_POWER_LONGEST_NS && rested_ns < 2 * FB_POWER_LONGEST_NS);
	assert_int_equal(fb_power_due_ns(&p, now, now + 1000 * FB_POWER_LONGEST_NS), 0);
	/* until the foreground is back */
	fb_power_foreground(&p, now);
	assert_int_equal(fb_power_due_ns(&p, now, now + TIMER), now + 3 * TIMER / 2);
}

/* It is asked every ten seconds while it sleeps, and not after the foreground has woken it. */
TEST(test_foreground)
{
	struct fb_power p = after(SEC);
	u64 now = 100 * SEC;

	assert_false(fb_power_must_ask(&p, now - FB_POWER_ASK_NS, now));
	assert_true(fb_power_must_ask(&p, now - FB_POWER_ASK_NS - 1, now));
	fb_power_told(&p, FB_POWER_STANDBY_Z, SEC, now);
	assert_string_equal(fb_power_why(&p, now, now), "asleep (standby_z)");
	assert_int_equal(fb_power_due_ns(&p, now, now), now + FB_POWER_ASK_NS);
	assert_true(fb_power_must_ask(&p, now, now));
	/* the same moment as before: silence */
	fb_power_foreground(&p, SEC);
	assert_int_equal(fb_power_due_ns(&p, now, now), now + FB_POWER_ASK_NS);
	now += 3 * SEC;
	fb_power_foreground(&p, now);
	assert_int_equal(fb_power_due_ns(&p, now, now), 0);
	assert_false(fb_power_must_ask(&p, now, now));
	assert_null(fb_power_why(&p, now, now));
}

/* A command that passes by makes the question due; the answer counts for the states as they are. */
TEST(test_doubt)
{
	struct fb_power p = after(SEC);
	u64 now = 2 * SEC;

	assert_false(fb_power_must_ask(&p, now, now));
	p.doubt = true;
	assert_true(fb_power_must_ask(&p, now, now));
	assert_int_equal(fb_power_due_ns(&p, now, now), 0);
	p.doubt = false;
	fb_power_told(&p, FB_POWER_STANDBY_Y, now, now);
	assert_int_equal(fb_power_due_ns(&p, now, now), now + FB_POWER_ASK_NS);
	p.doubt = true;
	assert_int_equal(fb_power_due_ns(&p, now, now), 0);
	p.doubt = false;
	/* woken by that command: a spell as behind the foreground */
	now += 2 * TIMER;
	fb_power_told(&p, FB_POWER_ACTIVE, SEC, now);
	assert_int_equal(fb_power_due_ns(&p, now, now + TIMER - 1), 0);
	assert_int_equal(fb_power_due_ns(&p, now, now + TIMER), now + 3 * TIMER / 2);
	/* doubts do not shorten a rest */
	p.doubt = true;
	assert_int_equal(fb_power_due_ns(&p, now, now + TIMER), now + 3 * TIMER / 2);
}
