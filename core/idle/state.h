/* SPDX-License-Identifier: GPL-2.0 */
/* What the policy of idle reads knows; hosts see it through core/idle_policy.h. */
#ifndef FB_IDLE_STATE_H
#define FB_IDLE_STATE_H

#include "core/destage.h"
#include "core/idle/learnt.h"
#include "core/idle/streams.h"

/* fb_idle_policy_begin_ns(): not before the next event */
#define FB_IDLE_POLICY_NEVER U64_MAX
#define FB_IDLE_POLICY_AUTO U64_MAX	/* fb_idle_policy_set_fixed(): find the threshold */
/* what most drives have, or more: 7,200 turns a minute and 100 MB/s, whatever this one is */
#define FB_IDLE_TURN_NS 8333333U
#define FB_IDLE_SECTOR_PS 5120000U
#define FB_IDLE_POLICY_MEAN_NS NSEC_PER_MSEC	/* default goal for the mean slowdown */
#define FB_IDLE_POLICY_MAX_NS (50ULL * NSEC_PER_MSEC)	/* default goal for the maximum */
/*
 * Sectors of a read: longer ones bring no more where the drive reads ahead. Without, each loses
 * what passes until it arrives: it takes a part of a turn where that takes longest.
 */
#define FB_IDLE_POLICY_SECTORS_MIN 128U
#define FB_IDLE_POLICY_ALONE_OF 4
#define FB_IDLE_POLICY_SECTORS_MAX 8192U

/* Why no idle read is sent */
enum fb_idle_policy_why {
	FB_IDLE_POLICY_RUN,		/* one may be sent */
	FB_IDLE_POLICY_OFF,		/* the mean's goal is 0 */
	FB_IDLE_POLICY_BUSY,		/* a foreground request is pending or in flight */
	FB_IDLE_POLICY_READING,		/* an idle read is at the drive */
	FB_IDLE_POLICY_WAITING,		/* the disk has not been idle for long enough */
	FB_IDLE_POLICY_STALL,	/* the drive was silent for long, and is left alone as long */
	FB_IDLE_POLICY_BUDGET,		/* recent charges are above the mean's goal */
	FB_IDLE_POLICY_SHORT,		/* no read is short enough for the maximum's goal */
	FB_IDLE_POLICY_CONTROL,	/* no reads in this interval, to measure what a stream takes */
};

/* messages by enum fb_idle_policy_why */
extern const char *const fb_idle_policy_why_name[];

/* State of the policy, for status output */
struct fb_idle_policy_status {
	enum fb_idle_policy_why why;	/* why no idle read is sent */
	u64 wait_ns;			/* threshold */
	u32 sectors;			/* longest command */
	u64 mean_ns;			/* mean charge per foreground request */
	u64 max_ns;			/* longest wait of a request for the rest of an idle read */
	u64 requests;			/* of the foreground */
	u64 collisions;	/* idle reads that a foreground request found at the drive */
	u64 reads;			/* idle reads */
	u64 read_sectors;		/* their sectors */
	u64 used_ns;			/* their time */
	u64 idle_ns;			/* time without foreground requests */
	s64 credit_ns;	/* may be charged before reads pause; negative: they pause */
};

/* From where the next idle read is to be searched */
struct fb_idle_policy_aim {
	bool moved;	/* the foreground has moved the head since the last idle read ... */
	u64 lbn;			/* ... to before this sector */
	bool over;			/* the block with that sector is to be read, too */
	u32 skip;	/* granules to leave out, there or behind the last idle read */
};

/* The policy; private but for @sectors, @streams, @wait_ns, @hold_ns and @withheld */
struct fb_idle_policy {
	u64 goal_mean_ns;	/* mean slowdown allowed per foreground request; 0: no idle reads */
	u64 goal_max_ns;		/* maximum slowdown allowed of one of them */
	u64 fixed_ns;			/* threshold set by the user, or FB_IDLE_POLICY_AUTO */
	u32 fixed_sectors;		/* longest command set by the user; 0: not set */
	u64 turn_ns;			/* one revolution of the drive */
	u32 sector_ps;			/* longest transfer time of a sector */
	u64 wait_ns;			/* the threshold in force */
	u32 sectors;			/* longest idle read; 0: none */
	u32 alone_sectors;		/* the same of commands for which nothing is read ahead */
	bool busy;			/* foreground requests are pending or in flight */
	u64 idle_ns;			/* since when there are none */
	u32 requests;			/* foreground requests of this busy period */
	u64 hold_ns;			/* no idle read before; the threshold counts from then */
	bool held;			/* the idle interval before was over by then */
	bool withheld;			/* no idle reads, to measure: requests allow nothing */
	u64 interval_ns;	/* length of the idle interval before, from @hold_ns on, or 0 */
	bool reading;			/* an idle read is at the drive */
	u64 sent_ns;			/* when it was sent */
	bool first;			/* it is the first of its idle interval */
	u32 nsect;			/* its sectors */
	u64 hit_ns;	/* when the first request found it at the drive; 0: none has */
	bool read;			/* some were in this interval, or before this busy period */
	bool control;			/* no idle read is sent in this interval */
	u32 lengths;			/* idle intervals, fading ... */
	u64 length_us;			/* ... and the sum of their lengths */
	u32 longs;			/* those of two turns and more ... */
	u64 rest_us;			/* ... and what came behind these */
	s32 eligible;			/* below 0: so many long enough intervals before @control */
	u32 controls;	/* intervals in a row that @control has left alone, and one */
	s64 credit_ns;			/* what may still be charged; may be negative */
	u64 may_owe;			/* reads may begin in debt until @st.requests is this */
	u32 longest;			/* requests of the longest busy period, slowly forgotten */
	s64 cost_ns;			/* all charges; single ones may be negative */
	struct fb_idle_streams streams;	/* the foreground's streams */
	struct fb_idle_account account;	/* what idle reads cost */
	struct fb_idle_times times;	/* what they take */
	struct fb_idle_place place;	/* what they leave out */
	u64 period_ns;			/* charges of this busy period */
	u32 unfollowed;			/* requests during this read that cannot be followed */
	bool soon;	/* the idle read sent last came just behind the foreground */
	bool judged;			/* fb_idle_policy_judge() was called for the last read */
	bool blamed;	/* the read at the drive was late as the drive was writing */
	bool clean;			/* it surely had nothing to write */
	bool caches;			/* its cache takes writes */
	enum fb_idle_place_behind from;	/* what the foreground did last since the last idle read */
	u64 aim;			/* where that ended */
	bool wrote;	/* a write has come since that the drive's cache has taken ... */
	u64 wrote_lbn;			/* ... at this sector */
	/* counts; fb_idle_policy_status() adds the rest; @idle_ns: of intervals that are over */
	struct fb_idle_policy_status st;
};

/* how long the next idle read may take: the maximum's goal, less a turn that it may miss */
static inline u64 fb_idle_policy_longest_ns(const struct fb_idle_policy *w)
{
	return w->goal_max_ns > w->turn_ns ? w->goal_max_ns - w->turn_ns : 0;
}

#endif /* FB_IDLE_STATE_H */
