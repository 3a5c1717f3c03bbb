// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's pipeline (core/engine/engine.h) under a million random events: what holds after
 * each of them, whatever the host, the drive and the user do.
 *
 * It has found a second plan without value used before another one's request, and a tail kept
 * that was that of a command gone. Planted, each seen to fail: a window in the past; a flip that
 * keeps it; voiding that keeps the generation, publishing that ignores it, an opened gap not taken
 * over by its round, a round begun without voiding; a candidate grown or taken out but kept; a
 * round settled without its last plan; the gap left open, or arrivals let in, beside a pinned
 * choice; the choice or its plan kept when it is sent; a third command sent; idle reads not
 * counted off; the plan kept without a carrier.
 */
#include "engine_host.h"

#define EVENTS 1000000
#define MOST 40		/* requests at a time; the rest are for free reads */
#define FEW 1		/* or so many: the drive is idle now and then */
#define JOBS 256
#define QUEUE 32	/* commands that the drive takes */

static struct host h;
static struct rnd rnd = { .state = 1 };
static struct disk_model *model[2];
#define E (&h.e)

/* the gap that the thread searches, and those that plans were found for, by fb_plan.wanted */
static struct fb_gap job[JOBS];
static u32 job_gen;
static u32 jobs;
static bool searching;
static u32 most;

/* what has happened: all of it must, often */
static struct {
	u32 merged, requeued, odd, prepended, aimed, flips, idle, void_plans, paused;
} seen;

static bool chance(u32 percent)
{
	return rnd_below(&rnd, 100) < percent;
}

/* ---- a plan is used for the gap that it was found for, only ---- */

static void used(const struct fb_plan *plan, const struct fb_policy_req *req)
{
	const struct fb_gap *gap = &job[plan->wanted % JOBS];

	assert_true(jobs - plan->wanted <= JOBS);
	assert_int_equal(gap->dst_lbn, req->lbn);
	assert_memory_equal(&gap->src, &E->tail, sizeof(gap->src));
}

static struct fb_engine_rq *aim(struct fb_engine *e, const struct fb_plan_piece *p, bool more)
{
	if (!e->pinned)
		used(&e->plan, e->choice.req);
	assert_true((e->nr_flight || e->paused) && host_may_read(e, h.now));
	assert_int_equal(host_rq(fb_engine_chosen(e))->state, HOST_POOLED);
	h.no_aim = chance(20);
	seen.aimed += !h.no_aim;
	return host_aim(e, p, more);
}

static bool prepend(struct fb_engine *e, struct fb_engine_rq *r, const struct fb_plan_piece *p)
{
	if (!e->pinned)
		used(&e->mail->plan, &r->fg);
	assert_int_equal(host_rq(r)->state, HOST_NEW);
	h.no_prepend = chance(20);
	seen.prepended += !h.no_prepend;
	return host_prepend(e, r, p);
}

static void decided(struct fb_engine *e, bool changed)
{
	if (!changed)
		return;
	assert_false(e->choice.req || e->window_ns);
	assert_true(e->nr_flight == e->nr_idle || !(e->tail_known || e->head.known));
	seen.flips++;
}

/* the model turns out not to fit */
static void learnt(struct fb_engine *e, struct fb_engine_rq *r,
		   const struct fb_completion_result *result, u64 now_ns)
{
	if (!fb_engine_predicts(e) || rnd_below(&rnd, 1000))
		return;
	h.used = NULL;
	fb_engine_void(e);
}

/* the thread: it asks, takes a gap, and comes back later, maybe twice, with or without a plan */
static void search(void)
{
	struct fb_plan plan = { .kind = rnd_below(&rnd, 4), .wanted = jobs };
	u32 i;

	if (!searching) {
		h.mail.settled = false;
		while (h.mail.asked && !h.mail.open)
			h.mail.asked = fb_round_next(E, h.now);
		searching = fb_gap_take(&h.mail, &h.probe, h.now);
		job_gen = h.mail.gen;
		job[++jobs % JOBS] = h.mail.gap;
		return;
	}
	searching = chance(50);
	if (plan.kind == FB_PLAN_PREPEND && !h.mail.lim.max_prepend_sectors)
		plan.kind = FB_PLAN_NONE;
	plan.npieces = plan.kind == FB_PLAN_PREPEND ? 1 : 1 + rnd_below(&rnd, FB_PLAN_PIECES);
	if (plan.kind == FB_PLAN_BOTH && plan.npieces == 1)
		plan.npieces = 2;
	plan.value = rnd_below(&rnd, 4) * 100;
	for (i = 0; i < plan.npieces; i++)
		plan.piece[i] = (struct fb_plan_piece) { 8 * rnd_below(&rnd, 2000000), HOST_PIECE };
	if (job[jobs % JOBS].dst_lbn < HOST_PIECE)
		return;
	if (!host_publish(&h, &plan, &job[jobs % JOBS], job_gen))
		seen.void_plans++;
}

/* ---- what holds at all times ---- */

static void check_pool(void)
{
	struct fb_policy_req *req;
	u32 class, n = 0;

	for (class = 0; class < FB_POLICY_CLASSES; class++)
		list_for_each_entry(req, &E->pool.reqs[class], node) {
			struct host_rq *rq = host_rq(container_of(req, struct fb_engine_rq, fg));

			assert_int_equal(rq->state, HOST_POOLED);
			assert_true(list_empty(&rq->r.flight));
			n++;
		}
	assert_int_equal(n, E->pool.count);
}

static void check_flight(void)
{
	struct fb_engine_rq *r;
	u32 n = 0, idle = 0;

	list_for_each_entry(r, &E->flight, flight) {
		assert_int_equal(host_rq(r)->state, HOST_SENT);
		idle += r->cmd.cause == FB_CAUSE_IDLE;
		n++;
	}
	assert_int_equal(n, E->nr_flight);
	assert_int_equal(idle, E->nr_idle);
}

static void check_choice(void)
{
	const struct fb_round *round = &E->round;
	u32 i;

	if (E->choice.req)
		assert_int_equal(host_rq(fb_engine_chosen(E))->state, HOST_POOLED);
	if (round->begun && round->gen == h.mail.gen)
		for (i = 0; i < round->r.n; i++)
			assert_int_equal(host_rq(container_of(round->r.candidate[i].req,
							      struct fb_engine_rq, fg))->state,
					 HOST_POOLED);
	assert_true(!E->pinned || E->choice.req);
	assert_true(!E->paused || (E->choice.req && !E->pinned));
	seen.paused += E->paused && !E->nr_flight;
	assert_true(E->pinned || E->plan.kind == FB_PLAN_NONE);
	if (E->pinned)
		assert_false(h.mail.open || h.mail.asked || fb_gap_plan(&h.mail));
	if (E->drive_orders)
		assert_false(E->choice.req || h.mail.open || h.mail.asked || E->window_ns);
}

/* the tail is on the track where the last command ends */
static void check_tail(void)
{
	struct dm_place end;

	if (E->tail_known && E->nr_flight && !E->drive_orders &&
	    fb_completion_end_place(E->dm, &list_last_entry(&E->flight, struct fb_engine_rq,
							    flight)->cmd, &end))
		assert_true(E->tail.cyl == end.cyl && E->tail.head == end.head);
}

static void check(void)
{
	check_tail();
	check_pool();
	check_flight();
	check_choice();
	assert_true(!E->window_ns || E->window_ns >= h.now);
	assert_in_range(E->wake_ns, HOST_WAKE_NS,
			max(dm_period_ns(model[0]), dm_period_ns(model[1])));
	/* nothing waits for an event that may never come */
	assert_true(E->nr_flight || (!E->pool.count && list_empty(&h.bypass)) ||
		    (fb_engine_is_holding(E, h.now) && E->window_ns <= h.now + E->lead_ns));
	assert_false(fb_engine_has_work(E, h.now) && E->nr_flight < QUEUE);
}

/* ---- events ---- */

/* a request in this state, or NULL */
static struct host_rq *any(enum host_state state)
{
	u32 i, from = rnd_below(&rnd, HOST_RQS);

	for (i = 0; i < HOST_RQS; i++)
		if (h.rqs[(from + i) % HOST_RQS].state == state)
			return &h.rqs[(from + i) % HOST_RQS];
	return NULL;
}

static void arrive(void)
{
	static u64 stream_lbn;
	static bool stream;
	struct host_rq *rq;
	u32 i, n = 0;

	for (i = 0; i < HOST_RQS; i++)
		n += h.rqs[i].state != HOST_FREE;
	if (n >= most)
		return;
	if (chance(1))
		stream = chance(20);
	h.class = chance(90) ? FB_POLICY_BE : rnd_below(&rnd, FB_POLICY_CLASSES);
	h.expire_ns = chance(80) ? 500 * HOST_MS : rnd_below(&rnd, 3) * HOST_MS;
	if (!stream || chance(5))
		stream_lbn = 8 * rnd_below(&rnd, 2200000);
	rq = host_arrive(&h, stream_lbn, 8 + 8 * rnd_below(&rnd, 12), chance(20));
	stream_lbn += rq->r.fg.nsect;
}

static void bypass(void)
{
	struct host_rq *rq = any(HOST_FREE);

	if (!rq)
		return;
	rq = host_new(&h);
	rq->r.media = chance(50);
	rq->r.fg.lbn = 80000;
	rq->r.fg.nsect = rq->r.media ? 8 : 0;
	host_bypass(&h, rq);
}

static void merge(void)
{
	struct host_rq *rq = any(HOST_POOLED), *gone = any(HOST_POOLED);

	if (!rq)
		return;
	if (chance(50) && rq->r.fg.lbn >= 8) {
		rq->r.fg.lbn -= 8;
		rq->r.fg.nsect += 8;
		fb_engine_grown(E, &rq->r, h.now);
		return;
	}
	if (rq == gone || rq->r.fg.class != gone->r.fg.class || rq->r.fg.write != gone->r.fg.write)
		return;
	fb_engine_merged(E, chance(90) ? &rq->r : NULL, &gone->r, h.now);
	host_free(&h, gone);
	memset(&gone->r, 0xff, sizeof(gone->r));
	seen.merged++;
}

static void requeue(void)
{
	struct host_rq *rq = any(HOST_SENT);

	/* reads of the host's own are given up */
	if (!rq || rq->r.ours)
		return;
	rq->r.fg.lbn = rq->r.cmd.lbn;
	rq->r.fg.nsect = rq->r.cmd.nsect;
	host_requeue(&h, rq, chance(20));
	seen.requeued++;
}

/* a command is gone, and nobody says what came of it */
static void vanish(void)
{
	struct host_rq *rq = any(HOST_SENT);

	if (!rq)
		return;
	host_take_back(&h, rq);
	if (rq->r.cmd.cause == FB_CAUSE_IDLE)
		fb_destage_idle_ended(&h.destage, h.now, false, 0);
	fb_head_lose(&E->head);
	host_free(&h, rq);
}

static void idle_read(void)
{
	struct host_rq *rq;

	if (E->nr_flight || E->pool.count || !list_empty(&h.bypass) || !h.reads)
		return;
	rq = host_new(&h);
	rq->r.ours = true;
	host_send(&h, rq, FB_CAUSE_IDLE, 8 * rnd_below(&rnd, 2000000), 512);
	seen.idle++;
}

/* whoever stops the last task voids what was found for it */
static void change_tasks(void)
{
	h.reads = chance(80);
	if (!h.reads)
		fb_gap_void(&h.mail);
}

static void change_model(void)
{
	/* that of the drive is the right one */
	h.used = chance(80) ? model[0] : chance(50) ? model[1] : NULL;
	fb_engine_set_model(E, h.used, h.now);
}

static void change_setting(void)
{
	switch (rnd_below(&rnd, 6)) {
	case 0:
		E->pool.policy = rnd_below(&rnd, FB_POLICIES);
		break;
	case 1:
		E->pool.policy = FB_POLICY_AUTO;
		break;
	case 2:
		E->depth = 1 + chance(80);
		break;
	case 3:
		E->auto_depth = chance(80);
		break;
	case 4:
		E->hold = chance(80);
		break;
	default:
		E->auto_margin = chance(50);
	}
	fb_engine_changed(E, h.now);
}

static void untracked(bool sent)
{
	E->nr_untracked = sent;
	if (sent)
		fb_gap_void(&h.mail);
}

static void event(void)
{
	static u32 load = 1000;
	u32 i = rnd_below(&rnd, 10000);

	if (i < load)
		arrive();
	else if (i < 6000)
		search();
	else if (i < 6100)
		merge();
	else if (i < 6110)
		requeue();
	else if (i < 6120)
		bypass();
	else if (i < 6125)
		vanish();
	else if (i < 6400)
		idle_read();
	else if (i < 6405)
		change_tasks();
	else if (i < 6410)
		h.cache = chance(20);
	else if (i < 6430)
		change_setting();
	else if (i < (h.used ? 6431 : 6434))
		change_model();
	else if (i < 6435)
		h.unphased = chance(20);
	else if (i < 6450)
		untracked(chance(10));
	else if (i < 6455)
		load = chance(30) ? 100 : 1000 + rnd_below(&rnd, 2000);
	/* and nothing, but for what the drive and the timer do */
}

/* ---- the drive ---- */

static u64 spoil(struct host *host)
{
	if (chance(98))
		return 0;
	seen.odd++;
	return chance(50) ? dm_period_ns(h.dm) : rnd_below(&rnd, 3 * HOST_MS);
}

/* the drive has done another command first */
static bool overtake(void)
{
	struct host_rq *rq = any(HOST_SENT);

	if (!chance(2) || !rq || &rq->node == h.drive.next)
		return false;
	h.now = max(h.now, h.report_ns);
	host_end(&h, rq);
	return true;
}

/* time goes on, to the next of these at most */
static void pass_time(void)
{
	u64 until_ns = h.now + rnd_below(&rnd, HOST_MS / 2);

	if (E->window_ns && E->window_ns <= until_ns && (!h.serves || E->window_ns < h.report_ns)) {
		h.now = E->window_ns;
		host_timer(&h);
	} else if (h.serves && h.report_ns <= until_ns) {
		if (!overtake())
			host_run(&h);
	} else {
		h.now = until_ns;
		event();
	}
}

static void fill(void)
{
	struct fb_engine_send d;

	fb_engine_decide(E, h.now);
	do {
		if (fb_engine_predicts(E) && E->nr_flight >= E->depth)
			assert_null(host_next(&h, &d));
	} while (E->nr_flight < QUEUE && (host_send_bypass(&h) || host_next(&h, &d)));
}

static void drain(void)
{
	E->nr_untracked = 0;
	while (E->nr_flight || E->pool.count || !list_empty(&h.bypass)) {
		h.now = max(h.now, E->window_ns);
		host_timer(&h);
		if (h.serves)
			host_run(&h);
		fill();
		check();
	}
	assert_int_equal(h.begun, h.ended);
	assert_null(any(HOST_SENT));
	assert_true(list_empty(&h.drive));
}

TEST(a_million_events)
{
	u32 i;

	host_init(&h);
	model[0] = h.dm;
	model[1] = support_model_file("models/cheetah9.fbmodel");
	h.ops.search = NULL;
	h.ops.aim = aim;
	h.ops.prepend = prepend;
	h.ops.decided = decided;
	h.ops.learnt = learnt;
	h.spoil = spoil;
	h.guard_ppm = 30000;
	host_settle(&h);
	for (i = 0; i < EVENTS; i++) {
		most = i / 5000 % 4 ? MOST : FEW;
		pass_time();
		fill();
		check();
		if (i % 10000 == 0)
			drain();
	}
	drain();
	assert_true(seen.merged > 500 && seen.requeued > 500 && seen.idle > 500);
	assert_true(seen.prepended > 300 && seen.aimed > 600 && seen.void_plans > 500);
	assert_true(seen.flips > 100 && seen.odd > 300 && seen.paused > 20);
	assert_true(h.stats.out_of_order > 20 && h.stats.dropped > 300);
	dm_free(model[0]);
	dm_free(model[1]);
}
