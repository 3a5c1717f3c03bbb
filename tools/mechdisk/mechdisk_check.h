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

/* A text being read. */
struct mdt {
	struct mde_config *cfg;	/* what is being filled in */
	struct mdt_error *err;	/* where the reason goes; its line is the current one */
	struct mdw_word word[MDW_WORDS];	/* the words of the current line */
	int words;	/* how many */
	u32 room[MDT_LISTS];	/* entries allocated in each list */
	u32 *line[MDT_LISTS];	/* the line of each entry */
	u32 bad_line[MDE_BAD_MAX];	/* the line of each medium error */
	u32 spts;	/* heads that zone_heads records have named; 0 if there is none */
	u32 spts_line;	/* the line of the last of them */
	u32 displacement_line;	/* the line of the last displacement */
	u32 write_cache_line;	/* the line of the last write_cache */
	u32 internal_line;	/* the line of the last internal_activity */
	u32 slow_line[MDE_SLOW_MAX];	/* the line of each slow_region */
};

/*
 * Whether a text that has been read to its end makes a drive. Also computes the derived fields,
 * see mdl_finish(). Returns 0, -EINVAL with line (0 if something is missing) and reason, -ENOMEM.
 */
int mdx_check(struct mdt *m);

#endif /* MECHDISK_CHECK_H */
