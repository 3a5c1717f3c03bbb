// SPDX-License-Identifier: GPL-2.0
/* How idle reads learn of the foreground, and when one is sent; see core/engine/engine.h. */
#include "core/engine/engine.h"

void fb_engine_arrived(struct fb_engine *e, const struct fb_engine_rq *rq,
		       const struct fb_fg_req *req, bool follow, u64 now_ns)
{
	bool cached = rq && fb_engine_is_cached(e, rq);

	fb_idle_reader_withdraw(e->idle);
	/* no idle read delays a cached write, unless that is held back here */
	if (cached && (e->auto_depth || !fb_engine_predicts(e)))
		fb_idle_policy_wrote(e->idle->wait, req);
	/* what waits for others' background reads, or for the cache, tells nothing of the medium */
	else if (!follow || cached)
		fb_idle_policy_arrive_unfollowed(e->idle->wait, now_ns, req);
	else
		fb_idle_policy_arrive(e->idle->wait, now_ns, req);
}

void fb_engine_served(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns)
{
	const struct fb_fg_req req = {
		.lbn = rq->fg.lbn,
		.nsect = rq->fg.nsect,
		.write = rq->fg.write,
		.arrived_ns = rq->fg.arrived_ns,
	};

	if (rq->media && !fb_engine_is_cached(e, rq))
		fb_idle_policy_served(e->idle->wait, now_ns, &req);
}

bool fb_engine_idle_is_due(const struct fb_engine *e)
{
	return e->idle->ready && !e->pool.count && !e->nr_flight;
}

void fb_engine_send_idle(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	const struct fb_engine_send d = {
		.cause = FB_CAUSE_IDLE,
		.lbn = e->idle->piece.lbn,
		.nsect = e->idle->piece.nsect,
	};

	fb_engine_send(e, rq, &d, now_ns);
	fb_idle_reader_sent(e->idle, rq->cmd.sent_ns);
}
