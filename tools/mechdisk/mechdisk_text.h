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

/*
 * Read a drive's description. What precedes the last "fbdrive" record is ignored.  Process
 * context, may sleep. Returns 0, -EINVAL for a bad text, -ENOMEM. @text: the text, need not end
 * in NUL. @cfg: filled in; release with mdt_free(), also after an error. @err: filled in if the
 * text is refused.
 */
int mdt_parse(const char *text, size_t len, struct mde_config *cfg,
	      struct mdt_error *err);

/*
 * Read one bad range: LBN COUNT [key=value ...]. Returns 0 or -EINVAL. @text: the arguments of a
 * medium_error record. @len: their length. @bad: filled in. @err: filled in on an error.
 */
int mdt_parse_bad(const char *text, size_t len, u64 sectors,
		  struct mde_bad *bad, struct mdt_error *err);

/* Release what mdt_parse() allocated. @cfg: the description. */
void mdt_free(struct mde_config *cfg);

#endif /* MECHDISK_TEXT_H */
