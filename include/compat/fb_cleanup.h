/* SPDX-License-Identifier: GPL-2.0 */
/* guard() and scoped_guard() of linux/cleanup.h: a lock is released where its scope ends. */
#ifndef FB_CLEANUP_H
#define FB_CLEANUP_H

#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

/* early releases of 6.1, and 6.2 to 6.4 */
#ifndef guard
#define DEFINE_LOCK_GUARD_1(_name, _type, _lock, _unlock, ...)			\
	struct class_##_name { typeof(_type) *lock; __VA_ARGS__; };		\
	static inline void class_##_name##_end(struct class_##_name *_T)	\
	{									\
		_unlock;							\
	}									\
	static inline struct class_##_name class_##_name##_begin(typeof(_type) *l)	\
	{									\
		struct class_##_name _t = { .lock = l }, *_T = &_t;		\
										\
		_lock;								\
		return _t;							\
	}
#define CLASS(_name, _var)							\
	struct class_##_name _var __attribute__((__cleanup__(class_##_name##_end))) = \
		class_##_name##_begin
#define guard(_name) CLASS(_name, __UNIQUE_ID(guard))
#define scoped_guard(_name, args...)						\
	for (CLASS(_name, scope)(args), *done = NULL; !done; done = (void *)1)

DEFINE_LOCK_GUARD_1(mutex, struct mutex, mutex_lock(_T->lock), mutex_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(spinlock, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(spinlock_irq, spinlock_t, spin_lock_irq(_T->lock), spin_unlock_irq(_T->lock))
DEFINE_LOCK_GUARD_1(spinlock_irqsave, spinlock_t, spin_lock_irqsave(_T->lock, _T->flags),
		    spin_unlock_irqrestore(_T->lock, _T->flags), unsigned long flags)
#endif

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
