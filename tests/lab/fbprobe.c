// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of /dev/freeblock, static.
 *
 *	fbprobe run BLOCKDEV FIRST SECTORS STEP N [MS]	N probes, STEP sectors apart, up to 64 a
 *				call, each of MS at most: a line for each, "FIRST STATUS SENT ENDED
 *				FLAGS"; then "done N"
 *	fbprobe calls BLOCKDEV PARTITION	good and bad calls: lines "NAME|GOT|WANT"
 *	fbprobe passes BLOCKDEV			commands that pass by the scheduler: such lines
 *	fbprobe waits BLOCKDEV			a probe that waits: "waits", then how it ends
 */
#include "fbdev.h"

#include <pthread.h>
#include <scsi/sg.h>
#include <sys/time.h>

#define CALL 64		/* probes of a call */

static int dev;

static struct freeblock_ioc_probes call_of(struct freeblock_probe *probe, u32 n, u32 timeout_ms)
{
	return (struct freeblock_ioc_probes) {
		.size = sizeof(struct freeblock_ioc_probes), .probe_bytes = sizeof(*probe),
		.probes = (uintptr_t)probe, .nprobes = n, .timeout_ms = timeout_ms,
	};
}

/* a task that wants nothing but probes */
static void start(const char *block, u64 features)
{
	int bdev = open_or_die(block, O_RDONLY);
	struct freeblock_ioc_setup setup = usual(bdev);

	dev = agreed(0, features);
	setup.flags = FREEBLOCK_SETUP_MEDIUM | FREEBLOCK_SETUP_KEEP;
	if (ioctl(dev, FREEBLOCK_IOC_SETUP, &setup) || ioctl(dev, FREEBLOCK_IOC_START))
		die_of(dev, block);
	close(bdev);
}

static int run_main(char **argv, int argc)
{
	u64 first = strtoull(argv[1], NULL, 0), step = strtoull(argv[3], NULL, 0);
	u32 n = atoi(argv[4]), ms = argc > 5 ? atoi(argv[5]) : 0, i, done = 0;

	start(argv[0], FREEBLOCK_FEATURE_PROBES);
	while (done < n) {
		struct freeblock_probe probe[CALL] = {};
		struct freeblock_ioc_probes call = call_of(probe, n - done < CALL ? n - done : CALL,
							   ms);

		for (i = 0; i < call.nprobes; i++) {
			probe[i].first = first + (done + i) * step;
			probe[i].count = atoi(argv[2]);
		}
		if (ioctl(dev, FREEBLOCK_IOC_PROBE, &call))
			die_of(dev, "probe");
		for (i = 0; i < call.done; i++)
			printf("%llu %u %llu %llu %u\n", probe[i].first, probe[i].status,
			       probe[i].sent_ns, probe[i].ended_ns, probe[i].flags);
		done += call.done;
		if (call.done < call.nprobes)
			break;
	}
	printf("done %u\n", done);
	return 0;
}

/* ---- good and bad calls ---- */

static struct freeblock_ioc_probes call;
static struct freeblock_probe probe[3];

static void says(const char *name, int want)
{
	struct freeblock_ioc_reason reason = { .size = sizeof(reason) };
	int error = ioctl(dev, FREEBLOCK_IOC_PROBE, &call) ? errno : 0;

	ioctl(dev, FREEBLOCK_IOC_REASON, &reason);
	printf("%s|%s%s|%s\n", name, error ? strerrorname_np(error) : "0",
	       error && want && !reason.text[0] ? " without a reason" : "",
	       want ? strerrorname_np(want) : "0");
	if (error)
		fprintf(stderr, "# %s: %s\n", name, reason.text);
}

/* a call of the first probes, with one thing changed */
#define SAYS(want, name, ...) do {								\
		memset(probe, 0, sizeof(probe));						\
		probe[0].count = 1;								\
		probe[1].count = 1;								\
		probe[1].first = 9;								\
		call = call_of(probe, 2, 60000);						\
		__VA_ARGS__;									\
		says(name, want);								\
	} while (0)

static void is(const char *name, u64 got, u64 want)
{
	printf("%s|%llu|%llu\n", name, got, want);
}

static void bad_calls(u64 sectors)
{
	SAYS(EINVAL, "a byte too small", call.size--);
	SAYS(E2BIG, "size 1 GiB", call.size = 1 << 30);
	SAYS(EINVAL, "probes that are too short", call.probe_bytes--);
	SAYS(E2BIG, "probes of 1 GiB", call.probe_bytes = 1 << 30);
	SAYS(EINVAL, "no probe", call.nprobes = 0);
	SAYS(EINVAL, "too many probes", call.nprobes = FREEBLOCK_PROBES_MAX + 1);
	SAYS(EINVAL, "more than an hour", call.timeout_ms = 3600001);
	SAYS(EINVAL, "done", call.done = 1);
	SAYS(EINVAL, "pad", call.pad = 1);
	SAYS(EFAULT, "no probes there", call.probes = 0);
	SAYS(EINVAL, "an empty one", probe[1].count = 0);
	SAYS(EINVAL, "one that is too long", probe[1].count = 100000);
	SAYS(ERANGE, "one behind the end", probe[1].first = sectors);
	SAYS(ERANGE, "one beyond 64 bits", probe[1].first = ~0ull);
	SAYS(EINVAL, "one with a status", probe[1].status = 1);
	SAYS(EINVAL, "one with flags", probe[1].flags = 1);
	SAYS(EINVAL, "one with a time", probe[1].sent_ns = 1);
	SAYS(EINVAL, "one that ended", probe[1].ended_ns = 1);
	SAYS(EINVAL, "one with a pad", probe[1].pad = 1);
	is("nothing was done", call.done, 0);
}

static void good_calls(u64 sectors)
{
	struct { struct freeblock_probe p; u64 more; } longer[2] = {
		{ .p.count = 1 }, { .p.count = 1, .p.first = 9 },
	};
	int i;

	SAYS(0, "two", i = 0);
	is("two: done", call.done, 2);
	for (i = 0; i < 2; i++) {
		is("it was read", probe[i].status, FREEBLOCK_STATUS_OK);
		is("it was sent, and ended later", probe[i].sent_ns &&
		   probe[i].ended_ns > probe[i].sent_ns, 1);
		is("it keeps its place", probe[i].first, 9 * i);
	}
	is("the second was sent behind the first", probe[1].sent_ns >= probe[0].ended_ns, 1);
	is("what was not given is as it was", probe[2].sent_ns, 0);
	SAYS(0, "the last sector", probe[1].first = sectors - 1);
	SAYS(0, "longer probes", call.probes = (uintptr_t)longer,
	     call.probe_bytes = sizeof(longer[0]));
	is("longer probes: both", longer[0].p.sent_ns && longer[1].p.sent_ns, 1);
	is("longer probes: what is not known stays", longer[0].more + longer[1].more, 0);
	memset(longer, 0, sizeof(longer));
	SAYS(E2BIG, "an unknown field is not 0", call.probes = (uintptr_t)longer,
	     call.probe_bytes = sizeof(longer[0]), longer[0].p.count = 1, longer[1].p.count = 1,
	     longer[1].more = 1);
}

static void note_signal(int number)
{
	(void)number;
}

static void *second_call(void *arg)
{
	struct freeblock_probe other = { .count = 1 };
	struct freeblock_ioc_probes c = call_of(&other, 1, 20000);

	usleep(300000);
	*(int *)arg = ioctl(dev, FREEBLOCK_IOC_PROBE, &c) ? errno : 0;
	return NULL;
}

static void *stop_call(void *arg)
{
	usleep(300000);
	*(int *)arg = ioctl(dev, FREEBLOCK_IOC_STOP) ? errno : 0;
	return NULL;
}

/* while it is paused nothing is sent */
static void waiting_calls(void)
{
	struct itimerval timer = { .it_value = { .tv_usec = 300000 } };
	struct sigaction act = { .sa_handler = note_signal };
	pthread_t thread;
	int other = 0;

	ioctl(dev, FREEBLOCK_IOC_PAUSE);
	SAYS(0, "paused: time is out", call.timeout_ms = 200);
	is("paused: none was done", call.done, 0);
	sigaction(SIGALRM, &act, NULL);
	SAYS(EINTR, "paused: a signal", setitimer(ITIMER_REAL, &timer, NULL));
	pthread_create(&thread, NULL, second_call, &other);
	SAYS(0, "paused: a second thread", call.timeout_ms = 1500);
	pthread_join(thread, NULL);
	is("the second thread hears that", other, EBUSY);
	ioctl(dev, FREEBLOCK_IOC_RESUME);
	SAYS(0, "resumed", call.timeout_ms = 60000);
	is("resumed: both are done", call.done, 2);
	ioctl(dev, FREEBLOCK_IOC_PAUSE);
	pthread_create(&thread, NULL, stop_call, &other);
	SAYS(ESHUTDOWN, "stopped meanwhile", call.timeout_ms = 60000);
	pthread_join(thread, NULL);
	is("other calls go on meanwhile", other, 0);
	SAYS(ESHUTDOWN, "stopped before", call.timeout_ms = 0);
}

static int calls_main(char **argv)
{
	u64 sectors = sectors_of(open_or_die(argv[0], O_RDONLY));
	u64 part = sectors_of(open_or_die(argv[1], O_RDONLY));

	start(argv[0], 0);
	SAYS(EOPNOTSUPP, "not agreed on", call.timeout_ms = 1);
	close(dev);
	dev = agreed(0, FREEBLOCK_FEATURE_PROBES);
	SAYS(EBADFD, "not set up", call.timeout_ms = 1);
	close(dev);
	start(argv[0], FREEBLOCK_FEATURE_PROBES);
	bad_calls(sectors);
	good_calls(sectors);
	waiting_calls();
	close(dev);
	start(argv[1], FREEBLOCK_FEATURE_PROBES);
	SAYS(0, "the last sector of a partition", probe[1].first = part - 1);
	SAYS(ERANGE, "behind it, within the disk", probe[1].first = part);
	close(dev);
	return 0;
}

/* TEST UNIT READY, which no scheduler sees */
static void pass(int bdev)
{
	u8 cdb[6] = {}, sense[32];
	struct sg_io_hdr hdr = {
		.interface_id = 'S', .dxfer_direction = SG_DXFER_NONE, .cmd_len = sizeof(cdb),
		.cmdp = cdb, .mx_sb_len = sizeof(sense), .sbp = sense, .timeout = 10000,
	};

	if (ioctl(bdev, SG_IO, &hdr))
		die("SG_IO");
}

static int passes_main(char **argv)
{
	const u32 both = FREEBLOCK_PROBE_ALONE | FREEBLOCK_PROBE_NEXT;
	int bdev = open_or_die(argv[0], O_RDONLY);

	start(argv[0], FREEBLOCK_FEATURE_PROBES);
	SAYS(0, "nothing between them", call.nprobes = 2);
	is("the first has none before it", probe[0].flags & both, FREEBLOCK_PROBE_ALONE);
	is("the second is the next", probe[1].flags & both, both);
	SAYS(0, "the next call's", call.nprobes = 1);
	is("is the next, too", probe[0].flags & both, both);
	pass(bdev);
	SAYS(0, "a command that passed by between them", call.nprobes = 2);
	is("is seen", probe[0].flags & both, FREEBLOCK_PROBE_ALONE);
	is("but not behind", probe[1].flags & both, both);
	return 0;
}

static int waits_main(char **argv)
{
	start(argv[0], FREEBLOCK_FEATURE_PROBES);
	ioctl(dev, FREEBLOCK_IOC_PAUSE);
	probe[0].count = 1;
	call = call_of(probe, 1, 0);
	printf("waits\n");
	printf("%s\n", ioctl(dev, FREEBLOCK_IOC_PROBE, &call) ? strerrorname_np(errno) : "done");
	return 0;
}

int main(int argc, char **argv)
{
	setbuf(stdout, NULL);
	if (argc >= 7 && !strcmp(argv[1], "run"))
		return run_main(argv + 2, argc - 2);
	if (argc == 4 && !strcmp(argv[1], "calls"))
		return calls_main(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "passes"))
		return passes_main(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "waits"))
		return waits_main(argv + 2);
	fprintf(stderr, "fbprobe: see the head of fbprobe.c\n");
	return 2;
}
