// SPDX-License-Identifier: GPL-2.0
/*
 * libfreeblock: tasks, and calls of /dev/freeblock (include/uapi/freeblock.h).
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "library.h"
#include "uapi/freeblock.h"

#define DEVICE "/dev/freeblock"
#define OPTIONS_FIRST 48	/* bytes of struct fb_options in the first version */
#define PROGRESS_FIRST 64	/* of struct fb_task_progress */
#define FLAGS (FB_MEDIUM | FB_NO_DATA | FB_KEEP | FB_EVENTS | FB_COVERAGE | FB_PROBES)
#define BUFFER_BYTES 1048576u	/* that one read() may fill */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* A program sees the library's names only; they are the module's numbers */
#define SAME(ours, modules) static_assert((ours) == (modules), #ours)
SAME(FB_MEDIUM, FREEBLOCK_SETUP_MEDIUM);
SAME(FB_NO_DATA, FREEBLOCK_SETUP_NO_DATA);
SAME(FB_KEEP, FREEBLOCK_SETUP_KEEP);
SAME(FB_UNCOVERED, FREEBLOCK_RANGES_UNCOVERED);
SAME(FB_NEAR, FREEBLOCK_ORDER_NEAR);
SAME(FB_SEQUENTIAL, FREEBLOCK_ORDER_SEQUENTIAL);
SAME(FB_STAGGERED, FREEBLOCK_ORDER_STAGGERED);
SAME(FB_PRIORITY_MIN, FREEBLOCK_PRIORITY_MIN);
SAME(FB_PRIORITY_MAX, FREEBLOCK_PRIORITY_MAX);
SAME(FB_BLOCKS, FREEBLOCK_RECORD_BLOCKS);
SAME(FB_CAUGHT_UP, FREEBLOCK_RECORD_CAUGHT_UP);
SAME(FB_OK, FREEBLOCK_STATUS_OK);
SAME(FB_UNREADABLE, FREEBLOCK_STATUS_UNREADABLE);
SAME(FB_UNTRIED, FREEBLOCK_STATUS_UNTRIED);
SAME(FB_UNVERIFIED, FREEBLOCK_STATUS_UNVERIFIED);
SAME(FB_NEW, FREEBLOCK_STATE_NEW);
SAME(FB_RUNNING, FREEBLOCK_STATE_RUNNING);
SAME(FB_PAUSED, FREEBLOCK_STATE_PAUSED);
SAME(FB_FINISHED, FREEBLOCK_STATE_FINISHED);
SAME(FB_STOPPED, FREEBLOCK_STATE_STOPPED);
SAME(sizeof(struct fb_range), sizeof(struct freeblock_range));
SAME(offsetof(struct fb_range, first), offsetof(struct freeblock_range, first));
SAME(offsetof(struct fb_range, sectors), offsetof(struct freeblock_range, count));
SAME(offsetof(struct fb_range, user_data), offsetof(struct freeblock_range, user_data));

/* of the calling thread's last failure */
static __thread char words[2 * FREEBLOCK_REASON_LEN];

const char *fb_error(void)
{
	return words;
}

int fb_library_fail(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	errno = error;
	return -1;
}

/* the module's words for a call that has just failed, or else those for the error */
static int fail_by_module(int fd, const char *what, int error)
{
	struct freeblock_ioc_reason reason = { .size = sizeof(reason) };

	if (ioctl(fd, FREEBLOCK_IOC_REASON, &reason) || !reason.text[0])
		return fb_library_fail(error, "%s: %s", what, strerror(error));
	reason.text[sizeof(reason.text) - 1] = '\0';
	return fb_library_fail(error, "%s: %s", what, reason.text);
}

int fb_library_call(struct fb_task *task, unsigned long number, void *argument, const char *what)
{
	int failed;

	pthread_mutex_lock(&task->call);
	failed = ioctl(task->fd, number, argument) < 0;
	if (failed)
		fail_by_module(task->fd, what, errno);
	else if (number == FREEBLOCK_IOC_START)
		task->started = true;
	else if (number == FREEBLOCK_IOC_ADD)
		task->wants++;
	pthread_mutex_unlock(&task->call);
	return failed ? -1 : 0;
}

/* whether the bytes of a caller's structure that we do not know ask for something */
static bool asks_more(const void *given, size_t size, size_t known)
{
	const unsigned char *bytes = given;
	size_t i;

	for (i = known; i < size; i++)
		if (bytes[i])
			return true;
	return false;
}

static int take_options(struct fb_options *own, const struct fb_options *given)
{
	memset(own, 0, sizeof(*own));
	if (!given)
		return 0;
	if (given->size < OPTIONS_FIRST)
		return fb_library_fail(EINVAL, "options: they have no size of %u bytes",
				       given->size);
	if (asks_more(given, given->size, sizeof(*own)))
		return fb_library_fail(E2BIG, "options: of a newer libfreeblock than this one");
	memcpy(own, given, given->size < sizeof(*own) ? given->size : sizeof(*own));
	if (own->flags & ~FLAGS)
		return fb_library_fail(EINVAL, "options: unknown flags %#x", own->flags & ~FLAGS);
	if (own->name && strlen(own->name) >= FREEBLOCK_NAME_LEN)
		return fb_library_fail(EINVAL, "options: '%.32s' has more than %d characters",
				       own->name, FREEBLOCK_NAME_LEN - 1);
	return 0;
}

static int agree(struct fb_task *task, const struct fb_options *options)
{
	struct freeblock_ioc_api api = {
		.size = sizeof(api), .version = FREEBLOCK_API_VERSION,
	};

	if (options->flags & FB_EVENTS)
		api.features |= FREEBLOCK_FEATURE_EVENTS;
	if (options->flags & FB_COVERAGE)
		api.features |= FREEBLOCK_FEATURE_COVERAGE;
	if (options->flags & FB_PROBES)
		api.features |= FREEBLOCK_FEATURE_PROBES;
	task->coverage = options->flags & FB_COVERAGE;
	return fb_library_call(task, FREEBLOCK_IOC_API, &api, DEVICE);
}

static int set_up(struct fb_task *task, const char *path, int block,
		  const struct fb_options *options)
{
	struct freeblock_ioc_setup setup = {
		.size = sizeof(setup), .fd = block,
		.flags = options->flags & (FB_MEDIUM | FB_NO_DATA | FB_KEEP),
		.priority = options->priority, .deadline_ns = options->deadline_ns,
		.buffer_kib = options->buffer_kib, .order = options->order,
		.regions = options->regions, .segment_sectors = options->segment_sectors,
		.foreground_ppm = options->foreground_ppm,
	};

	if (options->name)
		memcpy(setup.name, options->name, strlen(options->name));
	if (fb_library_call(task, FREEBLOCK_IOC_SETUP, &setup, path))
		return -1;
	task->geometry = (struct fb_task_geometry) {
		.sectors = setup.sectors, .start_sector = setup.start_sector,
		.blocks = setup.blocks, .granule_sectors = setup.granule_sectors,
	};
	task->ranges_max = setup.ranges_max;
	task->capacity = setup.record_bytes > BUFFER_BYTES ? setup.record_bytes : BUFFER_BYTES;
	task->data = malloc(task->capacity);
	return task->data ? 0 : fb_library_fail(ENOMEM, "%s: no memory for records", path);
}

/* The disk's unique id, in sysfs beside the disk, or above the partition */
static void find_id(struct fb_task *task, int block)
{
	static const char * const places[] = { "device/wwid", "../device/wwid" };
	struct stat about;
	unsigned int i;

	if (fstat(block, &about))
		return;
	for (i = 0; i < 2; i++) {
		char path[96];
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(about.st_rdev),
			 minor(about.st_rdev), places[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, task->id, sizeof(task->id) - 1);
		close(fd);
		if (n > 0) {
			task->id[strcspn(task->id, "\n")] = '\0';
			return;
		}
	}
}

static int open_task(struct fb_task *task, const char *path, const struct fb_options *options)
{
	int block, failed, error;

	task->fd = open(DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (task->fd < 0)
		return fb_library_fail(errno, "%s: %s%s", DEVICE, strerror(errno),
				       errno == ENOENT ? "; load the module freeblock" : "");
	if (agree(task, options))
		return -1;
	block = open(path, O_RDONLY | O_CLOEXEC);
	if (block < 0)
		return fb_library_fail(errno, "%s: %s", path, strerror(errno));
	failed = set_up(task, path, block, options);
	error = errno;
	if (!failed)
		find_id(task, block);
	close(block);
	errno = error;
	return failed;
}

struct fb_task *fb_open(const char *path, const struct fb_options *options)
{
	struct fb_options own;
	struct fb_task *task;

	if (take_options(&own, options))
		return NULL;
	task = calloc(1, sizeof(*task));
	if (!task) {
		fb_library_fail(ENOMEM, "%s: no memory", path);
		return NULL;
	}
	task->fd = -1;
	pthread_mutex_init(&task->call, NULL);
	pthread_mutex_init(&task->buffer, NULL);
	pthread_mutex_init(&task->saving, NULL);
	if (!open_task(task, path, &own))
		return task;
	fb_close(task);
	return NULL;
}

void fb_close(struct fb_task *task)
{
	int error = errno;

	if (!task)
		return;
	if (task->fd >= 0)
		close(task->fd);
	pthread_mutex_destroy(&task->saving);
	pthread_mutex_destroy(&task->buffer);
	pthread_mutex_destroy(&task->call);
	free(task->data);
	free(task);
	errno = error;
}

const struct fb_task_geometry *fb_geometry(const struct fb_task *task)
{
	return &task->geometry;
}

int fb_fd(const struct fb_task *task)
{
	return task->fd;
}

static long change(struct fb_task *task, unsigned long number, const struct fb_range *ranges,
		   size_t n, unsigned int flags, const char *what)
{
	size_t done = 0;

	while (done < n) {
		size_t some = n - done < task->ranges_max ? n - done : task->ranges_max;
		struct freeblock_ioc_ranges call = {
			.size = sizeof(call), .range_bytes = sizeof(*ranges),
			.ranges = (uintptr_t)(ranges + done), .nranges = some, .flags = flags,
		};

		if (fb_library_call(task, number, &call, what))
			return done ? (long)done : -1;
		done += some;
	}
	return done;
}

static int change_one(struct fb_task *task, unsigned long number, struct fb_range range,
		      unsigned int flags, const char *what)
{
	if (range.sectors == FB_REST) {
		if (range.first >= task->geometry.sectors)
			return fb_library_fail(ERANGE, "%s: sector %llu is beyond the end", what,
					       (unsigned long long)range.first);
		range.sectors = task->geometry.sectors - range.first;
	}
	return change(task, number, &range, 1, flags, what) < 0 ? -1 : 0;
}

int fb_want(struct fb_task *task, uint64_t first, uint64_t sectors, uint64_t user_data,
	    unsigned int flags)
{
	struct fb_range range = { first, sectors, user_data };

	return change_one(task, FREEBLOCK_IOC_ADD, range, flags, "want");
}

long fb_want_ranges(struct fb_task *task, const struct fb_range *ranges, size_t n,
		    unsigned int flags)
{
	return change(task, FREEBLOCK_IOC_ADD, ranges, n, flags, "want");
}

int fb_unwant(struct fb_task *task, uint64_t first, uint64_t sectors)
{
	struct fb_range range = { first, sectors, 0 };

	return change_one(task, FREEBLOCK_IOC_REMOVE, range, 0, "unwant");
}

int fb_promote(struct fb_task *task, uint64_t first, uint64_t sectors)
{
	struct fb_range range = { first, sectors, 0 };

	return change_one(task, FREEBLOCK_IOC_PROMOTE, range, 0, "promote");
}

int fb_start(struct fb_task *task)
{
	return fb_library_call(task, FREEBLOCK_IOC_START, NULL, "start");
}

int fb_pause(struct fb_task *task)
{
	return fb_library_call(task, FREEBLOCK_IOC_PAUSE, NULL, "pause");
}

int fb_resume(struct fb_task *task)
{
	return fb_library_call(task, FREEBLOCK_IOC_RESUME, NULL, "resume");
}

int fb_stop(struct fb_task *task)
{
	return fb_library_call(task, FREEBLOCK_IOC_STOP, NULL, "stop");
}

int fb_urgency(struct fb_task *task, int priority, uint64_t deadline_ns, uint32_t foreground_ppm)
{
	struct freeblock_ioc_urgency urgency = {
		.size = sizeof(urgency), .priority = priority, .deadline_ns = deadline_ns,
		.foreground_ppm = foreground_ppm,
	};

	return fb_library_call(task, FREEBLOCK_IOC_URGENCY, &urgency, "urgency");
}

int fb_progress(struct fb_task *task, struct fb_task_progress *progress)
{
	struct freeblock_ioc_progress told = { .size = sizeof(told) };
	struct fb_task_progress own;
	uint32_t size = progress->size;

	if (size < PROGRESS_FIRST)
		return fb_library_fail(EINVAL, "state: it has no size of %u bytes", size);
	if (fb_library_call(task, FREEBLOCK_IOC_PROGRESS, &told, "state"))
		return -1;
	own = (struct fb_task_progress) {
		.size = size, .state = told.state, .waiting_for = told.waiting_for,
		.entering = told.entering, .total = told.total, .done = told.done,
		.failed = told.failed, .flying = told.flying, .queued = told.queued,
		.buffer_blocks = told.buffer_blocks, .stalled_ns = told.stalled_ns,
	};
	memset(progress, 0, size);
	memcpy(progress, &own, size < sizeof(own) ? size : sizeof(own));
	return 0;
}

const char *fb_waiting_for(uint32_t waiting_for)
{
	static const char * const reasons[] = {
		[FREEBLOCK_WAIT_NONE] = "nothing",
		[FREEBLOCK_WAIT_DISK] = "the disk is gone",
		[FREEBLOCK_WAIT_SCHEDULER] = "the disk has another scheduler",
		[FREEBLOCK_WAIT_CAPACITY] = "the disk's capacity has changed",
		[FREEBLOCK_WAIT_TRUST] = "the model is distrusted",
		[FREEBLOCK_WAIT_UNFIT] = "the device cannot be scheduled",
		[FREEBLOCK_WAIT_ALARM] = "paused after too many errors or slow recoveries",
		[FREEBLOCK_WAIT_READER] = "the buffer is full until records are taken",
		[FREEBLOCK_WAIT_CACHE] = "the write cache hides the medium",
		[FREEBLOCK_WAIT_GUARD] = "free reads cost the foreground too much",
		[FREEBLOCK_WAIT_GAP] = "the disk is busy and no gap fits",
		[FREEBLOCK_WAIT_IDLE] = "the disk has not been idle for long enough",
		[FREEBLOCK_WAIT_ASLEEP] = "the drive sleeps, or rests so that it can",
	};

	if (waiting_for >= ARRAY_SIZE(reasons))
		return "something that libfreeblock does not know";
	return reasons[waiting_for];
}
