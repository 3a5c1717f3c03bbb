// SPDX-License-Identifier: GPL-2.0
/*
 * The .fbmodel text (Documentation/model-format.rst): one fact a line, read in two
 * passes. The first counts records, so that each array is allocated once; the second
 * reads them. core/model_table.c checks the table that is made of them.
 */
#include <errno.h>

#include "core/model_table.h"
#include "tools/model/model_text.h"

#define FB_MODEL_TEXT_LINE_MAX 255		/* bytes in a line, without its newline */
#define FB_MODEL_TEXT_FRACTION_DIGITS 18	/* of an angle: 10^18 fits 64 bits */
#define FB_MODEL_TEXT_SECTORS_MAX ((u64)DM_CYLINDERS_MAX * DM_HEADS_MAX * DM_SPT_MAX)

/* How a value is read, and what it becomes. */
enum fb_model_text_type {
	FB_MODEL_TEXT_U32,
	FB_MODEL_TEXT_U64,
	FB_MODEL_TEXT_FRACTION,
	FB_MODEL_TEXT_STRING,
	FB_MODEL_TEXT_FLAG,	/* yes, no */
	FB_MODEL_TEXT_ORDER,
	FB_MODEL_TEXT_PRESENT,	/* nothing is read: the keyword stands there, or not */
	FB_MODEL_TEXT_LINE,	/* nothing is read: the number of the line */
};

/* a value in a record */
struct fb_model_text_field {
	/* its name, for messages; of a header record, the record's first word */
	const char *what;
	const char *keyword;		/* word before it, or NULL */
	enum fb_model_text_type type;	/* how it is read */
	bool optional;			/* it may be missing */
	u32 offset;			/* where it goes in the struct that the record fills */
	u64 min;			/* least value */
	u64 max;			/* greatest value; of a string: bytes, its NUL among them */
};

#define FB_MODEL_TEXT_INFO(type, field, optional, min, max)			\
	{ #field, NULL, FB_MODEL_TEXT_##type, optional, offsetof(struct dm_spec, info.field), \
	  min, max }

/* Header records have one value each, come once, and before the first zone. */
static const struct fb_model_text_field fb_model_text_header[] = {
	FB_MODEL_TEXT_INFO(STRING, vendor, false, 0, DM_ID_LEN),
	FB_MODEL_TEXT_INFO(STRING, product, false, 0, DM_ID_LEN),
	FB_MODEL_TEXT_INFO(STRING, serial, true, 0, DM_ID_LEN),
	FB_MODEL_TEXT_INFO(STRING, revision, true, 0, DM_ID_LEN),
	FB_MODEL_TEXT_INFO(STRING, wwn, true, 0, DM_ID_LEN),
	FB_MODEL_TEXT_INFO(STRING, distrusted, true, 0, DM_TEXT_LEN),
	FB_MODEL_TEXT_INFO(U64, sectors, false, 1, FB_MODEL_TEXT_SECTORS_MAX),
	FB_MODEL_TEXT_INFO(U32, physical_sectors, true, 1, 8),
	FB_MODEL_TEXT_INFO(U32, granule_sectors, true, 1, DM_GRANULE_MAX),
	FB_MODEL_TEXT_INFO(U32, cylinders, false, 1, DM_CYLINDERS_MAX),
	FB_MODEL_TEXT_INFO(U32, heads, false, 1, DM_HEADS_MAX),
	{ .what = "head_order", .type = FB_MODEL_TEXT_ORDER,
	  .offset = offsetof(struct dm_spec, order) },
	FB_MODEL_TEXT_INFO(U32, surface_run, true, 1, DM_SURFACE_RUN_MAX),
	FB_MODEL_TEXT_INFO(U64, period_ps, false, DM_PERIOD_PS_MIN, DM_PERIOD_PS_MAX),
	FB_MODEL_TEXT_INFO(U32, head_switch_ns, false, 0, DM_NS_MAX),
	FB_MODEL_TEXT_INFO(U32, write_settle_ns, false, 0, DM_NS_MAX),
	FB_MODEL_TEXT_INFO(FLAG, zero_latency, false, 0, 1),
	FB_MODEL_TEXT_INFO(U32, read_overhead_ns, true, 0, DM_NS_MAX),
	FB_MODEL_TEXT_INFO(U32, write_overhead_ns, true, 0, DM_NS_MAX),
	FB_MODEL_TEXT_INFO(U32, read_report_ns, true, 0, DM_NS_MAX),
	FB_MODEL_TEXT_INFO(U32, write_report_ns, true, 0, DM_NS_MAX),
};

#define FB_MODEL_TEXT_FIELD(what, keyword, type, of, field, min, max)		\
	{ what, keyword, FB_MODEL_TEXT_##type, false, offsetof(struct dm_spec_##of, field),	\
	  min, max }
#define FB_MODEL_TEXT_LINE_OF(of)						\
	{ .type = FB_MODEL_TEXT_LINE, .offset = offsetof(struct dm_spec_##of, line) }

static const struct fb_model_text_field fb_model_text_seek[] = {
	FB_MODEL_TEXT_LINE_OF(seek),
	FB_MODEL_TEXT_FIELD("seek distance", NULL, U32, seek, cyls, 1, DM_CYLINDERS_MAX),
	FB_MODEL_TEXT_FIELD("seek time", NULL, U32, seek, ns, 1, DM_NS_MAX),
};

static const struct fb_model_text_field fb_model_text_spread[] = {
	FB_MODEL_TEXT_LINE_OF(seek),
	FB_MODEL_TEXT_FIELD("seek distance", NULL, U32, seek, cyls, 1, DM_CYLINDERS_MAX),
	FB_MODEL_TEXT_FIELD("seek time", NULL, U32, seek, ns, 0, DM_NS_MAX),
};

static const struct fb_model_text_field fb_model_text_zone[] = {
	FB_MODEL_TEXT_LINE_OF(zone),
	FB_MODEL_TEXT_FIELD("zone: first cylinder", NULL, U32, zone, first_cyl, 0,
			    DM_CYLINDERS_MAX - 1),
	FB_MODEL_TEXT_FIELD("zone: last cylinder", NULL, U32, zone, last_cyl, 0,
			    DM_CYLINDERS_MAX - 1),
	FB_MODEL_TEXT_FIELD("zone: spt", "spt", U32, zone, spt, 1, DM_SPT_MAX),
	FB_MODEL_TEXT_FIELD("zone: angle", "angle", FRACTION, zone, angle, 0, 0),
	FB_MODEL_TEXT_FIELD("zone: track_skew", "track_skew", FRACTION, zone, track_skew, 0, 0),
	FB_MODEL_TEXT_FIELD("zone: cyl_skew", "cyl_skew", FRACTION, zone, cyl_skew, 0, 0),
	FB_MODEL_TEXT_FIELD("zone: dead", "dead", U64, zone, dead, 0, FB_MODEL_TEXT_SECTORS_MAX),
	FB_MODEL_TEXT_FIELD("zone: spares", "spares", U64, zone, spares, 0,
			    FB_MODEL_TEXT_SECTORS_MAX),
	{ "zone: unmapped", "unmapped", FB_MODEL_TEXT_PRESENT, true,
	  offsetof(struct dm_spec_zone, unmapped), 0, 0 },
	{ "zone: slow", "slow", FB_MODEL_TEXT_PRESENT, true,
	  offsetof(struct dm_spec_zone, slow), 0, 0 },
};

static const struct fb_model_text_field fb_model_text_slip[] = {
	FB_MODEL_TEXT_LINE_OF(slip),
	FB_MODEL_TEXT_FIELD("slip", NULL, U64, slip, at, 0, FB_MODEL_TEXT_SECTORS_MAX),
	{ "slip: count", NULL, FB_MODEL_TEXT_U32, true, offsetof(struct dm_spec_slip, n), 1,
	  U32_MAX },
};

static const struct fb_model_text_field fb_model_text_remap[] = {
	FB_MODEL_TEXT_LINE_OF(remap),
	FB_MODEL_TEXT_FIELD("remap: sector", NULL, U64, remap, from, 0, FB_MODEL_TEXT_SECTORS_MAX),
	FB_MODEL_TEXT_FIELD("remap: target", "to", U64, remap, to, 0, FB_MODEL_TEXT_SECTORS_MAX),
};

/* The first three come before the first zone, those after FB_MODEL_TEXT_ZONES belong to one. */
enum fb_model_text_list_id {
	FB_MODEL_TEXT_SEEKS,
	FB_MODEL_TEXT_WRITE_SEEKS,
	FB_MODEL_TEXT_SPREADS,
	FB_MODEL_TEXT_ZONES,
	FB_MODEL_TEXT_HEAD_SPTS,
	FB_MODEL_TEXT_SLIPS,
	FB_MODEL_TEXT_REMAPS,
	FB_MODEL_TEXT_LISTS,
};

/* records that may come any number of times; each fills an item */
struct fb_model_text_list {
	const char *name;	/* their first word */
	const struct fb_model_text_field *field;	/* their values */
	u32 fields;		/* how many */
	u32 size;		/* size of an item */
	u32 most;		/* most items; 0: any number */
};

static const struct fb_model_text_list fb_model_text_lists[FB_MODEL_TEXT_LISTS] = {
	{ "seek", fb_model_text_seek, ARRAY_SIZE(fb_model_text_seek), sizeof(struct dm_spec_seek),
	  DM_SEEK_POINTS_MAX },
	{ "write_seek", fb_model_text_seek, ARRAY_SIZE(fb_model_text_seek),
	  sizeof(struct dm_spec_seek), DM_SEEK_POINTS_MAX },
	{ "seek_spread", fb_model_text_spread, ARRAY_SIZE(fb_model_text_spread),
	  sizeof(struct dm_spec_seek), DM_SEEK_POINTS_MAX },
	{ "zone", fb_model_text_zone, ARRAY_SIZE(fb_model_text_zone), sizeof(struct dm_spec_zone),
	  DM_ZONES_MAX },
	/* not one item a line, see fb_model_text_read_head_spt() */
	{ .name = "head_spt", .size = sizeof(u16) },
	{ "slip", fb_model_text_slip, ARRAY_SIZE(fb_model_text_slip), sizeof(struct dm_spec_slip),
	  0 },
	{ "remap", fb_model_text_remap, ARRAY_SIZE(fb_model_text_remap),
	  sizeof(struct dm_spec_remap), 0 },
};

/* Indexed by enum dm_head_order. */
static const char * const fb_model_text_orders[] = { "plain", "serpentine-zone",
	"serpentine-disk" };

/* a text being read */
struct mt {
	const char *text;			/* what is still to be read */
	size_t len;				/* its length */
	u32 line;				/* number of the line in @buf */
	/* the line, its words taken apart as they are read */
	char buf[FB_MODEL_TEXT_LINE_MAX + 1];
	char *word;				/* the rest of the line */
	const char *name;			/* its first word */
	/* per header record: the line that held it, 0 = none */
	u32 seen[ARRAY_SIZE(fb_model_text_header)];
	void *list[FB_MODEL_TEXT_LISTS];	/* items by enum fb_model_text_list_id */
	u32 items[FB_MODEL_TEXT_LISTS];		/* how many were read */
	struct dm_spec spec;			/* what has been read */
	struct dm_fault *fault;			/* why the text is refused */
};

/* Report that the line being read is at fault. */
static __printf(2, 3) int fb_model_text_fail(struct mt *mt, const char *fmt, ...)
{
	va_list args;

	mt->fault->line = mt->line;
	va_start(args, fmt);
	vsnprintf(mt->fault->reason, sizeof(mt->fault->reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

/* ---- words and numbers ---- */

static void fb_model_text_skip_blanks(struct mt *mt)
{
	mt->word += strspn(mt->word, " \t");
}

static char *fb_model_text_next_word(struct mt *mt)
{
	char *word;

	fb_model_text_skip_blanks(mt);
	word = mt->word;
	mt->word += strcspn(word, " \t");
	if (*mt->word)
		*mt->word++ = '\0';
	return word;
}

/* Convert decimal digits to a number; false: none, too many, or other characters among them. */
static bool fb_model_text_digits(const char *s, u64 *value)
{
	u64 v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		u32 digit = (u32)*s - '0';

		if (digit > 9 || v > (U64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return true;
}

static int fb_model_text_number(struct mt *mt, const char *what, u64 min, u64 max, u64 *value)
{
	const char *word = fb_model_text_next_word(mt);

	if (!*word)
		return fb_model_text_fail(mt, "%s: number missing", what);
	if (!fb_model_text_digits(word, value))
		return fb_model_text_fail(mt, "%s: '%.40s' is not a number", what, word);
	if (*value < min || *value > max)
		return fb_model_text_fail(mt, "%s: %.40s is not in %llu..%llu", what, word,
					  (unsigned long long)min, (unsigned long long)max);
	return 0;
}

/* Read a fraction of a turn, "0" or "0." and up to 18 digits, in 2^-64 turn. */
static int fb_model_text_fraction(struct mt *mt, const char *what, u64 *value)
{
	const char *word = fb_model_text_next_word(mt), *p;
	u64 scale = 1, v = 0;
	size_t digits;

	if (!*word)
		return fb_model_text_fail(mt, "%s: fraction of a turn missing", what);
	p = word + 1 + (word[1] == '.');
	digits = strspn(p, "0123456789");
	if (word[0] != '0' || (word[1] && (word[1] != '.' || !digits)) ||
	    (p[digits] && digits <= FB_MODEL_TEXT_FRACTION_DIGITS))
		return fb_model_text_fail(mt, "%s: '%.40s' is not a fraction 0.ddd of a turn", what,
					  word);
	if (digits > FB_MODEL_TEXT_FRACTION_DIGITS)
		return fb_model_text_fail(mt, "%s: '%.40s' has more than %d digits", what, word,
					  FB_MODEL_TEXT_FRACTION_DIGITS);
	for (; *p; p++) {
		v = v * 10 + (*p - '0');
		scale *= 10;
	}
	*value = mul_u64_u64_div_u64(v, 1ULL << 63, scale) << 1;
	return 0;
}

static int fb_model_text_keyword(struct mt *mt, const char *keyword)
{
	const char *word = fb_model_text_next_word(mt);

	if (strcmp(word, keyword))
		return fb_model_text_fail(mt, "%s: '%.40s' stands where '%s' belongs",
					  mt->name, word, keyword);
	return 0;
}

static int fb_model_text_line_ends(struct mt *mt)
{
	const char *word = fb_model_text_next_word(mt);

	if (*word)
		return fb_model_text_fail(mt, "%s: '%.40s' is too much", mt->name, word);
	return 0;
}

/* Is a value on the line, or need it be? */
static bool fb_model_text_comes(const struct mt *mt, const struct fb_model_text_field *f)
{
	size_t n = strcspn(mt->word, " \t");

	if (f->type == FB_MODEL_TEXT_PRESENT)
		return n == strlen(f->keyword) && !strncmp(mt->word, f->keyword, n);
	return *mt->word || !f->optional;
}

/* ---- records ---- */

/* The rest of the line, blanks around it dropped, blanks inside kept. */
static int fb_model_text_read_string(struct mt *mt, const struct fb_model_text_field *f,
				     char *value)
{
	char *p = mt->word + strspn(mt->word, " ");
	size_t n = strlen(p);

	while (n && p[n - 1] == ' ')
		n--;
	if (!n)
		return fb_model_text_fail(mt, "%s: value missing", f->what);
	if (n >= f->max)
		return fb_model_text_fail(mt, "%s: '%.40s...' is longer than %llu bytes", f->what,
					  p, (unsigned long long)f->max - 1);
	p[n] = '\0';
	mt->word = p + n;
	for (; *p; p++) {
		if (*p < ' ' || *p > '~')
			return fb_model_text_fail(mt, "%s: byte 0x%02x is not printable ASCII",
						  f->what, (unsigned char)*p);
		*value++ = *p;
	}
	return 0;
}

static int fb_model_text_read_choice(struct mt *mt, const char *what, const char * const *choices,
				     u32 n, u32 *value)
{
	const char *word = fb_model_text_next_word(mt);

	for (*value = 0; *value < n; ++*value)
		if (!strcmp(word, choices[*value]))
			return 0;
	return fb_model_text_fail(mt, "%s: '%.40s' is none of %s, %s%s%s", what, word,
				  choices[0], choices[1], n > 2 ? ", " : "", n > 2 ? choices[2] :
				  "");
}

/* Read a value into its place in @base. */
static int fb_model_text_read_field(struct mt *mt, const struct fb_model_text_field *f, void *base)
{
	static const char * const no_yes[] = { "no", "yes" };
	void *field = (char *)base + f->offset;
	int err = f->keyword ? fb_model_text_keyword(mt, f->keyword) : 0;
	u32 choice = 0;
	u64 value = 0;

	if (err)
		return err;
	switch (f->type) {
	case FB_MODEL_TEXT_U32:
		err = fb_model_text_number(mt, f->what, f->min, f->max, &value);
		*(u32 *)field = value;
		return err;
	case FB_MODEL_TEXT_U64:
		return fb_model_text_number(mt, f->what, f->min, f->max, field);
	case FB_MODEL_TEXT_FRACTION:
		return fb_model_text_fraction(mt, f->what, field);
	case FB_MODEL_TEXT_STRING:
		return fb_model_text_read_string(mt, f, field);
	case FB_MODEL_TEXT_FLAG:
		err = fb_model_text_read_choice(mt, f->what, no_yes, ARRAY_SIZE(no_yes), &choice);
		*(u32 *)field = choice;
		return err;
	case FB_MODEL_TEXT_ORDER:
		err = fb_model_text_read_choice(mt, f->what, fb_model_text_orders,
						ARRAY_SIZE(fb_model_text_orders), &choice);
		*(u32 *)field = choice;
		return err;
	case FB_MODEL_TEXT_PRESENT:
		*(u32 *)field = 1;
		return 0;
	default:
		*(u32 *)field = mt->line;
		return 0;
	}
}

static int fb_model_text_read_header(struct mt *mt, u32 i)
{
	const struct fb_model_text_field *f = &fb_model_text_header[i];

	if (mt->seen[i])
		return fb_model_text_fail(mt, "%s was given on line %u already", f->what,
					  mt->seen[i]);
	mt->seen[i] = mt->line;
	if (mt->items[FB_MODEL_TEXT_ZONES])
		return fb_model_text_fail(mt, "header record %s after the first zone", f->what);
	if (f->offset == offsetof(struct dm_spec, info.sectors))
		mt->spec.line = mt->line;
	return fb_model_text_read_field(mt, f, &mt->spec);
}

/* Every required header record must come before the first zone. */
static int fb_model_text_check_header(struct mt *mt)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fb_model_text_header); i++)
		if (!fb_model_text_header[i].optional && !mt->seen[i])
			return fb_model_text_fail(mt, "no %s record before the first zone",
						  fb_model_text_header[i].what);
	return 0;
}

/* Heads in the order of their numbers, in one line or several, of zone @z. */
static int fb_model_text_read_head_spt(struct mt *mt, struct dm_spec_zone *z)
{
	u16 *head_spt = mt->list[FB_MODEL_TEXT_HEAD_SPTS];
	u32 heads = mt->spec.info.heads;
	u64 first, spt;
	int err = fb_model_text_number(mt, "head_spt: head", 0, heads - 1, &first);

	if (!err && z->head_spts < heads && first != z->head_spts)
		err = fb_model_text_fail(mt, "head_spt: head %u stands where head %u belongs",
					 (u32)first, z->head_spts);
	do {
		if (!err && z->head_spts == heads)
			err = fb_model_text_fail(mt,
						 "head_spt: the zone's %u heads were given already",
						 heads);
		if (!err)
			err = fb_model_text_number(mt, "head_spt", 1, z->spt, &spt);
		if (err)
			return err;
		head_spt[mt->items[FB_MODEL_TEXT_HEAD_SPTS]++] = spt;
		z->head_spts++;
		fb_model_text_skip_blanks(mt);
	} while (*mt->word);
	return 0;
}

/* May a record of this list stand here? @zones have been read so far. */
static int fb_model_text_check_list(struct mt *mt, u32 id, u32 zones)
{
	u32 most = fb_model_text_lists[id].most;

	if (id < FB_MODEL_TEXT_ZONES && zones)
		return fb_model_text_fail(mt, "header record %s after the first zone", mt->name);
	if (id > FB_MODEL_TEXT_ZONES && !zones)
		return fb_model_text_fail(mt, "%s before the first zone", mt->name);
	if (id == FB_MODEL_TEXT_ZONES && !zones)
		return fb_model_text_check_header(mt);
	if (!most || mt->items[id] < most)
		return 0;
	if (id == FB_MODEL_TEXT_ZONES)
		return fb_model_text_fail(mt, "more than %u zones", most);
	return fb_model_text_fail(mt, "%s: more than %u points", mt->name, most);
}

static int fb_model_text_read_item(struct mt *mt, u32 id)
{
	const struct fb_model_text_list *l = &fb_model_text_lists[id];
	void *item = (char *)mt->list[id] + (size_t)mt->items[id] * l->size;
	u32 zones = mt->items[FB_MODEL_TEXT_ZONES], i;
	/* the one that slips and the like belong to */
	struct dm_spec_zone *z = (struct dm_spec_zone *)mt->list[FB_MODEL_TEXT_ZONES] + zones - 1;
	int err = fb_model_text_check_list(mt, id, zones);

	if (err)
		return err;
	if (id == FB_MODEL_TEXT_HEAD_SPTS)
		return fb_model_text_read_head_spt(mt, z);
	if (id == FB_MODEL_TEXT_SLIPS) {
		((struct dm_spec_slip *)item)->n = 1;
		z->slips++;
	}
	if (id == FB_MODEL_TEXT_REMAPS)
		z->remaps++;
	mt->items[id]++;
	for (i = 0; i < l->fields && !err; i++) {
		fb_model_text_skip_blanks(mt);
		if (fb_model_text_comes(mt, &l->field[i]))
			err = fb_model_text_read_field(mt, &l->field[i], item);
	}
	return err;
}

static int fb_model_text_read_record(struct mt *mt)
{
	u32 i;

	mt->name = fb_model_text_next_word(mt);
	for (i = 0; i < ARRAY_SIZE(fb_model_text_header); i++)
		if (!strcmp(mt->name, fb_model_text_header[i].what))
			return fb_model_text_read_header(mt, i);
	for (i = 0; i < FB_MODEL_TEXT_LISTS; i++)
		if (!strcmp(mt->name, fb_model_text_lists[i].name))
			return fb_model_text_read_item(mt, i);
	if (!strcmp(mt->name, "end"))
		return fb_model_text_fail(mt, "end record before the end of the text");
	return fb_model_text_fail(mt, "unknown record '%.40s'", mt->name);
}

/* ---- lines ---- */

/* Copy the next line to @mt->buf; the text is not at its end and ends in a newline. */
static int fb_model_text_read_line(struct mt *mt)
{
	const char *end = memchr(mt->text, '\n', mt->len);
	size_t n = end - mt->text, i;

	mt->line++;
	if (n > FB_MODEL_TEXT_LINE_MAX)
		return fb_model_text_fail(mt, "line of %zu bytes is longer than %d", n,
					  FB_MODEL_TEXT_LINE_MAX);
	for (i = 0; i < n; i++) {
		unsigned char c = mt->text[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return fb_model_text_fail(mt, "control character 0x%02x", c);
		mt->buf[i] = c;
	}
	mt->buf[n] = '\0';
	mt->word = mt->buf;
	mt->text += n + 1;
	mt->len -= n + 1;
	return 0;
}

static int fb_model_text_read_version(struct mt *mt)
{
	const char *word;
	int err = fb_model_text_read_line(mt);

	if (err)
		return err;
	word = fb_model_text_next_word(mt);
	if (strcmp(word, "fbmodel"))
		return fb_model_text_fail(mt, "does not begin with 'fbmodel 1'");
	word = fb_model_text_next_word(mt);
	if (strcmp(word, "1"))
		return fb_model_text_fail(mt, "fbmodel: version '%.40s' is not 1", word);
	word = fb_model_text_next_word(mt);
	if (*word)
		return fb_model_text_fail(mt, "fbmodel: '%.40s' is too much", word);
	return 0;
}

static int fb_model_text_read_text(struct mt *mt)
{
	int err = fb_model_text_read_version(mt);

	while (!err && mt->len) {
		err = fb_model_text_read_line(mt);
		if (err)
			return err;
		fb_model_text_skip_blanks(mt);
		if (!*mt->word || *mt->word == '#')
			continue;
		err = fb_model_text_read_record(mt);
		if (!err)
			err = fb_model_text_line_ends(mt);
	}
	return err;
}

/* ---- the end record ---- */

/* Exactly eight hexadecimal digits. */
static bool fb_model_text_hex32(const char *s, u32 *value)
{
	if (strspn(s, "0123456789abcdefABCDEF") != 8 || s[8])
		return false;
	/* the low bits of 'a' and 'A' are 1 */
	for (*value = 0; *s; s++)
		*value = *value << 4 | ((*s & 15) + (*s > '9' ? 9 : 0));
	return true;
}

/* Where the last line begins; @len > 0 and its last byte ends the line. */
static size_t fb_model_text_last_line(const char *text, size_t len)
{
	size_t at = len - 1;

	while (at && text[at - 1] != '\n')
		at--;
	return at;
}

/* the end record, taken apart */
struct fb_model_text_end {
	char buf[64];	/* the line */
	u64 bytes;	/* what it says of the length */
	u32 crc;	/* what it says of the checksum */
};

static bool fb_model_text_parse_end(const char *line, size_t len, struct fb_model_text_end *end)
{
	char *crc;

	if (len >= sizeof(end->buf) || len < 5 || memcmp(line, "end ", 4))
		return false;
	memcpy(end->buf, line, len);
	end->buf[len] = '\0';
	crc = strchr(end->buf + 4, ' ');
	if (!crc || strlen(end->buf) != len)
		return false;
	*crc++ = '\0';
	return fb_model_text_digits(end->buf + 4, &end->bytes) &&
		fb_model_text_hex32(crc, &end->crc);
}

/* Check length and checksum before anything else is read, and remove the end record. */
static int fb_model_text_check_end(struct mt *mt)
{
	struct fb_model_text_end end;
	size_t at, i;
	u32 crc;

	if (!mt->len)
		return fb_model_text_fail(mt, "the text is empty");
	if (mt->len > FB_MODEL_TEXT_MAX)
		return fb_model_text_fail(mt, "%zu bytes are more than %u", mt->len,
					  FB_MODEL_TEXT_MAX);
	if (mt->text[mt->len - 1] != '\n')
		return fb_model_text_fail(mt, "the last line is cut off: the text is truncated");
	at = fb_model_text_last_line(mt->text, mt->len);
	if (mt->len - at < 4 || memcmp(mt->text + at, "end", 3))
		return fb_model_text_fail(mt, "no end record: the text is truncated");
	for (i = 0, mt->line = 1; i < at; i++)
		mt->line += mt->text[i] == '\n';
	if (!fb_model_text_parse_end(mt->text + at, mt->len - 1 - at, &end))
		return fb_model_text_fail(mt,
					  "not an end record: end <bytes> <crc32, 8 hex digits>");
	if (end.bytes != at)
		return fb_model_text_fail(mt, "end: says %llu bytes, but %zu stand before it",
					  (unsigned long long)end.bytes, at);
	crc = ~crc32_le(~0U, (const unsigned char *)mt->text, at);
	if (end.crc != crc)
		return fb_model_text_fail(mt, "end: says crc32 %08x, but it is %08x", end.crc, crc);
	mt->len = at;
	mt->line = 0;
	if (!at)
		return fb_model_text_fail(mt, "nothing before the end record");
	return 0;
}

/* ---- the whole ---- */

/* Count the lines whose first word is @name. */
static u32 fb_model_text_count(const struct mt *mt, const char *name)
{
	const char *p = mt->text, *end = mt->text + mt->len;
	size_t n = strlen(name);
	u32 count = 0;

	while (p < end) {
		while (*p == ' ' || *p == '\t')
			p++;
		if ((size_t)(end - p) > n && !memcmp(p, name, n) &&
		    (p[n] == ' ' || p[n] == '\t' || p[n] == '\n'))
			count++;
		p = (const char *)memchr(p, '\n', end - p) + 1;
	}
	return count;
}

/* A line holds one item, or of head_spt several numbers of at least two bytes. */
static int fb_model_text_alloc(struct mt *mt)
{
	u32 i;

	for (i = 0; i < FB_MODEL_TEXT_LISTS; i++) {
		size_t n = fb_model_text_count(mt, fb_model_text_lists[i].name);

		if (i == FB_MODEL_TEXT_HEAD_SPTS)
			n = min_t(size_t, n * (FB_MODEL_TEXT_LINE_MAX / 2), mt->len / 2);
		mt->list[i] = fb_zalloc((n + 1) * fb_model_text_lists[i].size);
		if (!mt->list[i])
			return -ENOMEM;
	}
	mt->spec.info.physical_sectors = 1;
	mt->spec.info.granule_sectors = 8;
	mt->spec.info.surface_run = 1;
	return 0;
}

/* dm_build() checks the seek profiles, but does not see this one. */
static int fb_model_text_check_spread(struct mt *mt)
{
	const struct dm_spec_seek *p = mt->list[FB_MODEL_TEXT_SPREADS];
	u32 i, stroke = mt->spec.info.cylinders - 1;

	for (i = 0; i < mt->items[FB_MODEL_TEXT_SPREADS]; i++) {
		mt->line = p[i].line;
		if (p[i].cyls > stroke)
			return fb_model_text_fail(mt,
						  "seek distance %u is longer than the stroke of %u cylinders",
						  p[i].cyls, stroke);
		if (i && p[i].cyls <= p[i - 1].cyls)
			return fb_model_text_fail(mt, "seek distance %u does not ascend after %u",
						  p[i].cyls, p[i - 1].cyls);
	}
	return 0;
}

/* Append the items of a list; returns how many there are. */
static u32 fb_model_text_append(struct mt *mt, u32 id, char **at)
{
	size_t bytes = (size_t)mt->items[id] * fb_model_text_lists[id].size;

	memcpy(*at, mt->list[id], bytes);
	*at += bytes;
	return mt->items[id];
}

/* Write the table of what was read. */
static int fb_model_text_table(struct mt *mt, void **table, size_t *bytes)
{
	struct fb_model_table *t;
	char *at;
	u32 i;

	*bytes = sizeof(*t);
	/* how much seeks vary is for other programs */
	if (fb_model_text_check_spread(mt))
		return -EINVAL;
	mt->items[FB_MODEL_TEXT_SPREADS] = 0;
	for (i = 0; i < FB_MODEL_TEXT_LISTS; i++)
		*bytes += (size_t)mt->items[i] * fb_model_text_lists[i].size;
	mt->line = 0;
	if (*bytes > FB_MODEL_TABLE_MAX)
		return fb_model_text_fail(mt, "its table has %zu bytes, more than %u", *bytes,
					  FB_MODEL_TABLE_MAX);
	*table = t = fb_zalloc(*bytes);
	if (!t)
		return -ENOMEM;
	*t = (struct fb_model_table){ .magic = FB_MODEL_TABLE_MAGIC, .bytes = *bytes,
				      .order = mt->spec.order, .line = mt->spec.line,
				      .info = mt->spec.info };
	at = (char *)(t + 1);
	t->zones = fb_model_text_append(mt, FB_MODEL_TEXT_ZONES, &at);
	t->slips = fb_model_text_append(mt, FB_MODEL_TEXT_SLIPS, &at);
	t->remaps = fb_model_text_append(mt, FB_MODEL_TEXT_REMAPS, &at);
	t->seeks = fb_model_text_append(mt, FB_MODEL_TEXT_SEEKS, &at);
	t->write_seeks = fb_model_text_append(mt, FB_MODEL_TEXT_WRITE_SEEKS, &at);
	t->head_spts = fb_model_text_append(mt, FB_MODEL_TEXT_HEAD_SPTS, &at);
	t->crc32 = ~crc32_le(~0U, (unsigned char *)&t->order,
			     *bytes - offsetof(struct fb_model_table, order));
	return 0;
}

int fb_model_text_compile(const char *text, size_t len, void **table, size_t *bytes,
			  struct dm_fault *fault)
{
	struct mt *mt = fb_zalloc(sizeof(*mt));
	int err = -ENOMEM;
	u32 i;

	if (mt) {
		mt->text = text;
		mt->len = len;
		mt->fault = fault;
		err = fb_model_text_check_end(mt);
		if (!err)
			err = fb_model_text_alloc(mt);
		if (!err)
			err = fb_model_text_read_text(mt);
		if (!err)
			err = fb_model_text_table(mt, table, bytes);
		for (i = 0; i < FB_MODEL_TEXT_LISTS; i++)
			fb_free(mt->list[i]);
		fb_free(mt);
	}
	if (err == -ENOMEM)
		*fault = (struct dm_fault){ .reason = "out of memory" };
	return err;
}

int fb_model_text_parse(const char *text, size_t len, struct disk_model **out,
			struct dm_fault *fault)
{
	size_t bytes;
	void *table;
	int err = fb_model_text_compile(text, len, &table, &bytes, fault);

	if (err)
		return err;
	err = fb_model_table_build(table, bytes, out, fault);
	fb_free(table);
	return err;
}
