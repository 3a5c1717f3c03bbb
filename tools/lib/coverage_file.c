// SPDX-License-Identifier: GPL-2.0
/*
 * libfreeblock: which blocks are done, in a file that is whole or not there.
 *
 * Documentation/coverage-format.rst has the format.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"
#include "uapi/freeblock.h"

#define MAGIC "FBCOVER\n"
#define VERSION 1
#define CHUNK_BYTES (FREEBLOCK_BITS_MAX / 8)

/* Little-endian, as are the machines that the module is for */
struct header {
	char magic[8];
	uint32_t version;
	uint32_t bytes;			/* of the header */
	uint32_t granule_sectors;
	uint32_t zero;
	uint64_t start_sector;
	uint64_t sectors;
	uint64_t blocks;
	char id[FB_LIBRARY_ID_LEN];
	uint32_t crc;			/* of what precedes it */
	uint32_t zero_again;
};

static_assert(sizeof(struct header) == 184 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "Documentation/coverage-format.rst");

/* of more bytes, behind some whose checksum this is; 0 of none */
static uint32_t crc_of(uint32_t crc, const void *data, size_t bytes)
{
	const unsigned char *at = data;
	uint32_t table[256], i, bit;

	for (i = 0; i < 256; i++) {
		table[i] = i;
		for (bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1) * 0xedb88320u;
	}
	for (crc = ~crc; bytes; bytes--)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
	return ~crc;
}

static struct header header_of(const struct fb_task *task)
{
	struct header header = {
		.version = VERSION, .bytes = sizeof(header),
		.granule_sectors = task->geometry.granule_sectors,
		.start_sector = task->geometry.start_sector,
		.sectors = task->geometry.sectors, .blocks = task->geometry.blocks,
	};

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	memcpy(header.id, task->id, sizeof(header.id));
	header.crc = crc_of(0, &header, offsetof(struct header, crc));
	return header;
}

static int fail_by_file(const char *path)
{
	return fb_library_fail(errno, "%s: %s", path, strerror(errno));
}

static int read_all(FILE *file, void *data, size_t bytes, const char *path)
{
	if (fread(data, 1, bytes, file) == bytes)
		return 0;
	return ferror(file) ? fail_by_file(path) : fb_library_fail(EBADMSG, "%s: cut short", path);
}

/* Blocks of the chunk that begins with block `first` */
static uint64_t chunk_blocks(const struct fb_task *task, uint64_t first)
{
	uint64_t left = task->geometry.blocks - first;

	return left < FREEBLOCK_BITS_MAX ? left : FREEBLOCK_BITS_MAX;
}

static int coverage_call(struct fb_task *task, unsigned long number, uint64_t first,
			 unsigned char *bits)
{
	struct freeblock_ioc_bits call = {
		.size = sizeof(call), .first = first, .count = chunk_blocks(task, first),
		.bits = (uintptr_t)bits,
	};

	return fb_library_call(task, number, &call, "coverage");
}

static int save_bits(struct fb_task *task, FILE *file, unsigned char *bits, const char *path)
{
	uint32_t crc = 0;
	uint64_t first;

	for (first = 0; first < task->geometry.blocks; first += FREEBLOCK_BITS_MAX) {
		size_t bytes = (chunk_blocks(task, first) + 7) / 8;
		int failed;

		/* nothing is read between the two: the buffer is all that is not done */
		pthread_mutex_lock(&task->buffer);
		failed = coverage_call(task, FREEBLOCK_IOC_GET_COVERAGE, first, bits);
		if (!failed)
			fb_records_uncover(task, bits, first, chunk_blocks(task, first));
		pthread_mutex_unlock(&task->buffer);
		if (failed)
			return -1;
		crc = crc_of(crc, bits, bytes);
		if (fwrite(bits, 1, bytes, file) != bytes)
			return fail_by_file(path);
	}
	return fwrite(&crc, 1, sizeof(crc), file) == sizeof(crc) ? 0 : fail_by_file(path);
}

static int save_new(struct fb_task *task, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	unsigned char *bits = malloc(CHUNK_BYTES);
	struct header header = header_of(task);
	int failed, error;

	if (!bits)
		failed = fb_library_fail(ENOMEM, "%s: no memory", path);
	else if (!file || fwrite(&header, sizeof(header), 1, file) != 1)
		failed = fail_by_file(path);
	else
		failed = save_bits(task, file, bits, path);
	if (!failed && (fflush(file) || fsync(fd)))
		failed = fail_by_file(path);
	error = errno;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	free(bits);
	errno = error;
	return failed;
}

/* A rename is on the disk when its folder is */
static int sync_folder(const char *path)
{
	char name[PATH_MAX];
	int fd, failed = 0;

	snprintf(name, sizeof(name), "%s", path);
	fd = open(dirname(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_by_file(path);
	if (fsync(fd))
		failed = fail_by_file(path);
	close(fd);
	return failed;
}

static int save(struct fb_task *task, const char *path)
{
	char fresh[PATH_MAX];
	int error;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return fb_library_fail(ENAMETOOLONG, "%.64s...: the name is too long", path);
	if (save_new(task, fresh)) {
		error = errno;
		unlink(fresh);
		errno = error;
		return -1;
	}
	if (rename(fresh, path))
		return fail_by_file(path);
	return sync_folder(path);
}

static int needs_coverage(const struct fb_task *task)
{
	if (task->coverage)
		return 0;
	return fb_library_fail(EOPNOTSUPP, "coverage: the task was opened without FB_COVERAGE");
}

int fb_coverage_save(struct fb_task *task, const char *path)
{
	int failed;

	if (needs_coverage(task))
		return -1;
	pthread_mutex_lock(&task->saving);
	failed = save(task, path);
	pthread_mutex_unlock(&task->saving);
	return failed;
}

static int other_disk(const char *path, const char *what, unsigned long long there,
		      unsigned long long here)
{
	return fb_library_fail(EXDEV, "%s: of another disk or partition: %s %llu there, %llu here",
			       path, what, there, here);
}

static int judge_header(const struct fb_task *task, struct header *there, const char *path)
{
	struct header here = header_of(task);

	if (memcmp(there->magic, MAGIC, sizeof(there->magic)))
		return fb_library_fail(EBADMSG, "%s: not a file of coverage", path);
	/* the checksum's place is the version's */
	if (there->version != VERSION)
		return fb_library_fail(EPROTONOSUPPORT, "%s: version %u; this libfreeblock has %u",
				       path, there->version, VERSION);
	if (there->crc != crc_of(0, there, offsetof(struct header, crc)) ||
	    there->bytes != sizeof(*there))
		return fb_library_fail(EBADMSG, "%s: damaged: checksum of its header", path);
	there->id[sizeof(there->id) - 1] = '\0';
	if (strcmp(there->id, here.id))
		return fb_library_fail(EXDEV, "%s: of another disk: '%s' there, '%s' here", path,
				       there->id, here.id);
	if (there->start_sector != here.start_sector)
		return other_disk(path, "start sector", there->start_sector, here.start_sector);
	if (there->sectors != here.sectors || there->blocks != here.blocks)
		return other_disk(path, "sectors", there->sectors, here.sectors);
	if (there->granule_sectors != here.granule_sectors)
		return other_disk(path, "sectors of a block", there->granule_sectors,
				  here.granule_sectors);
	return 0;
}

/* All of the file, before anything of it is believed */
static int judge_bits(const struct fb_task *task, FILE *file, unsigned char *bits,
		      const char *path)
{
	uint32_t crc = 0, there;
	uint64_t first;

	for (first = 0; first < task->geometry.blocks; first += FREEBLOCK_BITS_MAX) {
		size_t bytes = (chunk_blocks(task, first) + 7) / 8;

		if (read_all(file, bits, bytes, path))
			return -1;
		crc = crc_of(crc, bits, bytes);
	}
	if (read_all(file, &there, sizeof(there), path))
		return -1;
	if (there != crc)
		return fb_library_fail(EBADMSG, "%s: damaged: its checksum is wrong", path);
	if (fgetc(file) != EOF)
		return fb_library_fail(EBADMSG, "%s: damaged: longer than it should be", path);
	return 0;
}

static int restore(struct fb_task *task, FILE *file, unsigned char *bits, const char *path)
{
	struct header header;
	uint64_t first;

	if (read_all(file, &header, sizeof(header), path) || judge_header(task, &header, path) ||
	    judge_bits(task, file, bits, path))
		return -1;
	if (fseek(file, sizeof(header), SEEK_SET))
		return fail_by_file(path);
	for (first = 0; first < task->geometry.blocks; first += FREEBLOCK_BITS_MAX)
		if (read_all(file, bits, (chunk_blocks(task, first) + 7) / 8, path) ||
		    coverage_call(task, FREEBLOCK_IOC_SET_COVERAGE, first, bits))
			return -1;
	return 0;
}

int fb_coverage_restore(struct fb_task *task, const char *path)
{
	unsigned char *bits;
	int failed, error;
	FILE *file;

	if (needs_coverage(task))
		return -1;
	file = fopen(path, "re");
	if (!file)
		return fail_by_file(path);
	bits = malloc(CHUNK_BYTES);
	if (bits)
		failed = restore(task, file, bits, path);
	else
		failed = fb_library_fail(ENOMEM, "%s: no memory", path);
	error = errno;
	free(bits);
	fclose(file);
	errno = error;
	return failed;
}
