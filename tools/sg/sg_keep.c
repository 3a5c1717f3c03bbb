// SPDX-License-Identifier: GPL-2.0
/*
 * Checksums of the blocks that the scan read; see sg_keep.h.
 */
#include <endian.h>

#include "sg_keep.h"
#include "../sim/sim_file.h"

#define SGK_RING 4096		/* a whole read of 512 sectors is one entry, or 64 at most */
#define SGK_POLY 0xedb88320	/* CRC-32, reflected */
#define SGK_LANES 8		/* bytes at a time */

/* Sectors whose checksums are to be computed */
struct sgk_part {
	const u8 *data;	/* the content */
	u32 *uses;	/* see sgk_add() */
	u64 lbn;	/* first sector */
	u32 nsect;	/* how many */
};

/* As in the file */
struct sgk_record {
	u64 block;	/* which */
	u32 crc;	/* of it */
	u32 times;	/* 1 */
};

struct sgk {
	FILE *f;
	const char *path;
	u32 table[SGK_LANES][256];
	struct sgk_part part[SGK_RING];
	u32 first;
	u32 n;
};

/* table[k][b]: byte b, and k bytes 0 behind it */
static void sgk_init_table(struct sgk *k)
{
	u32 lane, b, bit, crc;

	for (b = 0; b < 256; b++) {
		crc = b;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? SGK_POLY : 0);
		k->table[0][b] = crc;
	}
	for (lane = 1; lane < SGK_LANES; lane++)
		for (b = 0; b < 256; b++) {
			crc = k->table[lane - 1][b];
			k->table[lane][b] = crc >> 8 ^ k->table[0][crc & 0xff];
		}
}

/* of whole sectors */
static u32 sgk_crc(const struct sgk *k, const u8 *p, u32 len)
{
	u32 crc = ~0U, low, high;

	for (; len; len -= SGK_LANES, p += SGK_LANES) {
		memcpy(&low, p, 4);
		memcpy(&high, p + 4, 4);
		low = le32toh(low) ^ crc;
		high = le32toh(high);
		crc = k->table[7][low & 0xff] ^ k->table[6][low >> 8 & 0xff] ^
		      k->table[5][low >> 16 & 0xff] ^ k->table[4][low >> 24] ^
		      k->table[3][high & 0xff] ^ k->table[2][high >> 8 & 0xff] ^
		      k->table[1][high >> 16 & 0xff] ^ k->table[0][high >> 24];
	}
	return ~crc;
}

struct sgk *sgk_open(const char *path)
{
	struct sgk *k = calloc(1, sizeof(*k));

	if (!k)
		sim_fail("out of memory");
	k->path = path;
	k->f = fopen(path, "wxe");
	if (!k->f)
		sim_fail("crc: %s: %s", path, strerror(errno));
	sgk_init_table(k);
	return k;
}

void sgk_add(struct sgk *k, const u8 *data, u32 *uses, u64 lbn, u32 nsect)
{
	struct sgk_part *last = k->n ? &k->part[(k->first + k->n - 1) % SGK_RING] : NULL;

	if (last && last->uses == uses && last->lbn + last->nsect == lbn) {
		last->nsect += nsect;
		return;
	}
	while (k->n == SGK_RING)
		sgk_step(k);
	k->part[(k->first + k->n++) % SGK_RING] = (struct sgk_part) { data, uses, lbn, nsect };
	++*uses;
}

bool sgk_step(struct sgk *k)
{
	struct sgk_part *p = &k->part[k->first];
	u32 nsect;
	struct sgk_record r;

	if (!k->n)
		return false;
	nsect = min_t(u32, p->nsect, SGK_SECTORS);
	r.block = htole64(p->lbn / SGK_SECTORS);
	r.crc = htole32(sgk_crc(k, p->data, nsect * 512));
	r.times = htole32(1);
	fwrite(&r, sizeof(r), 1, k->f);
	p->data += nsect * 512;
	p->lbn += nsect;
	p->nsect -= nsect;
	if (p->nsect)
		return true;
	--*p->uses;
	k->first = (k->first + 1) % SGK_RING;
	k->n--;
	return true;
}

void sgk_close(struct sgk *k)
{
	bool bad;

	while (sgk_step(k))
		;
	bad = ferror(k->f);
	if (fclose(k->f) || bad)
		sim_fail("crc: %s: %s", k->path, strerror(errno));
	free(k);
}
