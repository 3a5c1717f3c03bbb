// SPDX-License-Identifier: GPL-2.0
/* The file "coverage", written back piece by piece; the caller serialises. */
#include "tasks/coverage_file.h"

/*
 * Begin a map from the piece at offset 0, whose header must be @file's. @why: out:
 * FB_COVERAGE_FILE_WHY characters. Return: 0; -EINVAL, and nothing is changed.
 */
int fb_coverage_file_begin(struct fb_coverage_file *file, const void *piece, size_t count,
			   char *why)
{
	const struct fb_coverage_file_header *own = &file->header;
	struct fb_coverage_file_header h;

	if (count < sizeof(h)) {
		snprintf(why, FB_COVERAGE_FILE_WHY,
			 "%zu bytes at 0: write it in order, from the start, the header in one piece",
			 count);
		return -EINVAL;
	}
	memcpy(&h, piece, sizeof(h));
	if (memcmp(h.magic, own->magic, sizeof(h.magic)) || h.version != own->version)
		snprintf(why, FB_COVERAGE_FILE_WHY,
			 "this is not a coverage file, or of another version");
	else if (h.reserved)
		snprintf(why, FB_COVERAGE_FILE_WHY, "its reserved field is %u, not 0",
			 le32_to_cpu(h.reserved));
	else if (strncmp(h.id, own->id, sizeof(h.id)))
		snprintf(why, FB_COVERAGE_FILE_WHY, "it belongs to disk '%.*s', this is '%s'",
			 (int)sizeof(h.id), h.id, own->id);
	else if (h.granule != own->granule || h.blocks != own->blocks)
		snprintf(why, FB_COVERAGE_FILE_WHY,
			 "it has %llu blocks of %u sectors, the disk has %llu of %u",
			 (unsigned long long)le64_to_cpu(h.blocks), le32_to_cpu(h.granule),
			 (unsigned long long)le64_to_cpu(own->blocks), le32_to_cpu(own->granule));
	else if (count - sizeof(h) > file->bytes)
		snprintf(why, FB_COVERAGE_FILE_WHY, "%zu bytes follow the header, the map has %zu",
			 count - sizeof(h), file->bytes);
	else
		goto good;
	return -EINVAL;

good:
	file->header = h;
	file->given = 0;
	return 0;
}

/* Take the next piece; that at offset 0 again. Return: 0; -EINVAL, and nothing is changed. */
int fb_coverage_file_take(struct fb_coverage_file *file, u64 off, const void *piece,
			  size_t count, char *why)
{
	size_t header = sizeof(file->header), n = off ? 0 : header;

	if (count < n || off != file->given || count > header + file->bytes - off) {
		snprintf(why, FB_COVERAGE_FILE_WHY,
			 "%zu bytes at %llu: write it in order, from the start, the header in one piece",
			 count, (unsigned long long)off);
		return -EINVAL;
	}
	memcpy(file->map + off + n - header, piece + n, count - n);
	file->given = off + count;
	return 0;
}
