// SPDX-License-Identifier: GPL-2.0
/*
 * Reads while the disk is idle: one is looked for when it is due, sent unless a foreground request
 * comes first, and looked for again (core/idle/reader.h, core/engine/flight.c).
 *
 * Seen to fail: see above each test.
 */
#include "engine_host.h"

#define SPAN 8		/* sectors per granule */
#define GRANULES 4096
#define WAIT_NS (10 * HOST_MS)

static struct host h;

int setup(void **state)
{
	host_init(&h);
	fb_idle_policy_set_fixed(&h.wait, WAIT_NS, 0);
	host_settle(&h);
	return 0;
}

int teardown(void **state)
{
	dm_free(h.dm);
	return 0;
}

static u64 due_ns(void)
{
	return fb_idle_reader_due_ns(&h.idle, 0, h.now);
}

/* the disk has been idle for long enough */
static void wait_until_due(void)
{
	h.now = max(h.now, due_ns());
	assert_true(due_ns() <= h.now);
}

static void offer(u64 lbn, u32 nsect)
{
	const struct fb_plan_piece p = { .lbn = lbn, .nsect = nsect };

	fb_idle_reader_offer(&h.idle, &p, h.now);
}

static struct host_rq *send_idle(void)
{
	struct host_rq *rq = host_new(&h);

	assert_true(fb_engine_idle_is_due(&h.e));
	rq->r.ours = true;
	fb_engine_send_idle(&h.e, &rq->r, h.now);
	host_sent(&h, rq);
	return rq;
}

/*
 * Seen to fail: @ready and @reading not asked; @least_ns added, not the later of two; the policy
 * told that the drive is busy with itself though nothing is read.
 */
TEST(due_once)
{
	u64 at = due_ns();

	assert_int_equal(at, h.wait.idle_ns + WAIT_NS);
	assert_int_equal(fb_idle_reader_due_ns(&h.idle, at + 5, h.now), at + 5);
	assert_int_equal(fb_idle_reader_due_ns(&h.idle, at - 5, h.now), at);
	h.wait.hold_ns = 7;
	assert_int_equal(fb_idle_reader_due_ns(&h.idle, FB_IDLE_POLICY_NEVER, h.now),
			 FB_IDLE_POLICY_NEVER);
	assert_int_equal(h.wait.hold_ns, 7);
	wait_until_due();
	offer(100000, 512);
	assert_int_equal(due_ns(), FB_IDLE_POLICY_NEVER);
	send_idle();
	assert_int_equal(due_ns(), FB_IDLE_POLICY_NEVER);
	host_run(&h);
	assert_int_equal(due_ns(), h.now);
}

/* Seen to fail: a withdrawn read that stays ready; its retry that is waited for. */
TEST(arrival_withdraws)
{
	struct fb_engine_send d;

	wait_until_due();
	offer(100000, 512);
	host_arrive(&h, 5000000, 8, false);
	assert_false(h.idle.ready);
	assert_int_equal(h.idle.retry_ns, 0);
	assert_non_null(host_next_late(&h, &d));
	assert_false(fb_engine_idle_is_due(&h.e));
	assert_int_equal(h.e.nr_idle, 0);
	host_run(&h);
	/* not the read of before: it is looked for anew, after the threshold */
	assert_false(fb_engine_idle_is_due(&h.e));
	assert_int_equal(due_ns(), h.now + WAIT_NS);
}

/* Seen to fail: sent with a free read, or a request that is held back, at the drive or pending. */
TEST(nothing_beside_it)
{
	struct host_rq *rq = host_new(&h);

	wait_until_due();
	offer(100000, 512);
	assert_true(fb_engine_idle_is_due(&h.e));
	rq->r.ours = true;
	host_send(&h, rq, FB_CAUSE_SEPARATE, 200000, 64);
	assert_false(fb_engine_idle_is_due(&h.e));
	host_run(&h);
	assert_true(fb_engine_idle_is_due(&h.e));
	rq = host_arrive(&h, 300000, 8, false);
	offer(100000, 512);
	assert_false(fb_engine_idle_is_due(&h.e));
}

/* Seen to fail: without @retry_ns in what is due; no retry of a read that could not be sent. */
TEST(retried)
{
	u64 then;

	wait_until_due();
	then = h.now + FB_IDLE_READER_RETRY_NS;
	fb_idle_reader_miss(&h.idle, h.now);
	assert_int_equal(due_ns(), then);
	h.now = then;
	/* the host could not send it, and says nothing but that it is not ready */
	offer(100000, 512);
	h.idle.ready = false;
	assert_int_equal(due_ns(), then + FB_IDLE_READER_RETRY_NS);
	h.now = due_ns();
	offer(100000, 512);
	send_idle();
	host_run(&h);
	assert_int_equal(due_ns(), h.now);
}

/* Seen to fail: a failed read judged; one that the drive spun up for; @spins_up for good. */
TEST(judged_if_good)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		wait_until_due();
		offer(100000 + 512 * i, 512);
		h.idle.spins_up = i == 1;
		h.fails = i == 2;
		send_idle();
		host_run(&h);
		assert_int_equal(h.wait.judged, i == 0 || i == 3);
		assert_false(h.idle.spins_up);
		assert_int_equal(h.wait.st.reads, i + 1);
		assert_int_equal(h.idle.used_ns, h.now);
	}
}

/* Seen to fail: a read given back that stays at the drive for the policy, or is judged. */
TEST(taken_back)
{
	struct host_rq *rq;

	wait_until_due();
	offer(100000, 512);
	rq = send_idle();
	assert_true(fb_idle_reader_is_used(&h.idle));
	host_take_back(&h, rq);
	assert_false(fb_idle_reader_is_used(&h.idle));
	assert_false(h.wait.judged);
	assert_int_equal(h.e.nr_idle, 0);
}

/* the drive's cache takes writes, and has had one */
static void with_cache(bool auto_depth)
{
	h.cache = true;
	h.e.auto_depth = auto_depth;
	fb_destage_set_cache(&h.destage, true, h.now);
	fb_engine_changed(&h.e, h.now);
	/* it is not decided yet that the drive orders */
	h.e.drive_orders = false;
	host_arrive(&h, 700000, 8, true);
}

/*
 * Seen to fail: a cached write counted as one that waits, or not as one that is held back; its end
 * told as one of the medium's.
 */
TEST(cached_write)
{
	u64 requests = h.wait.st.requests;

	with_cache(true);
	assert_false(h.wait.busy);
	assert_true(h.wait.wrote);
	assert_int_equal(h.wait.st.requests, requests);
}

/*
 * By a map the read is sent so early that it begins just behind the last write, whatever the
 * threshold, and is looked for from there; not once the head is lost. Seen to fail: a write that is
 * not noted, or before which no place is; the threshold added; the head of now; writes not lost.
 */
TEST(behind_the_last_write)
{
	const struct fb_writeback *w = &h.destage.writeback;
	struct fb_idle_order_ask ask;
	struct fb_engine_send d;
	struct dm_place at;

	h.cache = true;
	fb_destage_set_cache(&h.destage, true, h.now);
	host_arrive(&h, 5000000, 8, false);
	assert_non_null(host_next_late(&h, &d));
	host_run(&h);
	h.destage.bare_now = false;
	h.now += 2 * WAIT_NS;
	host_arrive(&h, 700000, 8, true);
	fb_engine_decide(&h.e, h.now);
	assert_non_null(host_next(&h, &d));
	assert_true(w->ends);
	assert_int_equal(w->end_lbn, 700008);
	assert_int_equal(due_ns(), w->due_ns - FB_IDLE_READER_LEAD_NS);
	fb_idle_reader_ask(&h.idle, &h.e.head, false, &at, &ask, h.now);
	assert_int_equal(at.angle, fb_head_angle(&h.e.head, w->due_ns +
						 fb_completion_overhead_ns(h.dm, false)));
	fb_engine_lose_head(&h.e);
	assert_false(w->ends);
}

TEST(cached_write_held_back)
{
	u64 requests = h.wait.st.requests;
	struct fb_engine_send d;

	wait_until_due();
	offer(100000, 512);
	send_idle();
	with_cache(false);
	assert_true(h.wait.busy);
	assert_int_equal(h.wait.st.requests, requests + 1);
	assert_int_equal(h.wait.unfollowed, 1);
	host_run(&h);
	assert_non_null(host_next_late(&h, &d));
	host_run(&h);
	assert_int_equal(h.wait.from, FB_IDLE_PLACE_ON);
	assert_false(h.wait.busy);
}

/* Seen to fail: a request that is not followed taken for one of the medium's. */
TEST(unfollowed)
{
	const struct fb_fg_req req = { .lbn = 100, .nsect = 8, .arrived_ns = h.now };

	wait_until_due();
	offer(100000, 512);
	send_idle();
	fb_engine_arrived(&h.e, NULL, &req, true, h.now);
	assert_int_equal(h.wait.unfollowed, 0);
	fb_engine_arrived(&h.e, NULL, &req, false, h.now);
	assert_int_equal(h.wait.unfollowed, 1);
	fb_engine_arrived(&h.e, NULL, NULL, true, h.now);
	assert_int_equal(h.wait.unfollowed, 2);
}

/*
 * Seen to fail: the head of a moment that is over; a head though no map is used; one size for all.
 */
TEST(asks_from_the_head)
{
	struct dm_place at, then;
	struct fb_idle_order_ask ask;
	u64 start_ns;

	wait_until_due();
	fb_idle_reader_ask(&h.idle, &h.e.head, true, &at, &ask, h.now);
	assert_true(fb_completion_idle_head(&h.e.head, h.now + FB_IDLE_ORDER_SEND_NS, false, &then,
					    &start_ns));
	assert_ptr_equal(ask.head, &at);
	assert_memory_equal(&at, &then, sizeof(at));
	assert_int_equal(ask.max_sectors, h.wait.sectors);
	assert_int_equal(ask.max_ns, fb_idle_policy_longest_ns(&h.wait));
	/* behind the foreground's last request */
	assert_true(ask.aimed);
	assert_int_equal(ask.aim, 1000000 + 47 % 7 * 1999992 + 8);
	assert_false(h.idle.destage->alone);
	fb_idle_reader_ask(&h.idle, NULL, true, &at, &ask, h.now);
	assert_null(ask.head);
	/* without read-ahead: longer, where the map says what passes */
	fb_idle_reader_ask(&h.idle, &h.e.head, false, &at, &ask, h.now);
	assert_int_equal(ask.max_sectors, h.wait.alone_sectors);
	assert_true(h.idle.destage->alone);
	fb_idle_reader_ask(&h.idle, NULL, false, &at, &ask, h.now);
	assert_int_equal(ask.max_sectors, h.wait.sectors);
}

/*
 * Seen to fail: quarantined blocks, and blocks in doubt, read with others; reads while there are
 * more doubts than are remembered.
 */
TEST(off_bad_blocks)
{
	static struct fb_quarantine b;
	const struct fb_quarantine_read failed = {
		.lbn = 0, .nsect = SPAN, .failed = true, .named = true, .medium = true,
	};
	static struct fb_idle_order o;
	struct fb_plan_piece p;
	struct fb_bitmap bm;
	struct fb_idle_order_ask ask = { .bm = &bm, .max_sectors = 512 };
	u32 i;

	assert_int_equal(fb_bitmap_init(&bm, GRANULES, fb_bitmap_spans(GRANULES)), 0);
	for (i = 0; i < GRANULES; i++)
		fb_bitmap_want(&bm, i, 1, i / FB_BITMAP_SPAN);
	memset(&b, 0, sizeof(b));
	fb_quarantine_init(&b);
	fb_quarantine_begin(&b, SPAN, (u64)GRANULES * SPAN, false);
	assert_int_equal(fb_idle_order_init(&o, fb_idle_order_sequential, (u64)GRANULES * SPAN,
					    SPAN, 0, 0), 0);
	assert_true(fb_idle_reader_find(&o, &b, &ask, &p, h.now));
	assert_int_equal(p.lbn, 0);
	assert_int_equal(p.nsect, 512);
	fb_quarantine_ended(&b, &failed, h.now);
	o.cursor = 0;
	assert_true(fb_idle_reader_find(&o, &b, &ask, &p, h.now));
	assert_true(p.lbn >= b.zone[0].end);
	b.zones = 0;
	b.doubts = FB_QUARANTINE_DOUBTS + 1;
	assert_false(fb_idle_reader_find(&o, &b, &ask, &p, h.now));
	fb_bitmap_destroy(&bm);
}
