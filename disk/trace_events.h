/* SPDX-License-Identifier: GPL-2.0 */
/* The trace point of a command's end. fb_disk.lock protects the disk's name. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM freeblock

#if !defined(FREEBLOCK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FREEBLOCK_TRACE_H

#include <linux/tracepoint.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

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

#endif /* FREEBLOCK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH disk
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_events
#include <trace/define_trace.h>
