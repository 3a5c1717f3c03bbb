// SPDX-License-Identifier: GPL-2.0
/* Cookies: what the blocks of a task mean to its consumer; the caller serialises. */
#include "disk/cookie.h"

/* The value of a block; 0: none. Takes the logarithm of the segments. */
u64 fb_cookie_find(const struct fb_cookies *c, u64 block)
{
	u32 behind = fb_bisect(i, c->n, c->segment[i].first <= block);

	return behind && block < c->segment[behind - 1].end ? c->segment[behind - 1].value : 0;
}

/* an array of segments that is being written */
struct fb_cookie_out {
	struct fb_cookie_segment *segment;
	u32 n;
	bool sparse;		/* leave segments with the value 0 out */
};

static void fb_cookie_emit(struct fb_cookie_out *out, u64 first, u64 end, u64 value)
{
	struct fb_cookie_segment *last = out->segment + out->n - 1;

	if (first >= end || (out->sparse && !value))
		return;
	if (out->n && last->end == first && last->value == value)
		last->end = end;
	else
		out->segment[out->n++] = (struct fb_cookie_segment) { first, end, value };
}

/* Lay @nu segments over @nl others; @out has room for @nl + 2 * @nu. */
static void fb_cookie_overlay(const struct fb_cookie_segment *lower, u32 nl,
			      const struct fb_cookie_segment *upper, u32 nu,
			      struct fb_cookie_out *out)
{
	u64 at = 0, stop;
	u32 i = 0, j;

	for (j = 0; j <= nu; j++) {
		stop = j < nu ? upper[j].first : U64_MAX;
		for (; i < nl && lower[i].first < stop; i++) {
			fb_cookie_emit(out, max(lower[i].first, at), min(lower[i].end, stop),
				       lower[i].value);
			if (lower[i].end > stop)
				break;
		}
		if (j == nu)
			return;
		fb_cookie_emit(out, upper[j].first, upper[j].end, upper[j].value);
		at = upper[j].end;
		while (i < nl && lower[i].end <= at)
			i++;
	}
}

/*
 * Make ranges, of which later ones win, disjoint segments: runs of 1, 2, 4 ... are laid over each
 * other. A run of k becomes less than 2 * k; both arrays have room for 3 * @n.
 */
static struct fb_cookie_segment *fb_cookie_resolve(struct fb_cookie_segment *from,
						   struct fb_cookie_segment *to, u32 *run, u32 n)
{
	u32 runs = n, i, at, done;

	for (i = 0; i < n; i++)
		run[i] = 1;
	while (runs > 1) {
		for (i = 0, at = 0, done = 0; i < runs; i += 2) {
			u32 lower = run[i], upper = i + 1 < runs ? run[i + 1] : 0;
			struct fb_cookie_out out = { .segment = to + done };

			fb_cookie_overlay(from + at, lower, from + at + lower, upper, &out);
			at += lower + upper;
			done += out.n;
			run[i / 2] = out.n;
		}
		runs = (runs + 1) / 2;
		swap(from, to);
	}
	return from;
}

static int fb_cookie_lay_resolved(const struct fb_cookies *old,
				  const struct fb_cookie_segment *batch, u32 n,
				  struct fb_cookies *made)
{
	struct fb_cookie_out out = { .sparse = true };
	u32 room = old->n + 2 * n;

	out.segment = fb_zalloc((size_t)room * sizeof(*out.segment));
	if (!out.segment)
		return -ENOMEM;
	fb_cookie_overlay(old->segment, old->n, batch, n, &out);
	if (out.n > FB_COOKIE_MAX) {
		fb_free(out.segment);
		return -ENOSPC;
	}
	*made = (struct fb_cookies) { out.segment, out.n, room };
	return 0;
}

/*
 * Lay @n ranges, of which later ones win, over @old in a new array. Return: 0; -ENOSPC: more than
 * FB_COOKIE_MAX segments; -ENOMEM.
 */
int fb_cookie_lay(const struct fb_cookies *old, const struct fb_cookie_segment *range, u32 n,
		  struct fb_cookies *made)
{
	size_t most = 3 * (size_t)n;
	struct fb_cookie_segment *work = fb_zalloc(2 * most * sizeof(*work) + n * sizeof(u32));
	struct fb_cookie_segment *batch;
	u32 *run = (u32 *)(work + 2 * most);
	int ret;

	if (!work)
		return -ENOMEM;
	memcpy(work, range, n * sizeof(*work));
	batch = fb_cookie_resolve(work, work + most, run, n);
	ret = fb_cookie_lay_resolved(old, batch, run[0], made);
	fb_free(work);
	return ret;
}

/* Free the values, which are empty afterwards. */
void fb_cookie_free(struct fb_cookies *c)
{
	fb_free(c->segment);
	*c = (struct fb_cookies) {};
}

/* The memory that values take. */
u64 fb_cookie_bytes(const struct fb_cookies *c)
{
	return (u64)c->room * sizeof(*c->segment);
}

/* Give up a segment, none of whose blocks is looked up any more, until fb_cookie_pack(). */
void fb_cookie_drop(struct fb_cookies *c, u32 i)
{
	c->segment[i].end = c->segment[i].first;
}

/* Close the places of the segments that were given up. No block is looked up meanwhile. */
void fb_cookie_pack(struct fb_cookies *c)
{
	u32 i, kept = 0;

	for (i = 0; i < c->n; i++)
		if (c->segment[i].end > c->segment[i].first)
			c->segment[kept++] = c->segment[i];
	c->n = kept;
}
