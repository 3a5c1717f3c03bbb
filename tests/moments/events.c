// SPDX-License-Identifier: GPL-2.0
/* What somebody types at a bad moment, and the table of all events. */
#include <fcntl.h>

#include "moments.h"

char drive[32] = "d";
unsigned int features;

int refused(struct event *e, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(e->why, sizeof(e->why), fmt, args);
	va_end(args);
	return -1;
}

/* ---- scheduler and model ---- */

static bool is_scheduler(const char *name)
{
	char buf[256], want[64];

	get(queue_file("queue/scheduler"), buf, sizeof(buf));
	snprintf(want, sizeof(want), "[%s]", name);
	return strstr(buf, want);
}

static int put_scheduler(const char *name)
{
	return put(queue_file("queue/scheduler"), name);
}

static bool is_shown(const void *arg)
{
	(void)arg;
	return number_in(fb_file("state/attached")) == 1;
}

/*
 * The subject is survival, not cost: no guard, and idle time whatever it costs. The module makes
 * the disk's files soon after the switch.
 */
int schedule(void)
{
	int error = put_scheduler("freeblock");

	if (error)
		return error;
	wait_until(10, is_shown, NULL);
	put(queue_file("queue/iosched/target_slowdown_ppm"), "1000000");
	put(fb_file("idle_mean_us"), "10000000");
	put(fb_file("idle_max_us"), "60000000");
	put(fb_file("idle_wait_us"), "20000");
	put(fb_file("bad_slow_most"), "1000");
	return is_scheduler("freeblock") ? 0 : -EIO;
}

/* Whatever was done, freeblock is the scheduler again */
int settle_scheduler(void)
{
	int error = 0, tries;

	for (tries = 0; tries < 20; tries++) {
		error = is_scheduler("freeblock") ? 0 : schedule();
		if (!error)
			return 0;
		rest_ms(50);
	}
	found(UNTRUE, "freeblock is not the scheduler of %s again: %s", sh->disk, strerror(-error));
	return error;
}

/* Where the clock is real, completions are late at times, and the model is distrusted */
void trust(void)
{
	char word[96];

	get(fb_file("state/scheduling"), word, sizeof(word));
	if (strncmp(word, "completions do not fit", 22))
		return;
	put_scheduler("none");
	schedule();
}

/* Load a compiled model */
int model_put(const char *path)
{
	static char table[1 << 16];
	int from = open(path, O_RDONLY), to = open(fb_file("model"), O_WRONLY);
	ssize_t n = from < 0 ? -1 : read(from, table, sizeof(table)), at, done;
	int error = n <= 0 ? -ENOENT : to < 0 ? -errno : 0;

	for (at = 0; !error && at < n; at += done) {
		done = write(to, table + at, n - at);
		if (done < 0)
			error = -errno;
	}
	close(from);
	close(to);
	return error;
}

static int do_switch(struct event *e)
{
	static const char * const others[] = { "none", "mq-deadline", "bfq", "kyber" };
	const char *other = others[below(e->rng, 4)];
	int error = put_scheduler(other);
	char word[96];

	if (error)
		return refused(e, "%s: %s", other, strerror(-error));
	if (!is_scheduler(other))
		return refused(e, "%s: it has not become the scheduler", other);
	get(fb_file("state/scheduling"), word, sizeof(word));
	if (strcmp(word, "another scheduler"))
		found(UNTRUE, "with %s, scheduling is '%s'", other, word);
	rest_ms(below(e->rng, 200));
	error = schedule();
	return error ? refused(e, "back from %s: %s", other, strerror(-error)) : 0;
}

static int do_nr_requests(struct event *e)
{
	char text[16];
	int n = 4 + below(e->rng, 120), error;

	snprintf(text, sizeof(text), "%d", n);
	error = put(queue_file("queue/nr_requests"), text);
	if (error)
		return refused(e, "%d: %s", n, strerror(-error));
	return number_in(queue_file("queue/nr_requests")) == n ? 0 : refused(e, "it is not %d", n);
}

/* A write to wbt_lat_usec freezes and quiesces the queue */
static int do_freeze(struct event *e)
{
	char text[16];
	int i, error = 0;

	for (i = 0; i < 3 && !error; i++) {
		snprintf(text, sizeof(text), "%llu", (u64)50000 + below(e->rng, 50) * 1000);
		error = put(queue_file("queue/wbt_lat_usec"), text);
		if (!error && !is_word(queue_file("queue/wbt_lat_usec"), text))
			return refused(e, "it is not %s", text);
		rest_ms(below(e->rng, 100));
	}
	return error ? refused(e, "wbt_lat_usec: %s", strerror(-error)) : 0;
}

/* The same beside tasks; without any, another one that fits, or not, and the right one again */
static int do_model(struct event *e)
{
	static const char * const others[] = { "swift", "skewed" };
	char path[64];
	int error;

	if (model_put("/tmp/model-right"))
		found(UNTRUE, "the right model is refused beside tasks");
	tasks_kill();
	jobs_stop();
	snprintf(path, sizeof(path), "/tmp/model-%s", others[below(e->rng, 2)]);
	error = model_put(path);
	if (!error) {
		tasks_start();
		rest_ms(200 + below(e->rng, 500));
		tasks_kill();
	}
	if (model_put("/tmp/model-right"))
		found(UNTRUE, "the right model is refused");
	tasks_start();
	return error ? refused(e, "%s: %s", path, strerror(-error)) : 0;
}

/* ---- the disk's end and return ---- */

static bool all_closed(const void *arg)
{
	(void)arg;
	return !atomic_load(&sh->open);
}

static bool named(const void *arg)
{
	char buf[256], *at;

	(void)arg;
	get(drive_file("status"), buf, sizeof(buf));
	at = strstr(buf, "on sd");
	if (!at)
		return false;
	if (sscanf(at + 3, "%31[a-z]", sh->disk) != 1)
		return false;
	return exists(queue_file("queue/scheduler"));
}

static bool has_node(const void *arg)
{
	char path[64];

	(void)arg;
	snprintf(path, sizeof(path), "/dev/%s", sh->disk);
	return exists(path) && exists(fb_file("state/attached"));
}

/* The host's number, from the device's address H:C:T:L */
static int host_of(void)
{
	char path[256], *at;
	ssize_t n = readlink(queue_file("device"), path, sizeof(path) - 1);

	if (n <= 0)
		return -1;
	path[n] = '\0';
	at = strrchr(path, '/');
	return at ? atoi(at + 1) : -1;
}

/* A disk that takes the name away meanwhile, or gives it back */
static int set_filler(const char *power)
{
	return put("/sys/kernel/mechdisk/filler/power", power);
}

static int come_back(struct event *e, int host, const char *before, bool other, bool filled)
{
	char path[96];
	int error;

	snprintf(path, sizeof(path), "/sys/class/scsi_host/host%d/scan", host);
	error = put(path, "- - -");
	if (error || !wait_until(30, named, NULL)) {
		found(UNTRUE, "the disk does not come back: %s", strerror(-error));
		say("end lost");
		_exit(4);
	}
	if (filled)
		set_filler("0");
	error = schedule();
	wait_until(30, has_node, NULL);
	if (error)
		return refused(e, "scheduler of %s: %s", sh->disk, strerror(-error));
	if (other == !strcmp(before, sh->disk))
		return refused(e, "it came back as %s", sh->disk);
	return 0;
}

/* Deleted under load and found again: what is in flight may fail, and only that */
static int delete_and_back(struct event *e, bool other)
{
	char before[32];
	int host = host_of(), ret;
	bool filled;

	strcpy(before, sh->disk);
	if (host < 0)
		return refused(e, "no host of %s", sh->disk);
	atomic_store(&sh->gone, 1);
	if (put(queue_file("device/delete"), "1")) {
		atomic_store(&sh->gone, 0);
		return refused(e, "delete: %s", strerror(errno));
	}
	if (exists(queue_file("queue/scheduler")))
		found(UNTRUE, "%s is deleted and still there", before);
	if (!wait_until(90, all_closed, NULL))
		found(HANG, "requests to a deleted disk do not end");
	rest_ms(100 + below(e->rng, 400));
	/* It comes back under the first name that is free */
	filled = other == !strcmp(before, "sda");
	if (filled)
		set_filler("1");
	ret = come_back(e, host, before, other, filled);
	atomic_fetch_add(&sh->gen, 1);
	atomic_store(&sh->gone, 0);
	return ret;
}

static int do_delete(struct event *e)
{
	return delete_and_back(e, false);
}

static int do_rename(struct event *e)
{
	return delete_and_back(e, true);
}

/* ---- tasks ---- */

static int do_kill(struct event *e)
{
	unsigned int i = below(e->rng, TASKS);
	u64 begun = atomic_load(&sh->task[i].begun);

	if (task_kill_one(i))
		return refused(e, "no process");
	return tasks_wait_begun(i, begun) ? refused(e, "no new task") : 0;
}

static int do_close(struct event *e)
{
	return task_close_one(below(e->rng, TASKS)) ? refused(e, "no task was open") : 0;
}

static int command_task(const char *command, long id)
{
	char text[48];

	snprintf(text, sizeof(text), "%s %ld", command, id);
	return put(fb_file("tasks"), text);
}

/* Which process has the task is not known: either may hear of it */
static int do_task_stop(struct event *e)
{
	u64 before = atomic_load(&sh->task[0].stopped) + atomic_load(&sh->task[1].stopped);
	u64 end = now_ns() + 20 * NSEC;
	long id = task_id(e->rng);
	int i, error;

	if (id < 0)
		return refused(e, "no task runs");
	for (i = 0; i < TASKS; i++)
		atomic_store(&sh->task[i].may_stop, 1);
	error = command_task("stop", id);
	while (!error && now_ns() < end &&
	       atomic_load(&sh->task[0].stopped) + atomic_load(&sh->task[1].stopped) == before)
		rest_ms(20);
	/* what nobody has heard of may still come */
	if (!error && now_ns() >= end)
		return refused(e, "task %ld has not said so", id);
	for (i = 0; i < TASKS; i++)
		atomic_store(&sh->task[i].may_stop, 0);
	return error ? refused(e, "stop %ld: %s", id, strerror(-error)) : 0;
}

static int do_task_pause(struct event *e)
{
	long id = task_id(e->rng);
	int error;

	if (id < 0)
		return refused(e, "no task runs");
	error = command_task("pause", id);
	if (error)
		return refused(e, "pause %ld: %s", id, strerror(-error));
	rest_ms(below(e->rng, 400));
	error = command_task("resume", id);
	return error ? refused(e, "resume %ld: %s", id, strerror(-error)) : 0;
}

static int do_jobs(struct event *e)
{
	bool ran = is_word(fb_file("scan"), "running");

	jobs_stop();
	if (ran && !is_word(fb_file("scan"), "stopped") && !is_word(fb_file("scan"), "finished"))
		found(UNTRUE, "a scan that was stopped does not say so");
	jobs_start(e->rng);
	return is_word(fb_file("scan"), "running") || is_word(fb_file("scan"), "finished") ? 0 :
		refused(e, "no scan");
}

/* ---- modules ---- */

static int do_rmmod_in_use(struct event *e)
{
	int error = module_remove("freeblock");

	if (error == -EAGAIN || error == -EBUSY)
		return 0;
	found(UNTRUE, "rmmod in use: %s", strerror(-error));
	return refused(e, "%s", strerror(-error));
}

static bool is_removed(const void *arg)
{
	(void)arg;
	return !module_remove("freeblock");
}

/* Scan and scrub run on until the module is gone */
static int do_reload(struct event *e)
{
	int error;

	tasks_kill();
	error = put_scheduler("none");
	if (error)
		return refused(e, "none: %s", strerror(-error));
	if (!wait_until(20, is_removed, NULL)) {
		found(LEAK, "freeblock cannot be removed, and nobody uses it");
		return refused(e, "rmmod");
	}
	rest_ms(below(e->rng, 100));
	error = module_insert("/lab/modules/freeblock.ko");
	if (error)
		return refused(e, "insmod: %s", strerror(-error));
	error = schedule();
	if (!error)
		error = model_put("/tmp/model-right");
	/* defaults again */
	schedule();
	tasks_start();
	jobs_start(e->rng);
	return error ? refused(e, "after insmod: %s", strerror(-error)) : 0;
}

/* ---- all of them ---- */

const struct kind kinds[] = {
	{ "scheduler switch", do_switch, NULL, 8, NO_FAULTS },
	{ "nr_requests", do_nr_requests, NULL, 5, 0 },
	{ "queue freeze", do_freeze, NULL, 5, 0 },
	{ "cpu off and on", do_cpu, NULL, 6, NEEDS_CPUS },
	{ "delete, same name", do_delete, NULL, 4, NO_ARMS },
	{ "delete, another name", do_rename, NULL, 4, NO_ARMS },
	{ "lun reset", do_lun_reset, NULL, 4, 0 },
	{ "bus reset", do_bus_reset, NULL, 4, 0 },
	{ "host reset", do_host_reset, NULL, 2, 0 },
	{ "hung command", begin_hang, settle_hang, 4, ARMED },
	{ "medium error", begin_medium, settle_medium, 8, ARMED },
	{ "hardware error", begin_hw_error, settle_injected, 5, ARMED },
	{ "unit attention", begin_attention, settle_injected, 5, ARMED },
	{ "busy", begin_busy, settle_injected, 5, ARMED },
	{ "memory fails", begin_memory, settle_memory, 6, ARMED | NEEDS_FAULTS },
	{ "throttle", begin_throttle, settle_throttle, 3, ARMED | NEEDS_CGROUP },
	{ "model swap", do_model, NULL, 3, NO_ARMS },
	{ "task kill -9", do_kill, NULL, 6, 0 },
	{ "task close", do_close, NULL, 6, 0 },
	{ "task stop", do_task_stop, NULL, 4, 0 },
	{ "task pause", do_task_pause, NULL, 4, 0 },
	{ "scan, scrub anew", do_jobs, NULL, 4, 0 },
	{ "rmmod in use", do_rmmod_in_use, NULL, 3, 0 },
	{ "rmmod and insmod", do_reload, NULL, 3, NO_ARMS },
	{ "suspend", do_suspend, NULL, 4, NO_ARMS | NEEDS_SUSPEND },
};

const unsigned int nr_kinds = ARRAY_SIZE(kinds);
