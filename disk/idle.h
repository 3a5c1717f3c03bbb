/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads while the disk is idle: the state that scheduler and thread share. Kernel only.
 */
#ifndef FB_IDLE_H
#define FB_IDLE_H

#include "core/idle_policy.h"
#include "core/plan.h"
#include "core/power.h"

struct fb_coverage;
struct fb_disk;
struct fb_disk_client;

#define FB_IDLE_AUTO U32_MAX

/**
 * struct fb_idle - reads while the disk is idle; all [L]
 * @wait: the Waiting policy
 * @goal_mean_us: setting: mean slowdown of a foreground request; 0: no idle reads
 * @goal_max_us: setting: longest slowdown of a foreground request
 * @wait_us: setting: threshold, or FB_IDLE_AUTO
 * @size_kib: setting: longest read, or FB_IDLE_AUTO
 * @ready: @piece is sent when the queue runs, unless a foreground request comes first
 * @piece: the next idle read, or the one in flight
 * @reading: @piece is in flight
 * @asking: a query of ours is in flight; written by the thread without a lock
 * @spins_up: the next idle read has the drive spin up, which says nothing of what reads take
 * @woken: something has changed: the thread must compute anew when to read
 * @retry_ns: the thread looks for no read before this time
 * @used_ns: when an idle read was last in flight
 * @power: the drive's power state, and whether it may sleep
 * @sent: commands that the scheduler has handed out, as the device counts them
 * @passed: the device's count beyond @sent, when it was last looked at
 */
struct fb_idle {
	struct fb_idle_policy wait;
	u32 goal_mean_us;
	u32 goal_max_us;
	u32 wait_us;
	u32 size_kib;
	bool ready;
	struct fb_plan_piece piece;
	bool reading;
	bool asking;
	bool spins_up;
	bool woken;
	u64 retry_ns;
	u64 used_ns;
	struct fb_power power;
	u32 sent;
	u32 passed;
};

extern const struct fb_disk_client fb_idle_client;
void fb_idle_changed(struct fb_disk *fd);
void fb_idle_arrive(struct fb_disk *fd, u64 now, const struct fb_fg_req *req);
void fb_idle_arrive_unfollowed(struct fb_disk *fd, u64 now, const struct fb_fg_req *req);
void fb_idle_wrote(struct fb_disk *fd, const struct fb_fg_req *req);
void fb_idle_served(struct fb_disk *fd, u64 now, const struct fb_fg_req *req);
void fb_idle_quiet(struct fb_disk *fd);
void fb_idle_sent(struct fb_disk *fd, u64 now);
void fb_idle_ended(struct fb_disk *fd, bool good);
void fb_idle_passed(struct fb_disk *fd);
const char *fb_idle_why(struct fb_disk *fd, enum fb_idle_policy_why why, u64 now);
u64 fb_idle_due_ns(struct fb_disk *fd);
void fb_idle_read(struct fb_coverage *cov);

#endif /* FB_IDLE_H */
