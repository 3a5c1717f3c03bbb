/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the targets of the fuzzer have in common (Documentation/tests.rst). Each target_<name>.c
 * is a program of its own, with libFuzzer's main().
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/fb_shim.h"

/* what libFuzzer calls */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* inputs that were not refused, but went through all that a target checks; said at the end */
extern unsigned long fuzz_deep;

/* what must hold for any input; a failure is a crash, whose input libFuzzer keeps */
#define fuzz_check(cond)							\
	do {									\
		if (!(cond)) {							\
			fprintf(stderr, "%s:%d: does not hold: %s\n",		\
				__FILE__, __LINE__, #cond);			\
			abort();						\
		}								\
	} while (0)

/**
 * struct fuzz_bytes - an input that is used up piece by piece
 * @at: what is left
 * @left: bytes of it
 */
struct fuzz_bytes {
	const u8 *at;
	size_t left;
};

/**
 * fuzz_take() - fill a variable from an input
 * @in: the input; when it is used up, zeros follow
 * @to: filled in
 * @n: its size
 */
void fuzz_take(struct fuzz_bytes *in, void *to, size_t n);

/**
 * fuzz_byte() - take one byte of an input
 * @in: the input
 *
 * Return: the byte; 0 when the input is used up.
 */
u8 fuzz_byte(struct fuzz_bytes *in);

/**
 * fuzz_number() - take a number of an input, often a small one or near a power of two
 * @in: the input
 *
 * Return: any number of 64 bits.
 */
u64 fuzz_number(struct fuzz_bytes *in);

#endif /* FUZZ_H */
