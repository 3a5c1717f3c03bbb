// SPDX-License-Identifier: GPL-2.0
/*
 * Fail each allocation of a call in turn (/proc/self/fail-nth), until the call needs no more.
 * Needs a kernel with fault injection; see s-nomem.sh.
 *
 *	nomem write FILE TEXT [UNDO_FILE UNDO_TEXT]
 *	nomem switch SCHEDULER_FILE UNREF.ko [FREEBLOCK.ko]	to freeblock, of a new module
 *	nomem copy FILE SOURCE [UNDO_FILE UNDO_TEXT]	its text, in pieces of a page
 *	nomem read FILE
 *	nomem insmod MODULE.ko
 *	nomem user BLOCKDEV		the calls of a reader of /dev/freeblock, one after the other
 *
 * Loading a module takes hundreds of allocations, and seconds: there only the last ones fail, which
 * are the module's own.
 *
 * So does a new scheduler. Linux 6.1 forgets the reference to its module when there is no memory
 * for the tags (blk_mq_init_sched()), or the elevator's queue (elevator_alloc()), which come before
 * all that is ours. There the last allocation fails first, then the one before it, until a
 * reference is lost, which fbunref takes back; what is before that is not ours to undo. Of very
 * many, as a module has that is new, with its disk, each third one fails.
 *
 * What came to pass although an allocation failed is undone before the next trial. One line for
 * each call: "NAME: N allocations failed, N of the calls". A call that fails otherwise than for
 * want of memory is an error: exit status 1.
 */
#include "fbdev.h"

#include <sys/syscall.h>

#define TRIALS_MAX 4000
#define LAST_OF_MODULE 40
#define MANY 500
#define REFS "/sys/module/freeblock/refcnt"

struct call {
	const char *name;
	const char *file, *text;
	const char *undo_file, *undo_text;
	char *data;
	size_t bytes;
	int dev, bdev, module, unref;
	unsigned long request;
	void *arg;
};

typedef int (*call_fn)(struct call *call);

static int nth_file;

static void nth_set(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth_file, text, len, 0) != len)
		die("fail-nth");
}

static unsigned int nth_left(void)
{
	char text[16] = "";

	if (pread(nth_file, text, sizeof(text) - 1, 0) <= 0)
		die("fail-nth");
	return atoi(text);
}

static int put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY), ret = 0;

	if (file < 0)
		return -1;
	if (write(file, text, strlen(text)) < 0)
		ret = -1;
	close(file);
	return ret;
}

static int refs(void)
{
	char text[16] = "";
	int file = open_or_die(REFS, O_RDONLY);

	if (read(file, text, sizeof(text) - 1) <= 0)
		die(REFS);
	close(file);
	return atoi(text);
}

static int do_write(struct call *call)
{
	return put(call->file, call->text);
}

static int do_copy(struct call *call)
{
	int file = open(call->file, O_WRONLY), ret = 0;
	size_t at;

	if (file < 0)
		return -1;
	for (at = 0; !ret && at < call->bytes; at += 4096) {
		size_t n = call->bytes - at < 4096 ? call->bytes - at : 4096;

		if (write(file, call->data + at, n) != (ssize_t)n)
			ret = -1;
	}
	close(file);
	return ret;
}

static int do_read(struct call *call)
{
	static char buf[65536];
	int file = open(call->file, O_RDONLY);
	ssize_t n;

	if (file < 0)
		return -1;
	do
		n = read(file, buf, sizeof(buf));
	while (n > 0);
	close(file);
	return n;
}

static int do_insmod(struct call *call)
{
	return syscall(SYS_finit_module, call->bdev, "", 0);
}

static int do_ioctl(struct call *call)
{
	return ioctl(call->dev, call->request, call->arg);
}

static int do_open(struct call *call)
{
	call->dev = open(DEVICE, O_RDONLY);
	return call->dev < 0 ? -1 : 0;
}

static void undo(struct call *call)
{
	if (call->undo_file && put(call->undo_file, call->undo_text))
		die(call->undo_file);
	if (call->name[0] == 'i' && syscall(SYS_delete_module, "freeblock", 0))
		die("delete_module");
}

/* The refusals that want of memory leads to: the block layer says EINVAL of a scheduler. */
static int is_refusal(int error)
{
	return error == ENOMEM || error == ENOSPC || error == EINVAL;
}

static void renew(struct call *call)
{
	if (!call->module)
		return;
	if (syscall(SYS_delete_module, "freeblock", 0) && errno != ENOENT)
		die("delete_module");
	if (syscall(SYS_finit_module, call->module, "", 0))
		die("finit_module");
}

/* how many allocations the call makes */
static unsigned int count(struct call *call, call_fn fn)
{
	unsigned int n;

	renew(call);
	nth_set(TRIALS_MAX);
	if (fn(call))
		die(call->name);
	n = TRIALS_MAX - nth_left();
	nth_set(0);
	undo(call);
	return n;
}

/* Ends with the call having succeeded without a failure, or not at all. */
static int walk(struct call *call, call_fn fn)
{
	unsigned int n, failed = 0, first = 1;

	if (fn == do_insmod) {
		n = count(call, fn);
		first = n > LAST_OF_MODULE ? n - LAST_OF_MODULE : 1;
	}
	for (n = first; n < TRIALS_MAX; n++) {
		int ret, error, left;

		renew(call);
		nth_set(n);
		ret = fn(call);
		error = errno;
		left = nth_left();
		nth_set(0);
		/* what was undone is not over yet */
		if (ret && error == EBUSY) {
			usleep(10000);
			n--;
			continue;
		}
		if (ret && (left || !is_refusal(error))) {
			printf("%s: trial %u: %s\n", call->name, n, strerror(error));
			return 1;
		}
		if (left)
			break;
		if (ret)
			failed++;
		else if (call->name[0] == 'o')
			close(call->dev);
		else
			undo(call);
	}
	printf("%s: %u allocations failed, %u of the calls\n", call->name, n - first, failed);
	return n == TRIALS_MAX;
}

/* Of a switch to freeblock, from the last allocation back to the kernel's own; see above. */
static int walk_back(struct call *call)
{
	int n, step, failed = 0, tried = 0, lost = 0;

	/* the first one fills caches */
	count(call, do_write);
	n = count(call, do_write);
	step = n > MANY ? 3 : 1;
	for (; n > 0 && !lost; n -= step) {
		int ret, error, left, before;

		renew(call);
		before = refs();
		nth_set(n);
		ret = do_write(call);
		error = errno;
		left = nth_left();
		nth_set(0);
		if (ret && (left || !is_refusal(error))) {
			printf("%s: trial %d: %s\n", call->name, n, strerror(error));
			return 1;
		}
		if (!ret)
			undo(call);
		else if (refs() > before)
			lost = 1;
		tried += !left;
		failed += !!ret;
	}
	if (lost && (syscall(SYS_finit_module, call->unref, "", 0) == 0 || errno != ENODEV))
		die("fbunref");
	printf("%s: %d allocations failed, %d of the calls\n", call->name, tried - lost,
	       failed - lost);
	return 0;
}

/* One file goes through a reader's life; of the calls that change its state the file is new. */
static int walk_user(const char *block)
{
	struct freeblock_ioc_api api = {
		.size = sizeof(api), .version = FREEBLOCK_API_VERSION,
		.features = FREEBLOCK_FEATURE_COVERAGE | FREEBLOCK_FEATURE_EVENTS,
	};
	int bdev = open_or_die(block, O_RDONLY), bad;
	struct freeblock_ioc_setup setup = usual(bdev);
	static u8 coverage[1 << 20];
	struct freeblock_ioc_bits bits = {
		.size = sizeof(bits), .count = 8 * 512, .bits = (uintptr_t)coverage,
	};
	const struct freeblock_range range = { .first = 0, .count = 4096 };
	struct freeblock_ioc_ranges ranges = {
		.size = sizeof(ranges), .range_bytes = sizeof(range), .nranges = 1,
		.ranges = (uintptr_t)&range,
	};
	struct call call = { .name = "open" };
	const struct {
		const char *name;
		unsigned long request;
		void *arg;
	} step[] = {
		{ "api", FREEBLOCK_IOC_API, &api },
		{ "setup", FREEBLOCK_IOC_SETUP, &setup },
		{ "set coverage", FREEBLOCK_IOC_SET_COVERAGE, &bits },
		{ "add", FREEBLOCK_IOC_ADD, &ranges },
		{ "get coverage", FREEBLOCK_IOC_GET_COVERAGE, &bits },
		{ "start", FREEBLOCK_IOC_START, NULL },
		{ "remove", FREEBLOCK_IOC_REMOVE, &ranges },
		{ "add again", FREEBLOCK_IOC_ADD, &ranges },
		{ "promote", FREEBLOCK_IOC_PROMOTE, &ranges },
	};
	unsigned int i, n;

	/* all that is removed was all that it wanted */
	setup.flags |= FREEBLOCK_SETUP_KEEP;
	bad = walk(&call, do_open);
	for (i = 0; !bad && i < ARRAY_SIZE(step); i++) {
		unsigned int failed = 0, left = 0;

		for (n = 1; !left && !bad && n < TRIALS_MAX; n++) {
			unsigned int k;
			int ret = 0;

			call.dev = open_or_die(DEVICE, O_RDONLY);
			for (k = 0; k < i; k++) {
				call.request = step[k].request;
				call.arg = step[k].arg;
				if (do_ioctl(&call))
					die_of(call.dev, step[k].name);
			}
			call.request = step[i].request;
			call.arg = step[i].arg;
			nth_set(n);
			ret = do_ioctl(&call);
			left = nth_left();
			nth_set(0);
			if (ret && (left || !is_refusal(errno))) {
				printf("%s: trial %u: %s\n", step[i].name, n, strerror(errno));
				bad = 1;
			}
			failed += !!ret;
			close(call.dev);
		}
		printf("%s: %u allocations failed, %u of the calls\n", step[i].name, n - 2, failed);
	}
	return bad;
}

int main(int argc, char **argv)
{
	struct call call = { 0 };

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	nth_file = open_or_die("/proc/self/fail-nth", O_RDWR);
	call.name = argv[1];
	call.file = argv[2];
	call.text = argc > 3 ? argv[3] : "";
	if (argc > 5) {
		call.undo_file = argv[4];
		call.undo_text = argv[5];
	}
	if (!strcmp(argv[1], "write"))
		return walk(&call, do_write);
	if (!strcmp(argv[1], "switch") && argc > 3) {
		call.text = "freeblock";
		call.undo_file = call.file;
		call.undo_text = "none";
		call.unref = open_or_die(argv[3], O_RDONLY);
		if (argc > 4)
			call.module = open_or_die(argv[4], O_RDONLY);
		return walk_back(&call);
	}
	if (!strcmp(argv[1], "read"))
		return walk(&call, do_read);
	if (!strcmp(argv[1], "user"))
		return walk_user(argv[2]);
	if (!strcmp(argv[1], "insmod")) {
		call.bdev = open_or_die(argv[2], O_RDONLY);
		return walk(&call, do_insmod);
	}
	if (!strcmp(argv[1], "copy") && argc > 3) {
		int file = open_or_die(argv[3], O_RDONLY);

		call.data = malloc(1 << 22);
		call.bytes = read(file, call.data, 1 << 22);
		return walk(&call, do_copy);
	}
	return 2;
}
