// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of what programs pass to /dev/freeblock (tasks/user_check.c): each field at its bounds,
 * by include/uapi/freeblock.h. Random arguments are tests/fuzz/target_ioctl.c's.
 *
 * Seen to fail with: fields behind what is known not looked at; a range's index not told; a
 * range that is rounded beyond the end of the disk.
 */
#include "tasks/user_check.h"
#include "support.h"

/* no holes: 32-bit programs see the same; the sizes are in tasks/user_check.c */
static_assert(offsetof(struct freeblock_ioc_api, features) == 8);
static_assert(offsetof(struct freeblock_ioc_setup, deadline_ns) == 16);
static_assert(offsetof(struct freeblock_ioc_setup, name) == 48);
static_assert(offsetof(struct freeblock_ioc_setup, sectors) == 64);
static_assert(offsetof(struct freeblock_ioc_setup, granule_sectors) == 88);
static_assert(offsetof(struct freeblock_ioc_ranges, ranges) == 8);
static_assert(offsetof(struct freeblock_ioc_ranges, nranges) == 16);
static_assert(offsetof(struct freeblock_ioc_progress, total) == 16);
static_assert(offsetof(struct freeblock_ioc_progress, queued) == 48);
static_assert(offsetof(struct freeblock_ioc_progress, stalled_ns) == 56);
static_assert(offsetof(struct freeblock_ioc_urgency, deadline_ns) == 8);
static_assert(offsetof(struct freeblock_ioc_bits, first) == 8);
static_assert(offsetof(struct freeblock_record, first) == 8);
static_assert(offsetof(struct freeblock_record, sectors) == 24);

static struct fb_user_check_why why;

#define SETUP(want, ...) do {								\
		struct freeblock_ioc_setup s = { .size = sizeof(s), __VA_ARGS__ };	\
											\
		assert_int_equal(fb_user_check_setup(&s, &why), want);			\
	} while (0)

/*
 * Numbers as they are frozen: direction, size of the first version, 0xfb, number. Seen to fail with
 * the size of a structure that has grown, and with a call without direction.
 */
TEST(test_numbers)
{
	static const struct {
		unsigned int is, dir, size;
	} row[] = {
		{ FREEBLOCK_IOC_API, _IOC_READ | _IOC_WRITE, 24 },
		{ FREEBLOCK_IOC_SETUP, _IOC_READ | _IOC_WRITE, 104 },
		{ FREEBLOCK_IOC_ADD, _IOC_WRITE, 24 },
		{ FREEBLOCK_IOC_REMOVE, _IOC_WRITE, 24 },
		{ FREEBLOCK_IOC_PROMOTE, _IOC_WRITE, 24 },
		{ FREEBLOCK_IOC_START, _IOC_NONE, 0 },
		{ FREEBLOCK_IOC_PAUSE, _IOC_NONE, 0 },
		{ FREEBLOCK_IOC_RESUME, _IOC_NONE, 0 },
		{ FREEBLOCK_IOC_STOP, _IOC_NONE, 0 },
		{ FREEBLOCK_IOC_URGENCY, _IOC_WRITE, 24 },
		{ FREEBLOCK_IOC_PROGRESS, _IOC_READ | _IOC_WRITE, 64 },
		{ FREEBLOCK_IOC_GET_COVERAGE, _IOC_WRITE, 32 },
		{ FREEBLOCK_IOC_SET_COVERAGE, _IOC_WRITE, 32 },
		{ FREEBLOCK_IOC_REASON, _IOC_READ | _IOC_WRITE, 200 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row); i++)
		assert_int_equal(row[i].is, _IOC(row[i].dir, 0xfb, i, row[i].size));
}

TEST(test_size)
{
	assert_int_equal(fb_user_check_size(23, 24, &why), -EINVAL);
	assert_int_equal(fb_user_check_size(24, 24, &why), 0);
	assert_int_equal(fb_user_check_size(FB_USER_CHECK_SIZE_MAX, 24, &why), 0);
	assert_int_equal(fb_user_check_size(FB_USER_CHECK_SIZE_MAX + 1, 24, &why), -E2BIG);
}

TEST(test_setup)
{
	SETUP(0, .fd = 3);
	SETUP(0, .flags = 7, .priority = -4, .buffer_kib = 64, .foreground_ppm = 500000);
	SETUP(0, .priority = 3, .buffer_kib = 65536, .name = "fifteen-letters");
	SETUP(0, .order = FREEBLOCK_ORDER_STAGGERED, .regions = 1, .segment_sectors = 8);
	SETUP(-EINVAL, .flags = 8);
	SETUP(-EINVAL, .priority = -5);
	SETUP(-EINVAL, .priority = 4);
	SETUP(-EINVAL, .buffer_kib = 63);
	SETUP(-EINVAL, .buffer_kib = 65537);
	SETUP(-EINVAL, .foreground_ppm = 500001);
	SETUP(-EINVAL, .order = 3);
	SETUP(-EINVAL, .order = FREEBLOCK_ORDER_SEQUENTIAL, .regions = 1);
	SETUP(-EINVAL, .order = FREEBLOCK_ORDER_STAGGERED, .regions = 1);
	SETUP(-EINVAL, .pad = 1);
	SETUP(-EINVAL, .name = "two words");
	SETUP(-EINVAL, .name = "tab\t");
	SETUP(-EINVAL, .name = "caf\xe9");
	/* no room for the NUL at its end */
	SETUP(-EINVAL, .name = "sixteen-letters!");
}

TEST(test_api)
{
	struct freeblock_ioc_api a = { .version = 1, .features = FB_USER_CHECK_FEATURES };

	assert_int_equal(fb_user_check_api(&a, &why), 0);
	a.features = 8;
	assert_int_equal(fb_user_check_api(&a, &why), -EOPNOTSUPP);
	a.version = 2;
	assert_int_equal(fb_user_check_api(&a, &why), -EPROTONOSUPPORT);
}

/* a partition of blocks of 8 that begins and ends within one; the disk's last one is short, too */
#define BAD(first, count, ret) { first, count, ret, 0, 0 }

TEST(test_range)
{
	const struct fb_user_check_place at = { 1003, 100, 1100 + 3, 8, 1 };
	static const struct {
		u64 first, count;
		int ret;
		u64 begin, end;
	} row[] = {
		{ 0, 5, 0, 1000, 1008 }, { 0, 100, 0, 1000, 1103 }, { 5, 8, 0, 1008, 1016 },
		{ 93, 7, 0, 1096, 1103 }, { 5, 95, 0, 1008, 1103 },
		BAD(0, 0, -EINVAL), BAD(0, 8, -EINVAL), BAD(1, 4, -EINVAL), BAD(8, 8, -EINVAL),
		BAD(100, 1, -ERANGE), BAD(0, 101, -ERANGE), BAD(5, 96, -ERANGE),
		BAD(5, U64_MAX - 4, -ERANGE), BAD(U64_MAX, 1, -ERANGE),
		BAD(U64_MAX, U64_MAX, -ERANGE),
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		struct freeblock_range r = { .first = row[i].first, .count = row[i].count };

		assert_int_equal(fb_user_check_range(&at, &r, 77, true, &why), row[i].ret);
		if (row[i].ret) {
			assert_non_null(strstr(why.text, "range 77"));
			assert_int_equal(r.first, row[i].first);
			continue;
		}
		assert_int_equal(r.first, row[i].begin);
		assert_int_equal(r.first + r.count, row[i].end);
	}
	assert_int_equal(fb_user_check_blocks(&at), 13);
}

TEST(test_ranges)
{
	struct freeblock_ioc_ranges r = { .range_bytes = 24, .nranges = 1024, .flags = 1 };
	struct freeblock_range marked = { .count = 8, .user_data = 1 };
	const struct fb_user_check_place at = { 0, 80, 80, 8, 1 };

	assert_int_equal(fb_user_check_ranges(&r, 1024, 1, &why), 0);
	assert_int_equal(fb_user_check_ranges(&r, 1023, 1, &why), -EINVAL);
	assert_int_equal(fb_user_check_ranges(&r, 1024, 0, &why), -EINVAL);
	r.range_bytes = 23;
	assert_int_equal(fb_user_check_ranges(&r, 1024, 1, &why), -EINVAL);
	r.range_bytes = 32;
	assert_int_equal(fb_user_check_ranges(&r, 1024, 1, &why), 0);
	r.range_bytes = 4097;
	assert_int_equal(fb_user_check_ranges(&r, 1024, 1, &why), -E2BIG);
	r.range_bytes = 24;
	r.nranges = 0;
	assert_int_equal(fb_user_check_ranges(&r, 1024, 1, &why), -EINVAL);
	assert_int_equal(fb_user_check_range(&at, &marked, 0, false, &why), 0);
	assert_int_equal(fb_user_check_range(&at, &marked, 0, true, &why), -EINVAL);
}

TEST(test_bits)
{
	static const struct {
		u64 first, count;
		int ret;
	} row[] = {
		{ 0, 8, 0 }, { 0, 1003, 0 }, { 1000, 3, 0 }, { 8, 995, 0 }, { 0, 0, -EINVAL },
		{ 4, 8, -EINVAL }, { 0, 4, -EINVAL }, { 1000, 2, -EINVAL }, { 1000, 4, -ERANGE },
		{ 1008, 8, -ERANGE }, { 8, 996, -ERANGE },
		{ 0, FREEBLOCK_BITS_MAX + 8ULL, -EINVAL }, { U64_MAX - 7, 8, -ERANGE },
	};
	struct freeblock_ioc_bits padded = { .pad = 1, .count = 8 };
	const u8 bits[] = { 0xff, 0x07 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		struct freeblock_ioc_bits b = { .first = row[i].first, .count = row[i].count };

		assert_int_equal(fb_user_check_bits(&b, 1003, &why), row[i].ret);
	}
	assert_int_equal(fb_user_check_bits(&padded, 1003, &why), -EINVAL);
	assert_int_equal(fb_user_check_bits_end(bits, 11, &why), 0);
	assert_int_equal(fb_user_check_bits_end(bits, 10, &why), -EINVAL);
	assert_int_equal(fb_user_check_bits_end(bits, 8, &why), 0);
}

TEST(test_probes)
{
	const struct freeblock_ioc_probes good = {
		.probe_bytes = 40, .nprobes = 256, .timeout_ms = 3600000,
	};
	struct freeblock_ioc_probes p = good;

	assert_int_equal(fb_user_check_probes(&p, &why), 0);
#define PROBES(ret, change) do {								\
		p = good;									\
		change;										\
		assert_int_equal(fb_user_check_probes(&p, &why), ret);				\
	} while (0)
	PROBES(-EINVAL, p.probe_bytes = 39);
	PROBES(0, p.probe_bytes = 4096);
	PROBES(-E2BIG, p.probe_bytes = 4097);
	PROBES(-EINVAL, p.nprobes = 257);
	PROBES(-EINVAL, p.nprobes = 0);
	PROBES(-EINVAL, p.timeout_ms = 3600001);
	PROBES(-EINVAL, p.done = 1);
	PROBES(-EINVAL, p.pad = 1);
}

/* a partition of a disk of 4096-byte blocks, which begins within a granule */
TEST(test_probe)
{
	const struct fb_user_check_place at = { 1000, 104, 1104, 16, 8 };
	static const struct {
		u64 first;
		u32 count;
		int ret;
	} row[] = {
		{ 0, 8, 0 }, { 8, 16, 0 }, { 96, 8, 0 }, { 0, 0, -EINVAL }, { 0, 24, -EINVAL },
		{ 0, 4, -EINVAL }, { 4, 8, -EINVAL }, { 96, 16, -ERANGE }, { 104, 8, -ERANGE },
		{ U64_MAX - 7, 8, -ERANGE }, { U64_MAX, 8, -ERANGE },
	};
	struct freeblock_probe p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		p = (struct freeblock_probe) { .first = row[i].first, .count = row[i].count };
		assert_int_equal(fb_user_check_probe(&at, &p, 77, &why), row[i].ret);
		assert_true(!row[i].ret || strstr(why.text, "probe 77"));
	}
#define RETURNED(field) do {									\
		p = (struct freeblock_probe) { .count = 8, .field = 1 };			\
		assert_int_equal(fb_user_check_probe(&at, &p, 0, &why), -EINVAL);		\
	} while (0)
	RETURNED(status);
	RETURNED(sent_ns);
	RETURNED(ended_ns);
	RETURNED(flags);
	RETURNED(pad);
}
