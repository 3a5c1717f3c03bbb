// SPDX-License-Identifier: GPL-2.0
/*
 * The scrubber (Practical Scrubbing), a consumer of include/freeblock.h. It wants every
 * block read from the medium and looks at no data. Which blocks were good is kept in a map
 * of the disk, that outlives the task, can be read as the file "coverage" at any time, and
 * be given back for a later scrub to go on from: a bit is set when its block has been
 * delivered without error, and taken back only when a new pass begins.
 *
 * Locks: fb_job_mutex guards scrubs against their commands and readers. The callbacks come
 * one at a time and alone write the counts and the map of a running one; readers see them
 * word by word.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "fb_disk.h"
#include "fb_job.h"
#include "fb_scrub.h"

/* of staggered scrubbing, unless told: as idle reads are (Practical Scrubbing, V.C) */
#define FB_SCRUB_SEGMENT_KIB 1024

/* blocks that are handed to the task at once */
#define FB_SCRUB_CHUNK BIT(20)

#define FB_SCRUB_MAGIC "fbcover"
#define FB_SCRUB_VERSION 1

/* the file "coverage" begins with this, little-endian; the map follows, a bit for a block */
struct fb_scrub_header {
	char magic[8];
	__le32 version;
	__le32 granule;		/* sectors of a block */
	__le64 blocks;		/* of the disk */
	__le64 began;		/* this pass, seconds since 1970; 0: not known */
	__le32 passes;		/* that came to their end before this one */
	__le32 reserved;
	char id[88];		/* of the disk, filled up with zeros */
};

/**
 * struct fb_scrub_run - one of the scrubs of a disk
 * @first: first sector of the range
 * @count: its sectors
 * @total: its blocks
 * @order: of idle reads, in words
 * @verified: blocks of the range that were good, those of before included
 * @before: of those, verified before this scrub began
 * @bad: blocks that could not be read
 * @skipped: blocks not tried, just behind a bad one
 * @start_ns: when it began
 * @end_ns: when it ended, 0: it has not
 */
struct fb_scrub_run {
	u64 first;
	u64 count;
	u64 total;
	char order[48];
	u64 verified;
	u64 before;
	u64 bad;
	u64 skipped;
	u64 start_ns;
	u64 end_ns;
};

/**
 * struct fb_scrub - the scrubs of a disk, one after the other
 * @job: the task of the present or last one
 * @granule: sectors of a block, of @map
 * @blocks: of the disk, bits in @map
 * @map: what has been verified in this pass; NULL before the first
 * @upload: a header and map on their way in
 * @upload_len: bytes of it so far
 * @began: when this pass began, seconds since 1970
 * @passes: that came to their end
 * @run: the present or last one
 */
struct fb_scrub {
	struct fb_job job;
	u32 granule;
	u64 blocks;
	unsigned long *map;
	u8 *upload;
	size_t upload_len;
	u64 began;
	u32 passes;
	struct fb_scrub_run run;
};

/* ---- callbacks ---- */

static void fb_scrub_block(struct freeblock_task *task, sector_t lbn, unsigned int sectors,
			   const void *data, blk_status_t status)
{
	struct fb_scrub *scrub = freeblock_task_ctx(task);

	if (status == BLK_STS_MEDIUM)
		scrub->run.bad++;
	else if (status != BLK_STS_OK)
		scrub->run.skipped++;
	else if (!test_and_set_bit(div_u64(lbn, scrub->granule), scrub->map))
		scrub->run.verified++;
}

static void fb_scrub_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fb_scrub *scrub = freeblock_task_ctx(task);

	WRITE_ONCE(scrub->run.end_ns, ktime_get_ns());
	if (why == FREEBLOCK_FINISHED)
		scrub->passes++;
	fb_job_ended(&scrub->job, why);
}

static const struct freeblock_ops fb_scrub_ops = {
	.flags = FREEBLOCK_MEDIUM | FREEBLOCK_NO_DATA,
	.block = fb_scrub_block,
	.ended = fb_scrub_ended,
};

/* ---- the map ---- */

static int fb_scrub_refuse(const struct fb_scrub_disk *disk, int ret, const char *fmt, ...)
	__printf(3, 4);

static int fb_scrub_refuse(const struct fb_scrub_disk *disk, int ret, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_err("freeblock: %s: scrub: %pV\n", disk->name, &vaf);
	va_end(args);
	return ret;
}

static u64 fb_scrub_blocks(const struct fb_scrub_disk *disk)
{
	return DIV_ROUND_UP_ULL(disk->sectors, disk->granule);
}

static void fb_scrub_drop_upload(struct fb_scrub *scrub)
{
	kvfree(scrub->upload);
	scrub->upload = NULL;
	scrub->upload_len = 0;
}

/* the disk's scrubs, with a map that fits its present model, empty if it had none */
static struct fb_scrub *fb_scrub_get(struct fb_scrub **slot, const struct fb_scrub_disk *disk)
{
	u64 blocks = fb_scrub_blocks(disk);
	struct fb_scrub *scrub = *slot;
	unsigned long *map;

	lockdep_assert_held(&fb_job_mutex);
	if (!scrub) {
		scrub = kzalloc(sizeof(*scrub), GFP_KERNEL);
		if (!scrub)
			return NULL;
		fb_job_setup(&scrub->job);
		*slot = scrub;
	}
	if (scrub->map && scrub->granule == disk->granule && scrub->blocks == blocks)
		return scrub;
	map = vzalloc(BITS_TO_LONGS(blocks) * sizeof(*map));
	if (!map)
		return NULL;
	/* what is on its way in has the length of the map before */
	fb_scrub_drop_upload(scrub);
	vfree(scrub->map);
	scrub->map = map;
	scrub->granule = disk->granule;
	scrub->blocks = blocks;
	scrub->passes = 0;
	scrub->began = 0;
	return scrub;
}

static u64 fb_scrub_weight(const unsigned long *map, u64 first, u64 n)
{
	u64 found = 0, at = first, end = first + n;

	for (; at < end && at % BITS_PER_LONG; at++)
		found += test_bit(at, map);
	for (; at + BITS_PER_LONG <= end; at += BITS_PER_LONG)
		found += hweight_long(map[BIT_WORD(at)]);
	for (; at < end; at++)
		found += test_bit(at, map);
	return found;
}

/* ---- begin and end ---- */

/**
 * struct fb_scrub_words - a "start" command, taken to pieces
 * @n: numbers given
 * @range: the numbers
 * @order: see there
 * @regions: see freeblock_task_order()
 * @segment_kib: 0: not given
 * @go_on: with what has been verified before
 */
struct fb_scrub_words {
	int n;
	u64 range[2];
	enum freeblock_order order;
	u32 regions;
	u32 segment_kib;
	bool go_on;
};

static int fb_scrub_parse_word(const struct fb_scrub_disk *disk, const char *word,
			       struct fb_scrub_words *w)
{
	if (!strcmp(word, "near")) {
		w->order = FREEBLOCK_NEAR;
	} else if (!strcmp(word, "sequential")) {
		w->order = FREEBLOCK_SEQUENTIAL;
	} else if (!strncmp(word, "staggered=", 10)) {
		w->order = FREEBLOCK_STAGGERED;
		if (kstrtou32(word + 10, 10, &w->regions) || !w->regions)
			return fb_scrub_refuse(disk, -EINVAL, "'%s': REGIONS is a number from 1 on",
					       word);
	} else if (!strncmp(word, "segment=", 8)) {
		if (kstrtou32(word + 8, 10, &w->segment_kib) || !w->segment_kib ||
		    w->segment_kib > U32_MAX / 2)
			return fb_scrub_refuse(disk, -EINVAL, "'%s': KIB is a number from 1 on",
					       word);
	} else if (!strcmp(word, "resume-coverage")) {
		w->go_on = true;
	} else if (w->n < 2 && !kstrtou64(word, 10, &w->range[w->n])) {
		w->n++;
	} else {
		return fb_scrub_refuse(disk, -EINVAL,
				       "'%s' is none of FIRST COUNT, sequential, staggered=REGIONS, near, segment=KIB, resume-coverage",
				       word);
	}
	return 0;
}

static int fb_scrub_check_words(const struct fb_scrub_disk *disk, struct fb_scrub_words *w)
{
	if (w->n == 1 || (w->n && !w->range[1]))
		return fb_scrub_refuse(disk, -EINVAL, "FIRST needs a COUNT behind it, not 0");
	if (w->segment_kib && w->order != FREEBLOCK_STAGGERED)
		return fb_scrub_refuse(disk, -EINVAL, "segment=%u: that is for staggered=REGIONS",
				       w->segment_kib);
	if (w->order == FREEBLOCK_STAGGERED && !w->segment_kib)
		w->segment_kib = max(FB_SCRUB_SEGMENT_KIB, (int)disk->granule / 2);
	return 0;
}

static int fb_scrub_set_order(struct fb_scrub *scrub, const struct fb_scrub_disk *disk,
			      const struct fb_scrub_words *w)
{
	static const char * const names[] = { "near", "sequential", "staggered" };
	int ret = freeblock_task_order(scrub->job.task, w->order, w->regions, w->segment_kib * 2);

	if (ret)
		return fb_scrub_refuse(disk, ret,
				       "staggered=%u segment=%u: more regions than blocks, or a segment that is not whole blocks of %u KiB",
				       w->regions, w->segment_kib, disk->granule / 2);
	if (w->order == FREEBLOCK_STAGGERED)
		snprintf(scrub->run.order, sizeof(scrub->run.order), "staggered=%u segment=%u",
			 w->regions, w->segment_kib);
	else
		strscpy(scrub->run.order, names[w->order], sizeof(scrub->run.order));
	return 0;
}

/* want those blocks of the range that have not been verified yet */
static int fb_scrub_add_rest(struct fb_scrub *scrub, u64 first, u64 end)
{
	unsigned long *rest;
	u64 at = round_down(first, BITS_PER_LONG);
	int ret = 0;

	rest = vmalloc(FB_SCRUB_CHUNK / BITS_PER_BYTE);
	if (!rest)
		return -ENOMEM;
	for (; at < end && !ret; at += FB_SCRUB_CHUNK) {
		u32 n = min_t(u64, FB_SCRUB_CHUNK, end - at);

		bitmap_complement(rest, scrub->map + BIT_WORD(at), n);
		if (at < first)
			bitmap_clear(rest, 0, first - at);
		if (!bitmap_empty(rest, n))
			ret = freeblock_task_add_bits(scrub->job.task, at, rest, n);
		cond_resched();
	}
	vfree(rest);
	return ret;
}

static int fb_scrub_add(struct fb_scrub *scrub, const struct fb_scrub_disk *disk, bool go_on)
{
	struct fb_scrub_run *run = &scrub->run;
	u64 first = div_u64(run->first, scrub->granule);

	if (!go_on)
		return freeblock_task_add(scrub->job.task, run->first, run->count);
	run->before = fb_scrub_weight(scrub->map, first, run->total);
	run->verified = run->before;
	if (run->before == run->total)
		return fb_scrub_refuse(disk, -EINVAL,
				       "resume-coverage: all of it has been verified: start without");
	return fb_scrub_add_rest(scrub, first, first + run->total);
}

static int fb_scrub_check_range(const struct fb_scrub_disk *disk, u64 first, u64 count)
{
	u32 mask = disk->granule - 1;

	if (first >= disk->sectors || count > disk->sectors - first)
		return fb_scrub_refuse(disk, -EINVAL, "sectors %llu+%llu: the disk has %llu", first,
				       count, disk->sectors);
	if (first & mask || (count & mask && first + count != disk->sectors))
		return fb_scrub_refuse(disk, -EINVAL, "sectors %llu+%llu: not whole blocks of %u",
				       first, count, disk->granule);
	return 0;
}

static int fb_scrub_prepare(struct fb_scrub *scrub, const struct fb_scrub_disk *disk,
			    const struct fb_scrub_words *w)
{
	int ret = fb_job_create(&scrub->job, disk->name, "scrub", &fb_scrub_ops, scrub);

	if (ret)
		return ret;
	memset(&scrub->run, 0, sizeof(scrub->run));
	scrub->run.first = w->range[0];
	scrub->run.count = w->n ? w->range[1] : disk->sectors;
	scrub->run.total = DIV_ROUND_UP_ULL(scrub->run.count, disk->granule);
	scrub->run.start_ns = ktime_get_ns();
	ret = fb_scrub_check_range(disk, scrub->run.first, scrub->run.count);
	if (!ret)
		ret = fb_scrub_set_order(scrub, disk, w);
	if (!ret)
		ret = fb_scrub_add(scrub, disk, w->go_on);
	return ret;
}

/* start what is prepared, with an empty map if it is a new pass; all or nothing */
static int fb_scrub_go(struct fb_scrub *scrub, bool go_on)
{
	unsigned long *before = scrub->map;
	int ret;

	if (go_on)
		return fb_job_start(&scrub->job);
	scrub->map = vzalloc(BITS_TO_LONGS(scrub->blocks) * sizeof(*scrub->map));
	ret = scrub->map ? fb_job_start(&scrub->job) : -ENOMEM;
	if (!ret) {
		scrub->began = ktime_get_real_seconds();
		vfree(before);
		return 0;
	}
	vfree(scrub->map);
	scrub->map = before;
	return ret;
}

static int fb_scrub_start(struct fb_scrub **slot, const struct fb_scrub_disk *disk, char *text)
{
	struct fb_scrub_words w = { .order = FREEBLOCK_SEQUENTIAL };
	struct fb_scrub_run before;
	struct fb_scrub *scrub;
	char *word;
	int ret = 0;

	while (!ret && (word = strsep(&text, " ")))
		ret = fb_scrub_parse_word(disk, word, &w);
	if (!ret)
		ret = fb_scrub_check_words(disk, &w);
	if (ret)
		return ret;
	if (!disk->sectors)
		return fb_scrub_refuse(disk, -ENODATA, "the disk has no model");
	if (*slot && (*slot)->job.task)
		return fb_scrub_refuse(disk, -EBUSY, "it is being scrubbed: stop that first");
	scrub = fb_scrub_get(slot, disk);
	if (!scrub)
		return -ENOMEM;
	before = scrub->run;
	ret = fb_scrub_prepare(scrub, disk, &w);
	if (!ret)
		ret = fb_scrub_go(scrub, w.go_on);
	if (!ret)
		return 0;
	fb_job_abandon(&scrub->job);
	scrub->run = before;
	return ret;
}

static int fb_scrub_change(struct fb_scrub *scrub, const struct fb_scrub_disk *disk,
			   const char *word)
{
	int ret;

	if (!scrub || !scrub->job.task)
		return fb_scrub_refuse(disk, -EALREADY, "'%s': it is not being scrubbed", word);
	if (!strcmp(word, "stop"))
		return fb_job_stop(&scrub->job);
	ret = !strcmp(word, "pause") ? freeblock_task_pause(scrub->job.task) :
				       freeblock_task_resume(scrub->job.task);
	if (ret == -EALREADY)
		return fb_scrub_refuse(disk, ret, "'%s': it is so already", word);
	if (ret)
		return fb_scrub_refuse(disk, ret, "'%s': it is stopping", word);
	return 0;
}

static int fb_scrub_parse(struct fb_scrub **slot, const struct fb_scrub_disk *disk, char *text)
{
	char *word = strsep(&text, " ");

	if (!strcmp(word, "start"))
		return fb_scrub_start(slot, disk, text);
	if (text || (strcmp(word, "pause") && strcmp(word, "resume") && strcmp(word, "stop")))
		return fb_scrub_refuse(disk, -EINVAL,
				       "'%s%s%s' is none of start ..., pause, resume, stop", word,
				       text ? " " : "", text ? text : "");
	return fb_scrub_change(*slot, disk, word);
}

/**
 * fb_scrub_command() - what is written to the file "scrub"
 * @slot: the disk's scrubs, NULL before the first
 * @disk: the disk
 * @text: "start [FIRST COUNT] [sequential|staggered=REGIONS|near] [segment=KIB]
 *	[resume-coverage]", "pause", "resume" or "stop"; a trailing newline is allowed
 *
 * Context: may sleep; does no I/O. Returns at once.
 *
 * Return: 0, or an error with a line in the kernel's log that says why; nothing has changed
 * then: -EINVAL, -EBUSY (it is being scrubbed), -EALREADY (it is not, or is paused or
 * running already), -ENODATA (no model), -ENOSPC, -ENOMEM.
 */
int fb_scrub_command(struct fb_scrub **slot, const struct fb_scrub_disk *disk, const char *text)
{
	unsigned int noio = memalloc_noio_save();
	char *copy = kstrdup(text, GFP_KERNEL);
	int ret = -ENOMEM;

	if (copy) {
		mutex_lock(&fb_job_mutex);
		ret = fb_scrub_parse(slot, disk, strim(copy));
		mutex_unlock(&fb_job_mutex);
		kfree(copy);
	}
	memalloc_noio_restore(noio);
	return ret;
}

/* no command can come any more: stop, wait, forget */
static void fb_scrub_exit(struct fb_disk *fd)
{
	struct fb_scrub *scrub = fd->scrub;

	if (!scrub)
		return;
	fb_job_end(&scrub->job);
	kvfree(scrub->upload);
	vfree(scrub->map);
	kfree(scrub);
	fd->scrub = NULL;
}

const struct fb_disk_client fb_scrub_client = {
	.exit = fb_scrub_exit,
};

/* ---- what it tells ---- */

static u64 fb_scrub_rate_kib(const struct fb_scrub *scrub)
{
	u64 end_ns = READ_ONCE(scrub->run.end_ns);
	u64 ms = div_u64((end_ns ? end_ns : ktime_get_ns()) - scrub->run.start_ns, NSEC_PER_MSEC);

	return div64_u64((scrub->run.verified - scrub->run.before) * scrub->granule * MSEC_PER_SEC,
			 2 * max(ms, 1ULL));
}

/**
 * fb_scrub_show() - what is read from the file "scrub"
 * @slot: the disk's scrubs
 * @page: a page to write to
 *
 * Context: may sleep.
 *
 * Return: bytes written.
 */
ssize_t fb_scrub_show(struct fb_scrub **slot, char *page)
{
	const struct fb_scrub_run *run;
	struct fb_scrub *scrub;
	ssize_t len;

	mutex_lock(&fb_job_mutex);
	scrub = *slot;
	if (!scrub || scrub->job.state == FB_JOB_IDLE) {
		mutex_unlock(&fb_job_mutex);
		return sysfs_emit(page, "state idle\n");
	}
	fb_job_update(&scrub->job);
	run = &scrub->run;
	len = sysfs_emit(page,
			 "state %s\norder %s\nfirst %llu\nsectors %llu\nblock_sectors %u\nblocks_total %llu\nblocks_verified %llu\nblocks_before %llu\nblocks_delivered %llu\nblocks_flying %llu\nblocks_bad %llu\nblocks_skipped %llu\nrate_kib_s %llu\nbegan %llu\npasses %u\n",
			 fb_job_state_name(&scrub->job), run->order, run->first, run->count,
			 scrub->granule, run->total, run->verified, run->before,
			 scrub->job.progress.done, scrub->job.progress.flying, run->bad,
			 run->skipped, fb_scrub_rate_kib(scrub), scrub->began, scrub->passes);
	mutex_unlock(&fb_job_mutex);
	return len;
}

/* ---- the file "coverage" ---- */

/* whole words of 64 bits */
static size_t fb_scrub_map_bytes(u64 blocks)
{
	return round_up(DIV_ROUND_UP_ULL(blocks, BITS_PER_BYTE), sizeof(u64));
}

static u8 fb_scrub_byte(const struct fb_scrub *scrub, size_t i)
{
	u64 bit = (u64)i * BITS_PER_BYTE;

	if (bit >= scrub->blocks)
		return 0;
	return READ_ONCE(scrub->map[BIT_WORD(bit)]) >> (bit % BITS_PER_LONG);
}

static void fb_scrub_fill_header(const struct fb_scrub *scrub, const struct fb_scrub_disk *disk,
				 struct fb_scrub_header *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, FB_SCRUB_MAGIC, sizeof(h->magic));
	h->version = cpu_to_le32(FB_SCRUB_VERSION);
	h->granule = cpu_to_le32(scrub->granule);
	h->blocks = cpu_to_le64(scrub->blocks);
	h->began = cpu_to_le64(scrub->began);
	h->passes = cpu_to_le32(scrub->passes);
	strscpy(h->id, disk->id, sizeof(h->id));
}

static ssize_t fb_scrub_copy(const struct fb_scrub *scrub, const struct fb_scrub_disk *disk,
			     char *buf, loff_t off, size_t count)
{
	size_t size = sizeof(struct fb_scrub_header) + fb_scrub_map_bytes(scrub->blocks), i;
	struct fb_scrub_header h;

	if (off >= size)
		return 0;
	fb_scrub_fill_header(scrub, disk, &h);
	count = min_t(size_t, count, size - off);
	for (i = 0; i < count; i++)
		buf[i] = off + i < sizeof(h) ? ((u8 *)&h)[off + i] :
						fb_scrub_byte(scrub, off + i - sizeof(h));
	return count;
}

/**
 * fb_scrub_read() - a piece of the file "coverage"
 * @slot: the disk's scrubs, NULL: none has been verified
 * @disk: the disk
 * @buf: filled
 * @off: where the piece begins
 * @count: bytes wanted
 *
 * Context: may sleep.
 *
 * Return: bytes; 0: at the end; -ENODATA (the disk has no model), -ENOMEM.
 */
ssize_t fb_scrub_read(struct fb_scrub **slot, const struct fb_scrub_disk *disk, char *buf,
		      loff_t off, size_t count)
{
	struct fb_scrub *scrub;
	ssize_t ret = -ENOMEM;

	if (!disk->sectors)
		return -ENODATA;
	mutex_lock(&fb_job_mutex);
	scrub = *slot;
	if (!scrub || !scrub->job.task)
		scrub = fb_scrub_get(slot, disk);
	if (scrub)
		ret = fb_scrub_copy(scrub, disk, buf, off, count);
	mutex_unlock(&fb_job_mutex);
	return ret;
}

/* does what has been written fit this disk? 0: take it */
static int fb_scrub_check_upload(const struct fb_scrub *scrub, const struct fb_scrub_disk *disk)
{
	const struct fb_scrub_header *h = (const struct fb_scrub_header *)scrub->upload;

	if (memcmp(h->magic, FB_SCRUB_MAGIC, sizeof(h->magic)) ||
	    le32_to_cpu(h->version) != FB_SCRUB_VERSION)
		return fb_scrub_refuse(disk, -EINVAL,
				       "coverage: not such a file, or of another version");
	if (strncmp(h->id, disk->id, sizeof(h->id)))
		return fb_scrub_refuse(disk, -EINVAL,
				       "coverage: it is of disk '%.*s', this is '%s'",
				       (int)sizeof(h->id), h->id, disk->id);
	if (le32_to_cpu(h->granule) != scrub->granule)
		return fb_scrub_refuse(disk, -EINVAL,
				       "coverage: its blocks have %u sectors, the model's %u",
				       le32_to_cpu(h->granule), scrub->granule);
	if (le64_to_cpu(h->blocks) != scrub->blocks)
		return fb_scrub_refuse(disk, -EINVAL,
				       "coverage: it is of %llu blocks, the disk has %llu",
				       le64_to_cpu(h->blocks), scrub->blocks);
	return 0;
}

static void fb_scrub_take_upload(struct fb_scrub *scrub)
{
	const struct fb_scrub_header *h = (const struct fb_scrub_header *)scrub->upload;
	const u8 *bytes = scrub->upload + sizeof(*h);
	u64 i;

	memset(scrub->map, 0, BITS_TO_LONGS(scrub->blocks) * sizeof(*scrub->map));
	for (i = 0; i < scrub->blocks; i++)
		if (bytes[i / BITS_PER_BYTE] & BIT(i % BITS_PER_BYTE))
			__set_bit(i, scrub->map);
	scrub->began = le64_to_cpu(h->began);
	scrub->passes = le32_to_cpu(h->passes);
}

static int fb_scrub_append(struct fb_scrub *scrub, const struct fb_scrub_disk *disk,
			   const char *buf, loff_t off, size_t count)
{
	size_t header = sizeof(struct fb_scrub_header);
	size_t size = header + fb_scrub_map_bytes(scrub->blocks);
	int ret = 0;

	if (!off) {
		fb_scrub_drop_upload(scrub);
		scrub->upload = kvzalloc(size, GFP_KERNEL);
	}
	if (!off && !scrub->upload)
		return -ENOMEM;
	if (off != scrub->upload_len || count > size - off)
		return fb_scrub_refuse(disk, -EINVAL,
				       "coverage: %zu bytes at %lld: write %zu, in order, from the start",
				       count, off, size);
	memcpy(scrub->upload + off, buf, count);
	/* refused as soon as that can be */
	if (off < header && off + count >= header)
		ret = fb_scrub_check_upload(scrub, disk);
	scrub->upload_len += count;
	if (ret || scrub->upload_len < size)
		return ret;
	fb_scrub_take_upload(scrub);
	fb_scrub_drop_upload(scrub);
	return 0;
}

/**
 * fb_scrub_write() - a piece of what was read from the file "coverage" before
 * @slot: the disk's scrubs
 * @disk: the disk
 * @buf: the piece
 * @off: its place; 0 begins anew
 * @count: its length
 *
 * It replaces the map when all of it is there, for "start resume-coverage". When it is
 * refused the map stays.
 *
 * Context: may sleep; does no I/O.
 *
 * Return: @count, or an error with a line in the log that says why: -EINVAL (of another
 * disk or model, out of order), -EBUSY (it is being scrubbed), -ENODATA (no model), -ENOMEM.
 */
ssize_t fb_scrub_write(struct fb_scrub **slot, const struct fb_scrub_disk *disk, const char *buf,
		       loff_t off, size_t count)
{
	unsigned int noio = memalloc_noio_save();
	struct fb_scrub *scrub;
	int ret = -ENOMEM;

	mutex_lock(&fb_job_mutex);
	if (!disk->sectors) {
		ret = fb_scrub_refuse(disk, -ENODATA, "coverage: the disk has no model");
	} else if (*slot && (*slot)->job.task) {
		ret = fb_scrub_refuse(disk, -EBUSY,
				      "coverage: it is being scrubbed: stop that first");
	} else {
		scrub = fb_scrub_get(slot, disk);
		if (scrub)
			ret = fb_scrub_append(scrub, disk, buf, off, count);
		if (scrub && ret)
			fb_scrub_drop_upload(scrub);
	}
	mutex_unlock(&fb_job_mutex);
	memalloc_noio_restore(noio);
	return ret ? ret : count;
}
