// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive behind a door; see sim_drive.h.
 */
#include "../mechdisk/mechdisk_engine.h"
#include "../mechdisk/mechdisk_text.h"
#include "sim_drive.h"

#define TEXT_MAX (1024 * 1024)

struct sim_drive {
	struct mde_config cfg;
	struct mde mde;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

struct sim_drive *sim_drive_open(const char *path, const char *noise, u64 seed)
{
	struct sim_drive *d = calloc(1, sizeof(*d));
	char *text = malloc(TEXT_MAX);
	FILE *f = fopen(path, "r");
	struct mdt_error err;

	if (!f)
		fail(path, "cannot be read");
	if (mdt_parse(text, fread(text, 1, TEXT_MAX, f), &d->cfg, &err))
		fail(path, err.reason);
	fclose(f);
	free(text);
	if (noise && !strcmp(noise, "off"))
		d->cfg.noise = MDE_NOISE_OFF;
	else if (noise && !strcmp(noise, "laplace"))
		d->cfg.noise = MDE_NOISE_LAPLACE;
	else if (noise && !strcmp(noise, "gauss"))
		d->cfg.noise = MDE_NOISE_GAUSS;
	else if (noise)
		fail(noise, "no such noise");
	if (seed)
		d->cfg.seed = seed;
	mde_init(&d->mde, &d->cfg, 0);
	return d;
}

void sim_drive_close(struct sim_drive *d)
{
	mdt_free(&d->cfg);
	free(d);
}

int sim_drive_submit(struct sim_drive *d, u64 now_ns, bool write, u64 lbn,
		     u32 nsect)
{
	mde_advance(&d->mde, now_ns);
	return mde_submit(&d->mde, now_ns, write ? MDE_WRITE : MDE_READ, lbn,
			  nsect, 0);
}

void sim_drive_wait(struct sim_drive *d, struct sim_done *done)
{
	const struct mde_slot *s;
	u64 now;

	for (;;) {
		now = mde_next_event(&d->mde);
		mde_advance(&d->mde, now);
		while (mde_started(&d->mde) >= 0)
			;
		done->slot = mde_due(&d->mde, now);
		if (done->slot >= 0)
			break;
	}
	s = &d->mde.slot[done->slot];
	done->report_ns = mde_report_ns(&d->mde, done->slot);
	done->started_ns = s->started / 1000;
	done->media_end_ns = s->media_end / 1000;
	mde_release(&d->mde, done->slot);
}
