// SPDX-License-Identifier: GPL-2.0
/*
 * A process behind the foreground: one task of /dev/freeblock after the other, each of a random
 * range, until it is killed. Every record is judged: what the block held at some time since the
 * range was added; once; in the range; unreadable only what is or was bad. A task that ends has
 * delivered all.
 *
 *	SIGTERM		close the file in the middle, begin another task
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "moments.h"
#include "uapi/freeblock.h"

#define ROOM 262144
/* Sectors around a bad block that are not tried: bad_quarantine_kib, and a request's length */
#define AROUND 1024

static atomic_int shut;
static struct task_words *me;
static unsigned int me_index;

/**
 * struct task - a task that runs
 * @dev: its file
 * @first: of its range
 * @count: of its range
 * @began: when the range was added
 * @seen: of each sector of the range: has it come?
 * @lo: of each 4 KiB block of it: the last write that had ended when it was added
 */
struct task {
	int dev;
	u64 first, count;
	u64 began;
	u8 *seen;
	u32 *lo;
};

static void on_term(int sig)
{
	if (sig == SIGTERM)
		atomic_store(&shut, 1);
}

static int set_up(struct task *t, u64 *rng)
{
	struct freeblock_ioc_api api = { .size = sizeof(api), .version = FREEBLOCK_API_VERSION };
	struct freeblock_ioc_setup setup = { .size = sizeof(setup), .name = "moments" };
	struct freeblock_range range = { 0 };
	struct freeblock_ioc_ranges add = {
		.size = sizeof(add), .range_bytes = sizeof(range), .ranges = (uintptr_t)&range,
		.nranges = 1,
	};
	char path[64];
	u64 i, granules;
	int error;

	if (atomic_load(&sh->gone))
		return -1;
	t->dev = open("/dev/freeblock", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (t->dev < 0)
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", sh->disk);
	setup.fd = open(path, O_RDONLY | O_CLOEXEC);
	setup.order = below(rng, 2);
	setup.flags = atomic_load(&sh->real) || below(rng, 4) ? 0 : FREEBLOCK_SETUP_MEDIUM;
	error = setup.fd < 0 || ioctl(t->dev, FREEBLOCK_IOC_API, &api) ||
		ioctl(t->dev, FREEBLOCK_IOC_SETUP, &setup);
	if (setup.fd >= 0)
		close(setup.fd);
	if (error)
		goto fail;
	granules = sh->sectors / setup.granule_sectors;
	t->first = below(rng, granules - 1) * setup.granule_sectors;
	t->count = (20 + below(rng, 200)) * setup.granule_sectors;
	if (t->first + t->count > sh->sectors)
		t->count = sh->sectors - t->first;
	t->seen = calloc(t->count, 1);
	t->lo = calloc(t->count / BLOCK_SECTORS + 2, sizeof(*t->lo));
	for (i = 0; i <= (t->count - 1) / BLOCK_SECTORS; i++)
		t->lo[i] = atomic_load(&sh->block[t->first / BLOCK_SECTORS + i].done);
	t->began = now_ns();
	range.first = t->first;
	range.count = t->count;
	if (!ioctl(t->dev, FREEBLOCK_IOC_ADD, &add) && !ioctl(t->dev, FREEBLOCK_IOC_START))
		return 0;
	free(t->seen);
	free(t->lo);
fail:
	close(t->dev);
	return -1;
}

static void judge_data(const struct task *t, u64 first, u32 sectors, const u8 *data)
{
	u32 i, bad = 0;

	for (i = 0; i < sectors; i++) {
		u64 lbn = first + i, block = lbn / BLOCK_SECTORS;

		bad += !sector_is(data + i * SECTOR, lbn, t->lo[block - t->first / BLOCK_SECTORS],
				  atomic_load(&sh->block[block].issued));
	}
	atomic_fetch_add(&sh->checked, (u64)sectors * SECTOR);
	if (!bad)
		return;
	atomic_fetch_add(&sh->count[WRONG], (u64)bad * SECTOR);
	atomic_fetch_add(&me->wrong, bad);
	found(WRONG, "task %u: %u sectors of %u from %llu, word %016llx", me_index, bad, sectors,
	      first, *(const u64 *)data);
}

static void judge_record(struct task *t, const struct freeblock_record *r, const u8 *data)
{
	bool failed = r->status != FREEBLOCK_STATUS_OK;
	bool untried = r->status == FREEBLOCK_STATUS_UNTRIED;
	u64 i;

	if (r->type != FREEBLOCK_RECORD_BLOCKS)
		return;
	if (r->first < t->first || r->first + r->sectors > t->first + t->count) {
		found(UNTRUE, "task %u: a record of %llu %u, outside of its range", me_index,
		      r->first, r->sectors);
		return;
	}
	for (i = r->first - t->first; i < r->first - t->first + r->sectors; i++) {
		if (t->seen[i])
			found(UNTRUE, "task %u: sector %llu came twice", me_index, t->first + i);
		t->seen[i] = 1;
	}
	atomic_fetch_add(&me->blocks, r->sectors / BLOCK_SECTORS);
	if (failed && !overlaps_bad(r->first, r->sectors, untried ? 0 : t->began,
				    untried ? AROUND : BLOCK_SECTORS))
		found(UNTRUE, "task %u: sectors %llu %u are not good (%u), and were never bad",
		      me_index, r->first, r->sectors, r->status);
	if (!failed)
		judge_data(t, r->first, r->sectors, data);
}

static void judge_end(struct task *t)
{
	u64 i, missing = 0;

	for (i = 0; i < t->count; i++)
		missing += !t->seen[i];
	if (missing)
		found(UNTRUE, "task %u: it ended and %llu of %llu sectors from %llu have not come",
		      me_index, missing, t->count, t->first);
}

/* What an error of read() means: go on (0), or the end of the task */
static int judge_error(const struct task *t, int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
		return 0;
	case ENOMEM:
		if (is_starved(t->began))
			return 0;
		found(UNTRUE, "task %u: read: %s", me_index, strerror(error));
		return 1;
	case ENODEV:
		/* it comes back, and the task goes on */
		rest_ms(50);
		return 0;
	case ECANCELED:
		if (!atomic_exchange(&me->may_stop, 0))
			found(UNTRUE, "task %u: stopped, and by nobody", me_index);
		atomic_fetch_add(&me->stopped, 1);
		return 1;
	default:
		found(UNTRUE, "task %u: read: %s", me_index, strerror(error));
		return 1;
	}
}

static void run(struct task *t)
{
	static u64 words[ROOM / sizeof(u64)];
	u8 *buf = (u8 *)words, *at;
	struct pollfd p = { .fd = t->dev, .events = POLLIN };
	ssize_t n;

	for (;;) {
		if (atomic_exchange(&shut, 0)) {
			atomic_fetch_add(&me->closed, 1);
			break;
		}
		poll(&p, 1, 200);
		n = read(t->dev, buf, ROOM);
		if (!n) {
			judge_end(t);
			atomic_fetch_add(&me->finished, 1);
			break;
		}
		if (n < 0) {
			if (judge_error(t, errno))
				break;
			continue;
		}
		for (at = buf; at < buf + n;) {
			const struct freeblock_record *r = (const void *)at;

			judge_record(t, r, at + r->header_bytes);
			at += r->header_bytes + r->data_bytes;
		}
	}
	close(t->dev);
}

/* reader SHARED INDEX SEED */
int behind_main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_term };
	struct task t;
	u64 rng;

	if (argc != 5)
		return 2;
	front_attach(argv[2]);
	me_index = atoi(argv[3]);
	me = &sh->task[me_index];
	rng = strtoull(argv[4], NULL, 10);
	sigaction(SIGTERM, &act, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!atomic_load(&me->last)) {
		if (set_up(&t, &rng)) {
			rest_ms(50);
			continue;
		}
		atomic_fetch_add(&me->begun, 1);
		run(&t);
		free(t.seen);
		free(t.lo);
	}
	return 0;
}
