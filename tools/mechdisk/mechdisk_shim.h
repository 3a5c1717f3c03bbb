/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few names that let the drive itself (engine, mechanics, cache, layout) and
 * the text parser compile in the kernel and in user space.
 *
 * Nothing else in them depends on where they run.  64-bit only: they divide u64
 * with plain operators.
 */
#ifndef MECHDISK_SHIM_H
#define MECHDISK_SHIM_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>

#if BITS_PER_LONG != 64
#error "mechdisk needs a 64-bit kernel"
#endif

/* Process context, may sleep. */
static inline void *mdk_zalloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL);
}

static inline void mdk_free(void *mem)
{
	kvfree(mem);
}

static inline void mdk_sort(void *array, size_t n, size_t size,
			    int (*cmp)(const void *a, const void *b))
{
	sort(array, n, size, cmp, NULL);
}

#else /* user space */

#include <errno.h>
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

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S64_MAX INT64_MAX
#define NSEC_PER_SEC 1000000000L
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define sizeof_field(type, field) sizeof(((type *)0)->field)
#define __printf(a, b) __attribute__((format(printf, a, b)))
/* Of a symbol that another module of ours needs. */
#define EXPORT_SYMBOL_GPL(symbol) struct mdk_export_##symbol
#define fallthrough __attribute__((__fallthrough__))
/* As in the kernel, each argument is worked out once. */
#define min(a, b) ({			\
	__auto_type min_a = (a);	\
	__auto_type min_b = (b);	\
	min_a < min_b ? min_a : min_b;	\
})
#define max(a, b) ({			\
	__auto_type max_a = (a);	\
	__auto_type max_b = (b);	\
	max_a > max_b ? max_a : max_b;	\
})
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline void *mdk_zalloc(size_t bytes)
{
	return calloc(1, bytes);
}

static inline void mdk_free(void *mem)
{
	free(mem);
}

static inline void mdk_sort(void *array, size_t n, size_t size,
			    int (*cmp)(const void *a, const void *b))
{
	qsort(array, n, size, cmp);
}

#endif /* __KERNEL__ */

/* Number of the lowest bit set in @mask, which is not 0. */
static inline int mdk_lowest(u32 mask)
{
	return __builtin_ctz(mask);
}

#endif /* MECHDISK_SHIM_H */
