// SPDX-License-Identifier: GPL-2.0
/*
 * The .fbdrive text: what the simulated drive is.
 *
 * One record a line.  Most records are scalars and sit in one table with their
 * range; the rest (zones, slips, remaps, seek points, noise ...) have a
 * function each.  A value out of range is an error, never clamped.
 */
#include "mechdisk_text.h"

#define MDT_WORDS	64

struct mdt_word {
	const char *s;
	size_t len;
};

/**
 * struct mdt - a text being read
 * @cfg: what is being filled in
 * @err: where the reason goes
 * @word: the words of the current line
 * @words: how many
 * @room: entries allocated in zone, slip, remap, seek
 */
struct mdt {
	struct mde_config *cfg;
	struct mdt_error *err;
	struct mdt_word word[MDT_WORDS];
	int words;
	u32 room[4];
};

static __printf(2, 3) int mdt_fail(struct mdt_error *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err->reason, sizeof(err->reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

/* The same, starting with a word in quotes; long ones are cut. */
static __printf(3, 4) int mdt_blame(struct mdt_error *err,
				    const struct mdt_word *w,
				    const char *fmt, ...)
{
	int len = w->len > 32 ? 32 : w->len;
	va_list args;

	/* The words of a line are never empty, but a number's may be. */
	snprintf(err->reason, sizeof(err->reason), "'%.*s' ", len,
		 len ? w->s : "");
	va_start(args, fmt);
	vsnprintf(err->reason + len + 3, sizeof(err->reason) - len - 3, fmt,
		  args);
	va_end(args);
	return -EINVAL;
}

static bool mdt_is(const struct mdt_word *w, const char *name)
{
	return strlen(name) == w->len && !memcmp(w->s, name, w->len);
}

/* Words and numbers. */

static bool mdt_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Split a line at blanks, up to a comment. */
static int mdt_split(struct mdt *m, const char *s, size_t len)
{
	size_t i = 0;

	m->words = 0;
	while (i < len) {
		size_t start;

		if (mdt_blank(s[i])) {
			i++;
			continue;
		}
		if (s[i] == '#')
			break;
		for (start = i; i < len && !mdt_blank(s[i]) && s[i] != '#';)
			i++;
		if (m->words == MDT_WORDS)
			return mdt_fail(m->err, "more than %d words",
					MDT_WORDS);
		m->word[m->words].s = s + start;
		m->word[m->words++].len = i - start;
	}
	return 0;
}

/* Digits only; -EINVAL also if they do not fit. */
static int mdt_digits(const char *s, size_t len, u64 *value)
{
	u64 v = 0;
	size_t i;

	if (!len)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		u64 d = s[i] - '0';

		if (d > 9 || v > (U64_MAX - d) / 10)
			return -EINVAL;
		v = v * 10 + d;
	}
	*value = v;
	return 0;
}

static int mdt_number(struct mdt_error *err, const struct mdt_word *w, u64 lo,
		      u64 hi, u64 *value)
{
	u64 v;

	if (mdt_digits(w->s, w->len, &v))
		return mdt_blame(err, w, "is not a number");
	if (v < lo || v > hi)
		return mdt_blame(err, w, "is not within %llu to %llu",
				 (unsigned long long)lo,
				 (unsigned long long)hi);
	*value = v;
	return 0;
}

static int mdt_number32(struct mdt_error *err, const struct mdt_word *w, u32 lo,
			u32 hi, u32 *value)
{
	u64 v;
	int ret = mdt_number(err, w, lo, hi, &v);

	if (!ret)
		*value = v;
	return ret;
}

/* floor(num * 2^64 / den) for num < den < 2^32. */
static u64 mdt_ratio(u64 num, u64 den)
{
	u64 hi = (num << 32) / den;
	u64 rem = (num << 32) % den;

	return hi << 32 | (rem << 32) / den;
}

/* "63/334" or "0.188622754491": part of a turn, at least 0 and below 1. */
static int mdt_fraction(struct mdt_error *err, const struct mdt_word *w,
			u64 *turn)
{
	const char *slash = memchr(w->s, '/', w->len);
	u64 num, den, lo = 0;
	size_t n, digits;

	if (mdt_is(w, "0")) {
		*turn = 0;
		return 0;
	}
	if (slash) {
		n = slash - w->s;
		if (mdt_digits(w->s, n, &num) ||
		    mdt_digits(slash + 1, w->len - n - 1, &den) ||
		    den > U32_MAX || num >= den)
			goto bad;
		*turn = mdt_ratio(num, den);
		return 0;
	}
	/* Nine decimals at a time: 10^9 fits the ratio's denominator. */
	if (w->len < 3 || w->len > 20 || w->s[0] != '0' || w->s[1] != '.')
		goto bad;
	digits = w->len - 2;
	n = digits < 9 ? digits : 9;
	if (mdt_digits(w->s + 2, n, &num) ||
	    (digits > 9 && mdt_digits(w->s + 11, digits - 9, &lo)))
		goto bad;
	for (; n < 9; n++)
		num *= 10;
	for (n = digits; digits > 9 && n < 18; n++)
		lo *= 10;
	*turn = mdt_ratio(num, 1000000000) +
		mdt_ratio(lo, 1000000000) / 1000000000;
	return 0;
bad:
	return mdt_blame(err, w,
			 "is not a fraction of a turn (a/b or 0.ddd, below 1)");
}

static int mdt_args(struct mdt *m, int lo, int hi)
{
	if (m->words - 1 >= lo && m->words - 1 <= hi)
		return 0;
	if (lo == hi)
		return mdt_blame(m->err, &m->word[0],
				 "takes %d value%s, not %d", lo,
				 lo == 1 ? "" : "s", m->words - 1);
	return mdt_blame(m->err, &m->word[0], "takes %d to %d values, not %d",
			 lo, hi, m->words - 1);
}

/* Scalar records. */

/**
 * struct mdt_scalar - a record with one number or one of two words
 * @name: the record
 * @at: offset of the u64 in struct mde_config
 * @lo: least value
 * @hi: largest value
 * @zero: word that stands for 0, or NULL for a number
 * @one: word that stands for 1
 * @def: default
 */
struct mdt_scalar {
	const char *name;
	size_t at;
	u64 lo;
	u64 hi;
	const char *zero;
	const char *one;
	u64 def;
};

#define MDT_NUM(name, field, lo, hi, def) \
	{ name, offsetof(struct mde_config, field), lo, hi, NULL, NULL, def }
#define MDT_EITHER(name, field, zero, one, def) \
	{ name, offsetof(struct mde_config, field), 0, 1, zero, one, def }

/* Ranges and defaults as in Documentation/drive-format.rst. */
static const struct mdt_scalar mdt_scalars[] = {
	/* 60000 to 600 rpm; more would overflow the engine's angle. */
	MDT_NUM("period_ps", period_ps, 1000000000, 100000000000ULL, 0),
	MDT_NUM("seed", seed, 0, U64_MAX, 1),
	MDT_NUM("heads", heads, 1, 64, 0),
	MDT_EITHER("order", order, "plain", "serpentine", MDE_PLAIN),
	MDT_NUM("head_switch_ns", head_switch_ns, 0, 100000000, 0),
	MDT_NUM("write_settle_ns", write_settle_ns, 0, 100000000, 0),
	MDT_EITHER("zero_latency", zero_latency, "off", "on", 0),
	MDT_NUM("bus_ns", bus_ns, 0, 1000000, 0),
	MDT_NUM("completion_overhead_ns", completion_overhead_ns, 0, 10000000,
		0),
	MDT_NUM("jitter_ns", jitter_ns, 0, 100000, 20000),
	MDT_EITHER("firmware", firmware, "fcfs", "sptf", MDE_SPTF),
	MDT_EITHER("heal_on_write", heal_on_write, "off", "on", 1),
	MDT_NUM("physical_exponent", physical_exponent, 0, 7, 0),
	MDT_NUM("queue_depth", queue_depth, 1, MDE_SLOTS, MDE_SLOTS),
	MDT_NUM("hw_queues", hw_queues, 1, 64, 1),
	MDT_NUM("max_sectors", max_sectors, 8, 65535, 1024),
	MDT_NUM("seg_boundary", seg_boundary, 4096, 1ULL << 32, 1ULL << 32),
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
	const struct mdt_word *w = &m->word[1];
	int ret = mdt_args(m, 1, 1);

	if (ret)
		return ret;
	if (!sc->zero)
		return mdt_number(m->err, w, sc->lo, sc->hi,
				  mdt_field(m->cfg, sc));
	if (mdt_is(w, sc->zero))
		*mdt_field(m->cfg, sc) = 0;
	else if (mdt_is(w, sc->one))
		*mdt_field(m->cfg, sc) = 1;
	else
		return mdt_blame(m->err, w, "is neither '%s' nor '%s'",
				 sc->zero, sc->one);
	return 0;
}

/* Names that INQUIRY returns: printable, of limited length. */
static int mdt_set_name(struct mdt *m, char *to, size_t size)
{
	const struct mdt_word *w = &m->word[1];
	size_t i;
	int ret = mdt_args(m, 1, 1);

	if (ret)
		return ret;
	if (w->len >= size)
		return mdt_blame(m->err, w, "is longer than %zu characters",
				 size - 1);
	for (i = 0; i < w->len; i++)
		if (w->s[i] <= ' ' || w->s[i] > '~')
			return mdt_blame(m->err, w, "is not plain ASCII");
	memset(to, 0, size);
	memcpy(to, w->s, w->len);
	return 0;
}

static int mdt_set_rpm_error(struct mdt *m)
{
	struct mdt_word w = m->word[1];
	bool negative;
	u64 v;
	int ret = mdt_args(m, 1, 1);

	if (ret)
		return ret;
	negative = w.s[0] == '-';
	if (negative) {
		w.s++;
		w.len--;
	}
	ret = mdt_number(m->err, &w, 0, 10000, &v);
	if (!ret)
		m->cfg->rpm_error_ppm = negative ? -(s64)v : (s64)v;
	return ret;
}

static int mdt_set_noise(struct mdt *m)
{
	const struct mdt_word *kind = &m->word[1];
	struct mde_config *c = m->cfg;
	int ret = mdt_args(m, 1, 2);

	if (ret)
		return ret;
	if (mdt_is(kind, "off")) {
		c->noise = MDE_NOISE_OFF;
		return mdt_args(m, 1, 1);
	}
	if (mdt_is(kind, "gauss"))
		c->noise = MDE_NOISE_GAUSS;
	else if (mdt_is(kind, "laplace"))
		c->noise = MDE_NOISE_LAPLACE;
	else
		return mdt_blame(m->err, kind,
				 "is none of 'off', 'gauss', 'laplace'");
	if (m->words == 2)
		return 0;
	return mdt_number(m->err, &m->word[2], 0, 10000000, &c->noise_sd_ns);
}

static int mdt_set_two(struct mdt *m, u64 hi_a, u64 *a, u64 hi_b, u64 *b)
{
	u64 va, vb;
	int ret = mdt_args(m, 2, 2);

	if (!ret)
		ret = mdt_number(m->err, &m->word[1], 0, hi_a, &va);
	if (!ret)
		ret = mdt_number(m->err, &m->word[2], 0, hi_b, &vb);
	if (ret)
		return ret;
	*a = va;
	*b = vb;
	return 0;
}

/* Lists. */

/* Room for one more entry in a growing array. */
static void *mdt_more(struct mdt *m, int which, void *array, u32 used,
		      size_t size)
{
	u32 room = m->room[which];
	void *bigger;

	if (used < room)
		return array;
	room = room ? room * 2 : 64;
	bigger = mdk_zalloc(room * size);
	if (!bigger)
		return NULL;
	if (used)
		memcpy(bigger, array, used * size);
	mdk_free(array);
	m->room[which] = room;
	return bigger;
}

static int mdt_add_zone(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mdt_word *w = m->word;
	struct mdt_error *err = m->err;
	struct mde_zone *z;
	u32 next = c->zones ? c->zone[c->zones - 1].cyl_last + 1 : 0;
	int ret = mdt_args(m, 7, 7);

	if (ret)
		return ret;
	z = mdt_more(m, 0, c->zone, c->zones, sizeof(*z));
	if (!z)
		return -ENOMEM;
	c->zone = z;
	z += c->zones;
	if (mdt_number32(err, &w[1], 0, 10000000, &z->cyl_first) ||
	    mdt_number32(err, &w[2], z->cyl_first, 10000000, &z->cyl_last) ||
	    mdt_number32(err, &w[3], 1, 65535, &z->spt) ||
	    mdt_fraction(err, &w[4], &z->angle) ||
	    mdt_fraction(err, &w[5], &z->skew_track) ||
	    mdt_fraction(err, &w[6], &z->skew_cyl) ||
	    mdt_number32(err, &w[7], 0, U32_MAX, &z->spares))
		return -EINVAL;
	if (z->cyl_first != next)
		return mdt_fail(err, "zone %u starts at cylinder %u, not at %u",
				c->zones, z->cyl_first, next);
	c->zones++;
	return 0;
}

/* The zone a slip or remap belongs to; they come in order of zones. */
static int mdt_in_zone(struct mdt *m, u32 last, u32 *zone)
{
	if (!m->cfg->zones)
		return mdt_fail(m->err, "no zone yet");
	return mdt_number32(m->err, &m->word[1], last, m->cfg->zones - 1, zone);
}

static int mdt_add_slips(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	const struct mde_slip *last;
	u32 zone;
	int i, ret = mdt_args(m, 2, MDT_WORDS - 1);

	if (!ret)
		ret = mdt_in_zone(m, c->slips ? c->slip[c->slips - 1].zone : 0,
				  &zone);
	for (i = 2; !ret && i < m->words; i++) {
		struct mde_slip *slip;
		u64 lo = 0;

		slip = mdt_more(m, 1, c->slip, c->slips, sizeof(*slip));
		if (!slip)
			return -ENOMEM;
		c->slip = slip;
		last = c->slips ? &slip[c->slips - 1] : NULL;
		if (last && last->zone == zone)
			lo = last->index + 1;
		slip += c->slips;
		slip->zone = zone;
		ret = mdt_number(m->err, &m->word[i], lo, U64_MAX / 2,
				 &slip->index);
		if (!ret)
			c->slips++;
	}
	return ret;
}

static int mdt_add_remap(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mde_remap *remap;
	u64 lo = 0;
	int ret = mdt_args(m, 3, 3);

	if (ret)
		return ret;
	remap = mdt_more(m, 2, c->remap, c->remaps, sizeof(*remap));
	if (!remap)
		return -ENOMEM;
	c->remap = remap;
	remap += c->remaps;
	ret = mdt_in_zone(m, c->remaps ? remap[-1].zone : 0, &remap->zone);
	if (ret)
		return ret;
	if (c->remaps && remap[-1].zone == remap->zone)
		lo = remap[-1].from + 1;
	if (mdt_number(m->err, &m->word[2], lo, U64_MAX / 2, &remap->from) ||
	    mdt_number(m->err, &m->word[3], 0, U64_MAX / 2, &remap->to))
		return -EINVAL;
	c->remaps++;
	return 0;
}

static int mdt_add_seek(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mde_seek *seek;
	int ret = mdt_args(m, 2, 2);

	if (ret)
		return ret;
	seek = mdt_more(m, 3, c->seek, c->seeks, sizeof(*seek));
	if (!seek)
		return -ENOMEM;
	c->seek = seek;
	seek += c->seeks;
	if (mdt_number32(m->err, &m->word[1],
			 c->seeks ? seek[-1].dist + 1 : 1, 10000000,
			 &seek->dist) ||
	    mdt_number(m->err, &m->word[2], 0, 1000000000, &seek->ns))
		return -EINVAL;
	c->seeks++;
	return 0;
}

/* One key=value of a medium error. */
static int mdt_bad_option(struct mdt_error *err, const struct mdt_word *w,
			  struct mde_bad *bad)
{
	const char *eq = memchr(w->s, '=', w->len);
	struct mdt_word key = { w->s, eq ? (size_t)(eq - w->s) : w->len };
	struct mdt_word val = { eq ? eq + 1 : NULL, w->len - key.len - !!eq };
	u64 v;
	int ret;

	if (!eq)
		return mdt_blame(err, w, "is not key=value");
	if (mdt_is(&key, "asc")) {
		if (!mdt_is(&val, "11") && !mdt_is(&val, "15"))
			return mdt_blame(err, w, "is neither 11 nor 15");
		bad->asc = mdt_is(&val, "11") ? 0x11 : 0x15;
		return 0;
	}
	if (mdt_is(&key, "recovery_ms")) {
		ret = mdt_number(err, &val, 0, 600000, &v);
		if (!ret)
			bad->recovery_ns = v * 1000000;
		return ret;
	}
	if (mdt_is(&key, "info")) {
		ret = mdt_number(err, &val, 0, 1, &v);
		if (!ret)
			bad->info = v;
		return ret;
	}
	if (mdt_is(&key, "times")) {
		if (mdt_is(&val, "always")) {
			bad->times = MDE_ALWAYS;
			return 0;
		}
		return mdt_number32(err, &val, 1, MDE_ALWAYS - 1, &bad->times);
	}
	return mdt_blame(err, w, "is no option");
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
		return mdt_fail(m->err, "LBN and COUNT are missing");
	if (mdt_number(m->err, &m->word[first], 0, sectors - 1, &bad->lbn) ||
	    mdt_number(m->err, &m->word[first + 1], 1, sectors - bad->lbn,
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
	int ret;

	if (!m)
		return -ENOMEM;
	m->err = err;
	ret = mdt_split(m, text, len);
	if (!ret)
		ret = mdt_bad_words(m, 0, sectors, bad);
	mdk_free(m);
	return ret;
}

/* Checked against the capacity once that is known, see mdt_check(). */
static int mdt_add_bad(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	int ret;

	if (c->bads == MDE_BAD_MAX)
		return mdt_fail(m->err, "more than %d medium errors",
				MDE_BAD_MAX);
	ret = mdt_bad_words(m, 1, U64_MAX / 2, &c->bad[c->bads]);
	if (!ret)
		c->bads++;
	return ret;
}

/* The text as a whole. */

static int mdt_record(struct mdt *m)
{
	const struct mdt_word *w = &m->word[0];
	struct mde_config *c = m->cfg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mdt_scalars); i++)
		if (mdt_is(w, mdt_scalars[i].name))
			return mdt_set_scalar(m, &mdt_scalars[i]);
	if (mdt_is(w, "seek"))
		return mdt_add_seek(m);
	if (mdt_is(w, "slip"))
		return mdt_add_slips(m);
	if (mdt_is(w, "remap"))
		return mdt_add_remap(m);
	if (mdt_is(w, "zone"))
		return mdt_add_zone(m);
	if (mdt_is(w, "noise"))
		return mdt_set_noise(m);
	if (mdt_is(w, "outliers"))
		return mdt_set_two(m, 1000000, &c->outlier_ppm, 1000000000,
				   &c->outlier_ns);
	if (mdt_is(w, "command_overhead_ns"))
		return mdt_set_two(m, 100000000, &c->overhead_read_ns,
				   100000000, &c->overhead_write_ns);
	if (mdt_is(w, "rpm_error_ppm"))
		return mdt_set_rpm_error(m);
	if (mdt_is(w, "medium_error"))
		return mdt_add_bad(m);
	if (mdt_is(w, "vendor"))
		return mdt_set_name(m, c->vendor, sizeof(c->vendor));
	if (mdt_is(w, "product"))
		return mdt_set_name(m, c->product, sizeof(c->product));
	if (mdt_is(w, "revision"))
		return mdt_set_name(m, c->revision, sizeof(c->revision));
	if (mdt_is(w, "serial"))
		return mdt_set_name(m, c->serial, sizeof(c->serial));
	return mdt_blame(m->err, w, "is no record");
}

/* Spare sectors that slips leave, and slips that lie where data would end. */
static int mdt_check_zone(struct mdt *m, u32 i)
{
	const struct mde_config *c = m->cfg;
	const struct mde_zone *z = &c->zone[i];
	u64 phys = (u64)(z->cyl_last - z->cyl_first + 1) * c->heads * z->spt;
	u64 end;
	u32 s, t;

	if (z->spares >= phys)
		return mdt_fail(m->err, "zone %u: %u spares, but only %llu sectors",
				i, z->spares, (unsigned long long)phys);
	if (z->slip_count + z->remap_count > z->spares)
		return mdt_fail(m->err,
				"zone %u: %u slips and %u remaps, but only %u spares",
				i, z->slip_count, z->remap_count, z->spares);
	/* The sector after the last LBN's, as slips push it out. */
	end = phys - z->spares + z->slip_count;
	for (s = 0; s < z->slip_count; s++)
		if (c->slip[z->slip_first + s].index >= end)
			return mdt_fail(m->err,
					"zone %u: slip %llu lies beyond the last LBN's sector %llu",
					i, (unsigned long long)
					c->slip[z->slip_first + s].index,
					(unsigned long long)end - 1);
	for (s = 0; s < z->remap_count; s++) {
		const struct mde_remap *r = &c->remap[z->remap_first + s];

		if (r->from >= end || r->to < end || r->to >= phys)
			return mdt_fail(m->err,
					"zone %u: remap %llu %llu: not from below %llu to a spare below %llu",
					i, (unsigned long long)r->from,
					(unsigned long long)r->to,
					(unsigned long long)end,
					(unsigned long long)phys);
		for (t = 0; t < z->slip_count; t++)
			if (c->slip[z->slip_first + t].index == r->from)
				return mdt_fail(m->err,
						"zone %u: sector %llu is slipped and remapped",
						i, (unsigned long long)r->from);
		for (t = 0; t < s; t++)
			if (c->remap[z->remap_first + t].to == r->to)
				return mdt_fail(m->err,
						"zone %u: spare %llu used twice",
						i, (unsigned long long)r->to);
	}
	return 0;
}

static int mdt_check(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	u32 i;

	m->err->line = 0;
	if (!c->period_ps)
		return mdt_fail(m->err, "no period_ps");
	if (!c->heads)
		return mdt_fail(m->err, "no heads");
	if (!c->zones)
		return mdt_fail(m->err, "no zone");
	if (!c->seeks || c->seek[0].dist != 1)
		return mdt_fail(m->err, "no seek time for distance 1");
	if (c->seg_boundary & (c->seg_boundary - 1))
		return mdt_fail(m->err, "seg_boundary is not a power of two");
	mde_config_finish(c);
	for (i = 0; i < c->zones; i++)
		if (mdt_check_zone(m, i))
			return -EINVAL;
	if (c->sectors >= 1ULL << 48)
		return mdt_fail(m->err, "more than 2^48 sectors");
	for (i = 0; i < c->bads; i++)
		if (c->bad[i].lbn + c->bad[i].count > c->sectors)
			return mdt_fail(m->err,
					"medium error at %llu: the drive has %llu sectors",
					(unsigned long long)c->bad[i].lbn,
					(unsigned long long)c->sectors);
	return 0;
}

static void mdt_defaults(struct mde_config *c)
{
	size_t i;

	mdt_free(c);
	memset(c, 0, sizeof(*c));
	for (i = 0; i < ARRAY_SIZE(mdt_scalars); i++)
		*mdt_field(c, &mdt_scalars[i]) = mdt_scalars[i].def;
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
	int ret = mdt_split(m, s, len);

	if (ret || !m->words)
		return ret;
	if (mdt_is(&m->word[0], "fbdrive")) {
		if (m->words != 2 || !mdt_is(&m->word[1], "1"))
			return mdt_fail(m->err, "not 'fbdrive 1'");
		*begun = true;
		mdt_defaults(m->cfg);
		memset(m->room, 0, sizeof(m->room));
		return 0;
	}
	if (!*begun)
		return mdt_blame(m->err, &m->word[0], "before 'fbdrive 1'");
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
		    mdt_blank(text[at + 7])) {
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

int mdt_parse(const char *text, size_t len, struct mde_config *cfg,
	      struct mdt_error *err)
{
	struct mdt *m = mdk_zalloc(sizeof(*m));
	bool begun = false;
	size_t at;
	int ret = 0;

	memset(cfg, 0, sizeof(*cfg));
	memset(err, 0, sizeof(*err));
	if (!m)
		return -ENOMEM;
	m->cfg = cfg;
	m->err = err;
	for (at = mdt_last_start(text, len, &err->line); at < len; err->line++) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at : len - at;

		ret = mdt_line(m, text + at, n, &begun);
		if (ret)
			break;
		at += n + 1;
	}
	if (!ret && !begun) {
		err->line = 0;
		ret = mdt_fail(err, "no 'fbdrive 1'");
	}
	if (!ret)
		ret = mdt_check(m);
	mdk_free(m);
	return ret;
}

void mdt_free(struct mde_config *cfg)
{
	mdk_free(cfg->zone);
	mdk_free(cfg->slip);
	mdk_free(cfg->remap);
	mdk_free(cfg->seek);
	cfg->zone = NULL;
	cfg->slip = NULL;
	cfg->remap = NULL;
	cfg->seek = NULL;
}
