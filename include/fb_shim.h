/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pure-C core needs from its host, mapped to the kernel or to libc. The core (core/,
 * disk_model.c, fb_bitmap.c) takes no locks, sleeps only in fb_zalloc() and fb_free(), and uses no
 * floating point.
 */
#ifndef FB_SHIM_H
#define FB_SHIM_H

#define FB_PPM 1000000	/* shares are in millionths ... */
#define FB_ONE 65536	/* ... or, where they are averaged, in parts of this */
#define FB_ONE_SHIFT 16
#define FB_PS_PER_NS 1000
#define FB_DAY_NS (86400ULL * NSEC_PER_SEC)

#ifdef __KERNEL__

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/crc32.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>
#include <vdso/time64.h>

/*
 * Zeroed, virtually contiguous memory of any size, or NULL. A queue may be frozen: the kernel host
 * calls the core inside memalloc_noio_save().
 */
static inline void *fb_zalloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL);
}

static inline void fb_free(const void *p)
{
	kvfree(p);
}

#else /* user space */

#include "fb_shim_user.h"

#endif /* __KERNEL__ */

/* the first of 0 .. @n - 1 for which @before, an expression of @i, is no longer true, or @n */
#define fb_bisect(i, n, before) ({						\
	u32 _lo = 0, _hi = (n);							\
										\
	while (_lo < _hi) {							\
		u32 i = (_lo + _hi) / 2;						\
										\
		if (before)							\
			_lo = i + 1;						\
		else								\
			_hi = i;						\
	}									\
	_lo;									\
})

#endif /* FB_SHIM_H */
