/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Streams: requests of the foreground that follow each other on the disk. An idle read takes the
 * head away, and ends what the drive reads ahead, so that who comes behind pays more than the rest
 * of a read. What a stream's request takes undisturbed is learnt from two of them without idle
 * reads between. Core; the caller serialises. Nothing here sleeps or allocates. All times are
 * nanoseconds of one monotonic clock, passed in.
 */
#ifndef FB_IDLE_STREAMS_H
#define FB_IDLE_STREAMS_H

#include "core/fg_req.h"
#include "core/mean.h"

#define FB_IDLE_STREAMS 16	/* that are told apart: as many segments as drives have */

/**
 * struct fb_idle_stream - reads that follow each other
 * @next_lbn: the sector behind the last of them
 * @reads: idle reads that had been sent then
 * @touched: that request was of a busy period behind idle reads, or some came before it
 * @written: where it goes on was written since, which ends what the drive has read ahead
 * @went_on: it has more than two: they are not near each other by chance
 */
struct fb_idle_stream {
	u64 next_lbn;
	u64 reads;
	bool touched;
	bool written;
	bool went_on;
};

/**
 * struct fb_idle_streams - the streams, and what their requests take; all private
 * @reads: idle reads sent
 * @of: the streams seen last
 * @oldest: the one that is replaced next
 * @last: the one whose request ended last, or FB_IDLE_STREAMS
 * @took: times of undisturbed requests: of writes and the reads behind them [0], and of other
 *	reads [1], for which the drive may read ahead
 * @ahead: the share of the latter, in microseconds per second, that came from its cache
 * @goes_on: the first request of this busy period goes on with a stream ...
 * @went_on: ... which had gone on before
 * @tells: it is short enough to tell whether the drive reads ahead
 * @touched: idle reads have come before this busy period, or since the last request of its stream
 * @clean: neither before that request nor before the one before
 */
struct fb_idle_streams {
	u64 reads;
	struct fb_idle_stream of[FB_IDLE_STREAMS];
	u32 oldest;
	u32 last;
	struct fb_mean took[2];
	struct fb_mean ahead;
	bool goes_on;
	bool went_on;
	bool tells;
	bool touched;
	bool clean;
};

/**
 * fb_idle_streams_init() - begin without knowing any
 * @s: the streams
 */
void fb_idle_streams_init(struct fb_idle_streams *s);

/**
 * fb_idle_streams_wrote() - note a write: what the drive has read ahead there is void
 * @s: the streams
 * @req: the write
 *
 * Those that fb_idle_streams_served() is told of need not be told here.
 */
void fb_idle_streams_wrote(struct fb_idle_streams *s, const struct fb_fg_req *req);

/**
 * fb_idle_streams_is_ahead() - does the drive have a request in its cache before it comes?
 * @s: the streams
 * @req: the request
 *
 * Return: true if it goes on with a stream that the drive reads ahead for.
 */
bool fb_idle_streams_is_ahead(const struct fb_idle_streams *s, const struct fb_fg_req *req);

/**
 * fb_idle_streams_known() - is it known what streams take?
 * @s: the streams
 *
 * Return: true if there are any, then.
 */
bool fb_idle_streams_known(const struct fb_idle_streams *s);

/**
 * fb_idle_streams_go_on_at() - will a stream go on at a sector?
 * @s: the streams
 * @lbn: the sector
 *
 * Return: true if one that has gone on before ended there.
 */
bool fb_idle_streams_go_on_at(const struct fb_idle_streams *s, u64 lbn);

/**
 * fb_idle_streams_sent() - note that an idle read is sent
 * @s: the streams
 */
void fb_idle_streams_sent(struct fb_idle_streams *s);

/**
 * fb_idle_streams_begin() - begin a busy period
 * @s: the streams
 * @req: the first request; NULL: not known where
 * @read: there were idle reads in the interval before
 */
void fb_idle_streams_begin(struct fb_idle_streams *s, const struct fb_fg_req *req, bool read);

/**
 * fb_idle_streams_is_new() - did a stream begin this busy period while little is known of any?
 * @s: the streams
 *
 * Return: true if so, and if its requests tell whether the drive reads ahead: long ones do not.
 */
bool fb_idle_streams_is_new(const struct fb_idle_streams *s);

/**
 * fb_idle_streams_want_clean() - would another interval without idle reads tell more?
 * @s: the streams
 * @begun: an interval before this one was left alone for the sake of streams
 *
 * Of several streams another one may come first, or what belongs to none.
 *
 * Return: true if the first request of this busy period was of a stream, but taught nothing, or if
 * too little is known of streams.
 */
bool fb_idle_streams_want_clean(const struct fb_idle_streams *s, bool begun);

/**
 * fb_idle_streams_served() - note that a request has ended
 * @s: the streams
 * @took_ns: what the drive took for it
 * @req: the request
 *
 * Return: if it goes on with a stream, idle reads have come between, and it is known what such
 * requests take: by how much it took longer than undisturbed ones do on the mean; else 0.
 */
s64 fb_idle_streams_served(struct fb_idle_streams *s, u64 took_ns, const struct fb_fg_req *req);

#endif /* FB_IDLE_STREAMS_H */
