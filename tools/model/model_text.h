/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compiler of the .fbmodel text (Documentation/model-format.rst) into the table that the kernel
 * takes (core/model_table.h).
 */
#ifndef FB_MODEL_TEXT_H
#define FB_MODEL_TEXT_H

#include "disk_model.h"

#define FB_MODEL_TEXT_MAX (16U << 20)	/* bytes; a 24 TB model with 100 000 slips is a few MiB */

/**
 * fb_model_text_compile() - read a text, and write its table
 * @text: the text, not necessarily NUL-terminated; begins with "fbmodel 1" and ends
 *	with the record "end <bytes> <crc32>", the length and zlib CRC-32 of everything
 *	before that line
 * @len: its length in bytes
 * @table: result: the table, to be freed with fb_free()
 * @bytes: result: its length
 * @fault: filled on every error; line 0 = the text as a whole
 *
 * The table may still be at fault: fb_model_table_build() checks how its values fit together,
 * and names the line of the text.
 * Return: 0, -EINVAL (the text is at fault) or -ENOMEM.
 */
int fb_model_text_compile(const char *text, size_t len, void **table, size_t *bytes,
			  struct dm_fault *fault);

/**
 * fb_model_text_parse() - build a disk model from a text, by way of its table
 * @text: as fb_model_text_compile()
 * @len: its length in bytes
 * @out: the model, to be freed with dm_free()
 * @fault: filled on every error; line 0 = the text as a whole
 *
 * Return: 0, -EINVAL (the text is at fault) or -ENOMEM.
 */
int fb_model_text_parse(const char *text, size_t len, struct disk_model **out,
			struct dm_fault *fault);

#endif /* FB_MODEL_TEXT_H */
