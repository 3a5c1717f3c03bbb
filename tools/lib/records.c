// SPDX-License-Identifier: GPL-2.0
/*
 * libfreeblock: records, one after the other, from reads that bring many.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "library.h"
#include "uapi/freeblock.h"

/* The record at an offset of the buffer; its length with its data, or 0 if it cannot be one */
static size_t header_at(const struct fb_task *task, size_t at, struct freeblock_record *header)
{
	size_t left = task->end - at;

	if (left < sizeof(*header))
		return 0;
	memcpy(header, task->data + at, sizeof(*header));
	if (header->header_bytes < sizeof(*header) || header->header_bytes > left ||
	    header->data_bytes > left - header->header_bytes)
		return 0;
	return (size_t)header->header_bytes + header->data_bytes;
}

static void take(struct fb_task *task, const struct freeblock_record *header, size_t length)
{
	task->taken = length;
	task->record = (struct fb_record) {
		.first = header->first, .user_data = header->user_data,
		.data = header->data_bytes ? task->data + task->at + header->header_bytes : NULL,
		.data_bytes = header->data_bytes, .sectors = header->sectors,
		.status = header->status, .type = header->type,
	};
}

/* An event of the buffer is no longer true when more has been wanted since; another one follows */
static bool is_late(struct fb_task *task, const struct freeblock_record *header)
{
	bool late;

	if (header->type != FREEBLOCK_RECORD_CAUGHT_UP)
		return false;
	pthread_mutex_lock(&task->call);
	late = task->wants != task->read_wants;
	pthread_mutex_unlock(&task->call);
	return late;
}

/* The next record of the buffer: 1; 0: it has none; -1: it has something else */
static int from_buffer(struct fb_task *task)
{
	struct freeblock_record header;

	while (task->at < task->end) {
		size_t length = header_at(task, task->at, &header);

		if (!length)
			return fb_library_fail(EBADMSG, "records: not understood");
		if (header.type <= FREEBLOCK_RECORD_CAUGHT_UP && !is_late(task, &header)) {
			take(task, &header, length);
			return 1;
		}
		task->at += length;
	}
	return 0;
}

/* Fill the empty buffer: 1; 0: all has been delivered; -1 */
static int fill(struct fb_task *task)
{
	ssize_t n;

	/* a failure between another call and its reason would change that */
	pthread_mutex_lock(&task->call);
	task->read_wants = task->wants;
	n = read(task->fd, task->data, task->capacity);
	pthread_mutex_unlock(&task->call);
	task->at = 0;
	task->end = n > 0 ? n : 0;
	if (n >= 0)
		return n > 0;
	if (errno == EAGAIN)
		return -1;
	if (errno == ECANCELED)
		return fb_library_fail(ECANCELED, "records: stopped before all was delivered");
	if (errno == ENODEV)
		return fb_library_fail(ENODEV, "records: the disk is gone");
	return fb_library_fail(errno, "records: %s", strerror(errno));
}

/* What there is without waiting: as fb_next(); EAGAIN: nothing */
static int look(struct fb_task *task)
{
	int found;

	pthread_mutex_lock(&task->buffer);
	task->at += task->taken;
	task->taken = 0;
	for (;;) {
		found = from_buffer(task);
		if (found)
			break;
		found = fill(task);
		if (found <= 0)
			break;
	}
	pthread_mutex_unlock(&task->buffer);
	return found;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* Start if nobody has: 1; 0: what was wanted is there already; -1 */
static int start(struct fb_task *task)
{
	bool started, wanted;

	pthread_mutex_lock(&task->call);
	started = task->started;
	wanted = task->wants;
	pthread_mutex_unlock(&task->call);
	if (started || !fb_start(task) || errno == EALREADY)
		return 1;
	return errno == EINVAL && wanted ? 0 : -1;
}

int fb_next(struct fb_task *task, const struct fb_record **record, int timeout_ms)
{
	int64_t until = timeout_ms > 0 ? now_ms() + timeout_ms : 0, left = timeout_ms;
	struct pollfd ready = { .fd = task->fd, .events = POLLIN };
	int found = start(task);

	if (found <= 0)
		return found;
	for (;;) {
		found = look(task);
		if (found > 0)
			*record = &task->record;
		if (found >= 0 || errno != EAGAIN)
			return found;
		if (until)
			left = until - now_ms();
		if (timeout_ms >= 0 && left <= 0)
			return fb_library_fail(ETIMEDOUT, "records: none yet");
		if (poll(&ready, 1, timeout_ms < 0 ? -1 : (int)left) < 0)
			return fb_library_fail(errno, "records: %s", strerror(errno));
	}
}

void fb_records_uncover(const struct fb_task *task, unsigned char *bits, uint64_t first,
			uint64_t count)
{
	uint64_t granule = task->geometry.granule_sectors, start = task->geometry.start_sector;
	struct freeblock_record header;
	size_t at = task->at, length;

	for (; at < task->end; at += length) {
		uint64_t low, high;

		length = header_at(task, at, &header);
		if (!length)
			return;
		if (header.type != FREEBLOCK_RECORD_BLOCKS || !header.sectors)
			continue;
		low = (start + header.first) / granule - start / granule;
		high = (start + header.first + header.sectors - 1) / granule - start / granule;
		for (; low <= high; low++)
			if (low >= first && low - first < count)
				bits[(low - first) / 8] &= ~(1u << (low - first) % 8);
	}
}
