// SPDX-License-Identifier: GPL-2.0
/*
 * What a SCSI command came to; see sg_sense.h.
 */
#include "sg_sense.h"

#define SGS_FIXED 0x70		/* response codes, current and deferred */
#define SGS_FIXED_DEFERRED 0x71
#define SGS_DESCRIPTOR 0x72
#define SGS_DESCRIPTOR_DEFERRED 0x73
#define SGS_VALID 0x80		/* fixed format, byte 0; information descriptor, byte 2 */
#define SGS_FIXED_LEAST 14	/* up to the additional sense code's qualifier */
#define SGS_INFORMATION 0	/* type of descriptor ... */
#define SGS_INFORMATION_LEN 12	/* ... and its length */

u64 sgs_get(const u8 *p, u32 bytes)
{
	u64 value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

void sgs_put(u8 *p, u32 bytes, u64 value)
{
	while (bytes--) {
		p[bytes] = value;
		value >>= 8;
	}
}

static void sgs_read_fixed(const u8 *data, size_t len, struct sgs *s)
{
	s->key = data[2] & 0xf;
	s->info = data[0] & SGS_VALID;
	s->block = sgs_get(data + 3, 4);
	if (len < SGS_FIXED_LEAST)
		return;
	s->asc = data[12];
	s->ascq = data[13];
}

static void sgs_read_descriptors(const u8 *data, size_t len, struct sgs *s)
{
	size_t at;

	s->key = data[1] & 0xf;
	s->asc = data[2];
	s->ascq = data[3];
	for (at = 8; at + SGS_INFORMATION_LEN <= len; at += data[at + 1] + 2) {
		if (data[at] != SGS_INFORMATION)
			continue;
		s->info = data[at + 2] & SGS_VALID;
		s->block = sgs_get(data + at + 4, 8);
		return;
	}
}

void sgs_read(const u8 *data, size_t len, struct sgs *s)
{
	memset(s, 0, sizeof(*s));
	if (len < 8)
		return;
	switch (data[0] & 0x7f) {
	case SGS_FIXED:
	case SGS_FIXED_DEFERRED:
		sgs_read_fixed(data, len, s);
		break;
	case SGS_DESCRIPTOR:
	case SGS_DESCRIPTOR_DEFERRED:
		sgs_read_descriptors(data, len, s);
		break;
	}
}
