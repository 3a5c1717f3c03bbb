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

/* A window that is open */
struct window {
	uint64_t number;	/* its sectors are those from @number * length on */
	/* of each member; fewer than the length at the end of the members */
	uint64_t sectors;
	uint64_t missing;	/* sectors of all members that have not come */
	/* @sectors of the first member, of the second, ...; NULL: this one is free */
	unsigned char *data;
	/* of each unit: number, from 1, of a member that could not be read there, or 0 */
	uint16_t *lacks;
};

/* All windows of an array */
struct windows {
	uint64_t sectors;	/* of each member */
	uint64_t length;	/* of a window */
	uint64_t n;
	unsigned int members;
	unsigned char *done;	/* a bit for each window */
	uint64_t nr_done;	/* bits that are set */
	uint64_t turn;	/* the next to be looked at, in the order of opening */
	struct window open[WINDOW_OPEN];	/* those that are open */
};

/*
 * How long windows may be. 0: the memory is not enough. @multiple: sectors that
 * the length is to be a multiple of
 */
uint64_t windows_length(uint64_t sectors, unsigned int members, uint64_t bytes,
			uint64_t multiple);

/* None is open, none is done. Returns 0, or -1: no memory */
int windows_init(struct windows *all, uint64_t sectors, unsigned int members, uint64_t length);

void windows_exit(struct windows *all);

/*
 * Open the next one. Returns it; NULL: as many are open as may be, or all others are done.
 * @no_memory: returned: there would have been one
 */
struct window *windows_open(struct windows *all, bool *no_memory);

/* An open one by its number. Returns it, or NULL */
struct window *windows_find(struct windows *all, uint64_t number);

/* Free a window, and mark it done if it is */
void windows_close(struct windows *all, struct window *window, bool done);

/* A window was done by an earlier scrub */
void windows_mark(struct windows *all, uint64_t number);

bool windows_is_done(const struct windows *all, uint64_t number);

/* Where a member's data are. @sector: counted from the begin of the window */
unsigned char *window_block(const struct window *window, unsigned int member, uint64_t sector);

/*
 * Sectors of a member have come. Returns whether none is missing any more. Sectors outside
 * of the window are ignored. @data: NULL: they could not be read
 */
bool window_take(const struct windows *all, struct window *window, unsigned int member,
		 int64_t first, uint64_t sectors, const unsigned char *data);

#endif /* SCRUB_WINDOW_H */
