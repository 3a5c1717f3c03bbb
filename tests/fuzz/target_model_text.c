// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: the text of a model, what is built from it, and what that answers.
 *
 * The input is a text without its end record, which is added; one that has an end record is
 * read as it is, too. A text whose zones do not add up to the capacity is refused, and built
 * again with the right capacity, so that changed zones lead somewhere.
 *
 * Of a model that is accepted: places are those that follow from the specification sector by
 * sector, and lead back to the LBN; times are within bounds; the specification written as a
 * text is read as the same specification.
 *
 * Planted bugs, each seen to fail in the 15 s of make check: a line of one byte more than there
 * is room for; too little room for head_spt; numbers of more than 64 bits; fractions of 20
 * digits; an end record of just the buffer's length; a remap target behind the zone; slips that
 * overlap by one sector; more dead sectors and spares than the zone has; a slip on a track one
 * sector off. (A head_spt of one head too many changes nothing: dm_build() refuses it.)
 */
#include <errno.h>

#include "tools/native/model/model_text.h"
#include "disk_model.h"
#include "fuzz.h"

#define PROBES 16

/* the specification that was written as a text and must come back; NULL: none was */
static const struct dm_spec *written;
static u64 draw_state;

static u64 draw(u64 below)
{
	u64 z = draw_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) % below;
}

/* ---- the layout, once more and simply ---- */

/**
 * struct part - the parts of a specification that belong to one zone
 * @z: the zone
 * @head_spt: its sectors per track by head
 * @slip: its slips
 * @remap: its remaps
 * @lbn: its first LBN
 * @lbns: how many it has
 */
struct part {
	const struct dm_spec_zone *z;
	const u16 *head_spt;
	const struct dm_spec_slip *slip;
	const struct dm_spec_remap *remap;
	u64 lbn;
	u64 lbns;
};

static u32 spt_of(const struct part *part, u32 head)
{
	return part->z->head_spts ? part->head_spt[head] : part->z->spt;
}

static u64 cyl_sectors(const struct dm_spec *spec, const struct part *part)
{
	u64 sum = 0;
	u32 head;

	if (!part->z->head_spts)
		return (u64)part->z->spt * spec->info.heads;
	for (head = 0; head < part->z->head_spts; head++)
		sum += part->head_spt[head];
	return sum;
}

static u64 part_lbns(const struct dm_spec *spec, const struct part *part)
{
	__uint128_t cyls = part->z->last_cyl - part->z->first_cyl + 1ULL;
	__uint128_t room = cyls * cyl_sectors(spec, part);

	fuzz_check((__uint128_t)part->z->dead + part->z->spares <= room);
	return room - part->z->dead - part->z->spares;
}

static void part_first(const struct dm_spec *spec, struct part *part)
{
	*part = (struct part){ .z = spec->zone, .head_spt = spec->head_spt, .slip = spec->slip,
			       .remap = spec->remap };
	part->lbns = part_lbns(spec, part);
}

static void part_next(const struct dm_spec *spec, struct part *part)
{
	part->lbn += part->lbns;
	part->head_spt += part->z->head_spts;
	part->slip += part->z->slips;
	part->remap += part->z->remaps;
	part->z++;
	part->lbns = part_lbns(spec, part);
}

/* sum of what the zones hold */
static u64 capacity(const struct dm_spec *spec)
{
	struct part part;

	for (part_first(spec, &part); part.z < spec->zone + spec->zones - 1;)
		part_next(spec, &part);
	return part.lbn + part.lbns;
}

/* where a sector of a zone is, and its track's length; returns its number on the track */
static u32 place_of_phys(const struct dm_spec *spec, const struct part *part, u64 phys,
			 struct dm_place *p, u32 *spt)
{
	u64 sectors = cyl_sectors(spec, part), c = phys / sectors, r = phys % sectors, turn;
	u32 heads = spec->info.heads, h;
	bool back = (spec->order == DM_HEADS_SERPENTINE_ZONE && (c & 1)) ||
		    (spec->order == DM_HEADS_SERPENTINE_DISK && ((c + part->z->first_cyl) & 1));

	for (h = 0; h < heads; h++) {
		p->head = back ? heads - 1 - h : h;
		*spt = spt_of(part, p->head);
		if (r < *spt)
			break;
		r -= *spt;
	}
	fuzz_check(h < heads && c <= part->z->last_cyl - part->z->first_cyl);
	p->cyl = part->z->first_cyl + c;
	turn = part->z->angle + c * (part->z->cyl_skew + (heads - 1) * part->z->track_skew) +
	       h * part->z->track_skew;
	p->angle = (u32)(turn >> 32) + (u32)((r << 32) / *spt);
	return r;
}

/* returns whether the LBN is remapped */
static bool place_of_lbn(const struct dm_spec *spec, u64 lbn, struct dm_place *p, u32 *number,
			 u32 *spt)
{
	bool remapped = false;
	struct part part;
	u64 phys;
	u32 i;

	for (part_first(spec, &part); lbn >= part.lbn + part.lbns;)
		part_next(spec, &part);
	phys = lbn - part.lbn + part.z->dead;
	for (i = 0; i < part.z->slips && part.slip[i].at <= phys; i++)
		phys += part.slip[i].n;
	for (i = 0; i < part.z->remaps && !remapped; i++) {
		remapped = part.remap[i].from == phys;
		if (remapped)
			phys = part.remap[i].to;
	}
	*number = place_of_phys(spec, &part, phys, p, spt);
	return remapped;
}

/* ---- what a model answers ---- */

static void check_track(const struct disk_model *dm, const struct dm_track *t)
{
	const struct dm_info *info = dm_info(dm);
	struct dm_track same;

	fuzz_check(t->cyl < info->cylinders && t->head < info->heads);
	fuzz_check(t->nsect <= t->spt && t->spt <= dm_info(dm)->spt_most);
	fuzz_check(!t->nsect || t->spt >= dm_info(dm)->spt_least);
	fuzz_check(!t->nsect || t->first_lbn + t->nsect <= info->sectors);
	fuzz_check(!dm_track_by_index(dm, dm_track_index(dm, t), &same));
	fuzz_check(same.cyl == t->cyl && same.head == t->head && same.nsect == t->nsect &&
		   same.first_lbn == t->first_lbn);
}

/* the window that lasts just as long as the sector passes has that sector, and no other */
static void check_window(const struct disk_model *dm, const struct dm_track *t, u64 lbn,
			 u32 angle, u32 number)
{
	u64 begin = ((u64)number << 32) / t->spt, end = ((number + 1ULL) << 32) / t->spt;
	struct dm_piece piece[2];
	u32 i;

	dm_window(dm, t, angle, end - begin, piece);
	fuzz_check(piece[0].nsect + piece[1].nsect == 1);
	fuzz_check(piece[!piece[0].nsect].lbn == lbn);
	dm_window(dm, t, draw(1ULL << 32), draw((1ULL << 33) + 1), piece);
	for (i = 0; i < 2; i++)
		fuzz_check(!piece[i].nsect || (piece[i].lbn >= t->first_lbn &&
					       piece[i].lbn + piece[i].nsect <=
					       t->first_lbn + t->nsect));
	fuzz_check(piece[0].nsect + piece[1].nsect <= t->nsect);
}

static void check_lbn(const struct dm_spec *spec, const struct disk_model *dm, u64 lbn)
{
	struct dm_place p, expected;
	u32 number, spt, angle;
	struct dm_track t, at;
	bool remapped = place_of_lbn(spec, lbn, &expected, &number, &spt);

	fuzz_check(!dm_place_of(dm, lbn, &p));
	fuzz_check(p.cyl == expected.cyl && p.head == expected.head && p.angle == expected.angle);
	fuzz_check(!dm_track_of(dm, lbn, &t));
	check_track(dm, &t);
	fuzz_check(lbn - t.first_lbn < t.nsect);
	fuzz_check(!dm_track_at(dm, p.cyl, p.head, &at));
	check_track(dm, &at);
	if (remapped) {
		fuzz_check(dm_lbn_angle(dm, &t, lbn, &angle) == -ENXIO);
		return;
	}
	fuzz_check(at.cyl == t.cyl && at.head == t.head && at.first_lbn == t.first_lbn);
	fuzz_check(t.spt == spt);
	fuzz_check(!dm_lbn_angle(dm, &t, lbn, &angle) && angle == p.angle);
	check_window(dm, &t, lbn, angle, number);
}

static struct dm_place draw_place(const struct disk_model *dm)
{
	struct dm_place p = { draw(dm_info(dm)->cylinders), draw(dm_info(dm)->heads),
			      draw(1ULL << 32) };

	return p;
}

static void check_times(const struct disk_model *dm, u64 lbn)
{
	struct dm_place from = draw_place(dm), to = draw_place(dm);
	u32 cyls = dm_apart(&from, &to), angle = from.angle;
	u64 seek, latency, left = dm_info(dm)->sectors - lbn, period = dm_info(dm)->period_ps;
	bool write = draw(2);
	struct dm_access a;
	s64 off;

	seek = dm_seek_ns(dm, &from, &to, write);
	fuzz_check(seek <= 2ULL * DM_NS_MAX);
	fuzz_check(seek >= dm_seek_floor_ns(dm, draw(cyls + 1ULL)));
	dm_position(dm, &from, &to, write, &seek, &latency);
	fuzz_check(latency <= dm_period_ns(dm));
	fuzz_check(!dm_access(dm, &from, lbn, 1 + draw(min_t(u64, left, 700)), write, &a));
	fuzz_check(a.total_ns >= a.seek_ns + a.latency_ns);
	fuzz_check(a.end.cyl < dm_info(dm)->cylinders && a.end.head < dm_info(dm)->heads);
	left = left < U32_MAX ? left + 1 : 0;
	fuzz_check(dm_access(dm, &from, lbn, left, write, &a) == -ERANGE);
	off = dm_angle_to_ns(dm, angle) - (u64)(((__uint128_t)angle * period / 1000) >> 32);
	fuzz_check(off >= -1 && off <= 1);
}

/* any LBN, one beside a zone's border, or one beside a slipped or remapped sector */
static u64 draw_lbn(const struct dm_spec *spec)
{
	u64 sectors = spec->info.sectors, lbn = 0, zones, i;
	struct part part;

	zones = draw(spec->zones);
	for (part_first(spec, &part), i = 0; i < zones; i++)
		part_next(spec, &part);
	switch (draw(4)) {
	case 0:
		return draw(sectors);
	case 1:
		lbn = part.lbn + draw(3) - 1;
		break;
	case 2:
		if (part.z->slips)
			lbn = part.lbn + part.slip[draw(part.z->slips)].at - part.z->dead -
			      draw(4);
		break;
	default:
		if (part.z->remaps)
			lbn = part.lbn + part.remap[draw(part.z->remaps)].from - part.z->dead -
			      draw(4);
	}
	return lbn < sectors ? lbn : sectors - 1;
}

static void check_model(const struct dm_spec *spec, struct disk_model *dm)
{
	struct dm_place p;
	struct dm_track t;
	u32 i;

	fuzz_check(dm_info(dm)->sectors == capacity(spec));
	fuzz_check(dm_tracks(dm) == dm_info(dm)->cylinders * dm_info(dm)->heads);
	fuzz_check(dm_place_of(dm, spec->info.sectors, &p) == -ERANGE);
	fuzz_check(dm_track_by_index(dm, dm_tracks(dm), &t) == -ERANGE);
	for (i = 0; i < PROBES; i++) {
		u64 lbn = draw_lbn(spec);

		check_lbn(spec, dm, lbn);
		check_times(dm, lbn);
		fuzz_check(!dm_track_by_index(dm, draw(dm_tracks(dm)), &t));
		check_track(dm, &t);
	}
	dm_correct(dm, (s32)draw(1000001) - 500000);
	for (i = 0; i < PROBES / 4; i++)
		check_times(dm, draw_lbn(spec));
}

/* ---- the specification as a text, and back ---- */

static void write_strings(FILE *f, const struct dm_info *info)
{
	const struct {
		const char *name;
		const char *value;
	} strings[] = {
		{ "vendor", info->vendor }, { "product", info->product },
		{ "serial", info->serial }, { "revision", info->revision },
		{ "wwn", info->wwn }, { "distrusted", info->distrusted },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(strings); i++)
		if (strings[i].value[0])
			fprintf(f, "%s %s\n", strings[i].name, strings[i].value);
}

static void write_header(FILE *f, const struct dm_spec *spec)
{
	static const char * const orders[] = { "plain", "serpentine-zone", "serpentine-disk" };
	const struct dm_info *info = &spec->info;

	fprintf(f, "fbmodel 1\n");
	write_strings(f, info);
	fprintf(f, "sectors %llu\nphysical_sectors %u\ngranule_sectors %u\ncylinders %u\n",
		(unsigned long long)info->sectors, info->physical_sectors, info->granule_sectors,
		info->cylinders);
	fprintf(f, "heads %u\nhead_order %s\nperiod_ps %llu\nhead_switch_ns %u\n",
		info->heads, orders[spec->order], (unsigned long long)info->period_ps,
		info->head_switch_ns);
	fprintf(f, "write_settle_ns %u\nzero_latency %s\nread_overhead_ns %u\n",
		info->write_settle_ns, info->zero_latency ? "yes" : "no", info->read_overhead_ns);
	fprintf(f, "write_overhead_ns %u\nread_report_ns %u\nwrite_report_ns %u\n",
		info->write_overhead_ns, info->read_report_ns, info->write_report_ns);
}

static void write_seeks(FILE *f, const char *name, const struct dm_spec_seek *p, u32 n)
{
	for (; n; n--, p++)
		fprintf(f, "%s %u %u\n", name, p->cyls, p->ns);
}

/* the least fraction of 18 digits that is read as this value, which has been read before */
static void write_fraction(FILE *f, const char *name, u64 value)
{
	__uint128_t digits = (__uint128_t)(value >> 1) * 1000000000000000000ULL;

	digits = (digits + (1ULL << 63) - 1) >> 63;
	fprintf(f, " %s 0.%018llu", name, (unsigned long long)digits);
}

static void write_zones(FILE *f, const struct dm_spec *spec)
{
	const struct dm_spec_remap *remap = spec->remap;
	const struct dm_spec_slip *slip = spec->slip;
	const u16 *head_spt = spec->head_spt;
	const struct dm_spec_zone *z;
	u32 i;

	for (z = spec->zone; z < spec->zone + spec->zones; z++) {
		fprintf(f, "zone %u %u spt %u", z->first_cyl, z->last_cyl, z->spt);
		write_fraction(f, "angle", z->angle);
		write_fraction(f, "track_skew", z->track_skew);
		write_fraction(f, "cyl_skew", z->cyl_skew);
		fprintf(f, " dead %llu spares %llu\n", (unsigned long long)z->dead,
			(unsigned long long)z->spares);
		for (i = 0; i < z->head_spts; i++)
			fprintf(f, "head_spt %u %u\n", i, *head_spt++);
		for (i = 0; i < z->slips; i++, slip++)
			fprintf(f, "slip %llu %u\n", (unsigned long long)slip->at, slip->n);
		for (i = 0; i < z->remaps; i++, remap++)
			fprintf(f, "remap %llu to %llu\n", (unsigned long long)remap->from,
				(unsigned long long)remap->to);
	}
}

static void check_seeks(const struct dm_spec_seek *a, u32 na, const struct dm_spec_seek *b, u32 nb)
{
	u32 i;

	fuzz_check(na == nb);
	for (i = 0; i < na; i++)
		fuzz_check(a[i].cyls == b[i].cyls && a[i].ns == b[i].ns);
}

static void check_zone(const struct dm_spec_zone *a, const struct dm_spec_zone *b)
{
	fuzz_check(a->first_cyl == b->first_cyl && a->last_cyl == b->last_cyl && a->spt == b->spt);
	fuzz_check(a->angle == b->angle && a->track_skew == b->track_skew &&
		   a->cyl_skew == b->cyl_skew);
	fuzz_check(a->dead == b->dead && a->spares == b->spares && a->head_spts == b->head_spts);
	fuzz_check(a->slips == b->slips && a->remaps == b->remaps);
}

/* all but line numbers is the same */
static void check_same(const struct dm_spec *a, const struct dm_spec *b)
{
	u32 i, heads = 0;

	fuzz_check(!memcmp(&a->info, &b->info, sizeof(a->info)) && a->order == b->order);
	check_seeks(a->seek, a->seeks, b->seek, b->seeks);
	check_seeks(a->write_seek, a->write_seeks, b->write_seek, b->write_seeks);
	fuzz_check(a->zones == b->zones && a->slips == b->slips && a->remaps == b->remaps);
	for (i = 0; i < a->zones; i++) {
		check_zone(&a->zone[i], &b->zone[i]);
		heads += a->zone[i].head_spts;
	}
	fuzz_check(!memcmp(a->head_spt, b->head_spt, heads * sizeof(a->head_spt[0])));
	for (i = 0; i < a->slips; i++)
		fuzz_check(a->slip[i].at == b->slip[i].at && a->slip[i].n == b->slip[i].n);
	for (i = 0; i < a->remaps; i++)
		fuzz_check(a->remap[i].from == b->remap[i].from &&
			   a->remap[i].to == b->remap[i].to);
}

static void write_end(FILE *f, const char **text, const size_t *len)
{
	fflush(f);
	fprintf(f, "end %zu %08x\n", *len, ~crc32_le(~0U, (const u8 *)*text, *len));
	fclose(f);
}

static void check_text(const struct dm_spec *spec)
{
	struct dm_fault err;
	struct disk_model *dm = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	write_header(f, spec);
	write_seeks(f, "seek", spec->seek, spec->seeks);
	write_seeks(f, "write_seek", spec->write_seek, spec->write_seeks);
	write_zones(f, spec);
	write_end(f, (const char **)&text, &len);
	written = spec;
	fuzz_check(!fb_model_text_parse(text, len, &dm, &err));
	written = NULL;
	dm_free(dm);
	fuzz_check(fb_model_text_parse(text, len - 1, &dm, &err) == -EINVAL);
	free(text);
}

static void check_fault(const struct dm_fault *fault)
{
	const char *end = memchr(fault->reason, '\0', sizeof(fault->reason));

	fuzz_check(end && end > fault->reason && !strchr(fault->reason, '\n'));
}

static void check_built(const struct dm_spec *spec, struct disk_model *dm)
{
	check_text(spec);
	check_model(spec, dm);
	fuzz_deep++;
}

int __wrap_dm_build(const struct dm_spec *spec, struct disk_model **out, struct dm_fault *fault)
{
	struct disk_model *none = *out;
	int ret = __real_dm_build(spec, out, fault);

	if (written)
		check_same(written, spec);
	else if (!ret)
		check_built(spec, *out);
	if (!ret)
		return 0;
	fuzz_check(ret == -EINVAL && *out == none);
	check_fault(fault);
	if (!strncmp(fault->reason, "capacity ", 9) && capacity(spec)) {
		struct dm_spec right = *spec;
		struct disk_model *dm;

		right.info.sectors = capacity(spec);
		fuzz_check(!__real_dm_build(&right, &dm, fault));
		check_built(&right, dm);
		dm_free(dm);
	}
	return ret;
}

/* ---- mutations that keep lines and words: few other ones are accepted ---- */

/* has one of each kind of record but the optional numbers */
static const char good_text[] =
	"fbmodel 1\nvendor A\nproduct B\nsectors 95\ncylinders 4\nheads 3\n"
	"head_order serpentine-zone\nperiod_ps 6000000000\nhead_switch_ns 1000\n"
	"write_settle_ns 0\nzero_latency yes\nseek 1 900000\nseek 2 1000000\n"
	"write_seek 1 900000\nwrite_seek 3 1000000\nseek_spread 1 9\n"
	"seek_spread 2 5\nrevision 1\nwwn naa.5\ndistrusted not good\n"
	"zone 0 1 spt 10 angle 0.5 track_skew 0.1 cyl_skew 0.05 dead 5 spares 10\n"
	"slip 7 2\nslip 12\nremap 5 to 59\nremap 30 to 55\n"
	"zone 2 3 spt 12 angle 0 track_skew 0.1 cyl_skew 0 dead 0 spares 4\nslip 0\n"
	"head_spt 0 5 12\nhead_spt 2 10\n";

/* put @n bytes in place of @data[@at .. @to) */
static size_t splice(u8 *data, size_t size, size_t most, size_t at, size_t to, const char *s,
		     size_t n)
{
	if (size - (to - at) + n > most)
		return size;
	memmove(data + at + n, data + to, size - to);
	memcpy(data + at, s, n);
	return size - (to - at) + n;
}

static bool is_blank(u8 c)
{
	return c == ' ' || c == '\n';
}

/* a fraction of up to 21 digits */
static size_t mutate_fraction(u8 *data, size_t size, size_t most, size_t at, size_t to)
{
	char word[32] = "0.";
	size_t n, digits = 1 + draw(21);

	for (n = 2; n < 2 + digits; n++)
		word[n] = '0' + draw(10);
	return splice(data, size, most, at, to, word, n);
}

/* the text gets an end record, about as long as one may be */
static size_t mutate_end(u8 *data, size_t size, size_t most)
{
	char line[80] = "end ";
	size_t n = 13 + draw(58);

	memset(line + 4, '0', n - 4);
	line[n - 9 + draw(2)] = ' ';
	line[n++] = '\n';
	return splice(data, size, most, size, size, line, n);
}

/* a number near the one there was, or another one */
static size_t mutate_word(u8 *data, size_t size, size_t most, size_t at)
{
	static const u64 bounds[] = { 0, 1, 2, 65535, 65536, 1000000000, 16777215, 16777216,
				      U32_MAX, 1ULL << 32, 140735340871680, U64_MAX };
	char word[32] = "";
	size_t to;
	u64 number;

	while (at && !is_blank(data[at - 1]))
		at--;
	for (to = at; to < size && !is_blank(data[to]);)
		to++;
	memcpy(word, data + at, min(to - at, sizeof(word) - 1));
	if (!strncmp(word, "0.", 2))
		return mutate_fraction(data, size, most, at, to);
	if (!isdigit((u8)word[0]))
		return LLVMFuzzerMutate(data, size, most);
	number = strtoull(word, NULL, 10);
	switch (draw(5)) {
	case 4:
		/* the same, and 2^64 */
		if (number < 100000)
			return splice(data, size, most, at, to, word,
				      sprintf(word, "184467440737096%05llu",
					      (unsigned long long)number + 51616));
		break;
	case 0:
		number = bounds[draw(ARRAY_SIZE(bounds))];
		break;
	case 1:
		number = draw(2 * min(number, U64_MAX / 4) + 2);
		break;
	default:
		number += draw(9) - 4;
	}
	return splice(data, size, most, at, to, word,
		      sprintf(word, "%llu", (unsigned long long)number));
}

static size_t line_start(const u8 *data, size_t at)
{
	while (at && data[at - 1] != '\n')
		at--;
	return at;
}

/* a line becomes as long as a bound on lines or values is, or nearly so */
static size_t mutate_length(u8 *data, size_t size, size_t most, size_t at)
{
	static const size_t bounds[] = { DM_ID_LEN, DM_TEXT_LEN, 256, 256 };
	size_t from = line_start(data, at), to = from, wanted;
	char fill[280];

	while (to < size && data[to] != '\n')
		to++;
	wanted = bounds[draw(ARRAY_SIZE(bounds))] + draw(12) - 3;
	memset(fill, draw(2) ? ' ' : '0', sizeof(fill));
	return to - from < wanted ? splice(data, size, most, to, to, fill, wanted - (to - from)) :
	       size;
}

/* a line goes, comes again, or comes elsewhere */
static size_t mutate_line(u8 *data, size_t size, size_t most, size_t at)
{
	size_t from = line_start(data, at), to = from, other = line_start(data, draw(size));
	char line[256];
	size_t n;

	while (to < size && data[to++] != '\n')
		;
	n = min(to - from, sizeof(line));
	memcpy(line, data + from, n);
	if (!draw(3))
		return splice(data, size, most, from, from + n, "", 0);
	if (draw(2))
		other = from;
	return splice(data, size, most, other, other, line, n);
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t most, unsigned int seed)
{
	size_t n;

	draw_state = seed;
	/* the corpus is mostly of texts that are refused, each in its own way */
	if (draw(2) && most >= sizeof(good_text)) {
		size = sizeof(good_text) - 1;
		memcpy(data, good_text, size);
	}
	for (n = 1 + draw(3); n && size; n--) {
		u64 way = draw(16);

		if (way < 9)
			size = mutate_word(data, size, most, draw(size));
		else if (way < 13)
			size = mutate_line(data, size, most, draw(size));
		else if (way < 14 && !draw(4))
			size = mutate_end(data, size, most);
		else if (way < 14)
			size = mutate_length(data, size, most, draw(size));
		else
			size = LLVMFuzzerMutate(data, size, most);
	}
	return size ? size : LLVMFuzzerMutate(data, size, most);
}

/* ---- the input ---- */

/* numbers that do not fit 64 bits and fractions of too many digits must have been refused */
static void check_word(const char *word)
{
	size_t digits = strspn(word, "0123456789");
	__uint128_t number = 0;

	if (!strncmp(word, "0.", 2))
		fuzz_check(strlen(word + 2) <= 18);
	if (!digits || word[digits])
		return;
	for (; *word; word++) {
		number = number * 10 + *word - '0';
		fuzz_check(number <= U64_MAX);
	}
}

static bool is_free_text(const char *word)
{
	static const char * const names[] = { "vendor", "product", "serial", "revision", "wwn",
					      "distrusted" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i]))
			return true;
	return word[0] == '#';
}

/* of a text that was accepted */
static void check_words(const char *text, size_t len)
{
	char *copy = strndup(text, len), *lines = copy, *line, *word;

	while ((line = strsep(&lines, "\n"))) {
		word = strtok(line, " \t");
		if (!word || is_free_text(word))
			continue;
		while ((word = strtok(NULL, " \t")))
			if (strcmp(line, "end"))
				check_word(word);
	}
	free(copy);
}

static void try_text(const char *text, size_t len)
{
	struct dm_fault err = { 0 };
	struct disk_model *dm = NULL;

	draw_state = crc32_le(~0U, (const u8 *)text, len);
	if (!fb_model_text_parse(text, len, &dm, &err)) {
		dm_free(dm);
		check_words(text, len);
		return;
	}
	fuzz_check(!dm && err.reason[0] && memchr(err.reason, '\0', sizeof(err.reason)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = malloc(size + 64);
	size_t len = size;

	/* without a byte to spare, so that a read beyond it is seen */
	try_text((const char *)data, size);
	memcpy(text, data, size);
	if (!len || text[len - 1] != '\n')
		text[len++] = '\n';
	len += sprintf(text + len, "end %zu %08x\n", len, ~crc32_le(~0U, (const u8 *)text, len));
	text = realloc(text, len);
	try_text(text, len);
	free(text);
	return 0;
}
