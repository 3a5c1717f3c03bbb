// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: the text of a model, what is compiled from it, and what that answers.
 *
 * The input is a text without its end record, which is added; one that has an end record is
 * read as it is, too.
 *
 * Planted bugs, each seen to fail within three seconds: a line of one byte more than there is room
 * for; too little room for head_spt; numbers of more than 64 bits; fractions of 20 digits.
 */
#include "tools/model/model_text.h"
#include "fuzz_model.h"

/* numbers that do not fit 64 bits and fractions of too many digits must have been refused */
static void check_word(const char *word)
{
	size_t digits = strspn(word, "0123456789");
	__uint128_t number = 0;

	if (!strncmp(word, "0.", 2))
		fuzz_check(strlen(word + 2) <= 18);
	if (!digits || word[digits])
		return;
	for (; *word; word++) {
		number = number * 10 + *word - '0';
		fuzz_check(number <= U64_MAX);
	}
}

static bool is_free_text(const char *word)
{
	static const char * const names[] = { "vendor", "product", "serial", "revision", "wwn",
					      "distrusted" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i]))
			return true;
	return word[0] == '#';
}

/* of a text that was accepted */
static void check_words(const char *text, size_t len)
{
	char *copy = strndup(text, len), *lines = copy, *line, *word;

	while ((line = strsep(&lines, "\n"))) {
		word = strtok(line, " \t");
		if (!word || is_free_text(word))
			continue;
		while ((word = strtok(NULL, " \t")))
			if (strcmp(line, "end"))
				check_word(word);
	}
	free(copy);
}

static void check_fault(const struct dm_fault *fault)
{
	const char *end = memchr(fault->reason, '\0', sizeof(fault->reason));

	fuzz_check(end && end > fault->reason && !strchr(fault->reason, '\n'));
}

static void try_text(const char *text, size_t len)
{
	struct dm_fault err = { 0 };
	struct disk_model *dm = NULL;

	if (!fb_model_text_parse(text, len, &dm, &err)) {
		fuzz_deep++;
		fuzz_model_ask(dm);
		dm_free(dm);
		check_words(text, len);
		return;
	}
	fuzz_check(!dm);
	check_fault(&err);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = malloc(size + 64);
	size_t len = size;

	/* without a byte to spare, so that a read beyond it is seen */
	try_text((const char *)data, size);
	memcpy(text, data, size);
	if (!len || text[len - 1] != '\n')
		text[len++] = '\n';
	len += sprintf(text + len, "end %zu %08x\n", len, ~crc32_le(~0U, (const u8 *)text, len));
	text = realloc(text, len);
	try_text(text, len);
	free(text);
	return 0;
}
