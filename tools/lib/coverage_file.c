// SPDX-License-Identifier: GPL-2.0
/*
 * libfreeblock: which blocks are done, in a file that is whole or not there.
 *
 * Documentation/coverage-format.rst has the format. tools/cli/freeblock/coverage_file.py
 * reads and writes the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"
#include "uapi/freeblock.h"

#define MAGIC "FBCOVER\n"
#define VERSION 1
#define HEADER_BYTES 184
#define CRC_AT 176
#define CHUNK_BYTES (FREEBLOCK_BITS_MAX / 8)

struct crc {
	uint32_t table[256];
	uint32_t value;
};

static void crc_begin(struct crc *crc)
{
	uint32_t i, bit;

	for (i = 0; i < 256; i++) {
		crc->table[i] = i;
		for (bit = 0; bit < 8; bit++)
			crc->table[i] = crc->table[i] >> 1 ^ (crc->table[i] & 1) * 0xedb88320u;
	}
	crc->value = 0xffffffffu;
}

static void crc_add(struct crc *crc, const unsigned char *data, size_t bytes)
{
	for (; bytes; bytes--)
		crc->value = crc->value >> 8 ^ crc->table[(crc->value ^ *data++) & 0xff];
}

static void put(unsigned char *to, uint64_t value, unsigned int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		*to++ = value;
}

static uint64_t get(const unsigned char *from, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | from[bytes];
	return value;
}

static uint32_t crc_of(const unsigned char *data, size_t bytes)
{
	struct crc crc;

	crc_begin(&crc);
	crc_add(&crc, data, bytes);
	return ~crc.value;
}

static void make_header(const struct fb_task *task, unsigned char *header)
{
	memset(header, 0, HEADER_BYTES);
	memcpy(header, MAGIC, 8);
	put(header + 8, VERSION, 4);
	put(header + 12, HEADER_BYTES, 4);
	put(header + 16, task->geometry.granule_sectors, 4);
	put(header + 24, task->geometry.start_sector, 8);
	put(header + 32, task->geometry.sectors, 8);
	put(header + 40, task->geometry.blocks, 8);
	memcpy(header + 48, task->id, sizeof(task->id));
	put(header + CRC_AT, crc_of(header, CRC_AT), 4);
}

static int fail_by_file(const char *path)
{
	return fb_library_fail(errno, "%s: %s", path, strerror(errno));
}

static int write_all(int fd, const unsigned char *data, size_t bytes, const char *path)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_by_file(path);
		data += n;
		bytes -= n;
	}
	return 0;
}

static int read_all(int fd, unsigned char *data, size_t bytes, const char *path)
{
	while (bytes) {
		ssize_t n = read(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_by_file(path);
		if (!n)
			return fb_library_fail(EBADMSG, "%s: cut short", path);
		data += n;
		bytes -= n;
	}
	return 0;
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

static int save_bits(struct fb_task *task, int fd, unsigned char *bits, const char *path)
{
	unsigned char end[4];
	struct crc crc;
	uint64_t first;

	crc_begin(&crc);
	for (first = 0; first < task->geometry.blocks; first += FREEBLOCK_BITS_MAX) {
		size_t bytes = (chunk_blocks(task, first) + 7) / 8;
		int failed;

		/* nothing is read between the two: the buffer is all that is not done */
		pthread_mutex_lock(&task->buffer);
		failed = coverage_call(task, FREEBLOCK_IOC_GET_COVERAGE, first, bits);
		if (!failed)
			fb_records_uncover(task, bits, first, chunk_blocks(task, first));
		pthread_mutex_unlock(&task->buffer);
		if (failed || write_all(fd, bits, bytes, path))
			return -1;
		crc_add(&crc, bits, bytes);
	}
	put(end, ~crc.value, 4);
	return write_all(fd, end, sizeof(end), path);
}

static int save_new(struct fb_task *task, const char *path)
{
	unsigned char header[HEADER_BYTES], *bits = malloc(CHUNK_BYTES);
	int fd = -1, failed, error;

	if (!bits)
		return fb_library_fail(ENOMEM, "%s: no memory", path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	failed = fd < 0 ? fail_by_file(path) : 0;
	make_header(task, header);
	if (!failed)
		failed = write_all(fd, header, sizeof(header), path);
	if (!failed)
		failed = save_bits(task, fd, bits, path);
	if (!failed && fsync(fd))
		failed = fail_by_file(path);
	error = errno;
	if (fd >= 0)
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

static int judge_header(const struct fb_task *task, const unsigned char *header, const char *path)
{
	const struct fb_task_geometry *g = &task->geometry;
	char id[sizeof(task->id)];

	if (memcmp(header, MAGIC, 8))
		return fb_library_fail(EBADMSG, "%s: not a file of coverage", path);
	/* the checksum's place is the version's */
	if (get(header + 8, 4) != VERSION)
		return fb_library_fail(EPROTONOSUPPORT, "%s: version %u; this libfreeblock has %u",
				       path, (unsigned int)get(header + 8, 4), VERSION);
	if (get(header + CRC_AT, 4) != crc_of(header, CRC_AT) ||
	    get(header + 12, 4) != HEADER_BYTES)
		return fb_library_fail(EBADMSG, "%s: damaged: checksum of its header", path);
	memcpy(id, header + 48, sizeof(id));
	id[sizeof(id) - 1] = '\0';
	if (strcmp(id, task->id))
		return fb_library_fail(EXDEV, "%s: of another disk: '%s' there, '%s' here", path,
				       id, task->id);
	if (get(header + 24, 8) != g->start_sector)
		return other_disk(path, "start sector", get(header + 24, 8), g->start_sector);
	if (get(header + 32, 8) != g->sectors || get(header + 40, 8) != g->blocks)
		return other_disk(path, "sectors", get(header + 32, 8), g->sectors);
	if (get(header + 16, 4) != g->granule_sectors)
		return other_disk(path, "sectors of a block", get(header + 16, 4),
				  g->granule_sectors);
	return 0;
}

/* All of the file, before anything of it is believed */
static int judge_bits(const struct fb_task *task, int fd, unsigned char *bits, const char *path)
{
	unsigned char end[5];
	struct crc crc;
	uint64_t first;

	crc_begin(&crc);
	for (first = 0; first < task->geometry.blocks; first += FREEBLOCK_BITS_MAX) {
		size_t bytes = (chunk_blocks(task, first) + 7) / 8;

		if (read_all(fd, bits, bytes, path))
			return -1;
		crc_add(&crc, bits, bytes);
	}
	if (read_all(fd, end, 4, path))
		return -1;
	if (get(end, 4) != (uint32_t)~crc.value)
		return fb_library_fail(EBADMSG, "%s: damaged: its checksum is wrong", path);
	if (read(fd, end, 1))
		return fb_library_fail(EBADMSG, "%s: damaged: longer than it should be", path);
	return 0;
}

static int restore(struct fb_task *task, int fd, unsigned char *bits, const char *path)
{
	unsigned char header[HEADER_BYTES];
	uint64_t first;

	if (read_all(fd, header, sizeof(header), path) || judge_header(task, header, path) ||
	    judge_bits(task, fd, bits, path))
		return -1;
	if (lseek(fd, HEADER_BYTES, SEEK_SET) < 0)
		return fail_by_file(path);
	for (first = 0; first < task->geometry.blocks; first += FREEBLOCK_BITS_MAX)
		if (read_all(fd, bits, (chunk_blocks(task, first) + 7) / 8, path) ||
		    coverage_call(task, FREEBLOCK_IOC_SET_COVERAGE, first, bits))
			return -1;
	return 0;
}

int fb_coverage_restore(struct fb_task *task, const char *path)
{
	unsigned char *bits;
	int fd, failed, error;

	if (needs_coverage(task))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_by_file(path);
	bits = malloc(CHUNK_BYTES);
	if (bits)
		failed = restore(task, fd, bits, path);
	else
		failed = fb_library_fail(ENOMEM, "%s: no memory", path);
	error = errno;
	free(bits);
	close(fd);
	errno = error;
	return failed;
}
