/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host of the engine for its tests: it answers as it is set up to, and its drive does what the
 * model says, one command after the other, but for what a test spoils.
 */
#ifndef ENGINE_HOST_H
#define ENGINE_HOST_H

#include "core/engine/engine.h"
#include "support.h"

#define HOST_RQS 64
#define HOST_US 1000ULL
#define HOST_MS 1000000ULL
#define HOST_BLOCKS 1000000
#define HOST_WAKE_NS 100000
#define HOST_PIECE 64	/* sectors of a free read */

/* where a request is */
enum host_state { HOST_FREE, HOST_NEW, HOST_POOLED, HOST_BYPASS, HOST_SENT };

struct host_rq {
	struct fb_engine_rq r;
	enum host_state state;
	struct list_head node;	/* in host.drive or host.bypass */
	bool prepended;
};

/* see above */
struct host {
	struct fb_engine e;
	struct fb_engine_ops ops;
	struct fb_gap_mail mail;
	struct fb_order_cost order_cost;
	struct fb_destage destage;
	struct fb_idle_policy wait;
	struct fb_idle_reader idle;
	struct fb_lookahead probe;
	struct fb_conservatism margin;
	struct fb_guard guard;
	struct fb_engine_stats stats;
	struct disk_model *dm;
	struct disk_model *used;	/* the engine's model */
	u64 now;

	struct list_head drive;	/* commands at the drive, the one in service first */
	bool serves;	/* there is one, until @end_ns; it is reported at @report_ns */
	u64 end_ns;
	u64 report_ns;
	struct dm_place at;	/* where the head is then */
	/* called when the drive begins with a command, or NULL; returns how much later it ends */
	u64 (*spoil)(struct host *h);

	bool unphased;
	bool reads;	/* blocks are wanted, and may be read in gaps */
	bool cache;
	bool no_aim;
	bool no_prepend;
	/* what a search finds; the last piece of a prepend is made to fit */
	struct fb_plan plan;
	u64 plan_lbn;	/* only before the request there; 0: before any */
	u64 expire_ns;
	enum fb_policy_class class;
	u32 guard_ppm;

	struct list_head bypass;
	u32 holds;	/* calls of fb_engine_ops.hold */
	bool fails;	/* commands do */
	bool run;	/* what fb_engine_judge() has returned */
	u64 begun;	/* requests that have come, free reads included */
	u64 ended;	/* and gone */
	struct host_rq rqs[HOST_RQS];
};

static struct host *host_of(const struct fb_engine *e)
{
	return container_of(e, struct host, e);
}

static struct host_rq *host_rq(struct fb_engine_rq *r)
{
	return container_of(r, struct host_rq, r);
}

static struct host_rq *host_new(struct host *h)
{
	struct host_rq *rq = h->rqs;

	while (rq < h->rqs + HOST_RQS && rq->state != HOST_FREE)
		rq++;
	if (rq == h->rqs + HOST_RQS)
		return NULL;
	*rq = (struct host_rq) { .state = HOST_NEW, .r.media = true };
	INIT_LIST_HEAD(&rq->r.flight);
	h->begun++;
	return rq;
}

static void host_free(struct host *h, struct host_rq *rq)
{
	assert_int_not_equal(rq->state, HOST_FREE);
	assert_true(list_empty(&rq->r.flight));
	rq->state = HOST_FREE;
	h->ended++;
}

/* ---- what the engine asks ---- */

static u64 host_now(const struct fb_engine *e)
{
	return host_of(e)->now;
}

static bool host_unmapped(const struct fb_engine *e)
{
	return !host_of(e)->used;
}

static bool host_by_lbn(const struct fb_engine *e)
{
	return host_unmapped(e) && fb_policy_needs_no_map(e->pool.policy);
}

static bool host_unphased(struct fb_engine *e, u64 now_ns)
{
	return host_of(e)->unphased;
}

static bool host_may_read(const struct fb_engine *e, u64 now_ns)
{
	return host_of(e)->reads && fb_guard_on(&host_of(e)->guard, now_ns);
}

static void host_view(struct fb_engine *e, struct fb_orders_view *v)
{
	struct host *h = host_of(e);

	v->tasks = h->reads;
	v->blocks = HOST_BLOCKS;
	v->wanted = host_may_read(e, v->now_ns) ? HOST_BLOCKS : 0;
	fb_destage_set_cache(&h->destage, h->cache, v->now_ns);
}

static void host_decided(struct fb_engine *e, bool changed)
{
}

static void host_learners(struct fb_engine *e, struct fb_completion *l)
{
	struct host *h = host_of(e);

	*l = (struct fb_completion) {
		.dm = e->dm, .head = &e->head, .margin = &h->margin, .guard = &h->guard,
		.guard_ppm = h->guard_ppm, .probe = &h->probe, .stats = &h->stats.ends,
	};
}

static void host_learnt(struct fb_engine *e, struct fb_engine_rq *r,
			const struct fb_completion_result *result, u64 now_ns)
{
}

static bool host_limit(struct fb_engine *e, struct fb_engine_rq *r, struct fb_limits *lim)
{
	*lim = (struct fb_limits) {
		.granule_sectors = 8,
		.max_sectors = 512,
		.max_prepend_sectors = host_rq(r)->prepended ? 0 : 512,
		.separate = true,
	};
	return true;
}

static struct fb_policy_req *host_above(struct fb_policy_pool *pool, enum fb_policy_class class,
					bool write, u64 lbn)
{
	struct fb_policy_req *req, *best = NULL;

	list_for_each_entry(req, &pool->reqs[class], node)
		if (req->write == write && req->lbn >= lbn && (!best || req->lbn < best->lbn))
			best = req;
	return best;
}

/* a plan for a gap: its prepended piece, if there is one, ends where the request begins */
static bool host_publish(struct host *h, const struct fb_plan *plan, const struct fb_gap *gap,
			 u32 gen)
{
	struct fb_plan p = *plan;

	if (p.kind == FB_PLAN_PREPEND || p.kind == FB_PLAN_BOTH)
		p.piece[p.npieces - 1] = (struct fb_plan_piece) {
			.lbn = gap->dst_lbn - HOST_PIECE,
			.nsect = HOST_PIECE,
		};
	return fb_gap_publish(&h->mail, &p, gen);
}

static void host_search(struct fb_engine *e, u64 now_ns)
{
	struct fb_gap_mail *mail = e->mail;
	struct host *h = host_of(e);

	do {
		while (mail->asked && !mail->open)
			mail->asked = fb_round_next(e, now_ns);
		if (!fb_gap_take(mail, &h->probe, now_ns))
			return;
		if (!h->plan_lbn || h->plan_lbn == mail->gap.dst_lbn)
			host_publish(h, &h->plan, &mail->gap, mail->gen);
	} while (mail->shared && mail->asked);
}

static void host_wake(struct fb_engine *e)
{
}

static struct fb_engine_rq *host_aim(struct fb_engine *e, const struct fb_plan_piece *p, bool more)
{
	struct host *h = host_of(e);
	struct host_rq *rq = h->no_aim ? NULL : host_new(h);

	if (!rq)
		return NULL;
	rq->r.ours = true;
	return &rq->r;
}

static bool host_prepend(struct fb_engine *e, struct fb_engine_rq *r,
			 const struct fb_plan_piece *p)
{
	if (host_of(e)->no_prepend)
		return false;
	assert_false(host_rq(r)->prepended);
	assert_int_equal(p->lbn + p->nsect, r->fg.lbn);
	host_rq(r)->prepended = true;
	return true;
}

static void host_take(struct fb_engine *e, struct fb_engine_rq *r)
{
	assert_int_equal(host_rq(r)->state, HOST_POOLED);
	host_rq(r)->state = HOST_NEW;
	fb_engine_remove(e, r);
}

static void host_hold(struct fb_engine *e, u64 until_ns)
{
	assert_true(until_ns >= host_of(e)->now);
	host_of(e)->holds++;
}

static const struct fb_engine_ops host_ops = {
	.now = host_now, .unmapped = host_unmapped, .by_lbn = host_by_lbn,
	.unphased = host_unphased, .may_read = host_may_read, .view = host_view,
	.decided = host_decided, .learners = host_learners, .learnt = host_learnt,
	.limit = host_limit, .above = host_above, .search = host_search, .wake = host_wake,
	.aim = host_aim, .prepend = host_prepend, .take = host_take, .hold = host_hold,
};

/* ---- the drive ---- */

static u32 host_angle(const struct host *h, u64 ns)
{
	u64 rest;

	div64_u64_rem(ns * 1000, dm_info(h->dm)->period_ps, &rest);
	return mul_u64_u64_div_u64(rest, 1ULL << 32, dm_info(h->dm)->period_ps);
}

static void host_serve(struct host *h)
{
	struct host_rq *rq = list_first_entry_or_null(&h->drive, struct host_rq, node);
	struct dm_access acc = { .total_ns = HOST_MS, .end = h->at };
	const struct fb_completion_cmd *c;
	u64 start_ns;

	if (h->serves || !rq)
		return;
	c = &rq->r.cmd;
	start_ns = h->end_ns;
	if (c->sent_ns > start_ns)
		start_ns = c->sent_ns + fb_completion_overhead_ns(h->dm, c->write);
	h->at.angle = host_angle(h, start_ns);
	if (rq->r.media)
		assert_int_equal(dm_access(h->dm, &h->at, c->lbn, c->nsect, c->write, &acc), 0);
	h->at = acc.end;
	h->end_ns = start_ns + acc.total_ns + (h->spoil ? h->spoil(h) : 0);
	h->report_ns = h->end_ns + (c->write ? dm_info(h->dm)->write_report_ns :
				    dm_info(h->dm)->read_report_ns);
	h->serves = true;
}

/* ---- requests ---- */

static void host_pool(struct host *h, struct host_rq *rq)
{
	const struct fb_fg_req req = {
		.lbn = rq->r.fg.lbn,
		.nsect = rq->r.fg.nsect,
		.write = rq->r.fg.write,
		.arrived_ns = h->now,
	};

	rq->r.fg.arrived_ns = h->now;
	rq->r.fg.deadline_ns = h->expire_ns ? h->now + h->expire_ns : 0;
	rq->r.fg.class = h->class;
	rq->state = HOST_POOLED;
	fb_destage_arrived(&h->destage, rq->r.fg.write);
	fb_engine_arrived(&h->e, &rq->r, &req, true, h->now);
	fb_engine_add(&h->e, &rq->r);
	fb_engine_offer(&h->e, &rq->r, h->now);
}

static struct host_rq *host_arrive(struct host *h, u64 lbn, u32 nsect, bool write)
{
	struct host_rq *rq = host_new(h);

	rq->r.fg.lbn = lbn;
	rq->r.fg.nsect = nsect;
	rq->r.fg.write = write;
	rq->r.cacheable = write;
	host_pool(h, rq);
	return rq;
}

static void host_sent(struct host *h, struct host_rq *rq)
{
	assert_int_equal(rq->state, HOST_NEW);
	rq->state = HOST_SENT;
	list_add_tail(&rq->node, &h->drive);
	host_serve(h);
}

/* a command that the engine has not chosen */
static void host_send(struct host *h, struct host_rq *rq, enum fb_cause cause, u64 lbn, u32 nsect)
{
	const struct fb_engine_send d = { .cause = cause, .lbn = lbn, .nsect = nsect };

	rq->state = HOST_NEW;
	fb_engine_send(&h->e, &rq->r, &d, h->now);
	host_sent(h, rq);
}

static struct host_rq *host_next(struct host *h, struct fb_engine_send *d)
{
	struct fb_engine_rq *r = fb_engine_next(&h->e, d, h->now);

	if (!r)
		return NULL;
	host_sent(h, host_rq(r));
	return host_rq(r);
}

/* as freeblock_iosched.c does: what bypasses the pool goes first */
static inline bool host_send_bypass(struct host *h)
{
	struct host_rq *rq = list_first_entry_or_null(&h->bypass, struct host_rq, node);

	if (!rq || fb_engine_is_full(&h->e))
		return false;
	list_del_init(&rq->node);
	fb_engine_lose_head(&h->e);
	fb_engine_drop_plan(&h->e);
	host_send(h, rq, rq->r.cmd.cause, rq->r.fg.lbn, rq->r.fg.nsect);
	if (!h->e.pinned)
		fb_engine_choose_again(&h->e, h->now);
	return true;
}

static inline void host_bypass(struct host *h, struct host_rq *rq)
{
	rq->state = HOST_BYPASS;
	list_add(&rq->node, &h->bypass);
}

/* a command leaves the drive without an end */
static void host_take_back(struct host *h, struct host_rq *rq)
{
	if (h->drive.next == &rq->node) {
		h->serves = false;
		h->end_ns = h->now;
	}
	list_del_init(&rq->node);
	fb_engine_off_flight(&h->e, &rq->r, h->now);
	host_serve(h);
}

/* the drive gives a command back, to be sent again */
static inline void host_requeue(struct host *h, struct host_rq *rq, bool timed_out)
{
	struct fb_engine *e = &h->e;

	if (timed_out)
		fb_head_reset(&e->head, h->now + 1000 * HOST_MS);
	else
		fb_head_lose(&e->head);
	fb_gap_void(e->mail);
	fb_engine_drop_plan(e);
	rq->r.cmd.start_ns = 0;
	host_take_back(h, rq);
	host_bypass(h, rq);
}

/* a command is reported, at the host's time */
static void host_end(struct host *h, struct host_rq *rq)
{
	bool overtaken = fb_engine_landed(&h->e, &rq->r, h->fails, h->now);

	list_del_init(&rq->node);
	if (fb_engine_is_foreground(&rq->r))
		fb_policy_ended(&h->e.pool, !h->e.pool.count && !h->e.nr_flight);
	if (!rq->r.ours)
		fb_engine_served(&h->e, &rq->r, h->now);
	if (!h->e.pool.count && h->e.nr_flight == h->e.nr_idle)
		fb_idle_policy_idle(&h->wait, h->now);
	h->run = fb_engine_judge(&h->e, &rq->r, overtaken, h->now);
	host_free(h, rq);
}

/* what is in service ends as the drive has it */
static struct host_rq *host_run(struct host *h)
{
	struct host_rq *rq = list_first_entry(&h->drive, struct host_rq, node);

	h->now = max(h->now, h->report_ns);
	h->serves = false;
	host_end(h, rq);
	host_serve(h);
	return rq;
}

/* the window's timer */
static inline void host_timer(struct host *h)
{
	if (h->now >= h->e.window_ns)
		h->e.window_ns = 0;
}

/* what is sent when the window ends */
static struct host_rq *host_next_late(struct host *h, struct fb_engine_send *d)
{
	struct host_rq *rq = host_next(h, d);

	if (rq || !h->e.window_ns)
		return rq;
	h->now = max(h->now, h->e.window_ns);
	host_timer(h);
	return host_next(h, d);
}

static void host_init(struct host *h)
{
	memset(h, 0, sizeof(*h));
	h->dm = support_model_file("models/atlas10k.fbmodel");
	h->used = h->dm;
	h->now = 100000 * HOST_MS;
	h->reads = true;
	h->class = FB_POLICY_BE;
	h->guard_ppm = 1000;
	INIT_LIST_HEAD(&h->drive);
	INIT_LIST_HEAD(&h->bypass);
	fb_conservatism_init(&h->margin, h->dm, FB_CONSERVATISM_TARGET_PPM);
	fb_guard_init(&h->guard);
	fb_lookahead_init(&h->probe);
	fb_order_cost_init(&h->order_cost);
	fb_destage_init(&h->destage, dm_period_ns(h->dm));
	fb_idle_policy_init(&h->wait, h->now);
	h->idle.wait = &h->wait;
	h->idle.destage = &h->destage;
	h->ops = host_ops;
	fb_engine_init(&h->e, &h->ops);
	h->e.mail = &h->mail;
	h->e.destage = &h->destage;
	h->e.idle = &h->idle;
	h->e.probe = &h->probe;
	h->e.margin = &h->margin;
	h->e.stats = &h->stats;
	h->e.round.order_cost = &h->order_cost;
	h->e.wake_least_ns = HOST_WAKE_NS;
	h->e.wake_ns = HOST_WAKE_NS;
	h->e.search_ns = U64_MAX;
	h->e.pool.policy = FB_POLICY_SPTF;
	fb_engine_set_model(&h->e, h->dm, h->now);
}

/* requests here and there, one at a time: head and phase are known, and that this is no stream */
static void host_settle(struct host *h)
{
	struct fb_engine_send d;
	u32 i;

	for (i = 0; i < 48; i++) {
		host_arrive(h, 1000000 + i % 7 * 1999992, 8, false);
		host_next_late(h, &d);
		host_run(h);
		fb_engine_decide(&h->e, h->now);
		h->now += HOST_MS;
	}
	memset(&h->stats, 0, sizeof(h->stats));
	h->holds = 0;
}

#endif /* ENGINE_HOST_H */
