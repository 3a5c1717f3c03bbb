// SPDX-License-Identifier: GPL-2.0
/*
 * What is written on the simulated drive's platters.
 *
 * Locks
 *   mds.lock (mutex): pages, unsummed, scratch, journal.  Process context only; nothing
 *   else is taken under it but the xarray's and the allocator's own locks.
 */
#include <linux/crc32.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mechdisk_store.h"

#define MDS_BLOCK_WORDS	(MDS_BLOCK / sizeof(u64))

/* What a block holds before anything is written to it. */
static void mds_pattern(u64 block, void *page)
{
	u64 first = block * MDS_BLOCK_WORDS;
	__le64 *word = page;
	unsigned int i;

	for (i = 0; i < MDS_BLOCK_WORDS; i++)
		word[i] = cpu_to_le64(first + i);
}

/* The block's content; valid until the next call or the lock is dropped. */
static const u8 *mds_block(struct mds *s, u64 block)
{
	const u8 *page = xa_load(&s->pages, block);

	lockdep_assert_held(&s->lock);
	if (page)
		return page;
	mds_pattern(block, s->scratch);
	return s->scratch;
}

int mds_init(struct mds *s, u64 records)
{
	mutex_init(&s->lock);
	xa_init(&s->pages);
	xa_init(&s->unsummed);
	s->used = 0;
	s->overflow = 0;
	s->room = records;
	s->scratch = kmalloc(MDS_BLOCK, GFP_KERNEL);
	/* + 1: no zero-sized allocation. */
	s->record = vmalloc(array_size(records + 1, sizeof(*s->record)));
	if (s->scratch && s->record)
		return 0;
	mds_exit(s);
	return -ENOMEM;
}

void mds_exit(struct mds *s)
{
	unsigned long block;
	void *page;

	xa_for_each(&s->pages, block, page) {
		kfree(page);
		cond_resched();
	}
	xa_destroy(&s->pages);
	xa_destroy(&s->unsummed);
	kfree(s->scratch);
	vfree(s->record);
	s->scratch = NULL;
	s->record = NULL;
}

void mds_read(struct mds *s, u64 pos, void *buf, size_t len)
{
	u8 *to = buf;

	mutex_lock(&s->lock);
	while (len) {
		size_t at = pos % MDS_BLOCK;
		size_t n = min_t(size_t, len, MDS_BLOCK - at);

		memcpy(to, mds_block(s, pos / MDS_BLOCK) + at, n);
		to += n;
		pos += n;
		len -= n;
	}
	mutex_unlock(&s->lock);
}

/* Allocate one block's page, filled with what the block reads as. */
static int mds_grow(struct mds *s, u64 block)
{
	void *page;
	int ret;

	lockdep_assert_held(&s->lock);
	if (xa_load(&s->pages, block))
		return 0;
	/* NOIO: reclaim must not wait for a write to this very drive. */
	page = kmalloc(MDS_BLOCK, GFP_NOIO | __GFP_NOWARN);
	if (!page)
		return -ENOMEM;
	mds_pattern(block, page);
	ret = xa_err(xa_store(&s->pages, block, page, GFP_NOIO));
	if (ret)
		kfree(page);
	return ret;
}

int mds_prepare(struct mds *s, u64 pos, u64 len)
{
	u64 block = pos / MDS_BLOCK;
	u64 last = (pos + len - 1) / MDS_BLOCK;
	int ret = 0;

	mutex_lock(&s->lock);
	for (; !ret && block <= last; block++)
		ret = mds_grow(s, block);
	mutex_unlock(&s->lock);
	return ret;
}

size_t mds_blocks(struct mds *s, u64 pos, void *buf, size_t len)
{
	u64 index = pos / sizeof(__le64);
	__le64 *to = buf;
	unsigned long block;
	size_t n = 0;
	void *page;

	/* Whole numbers only, as pages of a file have them. */
	if (pos % sizeof(__le64))
		return 0;
	mutex_lock(&s->lock);
	xa_for_each(&s->pages, block, page) {
		if (index) {
			index--;
			continue;
		}
		if ((n + 1) * sizeof(__le64) > len)
			break;
		to[n++] = cpu_to_le64(block);
	}
	mutex_unlock(&s->lock);
	return n * sizeof(__le64);
}

/* The journal. */

static void mds_sum(struct mds *s, u64 index)
{
	struct mds_record *r = s->record + index;

	lockdep_assert_held(&s->lock);
	r->crc = cpu_to_le32(~crc32_le(~0, mds_block(s, le64_to_cpu(r->block)),
				       MDS_BLOCK));
}

/* The block is about to change, or its record to be read. */
static void mds_settle(struct mds *s, u64 block)
{
	void *index;

	lockdep_assert_held(&s->lock);
	if (xa_empty(&s->unsummed))
		return;
	index = xa_erase(&s->unsummed, block);
	if (index)
		mds_sum(s, xa_to_value(index));
}

void mds_write(struct mds *s, u64 pos, const void *buf, size_t len)
{
	const u8 *from = buf;

	mutex_lock(&s->lock);
	while (len) {
		size_t at = pos % MDS_BLOCK;
		size_t n = min_t(size_t, len, MDS_BLOCK - at);
		u8 *page = xa_load(&s->pages, pos / MDS_BLOCK);

		mds_settle(s, pos / MDS_BLOCK);
		if (!WARN_ON_ONCE(!page))
			memcpy(page + at, from, n);
		from += n;
		pos += n;
		len -= n;
	}
	mutex_unlock(&s->lock);
}

void mds_journal(struct mds *s, u64 pos, u64 len, u64 ns)
{
	u64 block = pos / MDS_BLOCK;
	u64 last = (pos + len - 1) / MDS_BLOCK;

	mutex_lock(&s->lock);
	for (; block <= last; block++) {
		struct mds_record *r = s->record + s->used;

		if (s->used == s->room) {
			s->overflow++;
			continue;
		}
		r->block = cpu_to_le64(block);
		r->pad = 0;
		r->ns = cpu_to_le64(ns);
		if (xa_err(xa_store(&s->unsummed, block, xa_mk_value(s->used),
				    GFP_NOIO | __GFP_NOWARN)))
			mds_sum(s, s->used);
		s->used++;
	}
	mutex_unlock(&s->lock);
}

size_t mds_journal_read(struct mds *s, u64 pos, void *buf, size_t len)
{
	const size_t size = sizeof(*s->record);
	size_t done = 0;

	/* One at a time: whoever moves data is not to wait for all. */
	while (done < len) {
		u64 index = (pos + done) / size;
		size_t at = (pos + done) % size;
		size_t n = min(len - done, size - at);
		bool there;

		mutex_lock(&s->lock);
		there = index < s->used;
		if (there) {
			mds_settle(s, le64_to_cpu(s->record[index].block));
			memcpy(buf + done, (u8 *)&s->record[index] + at, n);
		}
		mutex_unlock(&s->lock);
		if (!there)
			break;
		done += n;
		cond_resched();
	}
	return done;
}

void mds_journal_clear(struct mds *s)
{
	mutex_lock(&s->lock);
	xa_destroy(&s->unsummed);
	s->used = 0;
	s->overflow = 0;
	mutex_unlock(&s->lock);
}

void mds_journal_state(struct mds *s, u64 *used, u64 *overflow)
{
	mutex_lock(&s->lock);
	*used = s->used;
	*overflow = s->overflow;
	mutex_unlock(&s->lock);
}
