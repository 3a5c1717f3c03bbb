/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What foreground requests would have cost without idle reads. Idle reads move the head, and end
 * the drive's read-ahead for a stream, so that who comes behind them pays more than the rest of a
 * read. The disk model tells what the first request of a busy period would have cost where the
 * head was; requests that a stream makes without idle reads in between tell whether the drive reads
 * ahead for it. Behind the first one a queue without idle reads is followed: each request begins
 * there when it has come and the one before has ended. Core; the caller serialises. Nothing here
 * sleeps or allocates. All times are nanoseconds of one monotonic clock, passed in.
 */
#ifndef FB_IDLE_COST_H
#define FB_IDLE_COST_H

#include "core/head.h"

#define FB_IDLE_COST_STREAMS 16	/* streams that are told apart: as many segments as drives have */

/**
 * struct fb_idle_cost_req - a foreground request
 * @lbn: first sector
 * @nsect: sectors, not 0
 * @write: direction
 * @arrived_ns: when it came
 */
struct fb_idle_cost_req {
	u64 lbn;
	u32 nsect;
	bool write;
	u64 arrived_ns;
};

/**
 * struct fb_idle_cost_stream - reads that follow each other on the disk
 * @next_lbn: the sector behind the last of them
 * @reads: idle reads that had been sent then
 * @touched: that request was of a busy period behind idle reads, or some came before it
 * @written: where it goes on was written since, which ends what the drive has read ahead
 * @went_on: it has more than two: they are not near each other by chance
 */
struct fb_idle_cost_stream {
	u64 next_lbn;
	u64 reads;
	bool touched;
	bool written;
	bool went_on;
};

/**
 * struct fb_idle_cost_mean - a mean that fades
 * @n: number of samples
 * @us: their sum, microseconds
 */
struct fb_idle_cost_mean {
	u32 n;
	s64 us;
};

/**
 * struct fb_idle_cost - the account; all private
 * @reads: idle reads sent
 * @home: where the head was before the first idle read of this interval; its angle means nothing
 * @home_known: it is valid
 * @stream: the streams seen last
 * @oldest: the one that is replaced next
 * @took: times of streams' requests that nobody had disturbed, alone
 * @off: by how much requests alone that nobody had disturbed took longer than predicted: of no
 *	stream [0], and of one [1]
 * @ahead: of undisturbed requests of streams that should have taken half a turn and more: the
 *	share, in microseconds per second, of those from the drive's read-ahead
 * @known: it is known what the first request of this busy period would have cost
 * @first: that one has not been served yet
 * @moved: idle reads have disturbed it
 * @is_stream: it goes on with a stream
 * @goes_on: that stream has gone on before
 * @touched: idle reads have come before this busy period, or since the last request of its stream
 * @clean: the same of the one before that has not been so either
 * @turn_ns: one revolution; 0: not known yet
 * @short_sectors: what is longer takes a turn's part that may not be left out
 * @predicted_ns: its time by the model; 0: unknown
 * @should_ns: the same for the read-ahead, where half a turn is better than nothing
 * @without_ns: its time without idle reads
 * @begun_ns: when it came
 * @served_ns: when the request served last was
 * @virtual_ns: when it would have been
 */
struct fb_idle_cost {
	u64 reads;
	struct dm_place home;
	bool home_known;
	struct fb_idle_cost_stream stream[FB_IDLE_COST_STREAMS];
	u32 oldest;
	struct fb_idle_cost_mean took;
	struct fb_idle_cost_mean off[2];
	struct fb_idle_cost_mean ahead;
	bool known;
	bool first;
	bool moved;
	bool is_stream;
	bool goes_on;
	bool touched;
	bool clean;
	u64 turn_ns;
	u32 short_sectors;
	u64 predicted_ns;
	u64 should_ns;
	u64 without_ns;
	u64 begun_ns;
	u64 served_ns;
	u64 virtual_ns;
};

/**
 * fb_idle_cost_init() - begin without knowing anything
 * @c: the account
 */
void fb_idle_cost_init(struct fb_idle_cost *c);

/**
 * fb_idle_cost_set_drive() - begin with another drive, of which nothing else is known
 * @c: the account
 * @turn_ns: one revolution
 * @sector_ps: time of a sector where they pass most slowly
 */
void fb_idle_cost_set_drive(struct fb_idle_cost *c, u64 turn_ns, u32 sector_ps);

/**
 * fb_idle_cost_wrote() - note a write: what the drive has read ahead there is void
 * @c: the account
 * @req: the write
 *
 * Those that fb_idle_cost_served() is told of need not be told here.
 */
void fb_idle_cost_wrote(struct fb_idle_cost *c, const struct fb_idle_cost_req *req);

/**
 * fb_idle_cost_is_ahead() - does the drive have a request in its cache before it comes?
 * @c: the account
 * @req: the request
 *
 * Return: true if it goes on with a stream that the drive reads ahead for.
 */
bool fb_idle_cost_is_ahead(struct fb_idle_cost *c, const struct fb_idle_cost_req *req);

/**
 * fb_idle_cost_knows_streams() - is it known what streams take?
 * @c: the account
 *
 * Return: true if there are any, then.
 */
bool fb_idle_cost_knows_streams(const struct fb_idle_cost *c);

/**
 * fb_idle_cost_is_stream() - will a stream go on at a sector?
 * @c: the account
 * @lbn: the sector
 *
 * Return: true if one that has gone on before ended there.
 */
bool fb_idle_cost_is_stream(const struct fb_idle_cost *c, u64 lbn);

/**
 * fb_idle_cost_sent() - note that an idle read is sent
 * @c: the account
 * @head: head and phase; NULL: unknown
 * @begins: it is the first of its interval, so the head is where the foreground has left it
 */
void fb_idle_cost_sent(struct fb_idle_cost *c, const struct fb_head *head, bool begins);

/**
 * fb_idle_cost_begin() - begin a busy period
 * @c: the account
 * @head: head and phase; NULL: unknown
 * @req: the first request; NULL: not known where
 * @read: there were idle reads in the interval before
 */
void fb_idle_cost_begin(struct fb_idle_cost *c, const struct fb_head *head,
			const struct fb_idle_cost_req *req, bool read);

/**
 * fb_idle_cost_lose() - note a request of this busy period that cannot be followed
 * @c: the account
 */
void fb_idle_cost_lose(struct fb_idle_cost *c);

/**
 * fb_idle_cost_is_new_stream() - did a stream begin this busy period while little is known of any?
 * @c: the account
 *
 * Return: true if so, and if its requests tell whether the drive reads ahead: long ones do not.
 */
bool fb_idle_cost_is_new_stream(const struct fb_idle_cost *c);

/**
 * fb_idle_cost_wants_clean() - would another interval without idle reads tell more of streams?
 * @c: the account
 * @begun: an interval before this one was left alone for the sake of streams
 *
 * What a stream takes undisturbed is learnt from two requests of it without idle reads between. Of
 * several streams another one may come first, or what belongs to none.
 *
 * Return: true if the first request of this busy period was of a stream, but taught nothing, or if
 * too little is known of streams.
 */
bool fb_idle_cost_wants_clean(const struct fb_idle_cost *c, bool begun);

/**
 * fb_idle_cost_served() - note that a request has ended
 * @c: the account
 * @now: the time
 * @req: the request
 * @alone: it is the only one of its busy period so far
 * @met_ns: what it is known to have waited for an idle read, if it is the first
 *
 * Return: how much later it has ended than it would have; 0 if that is not known.
 */
s64 fb_idle_cost_served(struct fb_idle_cost *c, u64 now, const struct fb_idle_cost_req *req,
			bool alone, u64 met_ns);

/**
 * fb_idle_cost_is_hit() - did a request take so little that it came from the drive's cache?
 * @c: the account
 * @now: the time; it has ended
 * @req: the request
 *
 * Return: true if so.
 */
bool fb_idle_cost_is_hit(const struct fb_idle_cost *c, u64 now, const struct fb_idle_cost_req *req);

/**
 * fb_idle_cost_ordered() - note that a request has ended where the drive orders by itself
 * @c: the account
 * @now: the time
 * @req: the request; fb_idle_cost_served() is told of it, too, later
 *
 * Nothing is predicted there. But a stream's requests tell what they take from the read-ahead.
 *
 * Return: if it goes on with a stream that the drive reads ahead for, and idle reads have come
 * between, by how much it took longer than undisturbed ones do on the mean; else 0.
 */
s64 fb_idle_cost_ordered(struct fb_idle_cost *c, u64 now, const struct fb_idle_cost_req *req);

/**
 * fb_idle_cost_add() - add a sample to a mean
 * @m: the mean
 * @ns: the sample
 * @fades: number of samples at which they count half
 */
void fb_idle_cost_add(struct fb_idle_cost_mean *m, s64 ns, u32 fades);

/**
 * fb_idle_cost_add_all() - add several samples to a mean
 * @m: the mean
 * @n: how many
 * @ns: their sum
 * @fades: number of samples at which they count half
 */
void fb_idle_cost_add_all(struct fb_idle_cost_mean *m, u32 n, s64 ns, u32 fades);

/**
 * fb_idle_cost_mean_ns() - get a mean
 * @m: the mean
 * @prior: samples of 0 that are put in
 *
 * Return: ns; 0: there are no samples.
 */
s64 fb_idle_cost_mean_ns(const struct fb_idle_cost_mean *m, u32 prior);

#endif /* FB_IDLE_COST_H */
