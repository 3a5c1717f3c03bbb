// SPDX-License-Identifier: GPL-2.0
/* Accounting of the memory of all disks' tasks, and its limit, memory_mib. Locks: none. */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "disk/parts.h"
#include "include/compat/fb_cleanup.h"
#include "include/freeblock.h"

static unsigned int memory_mib = 1024;
module_param(memory_mib, uint, 0644);
MODULE_PARM_DESC(memory_mib, "most memory that all tasks may take together, MiB");

static atomic64_t fb_memory_bytes;

/* Charge memory to an account; -ENOSPC, with a line in the log: memory_mib would be exceeded. */
int fb_memory_charge(u64 *account, u64 bytes, const char *what)
{
	unsigned int most_mib = READ_ONCE(memory_mib);

	if (atomic64_add_return(bytes, &fb_memory_bytes) > (u64)most_mib << 20) {
		atomic64_sub(bytes, &fb_memory_bytes);
		pr_err("freeblock: %s needs %llu KiB, more than memory_mib=%u leaves: stop a task or raise memory_mib\n",
		       what, bytes >> 10, most_mib);
		return -ENOSPC;
	}
	*account += bytes;
	return 0;
}

/* Undo fb_memory_charge(). @account: the same account. */
void fb_memory_uncharge(u64 *account, u64 bytes)
{
	atomic64_sub(bytes, &fb_memory_bytes);
	*account -= bytes;
}

/* Check that all memory has been uncharged. At module exit. */
void fb_memory_exit(void)
{
	WARN_ON_ONCE(atomic64_read(&fb_memory_bytes));
}

/* ---- the interface, documented in include/freeblock.h ---- */

void *freeblock_alloc(u64 bytes, const char *what)
{
	u64 account = 0;
	void *p;

	guard(fb_noio)(current);
	if (fb_memory_charge(&account, bytes, what))
		return ERR_PTR(-ENOSPC);
	/* kvzalloc() warns of more than 2 GiB; memory_mib may allow it */
	p = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (p)
		return p;
	fb_memory_uncharge(&account, bytes);
	return ERR_PTR(-ENOMEM);
}
EXPORT_SYMBOL_GPL(freeblock_alloc);

void freeblock_free(void *p, u64 bytes)
{
	if (p)
		fb_memory_uncharge(&bytes, bytes);
	vfree(p);
}
EXPORT_SYMBOL_GPL(freeblock_free);
