// SPDX-License-Identifier: GPL-2.0
/* Which cached writes are on the medium, by a map of the drive; see core/writeback.h. Core. */
#include "core/writeback.h"

/* a part of a turn: in whatever order, a command ends at the same angle, but turns later */
#define FB_WRITEBACK_TOLERANCE 4

/* The end of a job */
struct fb_writeback_end {
	struct dm_place at;		/* where the head is then */
	u64 reach_ns;			/* when it has reached the first sector */
	u64 ns;
};

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
	w->ends = false;
	if (fb_writeback_joins(w, lbn))
		w->write[w->n - 1].nsect += nsect;
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
 * Which write comes next, the one that is reached first, and leaves? @end: in: of the job before
 * it; out: of this one. @then: NULL, or a command that comes behind it and ends by @by_ns. False:
 * there is none.
 */
static bool fb_writeback_next(struct fb_writeback_job *write, u32 *n, const struct fb_head *head,
			      const struct fb_writeback_job *then, u64 by_ns,
			      struct fb_writeback_end *end, struct fb_writeback_job *out)
{
	struct fb_writeback_end before = *end, it, last;
	u32 found = *n, i;

	for (i = 0; i < *n; i++) {
		if (!fb_writeback_end(head, &before, &write[i], &it) ||
		    (found < *n && it.reach_ns >= end->reach_ns))
			continue;
		if (then && (!fb_writeback_end(head, &it, then, &last) || last.ns > by_ns))
			continue;
		found = i;
		*end = it;
	}
	if (found == *n)
		return false;
	*out = write[found];
	write[found] = write[--*n];
	return true;
}

void fb_writeback_ended(struct fb_writeback *w, const struct fb_head *head,
			const struct fb_completion_cmd *c)
{
	const struct fb_writeback_job job = { c->lbn, c->nsect, c->write, c->sent_ns };
	u64 by_ns = head->at_ns + dm_period_ns(head->dm) / FB_WRITEBACK_TOLERANCE;
	struct fb_writeback_end end = { .at = w->at, .ns = w->at_ns };
	struct fb_writeback_job done;

	if (c->failed || !head->known || !fb_head_locked(head, head->at_ns)) {
		fb_writeback_lose(w);
		return;
	}
	/* else the cache has served it */
	if (head->at_ns <= w->at_ns)
		return;
	while (w->placed && fb_writeback_next(w->write, &w->n, head, &job, by_ns, &end, &done))
		;
	w->placed = true;
	w->at = head->at;
	w->at_ns = head->at_ns;
	w->ends = false;
}

void fb_writeback_find(struct fb_writeback *w, const struct fb_head *head, u64 now)
{
	struct fb_writeback_end end = { .at = w->at, .ns = w->at_ns };
	struct fb_writeback_job left[FB_WRITEBACK_MOST], last = { 0 };
	u32 n = w->n;

	w->ends = false;
	if (!w->placed || w->lost || !fb_head_locked(head, now))
		return;
	memcpy(left, w->write, sizeof(left));
	while (fb_writeback_next(left, &n, head, NULL, 0, &end, &last))
		;
	w->ends = !n;
	w->due_ns = end.ns - fb_completion_overhead_ns(head->dm, false);
	w->end_lbn = last.lbn + last.nsect;
}
