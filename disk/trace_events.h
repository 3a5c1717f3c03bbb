/* SPDX-License-Identifier: GPL-2.0 */
/* Trace points: plan, completion, bad block. fb_disk.lock protects the disk's name. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM freeblock

#if !defined(FREEBLOCK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FREEBLOCK_TRACE_H

#include <linux/tracepoint.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

TRACE_EVENT(freeblock_plan,
	TP_PROTO(const struct fb_disk *disk, const struct fb_plan *plan),
	TP_ARGS(disk, plan),
	TP_STRUCT__entry(
		__string(disk, disk->name)
		__field(u32, gen)
		__field(u32, kind)
		__field(u64, lbn)
		__field(u32, nsect)
		__field(u32, wanted)
		__field(u64, slack_ns)
	),
	TP_fast_assign(
		FB_COMPAT_ASSIGN_STR(disk, disk->name);
		__entry->gen = disk->mail.plan_gen;
		__entry->kind = plan->kind;
		__entry->lbn = plan->piece[0].lbn;
		__entry->nsect = plan->piece[0].nsect;
		__entry->wanted = plan->wanted;
		__entry->slack_ns = plan->slack_ns;
	),
	TP_printk("%s gen=%u %s lbn=%llu+%u wanted=%u slack_ns=%llu", __get_str(disk),
		  __entry->gen, __entry->kind == FB_PLAN_PREPEND ? "prepend" : "separate",
		  __entry->lbn, __entry->nsect, __entry->wanted, __entry->slack_ns)
);

TRACE_EVENT(freeblock_complete,
	TP_PROTO(const struct fb_disk *disk, u64 lbn, u32 nsect, u32 cause, u64 predicted_ns,
		 u64 now_ns, const struct fb_head_end *end),
	TP_ARGS(disk, lbn, nsect, cause, predicted_ns, now_ns, end),
	TP_STRUCT__entry(
		__string(disk, disk->name)
		__field(u64, lbn)
		__field(u32, nsect)
		__field(u32, cause)
		__field(s64, error_ns)
		__field(u32, verdict)
		__field(s32, turns)
		__field(s64, residual_ns)
	),
	TP_fast_assign(
		FB_COMPAT_ASSIGN_STR(disk, disk->name);
		__entry->lbn = lbn;
		__entry->nsect = nsect;
		__entry->cause = cause;
		__entry->error_ns = predicted_ns ? (s64)(now_ns - predicted_ns) : 0;
		__entry->verdict = end->verdict;
		__entry->turns = end->turns;
		__entry->residual_ns = end->residual_ns;
	),
	TP_printk("%s lbn=%llu+%u cause=%u error_ns=%lld verdict=%u turns=%d residual_ns=%lld",
		  __get_str(disk), __entry->lbn, __entry->nsect, __entry->cause,
		  __entry->error_ns, __entry->verdict, __entry->turns, __entry->residual_ns)
);

TRACE_EVENT(freeblock_bad,
	TP_PROTO(const struct fb_disk *disk, u64 lbn, u32 nsect, u64 took_ns),
	TP_ARGS(disk, lbn, nsect, took_ns),
	TP_STRUCT__entry(
		__string(disk, disk->name)
		__field(u64, lbn)
		__field(u32, nsect)
		__field(u64, took_ns)
	),
	TP_fast_assign(
		FB_COMPAT_ASSIGN_STR(disk, disk->name);
		__entry->lbn = lbn;
		__entry->nsect = nsect;
		__entry->took_ns = took_ns;
	),
	TP_printk("%s lbn=%llu+%u took_ns=%llu", __get_str(disk), __entry->lbn, __entry->nsect,
		  __entry->took_ns)
);

#endif /* FREEBLOCK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH disk
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_events
#include <trace/define_trace.h>
