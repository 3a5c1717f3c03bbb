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

/* Begin a file, which must not exist. Ends the program when it cannot be made */
struct sgk *sgk_open(const char *path);

/*
 * Some sectors have been read. @data: their content; stays as it is until *@uses is down again.
 * @uses: goes up by one, and down when the content is no longer needed. @lbn: the first of them,
 * a multiple of SGK_SECTORS
 */
void sgk_add(struct sgk *k, const u8 *data, u32 *uses, u64 lbn, u32 nsect);

/* Compute one checksum. Returns false: there is none to be computed */
bool sgk_step(struct sgk *k);

/* Compute the rest and end the file. Ends the program when something could not be written */
void sgk_close(struct sgk *k);

#endif /* SG_KEEP_H */
