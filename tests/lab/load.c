// SPDX-License-Identifier: GPL-2.0
/*
 * load - requests to a disk, for comparing schedulers (Documentation/peers.rst) and
 * scrubbers (Documentation/scrub-bench.rst)
 *
 *   load random DISK KEY=VALUE...	requests all over the disk
 *   load stream DISK KEY=VALUE...	one request behind the other
 *   load chunks DISK KEY=VALUE...	requests behind each other from a random place, again
 *					and again: the scrubbing paper's (DSN 2012, IV-B)
 *   load replay DISK KEY=VALUE...	those of a trace, at its instants
 *   load read DISK KEY=VALUE...	a scrubber that is a program: direct reads, which are sorted
 *   load verify DISK KEY=VALUE...	VERIFY (16) through SG_IO: what the scrubbing paper calls
 *					user-level. The schedulers see a command that they cannot
 *					sort and that has no class.
 *   load watch FILE KEY=VALUE...	no scrubber: notes when numbers appear in a file that lists
 *					bad sectors
 *
 * Direct asynchronous I/O; one submitting thread, so that a scheduler that
 * looks at processes sees one. What is requested is drawn by the request's
 * number, whatever the order of completions: under each scheduler the same
 * requests, and with a rate at the same instants, arrive.
 *
 * With a rate (open arrivals, Poisson) and in a replay the latency counts from the instant at
 * which the request was due, so that a scheduler which makes the submitter wait
 * is not let off. Counted is a window of time only: from start + warmup, for
 * "seconds". All times are CLOCK_MONOTONIC in nanoseconds, unless they say
 * otherwise.
 *
 * Keys (numbers): seconds, warmup (s); start (s of the clock; 0: now); seed;
 * depth (requests kept outstanding; with a rate: at most); rate (per 1000 s; 0:
 * closed loop); reads (percent); begin_pm (of a stream: where on the disk it
 * begins, per mille; it goes on from the disk's start when it meets the end);
 * bytes (of a stream's request, or a chunk's); chunk (bytes); pause_us (of a closed
 * loop, after each completion); think_us (the same, but the mean of an exponential
 * distribution); class (ioprio class of the process: 0 none, 1 real time, 2 best effort,
 * 3 idle), level, and class_each (the same of each request, the process having none);
 * errors_ok (1: requests that fail are counted, and no reason to exit with 1).
 *
 * A scrubber has one request at a time, of "bytes"; one that fails is noted with its instant, and
 * the next one is next. Its keys: regions (1: sequential; else staggered over so many, as Oprea and
 * Juels have it, FAST 2010: the first segment of each, then the second of each); pause_us; every_us
 * (from one beginning to the next, if that is later); first and count (the range in sectors of 512
 * bytes; count 0: to the end); begin_pm (where in a pass it begins).
 *
 * Keys (text): out (a file for the latencies in microseconds of all but a stream, 32
 * bits each, little endian, highest bit: a write; of a scrubber for lines "NS FIRST COUNT", the
 * instant since start, and the segment that failed in sectors of 512 bytes; of watch, FIRST is the
 * number and COUNT 1); snap (a file to be copied when the
 * window begins and ends; up to 8) and snaps (prefix of the copies); trace (of a
 * replay: lines "US R|W SECTOR SECTORS" with sectors of 512 bytes and microseconds since
 * the start that do not decrease).
 *
 * Prints "key value" lines.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <math.h>
#include <pthread.h>
#include <scsi/sg.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../include/fb_shim.h"

#define SLOTS_MAX	4096
#define SNAPS_MAX	8
#define NSEC		1000000000ULL
#define BLOCK		4096
#define SECTOR		512
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS_SHIFT 13
/* Longest request of a random load, blocks */
#define RANDOM_BLOCKS	8
/* A drive may recover for many seconds */
#define VERIFY_TIMEOUT_MS 600000
#define WATCH_NS	(NSEC / 20)

struct slot {
	struct iocb cb;
	/* When it was due */
	u64 due;
	char *buffer;
	int write;
};

static struct {
	u64 seconds, warmup, start, seed, depth, rate, reads, begin_pm;
	u64 bytes, chunk, pause_us, think_us, class, class_each, level, errors_ok;
	u64 regions, every_us, first, count;
	const char *out, *snaps, *trace, *snap[SNAPS_MAX];
	int nr_snaps;
} opt = { .seconds = 10, .seed = 1, .depth = 1, .reads = 100, .bytes = 65536, .regions = 1 };

static const struct {
	const char *name;
	const char **value;
} texts[] = {
	{ "out", &opt.out }, { "snaps", &opt.snaps }, { "trace", &opt.trace },
};

static const struct {
	const char *name;
	u64 *value;
} numbers[] = {
	{ "seconds", &opt.seconds }, { "warmup", &opt.warmup }, { "start", &opt.start },
	{ "seed", &opt.seed }, { "depth", &opt.depth }, { "rate", &opt.rate },
	{ "reads", &opt.reads }, { "begin_pm", &opt.begin_pm }, { "bytes", &opt.bytes },
	{ "pause_us", &opt.pause_us }, { "class", &opt.class }, { "level", &opt.level },
	{ "chunk", &opt.chunk }, { "think_us", &opt.think_us }, { "errors_ok", &opt.errors_ok },
	{ "class_each", &opt.class_each }, { "regions", &opt.regions },
	{ "every_us", &opt.every_us }, { "first", &opt.first }, { "count", &opt.count },
};

/* A replay's requests; offset and bytes as the disk counts them, at since the start */
struct record {
	u64 at, offset;
	u32 bytes;
	int write;
};

enum { RANDOM, STREAM, CHUNKS, REPLAY, LOADS, READ = LOADS, VERIFY, WATCH, KINDS };

static const char * const kinds[KINDS] = {
	"random", "stream", "chunks", "replay", "read", "verify", "watch",
};

static struct slot slots[SLOTS_MAX];
static struct record *records;
static u64 nr_records;
static u32 longest_record;
/* Slots that are free, a stack; with @lock, for there may be two threads */
static int idle[SLOTS_MAX], nr_idle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static aio_context_t ctx;
static int disk, kind;
static u64 begin, window_from, window_until, number, disk_bytes;
/* Of the window; the reaper's */
static u64 done, done_bytes, errors, nr_latencies;
static u32 *latencies;
/* The submitter's and the reaper's; the latter ends when both agree */
static atomic_ulong submitted, reaped;
static atomic_int over;
/* With a rate: raised for each request sent, and at the end */
static sem_t sent;

static void fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static void sleep_until(u64 when)
{
	struct timespec ts = { .tv_sec = when / NSEC, .tv_nsec = when % NSEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* The @nr-th number of a sequence: SplitMix64 */
static u64 draw(u64 nr)
{
	u64 z = (opt.seed * 0x2545f4914f6cdd1dULL) + nr * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/*
 * Multiples of 4 KiB, k * 4 KiB with a probability of 2^-k cut at 32 KiB: the
 * freeblock paper's exponential distribution with a mean of 8 KiB (5.1), in the
 * per cents that the demo uses too.
 */
static unsigned int draw_blocks(u64 x)
{
	static const unsigned char up_to[RANDOM_BLOCKS] = { 50, 75, 87, 94, 97, 98, 99, 100 };
	unsigned int k = 0;

	while (x % 100 >= up_to[k])
		k++;
	return k + 1;
}

static void fill_random(struct slot *s)
{
	u64 blocks = disk_bytes / BLOCK - RANDOM_BLOCKS;

	s->write = draw(4 * number) % 100 >= opt.reads;
	s->cb.aio_nbytes = draw_blocks(draw(4 * number + 1)) * BLOCK;
	s->cb.aio_offset = draw(4 * number + 2) % blocks * BLOCK;
}

static void fill_stream(struct slot *s)
{
	u64 fits = disk_bytes / opt.bytes;

	s->write = opt.reads == 0;
	s->cb.aio_nbytes = opt.bytes;
	s->cb.aio_offset = (fits * opt.begin_pm / 1000 + number) % fits * opt.bytes;
}

/* Places are multiples of 4 KiB */
static void fill_chunks(struct slot *s)
{
	u64 each = opt.chunk / opt.bytes, places = (disk_bytes - opt.chunk) / BLOCK + 1;

	s->write = opt.reads == 0;
	s->cb.aio_nbytes = opt.bytes;
	s->cb.aio_offset = draw(4 * (number / each) + 2) % places * BLOCK +
			   number % each * opt.bytes;
}

static void fill_replay(struct slot *s)
{
	const struct record *r = &records[number];

	s->write = r->write;
	s->cb.aio_nbytes = r->bytes;
	s->cb.aio_offset = r->offset;
}

static void (* const fill[LOADS])(struct slot *s) = {
	fill_random, fill_stream, fill_chunks, fill_replay,
};

static void submit(struct slot *s, u64 due)
{
	struct iocb *cb = &s->cb;

	memset(cb, 0, sizeof(*cb));
	fill[kind](s);
	number++;
	s->due = due;
	cb->aio_data = (uintptr_t)s;
	cb->aio_fildes = disk;
	cb->aio_lio_opcode = s->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
	cb->aio_buf = (uintptr_t)s->buffer;
	if (opt.class_each) {
		cb->aio_flags = IOCB_FLAG_IOPRIO;
		cb->aio_reqprio = opt.class_each << IOPRIO_CLASS_SHIFT;
	}
	submitted++;
	if (syscall(SYS_io_submit, ctx, 1, &cb) != 1)
		fail("io_submit");
}

static void account(struct slot *s, s64 result, u64 at)
{
	u64 us = (at - s->due) / 1000;

	if (result != (s64)s->cb.aio_nbytes)
		errors++;
	if (at >= window_from && at < window_until) {
		done++;
		done_bytes += s->cb.aio_nbytes;
	}
	if (s->due >= window_from && s->due < window_until && latencies) {
		if (us >= 1U << 31)
			us = (1U << 31) - 1;
		if (nr_latencies < (1U << 22))
			latencies[nr_latencies++] = us | (s->write ? 1U << 31 : 0);
	}
}

/* Wait for at least one completion; puts the slots that became free in @free */
static int reap(struct slot **free)
{
	struct io_event events[64];
	u64 at;
	int n, i;

	n = syscall(SYS_io_getevents, ctx, 1, 64, events, NULL);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		fail("io_getevents");
	at = now();
	for (i = 0; i < n; i++) {
		free[i] = (struct slot *)(uintptr_t)events[i].data;
		account(free[i], events[i].res, at);
	}
	reaped += n;
	return n;
}

static void copy(FILE *to, const char *path)
{
	char buffer[4096];
	FILE *from = fopen(path, "r");
	size_t n;

	if (!from)
		fail(path);
	fprintf(to, "== %s\n", path);
	while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		fwrite(buffer, 1, n, to);
	fclose(from);
}

static void snapshot(const char *which)
{
	char path[256];
	FILE *to;
	int i;

	if (!opt.nr_snaps)
		return;
	snprintf(path, sizeof(path), "%s.%s", opt.snaps, which);
	to = fopen(path, "w");
	if (!to)
		fail(path);
	fprintf(to, "== now\n%llu\n", (unsigned long long)now());
	for (i = 0; i < opt.nr_snaps; i++)
		copy(to, opt.snap[i]);
	fclose(to);
}

/* A thread of its own, so that loads of any kind take them alike */
static void *snapshots(void *unused)
{
	sleep_until(window_from);
	snapshot("begin");
	sleep_until(window_until);
	snapshot("end");
	return unused;
}

/* Exponential, in the unit of the mean; each request has a number of its own */
static double draw_exponential(double mean)
{
	double u = ((draw(4 * number + 3) >> 11) + 1) / (double)(1ULL << 53);

	return -log(u) * mean;
}

static void think(void)
{
	if (opt.pause_us)
		sleep_until(now() + opt.pause_us * 1000);
	if (opt.think_us)
		sleep_until(now() + draw_exponential(opt.think_us * 1000.0));
}

static void closed_loop(void)
{
	struct slot *free[64];
	u64 i;
	int n, j;

	for (i = 0; i < opt.depth; i++)
		submit(&slots[i], now());
	while (reaped < submitted) {
		n = reap(free);
		for (j = 0; j < n && now() < window_until; j++) {
			think();
			submit(free[j], now());
		}
	}
}

/* Blocks in io_getevents() only while something is under way: there it would not
 * hear of the end.
 */
static void *reaper(void *unused)
{
	struct slot *free[64];
	u64 known = 0;
	int n, i;

	for (;;) {
		sem_wait(&sent);
		if (over && reaped == submitted)
			return unused;
		known++;
		while (reaped < known) {
			n = reap(free);
			pthread_mutex_lock(&lock);
			for (i = 0; i < n; i++)
				idle[nr_idle++] = free[i] - slots;
			pthread_mutex_unlock(&lock);
		}
	}
}

static struct slot *take_slot(void)
{
	int i = -1;

	for (;;) {
		pthread_mutex_lock(&lock);
		if (nr_idle)
			i = idle[--nr_idle];
		pthread_mutex_unlock(&lock);
		if (i >= 0)
			return &slots[i];
		usleep(1000);
	}
}

/* When the next one arrives after the one that was due at @due: of a rate the mean is
 * 1000 s / rate. A trace's end is never.
 */
static u64 next_due(u64 due)
{
	if (kind != REPLAY)
		return due + (u64)draw_exponential(1e12 / opt.rate);
	return number < nr_records ? begin + records[number].at : UINT64_MAX;
}

static void open_loop(void)
{
	u64 due = next_due(begin);
	pthread_t thread;

	for (nr_idle = 0; nr_idle < (int)opt.depth; nr_idle++)
		idle[nr_idle] = nr_idle;
	if (sem_init(&sent, 0, 0) || pthread_create(&thread, NULL, reaper, NULL))
		fail("pthread_create");
	while (due < window_until) {
		struct slot *s = take_slot();

		sleep_until(due);
		submit(s, due);
		sem_post(&sent);
		due = next_due(due);
	}
	over = 1;
	sem_post(&sent);
	pthread_join(thread, NULL);
}

/* ---- scrubbers ---- */

static FILE *found;

static void note(u64 first, u64 count)
{
	errors++;
	if (found)
		fprintf(found, "%llu %llu %llu\n", (unsigned long long)(now() - begin),
			(unsigned long long)first, (unsigned long long)count);
}

static bool read_segment(u64 first, u64 count)
{
	return pread(disk, slots[0].buffer, count * SECTOR, first * SECTOR) ==
	       (ssize_t)(count * SECTOR);
}

static void put_be(unsigned char *p, u64 value, int bytes)
{
	while (bytes--)
		*p++ = value >> 8 * bytes;
}

static bool verify_segment(u64 first, u64 count)
{
	unsigned char cdb[16] = { 0x8f }, sense[64];
	struct sg_io_hdr hdr = {
		.interface_id = 'S', .dxfer_direction = SG_DXFER_NONE, .cmdp = cdb,
		.cmd_len = sizeof(cdb), .sbp = sense, .mx_sb_len = sizeof(sense),
		.timeout = VERIFY_TIMEOUT_MS,
	};
	unsigned int block_bytes;

	if (ioctl(disk, BLKSSZGET, &block_bytes))
		fail("BLKSSZGET");
	put_be(cdb + 2, first / (block_bytes / SECTOR), 8);
	put_be(cdb + 10, count / (block_bytes / SECTOR), 4);
	if (ioctl(disk, SG_IO, &hdr))
		fail("SG_IO");
	if (hdr.status == 2 && (sense[0] & 0x7f) == 0x70 && (sense[2] & 15) == 5) {
		fprintf(stderr, "load: the drive refuses VERIFY of %llu sectors\n",
			(unsigned long long)count);
		exit(1);
	}
	return !hdr.status && !hdr.host_status && !hdr.driver_status;
}

/*
 * The n-th segment of a pass. Regions have the same number of segments but for the last
 * ones, which may have fewer or none; what they lack is UINT64_MAX.
 */
static u64 place(u64 nr, u64 segments)
{
	u64 rounds = (segments + opt.regions - 1) / opt.regions;
	u64 at = nr % opt.regions * rounds + nr / opt.regions;

	return at < segments && nr / opt.regions < rounds ? at : UINT64_MAX;
}

static void scrub(void)
{
	u64 size = opt.bytes / SECTOR, segments = (opt.count + size - 1) / size;
	u64 steps = (segments + opt.regions - 1) / opt.regions * opt.regions;
	u64 nr = steps * opt.begin_pm / 1000, at, first, count, begun;

	for (; now() < window_until; nr = (nr + 1) % steps) {
		at = place(nr, segments);
		if (at == UINT64_MAX)
			continue;
		first = opt.first + at * size;
		count = opt.count - at * size < size ? opt.count - at * size : size;
		begun = now();
		if (!(kind == VERIFY ? verify_segment : read_segment)(first, count))
			note(first, count);
		if (now() >= window_from && now() < window_until) {
			done++;
			done_bytes += count * SECTOR;
		}
		think();
		if (opt.every_us)
			sleep_until(begun + opt.every_us * 1000);
	}
}

/* Note a number that was not there before, of a line "NR ..."; files list few */
static void appeared(const char *line)
{
	static u64 known[1 << 16];
	static u64 nr_known;
	char *end;
	u64 nr = strtoull(line, &end, 10), i;

	for (i = 0; i < nr_known && known[i] != nr; i++)
		;
	if (end == line || i < nr_known)
		return;
	if (nr_known == ARRAY_SIZE(known)) {
		fprintf(stderr, "load: too many bad sectors to watch\n");
		exit(1);
	}
	known[nr_known++] = nr;
	note(nr, 1);
}

static void watch(const char *path)
{
	char *line = NULL;
	size_t room = 0;
	FILE *file;

	for (; now() < window_until; sleep_until(now() + WATCH_NS)) {
		file = fopen(path, "r");
		if (!file)
			fail(path);
		while (getline(&line, &room, file) > 0)
			appeared(line);
		fclose(file);
	}
	free(line);
}

static void parse(char *word)
{
	char *value = strchr(word, '='), *end;
	unsigned int i;

	if (!value) {
		fprintf(stderr, "load: '%s' is not KEY=VALUE\n", word);
		exit(2);
	}
	*value++ = 0;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(word, texts[i].name))
			continue;
		*texts[i].value = value;
		return;
	}
	if (!strcmp(word, "snap") && opt.nr_snaps < SNAPS_MAX) {
		opt.snap[opt.nr_snaps++] = value;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(word, numbers[i].name))
			continue;
		*numbers[i].value = strtoull(value, &end, 10);
		if (*value >= '0' && *value <= '9' && !*end)
			return;
		fprintf(stderr, "load: %s=%s: not a number\n", word, value);
		exit(2);
	}
	fprintf(stderr, "load: unknown key '%s'\n", word);
	exit(2);
}

static void bad_record(u64 line, const char *why)
{
	fprintf(stderr, "load: %s:%llu: %s\n", opt.trace, (unsigned long long)line, why);
	exit(2);
}

static void parse_record(char *text, u64 line)
{
	struct record *r = &records[nr_records];
	unsigned long long us, sector, sectors;
	char op, more;

	if (sscanf(text, "%llu %c %llu %llu %c", &us, &op, &sector, &sectors, &more) != 4 ||
	    (op != 'R' && op != 'W'))
		bad_record(line, "not US R|W SECTOR SECTORS");
	if (!sectors || sectors > 1U << 20)
		bad_record(line, "1 to 2^20 sectors");
	if (sector > disk_bytes / 512 || sectors > disk_bytes / 512 - sector)
		bad_record(line, "beyond the end of the disk");
	if (sector * 512 % BLOCK || sectors * 512 % BLOCK)
		bad_record(line, "no multiples of 8 sectors");
	r->at = us * 1000;
	if (nr_records && r->at < r[-1].at)
		bad_record(line, "earlier than the line before");
	r->offset = sector * 512;
	r->bytes = sectors * 512;
	r->write = op == 'W';
	if (r->bytes > longest_record)
		longest_record = r->bytes;
	nr_records++;
}

static void read_trace(void)
{
	u64 room = 0, line = 0;
	char text[128];
	FILE *file;

	if (!opt.trace) {
		fprintf(stderr, "load: a replay needs trace=FILE\n");
		exit(2);
	}
	file = fopen(opt.trace, "r");
	if (!file)
		fail(opt.trace);
	while (fgets(text, sizeof(text), file)) {
		line++;
		if (nr_records == room) {
			room = room ? 2 * room : 1024;
			records = realloc(records, room * sizeof(*records));
			if (!records)
				fail(opt.trace);
		}
		parse_record(text, line);
	}
	fclose(file);
	if (!nr_records)
		bad_record(line, "no request");
}

/* What the longest request has */
static u64 longest(void)
{
	if (kind == REPLAY)
		return longest_record;
	return kind == RANDOM ? RANDOM_BLOCKS * BLOCK : opt.bytes;
}

static void check(void)
{
	u64 bytes = longest();
	const char *bad = NULL;

	if (disk_bytes < 2 * bytes || !bytes || bytes % BLOCK)
		bad = "bytes: not a multiple of 4096, or the disk holds fewer than two requests";
	else if (opt.begin_pm > 999)
		bad = "begin_pm: 0 to 999";
	else if (opt.depth < 1 || opt.depth > SLOTS_MAX)
		bad = "depth: 1 to 4096";
	else if (opt.rate && kind != RANDOM)
		bad = "only a random load has a rate";
	else if ((kind == CHUNKS) != !!opt.chunk)
		bad = "chunk: of chunks, and of them only";
	else if (kind == CHUNKS && (opt.chunk % bytes || opt.chunk > disk_bytes))
		bad = "chunk: not a multiple of bytes, or the disk is smaller";
	else if ((kind == REPLAY) != !!opt.trace)
		bad = "trace: of a replay, and of it only";
	else if (opt.reads > 100)
		bad = "reads: 0 to 100";
	else if (!opt.regions)
		bad = "regions: at least 1";
	else if (opt.first % 8 || opt.count % 8)
		bad = "first, count: not multiples of 8 sectors";
	else if (opt.first >= disk_bytes / SECTOR || opt.count > disk_bytes / SECTOR - opt.first)
		bad = "first, count: beyond the end of the disk";
	else if (opt.nr_snaps && !opt.snaps)
		bad = "snap without snaps";
	if (!bad)
		return;
	fprintf(stderr, "load: %s\n", bad);
	exit(2);
}

static void prepare(const char *path)
{
	size_t bytes;
	u64 i;

	disk = open(path, O_RDWR | O_DIRECT);
	if (disk < 0 || ioctl(disk, BLKGETSIZE64, &disk_bytes))
		fail(path);
	if (kind == REPLAY)
		read_trace();
	check();
	if (!opt.count)
		opt.count = disk_bytes / SECTOR - opt.first;
	bytes = longest();
	if (kind != STREAM && kind < LOADS)
		latencies = malloc(sizeof(*latencies) << 22);
	for (i = 0; i < opt.depth; i++) {
		if (posix_memalign((void **)&slots[i].buffer, BLOCK, bytes))
			fail("posix_memalign");
		memset(slots[i].buffer, i, bytes);
	}
	if (syscall(SYS_io_setup, opt.depth, &ctx))
		fail("io_setup");
	if (opt.class && syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
				 opt.class << IOPRIO_CLASS_SHIFT | opt.level))
		fail("ioprio_set");
}

static void results(void)
{
	FILE *file;

	printf("requests %llu\nbytes %llu\nseconds %llu\nerrors %llu\nlatencies %llu\n",
	       (unsigned long long)done, (unsigned long long)done_bytes,
	       (unsigned long long)opt.seconds, (unsigned long long)errors,
	       (unsigned long long)nr_latencies);
	if (!opt.out || !latencies)
		return;
	file = fopen(opt.out, "w");
	if (!file || fwrite(latencies, sizeof(*latencies), nr_latencies, file) != nr_latencies ||
	    fclose(file))
		fail(opt.out);
}

static void run_scrubber(const char *path)
{
	if (opt.out) {
		found = fopen(opt.out, "w");
		if (!found)
			fail(opt.out);
	}
	if (kind == WATCH)
		watch(path);
	else
		scrub();
	if (found && fclose(found))
		fail(opt.out);
}

int main(int argc, char **argv)
{
	pthread_t snapper;
	int i;

	while (kind < KINDS && argc > 2 && strcmp(argv[1], kinds[kind]))
		kind++;
	if (argc < 3 || kind == KINDS) {
		fputs("usage: load KIND PATH KEY=VALUE..., see the top of load.c\n", stderr);
		return 2;
	}
	for (i = 3; i < argc; i++)
		parse(argv[i]);
	if (kind != WATCH)
		prepare(argv[2]);
	begin = opt.start ? opt.start * NSEC : now();
	window_from = begin + opt.warmup * NSEC;
	window_until = window_from + opt.seconds * NSEC;
	if (pthread_create(&snapper, NULL, snapshots, NULL))
		fail("pthread_create");
	sleep_until(begin);
	if (kind >= LOADS)
		run_scrubber(argv[2]);
	else if (opt.rate || kind == REPLAY)
		open_loop();
	else
		closed_loop();
	pthread_join(snapper, NULL);
	results();
	return errors && !opt.errors_ok && kind < LOADS ? 1 : 0;
}
