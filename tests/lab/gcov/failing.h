/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before all else into a module that counts its branches: what it asks the kernel for
 * is refused when fbgcov says so (failing.c). The stock kernel has no fault injection of its own.
 *
 * Errors are those of the kernel's functions without memory; of the registration of a scheduler
 * and the state of CPUs, which take none, one of those that they may return.
 */
#ifndef FBGCOV_FAILING_H
#define FBGCOV_FAILING_H

#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/kobject.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/sbitmap.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

bool fbgcov_fails(void);
struct task_struct *fbgcov_kthread_create(int (*fn)(void *data), void *data,
					  const char *name, ...) __printf(3, 4);
int fbgcov_kobject_init_and_add(struct kobject *kobj, const struct kobj_type *ktype,
				struct kobject *parent, const char *name, ...) __printf(4, 5);

#ifndef FBGCOV_DECLARE_ONLY

struct elevator_type;
int elv_register(struct elevator_type *e);

/* Each is the kernel's function, but fails in its turn. */

static inline void *fbgcov_kmalloc(size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kmalloc(size, gfp);
}

static inline void *fbgcov_kzalloc(size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kzalloc(size, gfp);
}

static inline void *fbgcov_kzalloc_node(size_t size, gfp_t gfp, int node)
{
	return fbgcov_fails() ? NULL : kzalloc_node(size, gfp, node);
}

static inline void *fbgcov_kcalloc(size_t n, size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kcalloc(n, size, gfp);
}

static inline void *fbgcov_kvmalloc(size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kvmalloc(size, gfp);
}

static inline void *fbgcov_kvzalloc(size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kvzalloc(size, gfp);
}

static inline void *fbgcov_kvzalloc_node(size_t size, gfp_t gfp, int node)
{
	return fbgcov_fails() ? NULL : kvzalloc_node(size, gfp, node);
}

static inline void *fbgcov_kvmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kvmalloc_array(n, size, gfp);
}

static inline void *fbgcov_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kvcalloc(n, size, gfp);
}

static inline char *fbgcov_kstrdup(const char *text, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : kstrdup(text, gfp);
}

static inline void *fbgcov___vmalloc(unsigned long size, gfp_t gfp)
{
	return fbgcov_fails() ? NULL : __vmalloc(size, gfp);
}

static inline void *fbgcov_vmap(struct page **pages, unsigned int n, unsigned long flags,
				pgprot_t prot)
{
	return fbgcov_fails() ? NULL : vmap(pages, n, flags, prot);
}

static inline struct page *fbgcov_alloc_pages(gfp_t gfp, unsigned int order)
{
	return fbgcov_fails() ? NULL : alloc_pages(gfp, order);
}

static inline int fbgcov_sbitmap_init_node(struct sbitmap *map, unsigned int depth, int shift,
					   gfp_t gfp, int node, bool turn, bool hint)
{
	return fbgcov_fails() ? -ENOMEM :
		sbitmap_init_node(map, depth, shift, gfp, node, turn, hint);
}

static inline struct kobject *fbgcov_kobject_create_and_add(const char *name,
							    struct kobject *parent)
{
	return fbgcov_fails() ? NULL : kobject_create_and_add(name, parent);
}

static inline int fbgcov_misc_register(struct miscdevice *misc)
{
	return fbgcov_fails() ? -ENOMEM : misc_register(misc);
}

static inline int fbgcov_cpuhp_setup_state_nocalls(enum cpuhp_state state, const char *name,
						   int (*startup)(unsigned int cpu),
						   int (*teardown)(unsigned int cpu))
{
	return fbgcov_fails() ? -ENOSPC :
		cpuhp_setup_state_nocalls(state, name, startup, teardown);
}

static inline int fbgcov_elv_register(struct elevator_type *e)
{
	return fbgcov_fails() ? -ENOMEM : elv_register(e);
}

static inline struct workqueue_struct *fbgcov_alloc_workqueue(const char *name,
							      unsigned int flags, int active)
{
	return fbgcov_fails() ? NULL : alloc_workqueue("%s", flags, active, name);
}

#define kmalloc fbgcov_kmalloc
#define kzalloc fbgcov_kzalloc
#define kzalloc_node fbgcov_kzalloc_node
#define kcalloc fbgcov_kcalloc
#define kvmalloc fbgcov_kvmalloc
#define kvzalloc fbgcov_kvzalloc
#define kvzalloc_node fbgcov_kvzalloc_node
#define kvmalloc_array fbgcov_kvmalloc_array
#define kvcalloc fbgcov_kvcalloc
#define kstrdup fbgcov_kstrdup
#define __vmalloc fbgcov___vmalloc
#define vmap fbgcov_vmap
#define alloc_pages fbgcov_alloc_pages
#define sbitmap_init_node fbgcov_sbitmap_init_node
#define kobject_create_and_add fbgcov_kobject_create_and_add
#define misc_register fbgcov_misc_register
#define cpuhp_setup_state_nocalls fbgcov_cpuhp_setup_state_nocalls
#define elv_register fbgcov_elv_register
#define alloc_workqueue fbgcov_alloc_workqueue
#define kobject_init_and_add fbgcov_kobject_init_and_add
#define kobject_add(...) (fbgcov_fails() ? -ENOMEM : kobject_add(__VA_ARGS__))
#define kobject_rename(...) (fbgcov_fails() ? -ENOMEM : kobject_rename(__VA_ARGS__))
#undef kthread_create
#define kthread_create fbgcov_kthread_create

#endif /* FBGCOV_DECLARE_ONLY */

#endif /* FBGCOV_FAILING_H */
