/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations that fail on demand: tests linked with --wrap=calloc (see Makefile) define
 * __wrap_calloc(), which the core's fb_zalloc() then calls.
 */
#ifndef WRAP_H
#define WRAP_H

#include <stddef.h>

/**
 * __real_calloc() - libc's calloc()
 * @n: objects
 * @size: bytes of each
 *
 * Return: zeroed memory or NULL.
 */
void *__real_calloc(size_t n, size_t size);

/**
 * __wrap_calloc() - calloc() as the core sees it
 * @n: objects
 * @size: bytes of each
 *
 * Return: zeroed memory, or NULL when the test wants that.
 */
void *__wrap_calloc(size_t n, size_t size);

#endif /* WRAP_H */
