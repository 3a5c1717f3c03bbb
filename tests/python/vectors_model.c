// SPDX-License-Identifier: GPL-2.0
/* vectors.c's questions, answered by the scheduler's model. */
#include "vectors.h"

#include "disk_model.h"
#include "tools/model/model_text.h"

static struct disk_model *model;

unsigned long long vec_load(const char *path, const char *text, unsigned long len)
{
	struct dm_fault err;

	if (fb_model_text_parse(text, len, &model, &err))
		vec_fail(path, err.line, err.reason);
	return dm_info(model)->sectors;
}

void vec_locate(unsigned long long lbn, struct vec_place *place)
{
	struct dm_place p;
	struct dm_track t;
	u64 sectors;

	if (dm_place_of(model, lbn, &p) || dm_track_at(model, p.cyl, p.head, &t))
		vec_fail("LBN", lbn, "has no place");
	place->cyl = p.cyl;
	place->head = p.head;
	place->spt = t.spt;
	place->angle = p.angle / 4294967296.0;
	/* the model names no sectors: as many as fit before the angle, to the nearest */
	sectors = (u64)(u32)(p.angle - t.angle0) * t.spt;
	place->sector = ((sectors + (1ULL << 31)) >> 32) % t.spt;
}

double vec_move_ns(unsigned int cyls, int other_head, int write)
{
	struct dm_place from = { 0 }, to = { .cyl = cyls, .head = other_head };

	return dm_seek_ns(model, &from, &to, write);
}
