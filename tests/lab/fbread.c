// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of /dev/freeblock/<disk> for lab scripts, static.
 *
 *	fbread part BLOCKDEV NUMBER FIRST COUNT		make a partition
 *	fbread copy DEV BLOCKDEV [OPTION=VALUE]...	read, judge, print "key value" lines
 *	fbread calls DEV BLOCKDEV OTHER PARTITION	bad calls: "NAME|GOT|WANT" lines
 *	fbread fuzz DEV BLOCKDEV SEED N			N random calls by each of two threads
 *	fbread kill DEV BLOCKDEV SEED N [MAX_US]	start a reader and kill it, N times
 *	fbread hold DEV BLOCKDEV [poll]			start; say how read() or poll() ends
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
 * holds in the end (read with O_DIRECT), if it was not written to meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/blkpg.h>
#include <linux/capability.h>
#include <linux/fs.h>

#include "uapi/freeblock.h"

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_FILES 4
#define MAX_RANGES 64
#define SECTOR 512

struct counts {
	u64 reads, records, sectors, twice, unreadable, untried, wrong, missing, longest;
};

struct options {
	struct freeblock_ioc_range range[MAX_RANGES];
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
};

static void die(const char *what)
{
	fprintf(stderr, "fbread: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		die(path);
	return fd;
}

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void die_of(int dev, const char *what)
{
	struct freeblock_ioc_reason reason;
	int error = errno;

	memset(&reason, 0, sizeof(reason));
	ioctl(dev, FREEBLOCK_IOC_REASON, &reason);
	fprintf(stderr, "fbread: %s: %s: %s\n", what, strerror(error), reason.text);
	exit(2);
}

static u64 sectors_of(int bdev)
{
	u64 bytes;

	if (ioctl(bdev, BLKGETSIZE64, &bytes))
		die("BLKGETSIZE64");
	return bytes / SECTOR;
}

static struct freeblock_ioc_setup usual(int bdev)
{
	return (struct freeblock_ioc_setup) {
		.version = FREEBLOCK_IOC_VERSION, .fd = bdev, .priority = 4, .name = "fbread",
	};
}

/* a task that wants all of @bdev and runs */
static int started(const char *dev, const char *block, int flags)
{
	int fd = open_or_die(dev, O_RDONLY | flags), bdev = open_or_die(block, O_RDONLY);
	struct freeblock_ioc_setup setup = usual(bdev);
	struct freeblock_ioc_range range = { .count = sectors_of(bdev) };

	if (ioctl(fd, FREEBLOCK_IOC_SETUP, &setup) || ioctl(fd, FREEBLOCK_IOC_ADD, &range) ||
	    ioctl(fd, FREEBLOCK_IOC_START))
		die_of(fd, dev);
	close(bdev);
	return fd;
}

/* ---- copy ---- */

static void note_sectors(struct copy *c, const struct freeblock_record *r, const u8 *data)
{
	u64 i;

	for (i = r->lbn; i < r->lbn + r->sectors; i++) {
		c->n.twice += c->seen[i] != 0;
		c->seen[i] = r->status + 1;
		if (data)
			memcpy(c->data + i * SECTOR, data + (i - r->lbn) * SECTOR, SECTOR);
	}
}

static int note_record(struct copy *c, const struct freeblock_record *r, const u8 *end)
{
	const u8 *data = (const u8 *)r + sizeof(*r);
	int has_data = !r->status && !(c->opt->setup.flags & FREEBLOCK_IOC_NO_DATA);

	if (r->version != FREEBLOCK_IOC_VERSION || r->header_bytes != sizeof(*r) || r->reserved ||
	    !r->sectors || r->status > FREEBLOCK_RECORD_UNTRIED || data + r->data_bytes > end ||
	    r->lbn + r->sectors > c->sectors ||
	    r->data_bytes != (has_data ? r->sectors * SECTOR : 0))
		return -EBADMSG;
	c->n.records++;
	c->n.sectors += r->sectors;
	c->n.unreadable += r->status == FREEBLOCK_RECORD_UNREADABLE ? r->sectors : 0;
	c->n.untried += r->status == FREEBLOCK_RECORD_UNTRIED ? r->sectors : 0;
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
			if (c->seen[i] == FREEBLOCK_RECORD_OK + 1 &&
			    memcmp(c->data + i * SECTOR, held + (i - at) * SECTOR, SECTOR))
				c->n.wrong++;
	}
	for (r = 0; r < c->opt->ranges; r++)
		for (i = 0; i < c->opt->range[r].count; i++)
			c->n.missing += !c->seen[c->opt->range[r].first + i];
	free(held);
}

static void begin_copy(struct copy *c, const struct options *opt, const char *dev, int bdev)
{
	struct freeblock_ioc_setup setup = opt->setup;
	pthread_mutexattr_t attr;
	unsigned int i;

	c->opt = opt;
	c->dev = open_or_die(dev, opt->nonblock ? O_RDONLY | O_NONBLOCK : O_RDONLY);
	setup.fd = bdev;
	if (ioctl(c->dev, FREEBLOCK_IOC_SETUP, &setup))
		die_of(c->dev, "set-up");
	c->sectors = setup.sectors;
	c->data = shared(c->sectors * SECTOR);
	c->seen = shared(c->sectors);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&c->lock, &attr);
	for (i = 0; i < opt->ranges; i++)
		if (ioctl(c->dev, FREEBLOCK_IOC_ADD, &opt->range[i]))
			die_of(c->dev, "add");
}

static void start_copy(struct copy *c)
{
	unsigned int i;

	if (ioctl(c->dev, FREEBLOCK_IOC_START))
		die_of(c->dev, "start");
	for (i = 0; c->opt->promote && i < c->opt->ranges; i++)
		if (ioctl(c->dev, FREEBLOCK_IOC_PROMOTE, &c->opt->range[i]))
			die_of(c->dev, "promote");
}

static void print_copy(const struct copy *c)
{
	const struct counts *n = &c->n;

	printf("reads %llu\nrecords %llu\nsectors %llu\nlongest %llu\n", n->reads, n->records,
	       n->sectors, n->longest);
	printf("twice %llu\nwrong %llu\nmissing %llu\nunreadable %llu\nuntried %llu\nend %s\n",
	       n->twice, n->wrong, n->missing, n->unreadable, n->untried,
	       c->error ? strerrorname_np(-c->error) : "0");
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
		&o->setup.priority, &o->nonblock, &o->slow_us, NULL, &o->promote,
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
		o->range[o->ranges++].count = value;
	else if (i == 5)
		o->buf = value;
	else
		o->most = value;
	return 0;
}

static int copy_main(int argc, char **argv)
{
	int bdev = open_or_die(argv[1], O_RDONLY | O_DIRECT), i;
	struct copy *copies = shared(MAX_FILES * sizeof(*copies));
	struct options o = {
		.files = 1, .threads = 1, .buf = 1 << 20, .setup = usual(-1),
	};
	unsigned int f;

	for (i = 2; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");

		if (!argv[i][len] ||
		    parse_option(&o, argv[i], strtoull(argv[i] + len + 1, NULL, 0), len)) {
			fprintf(stderr, "fbread: '%s' is no option\n", argv[i]);
			return 2;
		}
	}
	if (!o.ranges)
		o.range[o.ranges++].count = sectors_of(bdev);
	for (f = 0; f < o.files; f++)
		begin_copy(&copies[f], &o, argv[0], bdev);
	for (f = 0; f < o.files; f++)
		start_copy(&copies[f]);
	run_readers(copies, &o);
	for (f = 0; f < o.files; f++) {
		if (!o.most && !(o.setup.flags & FREEBLOCK_IOC_NO_DATA))
			judge(&copies[f], bdev);
		print_copy(&copies[f]);
	}
	return 0;
}

/* ---- bad calls ---- */

static int calls_dev;

static void said(const char *name, long ret, int want)
{
	struct freeblock_ioc_reason reason;
	int error = errno;

	memset(&reason, 0, sizeof(reason));
	ioctl(calls_dev, FREEBLOCK_IOC_REASON, &reason);
	printf("%s|%s%s|%s\n", name, ret < 0 ? strerrorname_np(error) : "0",
	       ret < 0 && want && !reason.text[0] ? " without a reason" : "",
	       want ? strerrorname_np(want) : "0");
	if (ret < 0)
		fprintf(stderr, "# %s: %s\n", name, reason.text);
}

#define SAYS(want, name, call) do { errno = 0; said(name, (call), (want)); } while (0)

static long set_up(struct freeblock_ioc_setup setup)
{
	return ioctl(calls_dev, FREEBLOCK_IOC_SETUP, &setup);
}

static long range_call(unsigned long cmd, u64 first, u64 count, u64 reserved)
{
	struct freeblock_ioc_range range = {
		.first = first, .count = count, .reserved = { 0, reserved },
	};

	return ioctl(calls_dev, cmd, &range);
}

static void bad_setups(int bdev, const char *block, const char *other)
{
	int blind = open_or_die(block, O_WRONLY), wrong = open_or_die(other, O_RDONLY);
	int file = open_or_die("/proc/self/exe", O_RDONLY);
	struct freeblock_ioc_setup s;

#define BAD(want, name, change) do {								\
		s = usual(bdev);								\
		change;										\
		SAYS(want, name, set_up(s));							\
	} while (0)
	BAD(EPROTONOSUPPORT, "set-up: version 0", s.version = 0);
	BAD(EPROTONOSUPPORT, "set-up: version 2", s.version = 2);
	BAD(EINVAL, "set-up: unknown flag", s.flags = 8);
	BAD(EINVAL, "set-up: priority 8", s.priority = 8);
	BAD(EINVAL, "set-up: 63 KiB", s.buffer_kib = 63);
	BAD(EINVAL, "set-up: 65537 KiB", s.buffer_kib = 65537);
	BAD(EINVAL, "set-up: order 3", s.order = 3);
	BAD(EINVAL, "set-up: regions without staggered", s.regions = 4);
	BAD(EINVAL, "set-up: staggered without regions", s.order = FREEBLOCK_IOC_STAGGERED);
	BAD(EINVAL, "set-up: segments that are no blocks",
	    (s.order = FREEBLOCK_IOC_STAGGERED, s.regions = 4, s.segment_sectors = 9));
	BAD(EINVAL, "set-up: endless name", memset(s.name, 'x', sizeof(s.name)));
	BAD(EINVAL, "set-up: name of two words", strcpy(s.name, "two words"));
	BAD(EINVAL, "set-up: reserved", s.reserved[3] = 1);
	BAD(EBADF, "set-up: no such fd", s.fd = 999);
	BAD(EBADF, "set-up: negative fd", s.fd = -1);
	BAD(EBADF, "set-up: fd for writing only", s.fd = blind);
	BAD(ENOTBLK, "set-up: a file", s.fd = file);
	BAD(ENOTBLK, "set-up: the device itself", s.fd = calls_dev);
	BAD(EXDEV, "set-up: another disk", s.fd = wrong);
	SAYS(EFAULT, "set-up: no argument", ioctl(calls_dev, FREEBLOCK_IOC_SETUP, NULL));
	close(blind);
	close(wrong);
	close(file);
}

/* root, but for CAP_SYS_RAWIO */
static void without_rights(const char *dev, int bdev)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all_but[2];

	if (syscall(SYS_capget, &head, all_but))
		die("capget");
	all_but[0].effective &= ~(1u << CAP_SYS_RAWIO);
	all_but[0].permitted = all_but[0].effective;
	if (fork()) {
		wait(NULL);
		return;
	}
	if (syscall(SYS_capset, &head, all_but))
		die("capset");
	SAYS(EPERM, "set-up: without CAP_SYS_RAWIO", set_up(usual(bdev)));
	errno = 0;
	printf("open: without CAP_SYS_RAWIO|%s|EPERM\n",
	       open(dev, O_RDONLY) < 0 ? strerrorname_np(errno) : "0");
	fflush(stdout);
	_exit(0);
}

static void bad_before_setup(void)
{
	char buf[64];

	SAYS(EBADFD, "read: not set up", read(calls_dev, buf, sizeof(buf)));
	SAYS(EBADFD, "add: not set up", range_call(FREEBLOCK_IOC_ADD, 0, 8, 0));
	SAYS(EBADFD, "start: not set up", ioctl(calls_dev, FREEBLOCK_IOC_START));
	SAYS(ENOTTY, "unknown call", ioctl(calls_dev, _IO(FREEBLOCK_IOC_MAGIC, 99)));
	SAYS(ENOTTY, "a call of another size", ioctl(calls_dev, _IO(FREEBLOCK_IOC_MAGIC, 0)));
	SAYS(ENOTTY, "another's call", ioctl(calls_dev, BLKGETSIZE64, buf));
	SAYS(EFAULT, "reason: no argument", ioctl(calls_dev, FREEBLOCK_IOC_REASON, NULL));
}

static void bad_ranges(u64 sectors)
{
	static const struct {
		const char *name;
		unsigned long cmd;
	} call[] = {
		{ "add", FREEBLOCK_IOC_ADD }, { "remove", FREEBLOCK_IOC_REMOVE },
	};
	char name[64];
	unsigned int i;

#define RANGE(want, what, first, count, reserved) do {						\
		snprintf(name, sizeof(name), "%s: " what, call[i].name);			\
		SAYS(want, name, range_call(call[i].cmd, first, count, reserved));		\
	} while (0)
	for (i = 0; i < 2; i++) {
		RANGE(EINVAL, "empty", 0, 0, 0);
		RANGE(EINVAL, "begins within a block", 4, 12, 0);
		RANGE(EINVAL, "ends within a block", 8, 12, 0);
		RANGE(EINVAL, "reserved", 0, 8, 1);
		RANGE(ERANGE, "too long", 0, sectors + 8, 0);
		RANGE(ERANGE, "beyond the end", (sectors + 7) / 8 * 8, 8, 0);
		RANGE(ERANGE, "beyond 64 bits", 8, ~0ull - 7, 0);
		RANGE(ERANGE, "from the last sector there can be", ~0ull, 1, 0);
	}
	SAYS(EFAULT, "add: no argument", ioctl(calls_dev, FREEBLOCK_IOC_ADD, NULL));
	SAYS(EBADFD, "promote: not started", range_call(FREEBLOCK_IOC_PROMOTE, 0, 8, 0));
}

static void bad_before_start(void)
{
	struct freeblock_ioc_urgency u = { .priority = 8 };
	char buf[64];

	SAYS(EBADFD, "read: not started", read(calls_dev, buf, sizeof(buf)));
	SAYS(EINVAL, "start: nothing declared", ioctl(calls_dev, FREEBLOCK_IOC_START));
	SAYS(EBADFD, "pause: not started", ioctl(calls_dev, FREEBLOCK_IOC_PAUSE));
	SAYS(EBADFD, "stop: not started", ioctl(calls_dev, FREEBLOCK_IOC_STOP));
	SAYS(EINVAL, "urgency: priority 8", ioctl(calls_dev, FREEBLOCK_IOC_URGENCY, &u));
	u.priority = 7;
	u.pad = 1;
	SAYS(EINVAL, "urgency: reserved", ioctl(calls_dev, FREEBLOCK_IOC_URGENCY, &u));
	SAYS(EFAULT, "progress: no argument", ioctl(calls_dev, FREEBLOCK_IOC_PROGRESS, NULL));
}

static void bad_while_running(void)
{
	struct pollfd p = { .fd = calls_dev, .events = POLLIN };
	struct freeblock_ioc_progress progress;
	void *nowhere = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[64], large[8192];

	SAYS(EALREADY, "start: started", ioctl(calls_dev, FREEBLOCK_IOC_START));
	SAYS(EALREADY, "resume: not paused", ioctl(calls_dev, FREEBLOCK_IOC_RESUME));
	poll(&p, 1, -1);
	SAYS(EMSGSIZE, "read: too small for a record", read(calls_dev, buf, sizeof(buf)));
	SAYS(EMSGSIZE, "read: of nothing", read(calls_dev, buf, 0));
	SAYS(EFAULT, "read: nowhere", read(calls_dev, nowhere, sizeof(large)));
	SAYS(EBADF, "write", write(calls_dev, buf, sizeof(buf)));
	SAYS(ESPIPE, "seek", lseek(calls_dev, 0, SEEK_SET));
	SAYS(0, "pause", ioctl(calls_dev, FREEBLOCK_IOC_PAUSE));
	SAYS(EALREADY, "pause: paused", ioctl(calls_dev, FREEBLOCK_IOC_PAUSE));
	SAYS(0, "progress", ioctl(calls_dev, FREEBLOCK_IOC_PROGRESS, &progress));
	printf("state paused|%u|%u\n", progress.state, FREEBLOCK_IOC_PAUSED);
	SAYS(0, "resume", ioctl(calls_dev, FREEBLOCK_IOC_RESUME));
	SAYS(0, "stop", ioctl(calls_dev, FREEBLOCK_IOC_STOP));
	while (read(calls_dev, large, sizeof(large)) > 0)
		continue;
	SAYS(ECANCELED, "read: stopped", read(calls_dev, large, sizeof(large)));
	SAYS(ESHUTDOWN, "add: stopped", range_call(FREEBLOCK_IOC_ADD, 0, 8, 0));
	SAYS(ESHUTDOWN, "pause: stopped", ioctl(calls_dev, FREEBLOCK_IOC_PAUSE));
	poll(&p, 1, 0);
	printf("poll: stopped|%d|%d\n", p.revents, POLLIN | POLLHUP);
}

static void too_many(const char *dev, int bdev)
{
	int fd[16], n;
	struct freeblock_ioc_setup s;

	for (n = 0; n < 16; n++) {
		fd[n] = open_or_die(dev, O_RDONLY);
		s = usual(bdev);
		if (ioctl(fd[n], FREEBLOCK_IOC_SETUP, &s))
			break;
	}
	printf("set-up: tasks beside this one|%d|7\n", n);
	printf("set-up: one too many|%s|EBUSY\n", strerrorname_np(errno));
	for (; n >= 0; n--)
		close(fd[n]);
}

static int calls_main(char **argv)
{
	int bdev = open_or_die(argv[1], O_RDONLY), part = open_or_die(argv[3], O_RDONLY);
	u64 sectors = sectors_of(bdev);

	setbuf(stdout, NULL);
	calls_dev = open_or_die(argv[0], O_RDONLY);
	bad_before_setup();
	bad_setups(bdev, argv[1], argv[2]);
	without_rights(argv[0], bdev);
	SAYS(0, "set-up", set_up(usual(bdev)));
	SAYS(EALREADY, "set-up: twice", set_up(usual(bdev)));
	too_many(argv[0], bdev);
	bad_ranges(sectors);
	bad_before_start();
	SAYS(0, "add", range_call(FREEBLOCK_IOC_ADD, 0, sectors, 0));
	SAYS(0, "start", ioctl(calls_dev, FREEBLOCK_IOC_START));
	bad_while_running();
	close(calls_dev);

	calls_dev = open_or_die(argv[0], O_RDONLY);
	SAYS(0, "set-up: a partition", set_up(usual(part)));
	SAYS(ERANGE, "add: beyond the partition, within the disk",
	     range_call(FREEBLOCK_IOC_ADD, 0, sectors_of(part) + 8, 0));
	close(calls_dev);
	return 0;
}

/* ---- many random calls, many deaths ---- */

struct fuzz {
	const char *dev;
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
	if (!(rand_r(&f->seed) % 4)) {
		s.order = FREEBLOCK_IOC_STAGGERED;
		s.regions = any(&f->seed, 64);
		s.segment_sectors = any(&f->seed, 1024);
	}
	ioctl(f->fd, FREEBLOCK_IOC_SETUP, &s);
}

static void fuzz_call(struct fuzz *f, char *buf, size_t size)
{
	struct freeblock_ioc_range range = {
		.first = any(&f->seed, 40000), .count = any(&f->seed, 2000),
	};
	static const unsigned long calls[] = {
		FREEBLOCK_IOC_ADD, FREEBLOCK_IOC_ADD, FREEBLOCK_IOC_REMOVE,
		FREEBLOCK_IOC_PROMOTE, FREEBLOCK_IOC_START, FREEBLOCK_IOC_PAUSE,
		FREEBLOCK_IOC_RESUME, FREEBLOCK_IOC_STOP, FREEBLOCK_IOC_URGENCY,
		FREEBLOCK_IOC_PROGRESS, FREEBLOCK_IOC_REASON,
	};
	struct pollfd p = { .fd = f->fd, .events = POLLIN };
	unsigned int pick = rand_r(&f->seed) % 24;

	if (pick < 3)
		memcpy(buf, &range, sizeof(range));
	if (pick < 11 && (calls[pick] != FREEBLOCK_IOC_STOP || !(rand_r(&f->seed) % 8)))
		ioctl(f->fd, calls[pick], pick < 4 ? (void *)&range : buf);
	else if (pick < 14)
		fuzz_setup(f);
	else if (pick < 20)
		(void)!read(f->fd, buf, any(&f->seed, size) % size);
	else if (pick == 20)
		poll(&p, 1, 1);
	else if (pick == 21)
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
			int fd = open_or_die(f->dev, O_RDONLY | O_NONBLOCK);

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
	int fd = open_or_die(argv[0], O_RDONLY | O_NONBLOCK), bdev = open_or_die(argv[1], O_RDONLY);
	unsigned int seed = strtoul(argv[2], NULL, 0), n = strtoul(argv[3], NULL, 0), i;
	struct fuzz f[2];
	pthread_t thread[2];

	for (i = 0; i < 2; i++) {
		f[i] = (struct fuzz) { argv[0], fd, bdev, seed + i, n };
		if (pthread_create(&thread[i], NULL, fuzz_thread, &f[i]))
			die("pthread_create");
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static void live_until_killed(const char *dev, const char *block)
{
	char *buf = malloc(1 << 20);

	for (;;) {
		int fd = started(dev, block, 0), i;

		for (i = 0; i < 20 && read(fd, buf, 1 << 20) > 0; i++)
			continue;
		close(fd);
	}
}

static int kill_main(int argc, char **argv)
{
	unsigned int seed = strtoul(argv[2], NULL, 0), n = strtoul(argv[3], NULL, 0), i;
	unsigned int most = argc > 4 ? strtoul(argv[4], NULL, 0) : 20000;
	int status;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid)
			live_until_killed(argv[0], argv[1]);
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
	int fd = started(argv[0], argv[1], 0);
	struct pollfd p = { .fd = fd, .events = 0 };
	static char buf[1 << 20];

	printf("holds\n");
	fflush(stdout);
	if (argc > 2) {
		poll(&p, 1, -1);
		printf("poll %s\n", p.revents == POLLHUP ? "hangup" : "strange");
	}
	while (read(fd, buf, sizeof(buf)) > 0)
		continue;
	printf("read %s\n", strerrorname_np(errno));
	return 0;
}

static int part_main(char **argv)
{
	int fd = open_or_die(argv[0], O_RDWR);
	struct blkpg_partition part = {
		.pno = atoi(argv[1]), .start = strtoll(argv[2], NULL, 0) * SECTOR,
		.length = strtoll(argv[3], NULL, 0) * SECTOR,
	};
	struct blkpg_ioctl_arg arg = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(part), .data = &part,
	};

	if (ioctl(fd, BLKPG, &arg))
		die("BLKPG");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "part"))
		return part_main(argv + 2);
	if (argc >= 4 && !strcmp(argv[1], "copy"))
		return copy_main(argc - 2, argv + 2);
	if (argc == 6 && !strcmp(argv[1], "calls"))
		return calls_main(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "fuzz"))
		return fuzz_main(argv + 2);
	if (argc >= 6 && !strcmp(argv[1], "kill"))
		return kill_main(argc - 2, argv + 2);
	if (argc >= 4 && !strcmp(argv[1], "hold"))
		return hold_main(argc - 2, argv + 2);
	fprintf(stderr, "fbread: see the head of fbread.c\n");
	return 2;
}
