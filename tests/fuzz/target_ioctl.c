// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: tasks/user_check.c, the checks of what programs pass to the ioctls of
 * /dev/freeblock. The memory of a caller is made from the input and decoded as the module does
 * it: size, bytes that the module does not know, fields. Each verdict must be the one that
 * include/uapi/freeblock.h promises, told here once more, and each refusal must have a reason.
 *
 * Planted bugs, each seen to fail within two seconds: ends of ranges and of coverage that wrap
 * at 64 bits; a byte read behind the bits; a name that does not end; too large a structure.
 */
#include <assert.h>
#include <errno.h>

#include "tasks/user_check.h"
#include "fuzz.h"

#define CALLS 8
#define RANGES_MOST 64

/* the verdict is the one expected, and a refusal has one line that says why */
static int verdict(int ret, int expected, struct fb_user_check_why *why)
{
	const char *end = memchr(why->text, '\0', sizeof(why->text));

	fuzz_check(ret == expected);
	fuzz_check(!ret || (end && end > why->text && !memchr(why->text, '\n', end - why->text)));
	memset(why, 0xa5, sizeof(*why));
	return ret;
}

/* ---- structures that grow ---- */

/* fill a structure that this module knows @known bytes of; returns what the caller gets */
static int decode(struct fuzz_bytes *in, void *to, u32 known, struct fb_user_check_why *why)
{
	u8 way = fuzz_byte(in);
	u32 size = way & 1 ? (u32)fuzz_number(in) : known + (way >> 1) % 40;
	u8 *user;
	int ret;

	ret = fb_user_check_size(size, known, why);
	if (verdict(ret, size < known ? -EINVAL : size > 4096 ? -E2BIG : 0, why))
		return ret;
	user = calloc(1, size);
	fuzz_take(in, user, known);
	if (way & 0x80)
		user[fuzz_number(in) % size] = 1;
	memcpy(user, &size, sizeof(size));
	memcpy(to, user, known);
	free(user);
	return ret;
}

/* ---- agreement and set-up ---- */

static bool try_api(struct fuzz_bytes *in, struct fb_user_check_why *why)
{
	struct freeblock_ioc_api a;
	int expected = 0;

	if (decode(in, &a, sizeof(a), why))
		return false;
	if (a.version != 1)
		expected = -EPROTONOSUPPORT;
	else if (a.features > 7)
		expected = -EOPNOTSUPP;
	return !verdict(fb_user_check_api(&a, why), expected, why);
}

static bool is_urgency(s32 priority, u32 ppm)
{
	return priority >= -4 && priority <= 3 && ppm <= 500000;
}

static bool is_setup(const struct freeblock_ioc_setup *s)
{
	bool staggered = s->order == FREEBLOCK_ORDER_STAGGERED;
	bool both = s->regions && s->segment_sectors;
	const char *end = memchr(s->name, '\0', sizeof(s->name)), *c;

	if (!end)
		return false;
	for (c = s->name; c < end; c++)
		if (*c < '!' || *c > '~')
			return false;
	return s->flags < 8 && !s->pad && s->order <= 2 &&
	       (!s->buffer_kib || (s->buffer_kib >= 64 && s->buffer_kib <= 65536)) &&
	       (staggered ? both : !s->regions && !s->segment_sectors) &&
	       is_urgency(s->priority, s->foreground_ppm);
}

static bool try_setup(struct fuzz_bytes *in, struct fb_user_check_why *why)
{
	struct freeblock_ioc_setup s;

	if (decode(in, &s, sizeof(s), why))
		return false;
	return !verdict(fb_user_check_setup(&s, why), is_setup(&s) ? 0 : -EINVAL, why);
}

static bool try_urgency(struct fuzz_bytes *in, struct fb_user_check_why *why)
{
	struct freeblock_ioc_urgency u;

	if (decode(in, &u, sizeof(u), why))
		return false;
	return !verdict(fb_user_check_urgency(u.priority, u.foreground_ppm, why),
			is_urgency(u.priority, u.foreground_ppm) ? 0 : -EINVAL, why);
}

/* ---- ranges ---- */

/* a block device on a disk, as there may be */
static void take_place(struct fuzz_bytes *in, struct fb_user_check_place *at)
{
	at->granule = 8U << fuzz_byte(in) % 9;
	at->logical = 1U << at->granule % 5;
	at->disk_sectors = 1 + fuzz_number(in) % (1ULL << 54);
	at->start = fuzz_number(in) % at->disk_sectors;
	at->sectors = 1 + fuzz_number(in) % (at->disk_sectors - at->start);
}

static int expected_of_range(const struct fb_user_check_place *at, const struct freeblock_range *r,
			     bool plain)
{
	__uint128_t begin = (__uint128_t)at->start + r->first, end = begin + r->count;

	if (!r->count)
		return -EINVAL;
	if (end > (__uint128_t)at->start + at->sectors)
		return -ERANGE;
	if (begin % at->granule && begin != at->start)
		return -EINVAL;
	if (end % at->granule && end != at->start + at->sectors)
		return -EINVAL;
	return plain && r->user_data ? -EINVAL : 0;
}

/* whole blocks, all those that the range touches and no other, up to the end of the disk */
static void check_whole(const struct fb_user_check_place *at, const struct freeblock_range *before,
			const struct freeblock_range *r)
{
	u64 begin = at->start + before->first, end = begin + before->count;
	u64 made = r->first + r->count;

	fuzz_check(r->first % at->granule == 0 && r->first <= begin);
	fuzz_check(begin - r->first < at->granule);
	fuzz_check(made >= end && made - end < at->granule && made <= at->disk_sectors);
	fuzz_check(made % at->granule == 0 || made == at->disk_sectors);
	fuzz_check(r->user_data == before->user_data);
}

static bool try_range(const struct fb_user_check_place *at, struct freeblock_range *r, bool plain,
		      struct fb_user_check_why *why)
{
	struct freeblock_range before = *r;
	int expected = expected_of_range(at, r, plain);

	if (!verdict(fb_user_check_range(at, r, 0, plain, why), expected, why)) {
		check_whole(at, &before, r);
		return true;
	}
	fuzz_check(!memcmp(r, &before, sizeof(before)));
	return false;
}

static bool try_ranges(struct fuzz_bytes *in, struct fb_user_check_why *why)
{
	struct freeblock_ioc_ranges a;
	struct fb_user_check_place at;
	bool plain = fuzz_byte(in) & 1, good;
	struct freeblock_range r;
	int expected = 0;

	if (decode(in, &a, sizeof(a), why))
		return false;
	if (a.flags & ~(plain ? 0U : 1U) || !a.nranges || a.nranges > RANGES_MOST ||
	    a.range_bytes < sizeof(r))
		expected = -EINVAL;
	else if (a.range_bytes > 4096)
		expected = -E2BIG;
	good = !verdict(fb_user_check_ranges(&a, RANGES_MOST,
					     plain ? 0 : FREEBLOCK_RANGES_UNCOVERED, why),
			expected, why);
	take_place(in, &at);
	r.first = fuzz_number(in);
	r.count = fuzz_number(in);
	r.user_data = fuzz_byte(in);
	if (fuzz_byte(in) & 1) {
		/* mostly within the device and on boundaries */
		r.first -= r.first ? at.start % at.granule : 0;
		r.count = r.count % 2 ? at.sectors - r.first : r.count * at.granule;
	}
	return try_range(&at, &r, plain, why) && good;
}

/* ---- coverage ---- */

static bool try_bits(struct fuzz_bytes *in, struct fb_user_check_why *why)
{
	struct fb_user_check_place at;
	struct freeblock_ioc_bits b;
	u64 blocks, first, end;
	int expected = 0;
	u8 last, bit;

	take_place(in, &at);
	first = at.start / at.granule;
	end = (at.start + at.sectors - 1) / at.granule;
	blocks = fb_user_check_blocks(&at);
	fuzz_check(blocks == end - first + 1);
	if (decode(in, &b, sizeof(b), why))
		return false;
	if (fuzz_byte(in) & 1)
		b.count = blocks - b.first;
	if (b.pad || !b.count || b.count > 8U << 20 || b.first % 8)
		expected = -EINVAL;
	else if (b.first >= blocks || b.count > blocks - b.first)
		expected = -ERANGE;
	else if (b.count % 8 && b.first + b.count < blocks)
		expected = -EINVAL;
	if (verdict(fb_user_check_bits(&b, blocks, why), expected, why))
		return false;
	/* only the last byte matters: it is all that there is, so that another one is not read */
	last = fuzz_byte(in);
	expected = 0;
	for (bit = b.count % 8; bit && bit < 8; bit++)
		expected = last >> bit & 1 ? -EINVAL : expected;
	return !verdict(fb_user_check_bits_end(&last - b.count / 8, b.count, why), expected, why);
}

/* ---- probes ---- */

static int expected_of_probe(const struct fb_user_check_place *at, const struct freeblock_probe *p)
{
	__uint128_t begin = (__uint128_t)at->start + p->first, end = begin + p->count;

	if (p->status || p->sent_ns || p->ended_ns || p->flags || p->pad)
		return -EINVAL;
	if (!p->count || p->count > at->granule)
		return -EINVAL;
	if (end > (__uint128_t)at->start + at->sectors)
		return -ERANGE;
	return begin % at->logical || end % at->logical ? -EINVAL : 0;
}

static bool try_probes(struct fuzz_bytes *in, struct fb_user_check_why *why)
{
	struct freeblock_ioc_probes a;
	struct fb_user_check_place at;
	struct freeblock_probe p = {};
	int expected = 0;
	bool good;

	if (decode(in, &a, sizeof(a), why))
		return false;
	if (a.pad || a.done || !a.nprobes || a.nprobes > 256 || a.timeout_ms > 3600000 ||
	    a.probe_bytes < sizeof(p))
		expected = -EINVAL;
	else if (a.probe_bytes > 4096)
		expected = -E2BIG;
	good = !verdict(fb_user_check_probes(&a, why), expected, why);
	take_place(in, &at);
	p.first = fuzz_number(in);
	p.count = fuzz_number(in);
	p.flags = !(fuzz_byte(in) % 8);
	if (fuzz_byte(in) & 1) {
		/* mostly within the device and on boundaries */
		p.first = p.first % at.sectors / at.logical * at.logical;
		p.first -= p.first ? at.start % at.logical : 0;
		p.count = p.count % 8 * at.logical;
	}
	return !verdict(fb_user_check_probe(&at, &p, 0, why), expected_of_probe(&at, &p), why) &&
	       good;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_bytes in = { data, size };
	struct fb_user_check_why why;
	bool deep = false;
	u32 calls;

	memset(&why, 0xa5, sizeof(why));
	for (calls = 0; calls < CALLS && in.left; calls++) {
		switch (fuzz_byte(&in) % 6) {
		case 0:
			deep |= try_api(&in, &why);
			break;
		case 1:
			deep |= try_setup(&in, &why);
			break;
		case 2:
			deep |= try_urgency(&in, &why);
			break;
		case 3:
			deep |= try_ranges(&in, &why);
			break;
		case 4:
			deep |= try_probes(&in, &why);
			break;
		default:
			deep |= try_bits(&in, &why);
		}
	}
	fuzz_deep += deep;
	return 0;
}
