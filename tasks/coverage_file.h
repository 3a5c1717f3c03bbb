/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file "coverage" of a scrub (Documentation/ABI/testing/sysfs-kernel-freeblock): a header
 * and a map with a bit for each block. This code uses nothing of the kernel, so that the fuzzer
 * can use it, too.
 */
#ifndef FB_COVERAGE_FILE_H
#define FB_COVERAGE_FILE_H

#include "include/fb_shim.h"

#define FB_COVERAGE_FILE_WHY 256	/* longest reason, in characters */

/**
 * struct fb_coverage_file_header - what comes before the map; little-endian
 * @magic: "fbcover"
 * @version: 1
 * @granule: 512-byte sectors of a block
 * @blocks: blocks of the disk
 * @began: start of the pass, seconds since 1970; 0: unknown
 * @passes: passes completed before this one
 * @reserved: 0
 * @id: the disk's unique id, or "name." and its name; padded with zeros
 */
struct fb_coverage_file_header {
	char magic[8];
	__le32 version;
	__le32 granule;
	__le64 blocks;
	__le64 began;
	__le32 passes;
	__le32 reserved;
	char id[88];
};

/**
 * struct fb_coverage_file - a map that is being written back
 * @header: of the disk's own file; once begun, of that which is written back
 * @map: the map, cleared when the file begins
 * @bytes: its size
 * @given: bytes of the file that have come, the header's included
 */
struct fb_coverage_file {
	struct fb_coverage_file_header header;
	void *map;
	size_t bytes;
	size_t given;
};

int fb_coverage_file_begin(struct fb_coverage_file *file, const void *piece, size_t count,
			   char *why);
int fb_coverage_file_take(struct fb_coverage_file *file, u64 off, const void *piece,
			  size_t count, char *why);

/**
 * fb_coverage_file_is_whole() - is there nothing more to come?
 * @file: the map
 *
 * Context: any.
 *
 * Return: whether its last byte has been written.
 */
static inline bool fb_coverage_file_is_whole(const struct fb_coverage_file *file)
{
	return file->given == sizeof(file->header) + file->bytes;
}

#endif /* FB_COVERAGE_FILE_H */
