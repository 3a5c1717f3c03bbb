// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: tasks/coverage_file.c. A file "coverage" comes back in pieces, some with
 * a wrong header, out of order, or too long. What was taken must be what a file of the same
 * bytes says, and what is refused must change nothing.
 *
 * Planted bugs, each seen to fail within a second: a reserved field that is not looked at; a
 * piece that is longer than what is left; a file begun anew whose pieces are counted on; an id
 * of which only the beginning is compared.
 */
#include "tasks/coverage_file.h"
#include "fuzz.h"

#define MAP_MAX 96
#define HEADER sizeof(struct fb_coverage_file_header)

/* the file as it ought to be by now */
struct wanted {
	u8 bytes[HEADER + MAP_MAX];
	size_t given;
	bool begun;
};

static struct fb_coverage_file_header own_header(struct fuzz_bytes *in)
{
	struct fb_coverage_file_header h = {
		.magic = "fbcover",
		.version = htole32(1),
		.granule = htole32(fuzz_number(in)),
		.blocks = htole64(fuzz_number(in)),
	};

	snprintf(h.id, sizeof(h.id), "%s", fuzz_byte(in) & 1 ? "naa.5000c500a1b2c3d4" : "name.sda");
	return h;
}

/* of this disk: as the ABI says it, field by field */
static bool is_own(const struct fb_coverage_file_header *own, const u8 *piece)
{
	struct fb_coverage_file_header h;

	memcpy(&h, piece, HEADER);
	return !memcmp(h.magic, "fbcover", 8) && le32toh(h.version) == 1 && !h.reserved &&
	       h.granule == own->granule && h.blocks == own->blocks &&
	       !strncmp(h.id, own->id, sizeof(h.id));
}

/* a piece: the true header with a byte changed or not, then anything */
static void fill(u8 *piece, size_t count, u64 off, const struct fb_coverage_file_header *own,
		 struct fuzz_bytes *in)
{
	size_t from = 0, at;

	if (!off && count >= HEADER) {
		memcpy(piece, own, HEADER);
		from = HEADER;
		if (fuzz_byte(in) & 1) {
			at = fuzz_byte(in) % HEADER;
			piece[at] = fuzz_byte(in);
		}
	}
	fuzz_take(in, piece + from, count - from);
}

static void piece_comes(struct fb_coverage_file *file, struct wanted *wanted,
			const struct fb_coverage_file_header *own, struct fuzz_bytes *in)
{
	u64 off = fuzz_byte(in) & 1 ? file->given : fuzz_number(in);
	size_t count = 1 + fuzz_byte(in) % (HEADER + MAP_MAX);
	struct fb_coverage_file before = *file;
	char why[FB_COVERAGE_FILE_WHY];
	u8 *piece = malloc(count);
	int ret = 0;
	bool good;

	fill(piece, count, off, own, in);
	good = off ? wanted->begun && off == wanted->given : count >= HEADER && is_own(own, piece);
	good = good && count <= HEADER + file->bytes && off + count <= HEADER + file->bytes;
	if (!off)
		ret = fb_coverage_file_begin(file, piece, count, why);
	if (!ret)
		ret = fb_coverage_file_take(file, off, piece, count, why);
	fuzz_check(ret == (good ? 0 : -EINVAL));
	if (good) {
		memcpy(wanted->bytes + off, piece, count);
		wanted->given = off + count;
		wanted->begun = true;
		fuzz_check(!memcmp(&file->header, wanted->bytes, HEADER));
	} else {
		fuzz_check(!memcmp(&before, file, sizeof(before)));
		fuzz_check(strlen(why) > 0);
	}
	free(piece);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_bytes in = { data, size };
	struct fb_coverage_file_header own = own_header(&in);
	struct fb_coverage_file file = {
		.header = own,
		.bytes = 8 + fuzz_byte(&in) % (MAP_MAX - 7),
	};
	struct wanted wanted = { .given = 0 };

	file.map = malloc(file.bytes);
	while (in.left) {
		piece_comes(&file, &wanted, &own, &in);
		fuzz_check(file.given == wanted.given);
		fuzz_check(wanted.given <= HEADER ||
			   !memcmp(file.map, wanted.bytes + HEADER, wanted.given - HEADER));
		fuzz_check((file.given == sizeof(file.header) + file.bytes) ==
			   (wanted.given == HEADER + file.bytes));
	}
	fuzz_deep += (file.given == sizeof(file.header) + file.bytes);
	free(file.map);
	return 0;
}
