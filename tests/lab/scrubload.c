// SPDX-License-Identifier: GPL-2.0
/*
 * scrubload - a scrubber that is a program (Documentation/scrub-bench.rst)
 *
 *   scrubload verify DISK KEY=VALUE...	VERIFY (16) through SG_IO: what the scrubbing paper
 *					calls user-level. The schedulers see a command
 *					that they cannot sort and that has no class.
 *   scrubload read DISK KEY=VALUE...	direct reads, which they do sort
 *   scrubload watch FILE KEY=VALUE...	no scrubber: notes when numbers appear in a file that
 *					lists bad sectors
 *
 * One request at a time. Orders: sequential, or staggered over regions as Oprea and Juels
 * have it (FAST 2010): the first segment of each region, then the second of each.
 *
 * Counted is a window as in load.c: from start + warmup, for "seconds". A segment that
 * cannot be read is noted with its instant, and the next one is next.
 *
 * Keys (numbers): start, warmup, seconds, class, level as in load.c; segment (bytes);
 * regions (1: sequential); delay_us (after each completion); every_us (from one beginning to the
 * next, if that is later); first and count (the range in
 * sectors of 512 bytes; count 0: to the end); begin_pm (where in a pass it begins, per
 * mille). Key (text): out (a file for lines "NS FIRST COUNT", the instant since start, and
 * the segment in sectors of 512 bytes; of watch, FIRST is the number and COUNT 1).
 *
 * Prints "key value" lines.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../include/fb_shim.h"

#define NSEC		1000000000ULL
#define SECTOR		512
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS_SHIFT 13
/* A drive may recover for many seconds */
#define VERIFY_TIMEOUT_MS 600000
#define WATCH_NS	(NSEC / 20)
#define SEGMENT_MAX	4194304

static struct {
	u64 start, warmup, seconds, segment, regions, delay_us, every_us, class, level;
	u64 first, count, begin_pm;
	const char *out;
} opt = { .seconds = 10, .segment = 65536, .regions = 1 };

static const struct {
	const char *name;
	u64 *value;
} numbers[] = {
	{ "start", &opt.start }, { "warmup", &opt.warmup }, { "seconds", &opt.seconds },
	{ "segment", &opt.segment }, { "regions", &opt.regions },
	{ "delay_us", &opt.delay_us }, { "every_us", &opt.every_us },
	{ "class", &opt.class }, { "level", &opt.level },
	{ "first", &opt.first }, { "count", &opt.count }, { "begin_pm", &opt.begin_pm },
};

static int disk;
static unsigned int block_bytes;
static char *buffer;
static FILE *out;
static u64 begin, window_from, window_until;
static u64 done, done_bytes, errors, passes;

static void fail(const char *what)
{
	fprintf(stderr, "scrubload: %s: %s\n", what, strerror(errno));
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

static void note(u64 first, u64 count)
{
	errors++;
	if (out)
		fprintf(out, "%llu %llu %llu\n", (unsigned long long)(now() - begin),
			(unsigned long long)first, (unsigned long long)count);
}

static bool read_segment(u64 first, u64 count)
{
	return pread(disk, buffer, count * SECTOR, first * SECTOR) == (ssize_t)(count * SECTOR);
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
	unsigned int per = block_bytes / SECTOR;

	put_be(cdb + 2, first / per, 8);
	put_be(cdb + 10, count / per, 4);
	if (ioctl(disk, SG_IO, &hdr))
		fail("SG_IO");
	if (hdr.status == 2 && (sense[0] & 0x7f) == 0x70 && (sense[2] & 15) == 5) {
		fprintf(stderr, "scrubload: the drive refuses VERIFY of %llu sectors\n",
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

static void scrub(bool (*segment)(u64 first, u64 count))
{
	u64 size = opt.segment / SECTOR;
	u64 segments = (opt.count + size - 1) / size;
	u64 steps = (segments + opt.regions - 1) / opt.regions * opt.regions;
	u64 nr = steps * opt.begin_pm / 1000, at, first, count, begun;

	for (; now() < window_until; nr = (nr + 1) % steps) {
		at = place(nr, segments);
		if (nr == steps - 1)
			passes++;
		if (at == UINT64_MAX)
			continue;
		first = opt.first + at * size;
		count = opt.count - at * size < size ? opt.count - at * size : size;
		begun = now();
		if (!segment(first, count))
			note(first, count);
		if (now() >= window_from && now() < window_until) {
			done++;
			done_bytes += count * SECTOR;
		}
		if (opt.delay_us)
			sleep_until(now() + opt.delay_us * 1000);
		if (opt.every_us)
			sleep_until(begun + opt.every_us * 1000);
	}
}

/* Note a number that was not there before; files list few */
static void appeared(u64 nr)
{
	static u64 known[1 << 16];
	static u64 nr_known;
	u64 i;

	for (i = 0; i < nr_known; i++)
		if (known[i] == nr)
			return;
	if (nr_known == ARRAY_SIZE(known)) {
		fprintf(stderr, "scrubload: too many bad sectors to watch\n");
		exit(1);
	}
	known[nr_known++] = nr;
	note(nr, 1);
}

/* Lines "NR ...", one a bad block */
static void watch_line(const char *line)
{
	char *end;
	u64 nr = strtoull(line, &end, 10);

	if (end != line)
		appeared(nr);
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
			watch_line(line);
		fclose(file);
	}
	free(line);
}

static void parse(char *word)
{
	char *value = strchr(word, '='), *end;
	unsigned int i;

	if (!value) {
		fprintf(stderr, "scrubload: '%s' is not KEY=VALUE\n", word);
		exit(2);
	}
	*value++ = 0;
	if (!strcmp(word, "out")) {
		opt.out = value;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(word, numbers[i].name))
			continue;
		*numbers[i].value = strtoull(value, &end, 10);
		if (*value >= '0' && *value <= '9' && !*end)
			return;
		fprintf(stderr, "scrubload: %s=%s: not a number\n", word, value);
		exit(2);
	}
	fprintf(stderr, "scrubload: unknown key '%s'\n", word);
	exit(2);
}

static void check(u64 sectors)
{
	const char *bad = NULL;

	if (!opt.segment || opt.segment % 4096 || opt.segment > SEGMENT_MAX)
		bad = "segment: not a multiple of 4096, or over 4 MiB";
	else if (!opt.regions)
		bad = "regions: at least 1";
	else if (opt.begin_pm > 999)
		bad = "begin_pm: 0 to 999";
	else if (opt.first % 8 || opt.count % 8)
		bad = "first, count: not multiples of 8 sectors";
	else if (opt.first >= sectors || opt.count > sectors - opt.first)
		bad = "first, count: beyond the end of the disk";
	if (!bad)
		return;
	fprintf(stderr, "scrubload: %s\n", bad);
	exit(2);
}

static void prepare(const char *path)
{
	u64 bytes;

	disk = open(path, O_RDONLY | O_DIRECT);
	if (disk < 0 || ioctl(disk, BLKGETSIZE64, &bytes) || ioctl(disk, BLKSSZGET, &block_bytes))
		fail(path);
	check(bytes / SECTOR);
	if (!opt.count)
		opt.count = bytes / SECTOR - opt.first;
	if (posix_memalign((void **)&buffer, 4096, opt.segment))
		fail("posix_memalign");
	memset(buffer, 0, opt.segment);
	if (opt.class && syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
				 opt.class << IOPRIO_CLASS_SHIFT | opt.level))
		fail("ioprio_set");
}

int main(int argc, char **argv)
{
	bool watching = argc > 2 && !strcmp(argv[1], "watch");
	bool verify = argc > 2 && !strcmp(argv[1], "verify");
	int i;

	if (!watching && !verify && (argc < 3 || strcmp(argv[1], "read"))) {
		fprintf(stderr, "usage: scrubload read|verify|watch PATH KEY=VALUE...\n");
		return 2;
	}
	for (i = 3; i < argc; i++)
		parse(argv[i]);
	if (!watching)
		prepare(argv[2]);
	if (opt.out) {
		out = fopen(opt.out, "w");
		if (!out)
			fail(opt.out);
	}
	begin = opt.start ? opt.start * NSEC : now();
	window_from = begin + opt.warmup * NSEC;
	window_until = window_from + opt.seconds * NSEC;
	sleep_until(begin);
	if (watching)
		watch(argv[2]);
	else
		scrub(verify ? verify_segment : read_segment);
	if (out && fclose(out))
		fail(opt.out);
	printf("requests %llu\nbytes %llu\nerrors %llu\npasses %llu\n",
	       (unsigned long long)done, (unsigned long long)done_bytes,
	       (unsigned long long)errors, (unsigned long long)passes);
	return 0;
}
