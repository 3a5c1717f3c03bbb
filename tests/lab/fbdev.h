/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What programs of the lab that use /dev/freeblock have in common: fbread.c, nomem.c.
 */
#ifndef FBDEV_H
#define FBDEV_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/fs.h>

#include "uapi/freeblock.h"

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

#define DEVICE "/dev/freeblock"
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SECTOR 512

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(2);
}

static inline int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		die(path);
	return fd;
}

static inline void die_of(int dev, const char *what)
{
	struct freeblock_ioc_reason reason = { .size = sizeof(reason) };
	int error = errno;

	ioctl(dev, FREEBLOCK_IOC_REASON, &reason);
	fprintf(stderr, "%s: %s: %s\n", what, strerror(error), reason.text);
	exit(2);
}

static inline u64 sectors_of(int bdev)
{
	u64 bytes;

	if (ioctl(bdev, BLKGETSIZE64, &bytes))
		die("BLKGETSIZE64");
	return bytes / SECTOR;
}

static inline struct freeblock_ioc_setup usual(int bdev)
{
	return (struct freeblock_ioc_setup) {
		.size = sizeof(struct freeblock_ioc_setup), .fd = bdev, .name = "fbread",
	};
}

/* an open file that has shaken hands */
static inline int agreed(int flags, u64 features)
{
	struct freeblock_ioc_api api = {
		.size = sizeof(api), .version = FREEBLOCK_API_VERSION, .features = features,
	};
	int dev = open_or_die(DEVICE, O_RDONLY | flags);

	if (ioctl(dev, FREEBLOCK_IOC_API, &api))
		die_of(dev, "api");
	return dev;
}

static inline int change(int dev, unsigned long cmd, const struct freeblock_range *range, u32 n,
			 u32 flags)
{
	struct freeblock_ioc_ranges r = {
		.size = sizeof(r), .range_bytes = sizeof(*range), .ranges = (uintptr_t)range,
		.nranges = n, .flags = flags,
	};

	return ioctl(dev, cmd, &r);
}

static inline int change_one(int dev, unsigned long cmd, u64 first, u64 count)
{
	const struct freeblock_range range = { .first = first, .count = count };

	return change(dev, cmd, &range, 1, 0);
}

/* a task that wants all of @block and runs */
static inline int started(const char *block, int flags)
{
	int dev = agreed(flags, 0), bdev = open_or_die(block, O_RDONLY);
	struct freeblock_ioc_setup setup = usual(bdev);

	if (ioctl(dev, FREEBLOCK_IOC_SETUP, &setup) ||
	    change_one(dev, FREEBLOCK_IOC_ADD, 0, setup.sectors) ||
	    ioctl(dev, FREEBLOCK_IOC_START))
		die_of(dev, block);
	close(bdev);
	return dev;
}

static inline struct freeblock_ioc_progress progress_of(int dev)
{
	struct freeblock_ioc_progress p = { .size = sizeof(p) };

	if (ioctl(dev, FREEBLOCK_IOC_PROGRESS, &p))
		die_of(dev, "progress");
	return p;
}

#endif /* FBDEV_H */
