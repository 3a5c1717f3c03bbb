// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers of the core's unit tests; see support.h.
 */
#include "tools/model/model_text.h"
#include "support.h"

#define MODEL_MAX (1024 * 1024)

u64 rnd_next(struct rnd *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 rnd_below(struct rnd *r, u64 n)
{
	return rnd_next(r) % n;
}

static struct disk_model *support_parse(const char *text, size_t len, const char *name)
{
	struct dm_fault err;
	struct disk_model *dm;

	if (fb_model_text_parse(text, len, &dm, &err)) {
		fprintf(stderr, "%s:%u: %s\n", name, err.line, err.reason);
		exit(1);
	}
	return dm;
}

/* The text of a file, in memory to be freed; sets @len and writes its path to @name. */
static char *support_read(const char *path, char name[512], size_t *len)
{
	const char *root = getenv("FB_ROOT");
	const char * const roots[] = { root ? root : ".", "../.." };
	char *text = malloc(MODEL_MAX);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		FILE *f;

		snprintf(name, 512, "%s/%s", roots[i], path);
		f = fopen(name, "r");
		if (!f)
			continue;
		*len = fread(text, 1, MODEL_MAX, f);
		fclose(f);
		return text;
	}
	fprintf(stderr, "no file %s\n", path);
	exit(1);
}

fb_idle_order_fn support_order(const char *name)
{
	if (!strcmp(name, "sequential"))
		return fb_idle_order_sequential;
	if (!strcmp(name, "staggered"))
		return fb_idle_order_staggered;
	return strcmp(name, "near") ? NULL : fb_idle_order_near;
}

struct disk_model *support_model_file(const char *path)
{
	struct disk_model *dm;
	char name[512];
	size_t len;
	char *text = support_read(path, name, &len);

	dm = support_parse(text, len, name);
	free(text);
	return dm;
}

u32 support_crc32(const char *p, size_t len)
{
	u32 crc = U32_MAX;
	int bit;

	while (len--) {
		crc ^= (u8)*p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
	}
	return ~crc;
}

size_t support_seal(char *text, size_t size, const char *records)
{
	size_t len = strlen(records);

	return snprintf(text, size, "%send %zu %08x\n", records, len, support_crc32(records, len));
}

struct disk_model *support_model_text(const char *records)
{
	size_t size = strlen(records) + 64;
	char *text = malloc(size);
	struct disk_model *dm;

	dm = support_parse(text, support_seal(text, size, records), "test model");
	free(text);
	return dm;
}

void support_want(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_want(ctx, first, n, group);
}

void support_unwant(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_unwant(ctx, first, n, group);
}

void support_take(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_take(ctx, first, n, group);
}

void support_untake(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_untake(ctx, first, n, group);
}

void support_done(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_done(ctx, first, n, group);
}

struct dm_place support_place(struct rnd *r, const struct disk_model *dm)
{
	struct dm_place p = {
		.cyl = rnd_below(r, dm_info(dm)->cylinders),
		.head = rnd_below(r, dm_info(dm)->heads),
		.angle = rnd_next(r),
	};

	return p;
}
