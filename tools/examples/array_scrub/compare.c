// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "parity.h"

#define SECTOR 512

const char *compare_kind_name(enum finding_kind kind)
{
	static const char * const names[FINDING_KINDS] = {
		[FINDING_NONE] = "none",
		[FINDING_P] = "P",
		[FINDING_Q] = "Q",
		[FINDING_PQ] = "PQ",
		[FINDING_COPIES] = "copies",
		[FINDING_UNREADABLE] = "unreadable",
		[FINDING_KNOWN_BAD] = "known-bad",
		[FINDING_UNSETTLED] = "unsettled",
	};

	return names[kind];
}

bool compare_is_mismatch(enum finding_kind kind)
{
	return kind >= FINDING_P && kind <= FINDING_COPIES;
}

static bool copies_agree(unsigned int n, const unsigned char *const *blocks, size_t bytes)
{
	unsigned int i;

	for (i = 1; i < n; i++)
		if (memcmp(blocks[0], blocks[i], bytes))
			return false;
	return true;
}

static unsigned int parity_of(const struct array *array, uint64_t first,
			      const unsigned char *const *blocks, size_t bytes,
			      struct geometry_row *row)
{
	geometry_row(&array->geometry, first / array->geometry.chunk, row);
	return parity_check(array->geometry.level, row, blocks, bytes);
}

bool compare_agree(const struct array *array, uint64_t first, const unsigned char *const *blocks,
		   size_t bytes)
{
	struct geometry_row row;

	if (array->geometry.level == 1)
		return copies_agree(array->n, blocks, bytes);
	return !parity_of(array, first, blocks, bytes, &row);
}

/* Of three copies or more, the only one that differs from all others, which agree */
static int odd_copy(const struct array *array, const unsigned char *const *blocks)
{
	unsigned int i, n = array->n;
	const unsigned char *others[GEOMETRY_DISKS_MAX];

	for (i = 0; i < n && n > 2; i++) {
		memcpy(others, blocks, n * sizeof(*others));
		others[i] = others[n - 1];
		if (copies_agree(n - 1, others, SECTOR))
			return array->members[i].slot;
	}
	return -1;
}

struct finding compare_sector(const struct array *array, uint64_t sector,
			      const unsigned char *const *blocks)
{
	static const enum finding_kind kinds[] = {
		[0] = FINDING_NONE,
		[PARITY_P] = FINDING_P,
		[PARITY_Q] = FINDING_Q,
		[PARITY_P | PARITY_Q] = FINDING_PQ,
	};
	struct finding found = { .first = sector, .sectors = 1, .slot = -1 };
	struct geometry_row row;

	if (array->geometry.level == 1) {
		if (copies_agree(array->n, blocks, SECTOR))
			return found;
		found.kind = FINDING_COPIES;
		found.slot = odd_copy(array, blocks);
		return found;
	}
	found.kind = kinds[parity_of(array, sector, blocks, SECTOR, &row)];
	if (found.kind != FINDING_NONE && array->geometry.level == 6)
		found.slot = parity_suspect(&row, blocks, SECTOR);
	return found;
}

void compare_note(struct findings *findings, struct finding finding)
{
	struct finding *last = findings->n ? &findings->list[findings->n - 1] : NULL, *more;

	if (finding.kind == FINDING_NONE)
		return;
	findings->sectors[finding.kind] += finding.sectors;
	if (last && last->kind == finding.kind && last->slot == finding.slot &&
	    last->first + last->sectors == finding.first) {
		last->sectors += finding.sectors;
		return;
	}
	if (findings->n == COMPARE_LISTED)
		return;
	if (!(findings->n & (findings->n - 1))) {
		more = realloc(findings->list, (findings->n ? findings->n * 2 : 1) * sizeof(*more));
		if (!more)
			return;
		findings->list = more;
	}
	findings->list[findings->n++] = finding;
}
