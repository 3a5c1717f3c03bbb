// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive behind a door; see sim_drive.h.
 */
#include <stdio.h>

#include "../mechdisk/mechdisk_engine.h"
#include "../mechdisk/mechdisk_text.h"
#include "sim_drive.h"
#include "sim_file.h"

#define SIM_DRIVE_NOISE_MAX_US 10000	/* as the text's noise record */

struct sim_drive {
	struct mde_config cfg;
	struct mde mde;
	u32 block;
	u64 reached_ns;		/* nothing is asked for that lies before it */
};

/* "laplace:120": the kind, and 120 us of standard deviation */
static void sim_drive_noise(struct mde_config *cfg, const char *noise)
{
	static const char * const kinds[] = { "off", "gauss", "laplace" };
	size_t len = strcspn(noise, ":");
	double us;
	char *end;
	u64 i;

	for (i = 0; i < 3; i++)
		if (strlen(kinds[i]) == len && !memcmp(kinds[i], noise, len))
			break;
	if (i == 3)
		sim_usage("noise: no such noise: %s", noise);
	cfg->noise = i;
	if (!noise[len])
		return;
	us = strtod(noise + len + 1, &end);
	if (i == MDE_NOISE_OFF || *end || end == noise + len + 1 ||
	    !(us >= 0 && us <= SIM_DRIVE_NOISE_MAX_US))
		sim_usage("noise: not KIND:MICROSECONDS: %s", noise);
	cfg->noise_sd_ns = us * 1000;
}

static u32 sim_drive_lines(const char *text, size_t len)
{
	u32 lines = 0;

	for (; len; len--)
		lines += *text++ == '\n';
	return lines;
}

/* the file's lines come first, and then those that override them */
static noreturn void sim_drive_refuse(const char *path, u32 lines, const struct mdt_error *err)
{
	if (err->line > lines)
		sim_usage("set:%u: %s", err->line - lines, err->reason);
	sim_fail("%s:%u: %s", path, err->line, err->reason);
}

struct sim_drive *sim_drive_open(const char *path, const char *lines, const char *noise,
				 u64 seed)
{
	struct sim_drive *d = calloc(1, sizeof(*d));
	struct mdt_error err = { 0 };
	size_t len, own;
	char *text;

	text = sim_file_read(path, &own);
	len = own + 1 + strlen(lines);
	text = realloc(text, len);
	if (!d || !text)
		sim_fail("out of memory");
	/* the last line of the file may lack its end */
	if (own && text[own - 1] != '\n')
		text[own++] = '\n';
	len = own + strlen(lines);
	memcpy(text + own, lines, len - own);
	if (mdt_parse(text, len, &d->cfg, &err))
		sim_drive_refuse(path, sim_drive_lines(text, own), &err);
	free(text);
	if (*noise)
		sim_drive_noise(&d->cfg, noise);
	d->cfg.seed = seed;
	d->block = d->cfg.sector_bytes / 512;
	mde_init(&d->mde, &d->cfg, 0);
	return d;
}

void sim_drive_close(struct sim_drive *d)
{
	mdt_free(&d->cfg);
	free(d);
}

void sim_drive_info(const struct sim_drive *d, struct sim_drive_info *info)
{
	info->sectors = d->cfg.sectors * d->block;
	info->block = d->block;
	/* at most MDE_SLOTS: the text's parser sees to it */
	info->queue = d->cfg.queue_depth;
	info->host_ns = 0;
	info->look_ahead_off = !d->cfg.segments || !d->cfg.look_ahead;
	info->verify = true;
	info->write_cache = d->mde.caching.write_cache && d->cfg.write_segments;
}

u64 sim_drive_now(const struct sim_drive *d, u64 now_ns)
{
	return now_ns;
}

int sim_drive_submit(struct sim_drive *d, u64 now_ns, enum sim_drive_op op, u64 lbn, u32 nsect)
{
	static const enum mde_op ops[] = {
		[SIM_DRIVE_READ] = MDE_READ,
		[SIM_DRIVE_WRITE] = MDE_WRITE,
		[SIM_DRIVE_VERIFY] = MDE_VERIFY,
		[SIM_DRIVE_FUA] = MDE_WRITE,
		[SIM_DRIVE_FLUSH] = MDE_FLUSH,
	};
	int slot;

	if (lbn % d->block || nsect % d->block)
		sim_fail("%u sectors at %llu are not whole blocks of the drive", nsect,
			 (unsigned long long)lbn);
	mde_advance(&d->mde, now_ns);
	slot = mde_submit(&d->mde, now_ns, ops[op], lbn / d->block, nsect / d->block,
			  op == SIM_DRIVE_FUA ? MDE_FUA : 0);
	if (slot < 0)
		sim_fail("the drive's queue is full");
	return slot;
}

static void sim_drive_judge(const struct sim_drive *d, struct sim_drive_done *done)
{
	const struct mde_slot *s = &d->mde.slot[done->slot];

	done->outcome = s->asc ? SIM_DRIVE_MEDIUM : SIM_DRIVE_GOOD;
	done->bad = s->info ? (s->lbn + s->good) * d->block : U64_MAX;
}

bool sim_drive_wait(struct sim_drive *d, u64 until_ns, struct sim_drive_done *done)
{
	u64 now;

	if (until_ns < d->reached_ns)
		sim_fail("the clock goes back by %llu ns",
			 (unsigned long long)(d->reached_ns - until_ns));
	do {
		now = mde_next_event(&d->mde);
		if (now > until_ns || now == MDE_NEVER) {
			if (until_ns != U64_MAX)
				d->reached_ns = until_ns;
			return false;
		}
		mde_advance(&d->mde, now);
		while (mde_started(&d->mde) >= 0)
			;
		done->slot = mde_due(&d->mde, now);
	} while (done->slot < 0);
	done->report_ns = mde_report_ns(&d->mde, done->slot);
	d->reached_ns = done->report_ns;
	sim_drive_judge(d, done);
	mde_release(&d->mde, done->slot);
	return true;
}

void sim_drive_stats(const struct sim_drive *d, struct sim_drive_stats *stats)
{
	const struct mde_stats *s = &d->mde.stats;

	stats->inside = true;
	stats->busy_ns = s->busy_ps / 1000;
	stats->seek_ns = s->seek_ps / 1000;
	stats->rotate_ns = s->rotate_ps / 1000;
	stats->transfer_ns = s->transfer_ps / 1000;
	stats->extra_turns = s->extra_turns;
	stats->read_hits = s->read_hits;
}
