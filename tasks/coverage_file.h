/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file "coverage" of a scrub (Documentation/ABI/testing/sysfs-kernel-freeblock): a header and a
 * map with a bit for each block. Core.
 */
#ifndef FB_COVERAGE_FILE_H
#define FB_COVERAGE_FILE_H

#include "include/fb_shim.h"

#define FB_COVERAGE_FILE_WHY 256	/* longest reason, in characters */

/* What comes before the map; little-endian */
struct fb_coverage_file_header {
	char magic[8];			/* "fbcover" */
	__le32 version;			/* 1 */
	__le32 granule;			/* 512-byte sectors of a block */
	__le64 blocks;			/* blocks of the disk */
	__le64 began;			/* start of the pass, seconds since 1970; 0: unknown */
	__le32 passes;			/* passes completed before this one */
	__le32 reserved;		/* 0 */
	char id[88];	/* the disk's unique id, or "name." and its name; padded with zeros */
};

/* A map that is being written back */
struct fb_coverage_file {
	/* the disk's own; once begun, of what is written back */
	struct fb_coverage_file_header header;
	void *map;			/* the map, cleared when the file begins */
	size_t bytes;
	size_t given;	/* bytes of the file that have come, the header's included */
};

int fb_coverage_file_begin(struct fb_coverage_file *file, const void *piece, size_t count,
			   char *why);
int fb_coverage_file_take(struct fb_coverage_file *file, u64 off, const void *piece,
			  size_t count, char *why);

#endif /* FB_COVERAGE_FILE_H */
