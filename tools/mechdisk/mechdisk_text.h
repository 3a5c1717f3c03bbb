/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The .fbdrive text: what the simulated drive is.
 *
 * Format: Documentation/drive-format.rst.
 */
#ifndef MECHDISK_TEXT_H
#define MECHDISK_TEXT_H

#include "mechdisk_config.h"
#include "mechdisk_words.h"

/**
 * mdt_parse() - read a drive's description
 * @text: the text, need not end in NUL
 * @len: its length in bytes
 * @cfg: filled in; release with mdt_free(), also after an error
 * @err: filled in if the text is refused
 *
 * What precedes the last "fbdrive" record is ignored.  Process context, may
 * sleep.
 *
 * Return: 0, -EINVAL for a bad text, -ENOMEM.
 */
int mdt_parse(const char *text, size_t len, struct mde_config *cfg,
	      struct mdt_error *err);

/**
 * mdt_parse_bad() - read one bad range: LBN COUNT [key=value ...]
 * @text: the arguments of a medium_error record
 * @len: their length
 * @sectors: the drive's capacity
 * @bad: filled in
 * @err: filled in on an error
 *
 * Return: 0 or -EINVAL.
 */
int mdt_parse_bad(const char *text, size_t len, u64 sectors,
		  struct mde_bad *bad, struct mdt_error *err);

/**
 * mdt_free() - release what mdt_parse() allocated
 * @cfg: the description
 */
void mdt_free(struct mde_config *cfg);

#endif /* MECHDISK_TEXT_H */
