// SPDX-License-Identifier: GPL-2.0
/*
 * Random arguments of /dev/freeblock's calls, under the sanitizers, deterministic. What is
 * accepted must be what include/uapi/freeblock.h allows, and usable: a range of whole blocks of
 * the disk that has all that was asked for and, within the block device, no more. What is
 * refused has one of the call's errors and a reason of one line.
 *
 *   fuzz_user_check                       the rounds of "make check"
 *   fuzz_user_check <rounds> [<seed>]
 *
 * Planted bugs, each seen to fail: the sum of a range's ends compared instead of its length
 * (it wraps at 64 bits); the name's end not looked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tasks/user_check.h"
#include "tests/unit/support.h"

#define ROUNDS 300000

static unsigned long rounds = ROUNDS;
static struct rnd rnd = { 2026 };

/* near @near, or anything */
static u64 number(u64 near)
{
	switch (rnd_below(&rnd, 7)) {
	case 0: return rnd_next(&rnd);
	case 1: return rnd_next(&rnd) << 32;
	case 2: return 0;
	case 3: return 0 - rnd_below(&rnd, near + 1);
	case 4: return near + rnd_below(&rnd, 9) - 4;
	default: return near ? rnd_below(&rnd, near) : 0;
	}
}

static int judge(int ret, const struct fb_user_check_why *why)
{
	if (!ret)
		return 0;
	assert_true(ret == -EINVAL || ret == -ERANGE || ret == -E2BIG || ret == -EOPNOTSUPP ||
		    ret == -EPROTONOSUPPORT);
	assert_true(why->text[0] && memchr(why->text, 0, sizeof(why->text)));
	assert_null(strchr(why->text, '\n'));
	return ret;
}

static void one_range(void)
{
	u32 granule = 8U << rnd_below(&rnd, 4);
	u64 disk = 1 + rnd_below(&rnd, 1ULL << (8 + rnd_below(&rnd, 36)));
	u64 start = rnd_below(&rnd, disk);
	const struct fb_user_check_place at = {
		start, 1 + rnd_below(&rnd, disk - start), disk, granule, 1,
	};
	struct freeblock_range was = { number(at.sectors), number(at.sectors), number(2) }, r;
	struct fb_user_check_why why = {};
	u64 begin, end;

	if (rnd_below(&rnd, 2))
		was.first = was.first / granule * granule - (at.start & (granule - 1));
	if (rnd_below(&rnd, 2))
		was.count = was.count / granule * granule;
	r = was;
	if (judge(fb_user_check_range(&at, &r, 5, false, &why), &why))
		return;
	assert_true(was.count && was.count <= at.sectors && was.first <= at.sectors - was.count);
	begin = at.start + was.first;
	end = begin + was.count;
	assert_true(r.first % granule == 0 && r.first <= begin && begin - r.first < granule);
	assert_true(r.first + r.count <= disk && r.first + r.count >= end);
	assert_true(r.first + r.count == disk || (r.first + r.count) % granule == 0);
	/* what is more than was asked for lies outside of the block device */
	assert_true(r.first == begin || begin == at.start);
	assert_true(r.first + r.count == end || end == at.start + at.sectors);
	assert_int_equal(r.user_data, was.user_data);
}

static void one_setup(void)
{
	struct freeblock_ioc_setup s = {
		.flags = number(8), .priority = (s32)number(4), .buffer_kib = number(65536),
		.order = rnd_below(&rnd, 4), .regions = rnd_below(&rnd, 2),
		.segment_sectors = 8 * rnd_below(&rnd, 2), .foreground_ppm = number(500000),
		.pad = !rnd_below(&rnd, 16),
	};
	struct fb_user_check_why why = {};
	u32 n = rnd_below(&rnd, 18), i;

	for (i = 0; i < n && i < sizeof(s.name); i++)
		s.name[i] = rnd_below(&rnd, 64) ? '!' + rnd_below(&rnd, 94) : rnd_next(&rnd);
	if (judge(fb_user_check_setup(&s, &why), &why))
		return;
	assert_true(s.flags < 8 && s.priority >= -4 && s.priority <= 3 && !s.pad);
	assert_true(s.foreground_ppm <= 500000 && s.order <= 2);
	assert_true(!s.buffer_kib || (s.buffer_kib >= 64 && s.buffer_kib <= 65536));
	assert_true((s.order == 2) == !!s.regions && !s.regions == !s.segment_sectors);
	assert_non_null(memchr(s.name, 0, sizeof(s.name)));
	for (i = 0; s.name[i]; i++)
		assert_true(s.name[i] > ' ' && s.name[i] < 127);
}

static void one_bits(void)
{
	u64 blocks = 1 + rnd_below(&rnd, 1ULL << (3 + rnd_below(&rnd, 40)));
	struct freeblock_ioc_bits b = { .first = number(blocks), .count = number(blocks) };
	struct fb_user_check_why why = {};

	if (rnd_below(&rnd, 2))
		b.first &= ~7ULL;
	if (rnd_below(&rnd, 2))
		b.count &= ~7ULL;
	if (judge(fb_user_check_bits(&b, blocks, &why), &why))
		return;
	assert_true(b.count && b.count <= FREEBLOCK_BITS_MAX && b.first % 8 == 0);
	assert_true(b.count <= blocks && b.first <= blocks - b.count);
	assert_true(b.count % 8 == 0 || b.first + b.count == blocks);
}

static void one_probe(void)
{
	u32 logical = 1U << rnd_below(&rnd, 4), granule = 8U << rnd_below(&rnd, 4);
	u64 disk = 1 + rnd_below(&rnd, 1ULL << (8 + rnd_below(&rnd, 36)));
	u64 start = rnd_below(&rnd, disk);
	const struct fb_user_check_place at = {
		start, 1 + rnd_below(&rnd, disk - start), disk, granule, logical,
	};
	struct freeblock_ioc_probes call = {
		.probe_bytes = number(40), .nprobes = number(256), .timeout_ms = number(3600000),
		.done = !rnd_below(&rnd, 16), .pad = !rnd_below(&rnd, 16),
	};
	struct freeblock_probe p = {
		.first = number(at.sectors), .count = number(granule),
		.flags = !rnd_below(&rnd, 16), .pad = !rnd_below(&rnd, 16),
	};
	struct fb_user_check_why why = {};

	if (!judge(fb_user_check_probes(&call, &why), &why))
		assert_true(call.probe_bytes >= 40 && call.probe_bytes <= 4096 && call.nprobes &&
			    call.nprobes <= 256 && call.timeout_ms <= 3600000 && !call.done &&
			    !call.pad);
	if (rnd_below(&rnd, 2))
		p.first = p.first / logical * logical - (at.start & (logical - 1));
	if (rnd_below(&rnd, 2))
		p.count = p.count / logical * logical;
	if (judge(fb_user_check_probe(&at, &p, 5, &why), &why))
		return;
	assert_true(p.count && p.count <= granule && !p.flags && !p.pad);
	assert_true(p.count <= at.sectors && p.first <= at.sectors - p.count);
	assert_true((start + p.first) % logical == 0 && p.count % logical == 0);
}

static void one_array(void)
{
	struct freeblock_ioc_ranges r = {
		.range_bytes = number(24), .nranges = number(1024), .flags = number(2),
	};
	struct freeblock_ioc_api a = { .version = number(2), .features = number(8) };
	struct fb_user_check_why why = {};

	if (!judge(fb_user_check_ranges(&r, 1024, 1, &why), &why))
		assert_true(r.range_bytes >= 24 && r.range_bytes <= 4096 && r.flags <= 1 &&
			    r.nranges && r.nranges <= 1024);
	if (!judge(fb_user_check_api(&a, &why), &why))
		assert_true(a.version == 1 && a.features <= 7);
}

static void test_rounds(void **state)
{
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		one_range();
		one_setup();
		one_bits();
		one_array();
		one_probe();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
	};

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		rnd.state = strtoull(argv[2], NULL, 0);
	return cmocka_run_group_tests_name("fuzz_user_check", tests, NULL, NULL);
}
