// SPDX-License-Identifier: GPL-2.0
/*
 * What the targets of the fuzzer have in common; see fuzz.h.
 */
#include "fuzz.h"

unsigned long fuzz_deep;

static void fuzz_say_deep(void)
{
	fprintf(stderr, "deep: %lu\n", fuzz_deep);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	atexit(fuzz_say_deep);
	return 0;
}

void fuzz_take(struct fuzz_bytes *in, void *to, size_t n)
{
	size_t have = min(n, in->left);

	memset(to, 0, n);
	if (have)
		memcpy(to, in->at, have);
	in->at += have;
	in->left -= have;
}

u8 fuzz_byte(struct fuzz_bytes *in)
{
	u8 byte;

	fuzz_take(in, &byte, 1);
	return byte;
}

u64 fuzz_number(struct fuzz_bytes *in)
{
	u8 kind = fuzz_byte(in);
	u64 number = 0;

	if (kind < 0x80)
		return kind;
	/* 2^n, and eight below and seven above it */
	if (kind < 0xc0)
		return (1ULL << (kind & 63)) + (fuzz_byte(in) & 15) - 8;
	fuzz_take(in, &number, 1 + (kind & 7));
	return number;
}
