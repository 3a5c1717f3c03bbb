// SPDX-License-Identifier: GPL-2.0
/*
 * What others are told of the foreground's requests as they come and go. Locks: fb_disk.lock, held.
 */
#include "sched/sched.h"

/*
 * A foreground request has arrived. @fq: NULL: it bypasses schedulers; @bypass: or the pools. @now:
 * as for fb_pool_add(): the end is matched by it.
 */
void fb_inflight_arrived(struct fb_sched *sched, const struct fb_sched_rq *fq, bool bypass, u64 now)
{
	struct fb_fg_req req = { .arrived_ns = now };
	bool media = fq && fq->r.media;

	lockdep_assert_held(&sched->disk->lock);
	sched->disk->fg.active = true;
	if (media) {
		req.lbn = blk_rq_pos(fq->rq);
		req.nsect = blk_rq_sectors(fq->rq);
		req.write = op_is_write(req_op(fq->rq));
	}
	fb_late_arrive(sched->disk);
	fb_engine_arrived(&sched->engine, fq ? &fq->r : NULL, media ? &req : NULL,
			  !bypass && !sched->others.flying, now);
}

/* the bucket of fb_stats.fg_latency */
static u32 fb_inflight_bucket(u64 ns)
{
	u32 octave;

	ns = clamp(ns, BIT_ULL(FB_LATENCY_LOW),
		   BIT_ULL(FB_LATENCY_LOW + FB_LATENCY_BUCKETS / 4) - 1);
	octave = ilog2(ns);
	return 4 * (octave - FB_LATENCY_LOW) + (ns >> (octave - 2)) % 4;
}

/* what the foreground waits: the block layer's own counts have our reads in them, too */
static void fb_inflight_count(struct fb_stats *stats, const struct fb_sched_rq *fq, u64 now)
{
	const struct request *rq = fq->rq;
	u64 took_ns = now - rq->start_time_ns;
	bool write = req_op(rq) == REQ_OP_WRITE;

	stats->fg_requests++;
	if (!write && req_op(rq) != REQ_OP_READ)
		return;
	stats->fg_sectors[write] += fq->r.fg.nsect;
	stats->fg_latency[write][fb_inflight_bucket(took_ns)]++;
	if (write) {
		stats->fg_writes++;
		stats->fg_write_ns += took_ns;
	} else {
		stats->fg_reads++;
		stats->fg_read_ns += took_ns;
	}
}

/* A foreground request has ended. */
void fb_inflight_served(struct fb_sched *sched, const struct fb_sched_rq *fq, u64 now)
{
	lockdep_assert_held(&sched->disk->lock);
	if (!fq->own)
		fb_inflight_count(&sched->disk->stats, fq, now);
	if (fq->r.fg.arrived_ns)
		fb_engine_served(&sched->engine, &fq->r, now);
}

/* A read of ours was sent: it is discarded if a write in flight overlaps it. */
void fb_inflight_check_writes(struct fb_sched *sched)
{
	struct fb_sched_rq *fq;

	list_for_each_entry(fq, &sched->engine.flight, r.flight)
		if (fq->r.cmd.write)
			fb_free_read_overlap(sched->disk, fq->r.cmd.lbn, fq->r.cmd.nsect);
	/* one without a struct fb_sched_rq may be a write to any place */
	if (sched->engine.nr_untracked)
		fb_free_read_overlap(sched->disk, 0, sched->disk->sectors);
}
