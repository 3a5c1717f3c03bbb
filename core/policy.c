// SPDX-License-Identifier: GPL-2.0
/*
 * Foreground policies: which pending request goes next (freeblock paper, 4.2); see core/policy.h.
 *
 * A new policy is a pair of functions and a line in fb_policy_ops[].
 * Core: no locks, the caller serialises.
 */
#include "core/policy.h"

/* mq-deadline's values: fifo_batch, writes_starved */
#define FB_POLICY_BATCH 16
#define FB_POLICY_STARVED 2

/* mq-deadline's prio_aging_expire: the longest that a lower class waits for a higher one */
#define FB_POLICY_AGING_NS 10000000000ULL

/* dm_position() rounds angles, so requests are ruled out by angle only beyond this margin */
#define FB_POLICY_ROUNDING_NS 8

#define FB_POLICY_FAR DM_CYLINDERS_MAX	/* cylinders: more than any distance */

#define FB_POLICY_BUCKET_BITS 6	/* of FB_POLICY_BUCKETS */

/*
 * Of so many requests one goes first because its deadline has passed. If each did, a burst whose
 * last requests wait for longer than that would be served as it came, at a third of the speed, and
 * all the more would expire.
 */
#define FB_POLICY_EXPIRED_IN FB_POLICY_BATCH

#define FB_POLICY_SW_PERCENT 60	/* the paper's compromise (5.3) */

#define FB_POLICY_IDLE_SHIFT 10	/* fb_policy_pool.idle is averaged over 1024 completions */

const char * const fb_policy_name[FB_POLICIES] = {
	[FB_POLICY_FIFO] = "fifo",
	[FB_POLICY_CLOOK] = "clook",
	[FB_POLICY_SSTF] = "sstf",
	[FB_POLICY_SPTF] = "sptf",
	[FB_POLICY_SPTF_SW] = "sptf-sw",
	[FB_POLICY_AUTO] = "auto",
	[FB_POLICY_JOINT] = "joint",
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

bool fb_policy_joins(enum fb_policy_id policy)
{
	return policy == FB_POLICY_JOINT || policy == FB_POLICY_AUTO;
}

bool fb_policy_needs_no_map(enum fb_policy_id policy)
{
	return policy == FB_POLICY_FIFO || policy == FB_POLICY_CLOOK || policy == FB_POLICY_SSTF;
}

bool fb_policy_has_cost(enum fb_policy_id policy)
{
	return policy == FB_POLICY_SSTF || policy == FB_POLICY_SPTF_SW || fb_policy_joins(policy);
}

int fb_policy_by_name(const char *name)
{
	int i;

	for (i = 0; i < FB_POLICIES; i++)
		if (!strcmp(name, fb_policy_name[i]))
			return i;
	return -EINVAL;
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
	pool->policy = FB_POLICY_FIFO;
	pool->sw_percent = FB_POLICY_SW_PERCENT;
}

static u64 fb_policy_deadline(const struct fb_policy_req *req)
{
	return req->deadline_ns ? req->deadline_ns : U64_MAX;
}

/* a bucket's cylinders are 1 << so much */
static u32 fb_policy_bucket_shift(const struct disk_model *dm)
{
	u32 last = dm_info(dm)->cylinders - 1;

	return __fls(last | (FB_POLICY_BUCKETS - 1)) + 1 - FB_POLICY_BUCKET_BITS;
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

/* ---- fifo, clook ---- */

static void fb_policy_take(struct fb_policy_choice *c, struct fb_policy_req *req)
{
	memset(c, 0, sizeof(*c));
	c->req = req;
}

static void fb_policy_fifo_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	fb_policy_take(c, list_first_entry(v->reqs, struct fb_policy_req, node));
}

static bool fb_policy_fifo_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				  struct fb_policy_choice *c)
{
	return false;
}

/* distance upward from the last request's end; LBNs below it wrap to the far end */
static u64 fb_policy_clook_key(const struct fb_policy_pool *pool, const struct fb_policy_req *req)
{
	return req->lbn - pool->last_lbn;
}

static void fb_policy_clook_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	struct fb_policy_req *req, *best = NULL;

	list_for_each_entry(req, v->reqs, node)
		if (!best || fb_policy_clook_key(v->pool, req) < fb_policy_clook_key(v->pool, best))
			best = req;
	fb_policy_take(c, best);
}

static bool fb_policy_clook_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				   struct fb_policy_choice *c)
{
	return fb_policy_clook_key(v->pool, req) < fb_policy_clook_key(v->pool, c->req);
}

static u64 fb_policy_lbns(const struct fb_policy_pool *pool, const struct fb_policy_req *req)
{
	return req->lbn > pool->last_lbn ? req->lbn - pool->last_lbn : pool->last_lbn - req->lbn;
}

/* the shortest seek where no model tells how far cylinders are */
static void fb_policy_nearest_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	struct fb_policy_req *req, *best = NULL;

	list_for_each_entry(req, v->reqs, node)
		if (!best || fb_policy_lbns(v->pool, req) < fb_policy_lbns(v->pool, best))
			best = req;
	fb_policy_take(c, best);
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

static u32 fb_policy_distance(const struct fb_policy_view *v, const struct fb_policy_req *req)
{
	u32 a = v->head->cyl, b = req->start.cyl;

	return a < b ? b - a : a - b;
}

/* a way through the placed requests, from the head's cylinder outward */
struct fb_policy_walk {
	const struct fb_policy_view *v;
	u32 shift;	/* of a bucket's cylinders */
	u32 at;		/* the head's bucket */
	u64 above;	/* buckets that are left: the head's and those above it ... */
	u64 below;	/* ... and those below it */
	u64 floor_ns;	/* no seek to the present one is shorter */
};

static void fb_policy_walk_begin(struct fb_policy_walk *w, const struct fb_policy_view *v)
{
	w->v = v;
	w->shift = fb_policy_bucket_shift(v->dm);
	w->at = v->head->cyl >> w->shift;
	w->above = v->near->used & U64_MAX << w->at;
	w->below = v->near->used & ~(U64_MAX << w->at);
}

/* no seek to a bucket's cylinders is shorter */
static u64 fb_policy_walk_floor_ns(const struct fb_policy_walk *w, u32 bucket)
{
	u32 head = w->v->head->cyl, first = bucket << w->shift, cyls = 0;

	if (bucket > w->at)
		cyls = first - head;
	else if (bucket < w->at)
		cyls = head - first + 1 - (1U << w->shift);
	return dm_seek_floor_ns(w->v->dm, cyls);
}

/* the requests of the next bucket that a seek of @seek_ns may reach; NULL: there is none left */
static const struct list_head *fb_policy_walk_next(struct fb_policy_walk *w, u64 seek_ns)
{
	while (w->above || w->below) {
		u32 up = w->above ? __ffs64(w->above) : U32_MAX;
		u32 down = w->below ? fls64(w->below) - 1 : 0;
		bool rise = w->above && (!w->below || up - w->at <= w->at - down);
		u64 *left = rise ? &w->above : &w->below;
		u32 bucket = rise ? up : down;

		w->floor_ns = fb_policy_walk_floor_ns(w, bucket);
		if (w->floor_ns <= seek_ns) {
			*left &= ~BIT_ULL(bucket);
			return &w->v->near->bucket[bucket];
		}
		*left = 0;
	}
	return NULL;
}

static bool fb_policy_sstf_before(const struct fb_policy_req *a, u64 seek_ns, u64 pos_ns)
{
	return a->seek_ns < seek_ns || (a->seek_ns == seek_ns && a->pos_ns < pos_ns);
}

/* of equals the one with the shorter seek, whatever the order in which they are looked at */
static bool fb_policy_sptf_before(const struct fb_policy_req *a, u64 seek_ns, u64 pos_ns)
{
	return a->pos_ns < pos_ns || (a->pos_ns == pos_ns && a->seek_ns < seek_ns);
}

/* @reach: the least distance known to be too far: its shortest seek is longer than the best */
static void fb_policy_sstf_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	const struct list_head *reqs;
	struct fb_policy_walk walk;
	struct fb_policy_req *req;
	u32 reach = U32_MAX;

	fb_policy_walk_begin(&walk, v);
	while ((reqs = fb_policy_walk_next(&walk, c->req ? c->seek_ns : U64_MAX)))
		list_for_each_entry(req, reqs, near) {
			u32 cyls = fb_policy_distance(v, req);

			if (cyls >= reach)
				continue;
			if (c->req && dm_seek_floor_ns(v->dm, cyls) > c->seek_ns) {
				reach = cyls;
				continue;
			}
			fb_policy_predict(v, req);
			if (!c->req || fb_policy_sstf_before(req, c->seek_ns, c->pos_ns))
				fb_policy_take_predicted(c, req);
		}
}

static bool fb_policy_sstf_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				  struct fb_policy_choice *c)
{
	return fb_policy_sstf_before(req, c->seek_ns, c->pos_ns);
}

/* a limit on positioning time, in the forms in which requests are compared with it */
struct fb_policy_prune {
	u64 seek_ns;	/* limit of the seek alone; U64_MAX at first */
	u32 angle;	/* the limit as an angle; U32_MAX while it is a turn or more */
	u64 next_ns;	/* the limit less a turn: a request missed in this turn must pass by then */
	u32 at;		/* the head's angle */
	u32 first_cyl;	/* first cylinder that may be within reach ... */
	u32 cyls;	/* ... and how many after it; seeks to all others are too long */
	u64 floor_ns;	/* no seek to the present bucket is shorter */
	u32 early;	/* first angle that passes before such a seek has ended ... */
	u32 earlies;	/* ... and how many after it; the next time they pass after the limit */
};

/* find the angles that pass too early: what fb_policy_prune_floor() says of the bucket's floor */
static void fb_policy_prune_early(struct fb_policy_prune *p, const struct fb_policy_view *v)
{
	u64 end_ns = min(p->floor_ns, dm_period_ns(v->dm)), first_ns;

	p->earlies = 0;
	if (p->next_ns >= end_ns)
		return;
	first_ns = p->next_ns + FB_POLICY_ROUNDING_NS;
	if (first_ns + 2 * FB_POLICY_ROUNDING_NS >= end_ns)
		return;
	p->early = dm_ns_to_angle(v->dm, first_ns);
	p->earlies = dm_ns_to_angle(v->dm, end_ns - 2 * FB_POLICY_ROUNDING_NS) - p->early;
}

/* the requests that are looked at next are in another bucket */
static void fb_policy_prune_bucket(struct fb_policy_prune *p, const struct fb_policy_view *v,
				   const struct fb_policy_walk *walk)
{
	p->floor_ns = walk->floor_ns;
	fb_policy_prune_early(p, v);
}

static void fb_policy_prune_set(struct fb_policy_prune *p, const struct fb_policy_view *v,
				u64 limit_ns, u64 seek_ns)
{
	u64 period = dm_period_ns(v->dm);

	limit_ns += FB_POLICY_ROUNDING_NS;
	p->seek_ns = seek_ns;
	p->angle = limit_ns < period ? dm_ns_to_angle(v->dm, limit_ns) : U32_MAX;
	p->next_ns = limit_ns < period ? 0 : limit_ns - period;
	fb_policy_prune_early(p, v);
}

/* rule out distances above @cyls */
static void fb_policy_prune_reach(struct fb_policy_prune *p, const struct fb_policy_view *v,
				  u32 cyls)
{
	/* this may wrap below cylinder 0; differences to it then wrap back */
	p->first_cyl = v->head->cyl - cyls;
	p->cyls = 2 * cyls;
}

/*
 * A place passes under the head once per turn. The request is ruled out, and its seek need not be
 * computed, if even the shortest seek over this distance is too long, or if the place passes
 * before such a seek has ended, and the next time after the limit.
 */
static bool fb_policy_prune_floor(struct fb_policy_prune *p, const struct fb_policy_view *v,
				  const struct fb_policy_req *req, u32 angle)
{
	u32 cyls = fb_policy_distance(v, req);
	u64 floor = dm_seek_floor_ns(v->dm, cyls), first;

	if (floor > p->seek_ns) {
		fb_policy_prune_reach(p, v, cyls - 1);
		return true;
	}
	first = dm_angle_to_ns(v->dm, angle);
	return first > p->next_ns && first + FB_POLICY_ROUNDING_NS < floor;
}

/* inline, because three comparisons rule out most requests */
static inline bool fb_policy_prune(struct fb_policy_prune *p, const struct fb_policy_view *v,
				   const struct fb_policy_req *req)
{
	u32 angle = req->start.angle - p->at;

	return angle > p->angle || angle - p->early < p->earlies ||
	       req->start.cyl - p->first_cyl > p->cyls ||
	       fb_policy_prune_floor(p, v, req, angle);
}

static void fb_policy_set_best(struct fb_policy_choice *c, const struct fb_policy_req *req)
{
	c->best_pos_ns = req->pos_ns;
}

/* find the shortest positioning time among a bucket's requests and what @c has */
static void fb_policy_shorter(const struct fb_policy_view *v, const struct list_head *reqs,
			      struct fb_policy_prune *prune, struct fb_policy_choice *c)
{
	struct fb_policy_req *req;

	list_for_each_entry(req, reqs, near) {
		if (fb_policy_prune(prune, v, req) || req == v->skip) {
			req->pos_ns = U64_MAX;
			continue;
		}
		fb_policy_predict(v, req);
		if (c->req && !fb_policy_sptf_before(req, c->seek_ns, c->pos_ns))
			continue;
		fb_policy_take_predicted(c, req);
		fb_policy_prune_set(prune, v, c->pos_ns, c->pos_ns);
	}
}

static void fb_policy_shortest(const struct fb_policy_view *v, struct fb_policy_prune *prune,
			       struct fb_policy_choice *c)
{
	const struct list_head *reqs;
	struct fb_policy_walk walk;

	prune->seek_ns = U64_MAX;
	prune->angle = U32_MAX;
	prune->next_ns = U64_MAX;
	prune->floor_ns = 0;
	prune->at = v->head->angle;
	fb_policy_prune_reach(prune, v, FB_POLICY_FAR);
	fb_policy_walk_begin(&walk, v);
	while ((reqs = fb_policy_walk_next(&walk, prune->seek_ns))) {
		fb_policy_prune_bucket(prune, v, &walk);
		fb_policy_shorter(v, reqs, prune, c);
	}
	c->best_pos_ns = c->pos_ns;
}

static void fb_policy_sptf_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	struct fb_policy_prune prune;

	fb_policy_shortest(v, &prune, c);
}

static bool fb_policy_sptf_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				  struct fb_policy_choice *c)
{
	if (!fb_policy_sptf_before(req, c->seek_ns, c->pos_ns))
		return false;
	fb_policy_set_best(c, req);
	return true;
}

/* the longest that is "within n% of the shortest positioning time" */
static u64 fb_policy_sw_window(const struct fb_policy_view *v, const struct fb_policy_choice *c)
{
	return c->best_pos_ns + div_u64(c->best_pos_ns * v->pool->sw_percent, 100);
}

/* find among a bucket's requests one within the window that seeks less than @c */
static void fb_policy_sw_nearer(const struct fb_policy_view *v, const struct list_head *reqs,
				u64 window, struct fb_policy_prune *prune,
				struct fb_policy_choice *c)
{
	struct fb_policy_req *req;

	list_for_each_entry(req, reqs, near) {
		if (req->pos_ns == U64_MAX) {
			if (fb_policy_prune(prune, v, req))
				continue;
			fb_policy_predict(v, req);
		}
		if (req->pos_ns > window || !fb_policy_sstf_before(req, c->seek_ns, c->pos_ns))
			continue;
		fb_policy_take_predicted(c, req);
		prune->seek_ns = c->seek_ns;
	}
}

/*
 * Find the shortest positioning time first, then a request within its window that seeks less.
 * Cylinders out of reach for the shortest positioning time are out of reach for its seek, too: the
 * second pass meets no request that the first one has not, and reuses the times that it computed.
 */
static void fb_policy_sw_choose(const struct fb_policy_view *v, struct fb_policy_choice *c)
{
	const struct list_head *reqs;
	struct fb_policy_prune prune;
	struct fb_policy_walk walk;
	u64 window;

	fb_policy_shortest(v, &prune, c);
	if (!c->req)
		return;
	window = fb_policy_sw_window(v, c);
	fb_policy_prune_set(&prune, v, window, c->seek_ns);
	fb_policy_walk_begin(&walk, v);
	while ((reqs = fb_policy_walk_next(&walk, prune.seek_ns))) {
		fb_policy_prune_bucket(&prune, v, &walk);
		fb_policy_sw_nearer(v, reqs, window, &prune, c);
	}
}

static bool fb_policy_sw_better(const struct fb_policy_view *v, const struct fb_policy_req *req,
				struct fb_policy_choice *c)
{
	u64 window;

	if (req->pos_ns < c->best_pos_ns)
		fb_policy_set_best(c, req);
	window = fb_policy_sw_window(v, c);
	return c->pos_ns > window ||
	       (req->pos_ns <= window && fb_policy_sstf_before(req, c->seek_ns, c->pos_ns));
}

/* ---- the table, and what all policies share ---- */

static const struct fb_policy_ops fb_policy_ops[FB_POLICIES] = {
	[FB_POLICY_FIFO] = { .choose = fb_policy_fifo_choose, .better = fb_policy_fifo_better },
	[FB_POLICY_CLOOK] = { .choose = fb_policy_clook_choose, .better = fb_policy_clook_better },
	[FB_POLICY_SSTF] = { true, fb_policy_sstf_choose, fb_policy_sstf_better },
	[FB_POLICY_SPTF] = { true, fb_policy_sptf_choose, fb_policy_sptf_better },
	[FB_POLICY_SPTF_SW] = { true, fb_policy_sw_choose, fb_policy_sw_better },
	[FB_POLICY_AUTO] = { true, fb_policy_sptf_choose, fb_policy_sptf_better },
	[FB_POLICY_JOINT] = { true, fb_policy_sptf_choose, fb_policy_sptf_better },
};

static struct fb_policy_req *fb_policy_first(struct fb_policy_pool *pool,
					     enum fb_policy_class class, bool write)
{
	return list_first_entry_or_null(&pool->fifo[class][write], struct fb_policy_req, fifo);
}

/* the request of a class with the earliest deadline, or NULL */
static struct fb_policy_req *fb_policy_earliest(struct fb_policy_pool *pool,
						enum fb_policy_class class)
{
	struct fb_policy_req *read = fb_policy_first(pool, class, false);
	struct fb_policy_req *write = fb_policy_first(pool, class, true);

	if (!read || !write)
		return read ? read : write;
	return fb_policy_deadline(write) < fb_policy_deadline(read) ? write : read;
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

/*
 * Returns the highest class that is pending, or FB_POLICY_CLASSES if the pool is empty. @aged:
 * out: a request of a lower class that has waited for too long, or NULL.
 */
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

static struct fb_policy_view fb_policy_view(struct fb_policy_pool *pool,
					    const struct disk_model *dm,
					    const struct dm_place *head)
{
	return (struct fb_policy_view) {
		.pool = pool,
		.dm = dm,
		.head = head,
	};
}

/* choose a request whose deadline has passed, wherever it is */
static void fb_policy_take_expired(const struct fb_policy_view *v, struct fb_policy_req *req,
				   struct fb_policy_choice *c)
{
	c->req = req;
	c->expired = true;
	if (!fb_policy_can_predict(v) || !req->placed)
		return;
	fb_policy_predict(v, req);
	fb_policy_take_predicted(c, req);
	fb_policy_set_best(c, req);
}

void fb_policy_choose(struct fb_policy_pool *pool, const struct disk_model *dm,
		      const struct dm_place *head, u64 now_ns, struct fb_policy_choice *c)
{
	struct fb_policy_view v = fb_policy_view(pool, dm, head);
	struct fb_policy_req *aged, *earliest;
	enum fb_policy_class class;

	memset(c, 0, sizeof(*c));
	class = fb_policy_class_due(pool, now_ns, &aged);
	if (class == FB_POLICY_CLASSES)
		return;
	v.reqs = &pool->reqs[class];
	v.near = &pool->near[class];
	earliest = fb_policy_earliest(pool, class);
	if (aged || (!pool->spare && fb_policy_is_expired(earliest, now_ns))) {
		fb_policy_take_expired(&v, aged ? aged : earliest, c);
	} else {
		if (fb_policy_can_predict(&v) || !fb_policy_ops[pool->policy].mechanical)
			fb_policy_ops[pool->policy].choose(&v, c);
		else if (!dm && pool->policy == FB_POLICY_SSTF)
			fb_policy_nearest_choose(&v, c);
		if (!c->req)
			fb_policy_clook_choose(&v, c);
	}
	c->class = aged ? FB_POLICY_RT : class;
}

/* @req is the choice itself and may have changed */
static bool fb_policy_offer_self(const struct fb_policy_view *v, struct fb_policy_req *req,
				 struct fb_policy_choice *c)
{
	u64 seek = c->seek_ns, pos = c->pos_ns;

	if (!c->predicted || !req->placed || !fb_policy_can_predict(v))
		return true;
	fb_policy_predict(v, req);
	fb_policy_take_predicted(c, req);
	if (c->pos_ns < c->best_pos_ns)
		fb_policy_set_best(c, req);
	return c->seek_ns != seek || c->pos_ns != pos;
}

/* @req is not the choice itself; is it better? */
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
		fb_policy_set_best(c, req);
	fb_policy_take_predicted(c, req);
	return true;
}

bool fb_policy_offer(struct fb_policy_pool *pool, const struct disk_model *dm,
		     const struct dm_place *head, struct fb_policy_req *req,
		     struct fb_policy_choice *c)
{
	const struct fb_policy_view v = fb_policy_view(pool, dm, head);

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
		.pool = pool,
		.dm = dm,
		.head = head,
		.near = &pool->near[class],
		.skip = skip,
	};
	struct fb_policy_choice c = { 0 };
	struct fb_policy_prune prune;

	fb_policy_shortest(&v, &prune, &c);
	return c.req ? c.pos_ns : 0;
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
