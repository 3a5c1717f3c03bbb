// SPDX-License-Identifier: GPL-2.0
/*
 * The .fbmodel text (Documentation/model-format.rst): one fact a line, read in two
 * passes. The first counts records, so that each array is allocated once; the second
 * reads them into a struct dm_spec, which dm_build() checks as a whole.
 *
 * Calls: core/model_build.c. Core: no locks; it allocates and may sleep.
 */
#include "disk_model.h"
#include "core/model_text.h"

#define FB_MODEL_TEXT_LINE_MAX 255		/* bytes in a line, without its newline */
#define FB_MODEL_TEXT_FRACTION_DIGITS 18	/* of an angle: 10^18 fits 64 bits */
#define FB_MODEL_TEXT_SECTORS_MAX ((u64)DM_CYLINDERS_MAX * DM_HEADS_MAX * DM_SPT_MAX)

enum fb_model_text_type {
	FB_MODEL_TEXT_U32,
	FB_MODEL_TEXT_U64,
	FB_MODEL_TEXT_FRACTION,
	FB_MODEL_TEXT_STRING,
	FB_MODEL_TEXT_FLAG,	/* yes, no */
	FB_MODEL_TEXT_ORDER,
	FB_MODEL_TEXT_SEEK,
	FB_MODEL_TEXT_WRITE_SEEK,
	FB_MODEL_TEXT_SPREAD,
	FB_MODEL_TEXT_ZONE,
	FB_MODEL_TEXT_HEAD_SPT,
	FB_MODEL_TEXT_SLIP,
	FB_MODEL_TEXT_REMAP,
	FB_MODEL_TEXT_END,
};

/**
 * struct fb_model_text_record - one kind of record
 * @name: its first word
 * @type: how the rest is read; up to FB_MODEL_TEXT_ORDER once in a text, before the first zone
 * @required: a text without it is refused
 * @offset: FB_MODEL_TEXT_U32 .. FB_MODEL_TEXT_FLAG: where the value goes in struct dm_info
 * @min: least value
 * @max: greatest value; of a string: bytes, its NUL among them
 */
struct fb_model_text_record {
	const char *name;
	enum fb_model_text_type type;
	bool required;
	u32 offset;
	u64 min;
	u64 max;
};

#define FB_MODEL_TEXT_INFO(field) offsetof(struct dm_info, field)

static const struct fb_model_text_record fb_model_text_records[] = {
	{ "vendor", FB_MODEL_TEXT_STRING, true, FB_MODEL_TEXT_INFO(vendor), 0, DM_ID_LEN },
	{ "product", FB_MODEL_TEXT_STRING, true, FB_MODEL_TEXT_INFO(product), 0, DM_ID_LEN },
	{ "serial", FB_MODEL_TEXT_STRING, false, FB_MODEL_TEXT_INFO(serial), 0, DM_ID_LEN },
	{ "revision", FB_MODEL_TEXT_STRING, false, FB_MODEL_TEXT_INFO(revision), 0, DM_ID_LEN },
	{ "wwn", FB_MODEL_TEXT_STRING, false, FB_MODEL_TEXT_INFO(wwn), 0, DM_ID_LEN },
	{ "distrusted", FB_MODEL_TEXT_STRING, false, FB_MODEL_TEXT_INFO(distrusted), 0,
		DM_TEXT_LEN },
	{ "sectors", FB_MODEL_TEXT_U64, true, FB_MODEL_TEXT_INFO(sectors), 1,
		FB_MODEL_TEXT_SECTORS_MAX },
	{ "physical_sectors", FB_MODEL_TEXT_U32, false, FB_MODEL_TEXT_INFO(physical_sectors), 1,
		8 },
	{ "granule_sectors", FB_MODEL_TEXT_U32, false, FB_MODEL_TEXT_INFO(granule_sectors), 1,
		DM_GRANULE_MAX },
	{ "cylinders", FB_MODEL_TEXT_U32, true, FB_MODEL_TEXT_INFO(cylinders), 1,
		DM_CYLINDERS_MAX },
	{ "heads", FB_MODEL_TEXT_U32, true, FB_MODEL_TEXT_INFO(heads), 1, DM_HEADS_MAX },
	{ .name = "head_order", .type = FB_MODEL_TEXT_ORDER, .required = true },
	{ "period_ps", FB_MODEL_TEXT_U64, true, FB_MODEL_TEXT_INFO(period_ps), DM_PERIOD_PS_MIN,
		DM_PERIOD_PS_MAX },
	{ "head_switch_ns", FB_MODEL_TEXT_U32, true, FB_MODEL_TEXT_INFO(head_switch_ns), 0,
		DM_NS_MAX },
	{ "write_settle_ns", FB_MODEL_TEXT_U32, true, FB_MODEL_TEXT_INFO(write_settle_ns), 0,
		DM_NS_MAX },
	{ .name = "zero_latency", .type = FB_MODEL_TEXT_FLAG, .required = true,
	  .offset = FB_MODEL_TEXT_INFO(zero_latency) },
	{ "read_overhead_ns", FB_MODEL_TEXT_U32, false, FB_MODEL_TEXT_INFO(read_overhead_ns), 0,
		DM_NS_MAX },
	{ "write_overhead_ns", FB_MODEL_TEXT_U32, false, FB_MODEL_TEXT_INFO(write_overhead_ns), 0,
		DM_NS_MAX },
	{ "read_report_ns", FB_MODEL_TEXT_U32, false, FB_MODEL_TEXT_INFO(read_report_ns), 0,
		DM_NS_MAX },
	{ "write_report_ns", FB_MODEL_TEXT_U32, false, FB_MODEL_TEXT_INFO(write_report_ns), 0,
		DM_NS_MAX },
	{ .name = "seek", .type = FB_MODEL_TEXT_SEEK },
	{ .name = "write_seek", .type = FB_MODEL_TEXT_WRITE_SEEK },
	{ .name = "seek_spread", .type = FB_MODEL_TEXT_SPREAD },
	{ .name = "zone", .type = FB_MODEL_TEXT_ZONE },
	{ .name = "head_spt", .type = FB_MODEL_TEXT_HEAD_SPT },
	{ .name = "slip", .type = FB_MODEL_TEXT_SLIP },
	{ .name = "remap", .type = FB_MODEL_TEXT_REMAP },
	{ .name = "end", .type = FB_MODEL_TEXT_END },
};

/* Indexed by enum dm_head_order. */
static const char * const fb_model_text_orders[] = { "plain", "serpentine-zone",
	"serpentine-disk" };

/**
 * struct mt - a text being read
 * @text: what is still to be read
 * @len: its length
 * @line: number of the line in @buf
 * @buf: the line, its words taken apart as they are read
 * @word: the rest of the line
 * @record: what the line is
 * @seen: per record: the line that held it first, 0 = none
 * @head_spts: numbers in @spec.head_spt
 * @spec: what has been read
 * @fault: why the text is refused
 */
struct mt {
	const char *text;
	size_t len;
	u32 line;
	char buf[FB_MODEL_TEXT_LINE_MAX + 1];
	char *word;
	const struct fb_model_text_record *record;
	u32 seen[ARRAY_SIZE(fb_model_text_records)];
	u32 head_spts;
	struct dm_spec spec;
	struct dm_fault fault;
};

/* Report that the line being read is at fault. */
static __printf(2, 3) int fb_model_text_fail(struct mt *mt, const char *fmt, ...)
{
	va_list args;

	mt->fault.line = mt->line;
	va_start(args, fmt);
	vsnprintf(mt->fault.reason, sizeof(mt->fault.reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

/* ---- words and numbers ---- */

static char *fb_model_text_next_word(struct mt *mt)
{
	char *word, *p = mt->word;

	while (*p == ' ' || *p == '\t')
		p++;
	word = p;
	while (*p && *p != ' ' && *p != '\t')
		p++;
	if (*p)
		*p++ = '\0';
	mt->word = p;
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

static int fb_model_text_number32(struct mt *mt, const char *what, u32 min, u32 max, u32 *value)
{
	u64 v;
	int err = fb_model_text_number(mt, what, min, max, &v);

	if (!err)
		*value = v;
	return err;
}

/* Read a fraction of a turn, "0" or "0." and up to 18 digits, in 2^-64 turn. */
static int fb_model_text_fraction(struct mt *mt, const char *what, u64 *value)
{
	const char *word = fb_model_text_next_word(mt), *p;
	u64 scale = 1, v = 0;

	if (!*word)
		return fb_model_text_fail(mt, "%s: fraction of a turn missing", what);
	if (word[0] != '0' || (word[1] && word[1] != '.') || (word[1] && !word[2]))
		return fb_model_text_fail(mt, "%s: '%.40s' is not a fraction 0.ddd of a turn", what,
					  word);
	for (p = word + 1 + !!word[1]; *p; p++) {
		if (*p < '0' || *p > '9')
			return fb_model_text_fail(mt,
						  "%s: '%.40s' is not a fraction 0.ddd of a turn",
						  what, word);
		if (p - word > FB_MODEL_TEXT_FRACTION_DIGITS + 1)
			return fb_model_text_fail(mt, "%s: '%.40s' has more than %d digits", what,
						  word, FB_MODEL_TEXT_FRACTION_DIGITS);
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
					  mt->record->name, word, keyword);
	return 0;
}

static int fb_model_text_line_ends(struct mt *mt)
{
	const char *word = fb_model_text_next_word(mt);

	if (*word)
		return fb_model_text_fail(mt, "%s: '%.40s' is too much", mt->record->name, word);
	return 0;
}

/* ---- records ---- */

/* The rest of the line, blanks around it dropped, blanks inside kept. */
static int fb_model_text_read_string(struct mt *mt, char *value)
{
	char *p = mt->word;
	size_t n;

	while (*p == ' ')
		p++;
	n = strlen(p);
	while (n && p[n - 1] == ' ')
		n--;
	if (!n)
		return fb_model_text_fail(mt, "%s: value missing", mt->record->name);
	if (n >= mt->record->max)
		return fb_model_text_fail(mt, "%s: '%.40s...' is longer than %llu bytes",
					  mt->record->name, p,
					  (unsigned long long)mt->record->max - 1);
	p[n] = '\0';
	mt->word = p + n;
	for (; *p; p++) {
		if (*p < ' ' || *p > '~')
			return fb_model_text_fail(mt, "%s: byte 0x%02x is not printable ASCII",
						  mt->record->name, (unsigned char)*p);
		*value++ = *p;
	}
	return 0;
}

static int fb_model_text_read_choice(struct mt *mt, const char * const *choices, u32 n, u32 *value)
{
	const char *word = fb_model_text_next_word(mt);
	u32 i;

	for (i = 0; i < n; i++) {
		if (!strcmp(word, choices[i])) {
			*value = i;
			return 0;
		}
	}
	return fb_model_text_fail(mt, "%s: '%.40s' is none of %s, %s%s%s", mt->record->name, word,
				  choices[0], choices[1], n > 2 ? ", " : "", n > 2 ? choices[2] :
				  "");
}

static int fb_model_text_read_header(struct mt *mt)
{
	static const char * const no_yes[] = { "no", "yes" };
	const struct fb_model_text_record *r = mt->record;
	void *field = (char *)&mt->spec.info + r->offset;
	u32 choice = 0;
	int err;

	if (mt->spec.zones)
		return fb_model_text_fail(mt, "header record %s after the first zone", r->name);
	switch (r->type) {
	case FB_MODEL_TEXT_U32:
		return fb_model_text_number32(mt, r->name, r->min, r->max, field);
	case FB_MODEL_TEXT_U64:
		if (field == &mt->spec.info.sectors)
			mt->spec.line = mt->line;
		return fb_model_text_number(mt, r->name, r->min, r->max, field);
	case FB_MODEL_TEXT_STRING:
		return fb_model_text_read_string(mt, field);
	case FB_MODEL_TEXT_FLAG:
		err = fb_model_text_read_choice(mt, no_yes, ARRAY_SIZE(no_yes), &choice);
		*(bool *)field = choice;
		return err;
	default:
		err = fb_model_text_read_choice(mt, fb_model_text_orders,
						ARRAY_SIZE(fb_model_text_orders), &choice);
		mt->spec.order = choice;
		return err;
	}
}

/* Read a distance and a time of @least or more: that of a seek, or how much it varies. */
static int fb_model_text_read_seek(struct mt *mt, struct dm_spec_seek *points, u32 *n, u32 least)
{
	struct dm_spec_seek *p = &points[*n];
	int err;

	if (mt->spec.zones)
		return fb_model_text_fail(mt, "header record %s after the first zone",
					  mt->record->name);
	if (*n == DM_SEEK_POINTS_MAX)
		return fb_model_text_fail(mt, "%s: more than %u points", mt->record->name,
					  DM_SEEK_POINTS_MAX);
	err = fb_model_text_number32(mt, "seek distance", 1, DM_CYLINDERS_MAX, &p->cyls);
	if (!err)
		err = fb_model_text_number32(mt, "seek time", least, DM_NS_MAX, &p->ns);
	p->line = mt->line;
	++*n;
	return err;
}

/* Every required header record must come before the first zone. */
static int fb_model_text_check_header(struct mt *mt)
{
	const struct dm_info *info = &mt->spec.info;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fb_model_text_records); i++)
		if (fb_model_text_records[i].required && !mt->seen[i])
			return fb_model_text_fail(mt, "no %s record before the first zone",
						  fb_model_text_records[i].name);
	if (info->physical_sectors != 1 && info->physical_sectors != 8)
		return fb_model_text_fail(mt, "physical_sectors: %u is neither 1 nor 8",
					  info->physical_sectors);
	if (info->granule_sectors & (info->granule_sectors - 1))
		return fb_model_text_fail(mt, "granule_sectors: %u is not a power of two",
					  info->granule_sectors);
	if (info->granule_sectors < info->physical_sectors)
		return fb_model_text_fail(mt,
					  "granule_sectors: %u is less than physical_sectors, %u",
					  info->granule_sectors, info->physical_sectors);
	return 0;
}

/**
 * struct fb_model_text_zone_field - one fact of a zone record, in the order of the record
 * @what: its name, for messages
 * @keyword: word before it, or NULL
 * @type: FB_MODEL_TEXT_U32, FB_MODEL_TEXT_U64, or FB_MODEL_TEXT_FRACTION
 * @offset: where it goes in struct dm_spec_zone
 * @min: least value
 * @max: greatest value
 */
struct fb_model_text_zone_field {
	const char *what;
	const char *keyword;
	enum fb_model_text_type type;
	u32 offset;
	u64 min;
	u64 max;
};

#define FB_MODEL_TEXT_ZONE_FIELD(field) offsetof(struct dm_spec_zone, field)

static const struct fb_model_text_zone_field fb_model_text_zone_fields[] = {
	{ "zone: first cylinder", NULL, FB_MODEL_TEXT_U32, FB_MODEL_TEXT_ZONE_FIELD(first_cyl), 0,
		DM_CYLINDERS_MAX - 1 },
	{ "zone: last cylinder", NULL, FB_MODEL_TEXT_U32, FB_MODEL_TEXT_ZONE_FIELD(last_cyl), 0,
		DM_CYLINDERS_MAX - 1 },
	{ "zone: spt", "spt", FB_MODEL_TEXT_U32, FB_MODEL_TEXT_ZONE_FIELD(spt), 1, DM_SPT_MAX },
	{ .what = "zone: angle", .keyword = "angle", .type = FB_MODEL_TEXT_FRACTION,
	  .offset = FB_MODEL_TEXT_ZONE_FIELD(angle) },
	{ .what = "zone: track_skew", .keyword = "track_skew", .type = FB_MODEL_TEXT_FRACTION,
	  .offset = FB_MODEL_TEXT_ZONE_FIELD(track_skew) },
	{ .what = "zone: cyl_skew", .keyword = "cyl_skew", .type = FB_MODEL_TEXT_FRACTION,
	  .offset = FB_MODEL_TEXT_ZONE_FIELD(cyl_skew) },
	{ "zone: dead", "dead", FB_MODEL_TEXT_U64, FB_MODEL_TEXT_ZONE_FIELD(dead), 0,
		FB_MODEL_TEXT_SECTORS_MAX },
	{ "zone: spares", "spares", FB_MODEL_TEXT_U64, FB_MODEL_TEXT_ZONE_FIELD(spares), 0,
		FB_MODEL_TEXT_SECTORS_MAX },
};

static int fb_model_text_read_zone(struct mt *mt)
{
	struct dm_spec_zone *z = &mt->spec.zone[mt->spec.zones];
	u32 i;
	int err = 0;

	if (!mt->spec.zones)
		err = fb_model_text_check_header(mt);
	else if (mt->spec.zones == DM_ZONES_MAX)
		err = fb_model_text_fail(mt, "more than %u zones", DM_ZONES_MAX);
	if (err)
		return err;
	z->line = mt->line;
	mt->spec.zones++;
	for (i = 0; i < ARRAY_SIZE(fb_model_text_zone_fields) && !err; i++) {
		const struct fb_model_text_zone_field *f = &fb_model_text_zone_fields[i];
		void *field = (char *)z + f->offset;

		if (f->keyword)
			err = fb_model_text_keyword(mt, f->keyword);
		if (err)
			break;
		if (f->type == FB_MODEL_TEXT_U32)
			err = fb_model_text_number32(mt, f->what, f->min, f->max, field);
		else if (f->type == FB_MODEL_TEXT_U64)
			err = fb_model_text_number(mt, f->what, f->min, f->max, field);
		else
			err = fb_model_text_fraction(mt, f->what, field);
	}
	return err;
}

/* The zone that further records belong to: the last one read. */
static struct dm_spec_zone *fb_model_text_zone(struct mt *mt)
{
	if (mt->spec.zones)
		return &mt->spec.zone[mt->spec.zones - 1];
	fb_model_text_fail(mt, "%s before the first zone", mt->record->name);
	return NULL;
}

static void fb_model_text_skip_blanks(struct mt *mt)
{
	while (*mt->word == ' ' || *mt->word == '\t')
		mt->word++;
}

/* Heads in the order of their numbers, in one line or several. */
static int fb_model_text_read_head_spt(struct mt *mt)
{
	struct dm_spec_zone *z = fb_model_text_zone(mt);
	u32 heads = mt->spec.info.heads, first, spt;
	int err;

	if (!z)
		return -EINVAL;
	err = fb_model_text_number32(mt, "head_spt: head", 0, heads - 1, &first);
	if (!err && z->head_spts < heads && first != z->head_spts)
		err = fb_model_text_fail(mt, "head_spt: head %u stands where head %u belongs",
					 first, z->head_spts);
	do {
		if (!err && z->head_spts == heads)
			err = fb_model_text_fail(mt,
						 "head_spt: the zone's %u heads were given already",
						 heads);
		if (!err)
			err = fb_model_text_number32(mt, "head_spt", 1, z->spt, &spt);
		if (err)
			return err;
		mt->spec.head_spt[mt->head_spts++] = spt;
		z->head_spts++;
		fb_model_text_skip_blanks(mt);
	} while (*mt->word);
	return 0;
}

static int fb_model_text_read_slip(struct mt *mt)
{
	struct dm_spec_slip *slip = &mt->spec.slip[mt->spec.slips];
	struct dm_spec_zone *z = fb_model_text_zone(mt);
	int err;

	if (!z)
		return -EINVAL;
	z->slips++;
	mt->spec.slips++;
	slip->line = mt->line;
	slip->n = 1;
	err = fb_model_text_number(mt, "slip", 0, FB_MODEL_TEXT_SECTORS_MAX, &slip->at);
	fb_model_text_skip_blanks(mt);
	if (!err && *mt->word)
		err = fb_model_text_number32(mt, "slip: count", 1, U32_MAX, &slip->n);
	return err;
}

static int fb_model_text_read_remap(struct mt *mt)
{
	struct dm_spec_remap *remap = &mt->spec.remap[mt->spec.remaps];
	struct dm_spec_zone *z = fb_model_text_zone(mt);
	int err;

	if (!z)
		return -EINVAL;
	z->remaps++;
	mt->spec.remaps++;
	remap->line = mt->line;
	err = fb_model_text_number(mt, "remap: sector", 0, FB_MODEL_TEXT_SECTORS_MAX, &remap->from);
	if (!err)
		err = fb_model_text_keyword(mt, "to");
	if (!err)
		err = fb_model_text_number(mt, "remap: target", 0, FB_MODEL_TEXT_SECTORS_MAX,
					   &remap->to);
	return err;
}

static int fb_model_text_read_record(struct mt *mt)
{
	const char *name = fb_model_text_next_word(mt);
	u32 i = 0;

	while (i < ARRAY_SIZE(fb_model_text_records) && strcmp(name, fb_model_text_records[i].name))
		i++;
	if (i == ARRAY_SIZE(fb_model_text_records))
		return fb_model_text_fail(mt, "unknown record '%.40s'", name);
	mt->record = &fb_model_text_records[i];
	if (mt->record->type <= FB_MODEL_TEXT_ORDER && mt->seen[i])
		return fb_model_text_fail(mt, "%s was given on line %u already", name, mt->seen[i]);
	mt->seen[i] = mt->line;

	switch (mt->record->type) {
	case FB_MODEL_TEXT_SEEK:
		return fb_model_text_read_seek(mt, mt->spec.seek, &mt->spec.seeks, 1);
	case FB_MODEL_TEXT_WRITE_SEEK:
		return fb_model_text_read_seek(mt, mt->spec.write_seek, &mt->spec.write_seeks, 1);
	case FB_MODEL_TEXT_SPREAD:
		return fb_model_text_read_seek(mt, mt->spec.spread, &mt->spec.spreads, 0);
	case FB_MODEL_TEXT_ZONE:
		return fb_model_text_read_zone(mt);
	case FB_MODEL_TEXT_HEAD_SPT:
		return fb_model_text_read_head_spt(mt);
	case FB_MODEL_TEXT_SLIP:
		return fb_model_text_read_slip(mt);
	case FB_MODEL_TEXT_REMAP:
		return fb_model_text_read_remap(mt);
	case FB_MODEL_TEXT_END:
		return fb_model_text_fail(mt, "end record before the end of the text");
	default:
		return fb_model_text_read_header(mt);
	}
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
	u32 i;

	*value = 0;
	for (i = 0; i < 8; i++) {
		u32 digit = (u32)s[i] - '0';

		if (digit > 9) {
			digit = ((u32)s[i] | 0x20) - 'a' + 10;
			if (digit < 10 || digit > 15)
				return false;
		}
		*value = *value << 4 | digit;
	}
	return !s[8];
}

/* Where the last line begins; @len > 0 and its last byte ends the line. */
static size_t fb_model_text_last_line(const char *text, size_t len)
{
	size_t at = len - 1;

	while (at && text[at - 1] != '\n')
		at--;
	return at;
}

/**
 * struct fb_model_text_end - the end record, taken apart
 * @buf: the line
 * @bytes: what it says of the length
 * @crc: what it says of the checksum
 */
struct fb_model_text_end {
	char buf[64];
	u64 bytes;
	u32 crc;
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

bool fb_model_text_complete(const char *text, size_t len)
{
	struct fb_model_text_end end;
	size_t at;

	if (!len || text[len - 1] != '\n')
		return false;
	at = fb_model_text_last_line(text, len);
	return fb_model_text_parse_end(text + at, len - 1 - at, &end);
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

/* An upper bound of the numbers in such lines: each takes at least two bytes. */
static size_t fb_model_text_most_numbers(const struct mt *mt, const char *name)
{
	return min_t(size_t, fb_model_text_count(mt, name) * (FB_MODEL_TEXT_LINE_MAX / 2),
		     mt->len / 2);
}

static void *fb_model_text_alloc(const struct mt *mt, const char *name, size_t size)
{
	return fb_zalloc((fb_model_text_count(mt, name) + 1) * size);
}

static int fb_model_text_alloc_spec(struct mt *mt)
{
	struct dm_spec *spec = &mt->spec;

	spec->seek = fb_model_text_alloc(mt, "seek", sizeof(*spec->seek));
	spec->write_seek = fb_model_text_alloc(mt, "write_seek", sizeof(*spec->write_seek));
	spec->spread = fb_model_text_alloc(mt, "seek_spread", sizeof(*spec->spread));
	spec->zone = fb_model_text_alloc(mt, "zone", sizeof(*spec->zone));
	spec->head_spt = fb_zalloc((fb_model_text_most_numbers(mt, "head_spt") + 1) *
				   sizeof(*spec->head_spt));
	spec->slip = fb_model_text_alloc(mt, "slip", sizeof(*spec->slip));
	spec->remap = fb_model_text_alloc(mt, "remap", sizeof(*spec->remap));
	spec->info.physical_sectors = 1;
	spec->info.granule_sectors = 8;
	return spec->seek && spec->write_seek && spec->spread && spec->zone && spec->head_spt &&
	       spec->slip && spec->remap ? 0 : -ENOMEM;
}

static void fb_model_text_free(struct mt *mt)
{
	fb_free(mt->spec.remap);
	fb_free(mt->spec.slip);
	fb_free(mt->spec.head_spt);
	fb_free(mt->spec.zone);
	fb_free(mt->spec.spread);
	fb_free(mt->spec.write_seek);
	fb_free(mt->spec.seek);
	fb_free(mt);
}

int fb_model_text_parse(const char *text, size_t len, struct disk_model **out,
			struct fb_model_text_error *err)
{
	struct mt *mt = fb_zalloc(sizeof(*mt));
	int ret;

	if (!mt) {
		*err = (struct fb_model_text_error){ .reason = "out of memory" };
		return -ENOMEM;
	}
	mt->text = text;
	mt->len = len;
	ret = fb_model_text_check_end(mt);
	if (!ret)
		ret = fb_model_text_alloc_spec(mt);
	if (!ret)
		ret = fb_model_text_read_text(mt);
	if (!ret)
		ret = dm_build(&mt->spec, out, &mt->fault);
	if (ret == -ENOMEM) {
		*err = (struct fb_model_text_error){ .reason = "out of memory" };
	} else if (ret) {
		err->line = mt->fault.line;
		memcpy(err->reason, mt->fault.reason, sizeof(err->reason));
	}
	fb_model_text_free(mt);
	return ret;
}
