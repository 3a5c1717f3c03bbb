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
 * Lay @n ranges, of which later ones win, over @old in a new array. Return: 0; -ENOSPC: more than
 * FB_COOKIE_MAX segments; -ENOMEM.
 */
int fb_cookie_lay(const struct fb_cookies *old, const struct fb_cookie_segment *range, u32 n,
		  struct fb_cookies *made)
{
	/* the batch by itself first, as @old may be long: each range adds two segments at most */
	struct fb_cookie_segment *work = fb_zalloc(4 * (size_t)n * sizeof(*work));
	struct fb_cookie_out batch = { .segment = work }, out = { .sparse = true };
	struct fb_cookie_segment *spare;
	u32 room, i;

	if (!work)
		return -ENOMEM;
	for (i = 0, spare = work + 2 * n; i < n; i++) {
		struct fb_cookie_out next = { .segment = spare };

		fb_cookie_overlay(batch.segment, batch.n, &range[i], 1, &next);
		spare = batch.segment;
		batch = next;
	}
	room = old->n + 2 * batch.n;
	out.segment = fb_zalloc((size_t)room * sizeof(*out.segment));
	if (out.segment)
		fb_cookie_overlay(old->segment, old->n, batch.segment, batch.n, &out);
	fb_free(work);
	if (!out.segment)
		return -ENOMEM;
	if (out.n > FB_COOKIE_MAX) {
		fb_free(out.segment);
		return -ENOSPC;
	}
	*made = (struct fb_cookies) { out.segment, out.n, room };
	return 0;
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
