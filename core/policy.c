// SPDX-License-Identifier: GPL-2.0
/* Foreground policies: which pending request goes next (freeblock paper, 4.2). Core. */
#include "core/policy.h"

/* mq-deadline's values: fifo_batch, writes_starved */
#define FB_POLICY_BATCH 16
#define FB_POLICY_STARVED 2

/* mq-deadline's prio_aging_expire: the longest that a lower class waits for a higher one */
#define FB_POLICY_AGING_NS (10ULL * NSEC_PER_SEC)

/*
 * Of so many requests one goes first because its deadline has passed. If each did, a burst would be
 * served as it came, at a third of the speed, and all the more would expire.
 */
#define FB_POLICY_EXPIRED_IN FB_POLICY_BATCH

#define FB_POLICY_SW_PERCENT 60	/* the paper's compromise (5.3) */

#define FB_POLICY_IDLE_SHIFT 10	/* fb_policy_pool.idle is averaged over 1024 completions */

const char * const fb_policy_name[FB_POLICIES] = {
	[FB_POLICY_CLOOK] = "clook",
	[FB_POLICY_SSTF] = "sstf",
	[FB_POLICY_SPTF] = "sptf",
	[FB_POLICY_SPTF_SW] = "sptf-sw",
	[FB_POLICY_AUTO] = "auto",
};

/* what a policy sees */
struct fb_policy_view {
	struct fb_policy_pool *pool;
	const struct list_head *reqs;	/* of the class to choose from, the oldest first */
	const struct disk_model *dm;	/* never NULL for mechanical policies */
	const struct dm_place *head;	/* the same; where the head will be */
	const struct fb_policy_near *near;	/* those of @reqs that are placed */
	const struct fb_policy_req *skip;	/* a request that is not there, or NULL */
};

struct fb_policy_ops {
	bool mechanical;		/* it needs a model, the head, and placed requests */
	/* from the whole pool; leaves @c->req NULL if nothing can be chosen */
	void (*choose)(const struct fb_policy_view *v, struct fb_policy_choice *c);
	/* does @req, whose times are computed if @mechanical, go before @c? */
	bool (*better)(const struct fb_policy_view *v, const struct fb_policy_req *req,
		       struct fb_policy_choice *c);
};

bool fb_policy_needs_no_map(enum fb_policy_id policy)
{
	return policy == FB_POLICY_CLOOK || policy == FB_POLICY_SSTF;
}

bool fb_policy_has_cost(enum fb_policy_id policy)
{
	return policy == FB_POLICY_SSTF || policy == FB_POLICY_SPTF_SW ||
	       policy == FB_POLICY_AUTO;
}

void fb_policy_pool_init(struct fb_policy_pool *pool)
{
	int class, i;

	memset(pool, 0, sizeof(*pool));
	for (class = 0; class < FB_POLICY_CLASSES; class++) {
		INIT_LIST_HEAD(&pool->reqs[class]);
		INIT_LIST_HEAD(&pool->fifo[class][0]);
		INIT_LIST_HEAD(&pool->fifo[class][1]);
		for (i = 0; i < FB_POLICY_BUCKETS; i++)
			INIT_LIST_HEAD(&pool->near[class].bucket[i]);
	}
	pool->policy = FB_POLICY_AUTO;
	pool->sw_percent = FB_POLICY_SW_PERCENT;
}

static u64 fb_policy_deadline(const struct fb_policy_req *req)
{
	return req->deadline_ns ? req->deadline_ns : U64_MAX;
}

/* a bucket's cylinders are 1 << so much */
static u32 fb_policy_bucket_shift(const struct disk_model *dm)
{
	return fls64((dm_info(dm)->cylinders - 1) / FB_POLICY_BUCKETS);
}

static void fb_policy_near_add(struct fb_policy_pool *pool, struct fb_policy_req *req)
{
	struct fb_policy_near *near = &pool->near[req->class];

	INIT_LIST_HEAD(&req->near);
	if (!req->placed)
		return;
	list_add_tail(&req->near, &near->bucket[req->bucket]);
	near->used |= BIT_ULL(req->bucket);
}

static void fb_policy_near_del(struct fb_policy_pool *pool, struct fb_policy_req *req)
{
	struct fb_policy_near *near = &pool->near[req->class];

	list_del_init(&req->near);
	if (list_empty(&near->bucket[req->bucket]))
		near->used &= ~BIT_ULL(req->bucket);
}

void fb_policy_pool_add(struct fb_policy_pool *pool, struct fb_policy_req *req)
{
	struct list_head *fifo = &pool->fifo[req->class][req->write], *at = fifo->prev;

	list_add_tail(&req->node, &pool->reqs[req->class]);
	fb_policy_near_add(pool, req);
	pool->count++;
	while (at != fifo && fb_policy_deadline(list_entry(at, struct fb_policy_req,
							   fifo)) > fb_policy_deadline(req))
		at = at->prev;
	list_add(&req->fifo, at);
}

void fb_policy_pool_del(struct fb_policy_pool *pool, struct fb_policy_req *req)
{
	list_del_init(&req->node);
	list_del_init(&req->fifo);
	fb_policy_near_del(pool, req);
	pool->count--;
}

void fb_policy_pool_clear(struct fb_policy_pool *pool, struct list_head *to)
{
	struct fb_policy_near *near;
	int class;

	for (class = 0; class < FB_POLICY_CLASSES; class++) {
		list_splice_init(&pool->reqs[class], to);
		INIT_LIST_HEAD(&pool->fifo[class][0]);
		INIT_LIST_HEAD(&pool->fifo[class][1]);
		for (near = &pool->near[class]; near->used; near->used &= near->used - 1)
			INIT_LIST_HEAD(&near->bucket[__ffs64(near->used)]);
	}
	pool->count = 0;
}

void fb_policy_pool_merge(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct fb_policy_req *gone)
{
	if (fb_policy_deadline(gone) >= fb_policy_deadline(req))
		return;
	req->deadline_ns = gone->deadline_ns;
	list_del_init(&req->fifo);
	list_add(&req->fifo, gone->fifo.prev);
}

void fb_policy_req_place(struct fb_policy_req *req, const struct disk_model *dm)
{
	req->placed = dm && !dm_place_of(dm, req->lbn, &req->start);
	req->bucket = req->placed ? req->start.cyl >> fb_policy_bucket_shift(dm) : 0;
}

void fb_policy_pool_place(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct disk_model *dm)
{
	fb_policy_near_del(pool, req);
	fb_policy_req_place(req, dm);
	fb_policy_near_add(pool, req);
}

void fb_policy_sent(struct fb_policy_pool *pool, const struct fb_policy_req *req, bool expired)
{
	if (expired)
		pool->spare = FB_POLICY_EXPIRED_IN - 1;
	else if (pool->spare)
		pool->spare--;
	pool->last_lbn = req->lbn + req->nsect;
}

void fb_policy_ended(struct fb_policy_pool *pool, bool idle)
{
	pool->idle -= pool->idle >> FB_POLICY_IDLE_SHIFT;
	if (idle)
		pool->idle += FB_POLICY_IDLE_ONE >> FB_POLICY_IDLE_SHIFT;
}

/* ---- clook ---- */

static void fb_policy_take(struct fb_policy_choice *c, struct fb_policy_req *req)
{
	memset(c, 0, sizeof(*c));
	c->req = req;
}

/* distance upward from the last request's end; LBNs below it wrap to the far end */
static u64 fb_policy_clook_key(const struct fb_policy_pool *pool, const struct fb_policy_req *req)
{
	return req->lbn - pool->last_lbn;
}

/* the shortest seek where no model tells how far cylinders are */
static u64 fb_policy_nearest_key(const struct fb_policy_pool *pool, const struct fb_policy_req *req)
{
	return req->lbn > pool->last_lbn ? req->lbn - pool->last_lbn : pool->last_lbn - req->lbn;
}

static void fb_policy_choose_by(const struct fb_policy_view *v, struct fb_policy_choice *c,
				u64 (*key)(const struct fb_policy_pool *pool,
					   const struct fb_policy_req *req))
{
	struct fb_policy_req *req, *best = NULL;

	list_for_each_entry(req, v->reqs, node)
		if (!best || key(v->pool, req) < key(v->pool, best))
			best = req;
	fb_policy_take(c, best);
}

static void fb_policy_clook_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	fb_policy_choose_by(v, c, fb_policy_clook_key);
}

static bool fb_policy_clook_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				   struct fb_policy_choice *c)
{
	return fb_policy_clook_key(v->pool, req) < fb_policy_clook_key(v->pool, c->req);
}

/* ---- mechanical policies ---- */

static void fb_policy_predict(const struct fb_policy_view *v, struct fb_policy_req *req)
{
	u64 latency;

	dm_position(v->dm, v->head, &req->start, req->write, &req->seek_ns, &latency);
	req->pos_ns = req->seek_ns + latency;
}

static void fb_policy_take_predicted(struct fb_policy_choice *c, struct fb_policy_req *req)
{
	c->req = req;
	c->seek_ns = req->seek_ns;
	c->pos_ns = req->pos_ns;
	c->predicted = true;
}

/* a way through the placed requests, by buckets of cylinders from the head's outward */
struct fb_policy_walk {
	u32 shift;	/* of a bucket's cylinders */
	u32 at;		/* the head's bucket */
	u64 left;	/* bits: buckets with requests that are still to be looked at */
};

static void fb_policy_walk_begin(struct fb_policy_walk *w, const struct fb_policy_view *v)
{
	w->shift = fb_policy_bucket_shift(v->dm);
	w->at = v->head->cyl >> w->shift;
	w->left = v->near->used;
}

/* the requests of the nearest bucket that is left, if a seek of @seek_ns may reach it; or NULL */
static const struct list_head *fb_policy_walk_next(struct fb_policy_walk *w,
						   const struct fb_policy_view *v, u64 seek_ns)
{
	u64 up = w->left >> w->at, down = w->left & (BIT_ULL(w->at) - 1);
	u32 above = up ? __ffs64(up) : FB_POLICY_BUCKETS;
	u32 below = down ? w->at + 1 - fls64(down) : FB_POLICY_BUCKETS;
	u32 apart = min(above, below), bucket = above <= below ? w->at + above : w->at - below;

	if (!w->left ||
	    (apart && dm_seek_floor_ns(v->dm, ((apart - 1) << w->shift) + 1) > seek_ns))
		return NULL;
	w->left &= ~BIT_ULL(bucket);
	return &v->near->bucket[bucket];
}

/* Of equals the other time decides, so the order in which requests are looked at does not. */
static bool fb_policy_sstf_better(const struct fb_policy_view *v, const struct fb_policy_req *a,
				  struct fb_policy_choice *c)
{
	return !c->req || a->seek_ns < c->seek_ns ||
	       (a->seek_ns == c->seek_ns && a->pos_ns < c->pos_ns);
}

static bool fb_policy_sptf_before(const struct fb_policy_req *a, const struct fb_policy_choice *c)
{
	return !c->req || a->pos_ns < c->pos_ns ||
	       (a->pos_ns == c->pos_ns && a->seek_ns < c->seek_ns);
}

/* limits on seek and positioning time, in the forms in which requests are compared with them */
struct fb_policy_prune {
	u64 seek_ns;
	u32 reach;	/* cylinders; farther seeks are known to be too long */
	u32 angle;	/* of the positioning time; U32_MAX: it is a turn or more */
	u64 next_ns;	/* the same less a turn: what is missed in this turn must pass by then */
};

static void fb_policy_prune_set(struct fb_policy_prune *p, const struct fb_policy_view *v,
				u64 limit_ns, u64 seek_ns)
{
	u64 period_ns = dm_period_ns(v->dm);

	limit_ns = min_t(u64, limit_ns, S64_MAX) + FB_POLICY_ROUNDING_NS;
	p->seek_ns = seek_ns;
	p->angle = limit_ns < period_ns ? dm_ns_to_angle(v->dm, limit_ns) : U32_MAX;
	p->next_ns = limit_ns < period_ns ? 0 : limit_ns - period_ns;
}

/*
 * A place passes under the head once per turn: a request is ruled out, its seek not computed, if
 * the shortest seek over its distance is too long, or ends only after the place has passed.
 */
static bool fb_policy_prune(struct fb_policy_prune *p, const struct fb_policy_view *v,
			    const struct fb_policy_req *req)
{
	u32 angle = req->start.angle - v->head->angle, cyls = dm_apart(v->head, &req->start);
	u64 floor_ns, first_ns;

	if (angle > p->angle || cyls > p->reach)
		return true;
	floor_ns = dm_seek_floor_ns(v->dm, cyls);
	if (floor_ns > p->seek_ns) {
		p->reach = cyls - 1;
		return true;
	}
	first_ns = dm_angle_to_ns(v->dm, angle);
	return first_ns > p->next_ns && first_ns + FB_POLICY_ROUNDING_NS < floor_ns;
}

static void fb_policy_sptf_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	struct fb_policy_prune prune = { U64_MAX, U32_MAX, U32_MAX, U64_MAX };
	const struct list_head *reqs;
	struct fb_policy_walk walk;
	struct fb_policy_req *req;

	fb_policy_walk_begin(&walk, v);
	while ((reqs = fb_policy_walk_next(&walk, v, prune.seek_ns)))
		list_for_each_entry(req, reqs, near) {
			if (fb_policy_prune(&prune, v, req) || req == v->skip)
				continue;
			fb_policy_predict(v, req);
			if (!fb_policy_sptf_before(req, c))
				continue;
			fb_policy_take_predicted(c, req);
			fb_policy_prune_set(&prune, v, c->pos_ns, c->pos_ns);
		}
	c->best_pos_ns = c->pos_ns;
}

static bool fb_policy_sptf_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				  struct fb_policy_choice *c)
{
	if (!fb_policy_sptf_before(req, c))
		return false;
	c->best_pos_ns = req->pos_ns;
	return true;
}

static void fb_policy_nearest(const struct fb_policy_view *v, u64 window_ns,
			      struct fb_policy_choice *c)
{
	struct fb_policy_prune prune = { .reach = U32_MAX };
	const struct list_head *reqs;
	struct fb_policy_walk walk;
	struct fb_policy_req *req;

	fb_policy_prune_set(&prune, v, window_ns, c->req ? c->seek_ns : U64_MAX);
	fb_policy_walk_begin(&walk, v);
	while ((reqs = fb_policy_walk_next(&walk, v, prune.seek_ns)))
		list_for_each_entry(req, reqs, near) {
			if (fb_policy_prune(&prune, v, req))
				continue;
			fb_policy_predict(v, req);
			if (req->pos_ns > window_ns || !fb_policy_sstf_better(v, req, c))
				continue;
			fb_policy_take_predicted(c, req);
			prune.seek_ns = c->seek_ns;
		}
}

static void fb_policy_sstf_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	fb_policy_nearest(v, U64_MAX, c);
}

/* the longest that is "within n% of the shortest positioning time" */
static u64 fb_policy_sw_window(const struct fb_policy_view *v, const struct fb_policy_choice *c)
{
	return c->best_pos_ns + div_u64(c->best_pos_ns * v->pool->sw_percent, 100);
}

static void fb_policy_sw_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	fb_policy_sptf_choose(v, c);
	if (c->req)
		fb_policy_nearest(v, fb_policy_sw_window(v, c), c);
}

static bool fb_policy_sw_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				struct fb_policy_choice *c)
{
	u64 window_ns;

	c->best_pos_ns = min(c->best_pos_ns, req->pos_ns);
	window_ns = fb_policy_sw_window(v, c);
	return c->pos_ns > window_ns ||
	       (req->pos_ns <= window_ns && fb_policy_sstf_better(v, req, c));
}

/* ---- the table, and what all policies share ---- */

static const struct fb_policy_ops fb_policy_ops[FB_POLICIES] = {
	[FB_POLICY_CLOOK] = { .choose = fb_policy_clook_choose, .better = fb_policy_clook_better },
	[FB_POLICY_SSTF] = { true, fb_policy_sstf_choose, fb_policy_sstf_better },
	[FB_POLICY_SPTF] = { true, fb_policy_sptf_choose, fb_policy_sptf_better },
	[FB_POLICY_SPTF_SW] = { true, fb_policy_sw_choose, fb_policy_sw_better },
	[FB_POLICY_AUTO] = { true, fb_policy_sptf_choose, fb_policy_sptf_better },
};

static struct fb_policy_req *fb_policy_first(struct fb_policy_pool *pool,
					     enum fb_policy_class class, bool write)
{
	return list_first_entry_or_null(&pool->fifo[class][write], struct fb_policy_req, fifo);
}

static bool fb_policy_is_expired(const struct fb_policy_req *req, u64 now_ns)
{
	return req && req->deadline_ns && req->deadline_ns < now_ns;
}

bool fb_policy_is_overdue(const struct fb_policy_pool *pool, u64 now_ns)
{
	const struct list_head *fifo = pool->fifo[0];
	u32 i;

	for (i = 0; i < 2 * FB_POLICY_IDLE; i++)
		if (!list_empty(&fifo[i]) &&
		    fb_policy_is_expired(list_first_entry(&fifo[i], struct fb_policy_req, fifo),
					 now_ns))
			return true;
	return false;
}

/* The highest class pending, or FB_POLICY_CLASSES. @aged: a lower one's that waited too long. */
static enum fb_policy_class fb_policy_class_due(struct fb_policy_pool *pool, u64 now_ns,
						struct fb_policy_req **aged)
{
	enum fb_policy_class class, due = FB_POLICY_CLASSES;
	struct fb_policy_req *oldest;

	*aged = NULL;
	for (class = FB_POLICY_RT; class < FB_POLICY_CLASSES && !*aged; class++) {
		oldest = list_first_entry_or_null(&pool->reqs[class], struct fb_policy_req, node);
		if (!oldest)
			continue;
		if (due == FB_POLICY_CLASSES)
			due = class;
		else if (oldest->arrived_ns + FB_POLICY_AGING_NS < now_ns)
			*aged = oldest;
	}
	return due;
}

static bool fb_policy_can_predict(const struct fb_policy_view *v)
{
	return fb_policy_ops[v->pool->policy].mechanical && v->dm && v->head;
}

static void fb_policy_take_expired(const struct fb_policy_view *v, struct fb_policy_req *req,
				   struct fb_policy_choice *c)
{
	c->req = req;
	c->expired = true;
	if (!fb_policy_can_predict(v) || !req->placed)
		return;
	fb_policy_predict(v, req);
	fb_policy_take_predicted(c, req);
	c->best_pos_ns = req->pos_ns;
}

void fb_policy_choose(struct fb_policy_pool *pool, const struct disk_model *dm,
		      const struct dm_place *head, u64 now_ns, struct fb_policy_choice *c)
{
	struct fb_policy_view v = { .pool = pool, .dm = dm, .head = head };
	struct fb_policy_req *aged, *earliest, *write;
	enum fb_policy_class class;

	memset(c, 0, sizeof(*c));
	class = fb_policy_class_due(pool, now_ns, &aged);
	if (class == FB_POLICY_CLASSES)
		return;
	v.reqs = &pool->reqs[class];
	v.near = &pool->near[class];
	earliest = fb_policy_first(pool, class, false);
	write = fb_policy_first(pool, class, true);
	if (!earliest || (write && fb_policy_deadline(write) < fb_policy_deadline(earliest)))
		earliest = write;
	if (aged || (!pool->spare && fb_policy_is_expired(earliest, now_ns))) {
		fb_policy_take_expired(&v, aged ? aged : earliest, c);
	} else {
		if (fb_policy_can_predict(&v) || !fb_policy_ops[pool->policy].mechanical)
			fb_policy_ops[pool->policy].choose(&v, c);
		else if (!dm && pool->policy == FB_POLICY_SSTF)
			fb_policy_choose_by(&v, c, fb_policy_nearest_key);
		if (!c->req)
			fb_policy_clook_choose(&v, c);
	}
	c->class = aged ? FB_POLICY_RT : class;
}

static bool fb_policy_offer_self(const struct fb_policy_view *v, struct fb_policy_req *req,
				 struct fb_policy_choice *c)
{
	u64 seek = c->seek_ns, pos = c->pos_ns;

	if (!c->predicted || !req->placed || !fb_policy_can_predict(v))
		return true;
	fb_policy_predict(v, req);
	fb_policy_take_predicted(c, req);
	c->best_pos_ns = min(c->best_pos_ns, c->pos_ns);
	return c->seek_ns != seek || c->pos_ns != pos;
}

static bool fb_policy_offer_other(const struct fb_policy_view *v, struct fb_policy_req *req,
				  struct fb_policy_choice *c)
{
	const struct fb_policy_ops *ops = &fb_policy_ops[v->pool->policy];
	bool predict = fb_policy_can_predict(v) && req->placed;

	if (c->req && (req->class > c->class || (req->class == c->class && c->expired)))
		return false;
	if (predict)
		fb_policy_predict(v, req);
	if (!c->req || req->class < c->class) {
		memset(c, 0, sizeof(*c));
	} else if (c->predicted == predict) {
		if (ops->mechanical && !predict)
			ops = &fb_policy_ops[FB_POLICY_CLOOK];
		if (!ops->better(v, req, c))
			return false;
	} else if (!predict) {
		return false;
	}
	if (!predict) {
		fb_policy_take(c, req);
		return true;
	}
	if (!c->predicted)
		c->best_pos_ns = req->pos_ns;
	fb_policy_take_predicted(c, req);
	return true;
}

bool fb_policy_offer(struct fb_policy_pool *pool, const struct disk_model *dm,
		     const struct dm_place *head, struct fb_policy_req *req,
		     struct fb_policy_choice *c)
{
	const struct fb_policy_view v = { .pool = pool, .dm = dm, .head = head };

	if (c->req == req)
		return fb_policy_offer_self(&v, req, c);
	if (!fb_policy_offer_other(&v, req, c))
		return false;
	c->class = req->class;
	return true;
}

u64 fb_policy_onward_ns(struct fb_policy_pool *pool, const struct disk_model *dm,
			enum fb_policy_class class, const struct dm_place *head,
			const struct fb_policy_req *skip)
{
	const struct fb_policy_view v = {
		.pool = pool, .dm = dm, .head = head, .near = &pool->near[class], .skip = skip,
	};
	struct fb_policy_choice c = { 0 };

	fb_policy_sptf_choose(&v, &c);
	return c.pos_ns;
}

/* ---- transparent mode ---- */

struct fb_policy_req *fb_policy_choose_deadline(struct fb_policy_pool *pool, u64 now_ns,
						fb_policy_above_fn above)
{
	struct fb_policy_req *next, *reads, *writes, *oldest, *aged;
	enum fb_policy_class class;

	class = fb_policy_class_due(pool, now_ns, &aged);
	if (class == FB_POLICY_CLASSES)
		return NULL;
	if (aged)
		return aged;
	if (pool->batch) {
		next = above(pool, class, pool->batch_write, pool->last_lbn);
		if (next) {
			pool->batch--;
			return next;
		}
	}
	reads = fb_policy_first(pool, class, false);
	writes = fb_policy_first(pool, class, true);
	if (reads && (!writes || pool->starved++ < FB_POLICY_STARVED)) {
		pool->batch_write = false;
		oldest = reads;
	} else {
		pool->batch_write = true;
		pool->starved = 0;
		oldest = writes;
	}
	pool->batch = FB_POLICY_BATCH - 1;
	next = above(pool, class, pool->batch_write, pool->last_lbn);
	return next && !fb_policy_is_expired(oldest, now_ns) ? next : oldest;
}
