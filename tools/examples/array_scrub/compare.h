/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether members agree, and the list of where they do not.
 */
#ifndef SCRUB_COMPARE_H
#define SCRUB_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"

/* Longest list; what is found beyond is counted */
#define COMPARE_LISTED 65536

/* What is wrong */
enum finding_kind {
	FINDING_NONE,	/* members agree */
	FINDING_P,	/* P, or the data of a RAID5 */
	FINDING_Q,	/* Q alone */
	FINDING_PQ,	/* both, so data */
	FINDING_COPIES,	/* copies differ */
	FINDING_UNREADABLE,	/* a member cannot be read */
	FINDING_KNOWN_BAD,	/* md knows that a member lacks something */
	FINDING_UNSETTLED,	/* members differed, and the suspension was lifted too soon */
	FINDING_KINDS
};

/* Sectors of the members */
struct finding {
	uint64_t first;
	uint64_t sectors;
	enum finding_kind kind;
	int slot;	/* of the member that is wrong, or -1: that cannot be known */
};

/* What was found */
struct findings {
	struct finding *list;
	size_t n;
	uint64_t sectors[FINDING_KINDS];	/* of each kind, those beyond the list included */
};

/* A kind in a word */
const char *compare_kind_name(enum finding_kind kind);

/* Whether members disagree for good: false for what could not be found out */
bool compare_is_mismatch(enum finding_kind kind);

/* Whether members agree */
bool compare_agree(const struct array *array, uint64_t first, const unsigned char *const *blocks,
		   size_t bytes);

/* What is wrong with one sector; FINDING_NONE if nothing is */
struct finding compare_sector(const struct array *array, uint64_t sector,
			      const unsigned char *const *blocks);

/* Add to the list, to the last one's end if it goes on there */
void compare_note(struct findings *findings, struct finding finding);

#endif /* SCRUB_COMPARE_H */
