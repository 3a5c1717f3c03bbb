// SPDX-License-Identifier: GPL-2.0
/*
 * The foreground: threads that write blocks, read them back and know what they must hold; one that
 * reads through the page cache, with read-ahead; one of the idle I/O class. The latter two read
 * what nobody writes.
 *
 * An error is the disk's own if the disk was being removed; if it is a medium error, the request
 * was a read, and one of its sectors was bad at some time since it was sent; or if memory was
 * made to fail and the error says so, or is that of a write that the drive had no memory for. Any
 * other error is a finding. So is a request that waits for longer than WAITS_S.
 */
#include <fcntl.h>
#include <linux/ioprio.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "moments.h"

/* Longer than HANDLED_S, and what comes after a hung command */
#define WAITS_S 200
#define BLOCKS_MOST 4

struct shared *sh;
static pthread_t threads[THREADS + 2];

/* ---- what is shared ---- */

static void map(const char *path, int flags, size_t bytes)
{
	int fd = open(path, O_RDWR | flags, 0600);

	if (fd < 0 || (bytes && ftruncate(fd, bytes))) {
		perror(path);
		exit(2);
	}
	bytes = bytes ?: (size_t)lseek(fd, 0, SEEK_END);
	sh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (sh == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
}

void front_map(const char *path, u64 sectors, u64 seed)
{
	u64 blocks = (sectors + BLOCK_SECTORS - 1) / BLOCK_SECTORS;

	map(path, O_CREAT | O_TRUNC, sizeof(*sh) + blocks * sizeof(sh->block[0]));
	sh->sectors = sectors;
	sh->blocks = blocks;
	sh->seed = seed;
}

void front_attach(const char *path)
{
	map(path, 0, 0);
}

/* ---- what a sector holds ---- */

static u64 word_of(u64 lbn, u32 number, unsigned int i)
{
	if (!number)
		return lbn * (SECTOR / 8) + i;
	if (!i)
		return (u64)number << 32 | (lbn ^ 0x5a5a5a5a);
	return ((lbn << 32 | number) + i) * 0x9e3779b97f4a7c15ull ^ sh->seed;
}

static void fill(u8 *data, u64 lbn, u32 number)
{
	u64 *word = (u64 *)data;
	unsigned int i;

	for (i = 0; i < SECTOR / 8; i++)
		word[i] = word_of(lbn, number, i);
}

/* Is it what one of the writes lo to hi left there? */
bool sector_is(const u8 *data, u64 lbn, u32 lo, u32 hi)
{
	const u64 *word = (const u64 *)data;
	u32 number = word[0] >> 32;
	unsigned int i;

	if (word[0] == word_of(lbn, 0, 0) || (u32)word[0] != (u32)(lbn ^ 0x5a5a5a5a))
		number = 0;
	if (number < lo || number > hi)
		return false;
	for (i = 0; i < SECTOR / 8; i++)
		if (word[i] != word_of(lbn, number, i))
			return false;
	return true;
}

static void check(const u8 *data, u64 block, unsigned int n, const u32 *lo)
{
	unsigned int i, s, bad = 0;

	for (i = 0; i < n; i++) {
		u32 hi = atomic_load(&sh->block[block + i].issued);

		for (s = 0; s < BLOCK_SECTORS; s++) {
			u64 lbn = (block + i) * BLOCK_SECTORS + s;

			bad += !sector_is(data + (i * BLOCK_SECTORS + s) * SECTOR, lbn, lo[i], hi);
		}
	}
	atomic_fetch_add(&sh->checked, (u64)n * BLOCK);
	if (!bad)
		return;
	atomic_fetch_add(&sh->count[WRONG], bad * SECTOR);
	found(WRONG, "%u sectors of %u blocks from %llu, word %016llx, writes %u to %u", bad, n,
	      block, *(const u64 *)data, lo[0], atomic_load(&sh->block[block].issued));
}

/* ---- one request ---- */

/* @around: sectors to either side that count, too */
bool overlaps_bad(u64 first, u64 count, u64 since, u64 around)
{
	u32 i, n = atomic_load(&sh->bads);

	for (i = 0; i < n; i++) {
		const struct bad *b = &sh->bad[i];
		u64 to = atomic_load(&b->to);

		if ((!to || to >= since) && first < b->first + b->count + around &&
		    b->first < first + count + around)
			return true;
	}
	return false;
}

struct request {
	unsigned int slot;
	bool write;
	u64 block;
	unsigned int n;
	int gen;
	u64 began;
};

static void judge_error(const struct request *r, ssize_t got, int error)
{
	bool medium = error == ENODATA || error == EIO || got > 0;

	if (atomic_load(&sh->gone) || atomic_load(&sh->gen) != r->gen)
		atomic_fetch_add(&sh->own_gone, 1);
	else if (!r->write && medium &&
		 overlaps_bad(r->block * BLOCK_SECTORS, r->n * BLOCK_SECTORS, r->began, 0))
		atomic_fetch_add(&sh->own_medium, 1);
	else if (is_starved(r->began) && (error == ENOMEM || error == EAGAIN ||
					  (r->write && error == EREMOTEIO)))
		atomic_fetch_add(&sh->own_memory, 1);
	else
		found(ERROR, "%s of %u blocks at %llu by thread %u: %zd, %s",
		      r->write ? "write" : "read", r->n, r->block, r->slot, got, strerror(error));
}

static void note_wait(const struct request *r)
{
	u64 ms = (now_ns() - r->began) / MSEC, *most = &sh->longest_ms[r->slot];

	if (ms > *most)
		*most = ms;
}

static ssize_t transfer(int fd, const struct request *r, u8 *buf)
{
	size_t bytes = r->n * BLOCK;
	off_t at = r->block * BLOCK;
	ssize_t got;
	int error;

	atomic_store(&sh->waits_since[r->slot], r->began);
	got = r->write ? pwrite(fd, buf, bytes, at) : pread(fd, buf, bytes, at);
	error = got < 0 ? errno : 0;
	atomic_store(&sh->waits_since[r->slot], 0);
	note_wait(r);
	if (got == (ssize_t)bytes) {
		atomic_fetch_add(r->write ? &sh->writes : &sh->reads, 1);
		return 0;
	}
	judge_error(r, got, error);
	return -1;
}

static int do_read(int fd, struct request *r, u8 *buf)
{
	u32 lo[BLOCKS_MOST];
	unsigned int i;

	for (i = 0; i < r->n; i++)
		lo[i] = atomic_load(&sh->block[r->block + i].done);
	if (transfer(fd, r, buf))
		return -1;
	check(buf, r->block, r->n, lo);
	return 0;
}

static int do_write(int fd, struct request *r, u8 *buf)
{
	u32 number[BLOCKS_MOST];
	unsigned int i, s;

	for (i = 0; i < r->n; i++) {
		number[i] = atomic_load(&sh->block[r->block + i].issued) + 1;
		for (s = 0; s < BLOCK_SECTORS; s++)
			fill(buf + (i * BLOCK_SECTORS + s) * SECTOR,
			     (r->block + i) * BLOCK_SECTORS + s, number[i]);
		atomic_store(&sh->block[r->block + i].issued, number[i]);
	}
	if (transfer(fd, r, buf))
		return -1;
	for (i = 0; i < r->n; i++)
		atomic_store(&sh->block[r->block + i].done, number[i]);
	return 0;
}

/* ---- threads ---- */

static u64 chunks(void)
{
	return sh->sectors / CHUNK_SECTORS;
}

/* Of every four chunks one is nobody's to write; the others go to the writers in turn */
static bool owns(unsigned int slot, u64 chunk)
{
	if (slot == WRITERS)
		return chunk % 8 == 3;
	if (slot == WRITERS + 1)
		return chunk % 8 == 7;
	return chunk % 4 != 3 && chunk / 4 % WRITERS == slot;
}

/* Is it a chunk of a thread that writes? */
bool front_writes(u64 chunk)
{
	return chunk % 4 != 3;
}

static void choose(u64 *rng, struct request *r)
{
	u64 hot = atomic_load(&sh->hot_first), chunk;

	do
		chunk = below(rng, chunks());
	while (!owns(r->slot, chunk));
	r->n = 1 + below(rng, BLOCKS_MOST);
	r->block = chunk * CHUNK + below(rng, CHUNK - r->n);
	r->write = r->slot != WRITERS && r->slot != WRITERS + 1 && below(rng, 5) < 2;
	/* Where something waits to be met, it is looked for */
	chunk = hot / CHUNK_SECTORS;
	if (hot && chunk < chunks() && owns(r->slot, chunk) && !below(rng, 2)) {
		r->write = false;
		r->n = 1;
		r->block = hot / BLOCK_SECTORS;
		if (r->block % CHUNK == CHUNK - 1)
			r->block--;
	}
}

static int open_disk(const struct request *r)
{
	char path[64];
	int fd;

	atomic_fetch_add(&sh->open, 1);
	snprintf(path, sizeof(path), "/dev/%s", sh->disk);
	fd = open(path, (r->slot == WRITERS ? O_RDONLY : O_RDWR | O_DIRECT) | O_CLOEXEC);
	if (fd < 0) {
		atomic_fetch_sub(&sh->open, 1);
		/* the node comes a little later than the disk */
		rest_ms(10);
	}
	return fd;
}

static void close_disk(int fd)
{
	close(fd);
	atomic_fetch_sub(&sh->open, 1);
}

static void one_request(int fd, struct request *r, u64 *rng, u8 *buf)
{
	choose(rng, r);
	if (r->slot == WRITERS)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	r->began = now_ns();
	if (r->write)
		do_write(fd, r, buf);
	else
		do_read(fd, r, buf);
}

static void *thread_main(void *arg)
{
	struct request r = { .slot = (uintptr_t)arg };
	u64 rng = sh->seed * 100 + r.slot;
	u8 *buf = aligned_alloc(BLOCK, BLOCKS_MOST * BLOCK);
	int fd;

	if (r.slot == WRITERS + 1)
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_CLASS_IDLE << 13);
	while (!atomic_load(&sh->over)) {
		if (atomic_load(&sh->gone)) {
			rest_ms(5);
			continue;
		}
		r.gen = atomic_load(&sh->gen);
		fd = open_disk(&r);
		if (fd < 0)
			continue;
		while (!atomic_load(&sh->over) && !atomic_load(&sh->gone) &&
		       atomic_load(&sh->gen) == r.gen) {
			if (atomic_load(&sh->hold))
				rest_ms(5);
			else
				one_request(fd, &r, &rng, buf);
		}
		close_disk(fd);
	}
	free(buf);
	return NULL;
}

/* Now and then the disk is idle for a while, else what wants idle time never comes to any */
static void *pauses_main(void *arg)
{
	u64 rng = sh->seed * 100 + 99;

	(void)arg;
	while (!atomic_load(&sh->over)) {
		rest_ms(500 + below(&rng, 1500));
		atomic_store(&sh->hold, 1);
		rest_ms(100 + below(&rng, 700));
		atomic_store(&sh->hold, 0);
	}
	return NULL;
}

static void *watch_main(void *arg)
{
	unsigned int i;

	(void)arg;
	while (!atomic_load(&sh->over)) {
		rest_ms(1000);
		for (i = 0; i < THREADS; i++) {
			u64 since = atomic_load(&sh->waits_since[i]);

			if (!since || now_ns() < since + WAITS_S * NSEC)
				continue;
			found(HANG, "a request of thread %u waits for %d s", i, WAITS_S);
			put("/proc/sysrq-trigger", "w");
			say("end hang");
			_exit(3);
		}
	}
	return NULL;
}

void front_start(void)
{
	uintptr_t i;

	for (i = 0; i < WRITERS + READERS_ONLY; i++)
		pthread_create(&threads[i], NULL, thread_main, (void *)i);
	pthread_create(&threads[THREADS], NULL, pauses_main, NULL);
	pthread_create(&threads[THREADS + 1], NULL, watch_main, NULL);
}

void front_stop(void)
{
	unsigned int i;

	atomic_store(&sh->over, 1);
	for (i = 0; i < WRITERS + READERS_ONLY; i++)
		pthread_join(threads[i], NULL);
	pthread_join(threads[THREADS], NULL);
	pthread_join(threads[THREADS + 1], NULL);
}

u64 front_count(void)
{
	return atomic_load(&sh->reads) + atomic_load(&sh->writes);
}

/* So many requests more than @from within the time? */
bool front_progress(u64 from, u64 requests, u64 seconds)
{
	u64 end = now_ns() + seconds * NSEC;

	while (front_count() < from + requests) {
		if (now_ns() > end)
			return false;
		rest_ms(10);
	}
	return true;
}

static bool was_written(u64 block, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (atomic_load(&sh->block[block + i].issued))
			return true;
	return false;
}

/* All of the disk, or what was written if that takes too long, when nobody writes any more */
void front_check_all(void)
{
	struct request r = { .slot = WRITERS + READERS_ONLY, .gen = atomic_load(&sh->gen) };
	u8 *buf = aligned_alloc(BLOCK, BLOCKS_MOST * BLOCK);
	int fd = open_disk(&r);
	u64 whole = sh->sectors / BLOCK_SECTORS;

	if (fd < 0)
		found(ERROR, "/dev/%s at last: %s", sh->disk, strerror(errno));
	for (r.block = 0; fd >= 0 && r.block < whole; r.block += r.n) {
		r.n = whole - r.block < BLOCKS_MOST ? whole - r.block : BLOCKS_MOST;
		r.began = now_ns();
		if (atomic_load(&sh->real) && !was_written(r.block, r.n))
			continue;
		if (do_read(fd, &r, buf) && atomic_load(&sh->count[ERROR]))
			break;
	}
	if (fd >= 0)
		close_disk(fd);
	free(buf);
}
