/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a model answers that the fuzzer has made.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "disk_model.h"
#include "fuzz.h"

#define FUZZ_MODEL_ASKED 128

/* of a model of a text or a table that was taken: every query has an answer within bounds */
static inline void fuzz_model_ask(const struct disk_model *dm)
{
	const struct dm_info *info = dm_info(dm);
	struct dm_place p = { 0, 0, 0 };
	struct dm_piece piece[2];
	struct dm_access a;
	struct dm_track t;
	u64 lbn = 0;
	u32 i;

	for (i = 0; i < FUZZ_MODEL_ASKED; i++, lbn = (lbn * 31 + 7) % info->sectors) {
		fuzz_check(!dm_place_of(dm, lbn, &p));
		fuzz_check(p.cyl < info->cylinders && p.head < info->heads);
		fuzz_check(!dm_track_of(dm, lbn, &t));
		fuzz_check(lbn >= t.first_lbn && lbn - t.first_lbn < t.nsect);
		fuzz_check(t.spt <= info->spt_most);
		if (dm_access(dm, &p, lbn, 1, i & 1, &a))
			fuzz_check(info->mapped < info->sectors);
		else
			fuzz_check(a.total_ns >= a.seek_ns + a.latency_ns);
		dm_window(dm, &t, p.angle, 1ULL << 32, piece);
		fuzz_check(piece[0].nsect <= t.nsect && piece[1].nsect <= t.nsect);
		fuzz_check(!dm_track_by_index(dm, lbn % dm_tracks(dm), &t));
	}
	for (i = 1; i < info->cylinders; i += 1 + info->cylinders / 16)
		fuzz_check(dm_seek_floor_ns(dm, i) <= 4ULL * DM_NS_MAX);
}

#endif /* FUZZ_MODEL_H */
