/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parser of the .fbmodel text format (Documentation/model-format.rst). Core.
 */
#ifndef FB_MODEL_TEXT_H
#define FB_MODEL_TEXT_H

#include "disk_model.h"

#define FB_MODEL_TEXT_MAX (16U << 20)	/* bytes; a 24 TB model with 100 000 slips is a few MiB */

/**
 * fb_model_text_parse() - build a disk model from its text, whole or not at all
 * @text: the text, not necessarily NUL-terminated; begins with "fbmodel 1" and ends
 *	with the record "end <bytes> <crc32>", the length and zlib CRC-32 of everything
 *	before that line
 * @len: its length in bytes
 * @out: the model, to be freed with dm_free()
 * @fault: filled on every error; line 0 = the text as a whole
 *
 * Context: may sleep (allocates with fb_zalloc()).
 *
 * Return: 0, -EINVAL (the text is at fault) or -ENOMEM.
 */
int fb_model_text_parse(const char *text, size_t len, struct disk_model **out,
			struct dm_fault *fault);

/**
 * fb_model_text_complete() - test whether the closing "end" record has arrived
 * @text: what has arrived so far, in order, possibly split at any byte
 * @len: how much
 *
 * Return: true when the last line is a complete "end" record with its newline.
 */
bool fb_model_text_complete(const char *text, size_t len);

#endif /* FB_MODEL_TEXT_H */
