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

/**
 * struct mds_record - one entry of the write journal, as user space reads it
 * @block: which 4 KiB of the disk
 * @crc: CRC-32 as of zlib of the whole block after the write
 * @pad: 0
 * @ns: when the write was to be reported, CLOCK_MONOTONIC
 */
struct mds_record {
	__le64 block;
	__le32 crc;
	__le32 pad;
	__le64 ns;
};

/**
 * struct mds - a drive's data
 * @lock: protects all below; taken in process context, sleeps
 * @pages: block number to 4 KiB page
 * @unsummed: block number to the index of its last record, while that has no
 *	checksum yet
 * @scratch: pattern of a block never written, rebuilt for each use
 * @record: the journal
 * @room: entries it can hold
 * @used: entries in it
 * @overflow: entries dropped since it was last emptied
 */
struct mds {
	/* private: */
	struct mutex lock;
	struct xarray pages;
	struct xarray unsummed;
	u8 *scratch;
	struct mds_record *record;
	u64 room;
	u64 used;
	u64 overflow;
};

/**
 * mds_init() - an empty platter
 * @s: the store
 * @records: entries of the journal; 0 for none
 *
 * Context: process, sleeps.
 * Return: 0 or -ENOMEM.
 */
int mds_init(struct mds *s, u64 records);

/**
 * mds_exit() - free all pages and the journal
 * @s: the store
 */
void mds_exit(struct mds *s);

/**
 * mds_read() - copy data off the platter
 * @s: the store
 * @pos: first byte
 * @buf: where to
 * @len: bytes
 *
 * Context: process, sleeps.
 */
void mds_read(struct mds *s, u64 pos, void *buf, size_t len);

/**
 * mds_prepare() - make room for a write
 * @s: the store
 * @pos: first byte
 * @len: bytes, at least 1
 *
 * Context: process, may sleep, starts no I/O.
 * Return: 0 or -ENOMEM; then nothing has changed that a reader could see.
 */
int mds_prepare(struct mds *s, u64 pos, u64 len);

/**
 * mds_write() - copy data onto the platter
 * @s: the store
 * @pos: first byte; mds_prepare() was called for them
 * @buf: where from
 * @len: bytes
 *
 * Context: process, sleeps.
 */
void mds_write(struct mds *s, u64 pos, const void *buf, size_t len);

/**
 * mds_blocks() - which blocks have been written to
 * @s: the store
 * @pos: first byte of a list of their numbers, le64, ascending
 * @buf: where to
 * @len: bytes
 *
 * Context: process, sleeps.
 * Return: bytes copied.
 */
size_t mds_blocks(struct mds *s, u64 pos, void *buf, size_t len);

/**
 * mds_journal() - record a finished write
 * @s: the store
 * @pos: first byte
 * @len: bytes, at least 1
 * @ns: when it is to be reported
 *
 * One entry for each 4 KiB block touched.  Entries that find no room are
 * dropped and counted.  Context: process, sleeps.
 */
void mds_journal(struct mds *s, u64 pos, u64 len, u64 ns);

/**
 * mds_journal_read() - copy entries of the journal
 * @s: the store
 * @pos: first byte
 * @buf: where to
 * @len: bytes
 *
 * Return: bytes copied.
 */
size_t mds_journal_read(struct mds *s, u64 pos, void *buf, size_t len);

/**
 * mds_journal_clear() - empty the journal
 * @s: the store
 */
void mds_journal_clear(struct mds *s);

/**
 * mds_journal_state() - how full the journal is
 * @s: the store
 * @used: set to the entries in it
 * @overflow: set to the entries dropped
 */
void mds_journal_state(struct mds *s, u64 *used, u64 *overflow);

#endif /* MECHDISK_STORE_H */
