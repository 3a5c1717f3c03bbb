// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive loses its power; see mechdisk_power.h.
 *
 * Locks
 *   mdh.lock (spinlock, the drive's): all of struct mdx.  The log, once there, stays until
 *   mdx_exit(); mdx_plan() alone makes it, and its callers take turns (mdc.conf).  The bytes
 *   behind a record of kind MDX_OLD are filled without the lock, by the worker; who reads the
 *   log waits for the worker.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/vmalloc.h>

#include "mechdisk_power.h"

/* Some seconds of a busy drive with a file system on it. */
#define MDX_LOG_BYTES	(32U << 20)

void mdx_init(struct mdx *x, spinlock_t *lock)
{
	x->lock = lock;
	x->cut_ns = MDE_NEVER;
	x->log = NULL;
	x->used = 0;
	x->overflow = 0;
}

void mdx_exit(struct mdx *x)
{
	vfree(x->log);
	x->log = NULL;
}

u64 mdx_now(const struct mdx *x)
{
	lockdep_assert_held(x->lock);
	return min(ktime_get_ns(), x->cut_ns);
}
EXPORT_SYMBOL_GPL(mdx_now);

bool mdx_is_dead(const struct mdx *x)
{
	lockdep_assert_held(x->lock);
	return ktime_get_ns() >= x->cut_ns;
}
EXPORT_SYMBOL_GPL(mdx_is_dead);

int mdx_plan(struct mdx *x, u64 cut_ns)
{
	u8 *log = x->log ?: vmalloc(MDX_LOG_BYTES);
	int ret = 0;

	if (!log)
		return -ENOMEM;
	spin_lock_irq(x->lock);
	x->log = log;
	if (mdx_is_dead(x))
		ret = -EBUSY;
	else
		x->cut_ns = cut_ns;
	spin_unlock_irq(x->lock);
	return ret;
}

/* Room for a record with so many bytes behind it, filled in but for those; or NULL. */
static void *mdx_append(struct mdx *x, u32 kind, const struct mde_pass *pass, size_t bytes)
{
	struct mdx_record r = {
		.kind = cpu_to_le32(kind),
		.count = cpu_to_le32(pass->count),
		.lbn = cpu_to_le64(pass->lbn),
		.from_ns = cpu_to_le64(pass->from_ns),
		.to_ns = cpu_to_le64(pass->to_ns),
	};
	u8 *at = x->log + x->used;

	lockdep_assert_held(x->lock);
	if (!x->log)
		return NULL;
	if (bytes + sizeof(r) > MDX_LOG_BYTES - x->used) {
		x->overflow++;
		return NULL;
	}
	memcpy(at, &r, sizeof(r));
	x->used += sizeof(r) + bytes;
	return at + sizeof(r);
}

void mdx_pass(void *arg, const struct mde_pass *pass)
{
	mdx_append(arg, pass->op, pass, 0);
}

void *mdx_old(struct mdx *x, const struct mde_pass *pass, size_t bytes)
{
	void *old;

	spin_lock_irq(x->lock);
	old = mdx_append(x, MDX_OLD, pass, bytes);
	spin_unlock_irq(x->lock);
	return old;
}
