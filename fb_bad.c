// SPDX-License-Identifier: GPL-2.0
/*
 * Bad blocks without collateral damage. A drive may try for seconds to recover a sector,
 * and the foreground waits as long; bad sectors come in bursts. So what lies around one that
 * could not be read is quarantined: no gap is used for it. It is read while the disk is
 * idle, after a pause for each slow recovery, and when these do not end, tasks pause.
 *
 * An error that does not tell which block is bad, or that may pass, puts blocks in doubt:
 * they are read again, each alone, and are bad only if that fails.
 *
 * All functions run in the thread but those that say otherwise.
 *
 * Locks: fb_disk.lock for what is marked [L] in fb_bad.h; the table is in fb_disk.h.
 */
#include <linux/kobject.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fb_disk.h"
#include "trace.h"

/* blocks in doubt are tried so seldom in gaps: the drive may take seconds over each */
#define FBB_DOUBT_NS (5 * (u64)NSEC_PER_SEC)

/* a recovery is slow from here on: no seek and no queue of two takes so long */
#define FBB_SLOW_NS NSEC_PER_SEC

/* what is not in doubt is read in pieces of so much */
#define FBB_PIECE (128U << 10 >> SECTOR_SHIFT)

static u32 fbb_granule(const struct fb_svc *svc)
{
	return dm_info(svc->fd->model)->granule_sectors;
}

/* nothing is bad */
static void fbb_init(struct fb_disk *fd)
{
	fd->bad.quarantine_kib = FBB_QUARANTINE_KIB;
	fd->bad.slow_s = FBB_SLOW_S;
	fd->bad.slow_most = FBB_SLOW_MOST;
}

const struct fb_disk_client fb_bad_client = {
	.init = fbb_init,
};

static bool fbb_meets(u64 first, u64 count, u64 lbn, u64 nsect)
{
	return lbn < first + count && first < lbn + nsect;
}

/* ---- zones ---- */

/**
 * fbb_limits() - where a search is not to look
 * @b: the disk's
 * @lim: limits of the search
 */
void fbb_limits(const struct fb_bad *b, struct fb_limits *lim)
{
	lim->avoid = b->zone;
	lim->navoid = b->zones;
}

/**
 * fbb_zone() - is any of these sectors quarantined?
 * @b: the disk's
 * @lbn: first sector
 * @nsect: how many
 *
 * Return: the zone that they meet first; NULL: none.
 */
const struct fb_avoid *fbb_zone(const struct fb_bad *b, u64 lbn, u64 nsect)
{
	const struct fb_avoid *first = NULL, *z;

	for (z = b->zone; z < b->zone + b->zones; z++)
		if (fbb_meets(z->first, z->end - z->first, lbn, nsect) &&
		    (!first || z->first < first->first))
			first = z;
	return first;
}

/* a zone for @lbn; the last of too many takes in all between */
static void fbb_quarantine(struct fb_svc *svc, u64 lbn, u32 nsect)
{
	struct fb_bad *b = &svc->fd->bad;
	u64 side = (u64)READ_ONCE(b->quarantine_kib) << 10 >> SECTOR_SHIFT;
	u64 sectors = dm_info(svc->fd->model)->sectors;
	u32 granule = fbb_granule(svc), i;
	struct fb_avoid z;

	if (!side)
		return;
	z.first = round_down(lbn - min(lbn, side), granule);
	z.end = min(round_up(lbn + nsect + side, granule), sectors);
	for (i = 0; i < b->zones; i++)
		if (i == FBB_ZONES - 1 ||
		    fbb_meets(b->zone[i].first, b->zone[i].end - b->zone[i].first, z.first,
			      z.end - z.first))
			break;
	if (i == b->zones) {
		b->zone[b->zones++] = z;
		return;
	}
	b->zone[i].first = min(b->zone[i].first, z.first);
	b->zone[i].end = max(b->zone[i].end, z.end);
}

/* ---- doubt ---- */

/**
 * fbb_doubts() - is any of these sectors in doubt?
 * @b: the disk's
 * @lbn: first sector
 * @nsect: how many
 *
 * Return: true: it is to be read alone.
 */
bool fbb_doubts(const struct fb_bad *b, u64 lbn, u64 nsect)
{
	u32 i;

	for (i = 0; i < min(b->doubts, FBB_DOUBTS); i++)
		if (fbb_meets(b->doubt[i].first, b->doubt[i].count, lbn, nsect))
			return true;
	return false;
}

/**
 * fbb_forget() - no block is in doubt
 * @b: the disk's
 *
 * Those that were may have been written meanwhile, and what is bad is found again.
 *
 * Context: there is no thread that reads for tasks.
 */
void fbb_forget(struct fb_bad *b)
{
	b->doubts = 0;
}

static void fbb_doubt(struct fb_bad *b, u64 lbn, u64 nsect)
{
	u32 i = b->doubts++ % FBB_DOUBTS;

	b->doubt[i].first = lbn;
	b->doubt[i].count = nsect;
}

/* the first piece reads up to what is in doubt, or one block of it; false: nothing */
static bool fbb_cut_piece(struct fb_svc *svc, struct fb_plan *plan)
{
	const struct fb_bad *b = &svc->fd->bad;
	struct fb_plan_piece *p = &plan->piece[0];
	u32 granule = fbb_granule(svc);
	u32 i;

	for (i = 0; i < min(b->doubts, FBB_DOUBTS); i++) {
		u64 first = b->doubt[i].first;

		if (!fbb_meets(first, b->doubt[i].count, p->lbn, p->nsect))
			continue;
		if (plan->kind == FB_PLAN_PREPEND ||
		    (p->lbn >= first && ktime_get_ns() - b->doubt_ns < FBB_DOUBT_NS))
			return false;
		p->nsect = p->lbn < first ? first - p->lbn : min(p->nsect, granule);
	}
	plan->wanted = fb_bitmap_count(svc->map, div_u64(p->lbn, granule),
				       DIV_ROUND_UP(p->nsect, granule));
	return true;
}

/**
 * fbb_cut() - shorten a plan for a gap so that nothing is read that may be bad
 * @svc: the service
 * @plan: the plan; it may read less afterwards, never anything else
 *
 * Quarantined blocks are not read in gaps; blocks in doubt alone, and seldom.
 *
 * Return: false: nothing of it may be read now.
 */
bool fbb_cut(struct fb_svc *svc, struct fb_plan *plan)
{
	const struct fb_bad *b = &svc->fd->bad;
	u32 i;

	/* a search keeps off the tracks of zones; what ends on the next one may meet one */
	for (i = 0; i < plan->npieces; i++)
		if (fbb_zone(b, plan->piece[i].lbn, plan->piece[i].nsect))
			return false;
	/* more than are remembered: those forgotten wait like the others */
	if (b->doubts > FBB_DOUBTS && ktime_get_ns() - b->failed_ns < FBB_DOUBT_NS)
		return false;
	i = 0;
	while (i < plan->npieces && !fbb_doubts(b, plan->piece[i].lbn, plan->piece[i].nsect))
		i++;
	if (i == plan->npieces)
		return true;
	if (plan->npieces > 1)
		plan->kind = FB_PLAN_SEPARATE;
	plan->npieces = 1;
	return fbb_cut_piece(svc, plan);
}

/**
 * fbb_sent() - a read of ours has been sent
 * @svc: the service
 * @buf: the read
 */
void fbb_sent(struct fb_svc *svc, const struct fb_buf *buf)
{
	struct fb_bad *b = &svc->fd->bad;

	if (fbb_doubts(b, buf->lbn, buf->nsect))
		b->doubt_ns = ktime_get_ns();
}

/* ---- reports ---- */

static struct device *fbb_get_device(struct fb_disk *fd)
{
	struct device *dev = NULL;

	spin_lock_irq(&fd->lock);
	if (fd->q && fd->q->disk)
		dev = get_device(disk_to_dev(fd->q->disk));
	spin_unlock_irq(&fd->lock);
	return dev;
}

/* a change uevent of the disk: FREEBLOCK_<what>=<lbn> */
static void fbb_tell(struct fb_disk *fd, const char *what, u64 lbn)
{
	struct device *dev = fbb_get_device(fd);
	unsigned int noio = memalloc_noio_save();
	char text[64], *env[2] = { text };

	snprintf(text, sizeof(text), "FREEBLOCK_%s=%llu", what, lbn);
	if (dev) {
		kobject_uevent_env(&dev->kobj, KOBJ_CHANGE, env);
		put_device(dev);
	}
	memalloc_noio_restore(noio);
}

static bool fbb_is_listed(const struct fb_bad *b, u64 lbn)
{
	u32 i;

	for (i = 0; i < b->listed; i++)
		if (b->list[i].lbn == lbn)
			return true;
	return false;
}

static void fbb_report(struct fb_svc *svc, u64 lbn, u64 took_ns)
{
	struct fb_disk *fd = svc->fd;
	struct fb_bad *b = &fd->bad;
	char name[FB_NAME_LEN];
	bool known;

	fb_disk_copy_name(fd, name, sizeof(name));
	spin_lock_irq(&fd->lock);
	known = fbb_is_listed(b, lbn);
	if (!known) {
		b->total++;
		if (b->listed < FBB_LISTED) {
			b->list[b->listed].lbn = lbn;
			b->list[b->listed++].nsect = fbb_granule(svc);
		}
	}
	trace_freeblock_bad(fd, lbn, fbb_granule(svc), took_ns);
	spin_unlock_irq(&fd->lock);
	if (known)
		return;
	pr_warn_ratelimited("freeblock: %s: sectors %llu+%u cannot be read (%llu ms)\n",
			    name, lbn, fbb_granule(svc), div_u64(took_ns, NSEC_PER_MSEC));
	fbb_tell(fd, "BAD_LBN", lbn);
}

/* it does not end: those who want it are to decide */
static void fbb_alarm(struct fb_svc *svc, u64 lbn)
{
	struct fb_disk *fd = svc->fd;
	char name[FB_NAME_LEN];
	u32 i, paused = 0;

	for (i = 0; i < FREEBLOCK_TASKS; i++)
		if (svc->task[i] && !freeblock_task_pause(svc->task[i]))
			paused++;
	spin_lock_irq(&fd->lock);
	fd->bad.alarms++;
	spin_unlock_irq(&fd->lock);
	fb_disk_copy_name(fd, name, sizeof(name));
	pr_warn("freeblock: %s: %u slow recoveries in a row, the last at sector %llu: %u tasks paused\n",
		name, fd->bad.slow_row, lbn, paused);
	fbb_tell(fd, "ALARM_LBN", lbn);
	fd->bad.slow_row = 0;
}

/**
 * fbb_ended() - a read of ours is back: was it slow?
 * @svc: the service
 * @buf: the read
 */
void fbb_ended(struct fb_svc *svc, const struct fb_buf *buf)
{
	struct fb_bad *b = &svc->fd->bad;
	u64 now = ktime_get_ns();

	if (!buf->status) {
		if (fbb_zone(b, buf->lbn, buf->nsect))
			b->slow_row = 0;
		return;
	}
	if (buf->ended_ns - buf->sent_ns < FBB_SLOW_NS)
		return;
	b->next_ns = now + (u64)READ_ONCE(b->slow_s) * NSEC_PER_SEC;
	if (++b->slow_row >= READ_ONCE(b->slow_most))
		fbb_alarm(svc, buf->lbn + buf->good);
}

/**
 * fbb_error_is_known() - does a failed read tell which of its blocks is bad?
 * @svc: the service
 * @buf: the read
 *
 * The place is known if some of it was read, for then the drive said where it was stopped;
 * and if it was of one block, with no foreground read behind it. The fault is the medium's
 * if the drive says so, or if that block failed before: what Linux would retry (ASC 15h), or
 * a time-out, may be over. Until both are known the blocks are wanted again, and read
 * alone where the place is in doubt.
 *
 * Return: true: the block with the first sector that was not read is bad, and has been
 * reported.
 */
bool fbb_error_is_known(struct fb_svc *svc, const struct fb_buf *buf)
{
	struct fb_bad *b = &svc->fd->bad;
	u32 granule = fbb_granule(svc);
	u64 bad = buf->lbn + round_down(buf->good, granule);
	bool doubted = fbb_doubts(b, bad, 1);
	bool placed = buf->good || (!buf->joined && buf->nsect <= granule);

	b->failed_ns = ktime_get_ns();
	fbb_quarantine(svc, bad, placed ? granule : buf->nsect);
	if (!doubted)
		fbb_doubt(b, bad, placed ? granule : round_up(buf->nsect, granule));
	if (!placed || (buf->status != BLK_STS_MEDIUM && !doubted))
		return false;
	fbb_report(svc, bad, buf->ended_ns - buf->sent_ns);
	return true;
}

/* ---- while the disk is idle ---- */

/**
 * fbb_idle() - a piece of what is quarantined, for idle time
 * @svc: the service
 * @bm: what is wanted
 * @max_sectors: the longest read
 * @piece: out: the read; what is in doubt alone
 *
 * Goes before all others, but for the pause after a slow recovery.
 *
 * Return: false: nothing of it is wanted, or it must wait.
 */
bool fbb_idle(const struct fb_svc *svc, const struct fb_bitmap *bm, u32 max_sectors,
	      struct fb_plan_piece *piece)
{
	const struct fb_bad *b = &svc->fd->bad;
	u32 granule = fbb_granule(svc), most = min(FBB_PIECE, max_sectors) / granule, n = 1, i;
	u64 at = 0, end = 0;

	if (!b->zones || ktime_get_ns() < b->next_ns)
		return false;
	for (i = 0; i < b->zones; i++) {
		end = div_u64(b->zone[i].end + granule - 1, granule);
		at = fb_bitmap_next_before(bm, div_u64(b->zone[i].first, granule), end);
		if (at < end)
			break;
	}
	if (i == b->zones)
		return false;
	piece->lbn = at * granule;
	while (n < most && at + n < end && fb_bitmap_is_wanted(bm, at + n) &&
	       !fbb_doubts(b, piece->lbn, (u64)(n + 1) * granule))
		n++;
	piece->nsect = min_t(u64, (u64)n * granule, svc->fd->sectors - piece->lbn);
	return true;
}

/**
 * fbb_divert() - keep an idle read off what is quarantined and must wait
 * @svc: the service
 * @bm: what is wanted
 * @piece: a read that begins with something wanted; changed: what is left before the zone
 *	that it meets, or something behind
 *
 * Return: false: there is nothing outside of zones.
 */
bool fbb_divert(const struct fb_svc *svc, const struct fb_bitmap *bm, struct fb_plan_piece *piece)
{
	u32 granule = fbb_granule(svc), most = DIV_ROUND_UP(piece->nsect, granule), n = most, i;
	u64 at = div_u64(piece->lbn, granule);
	const struct fb_avoid *z = NULL;

	/* past all zones in a row, and from the start of the disk again */
	for (i = 0; i <= 2 * FBB_ZONES; i++) {
		z = fbb_zone(&svc->fd->bad, at * granule, (u64)n * granule);
		if (z && z->first > at * granule) {
			n = div_u64(z->first - at * granule, granule);
			z = NULL;
		}
		if (!z)
			break;
		at = fb_bitmap_next_wanted(bm, DIV_ROUND_UP_ULL(z->end, granule));
		if (at >= bm->granules)
			at = fb_bitmap_next_wanted(bm, 0);
		if (at >= bm->granules)
			return false;
		n = min_t(u64, most, bm->granules - at);
	}
	if (z || !fb_bitmap_trim(bm, &at, &n))
		return false;
	piece->lbn = at * granule;
	piece->nsect = min_t(u64, (u64)n * granule, svc->fd->sectors - piece->lbn);
	return true;
}

/* ---- the file "bad_blocks" ---- */

#define FBB_LINE 40	/* characters of a line, at most */

/**
 * fbb_read_list() - a piece of the text that lists bad blocks: first sector, sectors, why
 * @fd: the disk
 * @buf: filled
 * @off: where the piece begins
 * @count: bytes wanted
 *
 * Context: may sleep.
 *
 * Return: bytes; -ENOMEM.
 */
ssize_t fbb_read_list(struct fb_disk *fd, char *buf, loff_t off, size_t count)
{
	size_t size = FBB_LISTED * FBB_LINE;
	char *text = kvmalloc(size, GFP_NOIO);
	ssize_t ret;
	size_t len = 0;
	u32 i;

	if (!text)
		return -ENOMEM;
	spin_lock_irq(&fd->lock);
	for (i = 0; i < fd->bad.listed; i++)
		len += scnprintf(text + len, size - len, "%llu %u medium\n", fd->bad.list[i].lbn,
				 fd->bad.list[i].nsect);
	spin_unlock_irq(&fd->lock);
	ret = memory_read_from_buffer(buf, count, &off, text, len);
	kvfree(text);
	return ret;
}
