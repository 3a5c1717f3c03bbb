/* SPDX-License-Identifier: GPL-2.0 */
/* guard() and scoped_guard() of linux/cleanup.h: a lock is released where its scope ends. */
#ifndef FB_CLEANUP_H
#define FB_CLEANUP_H

#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

/* for current: until the end of the scope it allocates without I/O */
DEFINE_LOCK_GUARD_1(fb_noio, struct task_struct, _T->flags = memalloc_noio_save(),
		    memalloc_noio_restore(_T->flags), unsigned int flags)

/* sparse does not know that the end of a scope releases anything */
#ifdef __CHECKER__
#undef guard
#undef scoped_guard
#define __guard(args...) do { } while (0)
#define guard(_name) __guard
#define scoped_guard(_name, args...)
#endif

#endif /* FB_CLEANUP_H */
