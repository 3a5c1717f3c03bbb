// SPDX-License-Identifier: GPL-2.0
/*
 * What the drive or the machine does to us. An event that is armed is settled after the event
 * beside it: has it been met? Its counts are kept small enough that no command meets more mishaps
 * than the SCSI layer retries, five.
 */
#include <fcntl.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>

#include "moments.h"

/* Not in glibc's header */
#define NO_ESCALATE 0x100
/* In which somebody meets what waits */
#define MET_S 10
#define FAULTS "/sys/kernel/debug/"
#define CGROUP "/sys/fs/cgroup/moments/"

/* ---- the drive ---- */

static bool medium_met(const void *arg)
{
	const struct event *e = arg;

	return value_of(drive_file("stats"), "medium_errors") > (long long)e->before;
}

/*
 * Somewhere in a chunk that is written, or in its last block, which the foreground never asks for;
 * once or for good; retried by the SCSI layer or not; with a place in the sense data or without.
 */
int begin_medium(struct event *e)
{
	u64 chunk = below(e->rng, sh->sectors / CHUNK_SECTORS);
	u64 block = below(e->rng, 4) ? below(e->rng, CHUNK - 1) : CHUNK - 1;
	u32 n = atomic_load(&sh->bads);
	char text[128];
	int error;

	if (n == BADS_MAX)
		return refused(e, "too many so far");
	while (!front_writes(chunk))
		chunk = below(e->rng, sh->sectors / CHUNK_SECTORS);
	e->first = (chunk * CHUNK + block) * BLOCK_SECTORS + below(e->rng, BLOCK_SECTORS);
	e->count = 1 + below(e->rng, 4);
	e->before = value_of(drive_file("stats"), "medium_errors");
	sh->bad[n] = (struct bad) { .first = e->first, .count = e->count, .from = now_ns() };
	atomic_store(&sh->bads, n + 1);
	e->n = n;
	snprintf(text, sizeof(text), "add %llu %llu recovery_ms=%llu asc=%s info=%llu%s", e->first,
		 e->count, 5 + below(e->rng, 60), below(e->rng, 2) ? "11" : "15", below(e->rng, 2),
		 below(e->rng, 3) ? "" : " times=1");
	error = put(drive_file("medium_errors"), text);
	if (error) {
		atomic_store(&sh->bad[n].to, now_ns());
		return refused(e, "%s: %s", text, strerror(-error));
	}
	/* Before what is behind a chunk's last block that one is read for nothing */
	atomic_store(&sh->hot_first, block == CHUNK - 1 ? (chunk + 1) * CHUNK_SECTORS : e->first);
	return 0;
}

int settle_medium(struct event *e)
{
	bool met = wait_until(MET_S, medium_met, e);

	atomic_store(&sh->hot_first, 0);
	put(drive_file("medium_errors"), "clear");
	atomic_store(&sh->bad[e->n].to, now_ns());
	return met ? 0 : refused(e, "nobody met it");
}

static bool injected(const void *arg)
{
	const struct event *e = arg;

	return value_of(drive_file("inject"), e->text) == 0;
}

static int inject(struct event *e, const char *what, int n)
{
	char text[64];
	int error;

	e->text = what;
	snprintf(text, sizeof(text), "%s %d", what, n);
	error = put(drive_file("inject"), text);
	return error ? refused(e, "%s", strerror(-error)) : 0;
}

int begin_hw_error(struct event *e)
{
	return inject(e, "hw_error_next", 1 + below(e->rng, 2));
}

int begin_attention(struct event *e)
{
	return inject(e, "attention_next", 1 + below(e->rng, 2));
}

int begin_busy(struct event *e)
{
	static const char * const ways[] = {
		"fail_next busy", "fail_next host_busy", "fail_next full",
	};

	return inject(e, ways[below(e->rng, 3)], 1 + below(e->rng, 6));
}

int settle_injected(struct event *e)
{
	char text[64];

	if (wait_until(MET_S, injected, e))
		return 0;
	snprintf(text, sizeof(text), "%s 0", e->text);
	put(drive_file("inject"), text);
	return refused(e, "nobody met it");
}

int begin_hang(struct event *e)
{
	return inject(e, "hang_next", 1);
}

/* Not that there was a reset: it may have been another event's, before the command came */
static bool is_handled(const void *arg)
{
	(void)arg;
	return !value_of(drive_file("stats"), "hung");
}

int settle_hang(struct event *e)
{
	if (settle_injected(e))
		return -1;
	if (wait_until(HANDLED_S, is_handled, NULL))
		return 0;
	found(HANG, "a hung command was not taken back");
	return refused(e, "not taken back");
}

static int reset(struct event *e, int what)
{
	char path[64];
	long long before = value_of(drive_file("stats"), "resets");
	int fd, error = 0;

	snprintf(path, sizeof(path), "/dev/%s", sh->disk);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return refused(e, "%s: %s", path, strerror(errno));
	if (ioctl(fd, SG_SCSI_RESET, &what))
		error = errno;
	close(fd);
	if (error)
		return refused(e, "SG_SCSI_RESET: %s", strerror(error));
	if (value_of(drive_file("stats"), "resets") <= before)
		return refused(e, "the drive has seen none");
	return 0;
}

int do_lun_reset(struct event *e)
{
	return reset(e, SG_SCSI_RESET_DEVICE | NO_ESCALATE);
}

int do_bus_reset(struct event *e)
{
	return reset(e, SG_SCSI_RESET_BUS | NO_ESCALATE);
}

int do_host_reset(struct event *e)
{
	return reset(e, SG_SCSI_RESET_HOST | NO_ESCALATE);
}

/* ---- the machine ---- */

int do_cpu(struct event *e)
{
	char path[96];
	int error;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%llu/online",
		 1 + below(e->rng, sysconf(_SC_NPROCESSORS_CONF) - 1));
	error = put(path, "0");
	if (error || number_in(path))
		return refused(e, "off: %s", strerror(-error));
	rest_ms(below(e->rng, 500));
	error = put(path, "1");
	if (error || number_in(path) != 1) {
		found(UNTRUE, "%s: it does not come back: %s", path, strerror(-error));
		return refused(e, "on: %s", strerror(-error));
	}
	return 0;
}

static void fault(const char *kind, const char *file, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), FAULTS "%s/%s", kind, file);
	put(path, value);
}

static long long faults_left(const char *kind)
{
	char path[96];

	snprintf(path, sizeof(path), FAULTS "%s/times", kind);
	return number_in(path);
}

/* Of pages only larger pieces: SLUB complains in the log about each single one that it lacks */
int begin_memory(struct event *e)
{
	e->text = below(e->rng, 2) ? "failslab" : "fail_page_alloc";
	e->before = 100;
	atomic_store(&sh->starved, 1);
	fault(e->text, "verbose", "0");
	fault(e->text, "interval", "1");
	fault(e->text, "ignore-gfp-wait", "N");
	fault(e->text, "min-order", "1");
	fault(e->text, "times", "100");
	fault(e->text, "probability", *e->text == 'f' && e->text[4] == 's' ? "2" : "30");
	return 0;
}

int settle_memory(struct event *e)
{
	long long left;

	rest_ms(300 + below(e->rng, 700));
	left = faults_left(e->text);
	fault(e->text, "probability", "0");
	fault(e->text, "times", "0");
	rest_ms(50);
	atomic_store(&sh->starved_until, now_ns());
	atomic_store(&sh->starved, 0);
	return left >= 0 && left < (long long)e->before ? 0 :
		refused(e, "%s: no allocation failed", e->text);
}

/*
 * All that the kernel does with devices and tasks on the way to sleep and back. It comes back by
 * itself: the last step, which is idling until the clock's alarm, was not ended by the alarm of
 * QEMU's clock in three of some ten times.
 */
int do_suspend(struct event *e)
{
	static const char * const levels[] = { "devices", "platform", "freezer" };
	long long before = number_in("/sys/power/suspend_stats/success");
	const char *level = levels[below(e->rng, 3)];
	int error;

	put("/sys/module/suspend/parameters/pm_test_delay", "1");
	error = put("/sys/power/pm_test", level);
	if (!error)
		error = put("/sys/power/state", "freeze");
	put("/sys/power/pm_test", "none");
	if (error)
		return refused(e, "%s: %s", level, strerror(-error));
	if (number_in("/sys/power/suspend_stats/success") <= before)
		return refused(e, "%s: not counted as a success", level);
	return 0;
}

/* ---- cgroup ---- */

static int throttle(struct event *e, const char *limit)
{
	char dev[32], text[96];
	int error;

	get(queue_file("dev"), dev, sizeof(dev));
	snprintf(text, sizeof(text), "%s %s", dev, limit);
	error = put(CGROUP "io.max", text);
	return error ? refused(e, "io.max: %s: %s", text, strerror(-error)) : 0;
}

int begin_throttle(struct event *e)
{
	e->before = front_count();
	e->before2 = now_ns();
	return throttle(e, "riops=5 wiops=5");
}

/* At most the limit for the time, and what was on its way */
int settle_throttle(struct event *e)
{
	u64 done, most;

	rest_ms(1000);
	done = front_count() - e->before;
	most = 10 + 10 * (now_ns() - e->before2) / NSEC + 2 * THREADS;
	if (throttle(e, "riops=max wiops=max"))
		return -1;
	return done <= most ? 0 : refused(e, "%llu requests: not limited", done);
}
