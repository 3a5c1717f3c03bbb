// SPDX-License-Identifier: GPL-2.0
/*
 * A made-up module behind open(), ioctl(), read(), poll() and close(); see fake.h. One task at
 * a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct fake fake;

/* the open file: its state, and per block what is wanted and said of it */
static struct {
	int fd;
	bool agreed, set_up, started, paused, stopped, told;
	unsigned long long features;
	char reason[FREEBLOCK_REASON_LEN];
	unsigned long long entered, total, done;
	unsigned char wanted[FAKE_BLOCKS], covered[FAKE_BLOCKS];
	unsigned long long user_data[FAKE_BLOCKS];
	unsigned int next;
} file = { .fd = -1 };

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(&file, 0, sizeof(file));
	file.fd = -1;
	fake.sectors = 1000;
	fake.granule = 8;
	fake.version = FREEBLOCK_API_VERSION;
	fake.offered = FREEBLOCK_FEATURE_EVENTS | FREEBLOCK_FEATURE_COVERAGE;
	fake.ranges_max = 4;
	fake.room = 1000;
	fake.burst = 7;
	fake.bad = ~0ull;
	fake.header_bytes = sizeof(struct freeblock_record);
	strcpy(fake.id, "naa.5000");
}

__attribute__((constructor)) static void from_environment(void)
{
	static const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ "FAKE_SECTORS", &fake.sectors }, { "FAKE_START", &fake.start },
		{ "FAKE_GRANULE", &fake.granule }, { "FAKE_VERSION", &fake.version },
		{ "FAKE_OFFERED", &fake.offered }, { "FAKE_BAD", &fake.bad },
		{ "FAKE_GONE", &fake.gone }, { "FAKE_STOP_AFTER", &fake.stop_after },
		{ "FAKE_LAZY", &fake.lazy }, { "FAKE_BURST", &fake.burst },
		{ "FAKE_JOINED", &fake.joined },
		{ "FAKE_STRANGE", &fake.strange }, { "FAKE_HEADER_BYTES", &fake.header_bytes },
		{ "FAKE_ROOM", &fake.room }, { "FAKE_FAIL", &fake.fail },
		{ "FAKE_FAIL_ERROR", &fake.fail_error },
	};
	unsigned int i;

	fake_reset();
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (getenv(numbers[i].name))
			*numbers[i].value = strtoull(getenv(numbers[i].name), NULL, 0);
	if (getenv("FAKE_ID"))
		snprintf(fake.id, sizeof(fake.id), "%s", getenv("FAKE_ID"));
}

unsigned char fake_byte(uint64_t sector, unsigned int at)
{
	return (sector * 2654435761u >> 7) ^ at ^ at >> 8;
}

static unsigned long long blocks(void)
{
	return (fake.start + fake.sectors - 1) / fake.granule - fake.start / fake.granule + 1;
}

/* first sector of a block, from the start of the block device */
static unsigned long long low(unsigned long long block)
{
	return block ? (fake.start / fake.granule + block) * fake.granule - fake.start : 0;
}

static unsigned long long high(unsigned long long block)
{
	return block + 1 < blocks() ? low(block + 1) : fake.sectors;
}

static int fails(int error, const char *reason)
{
	snprintf(file.reason, sizeof(file.reason), "%s", reason);
	if (fake.slow_us)
		usleep(fake.slow_us);
	errno = error;
	return -1;
}

/* the caller's structure, as if it were ours; 0: it cannot be */
static int take(void *own, size_t known, const void *given)
{
	const unsigned char *bytes = given;
	uint32_t size, i;

	memcpy(&size, given, sizeof(size));
	if (size < known)
		return fails(EINVAL, "a size smaller than the first version's");
	for (i = known; i < size; i++)
		if (bytes[i])
			return fails(E2BIG, "unknown fields");
	memcpy(own, given, known);
	return 0;
}

static int agree(void *argument)
{
	struct freeblock_ioc_api api;

	if (take(&api, sizeof(api), argument))
		return -1;
	if (file.agreed)
		return fails(EALREADY, "done already");
	if (api.version != fake.version)
		return fails(EPROTONOSUPPORT, "this module speaks another version");
	if (api.features & ~fake.offered)
		return fails(EOPNOTSUPP, "this module lacks a feature");
	file.agreed = true;
	file.features = api.features;
	api.offered = fake.offered;
	memcpy(argument, &api, sizeof(api));
	return 0;
}

static int set_up(void *argument)
{
	struct freeblock_ioc_setup setup;

	if (take(&setup, sizeof(setup), argument))
		return -1;
	if (!file.agreed)
		return fails(EBADFD, "no handshake");
	if (fcntl(setup.fd, F_GETFL) < 0)
		return fails(EBADF, "no such file descriptor");
	if (setup.flags & ~7u || setup.pad || setup.priority < FREEBLOCK_PRIORITY_MIN ||
	    setup.priority > FREEBLOCK_PRIORITY_MAX)
		return fails(EINVAL, "priority 8 is not between -4 and 3");
	fake.setup = setup;
	file.set_up = true;
	setup.sectors = fake.sectors;
	setup.start_sector = fake.start;
	setup.blocks = blocks();
	setup.granule_sectors = fake.granule;
	setup.record_bytes = fake.header_bytes + fake.granule * 512;
	setup.ranges_max = fake.ranges_max;
	memcpy(argument, &setup, sizeof(setup));
	return 0;
}

static bool on_boundary(unsigned long long sector)
{
	return sector == fake.sectors || !sector || !((fake.start + sector) % fake.granule);
}

static int judge_ranges(const struct freeblock_ioc_ranges *call, const struct freeblock_range *r)
{
	unsigned int i;

	if (call->range_bytes != sizeof(*r) || !call->nranges || call->nranges > fake.ranges_max ||
	    call->flags & ~FREEBLOCK_RANGES_UNCOVERED)
		return fails(EINVAL, "ranges");
	if (call->flags && !(file.features & FREEBLOCK_FEATURE_COVERAGE))
		return fails(EOPNOTSUPP, "that feature was not asked for");
	if (file.entered + call->nranges > fake.room)
		return fails(ENOSPC, "too many ranges wait to be entered");
	for (i = 0; i < call->nranges; i++) {
		if (r[i].first > fake.sectors || r[i].count > fake.sectors - r[i].first)
			return fails(ERANGE, "a range goes beyond the end");
		if (!r[i].count || !on_boundary(r[i].first) ||
		    !on_boundary(r[i].first + r[i].count))
			return fails(EINVAL, "a range ends within a block");
	}
	return 0;
}

static int change(unsigned long number, void *argument)
{
	struct freeblock_ioc_ranges call;
	const struct freeblock_range *r;
	unsigned long long block;
	unsigned int i;

	if (take(&call, sizeof(call), argument))
		return -1;
	r = (void *)(uintptr_t)call.ranges;
	if (!file.set_up)
		return fails(EBADFD, "not set up");
	if (file.stopped)
		return fails(ESHUTDOWN, "stopped");
	if (judge_ranges(&call, r))
		return -1;
	for (i = 0; i < call.nranges; i++) {
		for (block = 0; block < blocks(); block++) {
			if (low(block) < r[i].first || low(block) >= r[i].first + r[i].count ||
			    (call.flags && file.covered[block]))
				continue;
			if (number == FREEBLOCK_IOC_ADD) {
				file.total += !file.wanted[block];
				file.wanted[block] = 1;
				file.user_data[block] = r[i].user_data;
			} else if (number == FREEBLOCK_IOC_REMOVE) {
				file.total -= file.wanted[block];
				file.wanted[block] = 0;
			}
		}
	}
	if (number == FREEBLOCK_IOC_ADD)
		file.entered += call.nranges;
	file.told = false;
	return 0;
}

static int coverage(unsigned long number, void *argument)
{
	struct freeblock_ioc_bits call;
	unsigned char *bits;
	unsigned long long i;

	if (take(&call, sizeof(call), argument))
		return -1;
	bits = (void *)(uintptr_t)call.bits;
	if (!(file.features & FREEBLOCK_FEATURE_COVERAGE))
		return fails(EOPNOTSUPP, "that feature was not asked for");
	if (call.first % 8 || call.count > FREEBLOCK_BITS_MAX ||
	    call.first + call.count > blocks() ||
	    (call.count % 8 && call.first + call.count != blocks()))
		return fails(ERANGE, "bits beyond the last block");
	if (number == FREEBLOCK_IOC_SET_COVERAGE && file.started)
		return fails(EBUSY, "started already");
	if (number == FREEBLOCK_IOC_GET_COVERAGE)
		memset(bits, 0, (call.count + 7) / 8);
	for (i = 0; i < call.count; i++) {
		if (number == FREEBLOCK_IOC_GET_COVERAGE)
			bits[i / 8] |= file.covered[call.first + i] << i % 8;
		else
			file.covered[call.first + i] = bits[i / 8] >> i % 8 & 1;
	}
	return 0;
}

static int progress(void *argument)
{
	struct freeblock_ioc_progress p;

	if (take(&p, sizeof(p), argument))
		return -1;
	p.state = file.stopped ? FREEBLOCK_STATE_STOPPED : file.paused ? FREEBLOCK_STATE_PAUSED :
		file.started ? FREEBLOCK_STATE_RUNNING : FREEBLOCK_STATE_NEW;
	p.waiting_for = FREEBLOCK_WAIT_GAP;
	p.total = file.total;
	p.done = file.done;
	p.buffer_blocks = 1024;
	p.stalled_ns = 0x123456789abcull;
	memcpy(argument, &p, sizeof(p));
	return 0;
}

static int urgency(void *argument)
{
	struct freeblock_ioc_urgency u;

	if (take(&u, sizeof(u), argument))
		return -1;
	if (u.priority < FREEBLOCK_PRIORITY_MIN || u.priority > FREEBLOCK_PRIORITY_MAX ||
	    u.pad)
		return fails(EINVAL, "priority 8 is not between -4 and 3");
	fake.setup.priority = u.priority;
	fake.setup.deadline_ns = u.deadline_ns;
	fake.setup.foreground_ppm = u.foreground_ppm;
	return 0;
}

static int steer(unsigned long number)
{
	if (number == FREEBLOCK_IOC_START) {
		if (file.started)
			return fails(EALREADY, "started already");
		if (!file.total && !(fake.setup.flags & FREEBLOCK_SETUP_KEEP))
			return fails(EINVAL, "nothing is declared");
		file.started = true;
		return 0;
	}
	if (!file.started)
		return fails(EBADFD, "not started");
	if (number == FREEBLOCK_IOC_STOP) {
		file.stopped = true;
		return 0;
	}
	if (number == (file.paused ? FREEBLOCK_IOC_PAUSE : FREEBLOCK_IOC_RESUME))
		return fails(EALREADY, "it is so already");
	file.paused = !file.paused;
	return 0;
}

static int reason(void *argument)
{
	struct freeblock_ioc_reason r;
	int error = errno;

	if (take(&r, sizeof(r), argument))
		return -1;
	memcpy(r.text, file.reason, sizeof(r.text));
	memcpy(argument, &r, sizeof(r));
	errno = error;
	return 0;
}

static int device_ioctl(unsigned long number, void *argument)
{
	if (_IOC_NR(number) >= FAKE_CALLS)
		return fails(ENOTTY, "no such call");
	fake.calls[_IOC_NR(number)]++;
	if (number == fake.fail)
		return fails(fake.fail_error, "the test wants it so");
	switch (number) {
	case FREEBLOCK_IOC_API: return agree(argument);
	case FREEBLOCK_IOC_SETUP: return set_up(argument);
	case FREEBLOCK_IOC_ADD:
	case FREEBLOCK_IOC_REMOVE:
	case FREEBLOCK_IOC_PROMOTE: return change(number, argument);
	case FREEBLOCK_IOC_GET_COVERAGE:
	case FREEBLOCK_IOC_SET_COVERAGE: return coverage(number, argument);
	case FREEBLOCK_IOC_PROGRESS: return progress(argument);
	case FREEBLOCK_IOC_URGENCY: return urgency(argument);
	case FREEBLOCK_IOC_REASON: return reason(argument);
	default: return steer(number);
	}
}

/* A record of block `block` at `to`; its length, 0 if there is no room */
static size_t put_record(unsigned char *to, size_t room, unsigned long long block)
{
	struct freeblock_record r = {
		.header_bytes = fake.header_bytes, .first = low(block),
		.user_data = file.user_data[block], .sectors = high(block) - low(block),
	};
	unsigned long long i;

	if (r.first == fake.bad)
		r.status = FREEBLOCK_STATUS_UNREADABLE;
	else if (!(fake.setup.flags & FREEBLOCK_SETUP_NO_DATA))
		r.data_bytes = 512 * r.sectors;
	if (room < (size_t)r.header_bytes + r.data_bytes)
		return 0;
	memset(to, 0xee, r.header_bytes);
	memcpy(to, &r, sizeof(r));
	for (i = 0; i < r.data_bytes; i++)
		to[r.header_bytes + i] = fake_byte(fake.start + r.first + i / 512, i % 512);
	file.wanted[block] = 0;
	file.covered[block] = r.status == FREEBLOCK_STATUS_OK;
	file.done++;
	return (size_t)r.header_bytes + r.data_bytes;
}

/* The next wanted block, in an order that is not ascending; -1: none */
static long next_block(void)
{
	unsigned long long i, n = blocks();

	for (i = 0; i < n; i++) {
		file.next = (file.next + 89) % n;
		if (file.wanted[file.next])
			return file.next;
	}
	for (i = 0; i < n; i++)
		if (file.wanted[i])
			return i;
	return -1;
}

static size_t put_other(unsigned char *to, unsigned int type)
{
	struct freeblock_record r = { .header_bytes = fake.header_bytes, .type = type };

	memset(to, 0xee, fake.header_bytes);
	memcpy(to, &r, sizeof(r));
	return fake.header_bytes;
}

/* The event that all has been delivered, once; its length, 0 if it is not due or has no room */
static size_t put_caught_up(unsigned char *to, size_t room)
{
	if (file.stopped || !(fake.setup.flags & FREEBLOCK_SETUP_KEEP) || file.told ||
	    !(file.features & FREEBLOCK_FEATURE_EVENTS) || room < fake.header_bytes)
		return 0;
	file.told = true;
	return put_other(to, FREEBLOCK_RECORD_CAUGHT_UP);
}

static ssize_t end_of_read(unsigned char *to, size_t size)
{
	size_t length = put_caught_up(to, size);

	if (length)
		return length;
	if (file.stopped)
		return fails(ECANCELED, "stopped");
	return fake.setup.flags & FREEBLOCK_SETUP_KEEP ? fails(EAGAIN, "nothing") : 0;
}

static ssize_t device_read(unsigned char *to, size_t size)
{
	size_t n = 0, length;
	uint64_t i;

	fake.reads++;
	if (!file.started)
		return fails(EBADFD, "not started");
	if (fake.gone) {
		fake.gone--;
		return fails(ENODEV, "gone");
	}
	if (fake.lazy) {
		fake.lazy--;
		return fails(EAGAIN, "nothing");
	}
	file.entered = 0;
	if (fake.stop_after && file.done >= fake.stop_after)
		file.stopped = true;
	for (i = 0; i < fake.burst && !file.stopped; i++) {
		long block = next_block();

		if (block < 0) {
			if (n && fake.joined)
				n += put_caught_up(to + n, size - n);
			break;
		}
		if (fake.strange)
			n += put_other(to + n, 77);
		length = put_record(to + n, size - n, block);
		if (!length)
			break;
		n += length;
	}
	return n ? (ssize_t)n : end_of_read(to, size);
}

/* ---- what the program calls ---- */

static int really_open(const char *path, int flags, int mode)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int id_file(void)
{
	int fd = syscall(SYS_memfd_create, "id", 0);

	if (!fake.id[0]) {
		syscall(SYS_close, fd);
		errno = ENOENT;
		return -1;
	}
	if (write(fd, fake.id, strlen(fake.id)) < 0 || write(fd, "\n", 1) < 0)
		return -1;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	int mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, int);
	va_end(arguments);
	if (!strncmp(path, "/sys/dev/block/", 15))
		return id_file();
	if (strcmp(path, "/dev/freeblock"))
		return really_open(path, flags, mode);
	if (!fake.version) {
		errno = ENOENT;
		return -1;
	}
	memset(&file, 0, sizeof(file));
	file.fd = really_open("/dev/null", O_RDONLY, 0);
	fake.opened++;
	return file.fd;
}

int open64(const char *path, int flags, ...)
{
	va_list arguments;
	int mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, int);
	va_end(arguments);
	return open(path, flags, mode);
}

int close(int fd)
{
	if (fd >= 0 && fd == file.fd) {
		file.fd = -1;
		fake.opened--;
	}
	return syscall(SYS_close, fd);
}

int ioctl(int fd, unsigned long number, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, number);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (fd >= 0 && fd == file.fd)
		return device_ioctl(number, argument);
	return syscall(SYS_ioctl, fd, number, argument);
}

ssize_t read(int fd, void *to, size_t size)
{
	if (fd >= 0 && fd == file.fd)
		return device_read(to, size);
	return syscall(SYS_read, fd, to, size);
}

/* poll.h would tell the compiler that poll() reads nothing of them */
struct pollfd {
	int fd;
	short events;
	short revents;
};

int poll(struct pollfd *fds, unsigned long n, int timeout)
{
	if (n != 1 || fds->fd != file.fd || file.fd < 0)
		return syscall(SYS_poll, fds, n, timeout);
	if (fake.silent) {
		fake.silent--;
		/* as if a time-out had passed, without the time */
		usleep(timeout > 0 && timeout < 1000 ? timeout * 1000 : 0);
		return 0;
	}
	fds->revents = 1;	/* POLLIN */
	return 1;
}
