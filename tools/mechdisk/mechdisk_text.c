// SPDX-License-Identifier: GPL-2.0
/*
 * The .fbdrive text: what the simulated drive is.
 *
 * One record a line.  Most records are scalars and sit in one table with their
 * range; the rest (seek points, noise ...) have a function each; those of the
 * layout are in mechdisk_zones.c and mechdisk_runs.c.  A value out of range is
 * an error, never clamped.  What records say about each other is checked when
 * all have been read (mechdisk_check.c).
 */
#include "mechdisk_check.h"
#include "mechdisk_runs.h"
#include "mechdisk_state.h"
#include "mechdisk_text.h"
#include "mechdisk_zones.h"

/* Scalar records. */

/* A record with one number or one of some words */
struct mdt_scalar {
	const char *name;	/* the record */
	size_t at;	/* offset of the u64 in struct mde_config */
	u64 lo;	/* least value */
	u64 hi;	/* largest value */
	const char *const *choice;	/* words that stand for 0, 1 ..., or NULL for a number */
	u64 def;	/* default */
};

static const char *const mdt_switch[] = { "off", "on", NULL };
static const char *const mdt_order[] = { "plain", "serpentine", "serpentine-disk", NULL };
static const char *const mdt_policy[] = { "fcfs", "sptf", "clook", "sstf", NULL };
static const char *const mdt_queueing[] = { "tagged", "ncq", NULL };
/* where data are looked for */
static const char *const mdt_where[] = { "medium", "cache", NULL };
static const char *const mdt_verify[] = { "medium", "cache", "nothing", "fails", NULL };
static const char *const mdt_zoned[] = { "no", "vpd", "identify", NULL };
static const char *const mdt_power[] = { "scsi", "low", "active", "idle", "idle_a", "idle_b",
					 "idle_c", "standby_y", "standby", "untold", NULL };
static const char *const mdt_trigger[] = { "any", "same-track", NULL };
static const char *const mdt_stop[] = { "sector", "at-once", NULL };
static const char *const mdt_interface[] = { "scsi", "sata", NULL };
static const char *const mdt_error[] = { "unc", "idnf", "abrt", NULL };
static const char *const mdt_destage[] = { "eager", "idle", NULL };

#define MDT_NUM(name, field, lo, hi, def) \
	{ name, offsetof(struct mde_config, field), lo, hi, NULL, def }
#define MDT_WORD(name, field, choice, def) \
	{ name, offsetof(struct mde_config, field), 0, 0, choice, def }
#define MDT_SWITCH(field, def) MDT_WORD(#field, field, mdt_switch, def)

/* Ranges and defaults as in Documentation/drive-format.rst. */
static const struct mdt_scalar mdt_scalars[] = {
	MDT_NUM("physical_exponent", physical_exponent, 0, 7, 0),
	/* 60000 to 600 rpm; more would overflow the engine's angle. */
	MDT_NUM("period_ps", period_ps, 1000000000, 100000000000ULL, 0),
	MDT_NUM("seed", seed, 0, U64_MAX, 1),
	MDT_NUM("heads", heads, 1, 64, 0),
	MDT_WORD("order", order, mdt_order, MDE_PLAIN),
	MDT_NUM("surface_run", surface_run, 1, 65535, 1),
	MDT_NUM("head_switch_ns", head_switch_ns, 0, 100000000, 0),
	MDT_SWITCH(zero_latency, 0),
	MDT_NUM("bus_ns", bus_ns, 0, 1000000, 0),
	MDT_NUM("bus_watermark_ppm", bus_watermark_ppm, 0, 1000000, 0),
	MDT_NUM("jitter_ns", jitter_ns, 0, 100000, 20000),
	MDT_SWITCH(early_seek, 1),
	MDT_WORD("queueing", queueing, mdt_queueing, MDE_TAGGED),
	MDT_WORD("verify", verify, mdt_verify, MDE_VERIFY_MEDIUM),
	MDT_WORD("fua", fua_cached, mdt_where, 0),
	MDT_SWITCH(translate, 1),
	MDT_WORD("zoned", zoned, mdt_zoned, MDE_ZONED_NO),
	MDT_SWITCH(trim, 0),
	MDT_SWITCH(unmap, 0),
	MDT_SWITCH(translated, 0),
	MDT_SWITCH(long_id, 0),
	MDT_WORD("power_mode", power, mdt_power, MDE_POWER_SCSI),
	MDT_NUM("standby_timer_ms", standby_timer_ms, 0, 86400000, 0),
	MDT_NUM("link_wake_us", link_wake_us, 0, 1000000, 0),
	MDT_SWITCH(mode_sense, 1),
	MDT_SWITCH(recovery_control, 1),
	MDT_NUM("recovery_limit_ms", recovery_limit_ms, 0, 65535, 7000),
	MDT_NUM("actuators", actuators, 1, 4, 1),
	MDT_SWITCH(read_cache, 1),
	MDT_SWITCH(look_ahead, 1),
	MDT_WORD("read_ahead_trigger", ahead_trigger, mdt_trigger,
		 MDE_TRIGGER_ANY),
	MDT_WORD("read_ahead_on_hit", ahead_on_hit, mdt_switch, 0),
	MDT_WORD("read_ahead_join", ahead_join, mdt_switch, 1),
	MDT_WORD("read_ahead_stop", ahead_stops_at_once, mdt_stop, 0),
	MDT_NUM("read_ahead_least", ahead_least, 0, 16777216, 0),
	MDT_SWITCH(keep_passing, 0),
	MDT_SWITCH(discard_read, 0),
	MDT_SWITCH(written_hits, 0),
	MDT_SWITCH(append_writes, 0),
	MDT_WORD("destage", destage, mdt_destage, MDE_DESTAGE_EAGER),
	MDT_NUM("destage_delay_ns", destage_delay_ns, 0, 10000000000ULL, 0),
	MDT_WORD("interface", interface, mdt_interface, MDE_SCSI),
	MDT_NUM("queue_depth", queue_depth, 1, MDE_SLOTS, MDE_SLOTS),
	MDT_NUM("shared_host", shared_host, 0, 15, 0),
	MDT_NUM("hw_queues", hw_queues, 1, 64, 1),
	MDT_NUM("max_sectors", max_sectors, 8, 65535, 1024),
	MDT_NUM("max_segment_size", max_segment_size, 4096, 1ULL << 31, 65536),
	MDT_NUM("timeout_ms", timeout_ms, 100, 600000, 30000),
	MDT_NUM("journal_records", journal_records, 0, 4194304, 65536),
};

static u64 *mdt_field(struct mde_config *cfg, const struct mdt_scalar *sc)
{
	return (u64 *)((char *)cfg + sc->at);
}

static int mdt_set_scalar(struct mdt *m, const struct mdt_scalar *sc)
{
	u64 *field = mdt_field(m->cfg, sc);
	int ret = mdt_args(m, 1, 1);

	if (ret)
		return ret;
	if (sc->choice)
		return mdw_choice(m->err, &m->word[1], sc->choice, field);
	return mdw_number(m->err, &m->word[1], sc->lo, sc->hi, field);
}

/* Records of one or two numbers, which may be negative; the default is 0. */
static const struct mdt_vector {
	const char *name;
	struct {
		size_t at;
		s64 lo;
		s64 hi;
	} number[2];
	s64 unit;		/* what the first is multiplied by */
} mdt_vectors[] = {
#define MDT_AT(field, lo, hi) { offsetof(struct mde_config, field), lo, hi }
	{ "rpm_error_ppm", { MDT_AT(rpm_error_ppb, -10000, 10000) }, 1000 },
	{ "rpm_error_ppb", { MDT_AT(rpm_error_ppb, -10000000, 10000000) }, 1 },
	{ "rpm_drift", { MDT_AT(rpm_drift_ppm, -10000, 10000),
			 MDT_AT(rpm_drift_s, 1, 1000000) }, 1 },
	{ "seek_drift", { MDT_AT(seek_drift_ppm, -200000, 200000),
			  MDT_AT(seek_drift_s, 1, 1000000) }, 1 },
	{ "write_settle_ns", { MDT_AT(write_settle_ns, -100000000, 100000000) }, 1 },
	{ "outliers", { MDT_AT(outlier_ppm, 0, 1000000),
			MDT_AT(outlier_ns, 0, 1000000000) }, 1 },
};

static int mdt_set_vector(struct mdt *m, const struct mdt_vector *v)
{
	int i, n = v->number[1].hi ? 2 : 1, ret = mdt_args(m, n, n);

	for (i = 0; !ret && i < n; i++) {
		s64 *field = (s64 *)((char *)m->cfg + v->number[i].at);

		if (v->number[i].lo < 0)
			ret = mdw_signed(m->err, &m->word[1 + i], v->number[i].hi, field);
		else
			ret = mdw_number(m->err, &m->word[1 + i], v->number[i].lo,
					 v->number[i].hi, (u64 *)field);
		if (!i)
			*field *= v->unit;
	}
	return ret;
}

/* Names that INQUIRY returns: printable, of limited length. */
static const struct mdt_name {
	const char *name;
	size_t at;
	size_t size;
} mdt_names[] = {
#define MDT_NAME(field) { #field, offsetof(struct mde_config, field), \
			  sizeof_field(struct mde_config, field) }
	MDT_NAME(vendor), MDT_NAME(product), MDT_NAME(revision), MDT_NAME(serial),
};

static int mdt_set_name(struct mdt *m, const struct mdt_name *name)
{
	const struct mdw_word *w = &m->word[1];
	char *to = (char *)m->cfg + name->at;
	size_t i;
	int ret = mdt_args(m, 1, 1);

	if (ret)
		return ret;
	if (w->len >= name->size)
		return mdw_blame(m->err, w, "is longer than %zu characters",
				 name->size - 1);
	for (i = 0; i < w->len; i++)
		if (w->s[i] <= ' ' || w->s[i] > '~')
			return mdw_blame(m->err, w, "is not plain ASCII");
	memset(to, 0, name->size);
	memcpy(to, w->s, w->len);
	return 0;
}

/* Records with rules of their own. */

/* The words from the second on: so many numbers of at most @hi. */
static int mdt_numbers(struct mdt *m, int n, u64 hi, u64 *value)
{
	int i, ret = mdt_args(m, n, n);

	for (i = 0; !ret && i < n; i++)
		ret = mdw_number(m->err, &m->word[1 + i], 0, hi, &value[i]);
	return ret;
}

static int mdt_set_sector_bytes(struct mdt *m)
{
	const struct mdw_word *w = &m->word[1];
	int ret = mdt_args(m, 1, 1);

	if (ret)
		return ret;
	if (!mdw_is(w, "512") && !mdw_is(w, "4096"))
		return mdw_blame(m->err, w, "is neither 512 nor 4096");
	m->cfg->sector_bytes = mdw_is(w, "512") ? 512 : 4096;
	return 0;
}

static int mdt_set_seg_boundary(struct mdt *m)
{
	u64 v = 0;
	int ret = mdt_args(m, 1, 1);

	if (!ret)
		ret = mdw_number(m->err, &m->word[1], 4096, 1ULL << 32, &v);
	if (ret)
		return ret;
	if (v & (v - 1))
		return mdw_blame(m->err, &m->word[1], "is not a power of two");
	m->cfg->seg_boundary = v;
	return 0;
}

static int mdt_set_noise(struct mdt *m)
{
	static const char *const kinds[] = { "off", "gauss", "laplace", NULL };
	struct mde_config *c = m->cfg;
	int ret = mdt_args(m, 1, 2);

	if (!ret)
		ret = mdw_choice(m->err, &m->word[1], kinds, &c->noise);
	if (ret)
		return ret;
	if (c->noise == MDE_NOISE_OFF)
		return mdt_args(m, 1, 1);
	if (m->words == 2)
		return 0;
	return mdw_number(m->err, &m->word[2], 0, 10000000, &c->noise_sd_ns);
}

/* One overhead of reads and one of writes, whatever else they are. */
static int mdt_set_command_overhead(struct mdt *m)
{
	u64 (*to)[2] = m->cfg->overhead_ns;
	u64 v[2];
	int kind, ret = mdt_numbers(m, 2, 100000000, v);

	if (ret)
		return ret;
	for (kind = 0; kind < MDE_KINDS; kind++) {
		to[kind][0] = v[kind >= MDE_WRITE_HIT];
		to[kind][1] = to[kind][0];
	}
	return 0;
}

static int mdt_set_overhead(struct mdt *m)
{
	static const char *const kinds[] = {
		"read_hit", "read_miss", "write_hit", "write_miss", NULL
	};
	u64 kind = 0;
	int i, ret = mdt_args(m, 3, 3);

	if (!ret)
		ret = mdw_choice(m->err, &m->word[1], kinds, &kind);
	for (i = 0; !ret && i < 2; i++)
		ret = mdw_number(m->err, &m->word[2 + i], 0, 100000000,
				 &m->cfg->overhead_ns[kind][i]);
	return ret;
}

/* One key=value of the firmware's policy: how its queue ages. */
static int mdt_firmware_option(struct mdt *m, const struct mdw_word *w)
{
	struct mde_config *c = m->cfg;
	struct mdw_word key, val;

	if (!mdw_cut(w, '=', &key, &val))
		return mdw_blame(m->err, w, "is not key=value");
	if (c->firmware == MDE_FCFS)
		return mdw_blame(m->err, w, "is of no use: fcfs serves the oldest first");
	if (mdw_is(&key, "bound_ms"))
		return mdw_number(m->err, &val, 0, 600000, &c->bound_ms);
	if (!mdw_is(&key, "age_ns"))
		return mdw_blame(m->err, w, "is no option");
	if (c->firmware != MDE_SPTF)
		return mdw_blame(m->err, w, "is of no use: only sptf goes by time");
	return mdw_number(m->err, &val, 0, 4000000, &c->age_ns);
}

static int mdt_set_firmware(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	int i, ret = mdt_args(m, 1, 3);

	if (!ret)
		ret = mdw_choice(m->err, &m->word[1], mdt_policy, &c->firmware);
	c->age_ns = 0;
	c->bound_ms = 0;
	for (i = 2; !ret && i < m->words; i++)
		ret = mdt_firmware_option(m, &m->word[i]);
	return ret;
}

static int mdt_set_completion(struct mdt *m)
{
	u64 *to = m->cfg->completion_ns;
	int ret = mdt_args(m, 1, 2);

	if (!ret)
		ret = mdt_numbers(m, m->words - 1, 10000000, to);
	if (!ret && m->words == 2)
		to[1] = to[0];
	return ret;
}

/* Instead of its values. */
static bool mdt_is_off(const struct mdt *m)
{
	return m->words == 2 && mdw_is(&m->word[1], "off");
}

static int mdt_set_internal(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	u64 v[3] = { 0 };
	int ret = mdt_is_off(m) ? 0 : mdt_args(m, 3, 3);

	if (!ret && !mdt_is_off(m) &&
	    (mdw_number(m->err, &m->word[1], 10, 86400000, &v[0]) ||
	     mdw_number(m->err, &m->word[2], 1, min(v[0] - 1, (u64)60000), &v[1]) ||
	     mdw_number(m->err, &m->word[3], 0, MDT_CYLINDERS, &v[2])))
		return -EINVAL;
	c->internal_period_ns = v[0] * 1000000;
	c->internal_ns = v[1] * 1000000;
	c->internal_cyl = v[2];
	m->internal_line = m->err->line;
	return ret;
}

static int mdt_set_scan(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	u64 *late = c->scan_late_us, idle = 0;
	int ret = mdt_is_off(m) ? 0 : mdt_args(m, 3, 3);

	if (!ret && !mdt_is_off(m) &&
	    (mdw_number(m->err, &m->word[1], 1, 86400000, &idle) ||
	     mdw_number(m->err, &m->word[2], 0, 1000000, &late[0]) ||
	     mdw_number(m->err, &m->word[3], late[0], 1000000, &late[1])))
		return -EINVAL;
	c->scan_idle_ns = idle * 1000000;
	return ret;
}

static int mdt_add_slow_region(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mde_slow *slow = &c->slow[c->slows];
	int ret = mdt_args(m, 2, 2);

	if (ret)
		return ret;
	if (c->slows == MDE_SLOW_MAX)
		return mdw_fail(m->err, "more than %d slow regions", MDE_SLOW_MAX);
	ret = mdw_number32(m->err, &m->word[1], 0, MDT_CYLINDERS, &slow->first);
	if (!ret)
		ret = mdw_number32(m->err, &m->word[2], slow->first, MDT_CYLINDERS, &slow->last);
	if (!ret)
		m->slow_line[c->slows++] = m->err->line;
	return ret;
}

/* The cache. */

static int mdt_set_cache(struct mdt *m)
{
	struct mde_config *c = m->cfg;

	if (mdt_is_off(m)) {
		c->segments = 0;
		c->write_segments = 0;
		return 0;
	}
	if (mdt_args(m, 3, 3) ||
	    mdw_number(m->err, &m->word[1], 1, MDE_SEGMENTS_MAX, &c->segments) ||
	    mdw_number(m->err, &m->word[2], 8, 16777216, &c->segment_sectors) ||
	    mdw_number(m->err, &m->word[3], 0, c->segments, &c->write_segments))
		return -EINVAL;
	return 0;
}

/* "off" leaves MODE SELECT the kind that holds all that it has room for. */
static int mdt_set_write_cache(struct mdt *m)
{
	static const char *const kinds[] = { "off", "stream", "back", NULL };
	struct mde_config *c = m->cfg;
	u64 kind = MDE_WRITE_THROUGH;
	int ret = mdt_args(m, 1, 1);

	if (!ret)
		ret = mdw_choice(m->err, &m->word[1], kinds, &kind);
	if (ret)
		return ret;
	c->write_cache_on = kind != MDE_WRITE_THROUGH;
	c->write_cache = kind == MDE_WRITE_STREAM ? MDE_WRITE_STREAM :
		MDE_WRITE_BACK;
	m->write_cache_line = m->err->line;
	return 0;
}

static int mdt_set_read_ahead(struct mdt *m)
{
	static const char *const kinds[] = {
		"none", "track", "cylinder", "segment", "stream", NULL
	};
	struct mde_config *c = m->cfg;
	int ret = mdt_args(m, 1, 2);

	if (!ret)
		ret = mdw_choice(m->err, &m->word[1], kinds, &c->ahead);
	if (ret)
		return ret;
	c->ahead_sectors = 0;
	if (m->words == 2)
		return 0;
	if (c->ahead != MDE_AHEAD_SEGMENT)
		return mdt_args(m, 1, 1);
	return mdw_number(m->err, &m->word[2], 1, 16777216, &c->ahead_sectors);
}

/* Lists. */

static int mdt_add_seek(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mde_seek *seek;
	int ret = mdt_args(m, 2, 2);

	if (ret)
		return ret;
	seek = mdt_more(m, MDT_SEEKS, c->seek, c->seeks, sizeof(*seek));
	if (!seek)
		return -ENOMEM;
	c->seek = seek;
	seek += c->seeks;
	if (mdw_number32(m->err, &m->word[1],
			 c->seeks ? seek[-1].dist + 1 : 1, MDT_CYLINDERS,
			 &seek->dist) ||
	    mdw_number(m->err, &m->word[2], 0, 1000000000, &seek->ns))
		return -EINVAL;
	c->seeks++;
	return 0;
}

/* One key=value of a medium error. */
static int mdt_bad_option(struct mdt_error *err, const struct mdw_word *w,
			  struct mde_bad *bad)
{
	struct mdw_word key, val;
	u64 v = 0;
	int ret = 0;

	if (!mdw_cut(w, '=', &key, &val))
		return mdw_blame(err, w, "is not key=value");
	if (mdw_is(&key, "asc")) {
		if (!mdw_is(&val, "11") && !mdw_is(&val, "15"))
			return mdw_blame(err, w, "is neither 11 nor 15");
		bad->asc = mdw_is(&val, "11") ? 0x11 : 0x15;
		return 0;
	}
	if (mdw_is(&key, "error")) {
		ret = mdw_choice(err, &val, mdt_error, &v);
		bad->error = v;
	} else if (mdw_is(&key, "recovery_ms")) {
		ret = mdw_number(err, &val, 0, 600000, &v);
		bad->recovery_ns = v * 1000000;
	} else if (mdw_is(&key, "info")) {
		ret = mdw_number(err, &val, 0, 1, &v);
		bad->info = v;
	} else if (!mdw_is(&key, "times")) {
		return mdw_blame(err, w, "is no option");
	} else if (mdw_is(&val, "always")) {
		bad->times = MDE_ALWAYS;
	} else {
		ret = mdw_number32(err, &val, 1, MDE_ALWAYS - 1, &bad->times);
	}
	return ret;
}

/* The words from @first on: LBN COUNT [key=value ...]. */
static int mdt_bad_words(struct mdt *m, int first, u64 sectors,
			 struct mde_bad *bad)
{
	int i;

	memset(bad, 0, sizeof(*bad));
	bad->asc = 0x11;
	bad->recovery_ns = 2 * (u64)NSEC_PER_SEC;
	bad->times = MDE_ALWAYS;
	bad->info = true;
	if (m->words < first + 2)
		return mdw_fail(m->err, "LBN and COUNT are missing");
	if (mdw_number(m->err, &m->word[first], 0, sectors - 1, &bad->lbn) ||
	    mdw_number(m->err, &m->word[first + 1], 1, sectors - bad->lbn,
		       &bad->count))
		return -EINVAL;
	for (i = first + 2; i < m->words; i++)
		if (mdt_bad_option(m->err, &m->word[i], bad))
			return -EINVAL;
	return 0;
}

int mdt_parse_bad(const char *text, size_t len, u64 sectors,
		  struct mde_bad *bad, struct mdt_error *err)
{
	struct mdt *m = mdk_zalloc(sizeof(*m));
	int ret = -EINVAL;

	if (!m)
		return -ENOMEM;
	m->err = err;
	m->words = mdw_split(err, text, len, m->word);
	if (m->words >= 0)
		ret = mdt_bad_words(m, 0, sectors, bad);
	mdk_free(m);
	return ret;
}

/* Checked against the capacity once that is known, see mdx_check(). */
static int mdt_add_bad(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	int ret;

	if (c->bads == MDE_BAD_MAX)
		return mdw_fail(m->err, "more than %d medium errors",
				MDE_BAD_MAX);
	ret = mdt_bad_words(m, 1, MDT_INDEX, &c->bad[c->bads]);
	if (!ret)
		m->bad_line[c->bads++] = m->err->line;
	return ret;
}

/* The text as a whole. */

static const struct {
	const char *name;
	int (*read)(struct mdt *m);
} mdt_records[] = {
	{ "run", mdt_add_run },
	{ "repeat", mdt_repeat_runs },
	{ "displacement", mdt_set_displacement },
	{ "seek", mdt_add_seek },
	{ "slip", mdt_add_slips },
	{ "remap", mdt_add_remap },
	{ "zone", mdt_add_zone },
	{ "zone_heads", mdt_add_zone_heads },
	{ "medium_error", mdt_add_bad },
	{ "sector_bytes", mdt_set_sector_bytes },
	{ "noise", mdt_set_noise },
	{ "command_overhead_ns", mdt_set_command_overhead },
	{ "overhead_ns", mdt_set_overhead },
	{ "firmware", mdt_set_firmware },
	{ "completion_overhead_ns", mdt_set_completion },
	{ "internal_activity", mdt_set_internal },
	{ "medium_scan", mdt_set_scan },
	{ "slow_region", mdt_add_slow_region },
	{ "cache", mdt_set_cache },
	{ "write_cache", mdt_set_write_cache },
	{ "read_ahead", mdt_set_read_ahead },
	{ "seg_boundary", mdt_set_seg_boundary },
};

static int mdt_record(struct mdt *m)
{
	const struct mdw_word *w = &m->word[0];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mdt_records); i++)
		if (mdw_is(w, mdt_records[i].name))
			return mdt_records[i].read(m);
	for (i = 0; i < ARRAY_SIZE(mdt_scalars); i++)
		if (mdw_is(w, mdt_scalars[i].name))
			return mdt_set_scalar(m, &mdt_scalars[i]);
	for (i = 0; i < ARRAY_SIZE(mdt_vectors); i++)
		if (mdw_is(w, mdt_vectors[i].name))
			return mdt_set_vector(m, &mdt_vectors[i]);
	for (i = 0; i < ARRAY_SIZE(mdt_names); i++)
		if (mdw_is(w, mdt_names[i].name))
			return mdt_set_name(m, &mdt_names[i]);
	return mdw_blame(m->err, w, "is no record");
}

/* Forget what has been read. */
static void mdt_reset(struct mdt *m)
{
	struct mde_config *cfg = m->cfg;
	struct mdt_error *err = m->err;
	int i;

	mdt_free(cfg);
	for (i = 0; i < MDT_LISTS; i++)
		mdk_free(m->line[i]);
	memset(cfg, 0, sizeof(*cfg));
	memset(m, 0, sizeof(*m));
	m->cfg = cfg;
	m->err = err;
}

static void mdt_defaults(struct mde_config *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mdt_scalars); i++)
		*mdt_field(c, &mdt_scalars[i]) = mdt_scalars[i].def;
	c->sector_bytes = 512;
	c->seg_boundary = 1ULL << 32;
	c->write_cache = MDE_WRITE_BACK;
	c->firmware = MDE_SPTF;
	/* The paper's slowdown at 0.3 and 0.4 ms conservatism needs this. */
	c->noise = MDE_NOISE_LAPLACE;
	c->noise_sd_ns = 120000;
	memcpy(c->vendor, "MECHDISK", 8);
	memcpy(c->product, "SIMULATED", 9);
	memcpy(c->revision, "1", 1);
	memcpy(c->serial, "0", 1);
}

static int mdt_line(struct mdt *m, const char *s, size_t len, bool *begun)
{
	m->words = mdw_split(m->err, s, len, m->word);
	if (m->words <= 0)
		return m->words;
	if (mdw_is(&m->word[0], "fbdrive")) {
		if (m->words != 2 || !mdw_is(&m->word[1], "1"))
			return mdw_fail(m->err, "not 'fbdrive 1'");
		*begun = true;
		mdt_reset(m);
		mdt_defaults(m->cfg);
		return 0;
	}
	if (!*begun)
		return mdw_blame(m->err, &m->word[0], "before 'fbdrive 1'");
	return mdt_record(m);
}

/* Where the last line starting with "fbdrive" begins; counts lines up to it. */
static size_t mdt_last_start(const char *text, size_t len, unsigned int *line)
{
	size_t at = 0, found = 0;
	unsigned int n = 1;

	*line = 1;
	while (at < len) {
		const char *nl = memchr(text + at, '\n', len - at);

		if (len - at > 8 && !memcmp(text + at, "fbdrive", 7) &&
		    mdw_blank(text[at + 7])) {
			found = at;
			*line = n;
		}
		if (!nl)
			break;
		at = nl - text + 1;
		n++;
	}
	return found;
}

static int mdt_lines(struct mdt *m, const char *text, size_t len)
{
	bool begun = false;
	size_t at;

	for (at = mdt_last_start(text, len, &m->err->line); at < len;
	     m->err->line++) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at : len - at;
		int ret = mdt_line(m, text + at, n, &begun);

		if (ret)
			return ret;
		at += n + 1;
	}
	m->err->line = 0;
	return begun ? mdx_check(m) : mdw_fail(m->err, "no 'fbdrive 1'");
}

int mdt_parse(const char *text, size_t len, struct mde_config *cfg,
	      struct mdt_error *err)
{
	struct mdt *m = mdk_zalloc(sizeof(*m));
	int i, ret;

	memset(cfg, 0, sizeof(*cfg));
	memset(err, 0, sizeof(*err));
	if (!m)
		return -ENOMEM;
	m->cfg = cfg;
	m->err = err;
	ret = mdt_lines(m, text, len);
	for (i = 0; i < MDT_LISTS; i++)
		mdk_free(m->line[i]);
	mdk_free(m);
	return ret;
}

void mdt_free(struct mde_config *cfg)
{
	u32 i;

	for (i = 0; i < cfg->zones; i++)
		mdk_free(cfg->zone[i].head_spt);
	mdk_free(cfg->zone);
	mdk_free(cfg->place);
	mdk_free(cfg->displacement);
	mdk_free(cfg->slip);
	mdk_free(cfg->remap);
	mdk_free(cfg->seek);
	cfg->zone = NULL;
	cfg->zones = 0;
	cfg->place = NULL;
	cfg->displacement = NULL;
	cfg->slip = NULL;
	cfg->remap = NULL;
	cfg->seek = NULL;
}
