// SPDX-License-Identifier: GPL-2.0
/*
 * Power states and the policy that lets a drive sleep. The states are those of ACS-4, 7.3 (CHECK
 * POWER MODE) and of SPC-5's list of additional sense codes (5Eh); the times come from
 * core/power.h.
 *
 * Seen to fail with: 81h and 82h taken for sleeping (test_ata); 5Eh 05h taken for sleeping
 * (test_sense); the timer of idle_a counted (test_page); timers that are not enabled counted
 * (test_log); no "p->rests++" (test_rests: reads never begin); fb_power_is_resting() false
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
		bool now = fb_power_spins(fb_power_of_ata(count));

		assert_int_equal(now, count == 0xff || (count >= 0x80 && count <= 0x82));
		spins += now;
	}
	assert_int_equal(spins, 4);
}

TEST(test_sense)
{
	static const enum fb_power_state low[] = {
		FB_POWER_LOW, FB_POWER_IDLE_A, FB_POWER_STANDBY_Z, FB_POWER_IDLE_A,
		FB_POWER_STANDBY_Z, FB_POWER_IDLE_B, FB_POWER_IDLE_B, FB_POWER_IDLE_C,
		FB_POWER_IDLE_C, FB_POWER_STANDBY_Y, FB_POWER_STANDBY_Y, FB_POWER_UNKNOWN,
	};
	u32 ascq;

	for (ascq = 0; ascq < ARRAY_SIZE(low); ascq++) {
		assert_int_equal(fb_power_of_sense(0, 0x5e, ascq), low[ascq]);
		assert_int_equal(fb_power_spins(low[ascq]),
				 ascq == 1 || ascq == 3 || ascq == 5 || ascq == 6);
	}
	assert_int_equal(fb_power_of_sense(0, 0x5e, 0xff), FB_POWER_UNKNOWN);
	/* nothing to say; LUN not ready, initializing command required */
	assert_int_equal(fb_power_of_sense(0, 0, 0), FB_POWER_ACTIVE);
	assert_int_equal(fb_power_of_sense(2, 4, 2), FB_POWER_STOPPED);
	assert_false(fb_power_spins(FB_POWER_STOPPED));
	assert_false(fb_power_spins(FB_POWER_SUSPENDED));
}

static void set_timer(u8 *page, u32 at, u64 ns)
{
	u64 ticks = ns / 100000000;

	page[at] = ticks >> 24;
	page[at + 1] = ticks >> 16;
	page[at + 2] = ticks >> 8;
	page[at + 3] = ticks;
}

TEST(test_page)
{
	u8 page[40] = { 0x9a, 0x26 };

	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 0);
	set_timer(page, 4, SEC);		/* idle_a */
	set_timer(page, 12, SEC);		/* idle_b */
	set_timer(page, 8, 1200 * SEC);		/* standby_z */
	set_timer(page, 16, 900 * SEC);		/* idle_c */
	set_timer(page, 20, 60 * SEC);		/* standby_y */
	page[3] = 0x06;
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 0);
	page[3] = 0x07;
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 1200 * SEC);
	page[3] = 0x0f;
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 900 * SEC);
	page[2] = 0x01;
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 60 * SEC);
	/* an old and short page, one that is cut off, a timer of 0, another page */
	page[1] = 0x0a;
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 1200 * SEC);
	assert_int_equal(fb_power_page_ns(page, 11), 0);
	set_timer(page, 8, 0);
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 0);
	set_timer(page, 8, 1200 * SEC);
	page[0] = 0x08;
	assert_int_equal(fb_power_page_ns(page, sizeof(page)), 0);
}

/* a descriptor of the ATA drive's log: its current timer, beside a default one of 1 s */
static void set_log(u8 *log, u32 at, u64 ns)
{
	u64 ds = ns / (SEC / 10);
	u32 i;

	log[at + 1] = 0xb4;
	log[at + 4] = 10;
	for (i = 0; i < 4; i++)
		log[at + 12 + i] = ds >> 8 * i;
}

TEST(test_log)
{
	static u8 log[1024];

	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 0);
	set_log(log, 0, SEC);			/* idle_a */
	set_log(log, 64, SEC);			/* idle_b */
	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 0);
	set_log(log, 512 + 448, 9000 * SEC);	/* standby_z */
	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 9000 * SEC);
	set_log(log, 128, 900 * SEC);		/* idle_c */
	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 900 * SEC);
	set_log(log, 512 + 384, 60 * SEC);	/* standby_y */
	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 60 * SEC);
	/* not enabled; cut off; of 0; the longest */
	log[512 + 384 + 1] = 0xb0;
	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 900 * SEC);
	assert_int_equal(fb_power_log_ns(log, 128 + 15), 0);
	set_log(log, 128, 0);
	assert_int_equal(fb_power_log_ns(log, 512), 0);
	set_log(log, 512 + 448, 0xffffffffULL * (SEC / 10));
	assert_int_equal(fb_power_log_ns(log, sizeof(log)), 0xffffffffULL * (SEC / 10));
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
	/* the shorter one of its own timer and the kernel's */
	p.drive_ns = 60 * SEC;
	assert_int_equal(fb_power_due_ns(&p, fg, fg + 60 * SEC - 1), 0);
	assert_int_equal(fb_power_due_ns(&p, fg, fg + 60 * SEC), fg + 90 * SEC);
	p.host_ns = 4 * SEC;
	assert_int_equal(fb_power_due_ns(&p, fg, fg + 4 * SEC), fg + 6 * SEC);
	p.host_ns = 100 * SEC;
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
		fb_power_told(&p, FB_POWER_IDLE_B, now, now + rest_ns);
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
