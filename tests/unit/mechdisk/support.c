// SPDX-License-Identifier: GPL-2.0
/*
 * What the simulated drive's unit tests share.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *mdu_read(const char *name, const char *extra)
{
	const char *dir = getenv("MECHDISK_DRIVES");
	char path[512];
	char *text;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../drives", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s", path);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	n = fread(text, 1, (1 << 20) - 4096, f);
	fclose(f);
	strcpy(text + n, extra ? extra : "");
	return text;
}

void mdu_load(const char *name, const char *extra, struct mde_config *cfg)
{
	char *text = mdu_read(name, extra);
	struct mdt_error err;

	if (mdt_parse(text, strlen(text), cfg, &err))
		fail_msg("%s line %u: %s", name, err.line, err.reason);
	free(text);
}

int mdu_parse(const char *text, struct mde_config *cfg, struct mdt_error *err)
{
	/* A copy of exactly that length, so that reading beyond it shows. */
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, text, len);
	ret = mdt_parse(copy, len, cfg, err);
	free(copy);
	return ret;
}

FILE *mdu_vectors(const char *name)
{
	const char *dir = getenv("FREEBLOCK_DRIVES");
	char path[512], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/vectors/%s", dir ? dir : ".", name);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f)) {
		print_message("SKIP: no %s; set FREEBLOCK_DRIVES\n", path);
		if (f)
			fclose(f);
		return NULL;
	}
	return f;
}

int mdu_finish(struct mde *e, u64 *now)
{
	int slot;

	while ((slot = mde_due(e, *now)) < 0) {
		u64 next = mde_next_event(e);

		assert_true(next != MDE_NEVER);
		if (next > *now)
			*now = next;
		mde_advance(e, *now);
		while (mde_started(e) >= 0)
			;
	}
	return slot;
}

struct mde_slot mdu_run(struct mde *e, u64 *now, enum mde_op op, u64 lbn,
			u32 count)
{
	int submitted = mde_submit(e, *now, op, lbn, count, 0);
	int slot = mdu_finish(e, now);
	struct mde_slot s = e->slot[slot];

	assert_int_equal(slot, submitted);
	mde_release(e, slot);
	return s;
}

double mdu_turn(u64 angle)
{
	return angle / 18446744073709551616.0;
}

double mdu_turn_apart(double a, double b)
{
	double d = fabs(a - b);

	return d > 0.5 ? 1 - d : d;
}
