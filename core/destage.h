/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a drive with a write-back cache still has to do. It acknowledges writes at once and puts
 * them on the medium later, in an order of its own. So nobody waits for a write unless it is held
 * back, and a drive without commands may be busy. From commands and completions alone this
 * follows how many writes are still in the cache and when the last of them will be on the
 * medium, and decides who orders commands. Core; the caller serialises. Nothing here sleeps or
 * allocates. All times are nanoseconds of one monotonic clock, passed in.
 */
#ifndef FB_DESTAGE_H
#define FB_DESTAGE_H

#include "include/fb_shim.h"

#define FB_DESTAGE_DEPTHS 16	/* jobs in the drive that are told apart by their number */
#define FB_DESTAGE_ONE 65536	/* fb_destage.bare: all of them */

/**
 * enum fb_destage_aim - where the first idle read behind a cached write is to be
 * @FB_DESTAGE_BEHIND: behind the write, where the head is when it is on the medium
 * @FB_DESTAGE_OVER: over the write
 * @FB_DESTAGE_AWAY: where it would be without the write, to learn whether the drive is at work
 */
enum fb_destage_aim { FB_DESTAGE_BEHIND, FB_DESTAGE_OVER, FB_DESTAGE_AWAY };

/**
 * struct fb_destage - the cache and what is learnt of it; all private but @on
 * @on: the drive has a write-back cache, and it is on
 * @turn_ns: one revolution
 * @reads: foreground reads since the last write, saturating
 * @medium: commands at the drive that go to the medium before they are reported
 * @dirty: writes believed to be in the cache only
 * @sure: an idle read or a flush has shown that there are none, and no write came since
 * @next_lbn: sector behind the last write: what continues there joins it
 * @at_ns: the account is kept up to this time
 * @spare_ns: time that the medium has worked and that no job has been accounted for yet;
 *	negative: jobs were shorter than believed
 * @clean_ns: when the last write went to the medium, as believed
 * @pure: the job in service is a command, and the drive has nothing else to do
 * @begun_ns: when that job began
 * @begun_depth: jobs in the drive then
 * @job_ns: mean time of a job by the number of jobs in the drive
 * @known: jobs that it was learnt from, saturating
 * @margin_ns: how much longer than believed idle reads wait
 * @bare_now: this interval's idle reads do not wait, to learn whether that is needed
 * @passed: times that the drive's last command ended since the last idle read
 * @tries: first idle reads after a write
 * @judge: the next idle read is the first since a write
 * @owed: @dirty when the drive's last command ended
 * @idle: an idle read is at the drive
 * @before: @dirty when it was sent
 * @first: it is the first since a write
 * @single: @owed was 1 when it was sent
 * @over: the idle read that is sent next, or at the drive, goes over the last write
 * @bare: share of idle reads that came late although one write was believed to be in the cache
 *	and they did not wait for it, of FB_DESTAGE_ONE; an average that fades
 * @bares: how many there were, saturating
 * @firsts: count, for status: idle reads that were the first since a single write
 * @lates: count, for status: those that came late
 */
struct fb_destage {
	bool on;
	u64 turn_ns;
	u32 reads;
	u32 medium;
	u32 dirty;
	bool sure;
	u64 next_lbn;
	u64 at_ns;
	s64 spare_ns;
	u64 clean_ns;
	bool pure;
	u64 begun_ns;
	u32 begun_depth;
	u64 job_ns[FB_DESTAGE_DEPTHS];
	u32 known[FB_DESTAGE_DEPTHS];
	s64 margin_ns;
	bool bare_now;
	u32 passed;
	u32 tries;
	bool judge;
	u32 owed;
	bool idle;
	u32 before;
	bool first;
	bool single;
	bool over;
	u32 bare;
	u32 bares;
	u64 firsts;
	u64 lates;
};

/**
 * fb_destage_init() - begin with a clean drive whose cache is off
 * @d: the account
 * @turn_ns: one revolution; 0: not known yet
 */
void fb_destage_init(struct fb_destage *d, u64 turn_ns);

/**
 * fb_destage_forget() - begin anew with a drive that others have used meanwhile
 * @d: the account; no command is at the drive
 * @now: the time
 *
 * What it may have to do is not known. What was learnt of the drive stays.
 */
void fb_destage_forget(struct fb_destage *d, u64 now);

/**
 * fb_destage_set_cache() - say whether the drive's write-back cache is on
 * @d: the account
 * @on: it is
 * @now: the time
 */
void fb_destage_set_cache(struct fb_destage *d, bool on, u64 now);

/**
 * fb_destage_orders() - test whether the drive is to order the foreground by itself
 * @d: the account
 *
 * Return: true with a write-back cache while there are writes among the foreground: held back in
 * a queue of the host they would wait for the medium, which they do not have to.
 */
bool fb_destage_orders(const struct fb_destage *d);

/**
 * fb_destage_arrived() - note that a foreground request has come
 * @d: the account
 * @write: its direction
 */
void fb_destage_arrived(struct fb_destage *d, bool write);

/**
 * fb_destage_sent() - note that a command was sent, which is no idle read
 * @d: the account
 * @now: the time
 * @cached: it is a write that the drive reports when its cache has it
 * @lbn: first sector
 * @nsect: sectors
 */
void fb_destage_sent(struct fb_destage *d, u64 now, bool cached, u64 lbn, u32 nsect);

/**
 * fb_destage_ended() - note that it has ended, however
 * @d: the account
 * @now: the time
 * @cached: as when it was sent
 */
void fb_destage_ended(struct fb_destage *d, u64 now, bool cached);

/**
 * fb_destage_flushed() - note that a flush has ended: nothing is dirty
 * @d: the account
 * @now: the time
 */
void fb_destage_flushed(struct fb_destage *d, u64 now);

/**
 * fb_destage_moves() - test whether the drive moves the head by itself
 * @d: the account
 * @lbn: out, if so: the last sector of the write that the drive is believed to do last
 *
 * Return: true if it does.
 */
bool fb_destage_moves(const struct fb_destage *d, u64 *lbn);

/**
 * fb_destage_begin_ns() - find until when idle reads should wait for the drive to be clean
 * @d: the account; no command is at the drive
 * @now: the time
 *
 * Return: the time, past or future.
 */
u64 fb_destage_begin_ns(struct fb_destage *d, u64 now);

/**
 * fb_destage_is_clean() - test whether the drive surely has nothing to write
 * @d: the account
 *
 * Return: true without a write-back cache, or if an idle read or a flush has shown it.
 */
static inline bool fb_destage_is_clean(const struct fb_destage *d)
{
	return !d->on || d->sure;
}

/**
 * fb_destage_aim() - ask where the first idle read behind a cached write is to be
 * @d: the account
 *
 * A drive that holds writes back for a while puts one on the medium when somebody reads there. It
 * does so while nobody waits, then, and not when a request of the foreground does.
 *
 * Return: there.
 */
enum fb_destage_aim fb_destage_aim(struct fb_destage *d);

/**
 * fb_destage_idle_sent() - note that an idle read was sent
 * @d: the account
 * @now: the time
 */
void fb_destage_idle_sent(struct fb_destage *d, u64 now);

/**
 * fb_destage_idle_ended() - note that it has ended
 * @d: the account
 * @now: the time
 * @known: it had been predicted
 * @late_ns: how much later than that it came
 */
void fb_destage_idle_ended(struct fb_destage *d, u64 now, bool known, s64 late_ns);

#endif /* FB_DESTAGE_H */
