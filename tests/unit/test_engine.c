// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's pipeline (core/engine/engine.h), with a host that does as it is told; under
 * random events: test_engine_random.c.
 *
 * Planted bugs, each seen to fail. Plans: too late looked at behind fb_round_settle(), or before
 * the search; wake_ns not doubled, without bound, without decay; a rest that is too late or no
 * longer wanted not given up; a refused prepend not used up, or taken for done. Window: in spite of
 * @pinned, for long writes; a pause whatever the latency. Gaps: a generation that voiding keeps, or
 * that publishing ignores; candidates merged away or taken out but kept; a budget for each. An
 * expired choice with a round, or not told. Pinned, grown or merged away: plan kept, choice lost or
 * dangling. Ends: odd, plan or gap kept, that of a command that is gone; overtaken, and not chosen
 * anew; kept predictions of another model. Order: a flip that keeps the window or the second
 * schedule, doubts idle reads, or none; overdue ignored, pending or at the drive; a third command
 * sent; a stream not decided on.
 */
#include "engine_host.h"

#define FIRST 500000	/* far from where the head is when this is sent */
#define SECOND_NS (1000 * HOST_MS)

static struct host h;
static struct fb_engine_send d;
#define E (&h.e)

int setup(void **state)
{
	host_init(&h);
	host_settle(&h);
	assert_false(E->drive_orders);
	return 0;
}

int teardown(void **state)
{
	dm_free(h.dm);
	return 0;
}

static void set_policy(enum fb_policy_id policy)
{
	E->pool.policy = policy;
	fb_engine_changed(E, h.now);
}

/* searches find this from now on: its separate reads are far from each other */
static void find(enum fb_plan_kind kind, u32 npieces)
{
	u32 i;

	h.plan = (struct fb_plan) { .kind = kind, .npieces = npieces, .value = 1000 };
	for (i = 0; i < npieces; i++)
		h.plan.piece[i] = (struct fb_plan_piece) { 9000000 + i * 3000000, HOST_PIECE };
}

static struct host_rq *read_at(u64 lbn)
{
	return host_arrive(&h, lbn, 8, false);
}

/* a command at the idle drive, whose end is known */
static struct host_rq *first(void)
{
	struct host_rq *rq = read_at(FIRST);
	bool reads = h.reads;

	h.reads = false;
	assert_ptr_equal(host_next(&h, &d), rq);
	h.reads = reads;
	assert_true(E->tail_known);
	return rq;
}

static struct host_rq *next_late(void)
{
	return host_next_late(&h, &d);
}

static u64 end_ns(const struct host_rq *rq)
{
	return fb_completion_end_ns(&rq->r.cmd);
}

static u64 wait_ns(u64 lbn)
{
	u64 seek_ns, latency_ns;
	struct dm_place to;

	assert_int_equal(dm_place_of(h.dm, lbn, &to), 0);
	dm_position(h.dm, &E->tail, &to, false, &seek_ns, &latency_ns);
	return seek_ns + latency_ns;
}

static int longer(const void *a, const void *b)
{
	u64 wait_a = wait_ns(*(const u64 *)a), wait_b = wait_ns(*(const u64 *)b);

	return wait_a < wait_b ? -1 : wait_a > wait_b;
}

/* where to read from the tail with the shortest positioning time, 0, up to the longest, 100 */
static u64 lbn_of(u32 percent)
{
	u64 lbn[101];
	u32 i;

	for (i = 0; i <= 100; i++)
		lbn[i] = 1000008 + 80000 * i;
	qsort(lbn, 101, sizeof(lbn[0]), longer);
	return lbn[percent];
}

/* @first is at the drive and @n separate reads are planned before @b: the first is sent */
static struct host_rq *pinned(enum fb_plan_kind kind, u32 n, struct host_rq **b)
{
	struct host_rq *rq = first();

	find(kind, n);
	*b = read_at(5000000);
	next_late();
	assert_int_equal(d.cause, FB_CAUSE_SEPARATE);
	assert_int_equal(d.lbn, h.plan.piece[0].lbn);
	assert_true(E->pinned);
	assert_ptr_equal(fb_engine_chosen(E), &(*b)->r);
	return rq;
}

/* ---- plans ---- */

/* what befalls a plan on its way */
enum trouble { NO_TROUBLE, NO_CARRIER, NO_PREPEND, LATE, STOPPED };

/* plans, and the commands that come of them, the choice last */
static const struct {
	enum fb_plan_kind kind;
	u32 npieces;
	enum trouble trouble;
	u32 dropped;	/* pieces */
	u32 sent;
	enum fb_cause cause[3];
} plans[] = {
	/* a prepended read begins the command, which counts as that */
	{ FB_PLAN_PREPEND, 1, NO_TROUBLE, 0, 1, { FB_CAUSE_PREPEND } },
	/* without a request to read with, the plan is given up and the choice goes alone */
	{ FB_PLAN_SEPARATE, 2, NO_CARRIER, 2, 1, { FB_CAUSE_PLAIN } },
	/* what would come after the drive is done is given up; the choice has had its read */
	{ FB_PLAN_SEPARATE, 2, LATE, 1, 2, { FB_CAUSE_SEPARATE, FB_CAUSE_AFTER } },
	/* refused at the last moment: nothing of the plan is left to be given up */
	{ FB_PLAN_BOTH, 2, NO_PREPEND, 0, 2, { FB_CAUSE_SEPARATE, FB_CAUSE_AFTER } },
	/* the guard trips, or the last task stops */
	{ FB_PLAN_SEPARATE, 3, STOPPED, 2, 2, { FB_CAUSE_SEPARATE, FB_CAUSE_AFTER } },
	/* separate reads first, then the request with the last piece */
	{ FB_PLAN_BOTH, 3, NO_TROUBLE, 0, 3,
	  { FB_CAUSE_SEPARATE, FB_CAUSE_SEPARATE, FB_CAUSE_PREPEND } },
};

static void befall(enum trouble trouble)
{
	if (trouble == LATE)
		h.now = h.end_ns - E->lead_ns + 1;
	if (trouble == STOPPED)
		h.guard.off_until_ns = h.now + SECOND_NS;
}

TEST(plans_are_sent)
{
	struct host_rq *b, *sent;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(plans); i++) {
		first();
		find(plans[i].kind, plans[i].npieces);
		h.no_aim = plans[i].trouble == NO_CARRIER;
		h.no_prepend = plans[i].trouble == NO_PREPEND;
		b = read_at(5000000);
		for (k = 0; k < plans[i].sent; k++) {
			bool prepends = plans[i].cause[k] == FB_CAUSE_PREPEND;

			if (k) {
				host_run(&h);
				assert_true(!E->window_ns && h.run);
				befall(plans[i].trouble);
			}
			sent = next_late();
			assert_int_equal(d.cause, plans[i].cause[k]);
			if (sent != b) {
				assert_int_equal(d.lbn, h.plan.piece[k].lbn);
				continue;
			}
			assert_int_equal(k, plans[i].sent - 1);
			assert_int_equal(d.lbn, 5000000 - (prepends ? HOST_PIECE : 0));
			assert_int_equal(d.nsect, 8 + (prepends ? HOST_PIECE : 0));
			assert_int_equal(b->r.cmd.lbn, d.lbn);
		}
		assert_ptr_equal(sent, b);
		assert_false(E->pinned);
		assert_int_equal(h.stats.dropped, plans[i].dropped);
		assert_int_equal(h.stats.several,
				 plans[i].npieces > 1 && plans[i].trouble != NO_CARRIER);
		teardown(NULL);
		setup(NULL);
	}
}

/* no request goes first for a plan that comes too late, and the host counts as slower */
TEST(plan_too_late)
{
	struct host_rq *a = first(), *sptf, *b;

	set_policy(FB_POLICY_AUTO);
	sptf = read_at(lbn_of(0));
	b = read_at(lbn_of(80));
	find(FB_PLAN_PREPEND, 1);
	h.plan_lbn = b->r.fg.lbn;
	h.now = end_ns(a) - E->lead_ns + 1;
	assert_ptr_equal(next_late(), sptf);
	assert_int_equal(d.cause, FB_CAUSE_PLAIN);
	assert_int_equal(h.stats.too_late, 1);
	assert_int_equal(E->wake_ns, 2 * HOST_WAKE_NS);
}

/* a slow host: a turn at most, and each plan in time takes a part off */
TEST(wake_adapts)
{
	u64 turn_ns = dm_period_ns(h.dm), before_ns;
	struct host_rq *a;
	u32 i;

	find(FB_PLAN_PREPEND, 1);
	for (i = 0; i < 10; i++) {
		a = first();
		read_at(lbn_of(0));
		h.now = end_ns(a) - E->lead_ns + 1;
		next_late();
		host_run(&h);
		host_run(&h);
		h.now += HOST_MS;
	}
	assert_int_equal(E->wake_ns, turn_ns);
	first();
	read_at(5000000);
	before_ns = E->wake_ns;
	next_late();
	assert_int_equal(d.cause, FB_CAUSE_PREPEND);
	assert_int_equal(before_ns - E->wake_ns, (before_ns - HOST_WAKE_NS) / 256);
}

/* ---- the window ---- */

/* the second command is held back, but for a write of 64 sectors */
TEST(long_write_is_not_held)
{
	struct host_rq *a = first();
	u64 until_ns = E->window_ns;

	assert_in_range(until_ns, h.now + 1, end_ns(a) - E->lead_ns - HOST_WAKE_NS);
	assert_int_equal(h.holds, 1);
	host_arrive(&h, 5000000, 63, true);
	assert_false(fb_engine_has_work(E, until_ns - 1));
	assert_true(fb_engine_has_work(E, until_ns));
	assert_null(host_next(&h, &d));
	host_arrive(&h, lbn_of(0), 64, true);
	assert_true(fb_engine_has_work(E, h.now));
}

/* rotational latency of a read that the idle drive gets now */
static u64 idle_latency_ns(u64 lbn)
{
	u64 start_ns, seek_ns, latency_ns;
	struct dm_place from, to;

	assert_true(fb_completion_idle_head(&E->head, h.now, false, &from, &start_ns));
	assert_int_equal(dm_place_of(h.dm, lbn, &to), 0);
	dm_position(h.dm, &from, &to, false, &seek_ns, &latency_ns);
	return latency_ns;
}

/* a request that finds the drive idle waits for its plan if no turn is lost, and only then */
TEST(pause_costs_nothing)
{
	u64 pause_ns = E->lead_ns + HOST_WAKE_NS, latency_ns, now_ns, end_ns;
	u32 i, paused = 0;
	struct host_rq *a;

	for (i = 0; i < 200; i++) {
		now_ns = h.now;
		a = read_at(1000000 + i * 60008);
		latency_ns = idle_latency_ns(a->r.fg.lbn);
		if (host_next(&h, &d)) {
			assert_true(latency_ns < 4 * pause_ns);
			host_run(&h);
			continue;
		}
		paused++;
		assert_in_range(latency_ns, 4 * pause_ns, U64_MAX);
		assert_int_equal(E->window_ns, now_ns + E->lead_ns);
		end_ns = now_ns + fb_completion_overhead_ns(h.dm, false) + latency_ns;
		assert_ptr_equal(next_late(), a);
		assert_int_equal(d.cause, FB_CAUSE_PLAIN);
		/* seek and transfer come on top: what was not lost is no turn */
		assert_true(a->r.cmd.start_ns + a->r.cmd.acc.latency_ns < end_ns + 2 * HOST_US);
		host_run(&h);
	}
	assert_in_range(paused, 100, 190);
}

/* beside a read that is about to end it waits as long, though that ends meanwhile */
TEST(pause_beside_one_that_ends)
{
	struct host_rq *a, *b;
	u64 until_ns;

	E->head.reads_on = false;
	do {
		a = host_new(&h);
		a->r.ours = true;
		host_send(&h, a, FB_CAUSE_IDLE, 8 * (h.begun * 9973 % 2000000), 64);
		h.now = end_ns(a) - E->lead_ns / 2;
		b = read_at(8000000 + h.begun * 80000);
	} while (host_next(&h, &d) && host_run(&h) && host_run(&h));
	until_ns = E->window_ns;
	assert_int_equal(until_ns, h.now + E->lead_ns);
	assert_int_equal(E->tail.cyl, a->r.cmd.acc.end.cyl);
	assert_ptr_equal(host_run(&h), a);
	assert_int_equal(E->nr_flight, 0);
	assert_int_equal(E->window_ns, until_ns);
	assert_null(host_next(&h, &d));
	assert_ptr_equal(next_late(), b);
}

static u64 wakes(struct host *host)
{
	return dm_period_ns(host->dm);
}

/* where the link has to wake up, and a turn is lost, hardly a request waits, until that is over */
static void late_pauses(enum fb_cause cause)
{
	u32 i, paused[3] = { 0 };

	for (i = 0; i < 6500; i++) {
		h.spoil = i >= 500 && i < 1000 ? wakes : NULL;
		read_at(1000000 + i % 200 * 60008);
		if (!host_next(&h, &d)) {
			paused[min(i / 500, 2U)]++;
			next_late();
			assert_int_equal(d.cause, cause);
			host_next(&h, &d);
		}
		while (E->nr_flight)
			host_run(&h);
	}
	assert_in_range(paused[0], 300, 500);
	assert_in_range(paused[1], 1, 50);
	assert_in_range(paused[2], 1200, 3600);
}

TEST(pauses_that_come_late)
{
	h.guard_ppm = FB_PPM;
	late_pauses(FB_CAUSE_PLAIN);
	find(FB_PLAN_SEPARATE, 1);
	late_pauses(FB_CAUSE_SEPARATE);
}

/* no timer, no work: the processor may sleep */
TEST(nothing_to_do)
{
	first();
	host_run(&h);
	h.holds = 0;
	h.reads = false;
	h.now += 10 * SECOND_NS;
	fb_engine_decide(E, h.now);
	assert_true(E->drive_orders);
	assert_false(fb_engine_has_work(E, h.now));
	assert_null(host_next(&h, &d));
	assert_int_equal(h.holds + E->orders.due_ns + E->window_ns, 0);
}

/* ---- gaps and rounds ---- */

/* a worse request opens no other gap */
TEST(one_gap_for_one_choice)
{
	struct host_rq *b;

	h.ops.search = NULL;
	first();
	b = read_at(lbn_of(0));
	read_at(lbn_of(100));
	assert_true(h.mail.open);
	assert_int_equal(h.stats.gaps, 1);
	assert_int_equal(h.mail.gap.dst_lbn, b->r.fg.lbn);
	assert_memory_equal(&h.mail.gap.src, &E->tail, sizeof(E->tail));
}

/* a plan comes too late for its gap */
TEST(better_arrival_voids_search)
{
	u32 gen;

	h.ops.search = NULL;
	find(FB_PLAN_PREPEND, 1);
	first();
	read_at(lbn_of(100));
	assert_true(fb_gap_take(&h.mail, &h.probe, h.now));
	gen = h.mail.gen;
	assert_true(host_publish(&h, &h.plan, &h.mail.gap, gen));
	assert_non_null(fb_gap_plan(&h.mail));
	read_at(lbn_of(0));
	assert_int_not_equal(h.mail.gen, gen);
	assert_false(host_publish(&h, &h.plan, &h.mail.gap, gen));
	assert_null(fb_gap_plan(&h.mail));
}

/* a round of the best, and of two that take long; the last of the candidates */
static struct host_rq *begin_round(struct host_rq *rq[3])
{
	h.ops.search = NULL;
	first();
	set_policy(FB_POLICY_AUTO);
	rq[0] = read_at(lbn_of(0));
	rq[1] = read_at(lbn_of(99));
	rq[2] = read_at(lbn_of(100));
	assert_true(h.mail.asked);
	assert_true(fb_round_next(E, h.now));
	assert_int_equal(E->round.r.n, FB_JOINT_CANDIDATES);
	return host_rq(container_of(E->round.r.candidate[FB_JOINT_CANDIDATES - 1].req,
				    struct fb_engine_rq, fg));
}

/* for all, but the first is always looked at */
TEST(one_budget)
{
	struct host_rq *rq[3];

	begin_round(rq);
	E->search_ns = 100;
	h.mail.spent_ns = 100;
	assert_true(fb_round_next(E, h.now));
	assert_true(h.mail.open);
	assert_false(fb_round_next(E, h.now));
	assert_int_equal(h.stats.gaps, 1);
}

/* no pointer to it is kept */
TEST(candidate_merged_away)
{
	struct host_rq *rq[3], *last = begin_round(rq);
	u32 gen = h.mail.gen, i;

	fb_engine_merged(E, &(last == rq[1] ? rq[2] : rq[1])->r, &last->r, h.now);
	assert_int_not_equal(h.mail.gen, gen);
	assert_true(E->choice.req && E->pool.count == 2);
	memset(&last->r, 0xff, sizeof(last->r));
	for (i = 0; fb_round_next(E, h.now); i++)
		assert_false(fb_round_has(E, &last->r.fg));
	assert_true(i > 1);
	assert_ptr_equal(next_late(), rq[0]);
}

/* nor is one kept that the host takes out itself */
TEST(candidate_removed)
{
	struct host_rq *rq[3], *last = begin_round(rq);

	fb_engine_remove(E, &last->r);
	assert_false(fb_round_next(E, h.now));
}

/* it is final, but its plan was for another place */
TEST(pinned_choice_grows)
{
	struct host_rq *b;

	pinned(FB_PLAN_SEPARATE, 2, &b);
	b->r.fg.lbn -= 8;
	b->r.fg.nsect += 8;
	fb_engine_grown(E, &b->r, h.now);
	assert_int_equal(h.stats.dropped, 1);
	assert_true(E->pinned);
	host_run(&h);
	assert_ptr_equal(host_next(&h, &d), b);
	assert_int_equal(d.cause, FB_CAUSE_AFTER);
	assert_int_equal(d.lbn, 5000000 - 8);
	assert_int_equal(d.nsect, 16);
}

/* merged into another it goes with it, or, if that is not in the pool, is chosen anew */
TEST(pinned_choice_merged_away)
{
	struct host_rq *b, *c;

	pinned(FB_PLAN_SEPARATE, 2, &b);
	c = read_at(lbn_of(100));
	fb_engine_merged(E, &c->r, &b->r, h.now);
	assert_true(E->pinned);
	assert_int_equal(E->plan.kind, FB_PLAN_NONE);
	assert_ptr_equal(fb_engine_chosen(E), &c->r);
	b = read_at(4000000);
	fb_engine_merged(E, NULL, &c->r, h.now);
	assert_false(E->pinned);
	assert_ptr_equal(fb_engine_chosen(E), &b->r);
}

/* it goes next, so its own gap is searched */
TEST(expired_choice_has_no_round)
{
	h.ops.search = NULL;
	first();
	set_policy(FB_POLICY_AUTO);
	h.expire_ns = 1;
	read_at(lbn_of(100));
	h.now += 2;
	read_at(lbn_of(0));
	fb_engine_choose_again(E, h.now);
	assert_true(E->choice.expired);
	assert_int_equal(h.mail.gap.dst_lbn, E->choice.req->lbn);
	assert_true(h.mail.open);
	assert_false(h.mail.shared || h.mail.asked || fb_round_has_plan(E));
}

/* else a burst would be served as it came */
TEST(one_of_16_expired)
{
	u32 i, n = 0;

	h.expire_ns = 1;
	E->hold = false;
	for (i = 0; i < 40; i++)
		read_at(1000000 + 80000 * (i * 7 % 40));
	h.now += 2;
	host_next(&h, &d);
	for (i = 0; i < 32; i++) {
		n += E->choice.expired;
		assert_int_equal(E->choice.expired, i % 16 == 15);
		assert_non_null(host_next(&h, &d));
		host_run(&h);
	}
	assert_int_equal(n, 2);
}

/* ---- ends ---- */

static u64 odd(struct host *host)
{
	return dm_period_ns(host->dm) * 2 / 5;
}

/* at an odd angle, with a command left, whose start is unknown now */
TEST(odd_end_drops_plan)
{
	struct host_rq *b;

	h.spoil = odd;
	pinned(FB_PLAN_SEPARATE, 2, &b);
	assert_int_not_equal(list_entry(h.drive.prev, struct host_rq, node)->r.cmd.start_ns, 0);
	host_run(&h);
	assert_int_equal(h.stats.ends.verdicts[FB_HEAD_ODD], 1);
	assert_int_equal(list_entry(h.drive.next, struct host_rq, node)->r.cmd.start_ns, 0);
	assert_int_equal(h.stats.dropped, 1);
	assert_true(E->tail_known);
	assert_int_equal(E->window_ns, 0);
	assert_ptr_equal(host_next(&h, &d), b);
	assert_int_equal(d.cause, FB_CAUSE_AFTER);
}

/* the tail is where the one in flight ends that was sent last, and the choice is made anew */
TEST(overtaken)
{
	struct host_rq *a = first(), *b;
	struct dm_place tail;
	u32 choices;

	tail = E->tail;
	b = read_at(5000000);
	assert_ptr_equal(next_late(), b);
	read_at(7000000);
	choices = h.stats.choices;
	h.now = h.report_ns;
	host_end(&h, b);
	assert_int_equal(h.stats.out_of_order, 1);
	assert_false(E->head.known);
	assert_int_equal(a->r.cmd.start_ns, 0);
	assert_true(E->tail_known);
	assert_memory_equal(&E->tail, &tail, sizeof(tail));
	assert_int_equal(h.stats.choices, choices + 1);
	assert_int_equal(E->choice.req->lbn, 7000000);
}

/* even before the rest of a plan */
TEST(bypass_goes_first)
{
	struct host_rq *b, *flush = host_new(&h);

	flush->r.media = false;
	pinned(FB_PLAN_SEPARATE, 3, &b);
	host_bypass(&h, flush);
	assert_false(host_send_bypass(&h));
	host_run(&h);
	assert_true(host_send_bypass(&h));
	assert_int_equal(h.stats.dropped, 2);
	assert_false(E->head.known || E->tail_known);
	assert_true(E->pinned);
	host_run(&h);
	assert_ptr_equal(host_next(&h, &d), b);
	assert_int_equal(d.cause, FB_CAUSE_AFTER);
}

/* it counts once, is predicted anew, and after a time-out the phase is not known for a second */
TEST(requeued)
{
	struct host_rq *a, *b;

	/* then they are counted there, too */
	h.cache = true;
	fb_engine_decide(E, h.now);
	host_settle(&h);
	a = first();
	find(FB_PLAN_PREPEND, 1);
	b = read_at(5000000);
	assert_ptr_equal(next_late(), b);
	assert_true(b->prepended);
	assert_int_equal(h.destage.medium, 2);
	host_requeue(&h, b, true);
	assert_int_equal(E->nr_flight, 1);
	assert_int_equal(h.destage.medium, 1);
	host_run(&h);
	assert_false(E->head.anchored);
	assert_true(host_send_bypass(&h));
	assert_int_equal(E->nr_flight, 1);
	assert_int_equal(h.destage.medium, 1);
	assert_int_equal(b->r.cmd.start_ns, 0);
	assert_ptr_equal(host_run(&h), b);
	assert_false(E->head.anchored);
	h.now += SECOND_NS;
	assert_ptr_equal(first(), a);
	host_run(&h);
	assert_true(E->head.anchored);
}

/* the last command is gone, and nobody says how: its end is not where the others will end */
TEST(last_command_gone)
{
	struct host_rq *b;

	h.ops.search = NULL;
	first();
	b = read_at(5000000);
	assert_ptr_equal(next_late(), b);
	read_at(7000000);
	assert_true(E->tail_known && h.mail.open);
	host_take_back(&h, b);
	assert_false(E->tail_known || h.mail.open);
}

/* another model: nothing of the old one is used for what is at the drive */
TEST(model_replaced)
{
	struct host_rq *a = first(), *b = read_at(5000000);

	fb_engine_set_model(E, h.dm, h.now);
	assert_int_equal(a->r.cmd.start_ns, 0);
	assert_false(a->r.cmd.placed || E->tail_known || E->head.anchored);
	assert_null(E->choice.req);
	h.used = NULL;
	fb_engine_set_model(E, NULL, h.now);
	assert_true(E->drive_orders);
	assert_false(b->r.fg.placed);
	assert_ptr_equal(host_next(&h, &d), b);
	host_run(&h);
	host_run(&h);
	assert_int_equal(E->nr_flight, 0);
}

/* ---- who orders ---- */

/* requests of a stream are sent, four pending, until the drive orders, or 100 have been */
static u32 stream(void)
{
	u32 i;

	E->hold = false;
	for (i = 0; i < 4; i++)
		read_at(6000000 + 8 * i);
	for (i = 0; i < 100 && !E->drive_orders; i++) {
		read_at(6000032 + 8 * i);
		host_next(&h, &d);
		if (E->nr_flight == 2)
			host_run(&h);
	}
	return i;
}

/* for a second after the last of its requests */
TEST(stream_is_the_drives)
{
	memset(&E->orders, 0, sizeof(E->orders));
	fb_engine_decide(E, h.now);
	assert_in_range(stream(), 20, 40);
	assert_null(E->choice.req);
	fb_engine_decide(E, h.now + SECOND_NS - HOST_MS);
	assert_true(E->drive_orders);
	assert_true(fb_engine_decide(E, h.now + SECOND_NS));
	assert_false(E->drive_orders);
}

/* the drive need not keep to deadlines: for what is past its own the policy orders */
TEST(overdue)
{
	u32 n;

	stream();
	assert_true(E->drive_orders);
	h.expire_ns = 5 * HOST_MS;
	read_at(1000);
	h.now += 4 * HOST_MS;
	assert_false(fb_engine_decide(E, h.now));
	/* at the drive it counts, too */
	n = E->pool.count;
	while (n--)
		host_next(&h, &d);
	assert_int_equal(E->pool.count, 0);
	assert_true(E->drive_orders);
	h.now += 2 * HOST_MS;
	assert_true(fb_engine_decide(E, h.now));
}

/* the policy orders again: it waits for all but one of what the drive has */
TEST(flip_waits_for_one_left)
{
	struct host_rq *rq[5];
	u32 i;

	h.reads = false;
	h.now += 2 * SECOND_NS;
	fb_engine_decide(E, h.now);
	assert_true(E->drive_orders);
	for (i = 0; i < 5; i++)
		rq[i] = read_at(1000000 * (i + 1));
	for (i = 0; i < 3; i++)
		assert_ptr_equal(host_next(&h, &d), rq[i]);
	/* so that none is to be placed when the policy orders again */
	assert_true(rq[4]->r.fg.placed);
	h.reads = true;
	assert_true(fb_engine_decide(E, h.now));
	assert_null(host_next(&h, &d));
	host_run(&h);
	assert_null(host_next(&h, &d));
	host_run(&h);
	assert_int_equal(rq[2]->r.cmd.start_ns, 0);
	assert_non_null(host_next(&h, &d));
	assert_null(host_next(&h, &d));
}

/* idle reads are alone, so their starts are as predicted, whoever orders */
TEST(flip_doubts_all_but_idle_reads)
{
	struct host_rq *a = first(), *idle;

	h.cache = true;
	host_arrive(&h, 5000000, 8, true);
	assert_int_not_equal(E->window_ns, 0);
	assert_true(fb_engine_decide(E, h.now));
	assert_int_equal(a->r.cmd.start_ns, 0);
	assert_int_equal(E->window_ns, 0);
	host_next(&h, &d);
	host_run(&h);
	host_run(&h);
	fb_head_guess(&E->head, &h.at);
	idle = host_new(&h);
	idle->r.ours = true;
	host_send(&h, idle, FB_CAUSE_IDLE, 100000, 512);
	assert_int_equal(E->nr_idle, 1);
	assert_int_not_equal(idle->r.cmd.start_ns, 0);
	h.cache = false;
	assert_true(fb_engine_decide(E, h.now));
	assert_int_not_equal(idle->r.cmd.start_ns, 0);
	assert_ptr_equal(host_run(&h), idle);
	assert_int_equal(E->nr_idle + E->nr_flight, 0);
}

/*
 * Behind a write cache with nothing in it a read that comes alone has a gap, beside an idle read,
 * too, and what is known of the head stays; a second one, or a write, is sent at once with it
 */
TEST(alone_behind_a_clean_cache)
{
	struct host_rq *a, *b;
	u32 i;

	h.cache = true;
	h.destage.on = true;
	h.destage.sure = true;
	h.destage.reads = 0;
	for (i = 0; i < 2; i++) {
		fb_engine_decide(E, h.now);
		do {
			a = read_at(5000000 + h.begun * 80000);
			h.destage.reads = 2;
			h.destage.sure = true;
			fb_engine_decide(E, h.now);
			assert_false(E->drive_orders);
			assert_true(E->head.known);
		} while (host_next(&h, &d) && host_run(&h));
		assert_true(E->paused);
		b = host_arrive(&h, 9000000, 8, i);
		h.destage.reads = i ? 0 : 3;
		assert_true(fb_engine_decide(E, h.now));
		assert_int_equal(E->window_ns, 0);
		assert_non_null(host_next(&h, &d));
		assert_non_null(host_next(&h, &d));
		assert_true(a->state == HOST_SENT && b->state == HOST_SENT);
		host_run(&h);
		host_run(&h);
	}
}

/* the second schedule begins anew */
TEST(flip_empties_order_cost)
{
	u32 i;

	set_policy(FB_POLICY_AUTO);
	E->hold = false;
	for (i = 0; i < 8; i++)
		read_at(1000000 * (i + 1));
	for (i = 0; i < 4; i++)
		if (!host_next(&h, &d))
			host_run(&h);
	assert_true(h.order_cost.on && h.order_cost.pool.count);
	h.unphased = true;
	assert_true(fb_engine_decide(E, h.now));
	assert_false(h.order_cost.on || h.order_cost.pool.count);
}

/* the drive orders until there have been 32 reads without one */
TEST(cached_write_goes_at_once)
{
	u32 i;

	h.cache = true;
	first();
	fb_engine_decide(E, h.now);
	host_arrive(&h, 5000000, 8, true);
	fb_engine_decide(E, h.now);
	assert_true(E->drive_orders);
	assert_non_null(host_next(&h, &d));
	for (i = 0; i < 32; i++) {
		assert_true(E->drive_orders);
		read_at(1000000 + 80000 * i);
		host_next(&h, &d);
		fb_engine_decide(E, h.now);
	}
	assert_false(E->drive_orders);
}
