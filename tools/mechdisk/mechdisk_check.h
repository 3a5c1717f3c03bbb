/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A .fbdrive text being read, and whether its records agree.
 */
#ifndef MECHDISK_CHECK_H
#define MECHDISK_CHECK_H

#include "mechdisk_config.h"
#include "mechdisk_words.h"

/* Largest number of a cylinder. */
#define MDT_CYLINDERS	10000000
/* Most runs, repeated ones counted each time: some 30 MB. */
#define MDT_RUNS	262144
/* Largest index of a sector that is read; sums of a few do not overflow. */
#define MDT_INDEX	(U64_MAX / 8)

/* Lists that grow while the text is read. */
enum mdt_list { MDT_ZONES, MDT_SLIPS, MDT_REMAPS, MDT_SEEKS, MDT_LISTS };

/**
 * struct mdt - a text being read
 * @cfg: what is being filled in
 * @err: where the reason goes; its line is the current one
 * @word: the words of the current line
 * @words: how many
 * @room: entries allocated in each list
 * @line: the line of each entry
 * @bad_line: the line of each medium error
 * @spts: heads that zone_heads records have named; 0 if there is none
 * @spts_line: the line of the last of them
 * @displacement_line: the line of the last displacement
 * @write_cache_line: the line of the last write_cache
 * @internal_line: the line of the last internal_activity
 * @slow_line: the line of each slow_region
 */
struct mdt {
	struct mde_config *cfg;
	struct mdt_error *err;
	struct mdw_word word[MDW_WORDS];
	int words;
	u32 room[MDT_LISTS];
	u32 *line[MDT_LISTS];
	u32 bad_line[MDE_BAD_MAX];
	u32 spts;
	u32 spts_line;
	u32 displacement_line;
	u32 write_cache_line;
	u32 internal_line;
	u32 slow_line[MDE_SLOW_MAX];
};

/**
 * mdx_check() - whether a text that has been read to its end makes a drive
 * @m: the text
 *
 * Also computes the derived fields, see mdl_finish().
 *
 * Return: 0, -EINVAL with line (0 if something is missing) and reason, -ENOMEM.
 */
int mdx_check(struct mdt *m);

#endif /* MECHDISK_CHECK_H */
