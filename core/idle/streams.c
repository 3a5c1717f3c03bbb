// SPDX-License-Identifier: GPL-2.0
/* Streams of the foreground, and what idle reads cost them; see core/idle/streams.h. */
#include "core/idle/streams.h"

#define FB_IDLE_STREAMS_AHEAD_FADES 64	/* the same of the read-ahead, which hosts switch */
#define FB_IDLE_STREAMS_SKIP 256	/* sectors that a stream may leave out */
#define FB_IDLE_STREAMS_SHORT 192	/* sectors; longer ones take long from the cache, too */
#define FB_IDLE_STREAMS_MOST_NS (65ULL * NSEC_PER_MSEC)	/* what takes longer is error recovery */
/* from the cache it takes less; half a turn is what a request waits for on the mean */
#define FB_IDLE_STREAMS_AHEAD_NS (2ULL * NSEC_PER_MSEC)
#define FB_IDLE_STREAMS_ONE_NS NSEC_PER_SEC	/* fb_idle_streams.ahead: all of them */

void fb_idle_streams_init(struct fb_idle_streams *s)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < FB_IDLE_STREAMS; i++)
		s->of[i].next_lbn = U64_MAX;
}

/* ---- which stream ---- */

static bool fb_idle_stream_goes_on(const struct fb_idle_stream *of, const struct fb_fg_req *req)
{
	return req->lbn >= of->next_lbn && req->lbn - of->next_lbn <= FB_IDLE_STREAMS_SKIP;
}

/* its index, or FB_IDLE_STREAMS */
static u32 fb_idle_streams_find(const struct fb_idle_streams *s, const struct fb_fg_req *req)
{
	u32 i;

	for (i = 0; i < FB_IDLE_STREAMS; i++)
		if (fb_idle_stream_goes_on(&s->of[i], req))
			break;
	return i;
}

static const struct fb_idle_stream *fb_idle_streams_of(const struct fb_idle_streams *s,
						       const struct fb_fg_req *req)
{
	u32 i = fb_idle_streams_find(s, req);

	return i < FB_IDLE_STREAMS ? &s->of[i] : NULL;
}

/* may the drive have read ahead for this request? */
static bool fb_idle_stream_is_whole(const struct fb_idle_stream *of, const struct fb_fg_req *req)
{
	return of && !of->written && !req->write;
}

bool fb_idle_streams_go_on_at(const struct fb_idle_streams *s, u64 lbn)
{
	u32 i;

	for (i = 0; i < FB_IDLE_STREAMS; i++)
		if (s->of[i].next_lbn == lbn && s->of[i].went_on)
			return true;
	return false;
}

void fb_idle_streams_wrote(struct fb_idle_streams *s, const struct fb_fg_req *req)
{
	u32 i;

	s->last = fb_idle_streams_find(s, req);
	for (i = 0; i < FB_IDLE_STREAMS; i++) {
		if (!fb_idle_stream_goes_on(&s->of[i], req))
			continue;
		s->of[i].next_lbn = req->lbn + req->nsect;
		s->of[i].written = true;
	}
}

static bool fb_idle_streams_touched(const struct fb_idle_streams *s,
				    const struct fb_idle_stream *of)
{
	return of->reads != s->reads;
}

static void fb_idle_streams_follow(struct fb_idle_streams *s, const struct fb_fg_req *req)
{
	u32 i = fb_idle_streams_find(s, req);
	struct fb_idle_stream *of;

	s->last = i;
	/* a write begins no stream */
	if (req->write && i == FB_IDLE_STREAMS)
		return;
	if (i == FB_IDLE_STREAMS)
		s->last = s->oldest;
	of = &s->of[s->last];
	of->went_on = i < FB_IDLE_STREAMS;
	if (i == FB_IDLE_STREAMS) {
		s->oldest = (s->oldest + 1) % FB_IDLE_STREAMS;
		of->reads = s->reads;
	}
	of->touched = s->touched || fb_idle_streams_touched(s, of);
	of->next_lbn = req->lbn + req->nsect;
	of->reads = s->reads;
	of->written = req->write;
}

/* ---- does the drive read ahead? ---- */

static bool fb_idle_streams_mostly_ahead(const struct fb_idle_streams *s)
{
	return fb_mean_ns(&s->ahead) > FB_IDLE_STREAMS_ONE_NS / 2;
}

bool fb_idle_streams_known(const struct fb_idle_streams *s)
{
	return s->took[true].n >= FB_IDLE_KNOWN && s->ahead.n >= FB_IDLE_KNOWN;
}

bool fb_idle_streams_is_ahead(const struct fb_idle_streams *s, const struct fb_fg_req *req)
{
	return fb_idle_streams_known(s) && fb_idle_streams_mostly_ahead(s) &&
	       fb_idle_stream_is_whole(fb_idle_streams_of(s, req), req);
}

/* learn from an undisturbed read, which does not follow a write */
static void fb_idle_streams_learn_ahead(struct fb_idle_streams *s, u64 took_ns)
{
	bool ahead = took_ns < FB_IDLE_STREAMS_AHEAD_NS;
	bool mostly = fb_idle_streams_mostly_ahead(s);

	fb_mean_add(&s->ahead, ahead ? FB_IDLE_STREAMS_ONE_NS : 0, FB_IDLE_STREAMS_AHEAD_FADES);
	/* it was switched: what streams took before says nothing any more, and fades far slower */
	if (fb_idle_streams_mostly_ahead(s) != mostly)
		s->took[true] = (struct fb_mean) { 0 };
}

/* ---- events ---- */

void fb_idle_streams_begin(struct fb_idle_streams *s, const struct fb_fg_req *req, bool read)
{
	const struct fb_idle_stream *of = req ? fb_idle_streams_of(s, req) : NULL;

	if (!fb_idle_stream_is_whole(of, req))
		of = NULL;
	s->goes_on = of;
	s->went_on = of && of->went_on;
	s->tells = req && req->nsect <= FB_IDLE_STREAMS_SHORT;
	s->touched = read || (of && fb_idle_streams_touched(s, of));
	s->clean = !s->touched && !(of && of->touched);
}

/* the first request's stream can tell what is not known of streams; long requests never do */
static bool fb_idle_streams_would_tell(const struct fb_idle_streams *s)
{
	return s->tells && !fb_idle_streams_known(s);
}

bool fb_idle_streams_is_new(const struct fb_idle_streams *s)
{
	return s->went_on && fb_idle_streams_would_tell(s);
}

bool fb_idle_streams_want_clean(const struct fb_idle_streams *s, bool begun)
{
	if (!s->goes_on)
		return begun;
	return !s->clean || fb_idle_streams_would_tell(s);
}

s64 fb_idle_streams_served(struct fb_idle_streams *s, u64 took_ns, const struct fb_fg_req *req)
{
	const struct fb_idle_stream *of = fb_idle_streams_of(s, req);
	bool whole = fb_idle_stream_is_whole(of, req);
	bool touched = of && (s->touched || fb_idle_streams_touched(s, of)), clean;
	struct fb_mean *took = &s->took[whole];
	s64 lost_ns = 0;

	clean = of && !touched && !of->touched && took_ns < FB_IDLE_STREAMS_MOST_NS;
	took_ns = min_t(u64, took_ns, FB_IDLE_STREAMS_MOST_NS);
	if (clean && whole && req->nsect <= FB_IDLE_STREAMS_SHORT)
		fb_idle_streams_learn_ahead(s, took_ns);
	/* the drive has what it goes on with, wherever the head is */
	if (whole && fb_idle_streams_mostly_ahead(s))
		touched |= of->touched;
	else if (of != &s->of[s->last])
		/* the head would not be where it goes on */
		of = NULL;
	if (of && clean)
		fb_mean_add(took, took_ns, FB_IDLE_FADES);
	else if (of && touched && took->n >= FB_IDLE_KNOWN)
		lost_ns = took_ns - fb_mean_ns(took);
	fb_idle_streams_follow(s, req);
	return lost_ns;
}
