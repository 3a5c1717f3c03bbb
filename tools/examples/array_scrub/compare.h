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

/**
 * enum finding_kind - what was found
 * @FINDING_NONE: members agree
 * @FINDING_P: P, or the data of a RAID5
 * @FINDING_Q: Q alone
 * @FINDING_PQ: both, so data
 * @FINDING_COPIES: copies differ
 * @FINDING_UNREADABLE: a member cannot be read
 * @FINDING_KNOWN_BAD: md knows that a member lacks something
 * @FINDING_UNSETTLED: members differed, and the suspension was lifted too soon
 * @FINDING_KINDS: how many there are
 */
enum finding_kind {
	FINDING_NONE,
	FINDING_P,
	FINDING_Q,
	FINDING_PQ,
	FINDING_COPIES,
	FINDING_UNREADABLE,
	FINDING_KNOWN_BAD,
	FINDING_UNSETTLED,
	FINDING_KINDS
};

/**
 * struct finding - sectors of the members
 * @first: first sector
 * @sectors: how many
 * @kind: what is wrong
 * @slot: of the member that is wrong, or -1: that cannot be known
 */
struct finding {
	uint64_t first;
	uint64_t sectors;
	enum finding_kind kind;
	int slot;
};

/**
 * struct findings - list
 * @list: array
 * @n: its length
 * @sectors: of each kind, those beyond the list included
 */
struct findings {
	struct finding *list;
	size_t n;
	uint64_t sectors[FINDING_KINDS];
};

/**
 * compare_kind_name() - a kind in a word
 * @kind: kind
 *
 * Return: word.
 */
const char *compare_kind_name(enum finding_kind kind);

/**
 * compare_is_mismatch() - whether members disagree for good
 * @kind: kind
 *
 * Return: true for what is no failure to find out.
 */
bool compare_is_mismatch(enum finding_kind kind);

/**
 * compare_agree() - whether members agree
 * @array: array
 * @first: first sector of the members, all of one row
 * @blocks: one for each member
 * @bytes: length of each
 *
 * Return: true if they do.
 */
bool compare_agree(const struct array *array, uint64_t first, const unsigned char *const *blocks,
		   size_t bytes);

/**
 * compare_sector() - what is wrong with one sector
 * @array: array
 * @sector: of the members
 * @blocks: 512 bytes for each member
 *
 * Return: finding of one sector; FINDING_NONE if all is well.
 */
struct finding compare_sector(const struct array *array, uint64_t sector,
			      const unsigned char *const *blocks);

/**
 * compare_note() - add to the list, to the last one's end if it goes on there
 * @findings: list
 * @finding: what was found; FINDING_NONE is ignored
 */
void compare_note(struct findings *findings, struct finding finding);

#endif /* SCRUB_COMPARE_H */
