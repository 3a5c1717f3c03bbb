// SPDX-License-Identifier: GPL-2.0
/*
 * What came of a run; see sim_result.h.
 */
#include "sim_result.h"

#define SIMR_NS_PER_S 1e9
#define SIMR_NS_PER_MS 1e6
#define SIMR_S_PER_DAY 86400

/* An object being written */
struct simr {
	FILE *out;	/* where to */
	bool empty;	/* its first member comes next */
};

static void simr_name(struct simr *r, const char *name)
{
	fprintf(r->out, "%s\"%s\": ", r->empty ? "" : ", ", name);
	r->empty = false;
}

static void simr_open(struct simr *r, const char *name)
{
	simr_name(r, name);
	fputc('{', r->out);
	r->empty = true;
}

static void simr_close(struct simr *r)
{
	fputc('}', r->out);
	r->empty = false;
}

static void simr_count(struct simr *r, const char *name, u64 n)
{
	simr_name(r, name);
	fprintf(r->out, "%llu", (unsigned long long)n);
}

static void simr_text(struct simr *r, const char *name, const char *text)
{
	simr_name(r, name);
	fprintf(r->out, "\"%s\"", text);
}

static void simr_real(struct simr *r, const char *name, double x)
{
	simr_name(r, name);
	fprintf(r->out, "%.9g", x);
}

/* a / b; 0 when there is nothing to divide */
static void simr_per(struct simr *r, const char *name, double a, double b)
{
	simr_real(r, name, b ? a / b : 0);
}

static void simr_times(struct simr *r, const char *name, const struct simh *h)
{
	simr_open(r, name);
	simr_real(r, "mean", simh_mean(h) / SIMR_NS_PER_MS);
	simr_real(r, "p50", simh_quantile(h, .5) / SIMR_NS_PER_MS);
	simr_real(r, "p99", simh_quantile(h, .99) / SIMR_NS_PER_MS);
	simr_real(r, "p99.9", simh_quantile(h, .999) / SIMR_NS_PER_MS);
	simr_real(r, "max", h->most / SIMR_NS_PER_MS);
	simr_close(r);
}

static void simr_foreground(struct simr *r, const struct sims *s, double seconds)
{
	const struct sims_stats *st = &s->stats;

	simr_count(r, "requests", st->requests);
	simr_per(r, "requests_per_s", st->requests, seconds);
	simr_per(r, "foreground_mb_s", st->sectors * 512 / 1e6, seconds);
	simr_times(r, "response_ms", &st->response);
	simr_times(r, "read_ms", &st->of[SIMS_READ]);
	simr_times(r, "write_ms", &st->of[SIMS_WRITE]);
	simr_times(r, "flush_ms", &st->of[SIMS_FLUSH]);
}

/* of the requests that were followed: per request, and as a share of what they take */
static void simr_order(struct simr *r, const struct fb_order_cost_sum *order)
{
	simr_open(r, "order");
	simr_count(r, "followed", order->requests);
	simr_per(r, "later_us", order->later_ns / 1e3, order->requests);
	simr_per(r, "cost_pct", 100. * order->later_ns, order->took_ns);
	simr_close(r);
}

static void simr_drive(struct simr *r, const struct sims *s, double seconds)
{
	u64 commands = s->stats.requests + s->stats.separates;
	struct sim_drive_stats d;

	sim_drive_stats(s->drive, &d);
	simr_per(r, "utilisation", d.busy_ns / SIMR_NS_PER_S, seconds);
	simr_count(r, "most_at_drive", s->stats.most);
	if (!d.inside)
		return;
	simr_open(r, "command_ms");
	simr_per(r, "seek", d.seek_ns / SIMR_NS_PER_MS, commands);
	simr_per(r, "rotation", d.rotate_ns / SIMR_NS_PER_MS, commands);
	simr_per(r, "transfer", d.transfer_ns / SIMR_NS_PER_MS, commands);
	simr_close(r);
	simr_count(r, "extra_turns", d.extra_turns);
	simr_count(r, "read_hits", d.read_hits);
	simr_count(r, "own_order", s->stats.deep);
}

static void simr_errors(struct simr *r, const struct sims *s)
{
	simr_open(r, "errors");
	simr_count(r, "foreground", s->stats.failed);
	simr_count(r, "free", s->stats.free_errors);
	simr_count(r, "blocks_skipped", s->task->skipped);
	simr_count(r, "sent_again", s->stats.again);
	if (s->task->bad.alarms)
		simr_count(r, "alarms", s->task->bad.alarms);
	simr_close(r);
}

static void simr_histogram(struct simr *r, const struct sims_stats *st)
{
	char bucket[16];
	int i;

	simr_open(r, "prediction_errors_10us");
	for (i = 0; i < FB_HIST; i++) {
		if (!st->engine.ends.hist[i])
			continue;
		snprintf(bucket, sizeof(bucket), "%d", i - FB_HIST_HALF);
		simr_count(r, bucket, st->engine.ends.hist[i]);
	}
	simr_close(r);
}

/* how much longer seeks are, and how well that is known */
static void simr_calibration(struct simr *r, const struct fb_seek_fit *c)
{
	simr_open(r, "calibration");
	simr_real(r, "ppm", fb_seek_fit_ppm(c));
	simr_real(r, "error_ppm", fb_seek_fit_error_ppm(c));
	simr_real(r, "applied_ppm", c->applied);
	simr_real(r, "spread_us", c->spread_ns / 1e3);
	simr_count(r, "trials", c->trials);
	simr_close(r);
}

static void simr_predictions(struct simr *r, const struct sims *s)
{
	static const char * const causes[FB_CAUSES] = {
		[FB_CAUSE_PLAIN] = "plain",
		[FB_CAUSE_PREPEND] = "prepend",
		[FB_CAUSE_SEPARATE] = "separate",
		[FB_CAUSE_AFTER] = "after",
		[FB_CAUSE_IDLE] = "idle",
	};
	const struct sims_stats *st = &s->stats;
	int i;

	simr_count(r, "predicted", st->engine.ends.predicted);
	simr_per(r, "reports_within_50us", st->engine.ends.within_50us, st->engine.ends.predicted);
	simr_per(r, "ends_within_50us", st->engine.ends.end_within_50us, st->engine.ends.predicted);
	simr_per(r, "turn_late", st->late, st->engine.ends.predicted);
	simr_per(r, "turn_early", st->early, st->engine.ends.predicted);
	simr_open(r, "misses");
	for (i = 0; i < FB_CAUSES; i++)
		simr_count(r, causes[i], st->engine.ends.miss[i]);
	simr_close(r);
	simr_count(r, "early_turns", st->engine.ends.early_turn);
	simr_open(r, "head");
	simr_count(r, "mechanical", s->engine.head.mechanical);
	simr_count(r, "early", s->engine.head.early);
	simr_count(r, "odd", s->engine.head.odd);
	simr_real(r, "fits", s->engine.head.fits / 1e6);
	simr_real(r, "right", s->engine.head.right / 1e6);
	simr_count(r, "misfit", fb_head_misfit(&s->engine.head) || fb_seek_fit_misfit(&s->calib));
	simr_close(r);
	simr_count(r, "out_of_order", st->engine.out_of_order);
	simr_calibration(r, &s->calib);
	simr_histogram(r, st);
}

/* MB/s of each tenth that was read to its end; null: some of it before the run */
static void simr_tenths(struct simr *r, const struct simt *t)
{
	u64 before_ns = 0, before = 0, blocks;
	int i;

	simr_name(r, "mb_s_by_tenth");
	fputc('[', r->out);
	for (i = 0; i < SIMT_PARTS && t->part_ns[i]; i++) {
		blocks = (t->total * (i + 1) + SIMT_PARTS - 1) / SIMT_PARTS;
		fputs(i ? ", " : "", r->out);
		if (before < t->begun)
			fputs("null", r->out);
		else
			fprintf(r->out, "%.5g", (blocks - before) * 1e3 * simt_block_bytes(t) /
				max_t(u64, t->part_ns[i] - before_ns, 1));
		before_ns = t->part_ns[i];
		before = blocks;
	}
	fputc(']', r->out);
}

/* blocks still wanted, by tenth of the disk in LBNs */
static void simr_left(struct simr *r, const struct simt *t)
{
	u64 first, end;
	int i;

	simr_name(r, "left_by_tenth");
	fputc('[', r->out);
	for (i = 0; i < SIMT_PARTS; i++) {
		first = t->bm.granules * i / SIMT_PARTS;
		end = t->bm.granules * (i + 1) / SIMT_PARTS;
		fprintf(r->out, "%s%u", i ? ", " : "", fb_bitmap_count(&t->bm, first, end - first));
	}
	fputc(']', r->out);
}

static void simr_gaps(struct simr *r, const struct sims *s)
{
	const struct simt *t = s->task;
	u64 reads = s->stats.prepends + s->stats.separates;

	simr_count(r, "gaps", t->gaps);
	simr_per(r, "gap_latency_ms", t->latency_ns / SIMR_NS_PER_MS, t->gaps);
	simr_count(r, "plans", t->plans);
	simr_per(r, "plan_slack_ms", t->slack_ns / SIMR_NS_PER_MS, t->plans);
	simr_count(r, "prepends", s->stats.prepends);
	simr_count(r, "separates", s->stats.separates);
	simr_count(r, "several", s->stats.engine.several);
	simr_per(r, "blocks_per_read", t->got - t->begun, reads);
	simr_per(r, "tracks_per_search", t->tracks, t->gaps);
	simr_count(r, "most_tracks", t->most_tracks);
	simr_count(r, "too_late", s->stats.engine.too_late);
	simr_count(r, "unsearched", s->stats.unsearched);
	simr_count(r, "spoilt", s->stats.spoilt);
	simr_count(r, "leftovers", t->leftovers);
	simr_count(r, "guard_trips", t->guard.trips);
}

static void simr_margin(struct simr *r, const struct fb_conservatism *m)
{
	int i;

	simr_name(r, "auto_us");
	for (i = 0; i < FB_CONSERVATISM_KINDS; i++)
		fprintf(r->out, "%s%.5g", i ? ", " : "[", m->odds.floor_ns[i] / 1e3);
	fputc(']', r->out);
	simr_real(r, "auto_cost_ppm", m->cost_ppm);
	simr_real(r, "auto_price_gaps", m->odds.price / 256.);
}

/* a share as its two numbers */
static void simr_late(struct simr *r, const char *name, u32 bad, u32 n)
{
	simr_name(r, name);
	fprintf(r->out, "[%u, %u]", bad, n);
}

static void simr_probe(struct simr *r, const struct fb_lookahead *p, u64 now_ns)
{
	static const struct {
		const char *name;
		u32 lift;
	} lifts[FB_LOOKAHEAD_LIFTS] = {
		{ "source", FB_LIFT_SOURCE },
		{ "dest", FB_LIFT_DEST },
	};
	char text[FB_LOOKAHEAD_TEXT];
	int i;

	simr_open(r, "probe");
	for (i = 0; i < FB_LOOKAHEAD_LIFTS; i++) {
		fb_lookahead_describe(p, lifts[i].lift, now_ns, text, sizeof(text));
		simr_open(r, lifts[i].name);
		simr_text(r, "state", text);
		simr_count(r, "refusals", p->lift[i].refusals);
		simr_late(r, "late_at", p->lift[i].test[0].bad, p->lift[i].test[0].n);
		simr_late(r, "late_behind", p->lift[i].test[1].bad, p->lift[i].test[1].n);
		simr_real(r, "decided_s", p->lift[i].since_ns / SIMR_NS_PER_S);
		simr_close(r);
	}
	simr_close(r);
	simr_late(r, "late_plain", p->base[0].bad, p->base[0].n);
	simr_late(r, "late_ordinary", p->base[1].bad, p->base[1].n);
}

static void simr_destage(struct simr *r, const struct fb_destage *d)
{
	simr_open(r, "destage");
	simr_count(r, "firsts", d->firsts);
	simr_count(r, "lates", d->lates);
	simr_real(r, "margin_ms", d->margin_ns / SIMR_NS_PER_MS);
	simr_real(r, "bare", (double)d->bare / FB_ONE);
	simr_close(r);
}

static void simr_idle(struct simr *r, const struct sims *s, double seconds)
{
	const struct sims_idle *i = &s->stats.idle;
	struct fb_idle_policy_status st;

	fb_idle_policy_status(&s->wait, seconds * SIMR_NS_PER_S, &st);
	simr_open(r, "idle");
	simr_text(r, "state", fb_idle_policy_why_name[st.why]);
	simr_real(r, "wait_ms", st.wait_ns / SIMR_NS_PER_MS);
	simr_count(r, "size_kib", st.sectors / 2);
	simr_real(r, "mean_us", st.mean_ns / 1e3);
	simr_real(r, "max_us", st.max_ns / 1e3);
	simr_count(r, "requests", st.requests);
	simr_count(r, "collisions", st.collisions);
	simr_count(r, "reads", i->reads);
	simr_per(r, "mb_s", i->sectors * 512 / 1e6, seconds);
	simr_per(r, "read_ms", st.used_ns / SIMR_NS_PER_MS, st.reads);
	simr_per(r, "kib_per_read", i->sectors / 2., i->reads);
	simr_per(r, "idle_share", st.idle_ns / SIMR_NS_PER_S, seconds);
	simr_per(r, "used_share", st.used_ns, st.idle_ns);
	simr_real(r, "credit_us", st.credit_ns / 1e3);
	simr_per(r, "predicted", i->predicted, i->reads);
	if (s->destage.on)
		simr_destage(r, &s->destage);
	simr_real(r, "longest_predicted_ms", i->most_ns / SIMR_NS_PER_MS);
	simr_close(r);
}

static void simr_task(struct simr *r, const struct sims *s, double seconds)
{
	const struct simt *t = s->task;
	bool whole = simt_over(t);

	simr_name(r, "map");
	fprintf(r->out, "\"%s\"", whole ? "whole" : s->o->fresh ? "fresh" :
		s->o->trickle_ms ? "trickle" : "from fresh");
	simr_per(r, "free_mb_s", (t->got - t->begun) * simt_block_bytes(t) / 1e6, seconds);
	simr_per(r, "task_done", t->got, t->total);
	if (whole && !s->o->count && !t->begun) {
		simr_real(r, "scan_s", seconds);
		simr_per(r, "scans_per_day", SIMR_S_PER_DAY, seconds);
	}
	simr_tenths(r, t);
	simr_left(r, t);
	simr_gaps(r, s);
	if (s->o->joint) {
		simr_real(r, "joint_price_gaps", s->engine.round.joint.price / 256.);
		simr_real(r, "joint_cost_ppm",
			  1. * s->stats.joint_ppm / max(s->stats.joint_windows, 1ULL));
	}
	if (s->o->idle)
		simr_idle(r, s, seconds);
	if (!s->engine.dm)
		return;
	if (s->o->conservatism_us == SIMO_AUTO)
		simr_margin(r, &t->margin);
	if (s->o->probe)
		simr_probe(r, &t->probe, seconds * SIMR_NS_PER_S);
}

static void simr_cost(struct simr *r, const char *name, const struct fb_trial_cost *cost)
{
	simr_open(r, name);
	simr_real(r, "us", cost->diff_ns / 1e3);
	simr_real(r, "error_us", cost->error_ns / 1e3);
	simr_real(r, "alone_us", cost->alone_ns / 1e3);
	simr_count(r, "blocks", cost->blocks);
	simr_count(r, "ends", cost->ends);
	simr_count(r, "known", cost->known);
	simr_close(r);
}

/* what free reads cost, measured; see core/cost/ */
static void simr_trial(struct simr *r, const struct fb_cost *c)
{
	static const char * const kinds[] = {
		[FB_TRIAL_READ] = "read", [FB_TRIAL_WRITE] = "write",
		[FB_TRIAL_SLOW] = "slow", [FB_TRIAL_KINDS] = "all",
	};
	static const char * const levels[] = {
		[FB_COST_ALL] = "all", [FB_COST_NO_GAPS] = "no gaps",
		[FB_COST_NOTHING] = "nothing", [FB_COST_FOR_GOOD] = "for good",
	};
	const struct fb_trial_cost *told = c->trial.told;
	enum fb_trial_kind kind = fb_trial_kind_of(told);

	simr_real(r, "cost_us", told[kind].diff_ns / 1e3);
	simr_real(r, "cost_error_us", told[kind].error_ns / 1e3);
	simr_per(r, "trial_share", c->trial.held_ns, c->trial.on_ns);
	simr_open(r, "trial");
	for (kind = 0; kind <= FB_TRIAL_KINDS; kind++)
		simr_cost(r, kinds[kind], &told[kind]);
	simr_text(r, "level", levels[c->level]);
	simr_count(r, "stops", c->stops);
	if (c->stops)
		simr_cost(r, "stop", &c->stop);
	simr_close(r);
}

void simr_print(const struct sims *s, u64 end_ns, double wall_s, const char *more,
		FILE *out)
{
	double seconds = end_ns / SIMR_NS_PER_S;
	struct simr r = { out, true };

	fputc('{', out);
	simr_name(&r, "settings");
	simo_print(s->o, out);
	simr_real(&r, "seconds", seconds);
	simr_real(&r, "wall_s", wall_s);
	simr_foreground(&r, s, seconds);
	if (s->o->order_cost)
		simr_order(&r, &s->stats.engine.order);
	simr_drive(&r, s, seconds);
	simr_errors(&r, s);
	if (s->engine.dm && s->o->policy != SIMO_NONE)
		simr_predictions(&r, s);
	if (s->o->scan)
		simr_task(&r, s, seconds);
	if (s->o->trial)
		simr_trial(&r, &s->cost);
	fprintf(out, "%s}\n", more);
}
