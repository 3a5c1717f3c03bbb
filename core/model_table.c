// SPDX-License-Identifier: GPL-2.0
/* Checks each value of a compiled model and hands it to dm_build(). Core; may sleep. */
#include "core/model_table.h"

#define FB_MODEL_TABLE_SECTORS_MAX ((u64)DM_CYLINDERS_MAX * DM_HEADS_MAX * DM_SPT_MAX)

/* The same on every machine of a byte order: a compiler may be of 32 bits, its kernel of 64. */
static_assert(sizeof(struct fb_model_table) == 528);
static_assert(sizeof(struct dm_spec_zone) == 80);
static_assert(sizeof(struct dm_spec_slip) == 16);
static_assert(sizeof(struct dm_spec_remap) == 24);
static_assert(sizeof(struct dm_spec_seek) == 12);

/* the bounds of one value of a struct; a list of them ends with an empty one */
struct fb_model_table_bound {
	const char *what;	/* its name, for messages */
	u32 offset;		/* in the struct */
	bool wide;		/* it is a u64, not a u32 */
	u64 min;
	u64 max;
};

/* a text in struct dm_info */
struct fb_model_table_text {
	const char *what;
	u32 offset;
	u32 size;
};

/* one of the arrays behind the table's head */
struct fb_model_table_list {
	const char *what;	/* before a value's name, for messages */
	const struct fb_model_table_bound *bound;	/* of an item's values, or NULL */
	u32 size;		/* of an item */
	u32 line;		/* where in an item its line of the text stands */
	u32 items;		/* where in struct dm_spec the array is noted */
	u32 count;		/* and how many items it has */
};

#define FB_MODEL_TABLE_TEXT(field, size) { #field, offsetof(struct dm_info, field), size }

static const struct fb_model_table_text fb_model_table_texts[] = {
	FB_MODEL_TABLE_TEXT(vendor, DM_ID_LEN),
	FB_MODEL_TABLE_TEXT(product, DM_ID_LEN),
	FB_MODEL_TABLE_TEXT(serial, DM_ID_LEN),
	FB_MODEL_TABLE_TEXT(revision, DM_ID_LEN),
	FB_MODEL_TABLE_TEXT(wwn, DM_ID_LEN),
	FB_MODEL_TABLE_TEXT(distrusted, DM_TEXT_LEN),
};

#define FB_MODEL_TABLE_U32(of, field, min, max) \
	{ #field, offsetof(struct of, field), false, min, max }
#define FB_MODEL_TABLE_U64(of, field, min, max) \
	{ #field, offsetof(struct of, field), true, min, max }

static const struct fb_model_table_bound fb_model_table_info[] = {
	FB_MODEL_TABLE_U64(dm_info, sectors, 1, FB_MODEL_TABLE_SECTORS_MAX),
	FB_MODEL_TABLE_U64(dm_info, period_ps, DM_PERIOD_PS_MIN, DM_PERIOD_PS_MAX),
	FB_MODEL_TABLE_U32(dm_info, physical_sectors, 1, 8),
	FB_MODEL_TABLE_U32(dm_info, granule_sectors, 1, DM_GRANULE_MAX),
	FB_MODEL_TABLE_U32(dm_info, cylinders, 1, DM_CYLINDERS_MAX),
	FB_MODEL_TABLE_U32(dm_info, heads, 1, DM_HEADS_MAX),
	FB_MODEL_TABLE_U32(dm_info, surface_run, 1, DM_SURFACE_RUN_MAX),
	FB_MODEL_TABLE_U32(dm_info, head_switch_ns, 0, DM_NS_MAX),
	FB_MODEL_TABLE_U32(dm_info, write_settle_ns, 0, DM_NS_MAX),
	FB_MODEL_TABLE_U32(dm_info, read_overhead_ns, 0, DM_NS_MAX),
	FB_MODEL_TABLE_U32(dm_info, write_overhead_ns, 0, DM_NS_MAX),
	FB_MODEL_TABLE_U32(dm_info, read_report_ns, 0, DM_NS_MAX),
	FB_MODEL_TABLE_U32(dm_info, write_report_ns, 0, DM_NS_MAX),
	FB_MODEL_TABLE_U32(dm_info, zero_latency, 0, 1),
	{}
};

static const struct fb_model_table_bound fb_model_table_zone[] = {
	FB_MODEL_TABLE_U32(dm_spec_zone, first_cyl, 0, DM_CYLINDERS_MAX - 1),
	FB_MODEL_TABLE_U32(dm_spec_zone, last_cyl, 0, DM_CYLINDERS_MAX - 1),
	FB_MODEL_TABLE_U32(dm_spec_zone, spt, 1, DM_SPT_MAX),
	FB_MODEL_TABLE_U64(dm_spec_zone, dead, 0, FB_MODEL_TABLE_SECTORS_MAX),
	FB_MODEL_TABLE_U64(dm_spec_zone, spares, 0, FB_MODEL_TABLE_SECTORS_MAX),
	FB_MODEL_TABLE_U32(dm_spec_zone, unmapped, 0, 1),
	FB_MODEL_TABLE_U32(dm_spec_zone, slow, 0, 1),
	{}
};

static const struct fb_model_table_bound fb_model_table_slip[] = {
	FB_MODEL_TABLE_U64(dm_spec_slip, at, 0, FB_MODEL_TABLE_SECTORS_MAX),
	FB_MODEL_TABLE_U32(dm_spec_slip, n, 1, U32_MAX),
	{}
};

static const struct fb_model_table_bound fb_model_table_remap[] = {
	FB_MODEL_TABLE_U64(dm_spec_remap, from, 0, FB_MODEL_TABLE_SECTORS_MAX),
	FB_MODEL_TABLE_U64(dm_spec_remap, to, 0, FB_MODEL_TABLE_SECTORS_MAX),
	{}
};

static const struct fb_model_table_bound fb_model_table_seek[] = {
	FB_MODEL_TABLE_U32(dm_spec_seek, cyls, 1, DM_CYLINDERS_MAX),
	FB_MODEL_TABLE_U32(dm_spec_seek, ns, 1, DM_NS_MAX),
	{}
};

/* In the order of the table. */
static const struct fb_model_table_list fb_model_table_lists[] = {
	{ "zone: ", fb_model_table_zone, sizeof(struct dm_spec_zone),
	  offsetof(struct dm_spec_zone, line), offsetof(struct dm_spec, zone),
	  offsetof(struct dm_spec, zones) },
	{ "slip: ", fb_model_table_slip, sizeof(struct dm_spec_slip),
	  offsetof(struct dm_spec_slip, line), offsetof(struct dm_spec, slip),
	  offsetof(struct dm_spec, slips) },
	{ "remap: ", fb_model_table_remap, sizeof(struct dm_spec_remap),
	  offsetof(struct dm_spec_remap, line), offsetof(struct dm_spec, remap),
	  offsetof(struct dm_spec, remaps) },
	{ "seek: ", fb_model_table_seek, sizeof(struct dm_spec_seek),
	  offsetof(struct dm_spec_seek, line), offsetof(struct dm_spec, seek),
	  offsetof(struct dm_spec, seeks) },
	{ "write_seek: ", fb_model_table_seek, sizeof(struct dm_spec_seek),
	  offsetof(struct dm_spec_seek, line), offsetof(struct dm_spec, write_seek),
	  offsetof(struct dm_spec, write_seeks) },
	{ .size = sizeof(u16), .items = offsetof(struct dm_spec, head_spt),
	  .count = offsetof(struct dm_spec, head_spts) },
};

static int fb_model_table_check_values(const void *base, const struct fb_model_table_bound *b,
				       const char *what, u32 line, struct dm_fault *fault)
{
	for (; b->what; b++) {
		const void *p = (const char *)base + b->offset;
		u64 value = b->wide ? *(const u64 *)p : *(const u32 *)p;

		if (value < b->min || value > b->max)
			return dm_fault_set(fault, line, "%s%s: %llu is not in %llu..%llu",
					    what, b->what, (unsigned long long)value,
					    (unsigned long long)b->min,
					    (unsigned long long)b->max);
	}
	return 0;
}

static int fb_model_table_check_texts(const struct dm_info *info, struct dm_fault *fault)
{
	const struct fb_model_table_text *t = fb_model_table_texts;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(fb_model_table_texts); i++, t++) {
		const char *text = (const char *)info + t->offset;

		for (at = 0; at < t->size && text[at]; at++)
			if (text[at] < ' ' || text[at] > '~')
				return dm_fault_set(fault, 0,
						    "%s: byte 0x%02x is not printable ASCII",
						    t->what, (unsigned char)text[at]);
		if (at == t->size)
			return dm_fault_set(fault, 0, "%s: no end within %u bytes", t->what,
					    t->size);
	}
	return 0;
}

/* What the header's values have to do with each other; @line: of the first zone. */
static int fb_model_table_check_header(const struct dm_spec *spec, u32 line,
				       struct dm_fault *fault)
{
	const struct dm_info *info = &spec->info;

	if (info->physical_sectors != 1 && info->physical_sectors != 8)
		return dm_fault_set(fault, line, "physical_sectors: %u is neither 1 nor 8",
				    info->physical_sectors);
	if (info->granule_sectors & (info->granule_sectors - 1))
		return dm_fault_set(fault, line, "granule_sectors: %u is not a power of two",
				    info->granule_sectors);
	if (info->granule_sectors < info->physical_sectors)
		return dm_fault_set(fault, line,
				    "granule_sectors: %u is less than physical_sectors, %u",
				    info->granule_sectors, info->physical_sectors);
	if (spec->order > DM_HEADS_SERPENTINE_DISK)
		return dm_fault_set(fault, line, "head_order: %u is unknown", spec->order);
	if (info->surface_run > 1 && spec->order == DM_HEADS_SERPENTINE_DISK)
		return dm_fault_set(fault, line,
				    "surface_run: %u goes with head_order plain or serpentine-zone",
				    info->surface_run);
	return 0;
}

/* The zones share out slips, remaps and track lengths, and leave none. */
static int fb_model_table_check_shares(const struct dm_spec *spec, struct dm_fault *fault)
{
	u64 slips = 0, remaps = 0, head_spts = 0;
	u32 i;

	for (i = 0; i < spec->zones; i++) {
		slips += spec->zone[i].slips;
		remaps += spec->zone[i].remaps;
		head_spts += spec->zone[i].head_spts;
	}
	if (slips != spec->slips || remaps != spec->remaps || head_spts != spec->head_spts)
		return dm_fault_set(fault, 0,
				    "the zones count %llu slips, %llu remaps, %llu track lengths; there are %u, %u, %u",
				    (unsigned long long)slips, (unsigned long long)remaps,
				    (unsigned long long)head_spts, spec->slips, spec->remaps,
				    spec->head_spts);
	for (i = 0; i < spec->head_spts; i++)
		if (!spec->head_spt[i])
			return dm_fault_set(fault, 0, "head_spt: 0 sectors on a track");
	return 0;
}

static int fb_model_table_check(const struct dm_spec *spec, struct dm_fault *fault)
{
	const struct fb_model_table_list *l = fb_model_table_lists;
	int err = fb_model_table_check_texts(&spec->info, fault);
	u32 i, k;

	if (!err)
		err = fb_model_table_check_values(&spec->info, fb_model_table_info, "", 0, fault);
	if (!err)
		err = fb_model_table_check_header(spec, spec->zones ? spec->zone->line : 0, fault);
	for (i = 0; i < ARRAY_SIZE(fb_model_table_lists); i++, l++) {
		const char *item = *(const char *const *)((const char *)spec + l->items);
		u32 n = *(const u32 *)((const char *)spec + l->count);

		for (k = 0; k < n && l->bound && !err; k++, item += l->size)
			err = fb_model_table_check_values(item, l->bound, l->what,
							  *(const u32 *)(item + l->line), fault);
	}
	return err ? err : fb_model_table_check_shares(spec, fault);
}

/* Point @spec into the table; false: its counts are out of bounds, or do not come to @len. */
static bool fb_model_table_lay_out(const struct fb_model_table *t, size_t len, struct dm_spec *spec)
{
	const struct fb_model_table_list *l = fb_model_table_lists;
	u64 at = sizeof(*t);
	u32 i;

	*spec = (struct dm_spec){
		.info = t->info, .order = t->order, .line = t->line,
		.zones = t->zones, .slips = t->slips, .remaps = t->remaps, .seeks = t->seeks,
		.write_seeks = t->write_seeks, .head_spts = t->head_spts,
	};
	for (i = 0; i < ARRAY_SIZE(fb_model_table_lists) && at <= len; i++, l++) {
		*(const void **)((char *)spec + l->items) = (const char *)t + at;
		at += (u64)*(u32 *)((char *)spec + l->count) * l->size;
	}
	return at == len && i == ARRAY_SIZE(fb_model_table_lists) && t->zones <= DM_ZONES_MAX &&
	       t->seeks <= DM_SEEK_POINTS_MAX && t->write_seeks <= DM_SEEK_POINTS_MAX;
}

u32 fb_model_table_bytes(const void *head)
{
	const u32 *word = head;

	return word[0] == FB_MODEL_TABLE_MAGIC && word[1] >= sizeof(struct fb_model_table) &&
	       word[1] <= FB_MODEL_TABLE_MAX ? word[1] : 0;
}

int fb_model_table_build(const void *data, size_t len, struct disk_model **out,
			 struct dm_fault *fault)
{
	const struct fb_model_table *t = data;
	const size_t skipped = offsetof(struct fb_model_table, crc32) + sizeof(t->crc32);
	struct dm_spec spec;
	u32 crc;
	int err;

	if (len < sizeof(*t) || fb_model_table_bytes(t) != len)
		return dm_fault_set(fault, 0, "%zu bytes are no whole table of this version",
				    len);
	crc = ~crc32_le(~0U, (const unsigned char *)data + skipped, len - skipped);
	if (crc != t->crc32)
		return dm_fault_set(fault, 0, "the table says crc32 %08x, but it is %08x",
				    t->crc32, crc);
	if (!fb_model_table_lay_out(t, len, &spec))
		return dm_fault_set(fault, 0, "counts do not come to its %zu bytes", len);
	err = fb_model_table_check(&spec, fault);
	if (!err)
		err = dm_build(&spec, out, fault);
	if (err == -ENOMEM)
		*fault = (struct dm_fault){ .reason = "out of memory" };
	return err;
}
