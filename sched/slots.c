// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's data of requests: an array for each set of scheduler tags, by
 * request.internal_tag. Locks: none. A slot is its request's from prepare_request() to
 * finish_request(), as the tag is; arrays are replaced only while the queue is frozen, when there
 * is no request.
 */
#include <linux/slab.h>

#include "sched/sched.h"

/* Hardware queues that share their tags share the first one's array. */
static struct fb_slots *fb_slots_of(struct fb_sched *sched, const struct blk_mq_hw_ctx *hctx)
{
	return &sched->slots[hctx->flags & BLK_MQ_F_TAG_HCTX_SHARED ? 0 : hctx->queue_num];
}

static int fb_slots_alloc(struct fb_sched *sched, const struct blk_mq_hw_ctx *hctx)
{
	struct fb_slots *slots = fb_slots_of(sched, hctx);
	u32 n = fb_compat_sched_tags(hctx);
	struct fb_sched_rq *rq;

	if (n == slots->n)
		return 0;
	scoped_guard(fb_noio, current)
		rq = kvzalloc_node(array_size(n, sizeof(*rq)), GFP_KERNEL, hctx->numa_node);
	if (!rq)
		return -ENOMEM;
	kvfree(slots->rq);
	slots->rq = rq;
	slots->n = n;
	return 0;
}

/* The number of tags has changed. Without memory the slots stay, and greater tags get none. */
void fb_slots_resize(struct fb_sched *sched, const struct blk_mq_hw_ctx *hctx)
{
	char name[FB_NAME_LEN];

	if (!fb_slots_alloc(sched, hctx))
		return;
	fb_disk_copy_name(sched->disk, name, sizeof(name));
	pr_warn("freeblock: %s: no memory to schedule all requests of the queue: those beyond %u are sent at once\n",
		name, fb_slots_of(sched, hctx)->n);
}

/* With fb_sched.nr_slots set; may sleep. Return: 0 or -ENOMEM, then without any slots. */
int fb_slots_init(struct fb_sched *sched)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	queue_for_each_hw_ctx(sched->q, hctx, i) {
		if (!fb_slots_alloc(sched, hctx))
			continue;
		fb_slots_exit(sched);
		return -ENOMEM;
	}
	return 0;
}

void fb_slots_exit(struct fb_sched *sched)
{
	u32 i;

	for (i = 0; i < sched->nr_slots; i++) {
		kvfree(sched->slots[i].rq);
		sched->slots[i] = (struct fb_slots) { };
	}
}

/* The slot of a request that has just got its tag, empty but for @rq; NULL: there is none. */
struct fb_sched_rq *fb_slots_take(struct fb_sched *sched, struct request *rq)
{
	const struct fb_slots *slots = fb_slots_of(sched, rq->mq_hctx);
	struct fb_sched_rq *fq;

	if (unlikely((u32)rq->internal_tag >= slots->n))
		return NULL;
	fq = &slots->rq[rq->internal_tag];
	/* two requests with one tag: these are not the tags that the array was made for */
	if (WARN_ON_ONCE(fq->rq))
		return NULL;
	memset(fq, 0, sizeof(*fq));
	fq->rq = rq;
	return fq;
}
