// SPDX-License-Identifier: GPL-2.0
/* What is behind the foreground, from the side of the events: processes, scan and scrub. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "moments.h"

/* In which a killed or ended process is gone, and a job stopped: either may wait for a command */
#define GONE_S HANDLED_S
#define SHARED "/dev/shm/moments"

static u64 spawned;

/* ---- processes ---- */

static void spawn(unsigned int i)
{
	char index[16], seed[32];
	char name[] = "moments", what[] = "reader", shared[] = SHARED, *envp[] = { NULL };
	char *argv[6] = { name, what, shared, index, seed };
	pid_t pid = 0;
	int tries = 0;

	snprintf(index, sizeof(index), "%u", i);
	snprintf(seed, sizeof(seed), "%llu", sh->seed * 1000 + ++spawned);
	atomic_store(&sh->task[i].may_stop, 0);
	atomic_store(&sh->task[i].last, 0);
	/* memory may be made to fail */
	while (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, envp)) {
		if (++tries == 500) {
			found(ERROR, "no process for a task");
			return;
		}
		rest_ms(10);
	}
	atomic_store(&sh->task[i].pid, pid);
}

static bool is_gone(const void *arg)
{
	const struct task_words *w = arg;
	int pid = atomic_load(&w->pid);

	return !pid || waitpid(pid, NULL, WNOHANG) == pid;
}

static void await(unsigned int i, const char *what)
{
	struct task_words *w = &sh->task[i];

	if (!wait_until(GONE_S, is_gone, w)) {
		found(HANG, "the process of task %u is still there %d s after %s", i, GONE_S, what);
		put("/proc/sysrq-trigger", "w");
	}
	atomic_store(&w->pid, 0);
}

void tasks_start(void)
{
	unsigned int i;

	for (i = 0; i < TASKS; i++)
		if (!atomic_load(&sh->task[i].pid))
			spawn(i);
}

void tasks_kill(void)
{
	unsigned int i;

	for (i = 0; i < TASKS; i++) {
		int pid = atomic_load(&sh->task[i].pid);

		if (pid)
			kill(pid, SIGKILL);
	}
	for (i = 0; i < TASKS; i++)
		await(i, "SIGKILL");
}

int task_kill_one(unsigned int i)
{
	int pid = atomic_load(&sh->task[i].pid);

	if (!pid)
		return -1;
	kill(pid, SIGKILL);
	await(i, "SIGKILL");
	spawn(i);
	return 0;
}

struct more {
	const atomic_ullong *counter;
	u64 than;
};

static bool is_more(const void *arg)
{
	const struct more *m = arg;

	return atomic_load(m->counter) > m->than;
}

int task_close_one(unsigned int i)
{
	struct task_words *w = &sh->task[i];
	struct more m = { &w->closed, atomic_load(&w->closed) };
	int pid = atomic_load(&w->pid);

	if (!pid || kill(pid, SIGTERM))
		return -1;
	return wait_until(GONE_S, is_more, &m) ? 0 : -1;
}

int tasks_wait_begun(unsigned int i, u64 than)
{
	struct more m = { &sh->task[i].begun, than };

	return wait_until(10, is_more, &m) ? 0 : -1;
}

/* At the end: those that run may finish, if there is time, and must then have got all */
void tasks_end(bool finish)
{
	unsigned int i;

	for (i = 0; i < TASKS; i++)
		atomic_store(&sh->task[i].last, 1);
	for (i = 0; i < TASKS; i++) {
		struct task_words *w = &sh->task[i];

		if (!atomic_load(&w->pid))
			continue;
		if (wait_until(finish ? 300 : 5, is_gone, w))
			atomic_store(&w->pid, 0);
		else if (finish)
			found(UNTRUE, "task %u does not end though nothing happens any more", i);
	}
	tasks_kill();
}

/* A task of ours: the number that commands take; those of scan and scrub have their names */
long task_id(u64 *rng)
{
	char path[96], buf[2048], *line, *save = NULL;
	long ids[8], n = 0;

	snprintf(path, sizeof(path), "/sys/kernel/debug/freeblock/%s/tasks", sh->disk);
	get(path, buf, sizeof(buf));
	for (line = strtok_r(buf, "\n", &save); line && n < 8; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, " moments running"))
			ids[n++] = strtol(line, NULL, 10);
	return n ? ids[below(rng, n)] : -1;
}

/* ---- scan and scrub ---- */

static const char * const jobs[] = { "scan", "scrub" };
static bool stopping[ARRAY_SIZE(jobs)];

static long long job_value(const char *job, const char *key)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_stats/%s", job, key);
	return number_in(fb_file(name));
}

static void start_job(unsigned int i, u64 *rng)
{
	static const char * const orders[] = { "near", "sequential", "staggered=8" };
	char text[96];
	u64 first = below(rng, sh->sectors / 2 / 64) * 64;

	snprintf(text, sizeof(text), "start %llu %llu %s", first,
		 64 * (20 + below(rng, sh->sectors / 2 / 64 - 20)), orders[below(rng, 3)]);
	if (!put(fb_file(jobs[i]), text))
		stopping[i] = false;
}

void jobs_start(u64 *rng)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		start_job(i, rng);
}

static bool is_over(const void *job)
{
	return !is_word(fb_file(job), "running") && !is_word(fb_file(job), "stopping");
}

void jobs_stop(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		put(fb_file(jobs[i]), "stop");
		stopping[i] = true;
	}
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		if (!wait_until(GONE_S, is_over, jobs[i]))
			found(HANG, "%s does not stop", jobs[i]);
}

/* Each runs, or ended with all blocks; then it begins anew */
void jobs_check(u64 *rng)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		long long total, done;
		char word[32];

		get(fb_file(jobs[i]), word, sizeof(word));
		if (!strcmp(word, "running") || !strcmp(word, "paused"))
			continue;
		total = job_value(jobs[i], "blocks_total");
		done = job_value(jobs[i], "blocks_delivered");
		if (!strcmp(word, "finished") && total != done)
			found(UNTRUE, "%s is finished with %lld of %lld blocks", jobs[i],
			      done, total);
		else if (strcmp(word, "finished") && strcmp(word, "idle") && !stopping[i])
			found(UNTRUE, "%s is %s, and nobody stopped it", jobs[i], word);
		start_job(i, rng);
	}
}
