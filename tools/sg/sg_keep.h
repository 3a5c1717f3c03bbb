/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checksums of the blocks that the scan read, for whoever wants to verify them. They are
 * computed while the drive is at work, one block at a time, so that commands do not wait.
 *
 * The file has one record per 4096 bytes of the disk, in the order read; tests/lab/blocks.py
 * verifies them:
 *
 *	le64 block	which 4096 bytes of the disk
 *	le32 crc	CRC-32 as of zlib; the disk's last block may be shorter
 *	le32 times	1
 */
#ifndef SG_KEEP_H
#define SG_KEEP_H

#include "../../include/fb_shim.h"

#define SGK_SECTORS 8		/* a record's */

struct sgk;

/**
 * sgk_open() - begin a file
 * @path: its name; it must not exist
 *
 * Return: to be closed; ends the program when the file cannot be made.
 */
struct sgk *sgk_open(const char *path);

/**
 * sgk_add() - some sectors have been read
 * @k: checksums
 * @data: their content; stays as it is until *@uses is down again
 * @uses: goes up by one, and down when the content is no longer needed
 * @lbn: the first of them, a multiple of SGK_SECTORS
 * @nsect: how many
 */
void sgk_add(struct sgk *k, const u8 *data, u32 *uses, u64 lbn, u32 nsect);

/**
 * sgk_step() - compute one checksum
 * @k: checksums
 *
 * Return: false: there is none to be computed.
 */
bool sgk_step(struct sgk *k);

/**
 * sgk_close() - compute the rest and end the file
 * @k: checksums
 *
 * Ends the program when something could not be written.
 */
void sgk_close(struct sgk *k);

#endif /* SG_KEEP_H */
