// SPDX-License-Identifier: GPL-2.0
/*
 * Mutation fuzzer for the .fbmodel reader, deterministic, under the sanitizers: takes
 * the shipped toy model and a small text, changes bytes, words, numbers and lines, seals
 * most of the results (else the checksum keeps everything else from being reached) and
 * reads them. What is accepted must answer every query sanely.
 *
 *   fuzz_model_text            the rounds of "make check"
 *   fuzz_model_text <rounds> [<seed>]
 *
 * Planted bugs, each seen to fail: no bound on the sum of slips, or remap targets not
 * checked (a place beyond the last cylinder); extrapolated seeks not checked (a seek
 * beyond its bound); FB_MODEL_TEXT_LINE_MAX not enforced (overflow of the line's buffer).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/native/model/model_text.h"
#include "tests/unit/support.h"

#define ROUNDS 20000
#define TEXT_MAX 8192

static unsigned long rounds = ROUNDS;
static struct rnd rnd = { 2002 };

static const char seed_text[] =
	"fbmodel 1\nvendor A\nproduct B\nsectors 95\ncylinders 4\nheads 3\n"
	"head_order serpentine-zone\nperiod_ps 6000000000\nhead_switch_ns 1000\n"
	"write_settle_ns 0\nzero_latency yes\nseek 1 900000\nseek 2 1000000\n"
	"write_seek 1 900000\nwrite_seek 3 1000000\nseek_spread 1 9\nseek_spread 2 5\n"
	"revision 1\nwwn naa.5\ndistrusted not good\n"
	"zone 0 1 spt 10 angle 0.5 track_skew 0.1 cyl_skew 0.05 dead 5 spares 10\n"
	"slip 7 2\nslip 12\nremap 5 to 59\nremap 30 to 55\n"
	"zone 2 3 spt 12 angle 0 track_skew 0.1 cyl_skew 0 dead 0 spares 4\nslip 0\n"
	"head_spt 0 5 12\nhead_spt 2 10\n";

/* Words that mean something, or nearly do. */
static const char * const words[] = {
	"0", "1", "2", "3", "5", "9", "10", "12", "54", "60", "95", "255", "65535", "65536",
	"4294967295", "4294967296", "140737488355328", "18446744073709551615",
	"18446744073709551616", "-1", "0.999999999999999999", "0.5", "yes", "no", "plain",
	"serpentine-disk", "zone", "slip", "remap", "to", "seek", "write_seek", "end", "spt",
	"dead", "spares", "head_spt", "#", "\n", "1000000000", "16777216",
};

static size_t seal(char *text, size_t len)
{
	u32 crc = U32_MAX, bit;
	size_t i;

	for (i = 0; i < len; i++) {
		crc ^= (u8)text[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
	}
	return len + sprintf(text + len, "end %zu %08x\n", len, ~crc);
}

/* Put @n bytes in place of @text[@at .. @to). */
static size_t splice(char *text, size_t len, size_t at, size_t to, const char *s, size_t n)
{
	if (len - (to - at) + n > TEXT_MAX - 64)
		return len;
	memmove(text + at + n, text + to, len - to);
	memcpy(text + at, s, n);
	return len - (to - at) + n;
}

static size_t line_start(const char *text, size_t at)
{
	while (at && text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '\n')
		at++;
	return min(at + 1, len);
}

static size_t mutate(char *text, size_t len)
{
	size_t at = rnd_below(&rnd, len), to = at, from = line_start(text, rnd_below(&rnd, len));
	const char *word = words[rnd_below(&rnd, ARRAY_SIZE(words))];
	char line[1024];
	size_t n = min(line_end(text, len, from) - from, sizeof(line));

	switch (rnd_below(&rnd, 8)) {
	case 0: /* a byte */
		text[at] = rnd_next(&rnd);
		return len;
	case 6: /* a word more at a line's end */
		n = snprintf(line, sizeof(line), " %s", word);
		to = line_end(text, len, at) - 1;
		return splice(text, len, to, to, line, n);
	case 7: /* a long line */
		memset(line, text[at], sizeof(line));
		return splice(text, len, at, at, line, rnd_below(&rnd, sizeof(line)));
	case 1: /* a word */
	case 2:
		while (at && !isspace(text[at - 1]))
			at--;
		while (to < len && !isspace(text[to]))
			to++;
		return splice(text, len, at, to, word, strlen(word));
	case 3: /* a line goes */
		return splice(text, len, from, from + n, "", 0);
	case 4: /* a line comes again */
		memcpy(line, text + from, n);
		return splice(text, len, line_start(text, at), line_start(text, at), line, n);
	default: /* one up or down, mostly of a number */
		text[at] += rnd_below(&rnd, 2) ? 1 : -1;
		return len;
	}
}

/* A model that was accepted: all that is asked of it hangs together. */
static void query(const struct disk_model *dm)
{
	const struct dm_info *info = dm_info(dm);
	struct dm_piece piece[2];
	struct dm_access a;
	struct dm_track t;
	struct dm_place p, from;
	u32 i, angle, nsect;

	for (i = 0; i < 20; i++) {
		u64 lbn = rnd_below(&rnd, info->sectors);
		int err;

		assert_int_equal(dm_place_of(dm, lbn, &p), 0);
		assert_true(p.cyl < info->cylinders && p.head < info->heads);
		assert_int_equal(dm_track_of(dm, lbn, &t), 0);
		assert_true(lbn - t.first_lbn < t.nsect && t.nsect <= t.spt);
		err = dm_lbn_angle(dm, &t, lbn, &angle);
		assert_true(err == -ENXIO || (!err && angle == p.angle));
		assert_int_equal(dm_track_by_index(dm, dm_track_index(dm, &t), &t), 0);
		assert_true(lbn - t.first_lbn < t.nsect);
		from = support_place(&rnd, dm);
		assert_true(dm_seek_ns(dm, &from, &p, i & 1) <= 2ULL * DM_NS_MAX);
		dm_window(dm, &t, rnd_next(&rnd), rnd_next(&rnd) >> 30, piece);
		assert_true(piece[0].nsect + piece[1].nsect <= t.nsect);
		nsect = 1 + rnd_below(&rnd, min_t(u64, 500, info->sectors - lbn));
		assert_int_equal(dm_access(dm, &from, lbn, nsect, i & 1, &a), 0);
		assert_true(a.total_ns >= a.seek_ns + a.latency_ns);
	}
}

static bool try_text(const char *text, size_t len)
{
	struct dm_fault err = { 0 };
	struct disk_model *dm;
	char *copy = malloc(len);
	int ret;

	memcpy(copy, text, len);
	ret = fb_model_text_parse(copy, len, &dm, &err);
	free(copy);
	if (ret) {
		assert_true(err.reason[0]);
		assert_non_null(memchr(err.reason, '\0', sizeof(err.reason)));
		return false;
	}
	query(dm);
	dm_free(dm);
	return true;
}

static void fuzz_model_text(void **state)
{
	static char toy[TEXT_MAX], text[TEXT_MAX];
	const char *root = getenv("FB_ROOT");
	unsigned long round, accepted = 0;
	size_t toy_len, len, n;
	char path[512];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/models/toy.fbmodel", root ? root : ".");
	f = fopen(path, "r");
	assert_non_null(f);
	toy_len = fread(toy, 1, sizeof(toy) - 1, f);
	fclose(f);
	toy_len = strstr(toy, "\nend ") + 1 - toy;

	for (round = 0; round < rounds; round++) {
		len = round % 4 ? sizeof(seed_text) - 1 : toy_len;
		memcpy(text, round % 4 ? seed_text : toy, len);
		for (n = rnd_below(&rnd, 5); n && len; n--)
			len = mutate(text, len);
		if (rnd_below(&rnd, 20))
			len = seal(text, len);
		accepted += try_text(text, len);
	}
	print_message("%lu of %lu texts accepted\n", accepted, rounds);
	assert_true(accepted > rounds / 20 && accepted < rounds);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fuzz_model_text) };

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		rnd.state = strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests_name("fuzz model text", tests, NULL, NULL);
}
