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

/* the last write if one at @lbn joins it, or NULL */
static struct fb_writeback_job *fb_writeback_joined(struct fb_writeback *w, u64 lbn)
{
	struct fb_writeback_job *last = &w->write[max(w->n, 1U) - 1];

	return w->n && last->lbn + last->nsect == lbn ? last : NULL;
}

void fb_writeback_sent(struct fb_writeback *w, u64 now, u64 lbn, u32 nsect)
{
	struct fb_writeback_job *last = fb_writeback_joined(w, lbn);
	u64 all = last ? (u64)last->nsect + nsect : nsect;

	w->ends = false;
	if (last)
		last->placed = false;
	/* a stream: when it ends would take long to find, under the host's lock */
	if (all > FB_WRITEBACK_SECTORS)
		w->lost = true;
	else if (last)
		last->nsect = all;
	else if (w->n < FB_WRITEBACK_MOST)
		w->write[w->n++] = (struct fb_writeback_job) {
			.lbn = lbn, .nsect = nsect, .write = true, .sent_ns = now
		};
	else
		w->lost = true;
}

/* where the head was when the last command had ended */
static struct fb_writeback_end fb_writeback_begin(const struct fb_writeback *w,
						  const struct fb_head *head)
{
	struct fb_writeback_end end = { .at = w->at, .ns = w->at_ns };

	end.at.angle = fb_head_angle(head, w->at_ns);
	return end;
}

/* where a job begins, which tells nearly as well as a prediction of all of it when it is reached */
static void fb_writeback_place(const struct disk_model *dm, struct fb_writeback_job *job)
{
	const struct dm_info *info = dm_info(dm);

	if (job->placed)
		return;
	job->placed = !dm_place_of(dm, job->lbn, &job->first);
	job->span_ns = div_u64((u64)job->nsect * dm_period_ns(dm), info->spt_least);
}

/* when and from where the arm moves for a job that comes next */
static u64 fb_writeback_start_ns(const struct fb_head *head, const struct fb_writeback_end *before,
				 const struct fb_writeback_job *job, struct dm_place *from)
{
	u64 ready_ns = job->sent_ns + fb_completion_overhead_ns(head->dm, job->write);

	*from = before->at;
	if (ready_ns <= before->ns)
		return before->ns;
	from->angle = fb_head_angle(head, ready_ns);
	return ready_ns;
}

/* no sooner is a job reached that comes next */
static u64 fb_writeback_least_ns(const struct fb_head *head, const struct fb_writeback_end *before,
				 const struct fb_writeback_job *job)
{
	struct dm_place from;
	u64 start_ns = fb_writeback_start_ns(head, before, job, &from), seek_ns, latency_ns;

	dm_position(head->dm, &from, &job->first, job->write, &seek_ns, &latency_ns);
	/* a head that lands within it may begin there */
	if (latency_ns + job->span_ns >= dm_period_ns(head->dm))
		latency_ns = 0;
	return start_ns + seek_ns + latency_ns;
}

/* when and where a job ends that comes next; false: it is not mapped */
static bool fb_writeback_end(const struct fb_head *head, const struct fb_writeback_end *before,
			     const struct fb_writeback_job *job, struct fb_writeback_end *end)
{
	struct dm_place from;
	u64 start_ns = fb_writeback_start_ns(head, before, job, &from);
	struct dm_access acc;

	if (dm_access(head->dm, &from, job->lbn, job->nsect, job->write, &acc))
		return false;
	end->reach_ns = start_ns + acc.seek_ns + acc.latency_ns;
	end->ns = start_ns + acc.total_ns;
	end->at = acc.end;
	end->at.angle = fb_head_angle(head, end->ns);
	return true;
}

/* The same of each write that is @left. Not inline: its stack is not needed below. */
static noinline void fb_writeback_least_of(struct fb_writeback *w, u32 left,
					   const struct fb_head *head)
{
	u32 i;

	for (i = 0; i < w->n; i++) {
		if (!(left >> i & 1))
			continue;
		fb_writeback_place(head->dm, &w->write[i]);
		w->least_ns[i] = fb_writeback_least_ns(head, &w->before, &w->write[i]);
	}
}

/* the one of those that are @left that may be reached first, and before @most_ns */
static u32 fb_writeback_least(u32 left, const u64 *least_ns, u64 most_ns)
{
	u32 found = FB_WRITEBACK_MOST, i;

	for (i = 0; i < FB_WRITEBACK_MOST; i++) {
		if (!(left >> i & 1) || least_ns[i] >= most_ns)
			continue;
		found = i;
		most_ns = least_ns[i];
	}
	return found;
}

/*
 * Which of the writes that are @left, a bit each, comes next: the one that is reached first? @end:
 * in: of the job before it; out: of this one. @then: NULL, or a command that comes behind it; all
 * ends by @by_ns. Return: its number; FB_WRITEBACK_MOST: there is none.
 */
static u32 fb_writeback_next(struct fb_writeback *w, u32 left, const struct fb_head *head,
			     const struct fb_writeback_job *then, u64 by_ns,
			     struct fb_writeback_end *end)
{
	struct fb_writeback_end *it = &w->it, *last = &w->last;
	u32 found = FB_WRITEBACK_MOST, i;
	u64 most_ns = by_ns;

	w->before = *end;
	fb_writeback_least_of(w, left, head);
	while ((i = fb_writeback_least(left, w->least_ns, most_ns)) < FB_WRITEBACK_MOST) {
		left &= ~(1U << i);
		if (!fb_writeback_end(head, &w->before, &w->write[i], it) ||
		    it->reach_ns >= most_ns || it->ns > by_ns)
			continue;
		if (then && (!fb_writeback_end(head, it, then, last) || last->ns > by_ns))
			continue;
		found = i;
		*end = *it;
		most_ns = it->reach_ns;
	}
	return found;
}

void fb_writeback_ended(struct fb_writeback *w, const struct fb_head *head,
			const struct fb_completion_cmd *c)
{
	const struct fb_writeback_job job = {
		.lbn = c->lbn, .nsect = c->nsect, .write = c->write, .sent_ns = c->sent_ns
	};
	u64 by_ns = head->at_ns + dm_period_ns(head->dm) / FB_WRITEBACK_TOLERANCE;
	struct fb_writeback_end end;
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
	end = fb_writeback_begin(w, head);
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
	u32 left = (1U << w->n) - 1, next;
	struct fb_writeback_end end;

	w->ends = false;
	w->end_lbn = 0;
	if (!w->placed || w->lost || !fb_head_locked(head, now))
		return;
	end = fb_writeback_begin(w, head);
	while (left) {
		next = fb_writeback_next(w, left, head, NULL, U64_MAX, &end);
		if (next == FB_WRITEBACK_MOST)
			return;
		left &= ~(1U << next);
		w->end_lbn = w->write[next].lbn + w->write[next].nsect;
	}
	w->ends = true;
	w->due_ns = end.ns - fb_completion_overhead_ns(head->dm, false);
}
