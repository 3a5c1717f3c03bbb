/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model as the kernel takes it: a table compiled in user space from the .fbmodel text
 * (Documentation/model-format.rst, "The compiled table"). Core.
 */
#ifndef FB_MODEL_TABLE_H
#define FB_MODEL_TABLE_H

#include "disk_model.h"

/* bytes; 24 TB in runs with 100 000 slips take 7 MiB */
#define FB_MODEL_TABLE_MAX (32U << 20)
#define FB_MODEL_TABLE_MAGIC 0x46424d02U	/* and the version, in the last byte */

/* The table begins with this, in the machine's byte order; the arrays follow, in this order. */
struct fb_model_table {
	u32 magic;
	u32 bytes;	/* of the whole table */
	u32 crc32;	/* of everything after this field, as zlib computes it */
	u32 order;	/* enum dm_head_order */
	u32 line;	/* of the text that states the capacity, for messages */
	u32 zones;	/* struct dm_spec_zone */
	u32 slips;	/* struct dm_spec_slip */
	u32 remaps;	/* struct dm_spec_remap */
	u32 seeks;	/* struct dm_spec_seek, for reads */
	u32 write_seeks;
	u32 head_spts;	/* u16 */
	u32 unused;
	struct dm_info info;
};

/* Bytes of a table, by its first eight, aligned; 0: none of this version and byte order. */
u32 fb_model_table_bytes(const void *head);

/*
 * Check a table and build the model from it, for dm_free(). @data: aligned to eight bytes. @fault:
 * filled on every error; line 0: the table as a whole. May sleep. 0, -EINVAL or -ENOMEM.
 */
int fb_model_table_build(const void *data, size_t len, struct disk_model **out,
			 struct dm_fault *fault);

#endif /* FB_MODEL_TABLE_H */
