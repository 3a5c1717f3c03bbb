// SPDX-License-Identifier: GPL-2.0
/*
 * Windows, and the file from which a scrub goes on: each window is opened once, memory is
 * bounded, what comes is put at its place, and a file that is torn or another array's is
 * refused.
 *
 * Seen to fail: a window opened twice when it is the last of a region; sectors outside of a
 * window counted; a torn file taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"
#include "refusal.h"
#include "state.h"
#include "window.h"

static unsigned char data[64 * 512];

TEST(test_each_once)
{
	unsigned int n;

	for (n = 1; n < 100; n++) {
		struct windows all;
		struct window *window;
		bool no_memory;
		uint64_t sum = 0;
		unsigned int opened = 0;

		assert_int_equal(windows_init(&all, n * 16 - 3, 2, 16), 0);
		assert_int_equal(all.n, n);
		windows_mark(&all, n / 2);
		windows_mark(&all, n / 2);
		while ((window = windows_open(&all, &no_memory))) {
			assert_int_equal(window->sectors, window->number == n - 1 ? 13 : 16);
			assert_false(windows_is_done(&all, window->number));
			assert_ptr_equal(windows_find(&all, window->number), window);
			sum += window->sectors;
			/* the first stay open until the end */
			if (opened++ >= WINDOW_OPEN - 1)
				windows_close(&all, window, true);
		}
		assert_false(no_memory);
		assert_int_equal(opened, n - 1);
		assert_int_equal(sum, n * 16 - 3 - (n / 2 == n - 1 ? 13 : 16));
		windows_exit(&all);
	}
}

TEST(test_length)
{
	/* 16 windows of 3 members: 1 MiB / 48 are 42 sectors */
	assert_int_equal(windows_length(1 << 20, 3, 1 << 20, 8), 40);
	assert_int_equal(windows_length(1 << 20, 3, 1 << 20, 24), 24);
	assert_int_equal(windows_length(1 << 20, 3, 4096, 8), 0);
	assert_int_equal(windows_length(17, 3, 1 << 20, 8), 24);
}

TEST(test_take)
{
	struct windows all;
	struct window *window;
	bool no_memory;
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i / 512;
	windows_init(&all, 40, 2, 40);
	window = windows_open(&all, &no_memory);
	assert_false(window_take(&all, window, 0, 0, 40, data));
	assert_int_equal(window->missing, 40);
	/* what begins before the window, and goes on behind it */
	assert_false(window_take(&all, window, 1, -3, 10, data));
	assert_int_equal(window->missing, 33);
	assert_int_equal(window_block(window, 1, 0)[0], 3);
	assert_int_equal(window_block(window, 1, 6)[511], 9);
	assert_false(window_take(&all, window, 1, 40, 8, data));
	assert_false(window_take(&all, window, 1, 7, 2, NULL));
	assert_int_equal(window->lacks[0], 2);
	assert_int_equal(window->lacks[1], 2);
	assert_int_equal(window->lacks[2], 0);
	assert_true(window_take(&all, window, 1, 9, 55, data));
	assert_int_equal(window_block(window, 1, 39)[0], 30);
	assert_int_equal(window_block(window, 0, 39)[0], 39);
	windows_exit(&all);
}

static void make(struct array *array, struct windows *windows, struct findings *findings)
{
	struct finding found = { .first = 8, .sectors = 2, .kind = FINDING_PQ, .slot = 3 };

	*array = (struct array){ .name = "md0", .uuid = "1:2:3:4", .sectors = 1600, .n = 5,
		.geometry = { .level = 6, .layout = 2, .disks = 5, .chunk = 32 } };
	memset(findings, 0, sizeof(*findings));
	windows_init(windows, 1600, 5, 16);
	windows_mark(windows, 0);
	windows_mark(windows, 98);
	windows_mark(windows, 99);
	compare_note(findings, found);
	found.first = 10;
	compare_note(findings, found);
	found = (struct finding){ .first = 24, .sectors = 8, .kind = FINDING_UNREADABLE,
				  .slot = -1 };
	compare_note(findings, found);
	/* as though the list were full */
	findings->sectors[FINDING_UNREADABLE] += 80;
}

static int load(const struct array *array)
{
	struct findings findings = { 0 };
	struct windows windows = { 0 };
	int found = state_load("state", array, &windows, &findings);

	if (found > 0) {
		assert_int_equal(windows.n, 100);
		assert_int_equal(windows.nr_done, 3);
		assert_true(windows_is_done(&windows, 98));
		assert_false(windows_is_done(&windows, 1));
		assert_int_equal(findings.n, 2);
		assert_int_equal(findings.list[0].sectors, 4);
		assert_int_equal(findings.list[0].slot, 3);
		assert_int_equal(findings.list[1].kind, FINDING_UNREADABLE);
		assert_int_equal(findings.sectors[FINDING_PQ], 4);
		assert_int_equal(findings.sectors[FINDING_UNREADABLE], 88);
	}
	windows_exit(&windows);
	free(findings.list);
	return found;
}

TEST(test_state)
{
	char folder[] = "/tmp/array_scrub-XXXXXX";
	struct findings findings;
	struct windows windows;
	struct array array, other;
	FILE *file;
	long bytes;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	make(&array, &windows, &findings);
	assert_int_equal(load(&array), 0);
	assert_int_equal(state_save("state", &array, &windows, &findings), 0);
	assert_int_equal(load(&array), 1);
	other = array;
	strcpy(other.uuid, "1:2:3:5");
	assert_int_equal(load(&other), -1);
	assert_non_null(strstr(refusal(), "of another array"));
	other = array;
	other.geometry.layout = 3;
	assert_int_equal(load(&other), -1);
	other = array;
	other.sectors += 16;
	assert_int_equal(load(&other), -1);
	file = fopen("state", "r");
	fseek(file, 0, SEEK_END);
	for (bytes = ftell(file) - 1; bytes >= 0; bytes--) {
		assert_int_equal(truncate("state", bytes), 0);
		assert_int_equal(load(&array), -1);
	}
	fclose(file);
	assert_int_equal(state_save("none/state", &array, &windows, &findings), -1);
	unlink("state");
	rmdir(folder);
	windows_exit(&windows);
	free(findings.list);
}
