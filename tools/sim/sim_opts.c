// SPDX-License-Identifier: GPL-2.0
/*
 * Settings; see sim_opts.h.
 */
#include <math.h>

#include "core/joint.h"
#include "core/plan.h"
#include "core/policy.h"
#include "sim_opts.h"
#include "sim_file.h"

#define SIMO_SECONDS 60		/* disk time of a run whose end is not set */
#define SIMO_MAX_S 1e7		/* disk time of a run: 116 days */
#define SIMO_MAX_BYTES 1048576	/* longest request and granule */

#define SIMO_EDGE_MAX 250	/* weights stay within 16 bits */

enum simo_type {
	SIMO_TEXT, SIMO_LINES, SIMO_WHOLE, SIMO_REAL, SIMO_WHOLE_OR_AUTO, SIMO_REAL_OR_AUTO,
};

/* One setting */
struct simo_setting {
	const char *name;	/* as in words and results */
	/* what it is in struct simo: char *, char *, u64, and double from there on */
	enum simo_type type;
	size_t offset;	/* its place there */
	const char *module;	/* default: what the module does that was told nothing */
	double least;	/* of a number */
	double most;	/* of a number */
	bool not_zero;	/* 0 is what stands for "not given": it is refused when it is given */
	const char *paper;	/* default with preset=paper; NULL: @module */
};

/*
 * The paper's drive and workload (5.1) without its think time. The scheduler is by default as in
 * the kernel, whose search_us of 100 are some 100 tracks; with preset=paper it is the paper's:
 * SPTF-SW60, two commands, a fixed conservatism, none of its limits lifted, all blocks worth the
 * same, and nothing read while the drive is idle. 512 sectors were this project's first buffers.
 */
static const struct simo_setting simo_settings[] = {
	{ "preset", SIMO_TEXT, offsetof(struct simo, preset), "module", 0, 0 },
	{ "drive", SIMO_TEXT, offsetof(struct simo, drive),
	  "tools/mechdisk/drives/atlas10k.fbdrive", 0, 0 },
	{ "set", SIMO_LINES, offsetof(struct simo, set), "", 0, 0 },
	{ "model", SIMO_TEXT, offsetof(struct simo, model), "models/atlas10k.fbmodel", 0, 0 },
	{ "knowledge", SIMO_TEXT, offsetof(struct simo, knowledge), "map", 0, 0 },
	{ "noise", SIMO_TEXT, offsetof(struct simo, noise), "", 0, 0 },
	{ "seed", SIMO_WHOLE, offsetof(struct simo, seed), "1", 0, 1e15 },
	{ "policy", SIMO_TEXT, offsetof(struct simo, policy_name), "auto", 0, 0,
	  .paper = "sptf-sw" },
	{ "sw_percent", SIMO_WHOLE, offsetof(struct simo, sw_percent), "60", 0, 1000 },
	{ "foreground_cost_ppm", SIMO_WHOLE, offsetof(struct simo, foreground_cost_ppm),
	  "10000", 1, FB_JOINT_COST_PPM_MAX },
	{ "max_kib_s", SIMO_WHOLE, offsetof(struct simo, max_kib_s), "0", 0, 4194304 },
	{ "joint_price", SIMO_REAL, offsetof(struct simo, joint_price), "0", 0, 64 },
	{ "depth", SIMO_WHOLE_OR_AUTO, offsetof(struct simo, depth), "auto", 0, 32, true,
	  .paper = "0" },
	{ "hold", SIMO_WHOLE, offsetof(struct simo, hold), "1", 0, 1 },
	{ "read_expire_ms", SIMO_WHOLE, offsetof(struct simo, read_expire_ms), "500", 0, 1e6 },
	{ "write_expire_ms", SIMO_WHOLE, offsetof(struct simo, write_expire_ms),
	  "5000", 0, 1e6 },
	{ "commit_us", SIMO_REAL, offsetof(struct simo, commit_us), "300", 0, 1e5 },
	{ "lead_us", SIMO_REAL, offsetof(struct simo, lead_us), "200", 0, 1e5 },
	{ "outstanding", SIMO_WHOLE, offsetof(struct simo, outstanding),
	  "10", 1, SIMO_PENDING_MAX },
	{ "think_ms", SIMO_REAL, offsetof(struct simo, think_ms), "0", 0, 1e6 },
	{ "think", SIMO_TEXT, offsetof(struct simo, think_name), "constant", 0, 0 },
	{ "rate", SIMO_REAL, offsetof(struct simo, rate), "0", 0, 1e5 },
	{ "reads", SIMO_REAL, offsetof(struct simo, reads), "0.6666666667", 0, 1 },
	{ "fua", SIMO_REAL, offsetof(struct simo, fua), "0", 0, 1 },
	{ "fsync", SIMO_REAL, offsetof(struct simo, fsync), "0", 0, 1 },
	{ "burst", SIMO_REAL, offsetof(struct simo, burst), "0", 0, SIMO_BURST_MAX },
	{ "size", SIMO_TEXT, offsetof(struct simo, size_text), "exp:8k", 0, 0 },
	{ "locality", SIMO_TEXT, offsetof(struct simo, place_text), "uniform", 0, 0 },
	{ "trace", SIMO_TEXT, offsetof(struct simo, trace), "", 0, 0 },
	{ "task", SIMO_TEXT, offsetof(struct simo, task_name), "none", 0, 0 },
	{ "range", SIMO_TEXT, offsetof(struct simo, range_text), "", 0, 0 },
	{ "granule", SIMO_WHOLE, offsetof(struct simo, granule), "0", 0, SIMO_MAX_BYTES,
	  true },
	{ "conservatism_us", SIMO_REAL_OR_AUTO, offsetof(struct simo, conservatism_us),
	  "auto", 0, 1e5, .paper = "400" },
	{ "target_slowdown_ppm", SIMO_WHOLE, offsetof(struct simo, target_slowdown_ppm),
	  "5000", 1, 1e6 },
	{ "max_sectors", SIMO_WHOLE_OR_AUTO, offsetof(struct simo, max_sectors),
	  "auto", 1, 65536, .paper = "512" },
	{ "max_prepend_sectors", SIMO_WHOLE_OR_AUTO, offsetof(struct simo, max_prepend_sectors),
	  "auto", 0, 65536, .paper = "512" },
	{ "separate", SIMO_WHOLE, offsetof(struct simo, separate), "1", 0, 1 },
	{ "lift", SIMO_TEXT, offsetof(struct simo, lift_text), "auto", 0, 0, .paper = "none" },
	{ "pipe_read_us", SIMO_REAL_OR_AUTO, offsetof(struct simo, pipe_read_us),
	  "auto", 0, 1e5 },
	{ "pipe_write_us", SIMO_REAL_OR_AUTO, offsetof(struct simo, pipe_write_us),
	  "auto", 0, 1e5 },
	{ "weight", SIMO_TEXT, offsetof(struct simo, weight_text), "balance", 0, 0,
	  .paper = "flat" },
	{ "balance_s", SIMO_REAL, offsetof(struct simo, balance_s), "5", 0.1, 1e6 },
	{ "value", SIMO_TEXT, offsetof(struct simo, value_name), "root", 0, 0,
	  .paper = "count" },
	{ "hop_steps", SIMO_WHOLE, offsetof(struct simo, hop_steps), "32", 0, 1e9 },
	{ "steps", SIMO_WHOLE, offsetof(struct simo, steps), "100", 1, 1e9, .paper = "200" },
	{ "search_us", SIMO_REAL, offsetof(struct simo, search_us), "0", 0, 1e5 },
	{ "guard_ppm", SIMO_WHOLE_OR_AUTO, offsetof(struct simo, guard_ppm), "auto", 0, 1e6,
	  .paper = "0" },
	{ "calibrate", SIMO_WHOLE, offsetof(struct simo, calibrate), "1", 0, 1 },
	{ "destage", SIMO_WHOLE, offsetof(struct simo, destage), "1", 0, 1 },
	{ "idle", SIMO_TEXT, offsetof(struct simo, idle_name), "on", 0, 0, .paper = "off" },
	{ "idle_wait_us", SIMO_REAL_OR_AUTO, offsetof(struct simo, idle_wait_us), "auto", 0, 1e9 },
	{ "idle_size_kib", SIMO_REAL_OR_AUTO, offsetof(struct simo, idle_size_kib),
	  "auto", 4, 4096 },
	{ "idle_mean_us", SIMO_REAL, offsetof(struct simo, idle_mean_us), "1000", 0, 1e7 },
	{ "idle_max_us", SIMO_REAL, offsetof(struct simo, idle_max_us), "50000", 1000, 1e7 },
	{ "order", SIMO_TEXT, offsetof(struct simo, order_text), "near", 0, 0 },
	{ "segment_kib", SIMO_WHOLE, offsetof(struct simo, segment_kib), "0", 0, 1048576,
	  true },
	{ "idle_command", SIMO_TEXT, offsetof(struct simo, idle_command), "read", 0, 0 },
	{ "trial", SIMO_WHOLE_OR_AUTO, offsetof(struct simo, trial), "0", 0, 1024 },
	{ "trial_s", SIMO_REAL, offsetof(struct simo, trial_s), "4", 0.5, 3600 },
	{ "trial_seed", SIMO_WHOLE, offsetof(struct simo, trial_seed), "1", 0, 1e15 },
	{ "trial_guard", SIMO_WHOLE, offsetof(struct simo, trial_guard), "0", 0, 1 },
	{ "trial_most_ppm", SIMO_WHOLE, offsetof(struct simo, trial_most_ppm), "1000000", 0, 1e9 },
	{ "start", SIMO_TEXT, offsetof(struct simo, start_text), "none", 0, 0 },
	{ "save", SIMO_TEXT, offsetof(struct simo, save), "", 0, 0 },
	{ "log", SIMO_TEXT, offsetof(struct simo, log), "", 0, 0 },
	{ "seconds", SIMO_REAL, offsetof(struct simo, seconds), "0", 0, SIMO_MAX_S, true },
	{ "requests", SIMO_WHOLE, offsetof(struct simo, requests), "0", 0, 1e12, true },
	{ "whole", SIMO_WHOLE, offsetof(struct simo, whole), "0", 0, 1 },
};

/* ---- values ---- */

static char *simo_copy(const char *text, size_t len, const char *more)
{
	char *copy = malloc(len + strlen(more) + 1);

	if (!copy)
		sim_fail("out of memory");
	memcpy(copy, text, len);
	strcpy(copy + len, more);
	return copy;
}

static double simo_number(const struct simo_setting *s, const char *text)
{
	bool whole = s->type == SIMO_WHOLE || s->type == SIMO_WHOLE_OR_AUTO;
	char *end;
	double x = strtod(text, &end);

	if (s->type >= SIMO_WHOLE_OR_AUTO && !strcmp(text, "auto"))
		return SIMO_AUTO;
	if (!*text || *end || !isfinite(x) || (whole && x != floor(x)))
		sim_usage("%s: not a%s number: '%s'", s->name, whole ? " whole" : "", text);
	if (x < s->least || x > s->most)
		sim_usage("%s: %s is not between %.12g and %.12g", s->name, text, s->least,
			  s->most);
	return x;
}

static void simo_assign(struct simo *o, const struct simo_setting *s, const char *text)
{
	void *field = (char *)o + s->offset;
	char **lines = field, *old = *lines;

	switch (s->type) {
	case SIMO_TEXT:
		*lines = simo_copy(text, strlen(text), "");
		break;
	case SIMO_LINES:
		*lines = simo_copy(old ? old : "", old ? strlen(old) : 0, text);
		if (*text)
			*lines = simo_copy(*lines, strlen(*lines), "\n");
		break;
	case SIMO_WHOLE:
		*(u64 *)field = simo_number(s, text);
		break;
	case SIMO_REAL:
	case SIMO_WHOLE_OR_AUTO:
	case SIMO_REAL_OR_AUTO:
		*(double *)field = simo_number(s, text);
		break;
	}
}

static bool simo_is_zero(const struct simo *o, const struct simo_setting *s)
{
	const void *field = (const char *)o + s->offset;

	return s->type == SIMO_WHOLE ? !*(const u64 *)field : !*(const double *)field;
}

static void simo_word(struct simo *o, const char *word)
{
	const char *value = strchr(word, '=');
	size_t len, i;

	if (!value)
		sim_usage("'%s' is not NAME=VALUE", word);
	len = value - word;
	for (i = 0; i < ARRAY_SIZE(simo_settings); i++) {
		const struct simo_setting *s = &simo_settings[i];

		if (strlen(s->name) == len && !memcmp(word, s->name, len)) {
			simo_assign(o, s, value + 1);
			if (s->not_zero && simo_is_zero(o, s))
				sim_usage("%s: 0 is taken for the default: leave it out", s->name);
			return;
		}
	}
	sim_usage("no such setting: %.*s", (int)len, word);
}

/* ---- texts with a meaning ---- */

/* "8k" or "8192", up to @stop: bytes, whole sectors */
static u64 simo_bytes(const char *text, char stop, const char **end)
{
	char *after;
	double x = strtod(text, &after);

	if (after == text || x < 0)
		sim_usage("size: not a size: '%s'", text);
	if (*after == 'k') {
		x *= 1024;
		after++;
	}
	if (*after != stop && *after)
		sim_usage("size: not a size: '%s'", text);
	if (x < 512 || x > SIMO_MAX_BYTES || fmod(x, 512))
		sim_usage("size: '%s' is not a multiple of 512 bytes up to %d", text,
			  SIMO_MAX_BYTES);
	*end = after;
	return x;
}

/* "/SHARE", up to the next ":" or the end */
static double simo_share(const char *text, const char **end)
{
	char *after;
	double x = strtod(text + 1, &after);

	if (*text != '/' || after == text + 1 || !(x > 0) || !isfinite(x) ||
	    (*after && *after != ':'))
		sim_usage("size: not SIZE/SHARE:SIZE/SHARE, each share above 0: '%s'", text);
	*end = after;
	return x;
}

static void simo_read_sizes(struct simo *o)
{
	struct simo_sizes *z = &o->sizes;
	const char *text = o->size_text;

	if (!strncmp(text, "exp:", 4)) {
		z->mean = simo_bytes(text + 4, 0, &text);
		return;
	}
	do {
		if (z->n == SIMO_SIZES_MAX)
			sim_usage("size: more than %d sizes", SIMO_SIZES_MAX);
		z->size[z->n].bytes = simo_bytes(text, '/', &text);
		z->size[z->n].share = 1;
		/* a single size needs no share */
		if (z->n || *text)
			z->size[z->n].share = simo_share(text, &text);
		z->n++;
	} while (*text++);
}

/* the number N of "name:N", at least 1 */
static bool simo_counted(const char *of, const char *text, const char *name, u64 most, u64 *n)
{
	size_t len = strlen(name);
	char *end;

	if (strncmp(text, name, len) || text[len] != ':')
		return false;
	*n = strtoull(text + len + 1, &end, 10);
	if (!isdigit((u8)text[len + 1]) || *end || !*n || *n > most)
		sim_usage("%s: %s:N needs N from 1 to %llu", of, name, (unsigned long long)most);
	return true;
}

static void simo_read_place(struct simo *o)
{
	if (!strcmp(o->place_text, "uniform"))
		o->place = SIMO_UNIFORM;
	else if (!strcmp(o->place_text, "zipf"))
		o->place = SIMO_ZIPF;
	else if (simo_counted("locality", o->place_text, "cylinders", U32_MAX, &o->places))
		o->place = SIMO_CYLINDERS;
	else if (simo_counted("locality", o->place_text, "streams", SIMO_PENDING_MAX, &o->places))
		o->place = SIMO_STREAMS;
	else if (simo_counted("locality", o->place_text, "append", SIMO_PENDING_MAX, &o->places))
		o->place = SIMO_APPEND;
	else
		sim_usage("locality: not uniform, zipf, cylinders:N, streams:N or append:N: '%s'",
			  o->place_text);
}

static void simo_read_range(struct simo *o)
{
	char *end;

	if (!*o->range_text)
		return;
	o->first = strtoull(o->range_text, &end, 10);
	if (!isdigit((u8)*o->range_text) || *end != '+' || !isdigit((u8)end[1]))
		sim_usage("range: not FIRST+COUNT: '%s'", o->range_text);
	o->count = strtoull(end + 1, &end, 10);
	if (*end || !o->count)
		sim_usage("range: not FIRST+COUNT: '%s'", o->range_text);
}

/* "source+several" */
static void simo_read_lift(struct simo *o)
{
	static const struct {
		const char *name;
		u32 lift;
	} lifts[] = {
		{ "source", FB_LIFT_SOURCE },
		{ "dest", FB_LIFT_DEST },
		{ "several", FB_LIFT_SEVERAL },
		{ "all", FB_LIFT_SOURCE | FB_LIFT_DEST | FB_LIFT_SEVERAL },
	};
	const char *text = o->lift_text;
	size_t len, i;

	if (!strcmp(text, "none"))
		return;
	o->probe = !strcmp(text, "auto");
	if (o->probe)
		text = "all";
	if (!*text)
		sim_usage("lift: not auto, none, nor of source, dest, several, all: ''");
	for (; *text; text += len + (text[len] == '+')) {
		len = strcspn(text, "+");
		for (i = 0; i < ARRAY_SIZE(lifts); i++)
			if (strlen(lifts[i].name) == len && !memcmp(text, lifts[i].name, len))
				break;
		if (i == ARRAY_SIZE(lifts) || (text[len] && !text[len + 1]))
			sim_usage("lift: not auto, none, nor of source, dest, several, all: '%s'",
				  o->lift_text);
		o->lift |= lifts[i].lift;
	}
}

static void simo_read_weight(struct simo *o)
{
	const char *text = o->weight_text;
	char *end;

	if (!strcmp(text, "flat"))
		return;
	o->balance = !strcmp(text, "balance");
	if (o->balance)
		return;
	o->edge = 1;
	if (!strcmp(text, "edge"))
		return;
	if (!strncmp(text, "edge:", 5)) {
		o->edge = strtod(text + 5, &end);
		if (end != text + 5 && !*end && o->edge > 0 && o->edge <= SIMO_EDGE_MAX)
			return;
	}
	sim_usage("weight: not flat, balance, edge or edge:K with K up to %d: '%s'",
		  SIMO_EDGE_MAX, text);
}

/* which of two words; @name for the message */
static bool simo_first_of(const char *name, const char *text, const char *a, const char *b)
{
	if (strcmp(text, a) && strcmp(text, b))
		sim_usage("%s: neither %s nor %s: '%s'", name, a, b, text);
	return !strcmp(text, a);
}

/* "trickle:50" */
static void simo_read_task(struct simo *o)
{
	bool trickle = simo_counted("task", o->task_name, "trickle", SIMO_TRICKLE_MS_MAX,
				    &o->trickle_ms);

	o->fresh = !strcmp(o->task_name, "fresh");
	o->scan = trickle || o->fresh || simo_first_of("task", o->task_name, "scan", "none");
}

static fb_idle_order_fn simo_order(const char *name)
{
	if (!strcmp(name, "sequential"))
		return fb_idle_order_sequential;
	return strcmp(name, "near") ? NULL : fb_idle_order_near;
}

/* "staggered:512" */
static void simo_read_order(struct simo *o)
{
	const char *colon = strchr(o->order_text, ':');
	char *end;

	if (!strcmp(o->order_text, "staggered") || !strncmp(o->order_text, "staggered:", 10))
		o->order = fb_idle_order_staggered;
	else
		o->order = simo_order(o->order_text);
	if (!o->order)
		sim_usage("order: not sequential, near, staggered or staggered:REGIONS: '%s'",
			  o->order_text);
	if (!colon)
		return;
	o->order_regions = strtoull(colon + 1, &end, 10);
	if (!isdigit((u8)colon[1]) || *end || !o->order_regions ||
	    o->order_regions > FB_IDLE_ORDER_REGIONS_MAX)
		sim_usage("order: staggered:REGIONS needs 1 to %u regions: '%s'",
			  FB_IDLE_ORDER_REGIONS_MAX, o->order_text);
}

static void simo_read_start(struct simo *o)
{
	const char *share;
	char *end;

	o->start_course = !strncmp(o->start_text, "course:", 7);
	if (!o->start_course && strncmp(o->start_text, "random:", 7))
		return;
	share = o->start_text + 7;
	o->start_share = strtod(share, &end);
	if (end == share || *end || !(o->start_share >= 0 && o->start_share < 1))
		sim_usage("start: %.6s:SHARE needs a share from 0 to below 1: '%s'",
			  o->start_text, o->start_text);
}

/* as fb_host_learners() has it: behind a learnt conservatism twice the target */
static void simo_read_guard(struct simo *o)
{
	o->guard = o->guard_ppm;
	if (o->guard_ppm == SIMO_AUTO)
		o->guard = o->target_slowdown_ppm * (o->conservatism_us == SIMO_AUTO ? 2 : 1);
}

/* without a map all is left to the drive, and rates are learnt on the way */
static void simo_read_knowledge(struct simo *o)
{
	o->map = !strcmp(o->knowledge, "map");
	if (!o->map && strcmp(o->knowledge, "rates") && strcmp(o->knowledge, "none"))
		sim_usage("knowledge: not none, rates or map: '%s'", o->knowledge);
}

static int simo_policy(const char *name)
{
	int i;

	for (i = 0; i < FB_POLICIES; i++)
		if (!strcmp(name, fb_policy_name[i]))
			return i;
	return -EINVAL;
}

static void simo_read_texts(struct simo *o)
{
	simo_read_knowledge(o);
	o->policy = SIMO_NONE;
	if (strcmp(o->policy_name, "none")) {
		o->policy = simo_policy(o->policy_name);
		if (o->policy < 0)
			sim_usage("policy: no such policy: '%s'", o->policy_name);
	}
	/* none leaves all to the drive anyway */
	if (o->policy == SIMO_NONE && o->depth == SIMO_AUTO)
		o->depth = 0;
	o->joint = o->map && o->policy == FB_POLICY_AUTO;
	o->order_cost = o->map && fb_policy_has_cost(o->policy);
	o->think_constant = simo_first_of("think", o->think_name, "constant", "exponential");
	simo_read_task(o);
	o->root = simo_first_of("value", o->value_name, "root", "count");
	o->idle = simo_first_of("idle", o->idle_name, "on", "off") && o->scan;
	o->verify = simo_first_of("idle_command", o->idle_command, "verify", "read");
	simo_read_order(o);
	simo_read_start(o);
	simo_read_guard(o);
	simo_read_lift(o);
	simo_read_weight(o);
	simo_read_sizes(o);
	simo_read_place(o);
	simo_read_range(o);
}

/* settings that are right by themselves but not together */
static void simo_check(const struct simo *o)
{
	if (*o->trace && o->rate)
		sim_usage("rate: the trace says when requests come");
	if (o->place == SIMO_APPEND && (o->rate || o->places > o->outstanding))
		sim_usage("locality: append:N needs a closed loop of N processes at least");
	if (o->burst > 0 && o->burst < 1)
		sim_usage("burst: %g requests are none: 0, or 1 and more", o->burst);
	if (o->whole && (!o->scan || o->fresh || o->trickle_ms))
		sim_usage("whole: there is no task that ends");
	if (o->trickle_ms && (strcmp(o->start_text, "none") || *o->save))
		sim_usage("start, save: the task wants nothing at first");
	if (o->scan && o->policy == SIMO_NONE)
		sim_usage("task: under the drive's own order (policy none) no gap is known");
	if (!o->scan && (strcmp(o->start_text, "none") || *o->save))
		sim_usage("start, save: there is no task");
	if (*o->save && *o->log && sim_file_same(o->save, o->log))
		sim_usage("save, log: both are to be written to %s", o->save);
	if (o->trial == 1)
		sim_usage("trial: a block of one stretch is all control: 0, auto, 2 and more");
	if (o->trial && !o->scan)
		sim_usage("trial: there is no task");
	if (o->trial_guard && !o->trial)
		sim_usage("trial_guard: there is no trial");
	if (!o->map && o->depth > 0)
		sim_usage("depth: without a map the drive orders, and takes what it can");
	if (o->scan && o->depth > 0 && o->depth != 2)
		sim_usage("task: gaps are known with two commands at the drive, not %.0f",
			  o->depth);
	if (o->granule & (o->granule - 1) || (o->granule && o->granule < 512))
		sim_usage("granule: %llu bytes are not a power of two from 512",
			  (unsigned long long)o->granule);
}

/* whose defaults; the last word that says so counts */
static bool simo_is_paper(char **words, int n)
{
	static const char word[] = "preset=";
	bool paper = false;
	int k;

	for (k = 0; k < n; k++)
		if (!strncmp(words[k], word, strlen(word)))
			paper = simo_first_of("preset", words[k] + strlen(word), "paper",
					      "module");
	return paper;
}

void simo_read(struct simo *o, char **words, int n)
{
	bool paper = simo_is_paper(words, n);
	size_t i;
	int k;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < ARRAY_SIZE(simo_settings); i++) {
		const struct simo_setting *s = &simo_settings[i];

		simo_assign(o, s, paper && s->paper ? s->paper : s->module);
	}
	for (k = 0; k < n; k++)
		simo_word(o, words[k]);
	if (!o->seconds && !o->requests && !o->whole && !*o->trace)
		o->seconds = SIMO_SECONDS;
	simo_read_texts(o);
	simo_check(o);
}

/* ---- told again ---- */

static void simo_print_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((u8)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

void simo_print(const struct simo *o, FILE *out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(simo_settings); i++) {
		const struct simo_setting *s = &simo_settings[i];
		const void *field = (const char *)o + s->offset;

		fprintf(out, "%s\"%s\": ", i ? ", " : "{", s->name);
		if (s->type == SIMO_WHOLE)
			fprintf(out, "%llu", (unsigned long long)*(const u64 *)field);
		else if (s->type >= SIMO_WHOLE_OR_AUTO && *(const double *)field == SIMO_AUTO)
			simo_print_text("auto", out);
		else if (s->type >= SIMO_REAL)
			fprintf(out, "%.10g", *(const double *)field);
		else
			simo_print_text(*(char * const *)field, out);
	}
	fputs("}", out);
}
