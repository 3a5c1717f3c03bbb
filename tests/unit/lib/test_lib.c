// SPDX-License-Identifier: GPL-2.0
/*
 * libfreeblock against a made-up module (fake.c): what calls hand over, records of all kinds,
 * time-outs, ends, coverage in files, structures of older and newer programs.
 *
 * Seen to fail: records in the buffer not taken out of the saved coverage; the record that
 * fb_next() returned last counted as done; the checksum of the bits not looked at; the disk's id
 * not compared; a time-out begun anew after each poll(); a tail of larger options not looked at;
 * the data of a record with a longer header taken from behind 32 bytes; a call and its reason not
 * under one lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../unit.h"
#include "fake.h"
#include "freeblock/freeblock.h"

#define BLOCKDEV "/dev/zero"	/* any file will do for the made-up module */
#define CALLS(call) (fake.calls[_IOC_NR(FREEBLOCK_IOC_##call)])

static char folder[32], path[64];

int setup(void **state)
{
	fake_reset();
	strcpy(folder, "/tmp/test_lib.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/coverage", folder);
	return 0;
}

int teardown(void **state)
{
	unlink(path);
	/* nothing else is left there, and no file open */
	return rmdir(folder) || fake.opened;
}

static struct fb_task *opened(uint32_t flags)
{
	struct fb_options options = { .size = sizeof(options), .flags = flags };
	struct fb_task *task = fb_open(BLOCKDEV, &options);

	if (!task)
		fail_msg("%s", fb_error());
	return task;
}

static void assert_fails(long result, int error, const char *words)
{
	assert_int_equal(result, -1);
	assert_int_equal(errno, error);
	if (!strstr(fb_error(), words))
		fail_msg("'%s' has no '%s'", fb_error(), words);
}

static void assert_data(const struct fb_record *record)
{
	const unsigned char *data = record->data;
	size_t i;

	assert_int_equal(record->data_bytes, 512 * record->sectors);
	for (i = 0; i < record->data_bytes; i++)
		if (data[i] != fake_byte(fake.start + record->first + i / 512, i % 512))
			fail_msg("sector %lu, byte %zu", record->first, i);
}

/* Take all records: their sectors; each must come once */
static unsigned int take_all(struct fb_task *task, unsigned char *seen)
{
	const struct fb_record *record;
	unsigned int sectors = 0, i;
	int found;

	while ((found = fb_next(task, &record, -1)) > 0) {
		assert_int_equal(record->type, FB_BLOCKS);
		if (record->status == FB_OK)
			assert_data(record);
		for (i = 0; i < record->sectors; i++)
			assert_int_equal(seen[record->first + i]++, 0);
		sectors += record->sectors;
	}
	assert_int_equal(found, 0);
	return sectors;
}

TEST(test_whole)
{
	unsigned char seen[1000] = { 0 };
	struct fb_task *task = fb_open(BLOCKDEV, NULL);

	assert_non_null(task);
	assert_int_equal(fb_geometry(task)->sectors, 1000);
	assert_int_equal(fb_geometry(task)->blocks, 125);
	assert_int_equal(fb_geometry(task)->granule_sectors, 8);
	assert_int_equal(fb_want(task, 0, FB_REST, 0, 0), 0);
	assert_int_equal(take_all(task, seen), 1000);
	assert_int_equal(CALLS(START), 1);
	fb_close(task);
	fb_close(NULL);
}

/* A partition in the middle of blocks; headers that have grown; records of unknown types */
TEST(test_records)
{
	unsigned char seen[1000] = { 0 };
	struct fb_task *task;
	const struct fb_record *record;

	fake.start = 99;
	fake.header_bytes = 48;
	fake.strange = 1;
	fake.bad = 5;
	task = opened(0);
	assert_int_equal(fb_geometry(task)->start_sector, 99);
	assert_int_equal(fb_want(task, 0, 5, 0x123456789abcdef0, 0), 0);
	assert_int_equal(fb_next(task, &record, -1), 1);
	assert_int_equal(record->user_data, 0x123456789abcdef0);
	assert_int_equal(record->sectors, 5);
	assert_data(record);
	fb_close(task);
	task = opened(0);
	assert_int_equal(fb_want(task, 5, 8, 7, 0), 0);
	assert_int_equal(fb_next(task, &record, -1), 1);
	assert_int_equal(record->status, FB_UNREADABLE);
	assert_null(record->data);
	assert_int_equal(record->data_bytes, 0);
	fb_close(task);
	task = opened(0);
	assert_int_equal(fb_want(task, 0, FB_REST, 0, 0), 0);
	assert_int_equal(take_all(task, seen), 1000);
	fb_close(task);
}

/* Options come as they were given */
TEST(test_options)
{
	struct fb_options options = {
		.size = sizeof(options), .flags = FB_MEDIUM | FB_KEEP, .priority = -4,
		.order = FB_STAGGERED, .deadline_ns = 1ull << 40, .regions = 3,
		.segment_sectors = 64, .foreground_ppm = 5, .buffer_kib = 128, .name = "backup",
	};
	struct fb_task *task = fb_open(BLOCKDEV, &options);

	assert_non_null(task);
	assert_int_equal(fake.setup.size, sizeof(fake.setup));
	assert_int_equal(fake.setup.flags, FREEBLOCK_SETUP_MEDIUM | FREEBLOCK_SETUP_KEEP);
	assert_int_equal(fake.setup.priority, -4);
	assert_int_equal(fake.setup.order, FREEBLOCK_ORDER_STAGGERED);
	assert_int_equal(fake.setup.deadline_ns, 1ull << 40);
	assert_int_equal(fake.setup.regions, 3);
	assert_int_equal(fake.setup.segment_sectors, 64);
	assert_int_equal(fake.setup.foreground_ppm, 5);
	assert_int_equal(fake.setup.buffer_kib, 128);
	assert_string_equal(fake.setup.name, "backup");
	assert_int_equal(fb_urgency(task, 3, 17, 19), 0);
	assert_int_equal(fake.setup.priority, 3);
	assert_int_equal(fake.setup.deadline_ns, 17);
	assert_int_equal(fake.setup.foreground_ppm, 19);
	assert_fails(fb_urgency(task, 8, 0, 0), EINVAL, "urgency: priority 8 is not between");
	fb_close(task);
	options.name = "a name of sixteen";
	assert_null(fb_open(BLOCKDEV, &options));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(fb_error(), "more than 15 characters"));
}

/* Structures of a newer program: more fields, set or not; of a broken one: too small */
TEST(test_sizes)
{
	struct {
		struct fb_options known;
		uint64_t more;
	} options = { .known.size = sizeof(options), .known.priority = 2 };
	struct {
		struct fb_task_progress known;
		uint64_t more;
	} progress = { .known.size = sizeof(progress), .more = 99 };
	struct fb_task *task = fb_open(BLOCKDEV, &options.known);

	assert_non_null(task);
	assert_int_equal(fake.setup.priority, 2);
	assert_int_equal(fb_progress(task, &progress.known), 0);
	assert_int_equal(progress.more, 0);
	assert_int_equal(progress.known.size, sizeof(progress));
	assert_int_equal(progress.known.buffer_blocks, 1024);
	assert_int_equal(progress.known.stalled_ns, 0x123456789abc);
	progress.known.size = 8;
	assert_fails(fb_progress(task, &progress.known), EINVAL, "no size of 8 bytes");
	fb_close(task);
	options.more = 1;
	assert_null(fb_open(BLOCKDEV, &options.known));
	assert_int_equal(errno, E2BIG);
	assert_non_null(strstr(fb_error(), "newer libfreeblock"));
	options.known.size = 8;
	assert_null(fb_open(BLOCKDEV, &options.known));
	assert_int_equal(errno, EINVAL);
	options = (typeof(options)) { .known.size = sizeof(options), .known.flags = 1u << 31 };
	assert_null(fb_open(BLOCKDEV, &options.known));
	assert_non_null(strstr(fb_error(), "unknown flags 0x80000000"));
}

TEST(test_open_refused)
{
	struct fb_options options = { .size = sizeof(options), .flags = FB_COVERAGE };

	assert_null(fb_open("/nowhere", NULL));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(fb_error(), "/nowhere: No such file or directory");
	fake.offered = 0;
	assert_null(fb_open(BLOCKDEV, &options));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_string_equal(fb_error(), "/dev/freeblock: this module lacks a feature");
	fake.version = 2;
	assert_null(fb_open(BLOCKDEV, NULL));
	assert_int_equal(errno, EPROTONOSUPPORT);
	fake.version = 0;
	assert_null(fb_open(BLOCKDEV, NULL));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(fb_error(), "load the module freeblock"));
	options.flags = 0;
	fake.version = 1;
	options.priority = 8;
	assert_null(fb_open(BLOCKDEV, &options));
	assert_string_equal(fb_error(), "/dev/zero: priority 8 is not between -4 and 3");
}

/* More ranges than a call takes; no room for all; wrong ones */
TEST(test_ranges)
{
	struct fb_range ranges[10];
	unsigned char seen[1000] = { 0 };
	const struct fb_record *record;
	struct fb_task *task = opened(FB_KEEP);
	int i;

	for (i = 0; i < 10; i++)
		ranges[i] = (struct fb_range) { 16 * i, 8, 100 + i };
	assert_int_equal(fb_want_ranges(task, ranges, 10, 0), 10);
	assert_int_equal(CALLS(ADD), 3);
	assert_int_equal(fb_unwant(task, 0, 16), 0);
	for (i = 0; i < 9; i++) {
		assert_int_equal(fb_next(task, &record, -1), 1);
		assert_int_equal(record->user_data, 100 + record->first / 16);
		assert_int_equal(seen[record->first]++, 0);
	}
	assert_fails(fb_next(task, &record, 0), ETIMEDOUT, "none yet");
	assert_int_equal(fb_promote(task, 0, 8), 0);
	fake.room = 6;
	assert_int_equal(fb_want_ranges(task, ranges, 10, 0), 4);
	assert_fails(fb_want_ranges(task, ranges + 4, 6, 0), ENOSPC, "want: too many ranges");
	assert_fails(fb_want(task, 4, 8, 0, 0), EINVAL, "within a block");
	assert_fails(fb_want(task, 0, 1001, 0, 0), ERANGE, "beyond the end");
	assert_fails(fb_want(task, 1000, FB_REST, 0, 0), ERANGE, "beyond the end");
	assert_fails(fb_want(task, 0, 8, 0, FB_UNCOVERED), EOPNOTSUPP, "not asked for");
	fb_close(task);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

TEST(test_timeouts)
{
	struct fb_task *task = opened(0);
	const struct fb_record *record;
	uint64_t began;

	assert_fails(fb_next(task, &record, -1), EINVAL, "start: nothing is declared");
	fb_want(task, 0, FB_REST, 0, 0);
	fake.lazy = ~0ull;
	assert_fails(fb_next(task, &record, 0), ETIMEDOUT, "none yet");
	/* wakes for nothing do not make it longer */
	began = now_ms();
	assert_fails(fb_next(task, &record, 30), ETIMEDOUT, "none yet");
	assert_in_range(now_ms() - began, 30, 3000);
	fake.silent = ~0ull;
	began = now_ms();
	assert_fails(fb_next(task, &record, 30), ETIMEDOUT, "none yet");
	assert_in_range(now_ms() - began, 30, 3000);
	fake.lazy = 3;
	fake.silent = 1;
	assert_int_equal(fb_next(task, &record, -1), 1);
	fb_close(task);
}

TEST(test_ends)
{
	struct fb_task *task = opened(0);
	const struct fb_record *record;
	struct fb_task_progress progress = { .size = sizeof(progress) };
	int n = 0, found;

	fb_want(task, 0, FB_REST, 0, 0);
	assert_fails(fb_pause(task), EBADFD, "pause: not started");
	assert_int_equal(fb_start(task), 0);
	assert_fails(fb_start(task), EALREADY, "start: started already");
	assert_int_equal(fb_pause(task), 0);
	assert_int_equal(fb_progress(task, &progress), 0);
	assert_int_equal(progress.state, FB_PAUSED);
	assert_string_equal(fb_waiting_for(progress.waiting_for),
			    "the disk is busy and no gap fits");
	assert_string_equal(fb_waiting_for(13), "something that libfreeblock does not know");
	assert_int_equal(fb_resume(task), 0);
	fake.gone = 2;
	assert_fails(fb_next(task, &record, -1), ENODEV, "the disk is gone");
	assert_fails(fb_next(task, &record, -1), ENODEV, "the disk is gone");
	fake.stop_after = 20;
	while ((found = fb_next(task, &record, -1)) > 0)
		n++;
	assert_fails(found, ECANCELED, "stopped before all was delivered");
	assert_int_equal(n, 21);
	assert_fails(fb_want(task, 0, 8, 0, 0), ESHUTDOWN, "stopped");
	fb_close(task);
}

TEST(test_events)
{
	struct fb_task *task = opened(FB_KEEP | FB_EVENTS);
	const struct fb_record *record;

	fb_want(task, 0, 8, 0, 0);
	assert_int_equal(fb_next(task, &record, -1), 1);
	assert_int_equal(record->type, FB_BLOCKS);
	assert_int_equal(fb_next(task, &record, -1), 1);
	assert_int_equal(record->type, FB_CAUGHT_UP);
	assert_int_equal(record->sectors, 0);
	assert_fails(fb_next(task, &record, 0), ETIMEDOUT, "none yet");
	fb_close(task);
}

/* An event that lay in the buffer when more was wanted is not true any more; the next one is */
TEST(test_late_event)
{
	struct fb_task *task = opened(FB_KEEP | FB_EVENTS);
	const struct fb_record *record;
	unsigned int i;

	fake.joined = true;
	fb_want(task, 0, 8, 0, 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fb_next(task, &record, -1), 1);
		assert_int_equal(record->type, FB_BLOCKS);
		assert_int_equal(record->first, 80 * i);
		if (i < 2)
			fb_want(task, 80 * (i + 1), 8, 0, 0);
	}
	/* what is refused is not wanted */
	assert_fails(fb_want(task, 4, 8, 0, 0), EINVAL, "within a block");
	assert_int_equal(fb_next(task, &record, -1), 1);
	assert_int_equal(record->type, FB_CAUGHT_UP);
	assert_int_equal(fake.reads, 3);
	assert_fails(fb_next(task, &record, 0), ETIMEDOUT, "none yet");
	fb_close(task);
}

/* A header that cannot be one ends it */
TEST(test_nonsense)
{
	struct fb_task *task = opened(FB_NO_DATA);
	const struct fb_record *record;

	fake.header_bytes = 40;
	fb_want(task, 0, FB_REST, 0, 0);
	assert_int_equal(fb_next(task, &record, -1), 1);
	fb_close(task);
	task = opened(FB_NO_DATA);
	fb_want(task, 0, FB_REST, 0, 0);
	fake.header_bytes = 24;
	assert_fails(fb_next(task, &record, -1), EBADMSG, "not understood");
	fb_close(task);
}

/* ---- coverage ---- */

static struct fb_task *interrupted(unsigned int records, unsigned char *seen)
{
	struct fb_task *task = opened(FB_COVERAGE);
	const struct fb_record *record;

	assert_int_equal(fb_want(task, 0, FB_REST, 0, 0), 0);
	while (records--) {
		assert_int_equal(fb_next(task, &record, -1), 1);
		if (records)
			memset(seen + record->first, 1, record->sectors);
	}
	return task;
}

/*
 * Saved in the middle of a buffer: what waits there, and what was taken last, comes again, and
 * nothing else does
 */
TEST(test_resume)
{
	unsigned int records;

	fake.start = 99;
	for (records = 1; records < 30; records++) {
		unsigned char seen[1000] = { 0 };
		struct fb_task *task = interrupted(records, seen);
		unsigned int i, before = 0;

		assert_int_equal(fb_coverage_save(task, path), 0);
		fb_close(task);
		for (i = 0; i < 1000; i++)
			before += seen[i];
		task = opened(FB_COVERAGE);
		assert_int_equal(fb_coverage_restore(task, path), 0);
		assert_int_equal(fb_want(task, 0, FB_REST, 0, FB_UNCOVERED), 0);
		assert_int_equal(take_all(task, seen) + before, 1000);
		fb_close(task);
	}
}

/* All is covered: that is the end, not an error; with nothing wanted it is one */
TEST(test_resume_all)
{
	struct fb_task *task = opened(FB_COVERAGE);
	const struct fb_record *record;
	unsigned char seen[1000] = { 0 };

	fb_want(task, 0, FB_REST, 0, 0);
	take_all(task, seen);
	assert_int_equal(fb_coverage_save(task, path), 0);
	fb_close(task);
	task = opened(FB_COVERAGE);
	assert_int_equal(fb_coverage_restore(task, path), 0);
	assert_fails(fb_next(task, &record, -1), EINVAL, "start: nothing is declared");
	assert_int_equal(fb_want(task, 0, FB_REST, 0, FB_UNCOVERED), 0);
	assert_int_equal(fb_next(task, &record, -1), 0);
	fb_close(task);
}

/* The format, byte for byte; tests/python/test_background.py has the same bytes */
TEST(test_format)
{
	unsigned char want[190] = {
		'F', 'B', 'C', 'O', 'V', 'E', 'R', '\n', 1, 0, 0, 0, 184, 0, 0, 0, 8, 0, 0, 0,
		[24] = 99, [32] = 90, [40] = 12,
		[48] = 'n', 'a', 'a', '.', '5', '0', '0', '0',
		[176] = 0xe0, 0xfb, 0x0d, 0xbc, [184] = 0x01, 0x0f, 0x2f, 0x3e, 0x7d, 0xc8,
	};
	unsigned char got[512];
	struct fb_task *task;
	const struct fb_record *record;
	int fd, i;

	fake.sectors = 90;
	fake.start = 99;
	task = opened(FB_COVERAGE);
	fb_want(task, 0, 5, 0, 0);
	fb_want(task, 61, FB_REST, 0, 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(fb_next(task, &record, -1), 1);
	assert_int_equal(fb_next(task, &record, -1), 0);
	assert_int_equal(fb_coverage_save(task, path), 0);
	fb_close(task);
	fd = open(path, O_RDONLY);
	i = read(fd, got, sizeof(got));
	close(fd);
	assert_int_equal(i, sizeof(want));
	assert_memory_equal(got, want, sizeof(want));
}

static void flip(long at)
{
	unsigned char byte = 0;
	int fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 4;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Each flipped byte, each length is refused, and nothing was set */
TEST(test_torn)
{
	unsigned char seen[1000] = { 0 };
	struct fb_task *task = interrupted(20, seen);
	const long length = 184 + 16 + 4;
	struct stat about;
	long at;

	assert_int_equal(fb_coverage_save(task, path), 0);
	fb_close(task);
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_size, length);
	task = opened(FB_COVERAGE);
	for (at = 0; at < length; at++) {
		if (at >= 180 && at < 184)
			continue;
		flip(at);
		if (at >= 8 && at < 12)
			assert_fails(fb_coverage_restore(task, path), EPROTONOSUPPORT, "version");
		else
			assert_fails(fb_coverage_restore(task, path), EBADMSG,
				     at < 8 ? "not a file of coverage" : "damaged");
		flip(at);
	}
	assert_int_equal(truncate(path, length + 1), 0);
	assert_fails(fb_coverage_restore(task, path), EBADMSG, "longer");
	for (at = length - 1; at >= 0; at--) {
		assert_int_equal(truncate(path, at), 0);
		assert_fails(fb_coverage_restore(task, path), EBADMSG, "cut short");
	}
	assert_int_equal(CALLS(SET_COVERAGE), 0);
	unlink(path);
	assert_fails(fb_coverage_restore(task, path), ENOENT, "coverage: No such file");
	fb_close(task);
}

TEST(test_other_disk)
{
	unsigned char seen[1000] = { 0 };
	struct fb_task *task = interrupted(20, seen);
	int i;

	assert_int_equal(fb_coverage_save(task, path), 0);
	fb_close(task);
	for (i = 0; i < 5; i++) {
		static const char * const words[] = {
			"'naa.5000' there, 'naa.5001' here", "start sector 0 there, 8 here",
			"sectors 1000 there, 992 here", "sectors of a block 8 there, 16 here",
			"'naa.5000' there, '' here",
		};

		fake_reset();
		if (i == 0)
			strcpy(fake.id, "naa.5001");
		else if (i == 1)
			fake.start = 8;
		else if (i == 2)
			fake.sectors = 992;
		else if (i == 3)
			fake.granule = 16;
		else
			fake.id[0] = '\0';
		task = opened(FB_COVERAGE);
		assert_fails(fb_coverage_restore(task, path), EXDEV,
			     i == 3 ? "of another disk" : words[i]);
		assert_int_equal(CALLS(SET_COVERAGE), 0);
		fb_close(task);
	}
}

/* A save that fails leaves what was there, and nothing beside it (see teardown) */
TEST(test_save_fails)
{
	unsigned char seen[1000] = { 0 };
	struct fb_task *task = interrupted(20, seen);
	struct stat before, after;

	assert_int_equal(fb_coverage_save(task, path), 0);
	assert_int_equal(stat(path, &before), 0);
	fake.fail = FREEBLOCK_IOC_GET_COVERAGE;
	fake.fail_error = ENOMEM;
	assert_fails(fb_coverage_save(task, path), ENOMEM, "coverage: the test wants it so");
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_fails(fb_coverage_save(task, "/nowhere/file"), ENOENT, "/nowhere/file.new: No such");
	fb_close(task);
	task = opened(0);
	assert_fails(fb_coverage_save(task, path), EOPNOTSUPP, "without FB_COVERAGE");
	assert_fails(fb_coverage_restore(task, path), EOPNOTSUPP, "without FB_COVERAGE");
	fb_close(task);
}

/* ---- threads ---- */

static void *complain(void *argument)
{
	struct fb_task *task = argument;
	int i;

	for (i = 0; i < 200; i++) {
		if (fb_urgency(task, 8, 0, 0) != -1 || !strstr(fb_error(), "urgency: priority 8"))
			return task;
	}
	return NULL;
}

static void *go_beyond(void *argument)
{
	struct fb_task *task = argument;
	int i;

	for (i = 0; i < 200; i++) {
		if (fb_want(task, 0, 1001, 0, 0) != -1 || !strstr(fb_error(), "want: a range goes"))
			return task;
	}
	return NULL;
}

/* Each thread hears its own reasons, though the module has one for all */
TEST(test_threads)
{
	struct fb_task *task = opened(0);
	pthread_t threads[2];
	void *bad[2];
	int i;

	/* so that another may fail before the reason is asked for */
	fake.slow_us = 100;
	pthread_create(&threads[0], NULL, complain, task);
	pthread_create(&threads[1], NULL, go_beyond, task);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &bad[i]);
		assert_null(bad[i]);
	}
	fb_close(task);
}
