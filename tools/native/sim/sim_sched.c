// SPDX-License-Identifier: GPL-2.0
/*
 * The pipeline; see sim_sched.h.
 *
 * Function by function what freeblock_iosched.c does, without what a kernel needs besides
 * (locks, merging, requeues). With a simulated drive choosing and searching take no time.
 * The search is made when its plan is needed, for nothing that it looks at changes before.
 */
#include "sim_sched.h"
#include "sim_file.h"

#define SIMS_NS_PER_MS 1000000ULL
#define SIMS_TRIES 5		/* as the kernel's sd: a request that is not carried out */

static struct siml_req *sims_chosen(const struct sims *s)
{
	return container_of(s->choice.req, struct siml_req, fg);
}

static struct sims_cmd *sims_first(struct sims *s)
{
	return s->nr_flight ? &s->cmd[s->flight[0]] : NULL;
}

static struct sims_cmd *sims_last(struct sims *s)
{
	return s->nr_flight ? &s->cmd[s->flight[s->nr_flight - 1]] : NULL;
}

/* ---- the choice, and the gap before it ---- */

/* the gap before a request, if it is next */
static struct fb_gap sims_gap(const struct sims *s, const struct fb_policy_req *fg)
{
	return (struct fb_gap) {
		.src = s->tail,
		.dst = fg->start,
		.dst_lbn = fg->lbn,
		.dst_nsect = fg->nsect,
		.dst_write = fg->write,
	};
}

static void sims_open_gap(struct sims *s, u64 now_ns)
{
	struct fb_policy_req *fg = s->choice.req;

	s->gap_open = s->nr_flight && s->depth == 2 && s->tail_known && s->choice.predicted &&
		!sims_chosen(s)->alone && simt_may_read(s->task, now_ns);
	s->gap_ns = now_ns;
	s->gap = sims_gap(s, fg);
}

static void sims_choose(struct sims *s, const struct dm_place *head, u64 now_ns)
{
	s->gap_open = false;
	fb_policy_choose(&s->pool, s->dm, head, now_ns, &s->choice);
	if (s->choice.req)
		sims_open_gap(s, now_ns);
}

/* with an idle drive the choice waits until a command is sent */
static void sims_choose_next(struct sims *s, u64 now_ns)
{
	s->choice.req = NULL;
	s->pinned = false;
	s->gap_open = false;
	if (s->nr_flight && s->pool.count)
		sims_choose(s, s->tail_known ? &s->tail : NULL, now_ns);
}

static void sims_reconsider(struct sims *s, struct siml_req *req, u64 now_ns)
{
	if (s->pinned || !s->nr_flight)
		return;
	if (!s->choice.req)
		sims_choose_next(s, now_ns);
	else if (fb_policy_offer(&s->pool, s->dm, s->tail_known ? &s->tail : NULL, &req->fg,
				 &s->choice))
		sims_open_gap(s, now_ns);
}

static u64 sims_deadline(const struct sims *s, bool write, u64 now_ns)
{
	u64 ms = write ? s->o->write_expire_ms : s->o->read_expire_ms;

	return ms ? now_ns + ms * SIMS_NS_PER_MS : 0;
}

/* a write that the drive reports when its cache has it */
static bool sims_is_cached(const struct sims *s, const struct siml_req *req)
{
	return s->destage.on && req && req->fg.write && !req->fua && !req->flush;
}

/* does the foreground wait for the medium? A cached write only does if we hold it back */
static bool sims_waits(const struct sims *s, const struct siml_req *req)
{
	return !sims_is_cached(s, req) || s->o->depth != SIMO_AUTO;
}

/* as the idle policy is told of it */
static struct fb_fg_req sims_idle_req(const struct siml_req *req)
{
	return (struct fb_fg_req) {
		.lbn = req->fg.lbn,
		.nsect = req->fg.nsect,
		.write = req->fg.write,
		.arrived_ns = req->arrived_ns,
	};
}

/* it knows nothing of caches */
static bool sims_shadows(const struct sims *s, const struct siml_req *req)
{
	return s->dm && !s->destage.on && !req->flush;
}

static void sims_gone(struct sims *s, const struct siml_req *req, u64 now_ns)
{
	struct fb_fg_req idle = sims_idle_req(req);

	if (sims_shadows(s, req))
		fb_shadow_served(&s->shadow, &s->head, now_ns, req->arrived_ns);
	if (sims_waits(s, req))
		simi_gone(&s->idle, now_ns, sims_is_cached(s, req) ? NULL : &idle);
	if (s->dm && !s->idle.foreground)
		fb_shadow_idle(&s->shadow, &s->head, now_ns);
}

void sims_insert(struct sims *s, struct siml_req *req, u64 now_ns)
{
	struct fb_fg_req idle = sims_idle_req(req);

	req->fg.class = FB_POLICY_BE;
	req->fg.deadline_ns = sims_deadline(s, req->fg.write, now_ns);
	req->fg.arrived_ns = now_ns;
	fb_policy_req_place(&req->fg, s->dm);
	fb_policy_pool_add(&s->pool, &req->fg);
	if (s->o->order_cost)
		fb_order_cost_arrived(&s->task->order_cost, &req->fg);
	fb_destage_arrived(&s->destage, req->fg.write);
	if (sims_shadows(s, req) && !fb_idle_streams_is_ahead(&s->idle.wait.streams, &idle))
		fb_shadow_arrived(&s->shadow, &s->head, &idle);
	else
		fb_shadow_lose(&s->shadow);
	if (!sims_waits(s, req))
		simi_wrote(&s->idle, &idle);
	else if (sims_is_cached(s, req))
		simi_arrived_unfollowed(&s->idle, now_ns, &idle);
	else
		simi_arrived(&s->idle, now_ns, &idle);
	if (!s->deep)
		sims_reconsider(s, req, now_ns);
}

/* ---- sending ---- */

static bool sims_overlap(const struct sims_cmd *a, u64 first, u64 end)
{
	return a->free_end > a->cmd.lbn && first < a->free_end && a->cmd.lbn < end;
}

/* a foreground write spoils free reads of the same sectors, whichever was sent first */
static void sims_spoil(struct sims *s, struct sims_cmd *c)
{
	u32 i;

	for (i = 0; i < s->nr_flight; i++) {
		struct sims_cmd *other = &s->cmd[s->flight[i]];

		if (c->cmd.write && sims_overlap(other, c->cmd.lbn, c->cmd.lbn + c->cmd.nsect))
			other->spoilt = true;
		if (other->cmd.write &&
		    sims_overlap(c, other->cmd.lbn, other->cmd.lbn + other->cmd.nsect))
			c->spoilt = true;
	}
}

static u64 sims_lead_ns(const struct sims *s)
{
	return s->o->lead_us * 1000;
}

/* the next request may be held back: it is a short one, or there is none yet */
static bool sims_may_hold(const struct sims *s)
{
	const struct fb_policy_req *req = s->choice.req;

	return !req || fb_completion_may_hold(req->write, req->nsect);
}

/* hold the second command back until the one that is in service is about to end */
static void sims_hold(struct sims *s, u64 now_ns)
{
	s->window_ns = 0;
	if (s->dm && s->o->hold && s->depth == 2 && s->nr_flight == 1 && sims_may_hold(s))
		s->window_ns = fb_completion_hold_ns(s->dm, &sims_first(s)->cmd,
						     sims_lead_ns(s) + s->host_ns);
	/* it is over: time does not go back */
	if (s->window_ns < now_ns)
		s->window_ns = 0;
}

static enum sim_drive_op sims_op(const struct sims *s, const struct sims_cmd *c)
{
	if (c->cmd.cause == FB_CAUSE_IDLE && s->o->verify)
		return SIM_DRIVE_VERIFY;
	if (c->req && c->req->flush)
		return SIM_DRIVE_FLUSH;
	if (c->req && c->req->fua && s->cache)
		return SIM_DRIVE_FUA;
	return c->cmd.write ? SIM_DRIVE_WRITE : SIM_DRIVE_READ;
}

static void sims_send(struct sims *s, const struct sims_cmd *cmd, u64 now_ns)
{
	const struct sims_cmd *before = sims_last(s);
	struct sims_cmd *c;
	int slot;

	now_ns = sim_drive_now(s->drive, now_ns);
	slot = sim_drive_submit(s->drive, now_ns, sims_op(s, cmd), cmd->cmd.lbn, cmd->cmd.nsect);
	c = &s->cmd[slot];
	*c = *cmd;
	c->cmd.sent_ns = now_ns;
	c->cmd.foreground = c->req;
	c->cmd.own_order = s->deep && s->destage.on;
	c->cmd.watched = s->dm && (!s->deep || (s->destage.on && !c->req));
	if (c->cmd.cause == FB_CAUSE_IDLE)
		fb_destage_idle_sent(&s->destage, now_ns);
	else if (!c->cmd.unplaced)
		fb_destage_sent(&s->destage, now_ns, sims_is_cached(s, c->req), c->cmd.lbn,
				c->cmd.nsect);
	fb_completion_mark(&c->cmd, &s->lifts);
	if (c->cmd.watched)
		s->tail_known = fb_completion_predict(&s->head, &c->cmd,
						      before ? &before->cmd : NULL,
						      s->tail_known, &s->tail);
	sims_spoil(s, c);
	s->flight[s->nr_flight++] = slot;
	s->stats.most = max(s->stats.most, s->nr_flight);
	sims_hold(s, now_ns);
	if (c->free_end > c->cmd.lbn)
		simt_take(s->task, c->cmd.lbn, c->free_end);
}

/* what command @i of the plan in use was allowed, and needs */
static u32 sims_lifts(const struct sims *s, u32 i)
{
	return s->pinned ? fb_lookahead_lifts(s->dm, &s->gap, &s->plan, i) & s->task->lim.lift : 0;
}

/* the next piece of the plan in use */
static void sims_send_piece(struct sims *s, u64 now_ns)
{
	u32 lifts = sims_lifts(s, s->next_piece);
	const struct fb_plan_piece *p = &s->plan.piece[s->next_piece++];

	sims_send(s, &(struct sims_cmd) {
		.cmd.lbn = p->lbn,
		.cmd.nsect = p->nsect,
		.free_end = p->lbn + p->nsect,
		.cmd.cause = FB_CAUSE_SEPARATE,
		.cmd.mark.at = lifts,
	}, now_ns);
	s->stats.separates++;
}

/* pieces of the plan in use that are commands of their own */
static u32 sims_commands(const struct sims *s)
{
	return s->plan.kind == FB_PLAN_BOTH ? s->plan.npieces - 1 : s->plan.npieces;
}

static void sims_begin_plan(struct sims *s, const struct fb_plan *plan, u64 now_ns)
{
	s->plan = *plan;
	s->next_piece = 0;
	s->pinned = true;
	s->gap_open = false;
	sims_chosen(s)->after_free = true;
	s->stats.several += plan->npieces > 1;
	sims_send_piece(s, now_ns);
}

static void sims_note_sent(struct sims *s, const struct siml_req *req, u64 now_ns)
{
	fb_orders_sent(&s->orders, req->fg.lbn, req->fg.nsect, !s->nr_flight && !s->pool.count,
		       now_ns);
}

/* send the choice, from @lbn on, which is before its own beginning if @prepended */
static void sims_send_choice(struct sims *s, u64 lbn, bool prepended, u64 now_ns)
{
	struct siml_req *req = sims_chosen(s);

	fb_policy_pool_del(&s->pool, &req->fg);
	fb_policy_sent(&s->pool, &req->fg, s->choice.expired);
	sims_note_sent(s, req, now_ns);
	s->choice.req = NULL;
	s->stats.prepends += prepended;
	sims_send(s, &(struct sims_cmd) {
		.req = req,
		.cmd.lbn = lbn,
		.cmd.nsect = req->fg.lbn + req->fg.nsect - lbn,
		.cmd.write = req->fg.write,
		.free_end = req->fg.lbn,
		.cmd.cause = prepended ? FB_CAUSE_PREPEND :
			     req->after_free ? FB_CAUSE_AFTER : FB_CAUSE_PLAIN,
		.cmd.leg.gap_ns = s->task->gap_ns,
		.cmd.leg.extra_ns = s->task->extra_ns,
		.cmd.mark.at = sims_lifts(s, s->next_piece),
	}, now_ns);
	sims_choose_next(s, now_ns);
}

static bool sims_window_open(const struct sims *s, u64 now_ns)
{
	return s->window_ns && s->nr_flight && !s->pinned && now_ns < s->window_ns &&
	       sims_may_hold(s);
}

static void sims_find_plan(struct sims *s, u64 now_ns, struct fb_plan *plan)
{
	plan->kind = FB_PLAN_NONE;
	if (!s->gap_open || !s->nr_flight || s->pinned)
		return;
	if (now_ns < s->gap_ns + (u64)(s->o->search_us * 1000)) {
		s->stats.unsearched++;
		return;
	}
	simt_plan(s->task, &s->gap, now_ns, plan);
	if (plan->kind == FB_PLAN_NONE ||
	    !fb_completion_too_late(&sims_last(s)->cmd, sim_drive_now(s->drive, now_ns),
				    sims_lead_ns(s)))
		return;
	s->stats.too_late++;
	plan->kind = FB_PLAN_NONE;
}

/*
 * Choose the next request and its free read together; false: the choice stands. Nothing changes
 * between the choice and its search here, so both are made when the request is to be sent.
 */
static bool sims_plan_joint(struct sims *s, u64 now_ns, struct fb_plan *plan)
{
	const struct fb_joint_at at = {
		.dm = s->dm,
		.odds = s->task->lim.odds,
		.pool = &s->pool,
		.head = &s->tail,
		.now_ns = now_ns,
	};
	struct simt_gap gap[FB_JOINT_CANDIDATES];
	struct fb_joint_round r;
	u32 i;

	if (!s->o->joint || !s->gap_open || !s->nr_flight || s->pinned || s->choice.expired ||
	    !fb_orders_may_wait(&s->orders, s->choice.req->lbn) ||
	    s->task->again_n || now_ns < s->gap_ns + (u64)(s->o->search_us * 1000) ||
	    fb_completion_too_late(&sims_last(s)->cmd, sim_drive_now(s->drive, now_ns),
				   sims_lead_ns(s)))
		return false;
	fb_joint_begin(&r, &s->pool, s->choice.class);
	fb_joint_rank(&s->task->joint, &at, &r, s->pool.count);
	for (i = 0; i < r.n; i++) {
		fb_joint_onward(&s->task->joint, &at, &r, i);
		struct siml_req *req = container_of(r.candidate[i].req, struct siml_req, fg);

		gap[i] = (struct simt_gap) { sims_gap(s, &req->fg), req->alone };
	}
	simt_plan_joint(s->task, &r, gap, now_ns, plan);
	s->choice.req = r.candidate[r.best].req;
	s->choice.seek_ns = r.candidate[r.best].seek_ns;
	s->choice.pos_ns = s->choice.seek_ns + r.candidate[r.best].latency_ns;
	s->gap = gap[r.best].gap;
	return true;
}

/* the choice stands: what does it cost, against the shortest positioning times? */
static void sims_charge(struct sims *s, const struct dm_place *head, u64 now_ns)
{
	const struct fb_order_cost_at at = {
		.dm = s->dm,
		.odds = &s->task->margin.odds,
		.real = &s->pool,
		.head = head,
		.now_ns = now_ns,
		/* without free reads depth auto leaves the order to it */
		.drives = s->o->depth == SIMO_AUTO,
	};
	s64 before_ns = s->stats.order.later_ns;

	/* without free reads these policies are sptf */
	if (s->o->joint && !simt_may_read(s->task, now_ns)) {
		fb_order_cost_lost(&s->task->order_cost);
		return;
	}
	if (fb_order_cost_charge(&s->task->order_cost, &at, &s->choice, &s->stats.order) &&
	    s->o->joint)
		simt_charge(s->task, s->stats.order.later_ns - before_ns, s->pool.idle, now_ns);
}

/* a slot is free: fill it (Documentation/design.rst, "One request's way", step 5) */
static void sims_fill_slot(struct sims *s, u64 now_ns)
{
	struct dm_place head;
	struct fb_plan plan;
	u64 start_ns;
	bool known;

	s->window_ns = 0;
	if (s->pinned && s->next_piece < sims_commands(s)) {
		sims_send_piece(s, now_ns);
		return;
	}
	if (s->pinned && s->plan.kind == FB_PLAN_BOTH) {
		sims_send_choice(s, s->plan.piece[s->next_piece].lbn, true, now_ns);
		return;
	}
	if (!s->nr_flight && !s->pinned) {
		known = fb_completion_idle_head(&s->head, now_ns, false, &head, &start_ns);
		sims_choose(s, known ? &head : NULL, now_ns);
		fb_order_cost_lost(&s->task->order_cost);
	} else if (!s->choice.req) {
		sims_choose_next(s, now_ns);
	}
	if (s->nr_flight)
		head = s->tail;
	if (!sims_plan_joint(s, now_ns, &plan))
		sims_find_plan(s, now_ns, &plan);
	if (s->o->order_cost && !s->pinned)
		sims_charge(s, &head, now_ns);
	if (plan.kind == FB_PLAN_SEPARATE || plan.kind == FB_PLAN_BOTH)
		sims_begin_plan(s, &plan, now_ns);
	else if (plan.kind == FB_PLAN_PREPEND)
		sims_send_choice(s, plan.piece[0].lbn, true, now_ns);
	else
		sims_send_choice(s, s->choice.req->lbn, false, now_ns);
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

/*
 * The drive's own queue: as many as it takes, in the order of arrival under none, else
 * in mq-deadline's, which matters when there are more.
 */
static void sims_fill_deep(struct sims *s, u64 now_ns)
{
	struct siml_req *req = list_first_entry(&s->pool.reqs[FB_POLICY_BE], struct siml_req,
						fg.node);

	if (s->o->policy != SIMO_NONE)
		req = container_of(fb_policy_choose_deadline(&s->pool, now_ns, sims_above),
				   struct siml_req, fg);
	fb_policy_sent(&s->pool, &req->fg, false);
	fb_policy_pool_del(&s->pool, &req->fg);
	sims_note_sent(s, req, now_ns);
	sims_send(s, &(struct sims_cmd) {
		.req = req,
		.cmd.lbn = req->fg.lbn,
		.cmd.nsect = req->fg.nsect,
		.cmd.write = req->fg.write,
		.free_end = req->fg.lbn,
	}, now_ns);
	s->stats.deep++;
}

/* commands of the foreground that the drive had before it was left to order them */
static void sims_doubt(struct sims *s)
{
	u32 i;

	for (i = 0; i < s->nr_flight; i++)
		if (s->cmd[s->flight[i]].cmd.cause != FB_CAUSE_IDLE)
			s->cmd[s->flight[i]].cmd.start_ns = 0;
}

/* has a request been pending or at the drive for longer than it may? */
static bool sims_is_overdue(const struct sims *s, u64 now_ns)
{
	const struct siml_req *req;
	u32 i;

	for (i = 0; i < s->nr_flight; i++) {
		req = s->cmd[s->flight[i]].req;
		if (req && !req->flush && req->fg.deadline_ns && req->fg.deadline_ns < now_ns)
			return true;
	}
	return fb_policy_is_overdue(&s->pool, now_ns);
}

/* does the drive order, as far as streams and wanted blocks decide it? */
static bool sims_is_drives(struct sims *s, u64 now_ns)
{
	struct fb_orders_view v = {
		.now_ns = now_ns,
		.blocks = s->task->bm.granules,
		.outstanding = s->pool.count + s->nr_flight,
	};
	bool drives;

	if (simt_may_read(s->task, now_ns))
		v.wanted = s->task->bm.n_wanted + s->task->again_n;
	v.tasks = v.wanted || s->task->add_ns != U64_MAX;
	if (fb_orders_is_stream(&s->orders, now_ns) && sims_is_overdue(s, now_ns))
		fb_orders_overdue(&s->orders);
	drives = fb_orders_decide(&s->orders, &v);
	s->due_ns = SIML_NEVER;
	if (s->orders.due_ns > now_ns && s->o->depth == SIMO_AUTO)
		s->due_ns = s->orders.due_ns;
	return drives;
}

/*
 * With depth auto the drive orders as it likes while no free read is wanted, which costs
 * no response time. Where its head is then is not followed. When free reads come back
 * nothing is sent until all but one of its commands have ended.
 */
static void sims_set_depth(struct sims *s, u64 now_ns)
{
	bool deep;

	if (!s->dm)
		return;
	deep = sims_is_drives(s, now_ns) || fb_destage_orders(&s->destage);
	if (s->o->depth != SIMO_AUTO || s->deep == deep)
		return;
	s->deep = deep;
	fb_shadow_lose(&s->shadow);
	s->depth = deep ? s->queue : min(2U, s->queue);
	s->window_ns = 0;
	s->choice.req = NULL;
	s->pinned = false;
	s->gap_open = false;
	s->tail_known = false;
	s->lifts = 0;
	fb_order_cost_lost(&s->task->order_cost);
	fb_head_lose(&s->head);
	sims_doubt(s);
}

/* nobody wants anything: one read at a time, which whoever comes goes behind */
static void sims_read_idle(struct sims *s, u64 now_ns)
{
	struct fb_plan_piece p;
	struct dm_place head;
	struct sims_cmd *c;
	u64 start_ns;
	bool known = false;

	s->idle.next_ns = SIMI_NEVER;
	if (!s->o->idle || s->idle.foreground || s->nr_flight || !simt_may_read(s->task, now_ns))
		return;
	fb_idle_policy_hold(&s->idle.wait, fb_destage_begin_ns(&s->destage, now_ns));
	if (s->dm)
		known = fb_completion_idle_head(&s->head, now_ns + FB_IDLE_ORDER_SEND_NS, false,
						&head, &start_ns);
	if (!simi_find(&s->idle, now_ns, known ? &head : NULL, &s->destage, &p))
		return;
	sims_send(s, &(struct sims_cmd) {
		.cmd.lbn = p.lbn,
		.cmd.nsect = p.nsect,
		.free_end = p.lbn + p.nsect,
		.cmd.cause = FB_CAUSE_IDLE,
	}, now_ns);
	c = sims_last(s);
	simi_sent(&s->idle, now_ns, fb_completion_end_ns(&c->cmd), &p);
}

/* flushes go past the scheduler, as in the kernel */
static void sims_send_flushes(struct sims *s, u64 now_ns)
{
	struct siml_req *req;

	while (!list_empty(&s->flushes) && s->nr_flight < s->queue) {
		req = list_first_entry(&s->flushes, struct siml_req, fg.node);
		list_del_init(&req->fg.node);
		sims_send(s, &(struct sims_cmd) { .req = req, .cmd.unplaced = true }, now_ns);
	}
}

void sims_fill(struct sims *s, u64 now_ns)
{
	sims_send_flushes(s, now_ns);
	sims_set_depth(s, now_ns);
	while (s->pool.count && s->nr_flight < s->depth && !sims_window_open(s, now_ns)) {
		if (s->deep)
			sims_fill_deep(s, now_ns);
		else
			sims_fill_slot(s, now_ns);
		/* it may have made the foreground a stream */
		sims_set_depth(s, now_ns);
	}
	sims_read_idle(s, now_ns);
}

/* ---- completion ---- */

/* the model may change: a completion finds the task's search over */
static struct fb_completion sims_learners(struct sims *s)
{
	return (struct fb_completion) {
		.dm = s->dm,
		.head = &s->head,
		.margin = s->task->lim.odds ? &s->task->margin : NULL,
		.calib = s->o->calibrate ? &s->calib : NULL,
		.may_correct = true,
		.guard = s->o->guard ? &s->task->guard : NULL,
		.guard_ppm = s->o->guard,
		.probe = &s->task->probe,
		.stats = &s->stats.ends,
	};
}

/* what this completion says about the prediction, the head and the phase */
static void sims_observe(struct sims *s, struct sims_cmd *c, u64 now_ns)
{
	struct fb_completion learners = sims_learners(s);
	struct sims_cmd *next = sims_first(s);
	s64 half = dm_period_ns(s->dm) / 2;
	struct fb_completion_result r;

	fb_completion_judge(&learners, &c->cmd, now_ns, &r);
	fb_shadow_learn(&s->shadow, &c->cmd, &r, dm_period_ns(s->dm));
	if (s->deep)
		next = NULL;
	s->stats.late += r.late_ns > half;
	s->stats.early += r.late_ns < -half;
	/* from the drive's own queue any may be next */
	if (next)
		fb_completion_predict_next(&s->head, &next->cmd, s->nr_flight < s->depth, &r.end);
	if (r.end.verdict != FB_HEAD_MECHANICAL)
		s->tail_known = s->nr_flight && s->tail_known;
	if (r.end.verdict != FB_HEAD_MECHANICAL || r.tripped)
		s->gap_open = false;
}

/* the same when the drive orders by itself */
static void sims_follow(struct sims *s, struct sims_cmd *c, u64 now_ns)
{
	u64 lbn = c->cmd.lbn + c->cmd.nsect - 1;
	bool moved;
	struct fb_completion learners = sims_learners(s);

	if (c->cmd.watched)
		sims_observe(s, c, now_ns);
	else if (c->cmd.own_order)
		fb_completion_follow(&learners, &c->cmd, now_ns);
	moved = fb_destage_moves(&s->destage, &lbn);
	if (moved || !c->cmd.write)
		fb_completion_believe(&s->head, lbn, moved);
}

/* hold the slot open for the request that this completion provokes */
static void sims_open_window(struct sims *s, const struct sims_cmd *done, u64 now_ns)
{
	const struct sims_cmd *next = sims_first(s);
	u64 commit_ns = s->o->commit_us * 1000;

	if (s->o->hold && s->depth == 2) {
		sims_hold(s, now_ns);
		return;
	}
	if (!commit_ns || s->pinned || !done->req || s->nr_flight != s->depth - 1 || !next ||
	    fb_completion_too_late(&next->cmd, now_ns, commit_ns + sims_lead_ns(s)))
		return;
	s->window_ns = now_ns + commit_ns;
}

/* the drive took another order: the head will be at the end of what is still there */
static void sims_retail(struct sims *s, u64 now_ns)
{
	s->gap_open = false;
	s->tail_known = s->nr_flight &&
			fb_completion_end_place(s->dm, &sims_last(s)->cmd, &s->tail);
	if (!s->pinned && s->pool.count)
		sims_choose_next(s, now_ns);
}

/* take a command off the flight; false: it was not the first */
static bool sims_land(struct sims *s, int slot, u64 now_ns)
{
	u32 i = 0, k;

	while (s->flight[i] != (u32)slot)
		fb_completion_overtaken(&s->task->probe, &s->cmd[s->flight[i++]].cmd, now_ns);
	s->nr_flight--;
	for (k = i; k < s->nr_flight; k++)
		s->flight[k] = s->flight[k + 1];
	return !i;
}

/* ---- errors ---- */

/* the request goes back to the pool, and will go without a free read */
static void sims_again(struct sims *s, struct siml_req *req, u64 now_ns)
{
	req->alone = true;
	fb_policy_pool_add(&s->pool, &req->fg);
	if (!s->deep)
		sims_reconsider(s, req, now_ns);
}

/* a foreground request is only to blame for what is wrong with its own sectors */
static void sims_fail_req(struct sims *s, const struct sims_cmd *c,
			  const struct sim_drive_done *done, u64 now_ns)
{
	bool joined = c->free_end > c->cmd.lbn;

	if (done->outcome == SIM_DRIVE_MEDIUM && joined &&
	    (done->bad == U64_MAX || done->bad < c->free_end)) {
		sims_again(s, c->req, now_ns);
	} else if (done->outcome == SIM_DRIVE_AGAIN && c->req->tries++ < SIMS_TRIES) {
		sims_again(s, c->req, now_ns);
	} else {
		s->stats.failed++;
		sims_gone(s, c->req, now_ns);
		siml_done(s->load, c->req, now_ns);
	}
}

static void sims_fail_free(struct sims *s, const struct sims_cmd *c,
			   const struct sim_drive_done *done, u64 now_ns)
{
	bool good = done->bad != U64_MAX && done->bad >= c->free_end;

	if (done->outcome == SIM_DRIVE_AGAIN || good) {
		simt_done(s->task, c->cmd.lbn, c->free_end, c->spoilt || !good, now_ns);
		return;
	}
	s->stats.free_errors++;
	simt_failed(s->task, c->cmd.lbn, c->free_end, done->bad, c->req, now_ns);
}

static void sims_fail(struct sims *s, const struct sims_cmd *c,
		      const struct sim_drive_done *done, u64 now_ns)
{
	s->stats.again += done->outcome == SIM_DRIVE_AGAIN;
	if (c->free_end > c->cmd.lbn)
		sims_fail_free(s, c, done, now_ns);
	if (c->req)
		sims_fail_req(s, c, done, now_ns);
}

/* a write has ended that a flush follows: the request becomes that flush */
static void sims_flush(struct sims *s, struct siml_req *req, u64 now_ns)
{
	req->flush = true;
	req->fsync = false;
	req->arrived_ns = now_ns;
	list_add_tail(&req->fg.node, &s->flushes);
	fb_shadow_lose(&s->shadow);
	simi_arrived_unfollowed(&s->idle, now_ns, NULL);
}

static void sims_flushed(struct sims *s, struct siml_req *req, u64 now_ns)
{
	simh_add(&s->stats.of[SIMS_FLUSH], now_ns - req->arrived_ns);
	simi_gone(&s->idle, now_ns, NULL);
	siml_done(s->load, req, now_ns);
}

static void sims_deliver(struct sims *s, const struct sims_cmd *c, u64 now_ns)
{
	if (c->free_end > c->cmd.lbn) {
		s->stats.spoilt += c->spoilt;
		simt_done(s->task, c->cmd.lbn, c->free_end, c->spoilt, now_ns);
	}
	if (!c->req)
		return;
	if (c->req->flush) {
		sims_flushed(s, c->req, now_ns);
		return;
	}
	fb_policy_ended(&s->pool, !s->pool.count && !s->nr_flight);
	s->stats.requests++;
	s->stats.sectors += c->req->fg.nsect;
	simh_add(&s->stats.response, now_ns - c->req->arrived_ns);
	simh_add(&s->stats.of[c->req->fg.write ? SIMS_WRITE : SIMS_READ],
		 now_ns - c->req->arrived_ns);
	if (s->stats.log)
		sim_file_print(s->stats.log, "%llu %llu\n",
			       (unsigned long long)c->req->arrived_ns,
			       (unsigned long long)(now_ns - c->req->arrived_ns));
	sims_gone(s, c->req, now_ns);
	if (c->req->fsync && s->cache)
		sims_flush(s, c->req, now_ns);
	else
		siml_done(s->load, c->req, now_ns);
}

/* what was late is told before the read is counted */
static void sims_idle_ended(struct sims *s, u64 now_ns, bool good)
{
	if (good)
		fb_idle_policy_judge(&s->idle.wait, now_ns, &s->destage);
	else
		fb_destage_idle_ended(&s->destage, now_ns, false, 0);
	fb_idle_policy_ended(&s->idle.wait, now_ns);
}

void sims_complete(struct sims *s, const struct sim_drive_done *done)
{
	struct sims_cmd c = s->cmd[done->slot];
	u64 now_ns = done->report_ns;
	bool overtaken = !sims_land(s, done->slot, now_ns) && c.cmd.watched;

	if (c.cmd.cause == FB_CAUSE_IDLE)
		sims_idle_ended(s, now_ns, done->outcome == SIM_DRIVE_GOOD);
	else if (c.cmd.unplaced)
		fb_destage_flushed(&s->destage, now_ns);
	else
		fb_destage_ended(&s->destage, now_ns, sims_is_cached(s, c.req));
	c.cmd.failed = done->outcome != SIM_DRIVE_GOOD;
	if (s->dm && s->deep && s->destage.on) {
		sims_follow(s, &c, now_ns);
	} else if (!s->deep) {
		if (overtaken) {
			s->stats.out_of_order++;
			fb_head_lose(&s->head);
			c.cmd.start_ns = 0;
		}
		sims_observe(s, &c, now_ns);
		if (overtaken || !s->tail_known)
			sims_retail(s, now_ns);
		sims_open_window(s, &c, now_ns);
	}
	if (done->outcome == SIM_DRIVE_GOOD)
		sims_deliver(s, &c, now_ns);
	else
		sims_fail(s, &c, done, now_ns);
}

/* ---- beginning ---- */

static u32 sims_depth(const struct sims *s)
{
	if (s->o->depth > s->queue)
		sim_usage("depth: the drive's queue takes %u", s->queue);
	if (s->o->depth > 0)
		return s->o->depth;
	return s->deep ? s->queue : min(2U, s->queue);
}

void sims_init(struct sims *s)
{
	struct sim_drive_info info = { 0 };

	sim_drive_info(s->drive, &info);
	fb_lookahead_off(&s->task->probe, info.look_ahead_off);
	if (s->o->verify && !info.verify)
		sim_usage("idle_command: this drive is not told to verify");
	s->queue = info.queue;
	s->host_ns = info.host_ns;
	s->due_ns = SIML_NEVER;
	s->deep = !s->dm || s->o->policy == SIMO_NONE;
	s->depth = sims_depth(s);
	if (s->dm)
		fb_head_init(&s->head, s->dm);
	fb_destage_init(&s->destage, FB_IDLE_TURN_NS);
	s->cache = info.write_cache;
	fb_destage_set_cache(&s->destage, s->cache && s->o->destage, 0);
	if (s->dm)
		fb_seek_fit_init(&s->calib, s->dm);
	fb_policy_pool_init(&s->pool);
	INIT_LIST_HEAD(&s->flushes);
	if (s->o->policy != SIMO_NONE)
		s->pool.policy = s->o->policy;
	s->pool.sw_percent = s->o->sw_percent;
}
