// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of /dev/freeblock one by one, good and bad, static. Prints "NAME|GOT|WANT" lines.
 *
 *	fbcalls errors BLOCKDEV PARTITION		every call that is wrong
 *	fbcalls versions BLOCKDEV			structures longer and shorter than ours
 *	fbcalls arrays BLOCKDEV				all ranges or none; room; POLLOUT
 *	fbcalls values BLOCKDEV				a user_data for each block
 *	fbcalls events BLOCKDEV				caught up; POLLPRI; what it waits for; a
 *							read() that is interrupted
 *	fbcalls stopped BLOCKDEV			stopped while its event waits for room
 *	fbcalls coverage BLOCKDEV PARTITION		bits are set when a block is read()
 *	fbcalls resized BLOCKDEV RESCAN GIB		another capacity, and the old one again:
 *							RESCAN and GIB are sysfs files
 *	fbcalls unreadable BLOCKDEV FIRST		a block that is, among four from there on
 *	fbcalls gone BLOCKDEV				set-up of a disk without freeblock
 *	fbcalls true					nothing
 */
#include "fbdev.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/capability.h>

static int dev;

static const char *reason(void)
{
	static struct freeblock_ioc_reason r;

	r = (struct freeblock_ioc_reason) { .size = sizeof(r) };
	ioctl(dev, FREEBLOCK_IOC_REASON, &r);
	return r.text;
}

static void said(const char *name, long ret, int want)
{
	int error = errno;
	const char *why = reason();

	printf("%s|%s%s|%s\n", name, ret < 0 ? strerrorname_np(error) : "0",
	       ret < 0 && want && !why[0] ? " without a reason" : "",
	       want ? strerrorname_np(want) : "0");
	if (ret < 0)
		fprintf(stderr, "# %s: %s\n", name, why);
}

#define SAYS(want, name, call) do { errno = 0; said(name, (call), (want)); } while (0)

static void is(const char *name, u64 got, u64 want)
{
	printf("%s|%llu|%llu\n", name, got, want);
}

static void mentions(const char *name, const char *what)
{
	printf("%s: the reason|%s|%s\n", name, strstr(reason(), what) ? what : reason(), what);
}

static long set_up(struct freeblock_ioc_setup setup)
{
	return ioctl(dev, FREEBLOCK_IOC_SETUP, &setup);
}

static long range_call(unsigned long cmd, u64 first, u64 count, u64 user_data)
{
	const struct freeblock_range range = {
		.first = first, .count = count, .user_data = user_data,
	};

	return change(dev, cmd, &range, 1, 0);
}

static int polled(int timeout_ms)
{
	struct pollfd p = { .fd = dev, .events = POLLIN | POLLOUT | POLLPRI };

	poll(&p, 1, timeout_ms);
	return p.revents;
}

/* wait until poll() reports all of @events; returns what it reports of them in the end */
static int polled_for(int events)
{
	int tries, got = 0;

	for (tries = 0; tries < 3000 && got != events; tries++) {
		got = polled(0) & events;
		if (got != events)
			usleep(10000);
	}
	return got;
}

/* ---- errors ---- */

static void bad_api(void)
{
	struct freeblock_ioc_api a;

#define API(want, name, ...) do {								\
		a = (struct freeblock_ioc_api) { .size = sizeof(a), .version = 1 };		\
		__VA_ARGS__;									\
		SAYS(want, name, ioctl(dev, FREEBLOCK_IOC_API, &a));				\
	} while (0)
	API(EINVAL, "api: size 0", a.size = 0);
	API(EINVAL, "api: a byte too small", a.size--);
	API(E2BIG, "api: size 1 GiB", a.size = 1 << 30);
	API(EPROTONOSUPPORT, "api: version 0", a.version = 0);
	API(EPROTONOSUPPORT, "api: version 2", a.version = 2);
	API(EOPNOTSUPP, "api: unknown feature", a.features = 1ull << 63);
	SAYS(EFAULT, "api: no argument", ioctl(dev, FREEBLOCK_IOC_API, NULL));
	SAYS(EBADFD, "set-up: without api", set_up(usual(0)));
	API(0, "api");
	is("api: features offered", a.offered,
	   FREEBLOCK_FEATURE_EVENTS | FREEBLOCK_FEATURE_COVERAGE | FREEBLOCK_FEATURE_PROBES);
	API(EALREADY, "api: twice");
}

/* the last copy to user fails: the structure ends where nothing can be written */
static void bad_copy(int bdev)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct freeblock_ioc_setup *s = (void *)page;

	*s = usual(bdev);
	mprotect(page, 4096, PROT_READ);
	SAYS(EFAULT, "set-up: the result cannot be written", ioctl(dev, FREEBLOCK_IOC_SETUP, s));
	SAYS(EBADFD, "and there is no task", range_call(FREEBLOCK_IOC_ADD, 0, 8, 0));
	munmap(page, 4096);
}

static void bad_setups(int bdev, const char *block)
{
	int blind = open_or_die(block, O_WRONLY), file = open_or_die("/proc/self/exe", O_RDONLY);
	struct freeblock_ioc_setup s;

#define BAD(want, name, change) do {								\
		s = usual(bdev);								\
		change;										\
		SAYS(want, name, set_up(s));							\
	} while (0)
	BAD(EINVAL, "set-up: a byte too small", s.size--);
	BAD(EINVAL, "set-up: unknown flag", s.flags = 8);
	BAD(EINVAL, "set-up: priority 4", s.priority = 4);
	BAD(EINVAL, "set-up: priority -5", s.priority = -5);
	BAD(EINVAL, "set-up: more than half for itself", s.foreground_ppm = 500001);
	BAD(EINVAL, "set-up: 63 KiB", s.buffer_kib = 63);
	BAD(EINVAL, "set-up: 65537 KiB", s.buffer_kib = 65537);
	BAD(EINVAL, "set-up: order 3", s.order = 3);
	BAD(EINVAL, "set-up: regions without staggered", s.regions = 4);
	BAD(EINVAL, "set-up: staggered without regions", s.order = FREEBLOCK_ORDER_STAGGERED);
	BAD(EINVAL, "set-up: segments that are no blocks",
	    (s.order = FREEBLOCK_ORDER_STAGGERED, s.regions = 4, s.segment_sectors = 9));
	BAD(EINVAL, "set-up: endless name", memset(s.name, 'x', sizeof(s.name)));
	BAD(EINVAL, "set-up: name of two words", strcpy(s.name, "two words"));
	BAD(EINVAL, "set-up: pad", s.pad = 1);
	BAD(EBADF, "set-up: no such fd", s.fd = 999);
	BAD(EBADF, "set-up: negative fd", s.fd = -1);
	BAD(EBADF, "set-up: fd for writing only", s.fd = blind);
	BAD(ENOTBLK, "set-up: a file", s.fd = file);
	BAD(ENOTBLK, "set-up: the device itself", s.fd = dev);
	SAYS(EFAULT, "set-up: no argument", ioctl(dev, FREEBLOCK_IOC_SETUP, NULL));
	close(blind);
	close(file);
}

/* root, but for CAP_SYS_RAWIO: may open, but not set up */
static void without_rights(int bdev)
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
	dev = agreed(0, 0);
	SAYS(EPERM, "set-up: without CAP_SYS_RAWIO", set_up(usual(bdev)));
	fflush(stdout);
	_exit(0);
}

/* Numbers without direction and size, as they were before the interface was frozen. */
static void bad_numbers(void)
{
	static const unsigned char with_structure[] = { 0, 1, 2, 3, 4, 9, 10, 11, 12, 13 };
	char name[64], buf[256] = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(with_structure); i++) {
		snprintf(name, sizeof(name), "old number of call %u", with_structure[i]);
		SAYS(ENOTTY, name, ioctl(dev, _IO(FREEBLOCK_IOC_MAGIC, with_structure[i]), buf));
	}
	SAYS(ENOTTY, "a call the other way",
	     ioctl(dev, _IOR(FREEBLOCK_IOC_MAGIC, 2, char[24]), buf));
	SAYS(ENOTTY, "a call of a grown size",
	     ioctl(dev, _IOWR(FREEBLOCK_IOC_MAGIC, 0, char[32]), buf));
}

static void bad_before_setup(void)
{
	char buf[64];

	bad_numbers();
	SAYS(EBADFD, "read: not set up", read(dev, buf, sizeof(buf)));
	SAYS(EBADFD, "add: not set up", range_call(FREEBLOCK_IOC_ADD, 0, 8, 0));
	SAYS(EBADFD, "start: not set up", ioctl(dev, FREEBLOCK_IOC_START));
	is("poll: not set up", polled(0), POLLERR);
	SAYS(ENOTTY, "unknown call", ioctl(dev, _IO(FREEBLOCK_IOC_MAGIC, 99)));
	SAYS(ENOTTY, "a call of another size", ioctl(dev, _IOR(FREEBLOCK_IOC_MAGIC, 1, int)));
	SAYS(ENOTTY, "another's call", ioctl(dev, BLKGETSIZE64, buf));
	errno = 0;
	printf("reason: no argument|%s|EFAULT\n",
	       ioctl(dev, FREEBLOCK_IOC_REASON, NULL) ? strerrorname_np(errno) : "0");
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

#define RANGE(want, what, first, count, data) do {						\
		snprintf(name, sizeof(name), "%s: " what, call[i].name);			\
		SAYS(want, name, range_call(call[i].cmd, first, count, data));			\
	} while (0)
	for (i = 0; i < 2; i++) {
		RANGE(EINVAL, "empty", 0, 0, 0);
		RANGE(EINVAL, "begins within a block", 4, 12, 0);
		RANGE(EINVAL, "ends within a block", 8, 12, 0);
		RANGE(i ? EINVAL : 0, "user_data", 0, 8, 1);
		RANGE(ERANGE, "too long", 0, sectors + 8, 0);
		RANGE(ERANGE, "beyond the end", (sectors + 7) / 8 * 8, 8, 0);
		RANGE(ERANGE, "beyond 64 bits", 8, ~0ull - 7, 0);
		RANGE(ERANGE, "from the last sector there can be", ~0ull, 1, 0);
	}
	SAYS(0, "remove", range_call(FREEBLOCK_IOC_REMOVE, 0, 8, 0));
	SAYS(EFAULT, "add: no argument", ioctl(dev, FREEBLOCK_IOC_ADD, NULL));
	SAYS(EFAULT, "add: no ranges", change(dev, FREEBLOCK_IOC_ADD, NULL, 1, 0));
	SAYS(EINVAL, "add: none", change(dev, FREEBLOCK_IOC_ADD, NULL, 0, 0));
	SAYS(EINVAL, "add: too many", change(dev, FREEBLOCK_IOC_ADD, NULL, 1025, 0));
	SAYS(EINVAL, "add: unknown flag", change(dev, FREEBLOCK_IOC_ADD, NULL, 1, 2));
	SAYS(EINVAL, "remove: uncovered", change(dev, FREEBLOCK_IOC_REMOVE, NULL, 1, 1));
	SAYS(EOPNOTSUPP, "add: uncovered, without coverage",
	     change(dev, FREEBLOCK_IOC_ADD, NULL, 1, FREEBLOCK_RANGES_UNCOVERED));
	SAYS(EBADFD, "promote: not started", range_call(FREEBLOCK_IOC_PROMOTE, 0, 8, 0));
}

static void bad_before_start(void)
{
	struct freeblock_ioc_urgency u = { .size = sizeof(u), .priority = 4 };
	struct freeblock_ioc_bits b = { .size = sizeof(b), .count = 8 };
	char buf[64];

	SAYS(EBADFD, "read: not started", read(dev, buf, sizeof(buf)));
	SAYS(EBADFD, "pause: not started", ioctl(dev, FREEBLOCK_IOC_PAUSE));
	SAYS(EBADFD, "stop: not started", ioctl(dev, FREEBLOCK_IOC_STOP));
	is("poll: not started", polled(0), POLLERR | POLLOUT);
	SAYS(EINVAL, "urgency: priority 4", ioctl(dev, FREEBLOCK_IOC_URGENCY, &u));
	u.priority = 3;
	u.pad = 1;
	SAYS(EINVAL, "urgency: pad", ioctl(dev, FREEBLOCK_IOC_URGENCY, &u));
	u.pad = 0;
	SAYS(0, "urgency", ioctl(dev, FREEBLOCK_IOC_URGENCY, &u));
	SAYS(EFAULT, "progress: no argument", ioctl(dev, FREEBLOCK_IOC_PROGRESS, NULL));
	SAYS(EOPNOTSUPP, "get coverage: without it", ioctl(dev, FREEBLOCK_IOC_GET_COVERAGE, &b));
	SAYS(EOPNOTSUPP, "set coverage: without it", ioctl(dev, FREEBLOCK_IOC_SET_COVERAGE, &b));
}

static void bad_while_running(void)
{
	void *nowhere = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[16], large[8192];

	SAYS(EALREADY, "start: started", ioctl(dev, FREEBLOCK_IOC_START));
	SAYS(EALREADY, "resume: not paused", ioctl(dev, FREEBLOCK_IOC_RESUME));
	polled_for(POLLIN);
	SAYS(EMSGSIZE, "read: too small for a record", read(dev, buf, sizeof(buf)));
	mentions("read: too small for a record", "a buffer of 16 bytes, the next record has ");
	SAYS(EMSGSIZE, "read: of nothing", read(dev, buf, 0));
	SAYS(EFAULT, "read: nowhere", read(dev, nowhere, sizeof(large)));
	SAYS(EBADF, "write", write(dev, buf, sizeof(buf)));
	SAYS(ESPIPE, "seek", lseek(dev, 0, SEEK_SET));
	SAYS(0, "pause", ioctl(dev, FREEBLOCK_IOC_PAUSE));
	SAYS(EALREADY, "pause: paused", ioctl(dev, FREEBLOCK_IOC_PAUSE));
	is("state: paused", progress_of(dev).state, FREEBLOCK_STATE_PAUSED);
	SAYS(0, "resume", ioctl(dev, FREEBLOCK_IOC_RESUME));
	SAYS(0, "stop", ioctl(dev, FREEBLOCK_IOC_STOP));
	while (read(dev, large, sizeof(large)) > 0)
		continue;
	SAYS(ECANCELED, "read: stopped", read(dev, large, sizeof(large)));
	SAYS(ESHUTDOWN, "add: stopped", range_call(FREEBLOCK_IOC_ADD, 0, 8, 0));
	SAYS(ESHUTDOWN, "pause: stopped", ioctl(dev, FREEBLOCK_IOC_PAUSE));
	is("state: stopped", progress_of(dev).state, FREEBLOCK_STATE_STOPPED);
	is("poll: stopped", polled(0), POLLIN | POLLHUP);
}

static void too_many(int bdev)
{
	int fd[16], n, first = dev;

	for (n = 0; n < 16; n++) {
		fd[n] = agreed(0, 0);
		dev = fd[n];
		if (set_up(usual(bdev)))
			break;
	}
	dev = first;
	is("set-up: tasks beside this one", n, 7);
	printf("set-up: one too many|%s|EBUSY\n", strerrorname_np(errno));
	for (; n >= 0; n--)
		close(fd[n]);
}

static int errors_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY), part = open_or_die(argv[1], O_RDONLY);
	u64 sectors = sectors_of(bdev);

	dev = open_or_die(DEVICE, O_RDONLY);
	bad_api();
	bad_before_setup();
	bad_setups(bdev, argv[0]);
	bad_copy(bdev);
	without_rights(bdev);
	SAYS(0, "set-up", set_up(usual(bdev)));
	SAYS(EALREADY, "set-up: twice", set_up(usual(bdev)));
	too_many(bdev);
	SAYS(EINVAL, "start: nothing declared", ioctl(dev, FREEBLOCK_IOC_START));
	bad_ranges(sectors);
	bad_before_start();
	SAYS(0, "add", range_call(FREEBLOCK_IOC_ADD, 0, sectors, 0));
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	bad_while_running();
	close(dev);

	dev = agreed(0, 0);
	SAYS(0, "set-up: a partition", set_up(usual(part)));
	SAYS(ERANGE, "add: beyond the partition, within the disk",
	     range_call(FREEBLOCK_IOC_ADD, 0, sectors_of(part) + 8, 0));
	close(dev);
	return 0;
}

/* ---- versions ---- */

/* what programs of the future may have: a field more, 8 bytes */
struct longer {
	union {
		struct freeblock_ioc_api api;
		struct freeblock_ioc_setup setup;
		struct freeblock_ioc_ranges ranges;
		struct freeblock_ioc_progress progress;
		struct freeblock_ioc_urgency urgency;
		struct freeblock_ioc_reason reason;
		u8 bytes[256];
	};
};

/* @l: a call's argument with a field more behind it: 0 is as good as without, others are not */
static void longer_call(const char *name, unsigned long cmd, struct longer *l, u32 size)
{
	char text[64];

	*(u32 *)l = size + 8;
	l->bytes[size + 7] = 1;
	snprintf(text, sizeof(text), "%s: an unknown field is not 0", name);
	SAYS(E2BIG, text, ioctl(dev, cmd, l));
	snprintf(text, sizeof(text), "behind byte %u", size);
	if (cmd != FREEBLOCK_IOC_REASON)
		mentions(name, text);
	l->bytes[size + 7] = 0;
	snprintf(text, sizeof(text), "%s: an unknown field is 0", name);
	SAYS(0, text, ioctl(dev, cmd, l));
	is("its size stays", *(u32 *)l, size + 8);
}

static int versions_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY);
	struct { struct freeblock_range range; u64 more; } range[2] = {};
	struct { struct freeblock_ioc_progress p; u64 guard; } shorter = { .guard = 7 };
	struct longer l = { .api = { .version = 1 } };

	dev = open_or_die(DEVICE, O_RDONLY);
	longer_call("api", FREEBLOCK_IOC_API, &l, sizeof(l.api));
	l = (struct longer) { .setup = usual(bdev) };
	longer_call("set-up", FREEBLOCK_IOC_SETUP, &l, sizeof(l.setup));
	is("set-up: what it returns", l.setup.sectors, sectors_of(bdev));
	l = (struct longer) { .ranges = {
		.range_bytes = sizeof(range[0]), .ranges = (uintptr_t)range, .nranges = 2,
	} };
	range[0].range.count = 8;
	range[1].range.count = 8;
	range[1].more = 1;
	l.ranges.size = sizeof(l.ranges);
	SAYS(E2BIG, "a range's unknown field is not 0", ioctl(dev, FREEBLOCK_IOC_ADD, &l));
	range[1].more = 0;
	longer_call("add", FREEBLOCK_IOC_ADD, &l, sizeof(l.ranges));
	l.ranges.range_bytes = sizeof(range[0].range) - 1;
	SAYS(EINVAL, "ranges that are too short", ioctl(dev, FREEBLOCK_IOC_ADD, &l));
	/* a newer module may know more than we: also run with one that has 8 bytes more */
	shorter.p.size = sizeof(shorter.p);
	SAYS(0, "progress", ioctl(dev, FREEBLOCK_IOC_PROGRESS, &shorter));
	is("progress: what we know is there", !!shorter.p.buffer_blocks, 1);
	is("progress: no more is written", shorter.guard, 7);
	l = (struct longer) {};
	longer_call("progress", FREEBLOCK_IOC_PROGRESS, &l, sizeof(l.progress));
	l = (struct longer) {};
	longer_call("urgency", FREEBLOCK_IOC_URGENCY, &l, sizeof(l.urgency));
	l = (struct longer) {};
	longer_call("reason", FREEBLOCK_IOC_REASON, &l, sizeof(l.reason));
	return 0;
}

/* ---- arrays ---- */

#define MANY 1024

/* blocks 0, 2, 4 ... of the first @blocks, again and again */
static void every_other(struct freeblock_range *range, u64 blocks, u32 granule)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		range[i] = (struct freeblock_range) {
			.first = i * 2 % blocks * granule, .count = granule,
		};
}

static int arrays_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY);
	static struct freeblock_range range[MANY];
	struct freeblock_ioc_setup s = usual(bdev);
	static char buf[1 << 16];
	u64 blocks;
	int i;

	dev = agreed(0, 0);
	s.flags = FREEBLOCK_SETUP_NO_DATA;
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	is("ranges_max", s.ranges_max, MANY);
	blocks = s.blocks < 64 ? s.blocks & ~1ull : 64;
	every_other(range, blocks, s.granule_sectors);
	range[MANY - 1].count--;
	SAYS(EINVAL, "the last of 1024 ranges is bad",
	     change(dev, FREEBLOCK_IOC_ADD, range, MANY, 0));
	mentions("the last of 1024", "range 1023:");
	SAYS(EINVAL, "so none is declared", ioctl(dev, FREEBLOCK_IOC_START));
	range[MANY - 1].count++;
	for (i = 0; i < 4; i++) {
		is("room: poll()", polled(0) & POLLOUT, POLLOUT);
		SAYS(0, "1024 ranges", change(dev, FREEBLOCK_IOC_ADD, range, MANY, 0));
	}
	is("no room: poll()", polled(0) & POLLOUT, 0);
	SAYS(ENOSPC, "no room: one more", change(dev, FREEBLOCK_IOC_ADD, range, 1, 0));
	mentions("no room", ": start, and then poll for POLLOUT");
	is("no room before the start: poll()", polled(100), POLLERR);
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	/* poll() sleeps until there is room */
	for (i = 0; i < 10 && !(polled(3000) & POLLOUT); i++)
		if (read(dev, buf, sizeof(buf)) <= 0)
			break;
	is("room again: poll()", polled(0) & POLLOUT, POLLOUT);
	while (read(dev, buf, sizeof(buf)) > 0)
		continue;
	is("blocks", progress_of(dev).done, blocks / 2);
	is("state: finished", progress_of(dev).state, FREEBLOCK_STATE_FINISHED);
	is("finished: who waits for room hears of it", polled(0) & POLLOUT, POLLOUT);
	SAYS(ESHUTDOWN, "add: finished", change(dev, FREEBLOCK_IOC_ADD, range, 1, 0));
	return 0;
}

/* a user_data for each block, as many at a time as there is room for */
static int values_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY), full = 0;
	static struct freeblock_range range[MANY];
	struct freeblock_ioc_setup s = usual(bdev);
	static char buf[1 << 12];
	u64 got = 0, mixed = 0, at = 0;
	struct pollfd p;

	dev = agreed(O_NONBLOCK, 0);
	p.fd = dev;
	s.flags = FREEBLOCK_SETUP_NO_DATA | FREEBLOCK_SETUP_KEEP;
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	while (got < s.blocks) {
		ssize_t n, i;
		u32 k;

		n = read(dev, buf, sizeof(buf));
		for (i = 0; i < n; got++) {
			const struct freeblock_record *r = (const void *)(buf + i);

			mixed += r->user_data != ~(r->first / s.granule_sectors);
			i += r->header_bytes;
		}
		p.events = at < s.blocks ? POLLIN | POLLOUT : POLLIN;
		if (poll(&p, 1, 60000) != 1)
			break;
		if (!(p.revents & POLLOUT))
			continue;
		for (k = 0; k < MANY && at + k < s.blocks; k++) {
			u64 first = (at + k) * s.granule_sectors, left = s.sectors - first;

			range[k] = (struct freeblock_range) {
				.first = first, .user_data = ~(at + k),
				.count = left < s.granule_sectors ? left : s.granule_sectors,
			};
		}
		if (!change(dev, FREEBLOCK_IOC_ADD, range, k, 0))
			at += k;
		else if (errno == ENOSPC)
			full++;
		else
			die_of(dev, "add");
	}
	is("values: POLLOUT kept its word", full, 0);
	is("values: blocks", got, s.blocks);
	is("values: wrong ones", mixed, 0);
	return 0;
}

/* ---- events ---- */

/* read until all has been delivered; returns the sectors before that, ~0: something strange */
static u64 until_caught_up(u64 user_data)
{
	static char buf[1 << 16];
	u64 sectors = 0, extra = 0;
	ssize_t n;
	char *at;

	for (;;) {
		n = read(dev, buf, sizeof(buf));
		if (n <= 0)
			return ~0ull;
		for (at = buf; at < buf + n;) {
			const struct freeblock_record *r = (const void *)at;

			at += r->header_bytes + r->data_bytes;
			if (r->type == FREEBLOCK_RECORD_BLOCKS)
				extra |= r->user_data != user_data;
			else if (r->first || r->sectors || r->user_data || r->data_bytes ||
				 r->type != FREEBLOCK_RECORD_CAUGHT_UP || at != buf + n)
				return ~0ull;
			else
				return extra ? ~0ull : sectors;
			sectors += r->sectors;
		}
	}
}

static void heard(int signal)
{
	(void)signal;
}

/* a read() for which there is nothing; again and again, for the first signal may come before it */
static void interrupt_read(void)
{
	const struct itimerval often = { { .tv_usec = 100000 }, { .tv_usec = 100000 } }, never = {};
	const struct sigaction action = { .sa_handler = heard };
	char buf[64];
	ssize_t n;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	n = read(dev, buf, sizeof(buf));
	printf("read: interrupted|%zd %s|-1 EINTR\n", n, n < 0 ? strerrorname_np(errno) : "");
	setitimer(ITIMER_REAL, &never, NULL);
}

static int events_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY);
	struct freeblock_ioc_setup s = usual(bdev);
	u64 granule;

	dev = agreed(0, FREEBLOCK_FEATURE_EVENTS);
	s.flags = FREEBLOCK_SETUP_KEEP;
	s.buffer_kib = 64;
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	granule = s.granule_sectors;
	is("nothing has changed: poll()", polled(0) & POLLPRI, 0);
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	is("it runs: poll()", polled(0) & POLLPRI, POLLPRI);
	is("it runs", progress_of(dev).state, FREEBLOCK_STATE_RUNNING);
	is("which is known now: poll()", polled(0) & POLLPRI, 0);
	SAYS(0, "add", range_call(FREEBLOCK_IOC_ADD, 0, 8 * granule, 5));
	is("caught up after", until_caught_up(5), 8 * granule);
	is("once: poll()", polled(200) & POLLIN, 0);
	interrupt_read();
	SAYS(0, "add again", range_call(FREEBLOCK_IOC_ADD, granule, 2 * granule, 0));
	is("caught up after", until_caught_up(0), 2 * granule);
	SAYS(0, "add, and wait for the event", range_call(FREEBLOCK_IOC_ADD, 0, 8 * granule, 5));
	while (progress_of(dev).queued < 8)
		usleep(10000);
	usleep(500000);
	SAYS(0, "before it is read add more",
	     range_call(FREEBLOCK_IOC_ADD, 8 * granule, 8 * granule, 5));
	is("caught up after all of it", until_caught_up(5), 16 * granule);
	is("once: poll()", polled(200) & POLLIN, 0);
	SAYS(0, "pause", ioctl(dev, FREEBLOCK_IOC_PAUSE));
	is("paused: poll()", polled_for(POLLPRI), POLLPRI);
	progress_of(dev);
	SAYS(0, "resume", ioctl(dev, FREEBLOCK_IOC_RESUME));
	progress_of(dev);
	SAYS(0, "add more than the buffer holds",
	     range_call(FREEBLOCK_IOC_ADD, 0, 64 * granule, 9));
	is("it waits: poll()", polled_for(POLLPRI | POLLIN), POLLPRI | POLLIN);
	while (progress_of(dev).waiting_for != FREEBLOCK_WAIT_READER)
		usleep(10000);
	is("for the reader", progress_of(dev).waiting_for, FREEBLOCK_WAIT_READER);
	is("with a full buffer", progress_of(dev).queued, progress_of(dev).buffer_blocks);
	is("caught up after", until_caught_up(9), 64 * granule);
	is("waits for none", progress_of(dev).waiting_for, FREEBLOCK_WAIT_NONE);
	return 0;
}

/* a task that is stopped while its callback waits for room does not hold up the disk's others */
static int stopped_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY), other = agreed(0, 0);
	struct freeblock_ioc_setup s = usual(bdev);
	u64 sectors;

	s.flags = FREEBLOCK_SETUP_KEEP;
	s.buffer_kib = 64;
	dev = other;
	SAYS(0, "another: set-up", set_up(s));
	SAYS(0, "another: start", ioctl(other, FREEBLOCK_IOC_START));
	dev = agreed(0, FREEBLOCK_FEATURE_EVENTS);
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	sectors = (progress_of(dev).buffer_blocks + 1) * (u64)s.granule_sectors;
	SAYS(0, "add a block more than the buffer holds",
	     range_call(FREEBLOCK_IOC_ADD, 0, sectors, 0));
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	while (progress_of(dev).waiting_for != FREEBLOCK_WAIT_READER)
		usleep(1000);
	is("the buffer is full", progress_of(dev).queued, progress_of(dev).buffer_blocks);
	SAYS(0, "stop", ioctl(dev, FREEBLOCK_IOC_STOP));
	SAYS(0, "another: add", change_one(other, FREEBLOCK_IOC_ADD, 0, s.granule_sectors));
	SAYS(0, "another: promote", change_one(other, FREEBLOCK_IOC_PROMOTE, 0, s.granule_sectors));
	while (!progress_of(other).queued)
		usleep(1000);
	is("another has its block before this one's end is known", progress_of(dev).state,
	   FREEBLOCK_STATE_RUNNING);
	while (progress_of(dev).state != FREEBLOCK_STATE_STOPPED)
		usleep(1000);
	return 0;
}

/* ---- coverage ---- */

static u32 covered(u64 blocks, u8 *bits)
{
	struct freeblock_ioc_bits b = {
		.size = sizeof(b), .count = blocks, .bits = (uintptr_t)bits,
	};
	u32 n = 0;
	u64 i;

	memset(bits, 0xff, (blocks + 7) / 8);
	if (ioctl(dev, FREEBLOCK_IOC_GET_COVERAGE, &b))
		die_of(dev, "get");
	for (i = 0; i < (blocks + 7) / 8; i++)
		n += __builtin_popcount(bits[i]);
	return n;
}

static void bad_bits(u64 blocks)
{
	static u8 some[1 << 20];
	struct freeblock_ioc_bits b;

#define BITS(want, name, ...) do {								\
		b = (struct freeblock_ioc_bits) {						\
			.size = sizeof(b), .count = 8, .bits = (uintptr_t)some,			\
		};										\
		__VA_ARGS__;									\
		SAYS(want, "coverage: " name, ioctl(dev, FREEBLOCK_IOC_SET_COVERAGE, &b));	\
	} while (0)
	BITS(EINVAL, "none", b.count = 0);
	BITS(EINVAL, "pad", b.pad = 1);
	BITS(EINVAL, "from a block within a byte", b.first = 4);
	BITS(EINVAL, "to a block within a byte", b.count = 4);
	BITS(ERANGE, "beyond the end", b.first = (blocks + 7) / 8 * 8);
	BITS(ERANGE, "too many", b.count = blocks + 8);
	BITS(EFAULT, "no bits", b.bits = 0);
	some[0] = 0xff;
	BITS(0, "the last eight of a byte", b.first = (blocks / 8 - 1) * 8);
	some[0] = 0;
	BITS(0, "taken back", b.first = (blocks / 8 - 1) * 8);
}

static int coverage_main(char **argv)
{
	static u8 bits[1 << 20], buf[1 << 16];
	int part = open_or_die(argv[1], O_RDONLY);
	struct freeblock_ioc_setup s = usual(part);
	const struct freeblock_record *r = (const void *)buf;
	struct freeblock_ioc_bits b = { .size = sizeof(b), .bits = (uintptr_t)bits };
	struct freeblock_range all = {};
	u64 blocks, got = 0;

	dev = agreed(0, FREEBLOCK_FEATURE_COVERAGE);
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	blocks = s.blocks;
	is("of a partition that begins within a block", !!(s.start_sector % s.granule_sectors), 1);
	is("coverage: nothing at first", covered(blocks, bits), 0);
	bad_bits(blocks);
	b.count = blocks;
	if (blocks % 8) {
		memset(bits, 0, sizeof(bits));
		bits[blocks / 8] = 0x80;
		SAYS(EINVAL, "coverage: bits behind the last",
		     ioctl(dev, FREEBLOCK_IOC_SET_COVERAGE, &b));
	}
	memset(bits, 0, sizeof(bits));
	bits[0] = 1;
	SAYS(0, "coverage: the first block", ioctl(dev, FREEBLOCK_IOC_SET_COVERAGE, &b));
	is("coverage: the first block", covered(blocks, bits), 1);
	all.count = s.sectors;
	SAYS(0, "add what lacks",
	     change(dev, FREEBLOCK_IOC_ADD, &all, 1, FREEBLOCK_RANGES_UNCOVERED));
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	SAYS(EBUSY, "set coverage: started", ioctl(dev, FREEBLOCK_IOC_SET_COVERAGE, &b));
	while (progress_of(dev).queued < 4)
		usleep(1000);
	is("coverage: what is queued is not in it", covered(blocks, bits), 1);
	while (read(dev, buf, s.record_bytes) > 0) {
		got++;
		if (got == 4)
			is("coverage: what was read is", covered(blocks, bits), 5);
	}
	is("blocks", got, blocks - 1);
	is("coverage: all in the end", covered(blocks, bits), blocks);
	is("last status", r->status, FREEBLOCK_STATUS_OK);
	return 0;
}

/* ---- another capacity ---- */

static void write_text(const char *path, const char *text)
{
	int fd = open_or_die(path, O_WRONLY);

	if (write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static u64 read_sectors(u64 want)
{
	static char buf[1 << 16];
	u64 got = 0;
	ssize_t n, i;

	while (got < want) {
		n = read(dev, buf, sizeof(buf));
		for (i = 0; i < n;) {
			const struct freeblock_record *r = (const void *)(buf + i);

			got += r->sectors;
			i += r->header_bytes + r->data_bytes;
		}
		if (n <= 0)
			break;
	}
	return got;
}

/* a foreground request: the module notices another capacity when there is one */
static void touch(const char *block)
{
	int fd = open_or_die(block, O_RDONLY | O_DIRECT);
	void *page = aligned_alloc(4096, 4096);

	if (pread(fd, page, 4096, 0) != 4096)
		die(block);
	free(page);
	close(fd);
}

static int resized_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY), first;
	struct freeblock_ioc_setup s = usual(bdev);
	u64 sectors = sectors_of(bdev);

	dev = agreed(0, 0);
	s.flags = FREEBLOCK_SETUP_KEEP;
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	SAYS(0, "add", range_call(FREEBLOCK_IOC_ADD, 0, 800, 0));
	is("sectors", read_sectors(800), 800);
	progress_of(dev);
	write_text(argv[2], "1");
	write_text(argv[1], "1");
	is("resized", sectors_of(bdev) != sectors, 1);
	SAYS(0, "resized: add", range_call(FREEBLOCK_IOC_ADD, 800, 800, 0));
	is("resized: poll()", polled_for(POLLPRI), POLLPRI);
	while (progress_of(dev).waiting_for == FREEBLOCK_WAIT_NONE)
		usleep(10000);
	is("resized: says so", progress_of(dev).waiting_for, FREEBLOCK_WAIT_CAPACITY);
	is("resized: nothing comes", polled(500) & POLLIN, 0);
	first = dev;
	dev = agreed(0, 0);
	SAYS(ENODATA, "resized: set-up", set_up(usual(bdev)));
	close(dev);
	dev = first;
	write_text(argv[2], "0");
	write_text(argv[1], "1");
	is("as before", sectors_of(bdev), sectors);
	touch(argv[0]);
	is("as before: sectors", read_sectors(800), 800);
	return 0;
}

static int unreadable_main(char **argv)
{
	int bdev = open_or_die(argv[0], O_RDONLY), bad = 0;
	struct freeblock_ioc_setup s = usual(bdev);
	struct freeblock_record r;
	static char buf[1 << 16];
	ssize_t n, at;

	dev = agreed(0, 0);
	SAYS(0, "set-up", ioctl(dev, FREEBLOCK_IOC_SETUP, &s));
	SAYS(0, "add", range_call(FREEBLOCK_IOC_ADD, atoi(argv[1]), 4 * s.granule_sectors, 0));
	SAYS(0, "start", ioctl(dev, FREEBLOCK_IOC_START));
	while ((n = read(dev, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += r.header_bytes + r.data_bytes) {
			memcpy(&r, buf + at, sizeof(r));
			bad += r.status == FREEBLOCK_STATUS_UNREADABLE;
		}
	is("unreadable", bad, 1);
	is("unreadable: of all blocks", progress_of(dev).done, 4);
	is("unreadable: as the progress has it", progress_of(dev).failed, 1);
	return 0;
}

static int gone_main(char **argv)
{
	dev = agreed(0, 0);
	SAYS(ENODEV, "set-up: a disk that never had freeblock",
	     set_up(usual(open_or_die(argv[0], O_RDONLY))));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int argc;
		int (*call)(char **argv);
	} what[] = {
		{ "errors", 4, errors_main }, { "versions", 3, versions_main },
		{ "arrays", 3, arrays_main },
		{ "values", 3, values_main }, { "events", 3, events_main },
		{ "stopped", 3, stopped_main },
		{ "coverage", 4, coverage_main },
		{ "resized", 5, resized_main }, { "unreadable", 4, unreadable_main },
		{ "gone", 3, gone_main },
	};
	unsigned int i;

	setbuf(stdout, NULL);
	for (i = 0; argc > 1 && i < ARRAY_SIZE(what); i++)
		if (!strcmp(argv[1], what[i].name) && argc == what[i].argc)
			return what[i].call(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "true"))
		return 0;
	fprintf(stderr, "fbcalls: see the head of fbcalls.c\n");
	return 2;
}
