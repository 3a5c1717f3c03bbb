/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's elevator interface (its private header block/elevator.h). A wrong layout here
 * crashes the kernel, and module versions do not notice it: so the build compares this with the
 * target kernel's BTF (tools/build/check-btf), and refuses a kernel that differs. The numbers say
 * in which release of kernel.org a difference appeared; tried on 6.1, 6.12 and 7.2.
 */
#ifndef FB_COMPAT_ELEVATOR_H
#define FB_COMPAT_ELEVATOR_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hashtable.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(8, 0, 0)
#error "freeblock: include/compat covers Linux 6.1 to 7.x; add this kernel's elevator declarations"
#endif

struct blk_mq_debugfs_attr;
struct blk_mq_ctx;
struct elevator_queue;
struct elevator_type;
struct io_cq;

/* how insert_requests() is told to put requests first */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
typedef unsigned int __bitwise blk_insert_t;
#define FB_ELV_INSERT_T		blk_insert_t
#define FB_ELV_INSERT_AT_HEAD	((__force blk_insert_t)0x01)
#else
#define FB_ELV_INSERT_T		bool
#define FB_ELV_INSERT_AT_HEAD	true
#endif

/* who allocates the elevator_queue: the scheduler, or, with the requests, the block layer */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 4)
#define FB_ELV_QUEUE_GIVEN
struct elevator_tags;
#endif

/* depth_updated() is called for a queue, or for each of its hardware queues */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 3)
#define FB_ELV_DEPTH_OF_QUEUE
#endif

/* block/blk-mq.h: describes a request about to be allocated */
struct blk_mq_alloc_data {
	struct request_queue *q;
	blk_mq_req_flags_t flags;
	unsigned int shallow_depth;
	blk_opf_t cmd_flags;
	req_flags_t rq_flags;
	unsigned int nr_tags;
#ifdef rq_list_peek		/* a list was a pointer to its first request, and this a macro */
	struct request **cached_rq;
#else
	struct rq_list *cached_rqs;
#endif
	struct blk_mq_ctx *ctx;
	struct blk_mq_hw_ctx *hctx;
};

enum elv_merge {
	ELEVATOR_NO_MERGE	= 0,
	ELEVATOR_FRONT_MERGE	= 1,
	ELEVATOR_BACK_MERGE	= 2,
	ELEVATOR_DISCARD_MERGE	= 3,
};

struct elevator_mq_ops {
#ifdef FB_ELV_QUEUE_GIVEN
	int (*init_sched)(struct request_queue *q, struct elevator_queue *eq);
#else
	int (*init_sched)(struct request_queue *q, struct elevator_type *e);
#endif
	void (*exit_sched)(struct elevator_queue *eq);
	int (*init_hctx)(struct blk_mq_hw_ctx *hctx, unsigned int idx);
	void (*exit_hctx)(struct blk_mq_hw_ctx *hctx, unsigned int idx);
#ifdef FB_ELV_DEPTH_OF_QUEUE
	void (*depth_updated)(struct request_queue *q);
#else
	void (*depth_updated)(struct blk_mq_hw_ctx *hctx);
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 3)
	void *(*alloc_sched_data)(struct request_queue *q);
	void (*free_sched_data)(void *data);
#endif

	bool (*allow_merge)(struct request_queue *q, struct request *rq, struct bio *bio);
	bool (*bio_merge)(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
	int (*request_merge)(struct request_queue *q, struct request **rq, struct bio *bio);
	void (*request_merged)(struct request_queue *q, struct request *rq, enum elv_merge type);
	void (*requests_merged)(struct request_queue *q, struct request *rq, struct request *next);
	void (*limit_depth)(blk_opf_t opf, struct blk_mq_alloc_data *data);
	void (*prepare_request)(struct request *rq);
	void (*finish_request)(struct request *rq);
	void (*insert_requests)(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				FB_ELV_INSERT_T flags);
	struct request *(*dispatch_request)(struct blk_mq_hw_ctx *hctx);
	bool (*has_work)(struct blk_mq_hw_ctx *hctx);
	void (*completed_request)(struct request *rq, u64 now);
	void (*requeue_request)(struct request *rq);
	struct request *(*former_request)(struct request_queue *q, struct request *rq);
	struct request *(*next_request)(struct request_queue *q, struct request *rq);
	void (*init_icq)(struct io_cq *icq);
	void (*exit_icq)(struct io_cq *icq);
};

#define ELV_NAME_MAX 16
#define ELV_HASH_BITS 6

struct elv_fs_entry {
	struct attribute attr;
	ssize_t (*show)(struct elevator_queue *eq, char *page);
	ssize_t (*store)(struct elevator_queue *eq, const char *page, size_t count);
};

struct elevator_type {
	struct kmem_cache *icq_cache;
	struct elevator_mq_ops ops;
	size_t icq_size;
	size_t icq_align;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	const struct elv_fs_entry *elevator_attrs;
#else
	struct elv_fs_entry *elevator_attrs;
#endif
	const char *elevator_name;
	const char *elevator_alias;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	const unsigned int elevator_features;
#endif
	struct module *elevator_owner;
#ifdef CONFIG_BLK_DEBUG_FS
	const struct blk_mq_debugfs_attr *queue_debugfs_attrs;
	const struct blk_mq_debugfs_attr *hctx_debugfs_attrs;
#endif
	char icq_cache_name[ELV_NAME_MAX + 6];
	struct list_head list;
};

struct elevator_queue {
	struct elevator_type *type;
#ifdef FB_ELV_QUEUE_GIVEN
	struct elevator_tags *et;
#endif
	void *elevator_data;
	struct kobject kobj;
	struct mutex sysfs_lock;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	unsigned long flags;
#else
	unsigned int registered:1;
#endif
	DECLARE_HASHTABLE(hash, ELV_HASH_BITS);
};

/* exported by the kernel, declared only in its private headers */
int elv_register(struct elevator_type *e);
void elv_unregister(struct elevator_type *e);
#ifndef FB_ELV_QUEUE_GIVEN
struct elevator_queue *elevator_alloc(struct request_queue *q, struct elevator_type *e);
#endif
bool elv_bio_merge_ok(struct request *rq, struct bio *bio);
void elv_rqhash_add(struct request_queue *q, struct request *rq);
void elv_rqhash_del(struct request_queue *q, struct request *rq);
void elv_rb_add(struct rb_root *root, struct request *rq);
void elv_rb_del(struct rb_root *root, struct request *rq);
struct request *elv_rb_find(struct rb_root *root, sector_t sector);
struct request *elv_rb_former_request(struct request_queue *q, struct request *rq);
struct request *elv_rb_latter_request(struct request_queue *q, struct request *rq);
bool blk_mq_sched_try_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs,
			    struct request **merged_request);
bool blk_mq_sched_try_insert_merge(struct request_queue *q, struct request *rq,
				   struct list_head *free);

#endif /* FB_COMPAT_ELEVATOR_H */
