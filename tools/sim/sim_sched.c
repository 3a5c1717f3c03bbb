// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's host; see sim_sched.h.
 *
 * With a simulated drive choosing and searching take no time. The search is made when its plan is
 * needed, for nothing that it looks at changes before.
 */
#include "sim_sched.h"
#include "sim_file.h"

#include <math.h>

#define SIMS_NS_PER_MS 1000000ULL
#define SIMS_PRICE_ONE 256	/* a price of one gap in fb_joint */
#define SIMS_TRIES 5		/* as the kernel's sd: a request that is not carried out */

static struct sims *sims_of(const struct fb_engine *e)
{
	return container_of(e, struct sims, engine);
}

static struct siml_req *sims_req(struct fb_engine_rq *r)
{
	return container_of(r, struct siml_req, r);
}

/* ---- what the engine asks ---- */

static u64 sims_now(const struct fb_engine *e)
{
	const struct sims *s = sims_of(e);

	return sim_drive_now(s->drive, s->now_ns);
}

static bool sims_unmapped(const struct fb_engine *e)
{
	return !e->dm || sims_of(e)->o->policy == SIMO_NONE;
}

static bool sims_by_lbn(const struct fb_engine *e)
{
	return sims_unmapped(e) && fb_policy_needs_no_map(e->pool.policy);
}

/* no phase is given up here (core/phase.h) */
static bool sims_unphased(struct fb_engine *e, u64 now_ns)
{
	return false;
}

/* which free reads may be sent; a block of the trial that has ended is judged at once */
static u32 sims_allowed(struct sims *s, u64 now_ns)
{
	u32 may = fb_cost_may(&s->cost, now_ns);
	struct fb_cost_verdict v;

	fb_deadline_keep_pace(&s->pace, s->o->max_kib_s, s->unpaced, now_ns);
	s->unpaced = 0;
	if (fb_cost_due(&s->cost)) {
		fb_cost_judge(&s->cost, &v);
		fb_cost_settle(&s->cost, &v, now_ns);
		may = fb_cost_may(&s->cost, now_ns);
	}
	return s->pace.open_ns ? 0 : may;
}

/* are free reads of a kind, FB_COST_GAPS or FB_COST_IDLE, to be planned? */
static bool sims_may(struct sims *s, u32 kind, u64 now_ns)
{
	return (sims_allowed(s, now_ns) & kind) && simt_may_read(s->task, now_ns);
}

static bool sims_may_read(const struct fb_engine *e, u64 now_ns)
{
	return sims_may(sims_of(e), FB_COST_GAPS, now_ns);
}

static void sims_view(struct fb_engine *e, struct fb_orders_view *v)
{
	struct simt *t = sims_of(e)->task;

	v->blocks = t->bm.granules;
	v->withheld = fb_cost_controls(&sims_of(e)->cost);
	if (sims_may_read(e, v->now_ns))
		v->wanted = t->bm.n_wanted;
	v->tasks = v->wanted || t->add_ns != U64_MAX;
}

static void sims_decided(struct fb_engine *e, bool changed)
{
	struct sims *s = sims_of(e);

	s->due_ns = SIML_NEVER;
	if (e->orders.due_ns > s->now_ns && e->auto_depth && !sims_unmapped(e))
		s->due_ns = e->orders.due_ns;
}

static bool sims_limit(struct fb_engine *e, struct fb_engine_rq *r, struct fb_limits *lim)
{
	*lim = sims_of(e)->task->lim;
	return !sims_req(r)->alone;
}

static void sims_wake(struct fb_engine *e)
{
	struct sims *s = sims_of(e);

	if (s->gap_gen == s->mail.gen)
		return;
	s->gap_gen = s->mail.gen;
	s->gap_ns = s->now_ns;
}

/* as the thread of disk/reader.c does */
static void sims_search(struct fb_engine *e, u64 now_ns)
{
	struct sims *s = sims_of(e);
	struct fb_gap_mail *mail = &s->mail;

	simt_settled(s->task, mail);
	if (!mail->open && !mail->asked)
		return;
	if (now_ns < s->gap_ns + (u64)(s->o->search_us * 1000)) {
		s->stats.unsearched++;
		return;
	}
	do {
		while (mail->asked && !mail->open)
			mail->asked = fb_round_next(e, now_ns);
		if (!fb_gap_take(mail, &s->task->probe, now_ns))
			return;
		simt_search(s->task, mail, now_ns);
	} while (mail->shared && mail->asked);
}

static void sims_priced(struct fb_engine *e)
{
	struct sims *s = sims_of(e);

	s->stats.joint_windows++;
	s->stats.joint_ppm += e->round.joint.window_ppm;
}

/* ---- commands ---- */

/* a read of the task's own: there are as many as slots at the drive */
static struct siml_req *sims_own(struct sims *s)
{
	struct siml_req *own = s->own;

	while (own->busy)
		own++;
	*own = (struct siml_req) { .busy = true, .r.ours = true, .r.media = true };
	INIT_LIST_HEAD(&own->r.flight);
	return own;
}

static struct fb_engine_rq *sims_aim(struct fb_engine *e, const struct fb_plan_piece *p, bool more)
{
	struct sims *s = sims_of(e);

	s->stats.separates++;
	return &sims_own(s)->r;
}

static bool sims_prepend(struct fb_engine *e, struct fb_engine_rq *r,
			 const struct fb_plan_piece *p)
{
	sims_of(e)->stats.prepends++;
	return true;
}

static void sims_take(struct fb_engine *e, struct fb_engine_rq *r)
{
	fb_engine_remove(e, r);
	sims_of(e)->stats.deep += !fb_engine_predicts(e);
}

static enum sim_drive_op sims_op(const struct sims *s, const struct siml_req *req)
{
	if (req->r.cmd.cause == FB_CAUSE_IDLE && s->o->verify)
		return SIM_DRIVE_VERIFY;
	if (req->flush)
		return SIM_DRIVE_FLUSH;
	if (req->fua && s->cache)
		return SIM_DRIVE_FUA;
	return req->r.cmd.write ? SIM_DRIVE_WRITE : SIM_DRIVE_READ;
}

static bool sims_overlap(const struct siml_req *a, u64 first, u64 end)
{
	return a->free_end > a->r.cmd.lbn && first < a->free_end && a->r.cmd.lbn < end;
}

/* a foreground write spoils free reads of the same sectors, whichever was sent first */
static void sims_spoil(struct sims *s, struct siml_req *req)
{
	const struct fb_completion_cmd *c = &req->r.cmd;
	struct fb_engine_rq *r;

	list_for_each_entry(r, &s->engine.flight, flight) {
		struct siml_req *other = sims_req(r);

		if (c->write && sims_overlap(other, c->lbn, c->lbn + c->nsect))
			other->spoilt = true;
		if (r->cmd.write && sims_overlap(req, r->cmd.lbn, r->cmd.lbn + r->cmd.nsect))
			req->spoilt = true;
	}
}

static u64 sims_submit(struct fb_engine *e, struct fb_engine_rq *r, u64 now_ns)
{
	struct siml_req *req = sims_req(r);
	struct sims *s = sims_of(e);

	now_ns = sim_drive_now(s->drive, now_ns);
	s->at[sim_drive_submit(s->drive, now_ns, sims_op(s, req), r->cmd.lbn, r->cmd.nsect)] = req;
	req->spoilt = false;
	req->free_end = r->cmd.lbn + (r->ours ? r->cmd.nsect : 0);
	if (r->cmd.cause == FB_CAUSE_PREPEND)
		req->free_end = r->fg.lbn;
	sims_spoil(s, req);
	s->stats.most = max(s->stats.most, e->nr_flight + 1);
	if (req->free_end > r->cmd.lbn)
		simt_take(s->task, r->cmd.lbn, req->free_end, now_ns);
	return now_ns;
}

/* there are few here: they are looked through */
static struct fb_policy_req *sims_above(struct fb_policy_pool *pool, enum fb_policy_class class,
					bool write, u64 lbn)
{
	struct fb_policy_req *req, *best = NULL;

	list_for_each_entry(req, &pool->reqs[class], node)
		if (req->write == write && req->lbn >= lbn && (!best || req->lbn < best->lbn))
			best = req;
	return best;
}

/* ---- ends ---- */

/* the model may change: a completion finds the task's search over */
static void sims_learners(struct fb_engine *e, struct fb_completion *l)
{
	struct sims *s = sims_of(e);

	*l = (struct fb_completion) {
		.dm = e->dm,
		.head = &e->head,
		.margin = s->task->lim.odds ? &s->task->margin : NULL,
		.calib = s->o->calibrate ? &s->calib : NULL,
		.may_correct = true,
		.guard = s->o->guard ? &s->task->guard : NULL,
		.guard_ppm = s->o->guard,
		.probe = &s->task->probe,
		.stats = &e->stats->ends,
	};
}

static void sims_learnt(struct fb_engine *e, struct fb_engine_rq *r,
			const struct fb_completion_result *result, u64 now_ns)
{
	s64 half = dm_period_ns(e->dm) / 2;
	struct sims *s = sims_of(e);

	s->stats.late += result->late_ns > half;
	s->stats.early += result->late_ns < -half;
}

static const struct fb_engine_ops sims_ops = {
	.now = sims_now,
	.unmapped = sims_unmapped,
	.by_lbn = sims_by_lbn,
	.unphased = sims_unphased,
	.may_read = sims_may_read,
	.view = sims_view,
	.decided = sims_decided,
	.learners = sims_learners,
	.learnt = sims_learnt,
	.limit = sims_limit,
	.above = sims_above,
	.search = sims_search,
	.wake = sims_wake,
	.aim = sims_aim,
	.prepend = sims_prepend,
	.take = sims_take,
	.submit = sims_submit,
	.priced = sims_priced,
};

/* ---- the foreground ---- */

static enum fb_trial_kind sims_trial_kind(const struct siml_req *req)
{
	return req->r.fg.write ? FB_TRIAL_WRITE : FB_TRIAL_READ;
}

static u64 sims_deadline(const struct sims *s, bool write, u64 now_ns)
{
	u64 ms = write ? s->o->write_expire_ms : s->o->read_expire_ms;

	return ms ? now_ns + ms * SIMS_NS_PER_MS : 0;
}

/* a request has ended: was it the last one? */
static void sims_note_activity(struct sims *s, u64 now_ns)
{
	const struct fb_engine *e = &s->engine;
	bool active = e->pool.count || e->nr_flight > e->nr_idle || !list_empty(&s->flushes);

	if (s->active && !active)
		fb_idle_policy_idle(&s->wait, now_ns);
	s->active = active;
}

void sims_insert(struct sims *s, struct siml_req *req, u64 now_ns)
{
	const struct fb_fg_req idle = {
		.lbn = req->r.fg.lbn,
		.nsect = req->r.fg.nsect,
		.write = req->r.fg.write,
		.arrived_ns = now_ns,
	};

	s->now_ns = now_ns;
	req->r.fg.class = FB_POLICY_BE;
	req->r.fg.deadline_ns = sims_deadline(s, req->r.fg.write, now_ns);
	req->r.fg.arrived_ns = now_ns;
	fb_trial_arrived(&s->cost.trial, sims_trial_kind(req), now_ns);
	req->r.media = true;
	req->r.cacheable = req->r.fg.write && !req->fua;
	INIT_LIST_HEAD(&req->r.flight);
	fb_engine_add(&s->engine, &req->r);
	fb_destage_arrived(&s->destage, req->r.fg.write);
	s->active = true;
	fb_engine_arrived(&s->engine, &req->r, &idle, true, now_ns);
	fb_engine_offer(&s->engine, &req->r, now_ns);
}

/* ---- sending ---- */

/* a command that the engine has not chosen */
static void sims_send(struct sims *s, struct siml_req *req, enum fb_cause cause, u64 lbn, u32 nsect,
		      u64 now_ns)
{
	const struct fb_engine_send d = { .cause = cause, .lbn = lbn, .nsect = nsect };

	fb_engine_send(&s->engine, &req->r, &d, now_ns);
}

static void sims_send_idle(struct sims *s, u64 now_ns)
{
	struct sims_idle *st = &s->stats.idle;
	struct siml_req *own = sims_own(s);
	u64 end_ns;

	fb_engine_send_idle(&s->engine, &own->r, now_ns);
	end_ns = fb_completion_end_ns(&own->r.cmd);
	st->reads++;
	st->sectors += own->r.cmd.nsect;
	if (!end_ns)
		return;
	st->predicted++;
	st->most_ns = max(st->most_ns, end_ns - own->r.cmd.sent_ns);
}

/* as the thread does (disk/idle.c), which takes no time here; and when to look again */
static void sims_read_idle(struct sims *s, u64 now_ns)
{
	bool may = s->o->idle && !s->active && sims_may(s, FB_COST_IDLE, now_ns);
	u64 least_ns = may ? 0 : FB_IDLE_POLICY_NEVER;
	struct fb_engine *e = &s->engine;
	struct fb_idle_order_ask ask;
	struct fb_plan_piece p;
	struct dm_place head;

	s->idle_ns = fb_idle_reader_due_ns(&s->reader, least_ns, now_ns);
	if (s->idle_ns > now_ns)
		return;
	fb_idle_reader_ask(&s->reader, sims_unmapped(e) ? NULL : &e->head, simt_ahead(s->task),
			   &head, &ask, now_ns);
	if (simt_find_idle(s->task, &ask, &p, now_ns))
		fb_idle_reader_offer(&s->reader, &p, now_ns);
	else
		fb_idle_reader_miss(&s->reader, now_ns);
	if (fb_engine_idle_is_due(e))
		sims_send_idle(s, now_ns);
	s->idle_ns = fb_idle_reader_due_ns(&s->reader, least_ns, now_ns);
}

/* flushes go past the scheduler, as in the kernel */
static void sims_send_flushes(struct sims *s, u64 now_ns)
{
	struct siml_req *req;

	while (!list_empty(&s->flushes) && s->engine.nr_flight < s->queue) {
		req = list_first_entry(&s->flushes, struct siml_req, r.fg.node);
		list_del_init(&req->r.fg.node);
		fb_engine_lose_head(&s->engine);
		fb_engine_drop_plan(&s->engine);
		sims_send(s, req, FB_CAUSE_PLAIN, 0, 0, now_ns);
		if (!s->engine.pinned)
			fb_engine_choose_again(&s->engine, now_ns);
	}
}

void sims_fill(struct sims *s, u64 now_ns)
{
	struct fb_engine *e = &s->engine;
	struct fb_engine_send d;
	u32 most;

	s->now_ns = now_ns;
	if (s->o->trial)
		fb_cost_want(&s->cost, !simt_over(s->task), now_ns);
	/* a stretch may have ended */
	sims_allowed(s, now_ns);
	s->wait.withheld = fb_cost_controls(&s->cost);
	sims_send_flushes(s, now_ns);
	fb_engine_decide(e, now_ns);
	do {
		/* with depth auto the drive's queue is its own */
		most = e->auto_depth && e->drive_orders ? s->queue : e->depth;
	} while (e->nr_flight < most && fb_engine_next(e, &d, now_ns));
	sims_read_idle(s, now_ns);
}

/* ---- completion ---- */

/* hold the slot open for the request that this completion provokes */
static void sims_commit(struct sims *s, const struct siml_req *done, u64 now_ns)
{
	struct fb_engine *e = &s->engine;
	u64 commit_ns = s->o->commit_us * 1000;

	if (!fb_engine_predicts(e) || (e->hold && e->depth == FB_ENGINE_DEPTH))
		return;
	if (!commit_ns || e->pinned || done->r.ours || !e->nr_flight ||
	    e->nr_flight != e->depth - 1 ||
	    fb_completion_too_late(&list_first_entry(&e->flight, struct fb_engine_rq, flight)->cmd,
				   now_ns, commit_ns + e->lead_ns))
		return;
	e->window_ns = now_ns + commit_ns;
}

/* ---- errors ---- */

/* is it to be sent once more? A foreground request is only to blame for its own sectors */
static bool sims_comes_again(const struct siml_req *req, const struct sim_drive_done *done)
{
	bool joined = req->free_end > req->r.cmd.lbn;

	if (done->outcome == SIM_DRIVE_MEDIUM)
		return joined && (done->bad == U64_MAX || done->bad < req->free_end);
	return done->outcome == SIM_DRIVE_AGAIN && req->tries < SIMS_TRIES;
}

/* the request goes back to the pool, and will go without a free read */
static void sims_again(struct sims *s, struct siml_req *req, u64 now_ns)
{
	req->tries++;
	req->alone = true;
	fb_engine_add(&s->engine, &req->r);
	fb_engine_offer(&s->engine, &req->r, now_ns);
}

static void sims_fail_req(struct sims *s, struct siml_req *req,
			  const struct sim_drive_done *done, u64 now_ns)
{
	if (sims_comes_again(req, done)) {
		sims_again(s, req, now_ns);
	} else {
		s->stats.failed++;
		if (!req->flush)
			fb_trial_ended(&s->cost.trial, sims_trial_kind(req),
				       now_ns - req->arrived_ns, now_ns);
		siml_done(s->load, req, now_ns);
	}
}

static void sims_fail(struct sims *s, struct siml_req *req,
		      const struct sim_drive_done *done, u64 now_ns)
{
	s->stats.again += done->outcome == SIM_DRIVE_AGAIN;
	if (!req->r.ours)
		sims_fail_req(s, req, done, now_ns);
}

/* a write has ended that a flush follows: the request becomes that flush */
static void sims_flush(struct sims *s, struct siml_req *req, u64 now_ns)
{
	req->flush = true;
	req->fsync = false;
	req->arrived_ns = now_ns;
	req->r.media = false;
	req->r.cacheable = false;
	req->r.fg.deadline_ns = 0;
	list_add_tail(&req->r.fg.node, &s->flushes);
	s->active = true;
	fb_engine_arrived(&s->engine, &req->r, NULL, false, now_ns);
}

static void sims_flushed(struct sims *s, struct siml_req *req, u64 now_ns)
{
	simh_add(&s->stats.of[SIMS_FLUSH], now_ns - req->arrived_ns);
	siml_done(s->load, req, now_ns);
}

/* the free part of a command has come back */
static void sims_end_free(struct sims *s, const struct siml_req *req,
			  const struct sim_drive_done *done, u64 now_ns)
{
	const struct fb_completion_cmd *c = &req->r.cmd;
	bool named = done->outcome == SIM_DRIVE_MEDIUM && done->bad != U64_MAX;
	const struct fb_quarantine_read read = {
		.lbn = c->lbn,
		.nsect = req->free_end - c->lbn,
		.good = named ? done->bad - c->lbn : 0,
		.failed = done->outcome == SIM_DRIVE_MEDIUM &&
			  (!named || done->bad < req->free_end),
		.named = named,
		.medium = true,
		.joined = !req->r.ours,
		.took_ns = now_ns - c->sent_ns,
	};

	s->unpaced += read.nsect;
	s->stats.spoilt += req->spoilt;
	s->stats.free_errors += read.failed;
	if (req->spoilt || done->outcome == SIM_DRIVE_AGAIN)
		simt_lost(s->task, c->lbn, req->free_end);
	else
		simt_ended(s->task, &read, now_ns);
}

static void sims_deliver(struct sims *s, struct siml_req *req, u64 now_ns)
{
	if (req->r.ours)
		return;
	if (req->flush) {
		sims_flushed(s, req, now_ns);
		return;
	}
	fb_trial_ended(&s->cost.trial, sims_trial_kind(req), now_ns - req->arrived_ns, now_ns);
	s->stats.requests++;
	s->stats.sectors += req->r.fg.nsect;
	simh_add(&s->stats.response, now_ns - req->arrived_ns);
	simh_add(&s->stats.of[req->r.fg.write ? SIMS_WRITE : SIMS_READ],
		 now_ns - req->arrived_ns);
	if (s->stats.log)
		sim_file_print(s->stats.log, "%llu %llu\n",
			       (unsigned long long)req->arrived_ns,
			       (unsigned long long)(now_ns - req->arrived_ns));
	if (req->fsync && s->cache)
		sims_flush(s, req, now_ns);
	else
		siml_done(s->load, req, now_ns);
}

void sims_complete(struct sims *s, const struct sim_drive_done *done)
{
	struct siml_req *req = s->at[done->slot];
	bool good = done->outcome == SIM_DRIVE_GOOD;
	struct fb_engine *e = &s->engine;
	u64 now_ns = done->report_ns;
	bool overtaken;

	s->now_ns = now_ns;
	overtaken = fb_engine_landed(e, &req->r, !good, now_ns);
	if (!req->r.ours && !req->flush)
		fb_policy_ended(&e->pool, !e->pool.count && !e->nr_flight);
	if (req->r.ours || !sims_comes_again(req, done)) {
		if (!req->r.ours)
			fb_engine_served(e, &req->r, now_ns);
		sims_note_activity(s, now_ns);
	}
	fb_engine_judge(e, &req->r, overtaken, now_ns);
	sims_commit(s, req, now_ns);
	req->busy = false;
	if (req->free_end > req->r.cmd.lbn)
		sims_end_free(s, req, done, now_ns);
	if (good)
		sims_deliver(s, req, now_ns);
	else
		sims_fail(s, req, done, now_ns);
}

/* ---- beginning ---- */

static u32 sims_depth(const struct sims *s)
{
	if (s->o->depth > s->queue)
		sim_usage("depth: the drive's queue takes %u", s->queue);
	if (s->o->depth > 0)
		return s->o->depth;
	return s->o->depth != SIMO_AUTO && sims_unmapped(&s->engine) ? s->queue : min(2U, s->queue);
}

static void sims_init_engine(struct sims *s, struct disk_model *dm)
{
	const struct simo *o = s->o;
	struct fb_engine *e = &s->engine;

	fb_engine_init(e, &sims_ops);
	e->mail = &s->mail;
	e->destage = &s->destage;
	e->idle = &s->reader;
	e->probe = &s->task->probe;
	e->margin = &s->task->margin;
	e->stats = &s->stats.engine;
	e->round.order_cost = &s->order_cost;
	fb_order_cost_init(&s->order_cost);
	e->round.joint.cost_ppm = o->foreground_cost_ppm;
	e->dm = dm;
	e->auto_depth = o->depth == SIMO_AUTO;
	e->depth = sims_depth(s);
	e->hold = o->hold;
	e->lift = o->lift;
	e->auto_lift = o->probe;
	e->auto_margin = o->conservatism_us == SIMO_AUTO;
	e->lead_ns = o->lead_us * 1000;
	/* counted in steps here, as the search's time is */
	e->search_ns = o->steps;
	e->pool.sw_percent = o->sw_percent;
	e->pool.policy = o->policy == SIMO_NONE ? FB_POLICY_AUTO : o->policy;
	fb_engine_set_model(e, dm, 0);
	if (!o->joint_price)
		return;
	e->round.joint.price = lround(o->joint_price * SIMS_PRICE_ONE);
	if (!e->round.joint.price)
		sim_usage("joint_price: %g is less than 1/%d", o->joint_price, SIMS_PRICE_ONE);
	e->round.joint.fixed = true;
}

static void sims_init_idle(struct sims *s, const struct disk_model *dm)
{
	const struct simo *o = s->o;

	s->idle_ns = SIML_NEVER;
	s->reader.wait = &s->wait;
	s->reader.destage = &s->destage;
	fb_idle_policy_init(&s->wait, 0);
	if (dm)
		fb_idle_policy_set_drive(&s->wait, dm_period_ns(dm),
					 dm_info(dm)->period_ps / dm_info(dm)->spt_least);
	fb_idle_policy_set_goals(&s->wait, o->idle_mean_us * 1000, o->idle_max_us * 1000);
	fb_idle_policy_set_fixed(&s->wait,
				 o->idle_wait_us == SIMO_AUTO ? FB_IDLE_POLICY_AUTO :
								o->idle_wait_us * 1000,
				 o->idle_size_kib == SIMO_AUTO ? 0 : o->idle_size_kib * 2);
}

/* the module's limit: what idle reads may add, and the share that gaps may */
static void sims_init_cost(struct sims *s)
{
	const struct simo *o = s->o;
	struct fb_trial_limit limit = {
		.ns = o->idle ? o->idle_mean_us * 1000 : 0,
		.ppm = s->engine.dm ? o->foreground_cost_ppm : 0,
		.most_ppm = o->trial_most_ppm,
		.max_ns = o->idle_max_us * 1000,
	};

	fb_cost_init(&s->cost, o->trial_seed, o->trial && o->trial_guard);
	fb_trial_set_limit(&s->cost.trial, &limit);
	fb_trial_set_fixed(&s->cost.trial, o->trial > 0 ? o->trial : 0, o->trial_s * 1e9);
}

void sims_init(struct sims *s, struct disk_model *dm)
{
	struct sim_drive_info info = { 0 };

	sim_drive_info(s->drive, &info);
	fb_lookahead_off(&s->task->probe, info.look_ahead_off);
	if (s->o->verify && !info.verify)
		sim_usage("idle_command: this drive is not told to verify");
	s->queue = info.queue;
	s->cache = info.write_cache;
	s->due_ns = SIML_NEVER;
	INIT_LIST_HEAD(&s->flushes);
	fb_destage_init(&s->destage, FB_IDLE_TURN_NS);
	fb_destage_set_cache(&s->destage, s->cache && s->o->destage, 0);
	if (dm)
		fb_seek_fit_init(&s->calib, dm);
	sims_init_idle(s, dm);
	sims_init_engine(s, dm);
	sims_init_cost(s);
	s->engine.wake_least_ns = info.host_ns;
	s->engine.wake_ns = info.host_ns;
}
