// SPDX-License-Identifier: GPL-2.0
/* Which cached writes are on the medium, by a map of the drive; see core/writeback.h. Core. */
#include "core/writeback.h"

/* a part of a turn: in whatever order, a command ends at the same angle, but turns later */
#define FB_WRITEBACK_TOLERANCE 4

void fb_writeback_lose(struct fb_writeback *w)
{
	w->placed = false;
	w->lost |= w->n;
	w->ends = false;
}

void fb_writeback_clean(struct fb_writeback *w)
{
	w->n = 0;
	w->lost = false;
}

static bool fb_writeback_joins(const struct fb_writeback *w, u64 lbn)
{
	const struct fb_writeback_job *last = &w->write[max(w->n, 1U) - 1];

	return w->n && last->lbn + last->nsect == lbn;
}

void fb_writeback_sent(struct fb_writeback *w, u64 now, u64 lbn, u32 nsect)
{
	bool joins = fb_writeback_joins(w, lbn);
	u64 all = joins ? (u64)w->write[w->n - 1].nsect + nsect : nsect;

	w->ends = false;
	/* a stream: when it ends would take long to find, under the host's lock */
	if (all > FB_WRITEBACK_SECTORS)
		w->lost = true;
	else if (joins)
		w->write[w->n - 1].nsect = all;
	else if (w->n < FB_WRITEBACK_MOST)
		w->write[w->n++] = (struct fb_writeback_job) { lbn, nsect, true, now };
	else
		w->lost = true;
}

/* when and where a job ends that comes next; false: it is not mapped */
static bool fb_writeback_end(const struct fb_head *head, const struct fb_writeback_end *before,
			     const struct fb_writeback_job *job, struct fb_writeback_end *end)
{
	u64 ready_ns = job->sent_ns + fb_completion_overhead_ns(head->dm, job->write);
	u64 start_ns = max(before->ns, ready_ns);
	struct dm_place from = before->at;
	struct dm_access acc;

	from.angle = fb_head_angle(head, start_ns);
	if (dm_access(head->dm, &from, job->lbn, job->nsect, job->write, &acc))
		return false;
	end->at = acc.end;
	end->reach_ns = start_ns + acc.seek_ns + acc.latency_ns;
	end->ns = start_ns + acc.total_ns;
	return true;
}

/*
 * Which of the writes that are @left, a bit each, comes next: the one that is reached first? @end:
 * in: of the job before it; out: of this one. @then: NULL, or a command that comes behind it and
 * ends by @by_ns. Return: its number; FB_WRITEBACK_MOST: there is none.
 */
static u32 fb_writeback_next(struct fb_writeback *w, u32 left, const struct fb_head *head,
			     const struct fb_writeback_job *then, u64 by_ns,
			     struct fb_writeback_end *end)
{
	struct fb_writeback_end before = *end, *it = &w->it, *last = &w->last;
	u32 found = FB_WRITEBACK_MOST, i;

	for (i = 0; i < w->n; i++) {
		if (!(left >> i & 1) || !fb_writeback_end(head, &before, &w->write[i], it) ||
		    (found < FB_WRITEBACK_MOST && it->reach_ns >= end->reach_ns))
			continue;
		if (then && (!fb_writeback_end(head, it, then, last) || last->ns > by_ns))
			continue;
		found = i;
		*end = *it;
	}
	return found;
}

void fb_writeback_ended(struct fb_writeback *w, const struct fb_head *head,
			const struct fb_completion_cmd *c)
{
	const struct fb_writeback_job job = { c->lbn, c->nsect, c->write, c->sent_ns };
	u64 by_ns = head->at_ns + dm_period_ns(head->dm) / FB_WRITEBACK_TOLERANCE;
	struct fb_writeback_end end = { .at = w->at, .ns = w->at_ns };
	u32 done;

	if (c->failed || !head->known || !fb_head_locked(head, head->at_ns)) {
		fb_writeback_lose(w);
		return;
	}
	if (head->at_ns <= w->at_ns) {
		/* the cache has served a read; of others it is not known when they were done */
		if (c->write || c->unplaced)
			fb_writeback_lose(w);
		return;
	}
	while (w->placed && !w->lost) {
		done = fb_writeback_next(w, (1U << w->n) - 1, head, &job, by_ns, &end);
		if (done == FB_WRITEBACK_MOST)
			break;
		w->write[done] = w->write[--w->n];
	}
	w->placed = true;
	w->at = head->at;
	w->at_ns = head->at_ns;
	w->ends = false;
}

void fb_writeback_find(struct fb_writeback *w, const struct fb_head *head, u64 now)
{
	struct fb_writeback_end end = { .at = w->at, .ns = w->at_ns };
	u32 left = (1U << w->n) - 1, next;

	w->ends = false;
	w->end_lbn = 0;
	if (!w->placed || w->lost || !fb_head_locked(head, now))
		return;
	while (left) {
		next = fb_writeback_next(w, left, head, NULL, 0, &end);
		if (next == FB_WRITEBACK_MOST)
			return;
		left &= ~(1U << next);
		w->end_lbn = w->write[next].lbn + w->write[next].nsect;
	}
	w->ends = true;
	w->due_ns = end.ns - fb_completion_overhead_ns(head->dm, false);
}
