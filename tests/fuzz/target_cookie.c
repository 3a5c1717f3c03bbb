// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: disk/cookie.c beside an array with the value of each block. Batches of
 * ranges are laid over each other, segments given up and their places closed; after each step
 * every block must have the array's value.
 *
 * Planted bugs, each seen to fail within four seconds: a segment without its first block; the
 * rest of a lower segment lost when one block of it is left; too little room for a batch, and for
 * its result; one segment fewer allowed than FB_COOKIE_MAX.
 */
#include <errno.h>

#include "disk/cookie.h"
#include "fuzz.h"

#define BLOCKS 96
#define RANGES 24

/**
 * struct pair - the same values twice
 * @c: as the module has them
 * @value: one by one
 * @base: number of the first block
 */
struct pair {
	struct fb_cookies c;
	u64 value[BLOCKS];
	u64 base;
};

static void compare(const struct pair *p)
{
	const struct fb_cookie_segment *s = p->c.segment;
	u32 i;

	for (i = 0; i < BLOCKS; i++)
		fuzz_check(fb_cookie_find(&p->c, p->base + i) == p->value[i]);
	fuzz_check(!fb_cookie_find(&p->c, p->base + BLOCKS));
	fuzz_check(!p->base || !fb_cookie_find(&p->c, p->base - 1));
	fuzz_check(p->c.n <= p->c.room && p->c.n <= FB_COOKIE_MAX);
	fuzz_check(fb_cookie_bytes(&p->c) == p->c.room * sizeof(*s));
	for (i = 0; i < p->c.n; i++) {
		fuzz_check(s[i].first <= s[i].end && s[i].value);
		fuzz_check(!i || s[i - 1].end <= s[i].first);
	}
}

static void lay(struct pair *p, struct fuzz_bytes *in)
{
	u32 n = 1 + fuzz_byte(in) % RANGES, i, b;
	/* of just the size, so that a read or write beyond it is seen */
	struct fb_cookie_segment *range = malloc(n * sizeof(*range));
	struct fb_cookies made = { 0 };

	for (i = 0; i < n; i++) {
		u32 first = fuzz_byte(in) % BLOCKS;
		u32 count = 1 + fuzz_byte(in) % (BLOCKS - first);

		range[i] = (struct fb_cookie_segment){ p->base + first, p->base + first + count,
						       fuzz_byte(in) % 4 };
		for (b = first; b < first + count; b++)
			p->value[b] = range[i].value;
	}
	fuzz_check(!fb_cookie_lay(&p->c, range, n, &made));
	free(range);
	fb_cookie_free(&p->c);
	p->c = made;
}

/* given up segments are looked up like those that never were, packed or not */
static void drop(struct pair *p, struct fuzz_bytes *in)
{
	const struct fb_cookie_segment *s;
	u64 at;

	if (!p->c.n)
		return;
	s = &p->c.segment[fuzz_byte(in) % p->c.n];
	for (at = s->first; at < s->end; at++)
		p->value[at - p->base] = 0;
	fb_cookie_drop(&p->c, s - p->c.segment);
}

/* as many segments as there may be, less some; one call more must not make it too many */
static void try_full(struct fuzz_bytes *in)
{
	u32 n = FB_COOKIE_MAX - fuzz_byte(in) % 4, i, more = 1 + fuzz_byte(in) % 4;
	struct fb_cookie_segment range[4];
	struct fb_cookies c = { malloc(n * sizeof(*c.segment)), n, n }, made = { 0 };
	int ret;

	/* every second block */
	for (i = 0; i < n; i++)
		c.segment[i] = (struct fb_cookie_segment){ 2 * i, 2 * i + 1, 1 };
	/* each of them beyond the others */
	for (i = 0; i < more; i++)
		range[i] = (struct fb_cookie_segment){ 2 * (n + i), 2 * (n + i) + 1, 1 };
	ret = fb_cookie_lay(&c, range, more, &made);
	fuzz_check(ret == (n + more > FB_COOKIE_MAX ? -ENOSPC : 0));
	fuzz_check(ret ? !made.segment : made.n == n + more);
	fb_cookie_free(&made);
	fb_cookie_free(&c);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_bytes in = { data, size };
	struct pair p = { .base = 0 };
	u8 kind = fuzz_byte(&in);

	if (kind == 0xff && size < 4)
		try_full(&in);
	if (kind & 1)
		p.base = 1ULL << (kind % 58);
	while (in.left) {
		switch (fuzz_byte(&in) % 4) {
		case 0:
			drop(&p, &in);
			break;
		case 1:
			fb_cookie_pack(&p.c);
			break;
		default:
			lay(&p, &in);
		}
		compare(&p);
	}
	fuzz_deep += p.c.n > 0;
	fb_cookie_free(&p.c);
	return 0;
}
