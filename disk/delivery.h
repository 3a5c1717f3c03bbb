/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_DELIVERY_H
#define FB_DELIVERY_H

#include "disk/task_state.h"

struct fb_free_read;

int fb_delivery_init(void);
void fb_delivery_exit(void);
void fb_delivery_setup(struct freeblock_task *task);
void fb_delivery_begin(struct freeblock_task *task);
void fb_delivery_raise(struct freeblock_task *task, u32 events);
void fb_delivery_sweep(struct freeblock_task *task);
void fb_delivery_catch_up(struct freeblock_task *task);
void fb_delivery_try_end(struct freeblock_task *task);
void fb_delivery_free_op(struct fb_op *op);
void fb_delivery_drop_todo(struct freeblock_task *task);
int fb_delivery_start(struct freeblock_task *task);
void fb_delivery_stop(struct freeblock_task *task);
int fb_delivery_switch(struct freeblock_task *task, enum fb_task_state from,
		       enum fb_task_state to);
void fb_delivery_count(struct freeblock_task *task, u64 wanted, u64 flying, u64 total);
void fb_delivery_mind_host(struct fb_coverage *cov);
bool fb_delivery_judge(struct fb_coverage *cov, const struct fb_free_read *buf);
void fb_delivery_mind_bad(struct fb_coverage *cov, bool flush);

#endif /* FB_DELIVERY_H */
