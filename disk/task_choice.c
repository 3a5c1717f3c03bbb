// SPDX-License-Identifier: GPL-2.0
/*
 * Which of a disk's tasks gaps, idle time and a share of the foreground's time go to: by priority
 * and deadline, late ones first. All run in the thread and take no lock.
 */
#include "disk/disk.h"

/*
 * The length of a task's turn. A task that wants few blocks has about one turn in
 * FB_TASK_CHOICE_LEAST. So each of the most tasks has one within 10 s, the time over which rates
 * are measured.
 */
#define FB_TASK_CHOICE_TURN_NS (NSEC_PER_SEC * 2 / 5)
#define FB_TASK_CHOICE_LEAST 16

/* Must a task get no more for now? One may fill all buffers; each further one brings its own. */
bool fb_task_choice_is_stalled(const struct freeblock_task *task)
{
	return READ_ONCE(task->disk->cov->nactive) > 1 && READ_ONCE(task->held) >= FREEBLOCK_HELD;
}

/* Is a read for the task now? Of several tasks, a slow one does not hold up the others. */
bool fb_task_choice_may_take(const struct freeblock_task *task)
{
	return task->active && !task->behind && !fb_task_choice_is_stalled(task);
}

/* Does @a take precedence over @b? Late tasks do. No deadline, 0, wraps to the largest. */
static bool fb_task_choice_goes_first(const struct freeblock_task *a,
				      const struct freeblock_task *b)
{
	u64 a_ns = READ_ONCE(a->deadline_ns) - 1, b_ns = READ_ONCE(b->deadline_ns) - 1;
	bool a_probes = READ_ONCE(a->probe.number), b_probes = READ_ONCE(b->probe.number);
	s32 first = READ_ONCE(a->priority) - READ_ONCE(b->priority);

	if (a->late != b->late)
		return a->late;
	if (first)
		return first > 0;
	/* probes are few, and what comes between two of them may spoil both */
	if (a_probes != b_probes)
		return a_probes;
	return a_ns < b_ns;
}

static bool fb_task_choice_is_ready(const struct freeblock_task *task)
{
	return READ_ONCE(task->state) == FB_TASK_RUNNING &&
	       (READ_ONCE(task->probe.number) ||
		(task->wanted && task->map.n_wanted && !fb_task_choice_is_stalled(task) &&
		 !task->behind));
}

/* Choose the task that idle time goes to. Return: the task, or NULL. */
struct freeblock_task *fb_task_choice_idle(struct fb_coverage *cov)
{
	struct freeblock_task *first = NULL, *task;
	u32 i = 0;

	while ((task = fb_coverage_next_active(cov, &i)))
		if (fb_task_choice_is_ready(task) &&
		    (!first || fb_task_choice_goes_first(task, first)))
			first = task;
	return first;
}

/* May gaps be searched for the task's blocks? */
static bool fb_task_choice_wants(const struct freeblock_task *task)
{
	return fb_task_choice_may_take(task) && task->map.n_wanted;
}

/* Of the tasks that may take blocks the one that has waited longest, or NULL. */
static struct freeblock_task *fb_task_choice_waiting(const struct fb_coverage *cov)
{
	struct freeblock_task *most = NULL, *task;
	u32 i = 0;

	while ((task = fb_coverage_next_active(cov, &i)))
		if (fb_task_choice_wants(task) && (!most || task->passed > most->passed))
			most = task;
	return most;
}

/* The task whose turn begins: each has the more of them the more blocks it wants. */
static struct freeblock_task *fb_task_choice_next(struct fb_coverage *cov)
{
	struct freeblock_task *next, *task;
	u64 wanted = 0;
	u32 i = 0;

	while ((task = fb_coverage_next_active(cov, &i)))
		wanted += task->map.n_wanted;
	for (i = 0; (task = fb_coverage_next_active(cov, &i));)
		if (task->map.n_wanted)
			task->passed += task->map.n_wanted + wanted / FB_TASK_CHOICE_LEAST;
	next = fb_task_choice_waiting(cov);
	if (next)
		next->passed = 0;
	return next;
}

/* Whose map gaps are searched in. A turn outlives that its task may take none for a moment. */
static struct freeblock_task *fb_task_choice_gaps(struct fb_coverage *cov, u64 now)
{
	if (!cov->turn || !cov->turn->map.n_wanted || now >= cov->turn_ns) {
		cov->turn = fb_task_choice_next(cov);
		cov->turn_ns = now + FB_TASK_CHOICE_TURN_NS;
	}
	return cov->turn && fb_task_choice_wants(cov->turn) ? cov->turn :
							      fb_task_choice_waiting(cov);
}

/* Choose whose map gaps are searched in, and the late task that gets a share of the time. */
void fb_task_choice_map(struct fb_coverage *cov)
{
	struct freeblock_task *late = NULL, *task;
	u64 now = ktime_get_ns();
	u32 i = 0;

	cov->hurried = NULL;
	while ((task = fb_coverage_next_active(cov, &i))) {
		if (task->behind)
			continue;
		fb_deadline_measure(&task->pace, task->map.n_done, now);
		task->late = fb_deadline_is_late(&task->pace, task->map.n_wanted,
						 READ_ONCE(task->deadline_ns), now) &&
			     !fb_task_choice_is_stalled(task);
		if (!task->late)
			continue;
		if (!late || fb_task_choice_goes_first(task, late))
			late = task;
		if (READ_ONCE(task->foreground_ppm) &&
		    (!cov->hurried || fb_task_choice_goes_first(task, cov->hurried)))
			cov->hurried = task;
	}
	cov->chosen = late ?: fb_task_choice_gaps(cov, now);
}

/* Set the value of blocks for the next search. The weights are valid until the next call. */
void fb_task_choice_weigh(struct fb_coverage *cov, struct fb_limits *lim)
{
	struct freeblock_task *task = cov->chosen;
	u64 now = ktime_get_ns();

	if (!task->weighed) {
		fb_block_value_init(&task->worth, &task->map);
		task->weighed = true;
		task->balanced_ns = now;
	}
	if (now - task->balanced_ns >= FB_BLOCK_VALUE_BALANCE_NS) {
		fb_block_value_balance(&task->worth, &task->map);
		task->balanced_ns = now;
	}
	if (lim->odds)
		lim->miss_value = fb_block_value_miss(&task->worth, lim->odds->price);
	lim->weights = &task->worth.weights;
	lim->roots = &task->worth.roots;
}
