/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Big-endian numbers at any address, as SCSI has them, under the kernel's names
 * in user space too.
 */
#ifndef MECHDISK_BYTES_H
#define MECHDISK_BYTES_H

#ifdef __KERNEL__

#include "mechdisk_compat.h"

#else /* user space */

#include "mechdisk_shim.h"

static inline u64 mdk_get_be(const u8 *p, int bytes)
{
	u64 n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

static inline void mdk_put_be(u64 n, u8 *p, int bytes)
{
	while (bytes--) {
		p[bytes] = n;
		n >>= 8;
	}
}

#define get_unaligned_be16(p)	((u16)mdk_get_be(p, 2))
#define get_unaligned_be24(p)	((u32)mdk_get_be(p, 3))
#define get_unaligned_be32(p)	((u32)mdk_get_be(p, 4))
#define get_unaligned_be64(p)	mdk_get_be(p, 8)
#define put_unaligned_be16(n, p) mdk_put_be(n, p, 2)
#define put_unaligned_be24(n, p) mdk_put_be(n, p, 3)
#define put_unaligned_be32(n, p) mdk_put_be(n, p, 4)
#define put_unaligned_be64(n, p) mdk_put_be(n, p, 8)

#endif /* __KERNEL__ */

#endif /* MECHDISK_BYTES_H */
