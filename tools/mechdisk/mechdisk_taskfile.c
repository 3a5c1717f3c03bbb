// SPDX-License-Identifier: GPL-2.0
/*
 * What a simulated SATA drive answers; see mechdisk_taskfile.h.
 *
 * Numbers of sections are those of ACS-3.
 */
#include "mechdisk_taskfile.h"

/* Commands, 7. */
#define MD_DATA_SET		0x06	/* DATA SET MANAGEMENT */
#define MD_READ_SECTORS		0x20
#define MD_READ_SECTORS_EXT	0x24
#define MD_READ_DMA_EXT		0x25
#define MD_READ_MULTIPLE_EXT	0x29
#define MD_READ_LOG_EXT		0x2f
#define MD_WRITE_SECTORS	0x30
#define MD_WRITE_SECTORS_EXT	0x34
#define MD_WRITE_DMA_EXT	0x35
#define MD_WRITE_MULTIPLE_EXT	0x39
#define MD_WRITE_DMA_FUA_EXT	0x3d
#define MD_WRITE_LOG_EXT	0x3f
#define MD_VERIFY		0x40	/* READ VERIFY SECTORS */
#define MD_VERIFY_EXT		0x42
#define MD_READ_LOG_DMA_EXT	0x47
#define MD_WRITE_LOG_DMA_EXT	0x57
#define MD_READ_FPDMA		0x60
#define MD_WRITE_FPDMA		0x61
#define MD_SMART		0xb0
#define MD_READ_MULTIPLE	0xc4
#define MD_WRITE_MULTIPLE	0xc5
#define MD_SET_MULTIPLE		0xc6
#define MD_READ_DMA		0xc8
#define MD_WRITE_DMA		0xca
#define MD_WRITE_MULTIPLE_FUA_EXT 0xce
#define MD_STANDBY_IMMEDIATE	0xe0
#define MD_IDLE_IMMEDIATE	0xe1
#define MD_STANDBY		0xe2
#define MD_IDLE			0xe3
#define MD_CHECK_POWER_MODE	0xe5
#define MD_SLEEP		0xe6
#define MD_FLUSH		0xe7
#define MD_FLUSH_EXT		0xea
#define MD_IDENTIFY		0xec
#define MD_SET_FEATURES		0xef

/* Subcommands of SET FEATURES, 7.45. */
#define MD_SF_WRITE_CACHE_ON	0x02
#define MD_SF_TRANSFER_MODE	0x03
#define MD_SF_APM_ON		0x05
#define MD_SF_SATA_ON		0x10
#define MD_SF_EPC		0x4a
#define MD_SF_AHEAD_OFF		0x55
#define MD_SF_WRITE_CACHE_OFF	0x82
#define MD_SF_APM_OFF		0x85
#define MD_SF_SATA_OFF		0x90
#define MD_SF_AHEAD_ON		0xaa

/* Extended power conditions, 7.45.20: subcommands, but for those of timers. */
#define MD_EPC_GO		1
#define MD_EPC_ENABLE		4
#define MD_EPC_DISABLE		5

/* Of DATA SET MANAGEMENT, 7.5: its feature, and bytes of an entry: an LBA (48 bits), a count. */
#define MD_TRIM			0x01
#define MD_TRIM_ENTRY		8

/* Subcommands of SMART, 7.48, and what its LBA must say. */
#define MD_SMART_READ_DATA	0xd0
#define MD_SMART_READ_LOG	0xd5
#define MD_SMART_WRITE_LOG	0xd6
#define MD_SMART_ENABLE		0xd8
#define MD_SMART_DISABLE	0xd9
#define MD_SMART_STATUS		0xda
#define MD_SMART_KEY		0xc24f
#define MD_SMART_THRESHOLDS	0x2cf4

#define MD_LOG_SCT		0xe0

#define MD_DEVICE_FUA		0x80	/* of the FPDMA commands */
#define MD_PRIO_SHIFT		14	/* likewise; of the count */
#define MD_PRIO_HIGH		2
#define MD_DEVICE_LBA		0x40

/* What CHECK POWER MODE says, 7.3, and what SET FEATURES calls it, table 21. */
static const u8 md_tf_name[MD_TF_CONDITIONS] = {
	[MD_TF_IDLE_A] = 0x81, [MD_TF_IDLE_B] = 0x82, [MD_TF_IDLE_C] = 0x83,
	[MD_TF_STANDBY_Y] = 0x01, [MD_TF_STANDBY_Z] = 0x00,
};

/* How a command ends. */

static void md_tf_ends(struct md_tf_result *result, const struct md_tf_regs *r)
{
	memset(result, 0, sizeof(*result));
	result->status = MD_TF_READY;
	result->device = r->device;
	result->count = r->count;
	result->lba = r->lba;
}

static enum md_tf_kind md_tf_refuse(struct md_tf_result *result)
{
	result->status = MD_TF_READY | MD_TF_ERROR;
	result->error = MD_TF_ABRT;
	return MD_TF_DONE;
}

void md_tf_unreadable(enum mde_error error, u64 lba, struct md_tf_result *result)
{
	static const u8 bit[] = {
		[MDE_UNC] = MD_TF_UNC, [MDE_IDNF] = MD_TF_IDNF, [MDE_ABRT] = MD_TF_ABRT,
	};

	result->status = MD_TF_READY | MD_TF_ERROR;
	result->error = bit[error];
	result->lba = lba;
}
EXPORT_SYMBOL_GPL(md_tf_unreadable);

void md_tf_fail_queued(struct md_tf *t, u8 tag, const struct md_tf_result *result)
{
	t->failed = true;
	t->failed_tag = tag;
	t->failure = *result;
}
EXPORT_SYMBOL_GPL(md_tf_fail_queued);

/* Power conditions. */

enum md_tf_condition md_tf_condition_at(const struct md_tf *t, u64 now_ns)
{
	u64 ds = (now_ns - min(now_ns, t->busy_ns)) / 100000000;

	return !t->epc && t->standby_ds && ds >= t->standby_ds ? MD_TF_STANDBY_Z : t->forced;
}

enum md_tf_condition md_tf_wake(struct md_tf *t, u64 now_ns)
{
	enum md_tf_condition was = md_tf_condition_at(t, now_ns);

	t->forced = MD_TF_ACTIVE;
	t->busy_ns = now_ns + md_tf_recovery_ms(was) * 1000000ULL;
	return was;
}
EXPORT_SYMBOL_GPL(md_tf_wake);

/* Without extended conditions idle is idle. */
static u8 md_tf_power_mode(const struct md_tf *t, u64 now_ns)
{
	enum md_tf_condition c = md_tf_condition_at(t, now_ns);

	if (c == MD_TF_ACTIVE)
		return 0xff;
	return t->epc || c >= MD_TF_STANDBY_Y ? md_tf_name[c] : 0x80;
}

/* STANDBY and IDLE: the timer's value, 7.18. */
static u32 md_tf_period_ds(u8 count)
{
	if (count <= 240)
		return count * 50;
	if (count <= 251)
		return (count - 240) * 18000;
	return count == 253 ? 8 * 36000 : 21 * 600;
}

/* STANDBY, IDLE and their immediate forms; a flush goes before standby. */
static enum md_tf_kind md_tf_rest(struct md_tf *t, const struct md_tf_regs *r,
				  struct mde_range *range)
{
	bool timer = r->command == MD_STANDBY || r->command == MD_IDLE;
	bool standby = r->command == MD_STANDBY || r->command == MD_STANDBY_IMMEDIATE ||
		r->command == MD_SLEEP;

	if (timer)
		t->standby_ds = md_tf_period_ds(r->count);
	t->forced = standby ? MD_TF_STANDBY_Z : MD_TF_IDLE_A;
	t->asleep = r->command == MD_SLEEP;
	if (!standby)
		return MD_TF_DONE;
	range->op = MDE_FLUSH;
	return MD_TF_RANGE;
}

static bool md_tf_epc(struct md_tf *t, const struct md_tf_regs *r)
{
	u8 what = r->lba & 0xf;
	int i;

	if (what == MD_EPC_ENABLE || what == MD_EPC_DISABLE) {
		t->epc = what == MD_EPC_ENABLE;
		/* It replaces the standby timer and APM, 4.9. */
		t->standby_ds = 0;
		t->apm = 0;
		return true;
	}
	if (!t->epc || what != MD_EPC_GO)
		return false;
	for (i = 0; i < MD_TF_CONDITIONS && (r->count & 0xff) != md_tf_name[i]; i++)
		;
	if (i < MD_TF_CONDITIONS)
		t->forced = i;
	return i < MD_TF_CONDITIONS;
}

/* SET FEATURES. */

/* Caches can be switched if there is one. */
static bool md_tf_switch(const struct md_tf *t, bool *what, bool on, bool there)
{
	if (on && !(there && t->cfg->segments))
		return false;
	*what = on;
	return true;
}

static bool md_tf_set(struct md_tf *t, const struct md_tf_regs *r)
{
	switch (r->feature & 0xff) {
	case MD_SF_WRITE_CACHE_ON:
		return md_tf_switch(t, &t->caching.write_cache, true, t->cfg->write_segments);
	case MD_SF_WRITE_CACHE_OFF:
		return md_tf_switch(t, &t->caching.write_cache, false, true);
	case MD_SF_AHEAD_ON:
		return md_tf_switch(t, &t->caching.look_ahead, true, true);
	case MD_SF_AHEAD_OFF:
		return md_tf_switch(t, &t->caching.look_ahead, false, true);
	case MD_SF_APM_ON:
		t->apm = r->count;
		return t->apm && t->apm != 0xff && !t->epc;
	case MD_SF_APM_OFF:
		t->apm = 0;
		return true;
	case MD_SF_EPC:
		return md_tf_epc(t, r);
	case MD_SF_TRANSFER_MODE:
	case MD_SF_SATA_ON:
	case MD_SF_SATA_OFF:
		return true;
	default:
		return false;
	}
}

static enum md_tf_kind md_tf_features(struct md_tf *t, const struct md_tf_regs *r,
				      struct mde_range *range, struct md_tf_result *result)
{
	if (!md_tf_set(t, r))
		return md_tf_refuse(result);
	if ((r->feature & 0xff) != MD_SF_WRITE_CACHE_OFF)
		return MD_TF_DONE;
	/* It ends when the cache is on the medium. */
	range->op = MDE_FLUSH;
	return MD_TF_RANGE;
}

/* SMART and logs. */

static enum md_tf_kind md_tf_smart(const struct md_tf_regs *r, struct md_tf_result *result)
{
	u8 log = r->lba & 0xff;

	if (r->lba >> 8 != MD_SMART_KEY)
		return md_tf_refuse(result);
	switch (r->feature & 0xff) {
	case MD_SMART_READ_DATA:
		return MD_TF_REPLY;
	case MD_SMART_READ_LOG:
		return md_tf_log_pages(log) ? MD_TF_REPLY : md_tf_refuse(result);
	case MD_SMART_WRITE_LOG:
		return log == MD_LOG_SCT ? MD_TF_TAKE : md_tf_refuse(result);
	case MD_SMART_ENABLE:
	case MD_SMART_DISABLE:
	case MD_SMART_STATUS:
		/* No threshold is exceeded: the key stays as it is. */
		return MD_TF_DONE;
	default:
		return md_tf_refuse(result);
	}
}

/* A log's page number has its lower byte in the LBA's second. */
static u32 md_tf_page_of(const struct md_tf_regs *r)
{
	return (r->lba >> 8 & 0xff) | (r->lba >> 24 & 0xff00);
}

static enum md_tf_kind md_tf_read_log(const struct md_tf_regs *r, struct md_tf_result *result)
{
	u32 pages = md_tf_log_pages(r->lba & 0xff);

	if (!r->count || md_tf_page_of(r) + r->count > pages)
		return md_tf_refuse(result);
	return MD_TF_REPLY;
}

/* Sectors. */

bool md_tf_is_queued(const struct md_tf_regs *r)
{
	return r->command == MD_READ_FPDMA || r->command == MD_WRITE_FPDMA;
}

bool md_tf_is_urgent(const struct md_tf_regs *r)
{
	return md_tf_is_queued(r) && r->count >> MD_PRIO_SHIFT == MD_PRIO_HIGH;
}
EXPORT_SYMBOL_GPL(md_tf_is_urgent);

/* What a command does with sectors; false: nothing. */
static bool md_tf_op(const struct md_tf_regs *r, enum mde_op *op)
{
	switch (r->command) {
	case MD_READ_SECTORS:
	case MD_READ_SECTORS_EXT:
	case MD_READ_DMA:
	case MD_READ_DMA_EXT:
	case MD_READ_MULTIPLE:
	case MD_READ_MULTIPLE_EXT:
	case MD_READ_FPDMA:
		*op = MDE_READ;
		return true;
	case MD_WRITE_SECTORS:
	case MD_WRITE_SECTORS_EXT:
	case MD_WRITE_DMA:
	case MD_WRITE_DMA_EXT:
	case MD_WRITE_DMA_FUA_EXT:
	case MD_WRITE_MULTIPLE:
	case MD_WRITE_MULTIPLE_EXT:
	case MD_WRITE_MULTIPLE_FUA_EXT:
	case MD_WRITE_FPDMA:
		*op = MDE_WRITE;
		return true;
	case MD_VERIFY:
	case MD_VERIFY_EXT:
		*op = MDE_VERIFY;
		return true;
	default:
		return false;
	}
}

/* Commands with registers of 28 bits: four of the LBA are in the device register. */
static bool md_tf_is_short(u8 command)
{
	switch (command) {
	case MD_READ_SECTORS:
	case MD_READ_DMA:
	case MD_READ_MULTIPLE:
	case MD_WRITE_SECTORS:
	case MD_WRITE_DMA:
	case MD_WRITE_MULTIPLE:
	case MD_VERIFY:
		return true;
	default:
		return false;
	}
}

static void md_tf_range(const struct md_tf_regs *r, struct mde_range *range)
{
	bool fua = r->command == MD_WRITE_DMA_FUA_EXT ||
		r->command == MD_WRITE_MULTIPLE_FUA_EXT;

	if (md_tf_is_queued(r)) {
		range->lbn = r->lba;
		range->count = r->feature ?: 65536;
		fua = r->device & MD_DEVICE_FUA;
	} else if (md_tf_is_short(r->command)) {
		range->lbn = (r->lba & 0xffffff) | (u64)(r->device & 0xf) << 24;
		range->count = (r->count & 0xff) ?: 256;
	} else {
		range->lbn = r->lba;
		range->count = r->count ?: 65536;
	}
	range->flags = fua ? MDE_FUA : 0;
}

static enum md_tf_kind md_tf_sectors(struct md_tf *t, const struct md_tf_regs *r,
				     struct mde_range *range, struct md_tf_result *result)
{
	const struct mde_config *c = t->cfg;

	md_tf_range(r, range);
	if (!(r->device & MD_DEVICE_LBA))
		return md_tf_refuse(result);
	if (range->lbn >= c->sectors || range->count > c->sectors - range->lbn) {
		md_tf_unreadable(MDE_IDNF, range->lbn, result);
		return MD_TF_DONE;
	}
	/* Its course is worked out with interrupts off. */
	if (range->count > mde_longest(c))
		return md_tf_refuse(result);
	return MD_TF_RANGE;
}

/* Sectors that lose their data do so when what was cached before is on the medium. */
static enum md_tf_kind md_tf_data_set(const struct md_tf *t, const struct md_tf_regs *r,
				      struct mde_range *range, struct md_tf_result *result)
{
	if (!t->cfg->unmap || r->feature != MD_TRIM || r->count != MD_TF_TRIM_PAGES)
		return md_tf_refuse(result);
	range->op = MDE_FLUSH;
	return MD_TF_TRIM;
}

bool md_tf_trim(const struct md_tf *t, const u8 page[MD_TF_PAGE], u32 n, struct mde_range *range,
		struct md_tf_result *result)
{
	u64 entry = 0;
	int i;

	for (i = MD_TRIM_ENTRY - 1; i >= 0; i--)
		entry = entry << 8 | page[n * MD_TRIM_ENTRY + i];
	range->gone_lbn = entry & 0xffffffffffffULL;
	range->gone = entry >> 48;
	if (range->gone_lbn <= t->cfg->sectors &&
	    range->gone <= t->cfg->sectors - range->gone_lbn)
		return true;
	md_tf_unreadable(MDE_IDNF, range->gone_lbn, result);
	return false;
}
EXPORT_SYMBOL_GPL(md_tf_trim);

/* Commands. */

static enum md_tf_kind md_tf_other(struct md_tf *t, const struct md_tf_regs *r, u64 now_ns,
				   struct mde_range *range, struct md_tf_result *result)
{
	switch (r->command) {
	case MD_IDENTIFY:
		return MD_TF_REPLY;
	case MD_SET_MULTIPLE:
		return MD_TF_DONE;
	case MD_READ_LOG_EXT:
	case MD_READ_LOG_DMA_EXT:
		return md_tf_read_log(r, result);
	case MD_WRITE_LOG_EXT:
	case MD_WRITE_LOG_DMA_EXT:
		return (r->lba & 0xff) == MD_LOG_SCT ? MD_TF_TAKE : md_tf_refuse(result);
	case MD_SMART:
		return md_tf_smart(r, result);
	case MD_SET_FEATURES:
		return md_tf_features(t, r, range, result);
	case MD_CHECK_POWER_MODE:
		if (t->cfg->power == MDE_POWER_UNTOLD)
			return md_tf_refuse(result);
		result->count = md_tf_power_mode(t, now_ns);
		return MD_TF_DONE;
	case MD_STANDBY_IMMEDIATE:
	case MD_IDLE_IMMEDIATE:
	case MD_STANDBY:
	case MD_IDLE:
	case MD_SLEEP:
		return md_tf_rest(t, r, range);
	case MD_FLUSH:
	case MD_FLUSH_EXT:
		range->op = MDE_FLUSH;
		return MD_TF_RANGE;
	case MD_DATA_SET:
		return md_tf_data_set(t, r, range, result);
	default:
		return md_tf_refuse(result);
	}
}

enum md_tf_kind md_tf_start(struct md_tf *t, const struct md_tf_regs *r, u64 now_ns,
			    struct mde_range *range, struct md_tf_result *result)
{
	bool reads_log = r->command == MD_READ_LOG_EXT || r->command == MD_READ_LOG_DMA_EXT;

	memset(range, 0, sizeof(*range));
	md_tf_ends(result, r);
	/* After an NCQ error the drive waits for its log to be read, 4.14. */
	if (t->failed && !(reads_log && (r->lba & 0xff) == 0x10))
		return md_tf_refuse(result);
	if (md_tf_op(r, &range->op))
		return md_tf_sectors(t, r, range, result);
	return md_tf_other(t, r, now_ns, range, result);
}
EXPORT_SYMBOL_GPL(md_tf_start);

static void md_tf_sum(u8 page[MD_TF_PAGE])
{
	u8 sum = 0;
	int i;

	for (i = 0; i < MD_TF_PAGE - 1; i++)
		sum += page[i];
	page[MD_TF_PAGE - 1] = -sum;
}

bool md_tf_reply(struct md_tf *t, const struct md_tf_regs *r, u32 n, u8 page[MD_TF_PAGE])
{
	bool reads_log = r->command == MD_READ_LOG_EXT || r->command == MD_READ_LOG_DMA_EXT;
	u8 log = r->lba & 0xff;
	u32 first = reads_log ? md_tf_page_of(r) : 0;

	memset(page, 0, MD_TF_PAGE);
	if (r->command == MD_SMART && (r->feature & 0xff) == MD_SMART_READ_DATA) {
		/* 7.48.5.2: no attributes, but a sum */
		page[0] = 1;
		md_tf_sum(page);
		return !n;
	}
	if (r->command == MD_IDENTIFY) {
		md_tf_identify(t, page);
		return !n;
	}
	if (n >= (reads_log ? r->count : r->count & 0xffU) ||
	    first + n >= md_tf_log_pages(log))
		return false;
	md_tf_log(t, log, first + n, page);
	return true;
}
EXPORT_SYMBOL_GPL(md_tf_reply);

void md_tf_take(struct md_tf *t, const struct md_tf_regs *r, const u8 page[MD_TF_PAGE],
		struct md_tf_result *result)
{
	md_tf_ends(result, r);
	md_tf_sct(t, page, result);
}
EXPORT_SYMBOL_GPL(md_tf_take);

/* Resets. */

void md_tf_reset(struct md_tf *t)
{
	t->failed = false;
	/* From SLEEP a drive wakes to standby. */
	t->asleep = false;
}
EXPORT_SYMBOL_GPL(md_tf_reset);

void md_tf_init(struct md_tf *t, const struct mde_config *cfg, u64 now_ns)
{
	memset(t, 0, sizeof(*t));
	t->cfg = cfg;
	t->erc_ds[0] = cfg->recovery_limit_ms / 100;
	t->erc_ds[1] = t->erc_ds[0];
	t->caching.read_cache = cfg->segments && cfg->read_cache;
	t->caching.look_ahead = cfg->segments && cfg->look_ahead;
	t->caching.write_cache = cfg->segments && cfg->write_segments && cfg->write_cache_on;
	t->forced = MD_TF_ACTIVE;
	t->busy_ns = now_ns;
	t->standby_ds = (cfg->standby_timer_ms + 99) / 100;
}
EXPORT_SYMBOL_GPL(md_tf_init);
