/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of libfreeblock share: a task, and how a failure is told.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "freeblock/freeblock.h"

#define FB_LIBRARY_ID_LEN 128

/**
 * struct fb_task - an open /dev/freeblock
 * @fd: file descriptor, non-blocking
 * @geometry: of the block device
 * @ranges_max: ranges that a call takes
 * @coverage: FB_COVERAGE was asked for
 * @id: the disk's unique id, NUL-padded; empty if it has none
 * @call: lock around a call or read() and the question why it failed
 * @started: under @call
 * @wants: how often something was wanted; under @call
 * @buffer: lock of what follows, outside of @call; not held while fb_next() waits
 * @data: records
 * @capacity: bytes at @data
 * @at: start of the first record of @data that is not done: @record, if there is one
 * @end: bytes of records in @data
 * @read_wants: @wants when they were read
 * @taken: bytes of the record that fb_next() returned last; 0: none
 * @record: that one
 * @saving: lock around the writing of a coverage file; outside of all others
 */
struct fb_task {
	int fd;
	struct fb_task_geometry geometry;
	uint32_t ranges_max;
	bool coverage;
	char id[FB_LIBRARY_ID_LEN];
	pthread_mutex_t call;
	bool started;
	uint64_t wants;
	pthread_mutex_t buffer;
	unsigned char *data;
	size_t capacity;
	size_t at;
	size_t end;
	uint64_t read_wants;
	size_t taken;
	struct fb_record record;
	pthread_mutex_t saving;
};

/**
 * fb_library_fail() - say why a call fails
 * @error: errno to be
 * @format: of printf()
 *
 * Return: -1, with errno set.
 */
int fb_library_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * fb_library_call() - a call of the module
 * @task: task
 * @number: FREEBLOCK_IOC_...
 * @argument: its structure
 * @what: in words, for the error
 *
 * Return: 0; or -1, with errno and words set.
 */
int fb_library_call(struct fb_task *task, unsigned long number, void *argument, const char *what);

/**
 * fb_records_uncover() - take blocks that are not done out of a piece of the coverage
 * @task: task, its @buffer locked
 * @bits: the piece, of blocks from @first on
 * @first: first block
 * @count: blocks
 *
 * The module counts a block as soon as it was read from it; those in our buffer would be lost
 * with the program.
 */
void fb_records_uncover(const struct fb_task *task, unsigned char *bits, uint64_t first,
			uint64_t count);

#endif /* LIBRARY_H */
