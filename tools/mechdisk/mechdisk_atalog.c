// SPDX-License-Identifier: GPL-2.0
/*
 * IDENTIFY DEVICE data and logs of a simulated SATA drive (ACS-3, 7.12, A;
 * Serial ATA 3.2, 13.7); see mechdisk_atalog.h.
 */
#include "mechdisk_atalog.h"

/* Logs. */
#define MD_LOG_DIRECTORY	0x00
#define MD_LOG_NCQ_ERROR	0x10
#define MD_LOG_IDENTIFY		0x30
#define MD_LOG_SCT		0xe0	/* command and status */

/* Pages of the IDENTIFY DEVICE data log that there are: the list, and the data. */
#define MD_IDENTIFY_PAGES	9
#define MD_IDENTIFY_SATA	8	/* the last of them */

/*
 * Time to be ready for the medium again: the heads are loaded, the platters sped up or spun up.
 * The orders of magnitude are those of data sheets of 3.5 inch nearline drives.
 */
static const u32 md_tf_recovery[MD_TF_CONDITIONS] = {
	[MD_TF_IDLE_A] = 0, [MD_TF_IDLE_B] = 500, [MD_TF_IDLE_C] = 2500,
	[MD_TF_STANDBY_Y] = 2500, [MD_TF_STANDBY_Z] = 8000,
};

/* SCT commands, 8.3: actions, their functions, and results. */
#define MD_SCT_ERC		3
#define MD_SCT_SET		1
#define MD_SCT_GET		2
#define MD_SCT_BAD_FUNCTION	1	/* extended status: invalid function code */
#define MD_SCT_BAD_ACTION	6	/* ... invalid action code */
#define MD_SCT_BAD_SELECTION	9	/* ... invalid selection code (ERC) */

u32 md_tf_recovery_ms(enum md_tf_condition c)
{
	return c == MD_TF_ACTIVE ? 0 : md_tf_recovery[c];
}
EXPORT_SYMBOL_GPL(md_tf_recovery_ms);

static void md_tf_word(u8 *page, u32 word, u16 value)
{
	page[word * 2] = value;
	page[word * 2 + 1] = value >> 8;
}

static void md_tf_words(u8 *page, u32 word, u32 words, u64 value)
{
	u32 i;

	for (i = 0; i < words; i++)
		md_tf_word(page, word + i, value >> 16 * i);
}

static u16 md_tf_get(const u8 *page, u32 word)
{
	return page[word * 2] | page[word * 2 + 1] << 8;
}

/* Text: the first character is in a word's higher byte; blanks behind. */
static void md_tf_text(u8 *page, u32 word, u32 words, const char *text)
{
	u32 i;

	for (i = 0; i < words * 2; i++)
		page[(word * 2 + i) ^ 1] = *text ? *text++ : ' ';
}

/* FNV-1a of a name and a mark at its end. */
static u64 md_tf_hash(u64 hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ (u8)*s) * 0x100000001b3ULL;
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

u64 md_tf_wwn(const struct mde_config *cfg, u64 naa)
{
	u64 hash = 0xcbf29ce484222325ULL;

	hash = md_tf_hash(hash, cfg->vendor);
	hash = md_tf_hash(hash, cfg->product);
	hash = md_tf_hash(hash, cfg->serial);
	return hash >> 4 | naa << 60;
}

/* IDENTIFY DEVICE data, 7.12.7. */

/* There is no field for a vendor. */
static void md_tf_identify_text(const struct mde_config *c, u8 *page)
{
	md_tf_text(page, 10, 10, c->serial);
	md_tf_text(page, 23, 4, c->revision);
	md_tf_text(page, 27, 20, c->product);
}

static void md_tf_identify_size(const struct mde_config *c, u8 *page)
{
	bool large = c->sector_bytes > 512;

	md_tf_words(page, 60, 2, min_t(u64, c->sectors, 0x0fffffff));
	md_tf_words(page, 100, 4, c->sectors);
	md_tf_word(page, 106, 0x4000 | (c->physical_exponent ? 0x2000 : 0) |
		   (large ? 0x1000 : 0) | c->physical_exponent);
	if (large)
		md_tf_words(page, 117, 2, c->sector_bytes / 2);
	md_tf_word(page, 209, 0x4000);
}

/* What can be switched, and what is on. */
static void md_tf_identify_features(const struct md_tf *t, u8 *page)
{
	bool cache = t->cfg->segments;
	/* SMART, power management, NOP; write cache, look-ahead */
	u16 some = 0x4009 | (cache && t->cfg->write_segments ? 0x20 : 0) | (cache ? 0x40 : 0);
	/* flush, flush (ext), 48 bits; APM */
	u16 more = 0x3400;

	md_tf_word(page, 82, some);
	md_tf_word(page, 83, 0x4000 | more | 0x08);
	/* world-wide name, writes with FUA, logs, SMART's logs */
	md_tf_word(page, 84, 0x4163);
	md_tf_word(page, 85, (some & ~0x60) | (t->caching.write_cache ? 0x20 : 0) |
		   (t->caching.look_ahead ? 0x40 : 0));
	/* words 119 and 120 are valid */
	md_tf_word(page, 86, 0x8000 | more | (t->apm ? 0x08 : 0));
	md_tf_word(page, 87, 0x4163);
	md_tf_word(page, 91, t->apm);
	/* extended power conditions */
	md_tf_word(page, 119, 0x4080);
	md_tf_word(page, 120, 0x4000 | (t->epc ? 0x80 : 0));
	/* SCT, with error recovery control */
	md_tf_word(page, 206, t->cfg->recovery_control ? 0x0009 : 0x0001);
}

static void md_tf_identify_sata(const struct mde_config *c, u8 *page)
{
	/* no more than the port takes: the depth, less one */
	md_tf_word(page, 75, c->queue_depth - 1);
	/* three speeds, NCQ and its priorities, READ LOG DMA EXT; host-initiated link power */
	md_tf_word(page, 76, 0x910e | (c->link_wake_us ? 0x0200 : 0));
	/* the third speed is in use */
	md_tf_word(page, 77, 0x0006);
	/* software settings preservation */
	md_tf_word(page, 78, 0x0040);
	md_tf_word(page, 79, 0x0040);
	md_tf_word(page, 222, 0x107f);
}

void md_tf_identify(const struct md_tf *t, u8 page[MD_TF_PAGE])
{
	const struct mde_config *c = t->cfg;
	u64 wwn = md_tf_wwn(c, 5);
	u8 sum = 0xa5;
	int i;

	memset(page, 0, MD_TF_PAGE);
	md_tf_word(page, 0, 0x0040);
	md_tf_identify_text(c, page);
	md_tf_word(page, 47, 0x8010);
	/* timer, IORDY, LBA, DMA */
	md_tf_word(page, 49, 0x2f00);
	md_tf_word(page, 50, 0x4000);
	md_tf_word(page, 53, 0x0006);
	md_tf_word(page, 59, 0x0110);
	md_tf_word(page, 63, 0x0007);
	md_tf_word(page, 64, 0x0003);
	md_tf_words(page, 65, 4, 0x0078007800780078ULL);
	/* device-managed; what is trimmed reads as zeros */
	md_tf_word(page, 69, (c->zoned == MDE_ZONED_IDENTIFY ? 2 : 0) | (c->unmap ? 0x4020 : 0));
	/* ATA/ATAPI-5 to ACS-3 */
	md_tf_word(page, 80, 0x07e0);
	md_tf_word(page, 88, 0x407f);
	md_tf_identify_size(c, page);
	md_tf_identify_features(t, page);
	md_tf_identify_sata(c, page);
	for (i = 0; i < 4; i++)
		md_tf_word(page, 108 + i, wwn >> (48 - 16 * i));
	if (c->unmap) {
		md_tf_word(page, 105, MD_TF_TRIM_PAGES);
		md_tf_word(page, 169, 1);
	}
	md_tf_word(page, 217, mde_rpm(c));
	for (i = 0; i < MD_TF_PAGE - 1; i++)
		sum += page[i];
	page[510] = 0xa5;
	page[511] = -sum;
}

/* Logs. */

u32 md_tf_log_pages(u8 log)
{
	switch (log) {
	case MD_LOG_DIRECTORY:
	case MD_LOG_NCQ_ERROR:
	case MD_LOG_SCT:
		return 1;
	case MD_LOG_IDENTIFY:
		return MD_IDENTIFY_PAGES;
	default:
		return 0;
	}
}

static void md_tf_log_directory(u8 *page)
{
	int i;

	md_tf_word(page, 0, 1);
	for (i = 1; i < 256; i++)
		md_tf_word(page, i, md_tf_log_pages(i));
}

/* The NCQ Command Error log (Serial ATA 3.2, 13.7.4); to read it ends the error. */
static void md_tf_log_failure(struct md_tf *t, u8 *page)
{
	const struct md_tf_result *f = &t->failure;
	u8 sum = 0;
	int i;

	if (!t->failed) {
		page[0] = 0x80;
	} else {
		page[0] = t->failed_tag;
		page[2] = f->status;
		page[3] = f->error;
		page[7] = f->device;
		for (i = 0; i < 3; i++) {
			page[4 + i] = f->lba >> 8 * i;
			page[8 + i] = f->lba >> (24 + 8 * i);
		}
		page[12] = f->count;
		page[13] = f->count >> 8;
	}
	for (i = 0; i < MD_TF_PAGE - 1; i++)
		sum += page[i];
	page[511] = -sum;
	t->failed = false;
}

/*
 * The IDENTIFY DEVICE data log, A.11: its list of pages, the data, and what Serial ATA adds. Pages
 * that are not in the list are empty.
 */
static void md_tf_log_identify(const struct md_tf *t, u32 n, u8 *page)
{
	if (n == 1) {
		md_tf_identify(t, page);
		return;
	}
	page[0] = 1;		/* revision */
	if (n == MD_IDENTIFY_SATA) {
		page[2] = MD_IDENTIFY_SATA;
		page[7] = 0x80;	/* valid */
		page[9] = 0x08;	/* NCQ priority */
		page[15] = 0x80;
	}
	if (n)
		return;
	page[8] = 3;
	page[10] = 1;
	page[11] = MD_IDENTIFY_SATA;
}

/* SCT status, 8.2.5. */
static void md_tf_log_sct(const struct md_tf *t, u8 *page)
{
	md_tf_word(page, 0, 3);		/* format */
	md_tf_word(page, 7, t->sct_state);
	md_tf_word(page, 8, t->sct_command);
	md_tf_word(page, 9, t->sct_function);
	page[200] = 25;			/* degrees */
}

void md_tf_log(struct md_tf *t, u8 log, u32 n, u8 page[MD_TF_PAGE])
{
	memset(page, 0, MD_TF_PAGE);
	switch (log) {
	case MD_LOG_DIRECTORY:
		return md_tf_log_directory(page);
	case MD_LOG_NCQ_ERROR:
		return md_tf_log_failure(t, page);
	case MD_LOG_IDENTIFY:
		return md_tf_log_identify(t, n, page);
	default:
		return md_tf_log_sct(t, page);
	}
}

/* SCT commands. */

/* Error recovery control, 8.3.3: 1 is for reads, 2 for writes. */
static u16 md_tf_erc(struct md_tf *t, const u8 *page, struct md_tf_result *result)
{
	u16 function = md_tf_get(page, 1), which = md_tf_get(page, 2);

	if (which < 1 || which > 2)
		return MD_SCT_BAD_SELECTION;
	if (function == MD_SCT_SET)
		t->erc_ds[which - 1] = md_tf_get(page, 3);
	else if (function != MD_SCT_GET)
		return MD_SCT_BAD_FUNCTION;
	result->count = t->erc_ds[which - 1] & 0xff;
	result->lba = t->erc_ds[which - 1] >> 8;
	return 0;
}

void md_tf_sct(struct md_tf *t, const u8 page[MD_TF_PAGE], struct md_tf_result *result)
{
	t->sct_command = md_tf_get(page, 0);
	t->sct_function = md_tf_get(page, 1);
	t->sct_state = t->sct_command == MD_SCT_ERC && t->cfg->recovery_control ?
		md_tf_erc(t, page, result) : MD_SCT_BAD_ACTION;
	if (!t->sct_state)
		return;
	result->status = MD_TF_READY | MD_TF_ERROR;
	result->error = MD_TF_ABRT;
	result->count = t->sct_state & 0xff;
	result->lba = t->sct_state >> 8;
}
