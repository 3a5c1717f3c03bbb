// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "window.h"

#define SECTOR 512

uint64_t windows_length(uint64_t sectors, unsigned int members, uint64_t bytes,
			uint64_t multiple)
{
	uint64_t length = bytes / WINDOW_OPEN / members / SECTOR;
	uint64_t all = (sectors + multiple - 1) / multiple * multiple;

	length -= length % multiple;
	return length < all ? length : all;
}

int windows_init(struct windows *all, uint64_t sectors, unsigned int members, uint64_t length)
{
	memset(all, 0, sizeof(*all));
	all->sectors = sectors;
	all->members = members;
	all->length = length;
	all->n = (sectors + length - 1) / length;
	all->done = calloc(all->n / 8 + 1, 1);
	return all->done ? 0 : -1;
}

void windows_exit(struct windows *all)
{
	unsigned int i;

	for (i = 0; i < WINDOW_OPEN; i++)
		windows_close(all, &all->open[i], false);
	free(all->done);
	all->done = NULL;
}

bool windows_is_done(const struct windows *all, uint64_t number)
{
	return all->done[number / 8] >> number % 8 & 1;
}

void windows_mark(struct windows *all, uint64_t number)
{
	if (windows_is_done(all, number))
		return;
	all->done[number / 8] |= 1 << number % 8;
	all->nr_done++;
}

struct window *windows_find(struct windows *all, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < WINDOW_OPEN; i++)
		if (all->open[i].data && all->open[i].number == number)
			return &all->open[i];
	return NULL;
}

/* The next that is neither done nor was open before: one of each region in turn. */
static bool next(struct windows *all, uint64_t *number)
{
	uint64_t region = (all->n + WINDOW_OPEN - 1) / WINDOW_OPEN;

	for (; all->turn < region * WINDOW_OPEN; all->turn++) {
		*number = all->turn % WINDOW_OPEN * region + all->turn / WINDOW_OPEN;
		if (*number < all->n && !windows_is_done(all, *number)) {
			all->turn++;
			return true;
		}
	}
	return false;
}

struct window *windows_open(struct windows *all, bool *no_memory)
{
	struct window *window = NULL;
	uint64_t number, left;
	unsigned int i;

	*no_memory = false;
	for (i = 0; i < WINDOW_OPEN && !window; i++)
		if (!all->open[i].data)
			window = &all->open[i];
	if (!window || !next(all, &number))
		return NULL;
	left = all->sectors - number * all->length;
	window->number = number;
	window->sectors = left < all->length ? left : all->length;
	window->missing = window->sectors * all->members;
	window->data = malloc(window->missing * SECTOR);
	window->lacks = calloc(window->sectors / WINDOW_UNIT + 1, sizeof(*window->lacks));
	if (window->data && window->lacks)
		return window;
	*no_memory = true;
	windows_close(all, window, false);
	return NULL;
}

void windows_close(struct windows *all, struct window *window, bool done)
{
	free(window->data);
	free(window->lacks);
	window->data = NULL;
	window->lacks = NULL;
	if (done)
		windows_mark(all, window->number);
}

unsigned char *window_block(const struct window *window, unsigned int member, uint64_t sector)
{
	return window->data + (member * window->sectors + sector) * SECTOR;
}

bool window_take(const struct windows *all, struct window *window, unsigned int member,
		 int64_t first, uint64_t sectors, const unsigned char *data)
{
	int64_t begin = window->number * all->length, end = begin + window->sectors;
	int64_t from = first > begin ? first : begin, to = first + sectors;
	int64_t unit;

	if (to > end)
		to = end;
	if (from >= to)
		return !window->missing;
	if (data)
		memcpy(window_block(window, member, from - begin), data + (from - first) * SECTOR,
		       (to - from) * SECTOR);
	for (unit = (from - begin) / WINDOW_UNIT; !data && unit * WINDOW_UNIT < to - begin; unit++)
		window->lacks[unit] = member + 1;
	window->missing -= to - from;
	return !window->missing;
}
