// SPDX-License-Identifier: GPL-2.0
/*
 * Address translation; see mechdisk_diag.h.
 */
#include "mechdisk_bytes.h"
#include "mechdisk_diag.h"

#define MDD_TRANSLATE	0x40	/* diagnostic page */
#define MDD_FORMAT	0x07	/* of bytes 4 and 5 of the page */
/* Bits of the page's byte 5: no LBN lives there; the LBN lives in a spare. */
#define MDD_RAREA	0x80
#define MDD_ALTSEC	0x40

/* Bits of the command's byte 1. */
#define MDD_PF		0x10
#define MDD_SELFTEST	0x04
#define MDD_CODE	0xe0

/* Address formats of SBC. */
enum mdd_format { MDD_SHORT_BLOCK = 0, MDD_LONG_BLOCK = 3, MDD_SECTOR = 5 };

static bool mdd_refuse(struct mdp_error *err, u8 asc, u32 field)
{
	err->asc = asc;
	err->field = field;
	return false;
}

static bool mdd_is_format(u8 format)
{
	return format == MDD_SHORT_BLOCK || format == MDD_LONG_BLOCK || format == MDD_SECTOR;
}

/* The LBN of an address: 0, -EINVAL if there is no such address, -ENOENT if it has no LBN. */
static int mdd_find(const struct mde_config *c, u8 format, const u8 *d, u64 *lbn)
{
	/* All ones, the whole track, is no sector of any track. */
	if (format == MDD_SECTOR)
		return mdl_lbn_at(c, get_unaligned_be24(d), d[3], get_unaligned_be32(d + 4), lbn);
	*lbn = format == MDD_LONG_BLOCK ? get_unaligned_be64(d) : get_unaligned_be32(d);
	if (*lbn >= c->sectors || (format == MDD_SHORT_BLOCK && get_unaligned_be32(d + 4)))
		return -EINVAL;
	return 0;
}

static void mdd_put(u8 format, u64 lbn, const struct mdl_piece *at, u8 *d)
{
	if (format == MDD_LONG_BLOCK) {
		put_unaligned_be64(lbn, d);
	} else if (format == MDD_SHORT_BLOCK) {
		put_unaligned_be32(lbn, d);
	} else {
		put_unaligned_be24(at->cyl, d);
		d[3] = at->head;
		put_unaligned_be32(at->sector, d + 4);
	}
}

/* A whole Translate Address page is in @list. */
static bool mdd_translate(const struct mde_config *c, const u8 *list,
			  struct mdd_result *r, struct mdp_error *err)
{
	u8 from = list[4] & MDD_FORMAT, to = list[5] & MDD_FORMAT;
	struct mdl_piece at;
	u64 lbn = 0;
	int ret;

	if (!mdd_is_format(from))
		return mdd_refuse(err, MDP_ASC_LIST, 4);
	if (!mdd_is_format(to))
		return mdd_refuse(err, MDP_ASC_LIST, 5);
	ret = mdd_find(c, from, list + 6, &lbn);
	if (ret == -EINVAL)
		return mdd_refuse(err, MDP_ASC_LIST, 6);
	/* A short block address cannot name every LBN of a large drive. */
	if (to == MDD_SHORT_BLOCK && lbn > U32_MAX)
		return mdd_refuse(err, MDP_ASC_LIST, 5);
	memset(r, 0, sizeof(*r));
	r->page[0] = MDD_TRANSLATE;
	r->page[4] = from;
	r->page[5] = to;
	r->len = ret ? 6 : MDD_LIST;
	put_unaligned_be16(r->len - 4, r->page + 2);
	if (ret) {
		r->page[5] |= MDD_RAREA;
		return true;
	}
	mdl_locate(c, lbn, 1, &at);
	r->page[5] |= at.remapped ? MDD_ALTSEC : 0;
	mdd_put(to, lbn, &at, r->page + 6);
	return true;
}

bool mdd_send(const struct mde_config *cfg, const u8 *cdb, const u8 *list,
	      u32 len, struct mdd_result *r, struct mdp_error *err)
{
	/* The default self-test finds nothing; for who translates it is no operation at all. */
	if (mde_is_ata(cfg) || (!len && !(cdb[1] & MDD_CODE))) {
		r->len = 0;
		return true;
	}
	if (cdb[1] & (MDD_CODE | MDD_SELFTEST) || !(cdb[1] & MDD_PF))
		return mdd_refuse(err, MDP_ASC_CDB, 1);
	if (list[0] != MDD_TRANSLATE || !cfg->translate)
		return mdd_refuse(err, MDP_ASC_LIST, 0);
	if (len != MDD_LIST)
		return mdd_refuse(err, MDP_ASC_LENGTH, 0);
	if (get_unaligned_be16(list + 2) != MDD_LIST - 4)
		return mdd_refuse(err, MDP_ASC_LIST, 2);
	return mdd_translate(cfg, list, r, err);
}
