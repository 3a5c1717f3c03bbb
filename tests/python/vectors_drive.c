// SPDX-License-Identifier: GPL-2.0
/* vectors.c's questions, answered by the simulated drive. */
#include "vectors.h"

#include "../../tools/mechdisk/mechdisk_layout.h"
#include "../../tools/mechdisk/mechdisk_mech.h"
#include "../../tools/mechdisk/mechdisk_text.h"

static struct mde_config config;

unsigned long long vec_load(const char *path, const char *text, unsigned long len)
{
	struct mdt_error err;

	if (mdt_parse(text, len, &config, &err))
		vec_fail(path, err.line, err.reason);
	return config.sectors;
}

void vec_locate(unsigned long long lbn, struct vec_place *place)
{
	struct mdl_piece piece;

	mdl_locate(&config, lbn, 1, &piece);
	place->cyl = piece.cyl;
	place->head = piece.head;
	place->sector = piece.sector;
	place->spt = piece.spt;
	place->angle = piece.angle / 18446744073709551616.0;
}

double vec_move_ns(unsigned int cyls, int other_head, int write)
{
	return mdm_move_ps(&config, cyls, other_head, write) / 1000.0;
}
