// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of /dev/freeblock for lab scripts, static.
 *
 *	fbread copy BLOCKDEV [OPTION=VALUE]...		read, judge, print "key value" lines
 *	fbread moved PARTITION DISK			start on a partition; then, after a line on
 *							the standard input, read and judge
 *	fbread fuzz BLOCKDEV SEED N			N random calls by each of two threads
 *	fbread kill BLOCKDEV SEED N [MAX_US]		start a reader and kill it, N times
 *	fbread hold BLOCKDEV [poll]			start; say how read() or poll() ends
 *
 * copy, with the whole block device as default:
 *	first, count	sectors; given again: more ranges
 *	files		so many open files, started together, each reads all of it (1)
 *	threads		of each file, all reading (1)
 *	forks		1: the second half of the threads are another process's
 *	buf		bytes of a reader's buffer (1 MiB)
 *	kib, flags, order, regions, segment, priority	of the set-up
 *	nonblock	1: O_NONBLOCK and poll()
 *	slow_us		sleep after each read()
 *	most		stop reading after so many read()s
 *	promote		1: all of it at once
 *
 * What is delivered is put together in memory and compared with what the block device
 * holds in the end (read with O_DIRECT), if it was not written to meanwhile. Each range has a
 * user_data of its own, which must come back.
 */
#include "fbdev.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_FILES 4
#define MAX_RANGES 64

struct counts {
	u64 reads, records, sectors, twice, unreadable, untried, wrong, missing, longest,
	    mixed;
};

struct options {
	struct freeblock_range range[MAX_RANGES];
	unsigned int ranges, files, threads, forks, nonblock, slow_us, promote;
	size_t buf;
	u64 most;
	struct freeblock_ioc_setup setup;
};

/* one open file; all of it shared by the readers, who may be processes */
struct copy {
	const struct options *opt;
	int dev;
	pthread_mutex_t lock;
	struct counts n;
	int error;
	u64 sectors;
	u8 *data;
	u8 *seen;
	u64 *meant;
};

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* ---- copy ---- */

static void note_sectors(struct copy *c, const struct freeblock_record *r, const u8 *data)
{
	u64 i;

	for (i = r->first; i < r->first + r->sectors; i++) {
		c->n.mixed += r->user_data != c->meant[i];
		c->n.twice += c->seen[i] != 0;
		c->seen[i] = r->status + 1;
		if (data)
			memcpy(c->data + i * SECTOR, data + (i - r->first) * SECTOR, SECTOR);
	}
}

static int note_record(struct copy *c, const struct freeblock_record *r, const u8 *end)
{
	const u8 *data = (const u8 *)r + sizeof(*r);
	int has_data = !r->status && !(c->opt->setup.flags & FREEBLOCK_SETUP_NO_DATA);

	if (r->type != FREEBLOCK_RECORD_BLOCKS || r->header_bytes != sizeof(*r) || !r->sectors ||
	    r->status > FREEBLOCK_STATUS_UNVERIFIED || data + r->data_bytes > end ||
	    r->first + r->sectors > c->sectors ||
	    r->data_bytes != (has_data ? r->sectors * SECTOR : 0))
		return -EBADMSG;
	c->n.records++;
	c->n.sectors += r->sectors;
	c->n.unreadable += r->status == FREEBLOCK_STATUS_UNREADABLE ? r->sectors : 0;
	c->n.untried += r->status == FREEBLOCK_STATUS_UNTRIED ? r->sectors : 0;
	if (r->sectors > c->n.longest)
		c->n.longest = r->sectors;
	note_sectors(c, r, has_data ? data : NULL);
	return 0;
}

static void note_read(struct copy *c, const u8 *buf, size_t n)
{
	const u8 *at = buf;

	pthread_mutex_lock(&c->lock);
	c->n.reads++;
	while (at < buf + n && !c->error) {
		const struct freeblock_record *r = (const void *)at;

		if (buf + n - at < (ptrdiff_t)sizeof(*r))
			c->error = -EBADMSG;
		else
			c->error = note_record(c, r, buf + n);
		at += sizeof(*r) + r->data_bytes;
	}
	pthread_mutex_unlock(&c->lock);
}

static void *reader(void *arg)
{
	struct copy *c = arg;
	struct pollfd p = { .fd = c->dev, .events = POLLIN };
	u8 *buf = aligned_alloc(4096, (c->opt->buf + 4095) / 4096 * 4096);

	while (!c->error && (!c->opt->most || c->n.reads < c->opt->most)) {
		ssize_t n = read(c->dev, buf, c->opt->buf);

		if (n < 0 && errno == EAGAIN && c->opt->nonblock) {
			poll(&p, 1, -1);
			continue;
		}
		if (n < 0)
			c->error = -errno;
		if (n <= 0)
			break;
		note_read(c, buf, n);
		if (c->opt->slow_us)
			usleep(c->opt->slow_us);
	}
	free(buf);
	return NULL;
}

static void run_readers(struct copy *copies, const struct options *opt)
{
	pthread_t thread[MAX_FILES * 16];
	pid_t child = opt->forks ? fork() : 0;
	unsigned int i, n = opt->files * opt->threads;

	for (i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, reader, &copies[i % opt->files]))
			die("pthread_create");
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	if (!opt->forks)
		return;
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void judge(struct copy *c, int bdev)
{
	u8 *held = aligned_alloc(4096, 1 << 20);
	u64 at, i, n;
	unsigned int r;

	for (at = 0; at < c->sectors; at += n) {
		n = c->sectors - at < 2048 ? c->sectors - at : 2048;
		if (pread(bdev, held, n * SECTOR, at * SECTOR) != (ssize_t)(n * SECTOR))
			continue;
		for (i = at; i < at + n; i++)
			if (c->seen[i] == FREEBLOCK_STATUS_OK + 1 &&
			    memcmp(c->data + i * SECTOR, held + (i - at) * SECTOR, SECTOR))
				c->n.wrong++;
	}
	for (r = 0; r < c->opt->ranges; r++)
		for (i = 0; i < c->opt->range[r].count; i++)
			c->n.missing += !c->seen[c->opt->range[r].first + i];
	free(held);
}

static void begin_copy(struct copy *c, const struct options *opt, int bdev)
{
	struct freeblock_ioc_setup setup = opt->setup;
	pthread_mutexattr_t attr;
	unsigned int r;
	u64 i;

	c->opt = opt;
	c->dev = agreed(opt->nonblock ? O_NONBLOCK : 0, 0);
	setup.fd = bdev;
	if (ioctl(c->dev, FREEBLOCK_IOC_SETUP, &setup))
		die_of(c->dev, "set-up");
	c->sectors = setup.sectors;
	c->data = shared(c->sectors * SECTOR);
	c->seen = shared(c->sectors);
	c->meant = shared(c->sectors * sizeof(*c->meant));
	for (r = 0; r < opt->ranges; r++)
		for (i = 0; i < opt->range[r].count; i++)
			c->meant[opt->range[r].first + i] = opt->range[r].user_data;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&c->lock, &attr);
	if (change(c->dev, FREEBLOCK_IOC_ADD, opt->range, opt->ranges, 0))
		die_of(c->dev, "add");
}

static void start_copy(struct copy *c)
{
	struct freeblock_range range[MAX_RANGES];
	unsigned int i;

	if (ioctl(c->dev, FREEBLOCK_IOC_START))
		die_of(c->dev, "start");
	for (i = 0; i < c->opt->ranges; i++) {
		range[i] = c->opt->range[i];
		range[i].user_data = 0;
	}
	if (c->opt->promote &&
	    change(c->dev, FREEBLOCK_IOC_PROMOTE, range, c->opt->ranges, 0))
		die_of(c->dev, "promote");
}

static void print_copy(const struct copy *c)
{
	const struct counts *n = &c->n;

	printf("reads %llu\nrecords %llu\nsectors %llu\nlongest %llu\n", n->reads, n->records,
	       n->sectors, n->longest);
	printf("twice %llu\nwrong %llu\nmissing %llu\nmixed %llu\n", n->twice, n->wrong, n->missing,
	       n->mixed);
	printf("unreadable %llu\nuntried %llu\nend %s\n", n->unreadable, n->untried,
	       c->error ? strerrorname_np(-c->error) : "0");
}

static void add_range(struct options *o, u64 count)
{
	o->range[o->ranges].count = count;
	o->range[o->ranges].user_data = ~0ull - o->ranges;
	o->ranges++;
}

static int parse_option(struct options *o, const char *word, u64 value, size_t len)
{
	static const char * const names[] = {
		"first", "count", "files", "threads", "forks", "buf", "kib", "flags", "order",
		"regions", "segment", "priority", "nonblock", "slow_us", "most", "promote",
	};
	u32 *places[] = {
		NULL, NULL, &o->files, &o->threads, &o->forks, NULL, &o->setup.buffer_kib,
		&o->setup.flags, &o->setup.order, &o->setup.regions, &o->setup.segment_sectors,
		(u32 *)&o->setup.priority, &o->nonblock, &o->slow_us, NULL, &o->promote,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], word, len))
			break;
	if (i == ARRAY_SIZE(names))
		return -1;
	if (places[i])
		*places[i] = value;
	else if (i == 0)
		o->range[o->ranges].first = value;
	else if (i == 1)
		add_range(o, value);
	else if (i == 5)
		o->buf = value;
	else
		o->most = value;
	return 0;
}

static int copy_main(int argc, char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY | O_DIRECT), i;
	struct copy *copies = shared(MAX_FILES * sizeof(*copies));
	struct options o = {
		.files = 1, .threads = 1, .buf = 1 << 20, .setup = usual(-1),
	};
	unsigned int f;

	for (i = 1; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");

		if (!argv[i][len] ||
		    parse_option(&o, argv[i], strtoull(argv[i] + len + 1, NULL, 0), len)) {
			fprintf(stderr, "fbread: '%s' is no option\n", argv[i]);
			return 2;
		}
	}
	if (!o.ranges)
		add_range(&o, sectors_of(bdev));
	for (f = 0; f < o.files; f++)
		begin_copy(&copies[f], &o, bdev);
	for (f = 0; f < o.files; f++)
		start_copy(&copies[f]);
	run_readers(copies, &o);
	for (f = 0; f < o.files; f++) {
		if (!o.most && !(o.setup.flags & FREEBLOCK_SETUP_NO_DATA))
			judge(&copies[f], bdev);
		print_copy(&copies[f]);
	}
	return 0;
}

/* ---- many random calls, many deaths ---- */

struct fuzz {
	int fd;
	int bdev;
	unsigned int seed;
	unsigned int n;
};

/* mostly sane, now and then anything */
static u64 any(unsigned int *seed, u64 sane)
{
	u64 r = (u64)rand_r(seed) << 31 ^ rand_r(seed);

	switch (rand_r(seed) % 8) {
	case 0: return r;
	case 1: return r << 33;
	case 2: return 0;
	default: return sane ? r % sane / 8 * 8 : 0;
	}
}

static void fuzz_setup(struct fuzz *f)
{
	struct freeblock_ioc_setup s = usual(f->bdev);

	s.flags = any(&f->seed, 8);
	s.priority = any(&f->seed, 8);
	s.buffer_kib = any(&f->seed, 512);
	s.deadline_ns = any(&f->seed, 1ull << 40);
	s.foreground_ppm = any(&f->seed, 1000);
	if (!(rand_r(&f->seed) % 4)) {
		s.order = FREEBLOCK_ORDER_STAGGERED;
		s.regions = any(&f->seed, 64);
		s.segment_sectors = any(&f->seed, 1024);
	}
	ioctl(f->fd, FREEBLOCK_IOC_SETUP, &s);
}

static void fuzz_api(struct fuzz *f)
{
	struct freeblock_ioc_api a = {
		.size = sizeof(a), .version = FREEBLOCK_API_VERSION,
		.features = rand_r(&f->seed) % 5,
	};

	ioctl(f->fd, FREEBLOCK_IOC_API, &a);
}

static void fuzz_ranges(struct fuzz *f, unsigned long cmd)
{
	struct freeblock_range range[64];
	struct freeblock_ioc_ranges r = {
		.size = sizeof(r), .range_bytes = sizeof(range[0]), .ranges = (uintptr_t)range,
		.nranges = rand_r(&f->seed) % 4 ? 1u + rand_r(&f->seed) % 64 :
			   (u32)any(&f->seed, 64),
		.flags = rand_r(&f->seed) % 4 == 3,
	};
	unsigned int i;

	for (i = 0; i < 64; i++)
		range[i] = (struct freeblock_range) {
			.first = any(&f->seed, 40000), .count = 8 + any(&f->seed, 400),
			.user_data = cmd == FREEBLOCK_IOC_ADD ? rand_r(&f->seed) % 3 : 0,
		};
	if (!(rand_r(&f->seed) % 16))
		r.range_bytes = any(&f->seed, 64);
	ioctl(f->fd, cmd, &r);
}

/* a structure of nothing but noise behind its size */
static void fuzz_noise(struct fuzz *f, char *buf)
{
	u32 i;

	for (i = 0; i < 512; i++)
		buf[i] = rand_r(&f->seed) % 4 ? 0 : rand_r(&f->seed);
	*(u32 *)buf = rand_r(&f->seed) % 300;
	ioctl(f->fd, _IO(FREEBLOCK_IOC_MAGIC, rand_r(&f->seed) % 16), buf);
}

static void fuzz_bits(struct fuzz *f, unsigned long cmd, char *buf)
{
	struct freeblock_ioc_bits b = {
		.size = sizeof(b), .first = any(&f->seed, 4000), .count = any(&f->seed, 4000),
		.bits = (uintptr_t)buf,
	};

	ioctl(f->fd, cmd, &b);
}

static void fuzz_probes(struct fuzz *f)
{
	struct freeblock_probe probe[4] = {};
	struct freeblock_ioc_probes p = {
		.size = sizeof(p), .probe_bytes = sizeof(*probe), .probes = (uintptr_t)probe,
		.nprobes = any(&f->seed, 5), .timeout_ms = 1 + any(&f->seed, 20),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probe); i++) {
		probe[i].first = any(&f->seed, 32000);
		probe[i].count = any(&f->seed, 9);
	}
	ioctl(f->fd, FREEBLOCK_IOC_PROBE, &p);
}

static void fuzz_call(struct fuzz *f, char *buf, size_t size)
{
	static const unsigned long plain[] = {
		FREEBLOCK_IOC_START, FREEBLOCK_IOC_PAUSE, FREEBLOCK_IOC_RESUME, FREEBLOCK_IOC_STOP,
	}, ranges[] = { FREEBLOCK_IOC_ADD, FREEBLOCK_IOC_ADD, FREEBLOCK_IOC_REMOVE,
		FREEBLOCK_IOC_PROMOTE,
	};
	struct pollfd p = { .fd = f->fd, .events = POLLIN | POLLOUT | POLLPRI };
	unsigned int pick = rand_r(&f->seed) % 28;

	if (pick < 4)
		fuzz_ranges(f, ranges[pick]);
	else if (pick < 8)
		ioctl(f->fd, plain[pick == 7 && rand_r(&f->seed) % 8 ? 0 : pick - 4]);
	else if (pick < 11)
		fuzz_setup(f);
	else if (pick == 11)
		fuzz_api(f);
	else if (pick == 12)
		fuzz_probes(f);
	else if (pick < 15)
		fuzz_noise(f, buf);
	else if (pick == 15)
		fuzz_bits(f, FREEBLOCK_IOC_GET_COVERAGE, buf);
	else if (pick == 16)
		fuzz_bits(f, FREEBLOCK_IOC_SET_COVERAGE, buf);
	else if (pick < 25)
		(void)!read(f->fd, buf, any(&f->seed, size) % size);
	else if (pick == 25)
		poll(&p, 1, 1);
	else if (pick == 26)
		ioctl(f->fd, rand_r(&f->seed), buf);
	else
		ioctl(f->fd, _IO(FREEBLOCK_IOC_MAGIC, rand_r(&f->seed) % 16), rand_r(&f->seed));
}

static void *fuzz_thread(void *arg)
{
	struct fuzz *f = arg;
	size_t size = 1 << 17;
	char *buf = malloc(size);
	unsigned int i;

	for (i = 0; i < f->n; i++) {
		/* the other thread's calls may hit either: dup2() is atomic */
		if (!(rand_r(&f->seed) % 64)) {
			int fd = agreed(O_NONBLOCK, rand_r(&f->seed) % 8);

			dup2(fd, f->fd);
			close(fd);
			fuzz_setup(f);
		}
		fuzz_call(f, buf, size);
	}
	free(buf);
	return NULL;
}

static int fuzz_main(char **argv)
{
	int fd = agreed(O_NONBLOCK, 0), bdev = open_or_die(argv[0], O_RDONLY);
	unsigned int seed = strtoul(argv[1], NULL, 0), n = strtoul(argv[2], NULL, 0), i;
	struct fuzz f[2];
	pthread_t thread[2];

	for (i = 0; i < 2; i++) {
		f[i] = (struct fuzz) { fd, bdev, seed + i, n };
		if (pthread_create(&thread[i], NULL, fuzz_thread, &f[i]))
			die("pthread_create");
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static void live_until_killed(const char *block)
{
	char *buf = malloc(1 << 20);

	for (;;) {
		int fd = started(block, 0), i;

		for (i = 0; i < 20 && read(fd, buf, 1 << 20) > 0; i++)
			continue;
		close(fd);
	}
}

static int kill_main(int argc, char **argv)
{
	unsigned int seed = strtoul(argv[1], NULL, 0), n = strtoul(argv[2], NULL, 0), i;
	unsigned int most = argc > 3 ? strtoul(argv[3], NULL, 0) : 20000;
	int status;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid)
			live_until_killed(argv[0]);
		usleep(rand_r(&seed) % most);
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			return 1;
	}
	printf("killed %u\n", n);
	return 0;
}

static int hold_main(int argc, char **argv)
{
	int fd = started(argv[0], 0);
	struct pollfd p = { .fd = fd, .events = 0 };
	static char buf[1 << 20];

	printf("holds\n");
	fflush(stdout);
	if (argc > 1) {
		poll(&p, 1, -1);
		printf("poll %s\n", p.revents == POLLHUP ? "hangup" : "strange");
	}
	while (read(fd, buf, sizeof(buf)) > 0)
		continue;
	printf("read %s\n", strerrorname_np(errno));
	return 0;
}

/* ---- a partition that goes, and comes back elsewhere ---- */

static int moved_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY), dev = agreed(0, 0), disk;
	struct freeblock_ioc_setup s = usual(bdev);
	u64 done = 0, wrong = 0, outside = 0;
	static u8 buf[1 << 20], held[1 << 20];
	ssize_t n;
	u8 *at;

	if (ioctl(dev, FREEBLOCK_IOC_SETUP, &s) ||
	    change_one(dev, FREEBLOCK_IOC_ADD, 0, s.sectors))
		die_of(dev, argv[0]);
	close(bdev);
	printf("holds\n");
	fflush(stdout);
	if (getchar() == EOF || ioctl(dev, FREEBLOCK_IOC_START))
		die_of(dev, "start");
	disk = open_or_die(argv[1], O_RDONLY);
	while ((n = read(dev, buf, sizeof(buf))) > 0)
		for (at = buf; at < buf + n;) {
			const struct freeblock_record *r = (const void *)at;

			done += r->sectors;
			outside += r->first + r->sectors > s.sectors;
			if (pread(disk, held, r->data_bytes,
				  (s.start_sector + r->first) * SECTOR) !=
			    (ssize_t)r->data_bytes ||
			    memcmp(held, at + r->header_bytes, r->data_bytes))
				wrong++;
			at += r->header_bytes + r->data_bytes;
		}
	printf("missing %llu\nwrong %llu\noutside %llu\nend %s\n", s.sectors - done, wrong,
	       outside, n ? strerrorname_np(errno) : "0");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "copy"))
		return copy_main(argc - 2, argv + 2);
	if (argc == 4 && !strcmp(argv[1], "moved"))
		return moved_main(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "fuzz"))
		return fuzz_main(argv + 2);
	if (argc >= 5 && !strcmp(argv[1], "kill"))
		return kill_main(argc - 2, argv + 2);
	if (argc >= 3 && !strcmp(argv[1], "hold"))
		return hold_main(argc - 2, argv + 2);
	fprintf(stderr, "fbread: see the head of fbread.c\n");
	return 2;
}
