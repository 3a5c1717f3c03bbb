/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows: the same sectors of all members, wanted together, kept until all have come. So
 * memory is bounded, whatever the order of blocks. Windows that are open lie far apart: so a
 * disk has blocks to read near many places.
 */
#ifndef SCRUB_WINDOW_H
#define SCRUB_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compared as a whole first: as md does */
#define WINDOW_UNIT 8
/* Open at once */
#define WINDOW_OPEN 16

/**
 * struct window - one that is open
 * @number: its sectors are those from @number * length on
 * @sectors: of each member; fewer than the length at the end of the members
 * @missing: sectors of all members that have not come
 * @data: @sectors of the first member, of the second, ...; NULL: this one is free
 * @lacks: for each unit 0, or the number, counted from 1, of a member that could not be read there
 */
struct window {
	uint64_t number;
	uint64_t sectors;
	uint64_t missing;
	unsigned char *data;
	uint16_t *lacks;
};

/**
 * struct windows - all
 * @sectors: of each member
 * @length: of a window
 * @n: how many there are
 * @members: how many
 * @done: a bit for each window
 * @nr_done: bits that are set
 * @turn: the next to be looked at, in the order of opening
 * @open: those that are open
 */
struct windows {
	uint64_t sectors;
	uint64_t length;
	uint64_t n;
	unsigned int members;
	unsigned char *done;
	uint64_t nr_done;
	uint64_t turn;
	struct window open[WINDOW_OPEN];
};

/**
 * windows_length() - how long windows may be
 * @sectors: of each member
 * @members: how many
 * @bytes: of memory for all that are open
 * @multiple: sectors that the length is to be a multiple of
 *
 * Return: sectors; 0: the memory is not enough.
 */
uint64_t windows_length(uint64_t sectors, unsigned int members, uint64_t bytes,
			uint64_t multiple);

/**
 * windows_init() - none is open, none is done
 * @all: returned
 * @sectors: of each member
 * @members: how many
 * @length: of a window
 *
 * Return: 0, or -1: no memory.
 */
int windows_init(struct windows *all, uint64_t sectors, unsigned int members, uint64_t length);

/**
 * windows_exit() - free all
 * @all: windows
 */
void windows_exit(struct windows *all);

/**
 * windows_open() - open the next one
 * @all: windows
 * @no_memory: returned: there would have been one
 *
 * Return: it; NULL: as many are open as may be, or all others are done.
 */
struct window *windows_open(struct windows *all, bool *no_memory);

/**
 * windows_find() - an open one by its number
 * @all: windows
 * @number: its number
 *
 * Return: it, or NULL.
 */
struct window *windows_find(struct windows *all, uint64_t number);

/**
 * windows_close() - free one
 * @all: windows
 * @window: open one
 * @done: it has been compared
 */
void windows_close(struct windows *all, struct window *window, bool done);

/**
 * windows_mark() - one is done, and was before
 * @all: windows
 * @number: its number
 */
void windows_mark(struct windows *all, uint64_t number);

/**
 * windows_is_done() - whether one is done
 * @all: windows
 * @number: its number
 *
 * Return: true if it is.
 */
bool windows_is_done(const struct windows *all, uint64_t number);

/**
 * window_block() - where a member's data are
 * @window: open one
 * @member: number of the member
 * @sector: counted from the begin of the window
 *
 * Return: place.
 */
unsigned char *window_block(const struct window *window, unsigned int member, uint64_t sector);

/**
 * window_take() - sectors of a member have come
 * @all: windows
 * @window: open one
 * @member: number of the member
 * @first: sector of the member
 * @sectors: how many; those outside of the window are ignored
 * @data: NULL: they could not be read
 *
 * Return: whether none is missing any more.
 */
bool window_take(const struct windows *all, struct window *window, unsigned int member,
		 int64_t first, uint64_t sectors, const unsigned char *data);

#endif /* SCRUB_WINDOW_H */
