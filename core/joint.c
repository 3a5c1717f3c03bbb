// SPDX-License-Identifier: GPL-2.0
/* The choice of the next request and of the free read before it, together; see core/joint.h. */
#include "core/joint.h"

/*
 * A request counts for the next one, too: three tenths of the shortest positioning time onward
 * from where it ends (without it a whole scan of the Atlas 10K at 1 % takes 10 % longer; with a
 * fifth 1.6 %), and 7/100 of a turn for each mean age plus a turn (with 5/100 p99 under open loads
 * is 2 % higher).
 */
#define FB_JOINT_ONWARD (FB_ONE * 3 / 10)
#define FB_JOINT_AGE 4588

#define FB_JOINT_RANK_SHIFT 40	/* binary places of a rank's factors */

/* The price: whole scans beside ten outstanding lose 1 % of SPTF's requests/s at 7, 6 % at 3.5. */
#define FB_JOINT_TURN_LEAST 4096	/* while gaps bring nothing, the shortest goes first */
#define FB_JOINT_PRICE_START (7 * FB_PRICE_ONE)
#define FB_JOINT_PRICE_MOST (64 * FB_PRICE_ONE)

/*
 * The controller. A window of 8 s has some thousand requests, whose cost is known to 1 %, as much
 * as the target: so the price moves slowly, and what is owed counts by a part that lets it swing
 * just not. A price that is higher by e costs some FB_JOINT_SLOPE_PPM less. Where gaps are short,
 * in a hot spot or a deep queue, the right price is several times the first one. So a window ends
 * early when it has cost FB_JOINT_EXCESS times what the whole of it may, and the price rises by all
 * that the slope says, to its double at most; with less, chance would do that.
 */
#define FB_JOINT_EXCESS 4
#define FB_JOINT_SOON_NS (FB_PRICE_WINDOW_NS / 64)
#define FB_JOINT_ROUNDS_MIN 64
#define FB_JOINT_SLOPE_PPM 36000
#define FB_JOINT_OWED_PART (4 * FB_PRICE_GAIN)
/* Kept back of what may be spent, else every other run costs more than is promised. */
#define FB_JOINT_KEPT 16

/*
 * On a drive that is never idle a share of its time is the same share of throughput. Where requests
 * come by themselves it is four to six times that of their mean response time; there one completion
 * in 16 at least leaves the drive idle.
 */
#define FB_JOINT_OPEN 5
#define FB_JOINT_OPEN_IDLE (FB_POLICY_IDLE_ONE / 16)

void fb_joint_init(struct fb_joint *j, const struct disk_model *dm, u32 cost_ppm)
{
	memset(j, 0, sizeof(*j));
	j->cost_ppm = cost_ppm;
	j->price = FB_JOINT_PRICE_START;
	/* until it is known */
	j->latency = dm_period_ns(dm) / 3 * FB_VALUE_GAPS;
	j->age = dm_period_ns(dm) * FB_VALUE_GAPS;
}

u32 fb_joint_miss_price(const struct fb_joint *j)
{
	/* with a turn that is lost behind a free read the rest of its plan is lost, too */
	return j->price + j->price / 2;
}

/* ---- candidates ---- */

/* A rank is latency * gain - expected time * loss, in 2^-FB_JOINT_RANK_SHIFT. */
struct fb_joint_view {
	const struct fb_joint_at *at;
	u64 period_ns;
	s64 gain;	/* of a rank, per ns of latency */
	s64 loss;	/* and per ns of time */
	s64 least;	/* only ranks above count; S64_MIN at first */
};

static struct fb_joint_view fb_joint_view(const struct fb_joint *j, const struct fb_joint_at *at)
{
	u64 period_ns = dm_period_ns(at->dm);

	return (struct fb_joint_view) {
		.at = at,
		.period_ns = period_ns,
		.gain = div64_u64(1ULL << FB_JOINT_RANK_SHIFT,
				  div_u64(j->latency, FB_VALUE_GAPS) + 1),
		.loss = div64_u64((u64)j->price << FB_JOINT_RANK_SHIFT, period_ns * FB_PRICE_ONE),
		.least = S64_MIN,
	};
}

/* Is a request's rank surely too low, as its seek takes @floor_ns at least? */
static bool fb_joint_prune(const struct fb_joint_view *v, const struct fb_policy_req *req)
{
	s64 slope = v->loss - v->gain, limit;
	u64 floor_ns, first_ns;

	if (!req->placed)
		return true;
	if (v->least == S64_MIN || slope <= 0)
		return false;
	limit = FB_POLICY_ROUNDING_NS * (v->loss + v->gain) - v->least;
	/* most wait for too long, however short their seek */
	first_ns = dm_angle_to_ns(v->at->dm, req->start.angle - v->at->head->angle);
	if ((s64)first_ns * slope > limit)
		return true;
	floor_ns = dm_seek_floor_ns(v->at->dm, dm_apart(v->at->head, &req->start));
	if (first_ns + FB_POLICY_ROUNDING_NS < floor_ns)
		first_ns += v->period_ns;
	return (s64)floor_ns * v->gain + (s64)first_ns * slope > limit;
}

static void fb_joint_predict(const struct fb_joint_view *v, struct fb_policy_req *req,
			     struct fb_joint_candidate *c)
{
	c->req = req;
	dm_position(v->at->dm, v->at->head, &req->start, req->write, &c->seek_ns,
		    &c->latency_ns);
	c->expected_ns = fb_conservatism_expected_ns(v->at->odds, v->period_ns,
						     dm_apart(v->at->head, &req->start),
						     c->seek_ns, c->latency_ns);
	c->rank = (s64)c->latency_ns * v->gain - c->expected_ns * v->loss;
}

/* keep it if it is among the best; of equals the oldest goes first */
static void fb_joint_enter(struct fb_joint_round *r, const struct fb_joint_candidate *c)
{
	u32 i;

	if (r->n == FB_JOINT_CANDIDATES && c->rank <= r->candidate[r->n - 1].rank)
		return;
	if (r->n < FB_JOINT_CANDIDATES)
		r->n++;
	for (i = r->n - 1; i && r->candidate[i - 1].rank < c->rank; i--)
		r->candidate[i] = r->candidate[i - 1];
	r->candidate[i] = *c;
}

void fb_joint_begin(struct fb_joint_round *r, const struct fb_policy_pool *pool,
		    enum fb_policy_class class)
{
	memset(r, 0, sizeof(*r));
	r->class = class;
	r->next = pool->reqs[class].next;
}

bool fb_joint_rank(const struct fb_joint *j, const struct fb_joint_at *at,
		   struct fb_joint_round *r, u32 most)
{
	const struct list_head *reqs = &at->pool->reqs[r->class];
	struct fb_joint_view v = fb_joint_view(j, at);
	struct fb_joint_candidate c = { 0 };
	struct fb_policy_req *req;

	for (; r->next != reqs && most; r->next = r->next->next, most--) {
		if (r->n == FB_JOINT_CANDIDATES)
			v.least = r->candidate[r->n - 1].rank;
		req = list_entry(r->next, struct fb_policy_req, node);
		if (fb_joint_prune(&v, req))
			continue;
		fb_joint_predict(&v, req, &c);
		fb_joint_enter(r, &c);
	}
	return r->next != reqs;
}

bool fb_joint_has(const struct fb_joint_round *r, const struct fb_policy_req *req)
{
	u32 i;

	for (i = 0; i < r->n; i++)
		if (r->candidate[i].req == req)
			return true;
	return r->next == &req->node;
}

void fb_joint_onward(const struct fb_joint *j, const struct fb_joint_at *at,
		     struct fb_joint_round *r, u32 i)
{
	u64 period_ns = dm_period_ns(at->dm), mean_ns = div_u64(j->age, FB_VALUE_GAPS);
	struct fb_joint_candidate *c = &r->candidate[i];
	struct dm_access acc;

	c->age_ns = max(at->now_ns, c->req->arrived_ns) - c->req->arrived_ns;
	c->onward_ns = 0;
	if (!dm_access(at->dm, at->head, c->req->lbn, c->req->nsect, c->req->write, &acc))
		c->onward_ns = fb_policy_onward_ns(at->pool, at->dm, r->class, &acc.end, c->req);
	c->time_ns = c->expected_ns + (s64)(c->onward_ns * FB_JOINT_ONWARD >> FB_ONE_SHIFT) -
		(s64)mul_u64_u64_div_u64(c->age_ns, period_ns * FB_JOINT_AGE >> FB_ONE_SHIFT,
					 mean_ns + period_ns);
}

/* ---- scores ---- */

/* what so much time costs, 256ths of a plan's value */
static s64 fb_joint_time_worth(const struct fb_joint *j, const struct disk_model *dm, u64 mean,
			       s64 ns)
{
	s64 turn = mul_u64_u64_div_u64(mean, j->price, FB_PRICE_ONE);

	return div64_s64(max_t(s64, turn, FB_JOINT_TURN_LEAST) * ns, dm_period_ns(dm));
}

/* what the odds add to a candidate's time; a plan's value counts them already */
static s64 fb_joint_odds_ns(const struct fb_joint_candidate *c)
{
	return c->expected_ns - (s64)(c->seek_ns + c->latency_ns);
}

u64 fb_joint_least(const struct fb_joint *j, const struct disk_model *dm, u64 mean,
		   const struct fb_joint_round *r, u32 i)
{
	const struct fb_joint_candidate *c = &r->candidate[i];
	s64 ns = c->time_ns - max_t(s64, fb_joint_odds_ns(c), 0), least;

	if (!r->scored)
		return 0;
	/* fb_joint_insist() has the greatest of all scores */
	least = min_t(s64, r->score, S64_MAX / 2) + fb_joint_time_worth(j, dm, mean, ns);
	return div_u64(max_t(s64, least, 0), FB_PRICE_ONE);
}

void fb_joint_offer(const struct fb_joint *j, const struct disk_model *dm, u64 mean,
		    struct fb_joint_round *r, u32 i, const struct fb_plan *plan)
{
	const struct fb_joint_candidate *c = &r->candidate[i];
	s64 ns = c->time_ns - (plan ? fb_joint_odds_ns(c) : 0), score;

	score = (plan ? (s64)plan->value * FB_PRICE_ONE : 0) - fb_joint_time_worth(j, dm, mean, ns);
	if (r->scored && score <= r->score)
		return;
	r->scored = true;
	r->score = score;
	r->best = i;
}

void fb_joint_insist(struct fb_joint_round *r, u32 i)
{
	r->scored = true;
	r->score = S64_MAX;
	r->best = i;
}

/* ---- the price ---- */

void fb_joint_sent(struct fb_joint *j, const struct fb_joint_round *r)
{
	const struct fb_joint_candidate *c = &r->candidate[r->best];

	j->latency += c->latency_ns - div_u64(j->latency, FB_VALUE_GAPS);
	j->age += c->age_ns - div_u64(j->age, FB_VALUE_GAPS);
}

static void fb_joint_move(struct fb_joint *j, s64 time_ppm, s64 may_ppm)
{
	s64 over = clamp_t(s64, time_ppm - may_ppm, -FB_JOINT_SLOPE_PPM, FB_JOINT_SLOPE_PPM);
	s64 most = FB_JOINT_OWED_PART * may_ppm, price = j->price;

	/* what was saved while more was allowed must not be spent now, nor the reverse be paid */
	if (j->owed_of_ppm != j->cost_ppm) {
		j->owed_of_ppm = j->cost_ppm;
		j->owed_ppm = 0;
	}
	price += div64_s64(price * (over + div_s64(j->owed_ppm, FB_JOINT_OWED_PART)),
			   (s64)FB_JOINT_SLOPE_PPM * FB_PRICE_GAIN);
	j->price = clamp_t(s64, price, FB_PRICE_ONE, FB_JOINT_PRICE_MOST);
	/*
	 * Where the price cannot rise what is owed must not grow, for it cannot be paid; but it
	 * falls, or the price would stay there. Likewise what is left where it cannot fall.
	 */
	if (price < FB_PRICE_ONE ? over > 0 : j->price == price || over < 0)
		j->owed_ppm = clamp_t(s64, j->owed_ppm + over, -most, most);
}

static void fb_joint_raise(struct fb_joint *j, s64 time_ppm, s64 may_ppm)
{
	s64 over = clamp_t(s64, time_ppm - may_ppm, 0, FB_JOINT_SLOPE_PPM);
	s64 price = j->price + div_s64(j->price * over, FB_JOINT_SLOPE_PPM);

	j->price = min_t(s64, price, FB_JOINT_PRICE_MOST);
}

bool fb_joint_charge(struct fb_joint *j, s64 order_ns, s32 missed_ppm, u32 idle, u64 now_ns)
{
	u64 may = (u64)(j->cost_ppm - j->cost_ppm / FB_JOINT_KEPT) * FB_WEIGHT_ONE;
	u64 open = FB_WEIGHT_ONE * (FB_JOINT_OPEN - 1) * (u64)min_t(u32, idle, FB_JOINT_OPEN_IDLE);
	/* what a share of the drive's time costs, as a share of throughput or response time */
	u32 weight = FB_WEIGHT_ONE + div_u64(open, FB_JOINT_OPEN_IDLE);
	s64 may_ppm = div_u64(may, weight), time_ppm;
	u64 span_ns = now_ns - j->since_ns;
	bool early, moved = false;

	j->order_ns += order_ns;
	j->rounds++;
	early = j->rounds >= FB_JOINT_ROUNDS_MIN && span_ns >= FB_JOINT_SOON_NS && !j->fixed &&
		j->order_ns > FB_JOINT_EXCESS * max_t(s64, may_ppm, FB_JOINT_COST_PPM) *
			      (s64)(FB_PRICE_WINDOW_NS / FB_PPM);
	if (now_ns >= j->since_ns && span_ns < FB_PRICE_WINDOW_NS && !early)
		return false;
	/* a window with a long pause in it, or with few choices, says nothing */
	if (span_ns < 2 * FB_PRICE_WINDOW_NS && j->rounds >= FB_JOINT_ROUNDS_MIN) {
		time_ppm = div64_s64(j->order_ns, div_u64(span_ns, FB_PPM)) + missed_ppm;
		j->window_ppm = div_s64(time_ppm * weight, FB_WEIGHT_ONE);
		if (early)
			fb_joint_raise(j, time_ppm, may_ppm);
		else if (!j->fixed)
			fb_joint_move(j, time_ppm, may_ppm);
		moved = true;
	}
	j->since_ns = now_ns;
	j->order_ns = 0;
	j->rounds = 0;
	return moved;
}
