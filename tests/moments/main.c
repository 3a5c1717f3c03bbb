// SPDX-License-Identifier: GPL-2.0
/*
 * The course of a guest: foreground and tasks begin, then steps of an event each and at times of
 * mishaps that are armed beside it, then everything ends, and is judged once more.
 *
 *	moments run DISK SEED EVENTS FIRST CAPABILITIES [ONLY]
 *
 * CAPABILITIES: words of needs[]. ONLY: names of kinds, divided by commas. Lines to the host, each
 * after "mo ":
 *
 *	begin N KIND
 *	event N KIND|happened|, or N KIND|refused|REASON
 *	found hang|leak|wrong|error|untrue WORDS
 *	total KEY VALUE ...
 *	end ok
 */
#include <signal.h>

#include "moments.h"

#define SHARED "/dev/shm/moments"
/* Guest's seconds in which an event must be over, and the foreground move on after it */
#define EVENT_S 240
#define MOVES_S 90
/* By so many requests */
#define MOVES 12
#define ARMS 2

static u64 rng;
static char only[512];

static const struct {
	const char *name;
	unsigned int flag;
} needs[] = {
	{ "cpus", NEEDS_CPUS }, { "faults", NEEDS_FAULTS }, { "suspend", NEEDS_SUSPEND },
	{ "cgroup", NEEDS_CGROUP },
};

static unsigned int need_flags(void)
{
	unsigned int i, flags = 0;

	for (i = 0; i < ARRAY_SIZE(needs); i++)
		flags |= needs[i].flag;
	return flags;
}

static bool is_wanted(const struct kind *k)
{
	size_t len = strlen(k->name);
	const char *at = only;

	if (k->flags & need_flags() & ~features)
		return false;
	if (!*only)
		return true;
	while ((at = strstr(at, k->name))) {
		if ((at == only || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
		at += len;
	}
	return false;
}

/*
 * No switch while memory fails: up to 6.1 the kernel keeps a reference to the scheduler's module
 * for good if it lacks memory for a queue's tags or for what elevator_alloc() returns.
 */
static bool may_be_beside(const struct kind *k, const struct kind *other)
{
	return k != other &&
	       !(k->flags & NEEDS_FAULTS && other && other->flags & NO_FAULTS);
}

/* By weight; of the armed ones only, or not those that cannot be beside what @taken has */
static const struct kind *pick(bool armed, const struct kind **taken)
{
	unsigned int i, j, sum = 0, weight[64] = { 0 };

	for (i = 0; i < nr_kinds; i++) {
		if (!is_wanted(&kinds[i]) || (armed && !(kinds[i].flags & ARMED)))
			continue;
		weight[i] = kinds[i].weight;
		for (j = 0; taken && j < ARMS + 1; j++)
			if (!may_be_beside(&kinds[i], taken[j]))
				weight[i] = 0;
		sum += weight[i];
	}
	if (!sum)
		return NULL;
	j = below(&rng, sum);
	for (i = 0; j >= weight[i]; i++)
		j -= weight[i];
	return &kinds[i];
}

static void on_alarm(int sig)
{
	static const char said[] = "mo found hang an event does not end\nmo end hang\n";

	(void)sig;
	(void)!write(STDOUT_FILENO, said, sizeof(said) - 1);
	put("/proc/sysrq-trigger", "w");
	_exit(3);
}

static int begin_one(struct event *e, const struct kind *k, int number)
{
	say("begin %d %s", number, k->name);
	*e = (struct event) { .rng = &rng };
	alarm(EVENT_S);
	return k->begin(e);
}

static void end(const struct event *e, const struct kind *k, int number, int failed)
{
	alarm(0);
	say("event %d %s|%s|%s", number, k->name, failed ? "refused" : "happened",
	    failed ? e->why : "");
}

/* All is as before: scheduler, tasks, and the foreground moves on */
static void calm(void)
{
	u64 from = front_count();

	alarm(EVENT_S);
	settle_scheduler();
	trust();
	tasks_start();
	jobs_check(&rng);
	if (!front_progress(from, MOVES, MOVES_S)) {
		found(HANG, "the foreground stands still");
		put("/proc/sysrq-trigger", "w");
		say("end hang");
		_exit(3);
	}
	alarm(0);
}

/* An event, and at times what is armed beside it. How many events they were */
static int step(int number, int most)
{
	const struct kind *taken[ARMS + 1] = { pick(false, NULL) };
	struct event events[ARMS + 1];
	int failed[ARMS + 1], n = 1, i;

	if (!(taken[0]->flags & NO_ARMS) && below(&rng, 2))
		for (i = 1 + below(&rng, ARMS); i && n < most; i--) {
			taken[n] = pick(true, taken);
			if (!taken[n])
				break;
			n++;
		}
	for (i = n - 1; i >= 0; i--)
		failed[i] = begin_one(&events[i], taken[i], number + i);
	for (i = 0; i < n; i++) {
		alarm(EVENT_S);
		if (!failed[i] && taken[i]->settle)
			failed[i] = taken[i]->settle(&events[i]);
		end(&events[i], taken[i], number + i, failed[i]);
	}
	calm();
	return n;
}

static void totals(void)
{
	u64 begun = 0, finished = 0, closed = 0, stopped = 0, blocks = 0;
	u64 longest = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		if (i != WRITERS + 1 && sh->longest_ms[i] > longest)
			longest = sh->longest_ms[i];
	say("total longest_ms %llu longest_idle_ms %llu", longest, sh->longest_ms[WRITERS + 1]);
	for (i = 0; i < TASKS; i++) {
		begun += sh->task[i].begun;
		finished += sh->task[i].finished;
		closed += sh->task[i].closed;
		stopped += sh->task[i].stopped;
		blocks += sh->task[i].blocks;
	}
	say("total reads %llu writes %llu bytes_checked %llu", sh->reads, sh->writes, sh->checked);
	say("total own_medium %llu own_gone %llu own_memory %llu", sh->own_medium, sh->own_gone,
	    sh->own_memory);
	say("total tasks %llu finished %llu closed %llu stopped %llu task_blocks %llu", begun,
	    finished, closed, stopped, blocks);
	say("total wrong %llu errors %llu hangs %llu leaks %llu untrue %llu", sh->count[WRONG],
	    sh->count[ERROR], sh->count[HANG], sh->count[LEAK], sh->count[UNTRUE]);
}

static bool no_tasks(const void *arg)
{
	(void)arg;
	return !number_in(fb_file("tasks"));
}

/* Tasks may finish where completions are in time, else their reads may take for ever */
static void finish(void)
{
	bool in_time = !(features & NEEDS_CPUS);

	front_stop();
	tasks_end(in_time);
	jobs_stop();
	front_check_all();
	if (!wait_until(30, no_tasks, NULL))
		found(LEAK, "%lld tasks are left", number_in(fb_file("tasks")));
	totals();
	say("end ok");
}

static int run(int argc, char **argv)
{
	char path[64], limit[16];
	unsigned int i;
	int events, n;

	if (argc < 7)
		return 2;
	n = atoi(argv[5]);
	events = n + atoi(argv[4]);
	for (i = 0; i < ARRAY_SIZE(needs); i++)
		if (strstr(argv[6], needs[i].name))
			features |= needs[i].flag;
	if (argc > 7)
		snprintf(only, sizeof(only), "%s", argv[7]);
	if (!pick(false, NULL)) {
		say("no such event here: %s", only);
		return 2;
	}
	rng = strtoull(argv[3], NULL, 10);
	snprintf(path, sizeof(path), "/sys/block/%s/size", argv[2]);
	front_map(SHARED, number_in(path), rng);
	strcpy(sh->disk, argv[2]);
	atomic_store(&sh->real, !!(features & NEEDS_CPUS));
	signal(SIGALRM, on_alarm);
	/* Whoever waits for a command that hangs is not hung itself */
	snprintf(limit, sizeof(limit), "%d", HANDLED_S);
	put("/proc/sys/kernel/hung_task_timeout_secs", limit);
	if (schedule())
		return 2;
	front_start();
	tasks_start();
	jobs_start(&rng);
	while (n < events)
		n += step(n, events - n);
	finish();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "reader"))
		return behind_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "run"))
		return run(argc, argv);
	fprintf(stderr, "usage: moments run DISK SEED EVENTS FIRST CAPABILITIES [ONLY]\n");
	return 2;
}
