/* SPDX-License-Identifier: GPL-2.0 */
/* The part of include/fb_shim.h for user space, by which alone it is included: to libc. */
#ifndef FB_SHIM_USER_H
#define FB_SHIM_USER_H

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define le32_to_cpu(x) le32toh(x)
#define le64_to_cpu(x) le64toh(x)

#define __printf(fmt, args) __attribute__((__format__(__printf__, fmt, args)))

#define noinline __attribute__((__noinline__))

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S64_MAX INT64_MAX
#define S64_MIN INT64_MIN
#define USEC_PER_SEC 1000000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define BITS_PER_LONG (8 * (unsigned int)sizeof(long))
#define BITS_TO_LONGS(n) (((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define clamp(a, lo, hi) min(max(a, lo), hi)
#define clamp_t(t, a, lo, hi) clamp((t)(a), (t)(lo), (t)(hi))
#define min_t(t, a, b) min((t)(a), (t)(b))
#define max_t(t, a, b) max((t)(a), (t)(b))
#define swap(a, b) do { __typeof__(a) _s = (a); (a) = (b); (b) = _s; } while (0)
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))

static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline s64 div_s64(s64 a, s32 b) { return a / b; }
static inline s64 div64_s64(s64 a, s64 b) { return a / b; }
static inline u64 div_u64_rem(u64 a, u32 b, u32 *r) { *r = a % b; return a / b; }
static inline u64 div64_u64_rem(u64 a, u64 b, u64 *r) { *r = a % b; return a / b; }

static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int s)
{
	return ((unsigned __int128)a * b) >> s;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int s)
{
	return ((unsigned __int128)a * b) >> s;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (unsigned __int128)a * b / c;
}

/* the largest number whose square is at most @x */
static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= x)
			root += bit;
	return root;
}

static inline unsigned int hweight_long(unsigned long w) { return __builtin_popcountl(w); }
static inline unsigned long __ffs(unsigned long w) { return __builtin_ctzl(w); }
static inline unsigned long __fls(unsigned long w) { return BITS_PER_LONG - 1 - __builtin_clzl(w); }
#define BIT_ULL(n) (1ULL << (n))
static inline unsigned long __ffs64(u64 w) { return __builtin_ctzll(w); }
static inline int fls64(u64 w) { return w ? 64 - __builtin_clzll(w) : 0; }

static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size,
					  unsigned long from)
{
	unsigned long at = from / BITS_PER_LONG, w;

	if (from >= size)
		return size;
	for (w = map[at] & (~0UL << (from % BITS_PER_LONG)); !w; w = map[at])
		if (++at * BITS_PER_LONG >= size)
			return size;
	return min(size, at * BITS_PER_LONG + __ffs(w));
}

#define for_each_set_bit(bit, map, size)					\
	for ((bit) = find_next_bit(map, size, 0); (bit) < (size);		\
	     (bit) = find_next_bit(map, size, (bit) + 1))

/* nobody hands in a swap function */
#define sort(base, n, size, cmp, swap) qsort(base, n, size, cmp)

/* one nibble at a time */
static inline u32 crc32_le(u32 crc, const unsigned char *p, size_t len)
{
	static const u32 table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	while (len--) {
		crc ^= *p++;
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return crc;
}

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l) { l->next = l->prev = l; }
static inline bool list_empty(const struct list_head *l) { return l->next == l; }

static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	n->prev = h->prev;
	n->next = h;
	h->prev->next = n;
	h->prev = n;
}

static inline void list_add(struct list_head *n, struct list_head *h)
{
	list_add_tail(n, h->next);
}

static inline void list_del_init(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	INIT_LIST_HEAD(n);
}

static inline void list_splice_init(struct list_head *from, struct list_head *h)
{
	if (list_empty(from))
		return;
	from->prev->next = h->next;
	h->next->prev = from->prev;
	from->next->prev = h;
	h->next = from->next;
	INIT_LIST_HEAD(from);
}

#define WRITE_ONCE(x, value) ((x) = (value))

#define list_entry(p, type, member) container_of(p, type, member)
#define list_first_entry(h, type, member) list_entry((h)->next, type, member)
#define list_last_entry(h, type, member) list_entry((h)->prev, type, member)
#define list_first_entry_or_null(h, type, member)				\
	(list_empty(h) ? NULL : list_first_entry(h, type, member))
#define list_for_each_entry(pos, h, member)					\
	for (pos = list_entry((h)->next, __typeof__(*pos), member);		\
	     &pos->member != (h);						\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

static inline void *fb_zalloc(size_t bytes) { return calloc(1, bytes); }
static inline void fb_free(const void *p) { free((void *)p); }

#endif /* FB_SHIM_USER_H */
