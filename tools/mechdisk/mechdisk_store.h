/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is written on the simulated drive's platters.
 *
 * Sparse: 4 KiB pages appear when written.  What was never written reads as
 * little-endian u64 words that count from the start of the disk; so a sector of
 * 512 bytes reads as 64 words, word i = LBN * 64 + i.
 *
 * Also the write journal: what every 4 KiB block contained after each write,
 * so that a reader of the disk can be checked without trusting the disk.  Its
 * checksums take their time, so they are not computed before the next write to
 * the block, or the journal's reader, needs them.
 */
#ifndef MECHDISK_STORE_H
#define MECHDISK_STORE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#define MDS_BLOCK	4096

/* One entry of the write journal, as user space reads it. */
struct mds_record {
	__le64 block;	/* which 4 KiB of the disk */
	__le32 crc;	/* CRC-32 as of zlib of the whole block after the write */
	__le32 pad;	/* 0 */
	__le64 ns;	/* when the write was to be reported, CLOCK_MONOTONIC */
};

/* A drive's data. */
struct mds {
	/* private: */
	struct mutex lock;	/* protects all below; taken in process context, sleeps */
	struct xarray pages;	/* block number to 4 KiB page */
	/* block number to the index of its last record, while that has no checksum yet */
	struct xarray unsummed;
	u8 *scratch;	/* pattern of a block never written, rebuilt for each use */
	struct mds_record *record;	/* the journal */
	u64 room;	/* entries it can hold */
	u64 used;	/* entries in it */
	u64 overflow;	/* entries dropped since it was last emptied */
};

/*
 * An empty platter. Context: process, sleeps. Returns 0 or -ENOMEM. @records: entries of the
 * journal; 0 for none.
 */
int mds_init(struct mds *s, u64 records);

/* Free all pages and the journal. */
void mds_exit(struct mds *s);

/* Copy data off the platter. Context: process, sleeps. */
void mds_read(struct mds *s, u64 pos, void *buf, size_t len);

/*
 * Make room for a write. Context: process, may sleep, starts no I/O. Returns 0 or -ENOMEM; then
 * nothing has changed that a reader could see. @len: bytes, at least 1.
 */
int mds_prepare(struct mds *s, u64 pos, u64 len);

/*
 * Copy data onto the platter. Context: process, sleeps. @pos: first byte; mds_prepare() was
 * called for them. @buf: where from.
 */
void mds_write(struct mds *s, u64 pos, const void *buf, size_t len);

/*
 * Which blocks have been written to. Context: process, sleeps. Returns bytes copied. @pos: first
 * byte of a list of their numbers, le64, ascending.
 */
size_t mds_blocks(struct mds *s, u64 pos, void *buf, size_t len);

/*
 * Record a finished write. One entry for each 4 KiB block touched.  Entries that find no room are
 * dropped and counted.  Context: process, sleeps. @len: bytes, at least 1. @ns: when it is to be
 * reported.
 */
void mds_journal(struct mds *s, u64 pos, u64 len, u64 ns);

/* Copy entries of the journal. Returns bytes copied. */
size_t mds_journal_read(struct mds *s, u64 pos, void *buf, size_t len);

/* Empty the journal. */
void mds_journal_clear(struct mds *s);

/*
 * How full the journal is. @used: set to the entries in it. @overflow: set to the entries dropped.
 */
void mds_journal_state(struct mds *s, u64 *used, u64 *overflow);

#endif /* MECHDISK_STORE_H */
