/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Streams: requests of the foreground that follow each other on the disk. An idle read takes the
 * head away, and ends what the drive reads ahead, so that who comes behind pays more than its rest.
 * What a stream's request takes undisturbed is learnt from two without idle reads between. Core.
 */
#ifndef FB_IDLE_STREAMS_H
#define FB_IDLE_STREAMS_H

#include "core/idle/learnt.h"

#define FB_IDLE_STREAMS 16	/* that are told apart: as many segments as drives have */

/* A request of the foreground, as accounts are told of it */
struct fb_fg_req {
	u64 lbn;			/* first sector */
	u32 nsect;			/* not 0 */
	bool write;
	u64 arrived_ns;
};

/* Reads that follow each other */
struct fb_idle_stream {
	u64 next_lbn;			/* the sector behind the last of them */
	u64 reads;			/* idle reads that had been sent then */
	bool touched;	/* that request was behind idle reads, or some came before it */
	bool written;	/* where it goes on was written since: no read-ahead is left */
	bool went_on;	/* it has more than two: they are not near each other by chance */
};

/* The streams, and what their requests take; all private */
struct fb_idle_streams {
	u64 reads;			/* idle reads sent */
	struct fb_idle_stream of[FB_IDLE_STREAMS];	/* the streams seen last */
	u32 oldest;			/* the one that is replaced next */
	u32 last;			/* whose request ended last, or FB_IDLE_STREAMS */
	/*
	 * undisturbed: writes and reads behind them; other reads, for which the drive may read
	 * ahead
	 */
	struct fb_mean took[2];
	struct fb_mean ahead;		/* share of the latter from its cache, us per second */
	bool goes_on;	/* the first request of this busy period goes on with a stream ... */
	bool went_on;			/* ... which had gone on before */
	bool tells;	/* it is short enough to tell whether the drive reads ahead */
	bool touched;			/* before this period, or since its stream's last */
	bool clean;			/* neither before that request nor before the one before */
};

void fb_idle_streams_init(struct fb_idle_streams *s);

/* A write that fb_idle_streams_served() is not told of: what is read ahead there is void. */
void fb_idle_streams_wrote(struct fb_idle_streams *s, const struct fb_fg_req *req);

/* Does the drive have a request in its cache before it comes, as it goes on with a stream? */
bool fb_idle_streams_is_ahead(const struct fb_idle_streams *s, const struct fb_fg_req *req);
/* Is it known what streams take, if there are any? */
bool fb_idle_streams_known(const struct fb_idle_streams *s);
/* Has a stream that has gone on before ended at this sector? */
bool fb_idle_streams_go_on_at(const struct fb_idle_streams *s, u64 lbn);

/* Begin a busy period with @req, or NULL: unknown. @read: there were idle reads before. */
void fb_idle_streams_begin(struct fb_idle_streams *s, const struct fb_fg_req *req, bool read);

/* Did a stream that tells whether the drive reads ahead begin this period, with little known? */
bool fb_idle_streams_is_new(const struct fb_idle_streams *s);

/*
 * Would another interval without idle reads tell more of streams? @begun: one was left alone: of
 * several streams another one may come first.
 */
bool fb_idle_streams_want_clean(const struct fb_idle_streams *s, bool begun);

/* A request has ended. Return: how much longer than undisturbed ones, if that is known. */
s64 fb_idle_streams_served(struct fb_idle_streams *s, u64 took_ns, const struct fb_fg_req *req);

#endif /* FB_IDLE_STREAMS_H */
