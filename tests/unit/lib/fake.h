/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of /dev/freeblock: open(), ioctl(), read() and poll() of a program that is linked
 * with fake.c, or runs with it in LD_PRELOAD, see a made-up module and a made-up disk. What
 * a call hands over is judged as include/uapi/freeblock.h says, and counted.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi/freeblock.h"

#define FAKE_BLOCKS 4096	/* most */
#define FAKE_CALLS 16

/**
 * struct fake - the module and its disk; a program with LD_PRELOAD sets it by the
 *	environment, FAKE_START=100, FAKE_ID=naa.5 and so on
 * @sectors: of the block device
 * @start: where it begins on the disk
 * @granule: sectors of a block
 * @version: of the interface
 * @offered: features
 * @ranges_max: ranges that a call takes
 * @room: ranges taken until read(); then ENOSPC
 * @burst: records of a read() at most
 * @joined: an event comes in the read() of the blocks before it, not in one of its own
 * @silent: poll() ends without anything so many times
 * @lazy: read() fails with EAGAIN so many times
 * @bad: first sector of a block that is unreadable; ~0: none
 * @strange: read() brings a record of an unknown type before each other
 * @header_bytes: of records
 * @gone: read() fails with ENODEV so many times
 * @stop_after: blocks, then the administrator stops the task; 0: never
 * @fail: number of the call (FREEBLOCK_IOC_...) that fails; 0: none
 * @fail_error: with this errno
 * @slow_us: a call that fails returns so much later
 * @id: the disk's unique id
 * @setup: as it was handed over last
 * @calls: how often each call was made
 * @reads: of the device
 * @opened: files of the device that are open
 */
struct fake {
	uint64_t sectors;
	uint64_t start;
	uint64_t granule;
	uint64_t version;
	uint64_t offered;
	uint64_t ranges_max;
	uint64_t room;
	uint64_t burst;
	uint64_t joined;
	uint64_t silent;
	uint64_t lazy;
	uint64_t bad;
	uint64_t strange;
	uint64_t header_bytes;
	uint64_t gone;
	uint64_t stop_after;
	uint64_t fail;
	uint64_t fail_error;
	uint64_t slow_us;
	char id[64];
	struct freeblock_ioc_setup setup;
	unsigned int calls[FAKE_CALLS];
	unsigned int reads;
	int opened;
};

extern struct fake fake;

/**
 * fake_reset() - a fresh module with a disk of 1000 sectors in blocks of 8
 */
void fake_reset(void);

/**
 * fake_byte() - what the disk holds
 * @sector: of the disk
 * @at: byte in it
 *
 * Return: it.
 */
unsigned char fake_byte(uint64_t sector, unsigned int at);

#endif /* FAKE_H */
