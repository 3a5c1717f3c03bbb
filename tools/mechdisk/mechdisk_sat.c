// SPDX-License-Identifier: GPL-2.0
/*
 * ATA PASS-THROUGH (16); see mechdisk_sat.h.
 */
#include "mechdisk_sat.h"

#define MDS_CHECK	0x20	/* byte 2: registers come back in any case */
#define MDS_RECOVERED	0x01	/* sense keys */
#define MDS_ABORTED	0x0b

#define MDS_IDENTIFY	0xec
#define MDS_SET_FEATURES 0xef

static void mds_read_regs(const u8 *cdb, struct md_tf_regs *r)
{
	r->feature = cdb[3] << 8 | cdb[4];
	r->count = cdb[5] << 8 | cdb[6];
	r->lba = cdb[8] | cdb[10] << 8 | (u32)cdb[12] << 16 | (u64)cdb[7] << 24 |
		(u64)cdb[9] << 32 | (u64)cdb[11] << 40;
	r->device = cdb[13];
	r->command = cdb[14];
}

/* All else has state of its own, which mode pages and START STOP UNIT have here. */
static bool mds_knows(const struct md_tf_regs *r)
{
	if (r->command == MDS_IDENTIFY)
		return true;
	if (r->command != MDS_SET_FEATURES)
		return false;
	switch (r->feature & 0xff) {
	case 0x02:	/* write cache: on, off */
	case 0x82:
	case 0xaa:	/* look-ahead: on, off */
	case 0x55:
		return true;
	default:
		return false;
	}
}

/* ATA Status Return (SAT-3, 12.2.5). */
static void mds_registers(const struct md_tf_result *result, u8 key, struct mds_answer *a)
{
	u8 *s = a->sense;

	a->key = key;
	s[0] = 0x72;
	s[1] = key;
	s[3] = key == MDS_RECOVERED ? 0x1d : 0;	/* ATA PASS-THROUGH INFORMATION AVAILABLE */
	s[7] = 14;
	s[8] = 0x09;
	s[9] = 12;
	s[11] = result->error;
	s[13] = result->count;
	s[15] = result->lba;
	s[17] = result->lba >> 8;
	s[19] = result->lba >> 16;
	s[20] = result->device;
	s[21] = result->status;
}

enum mds_kind mds_pass(const struct mde_config *cfg, struct mde_caching *caching,
		       const u8 *cdb, struct mds_answer *a)
{
	struct md_tf_result result = { .status = MD_TF_READY | MD_TF_ERROR, .error = MD_TF_ABRT };
	enum md_tf_kind kind = MD_TF_DONE;
	struct mdy_range range;
	struct md_tf_regs regs;
	struct md_tf t;

	memset(a, 0, sizeof(*a));
	md_tf_init(&t, cfg, 0);
	t.caching = *caching;
	mds_read_regs(cdb, &regs);
	if (mds_knows(&regs))
		kind = md_tf_start(&t, &regs, 0, &range, &result);
	*caching = t.caching;
	if (result.status & MD_TF_ERROR)
		mds_registers(&result, MDS_ABORTED, a);
	else if (cdb[2] & MDS_CHECK)
		mds_registers(&result, MDS_RECOVERED, a);
	if (kind == MD_TF_REPLY && md_tf_reply(&t, &regs, 0, a->page))
		return MDS_REPLY;
	return kind == MD_TF_RANGE ? MDS_FLUSH : MDS_ENDED;
}
