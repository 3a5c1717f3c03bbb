/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A real drive behind sim_drive.h's door (freeblock paper, 4.5): commands go through the
 * SCSI generic driver, past cache, file system and block scheduler, and time is the
 * clock's.
 */
#ifndef SG_DRIVE_H
#define SG_DRIVE_H

#include <stdatomic.h>

#include "sg_device.h"
#include "../sim/sim_drive.h"

/**
 * struct sgd_config - how to use it
 * @longest: longest command, sectors
 * @report_ns: completions are reported so much later than the model says
 * @timeout_ms: of a command
 * @direct: data go straight from and to our memory
 * @writes: are allowed
 * @crc: file for the checksums of blocks read; "": none
 */
struct sgd_config {
	u32 longest;
	u64 report_ns;
	u32 timeout_ms;
	bool direct;
	bool writes;
	const char *crc;
};

/**
 * sgd_open() - a drive that can only be asked what it is
 * @v: the device, kept
 * @host_ns: see struct sim_drive_info
 * @stop: to be set when the drive is lost; when it is set a wait ends
 *
 * Return: the drive, to be closed with sim_drive_close(), which first waits for all of
 * its commands.
 */
struct sim_drive *sgd_open(const struct sgv *v, u64 host_ns, atomic_int *stop);

/**
 * sgd_start() - use it; the clock starts now
 * @d: the drive
 * @cfg: how
 *
 * SIGINT and SIGTERM are held back from now on but in sim_drive_wait().
 */
void sgd_start(struct sim_drive *d, const struct sgd_config *cfg);

/**
 * sgd_deliver() - some sectors of the command completed last are the scan's
 * @drive: a struct sim_drive
 * @lbn: first sector
 * @nsect: how many
 */
void sgd_deliver(void *drive, u64 lbn, u32 nsect);

/**
 * sgd_drain() - wait for the commands that are at the drive; none is sent any more
 * @d: the drive
 *
 * What they take counts no longer. Whoever computes while they are there may keep a drive from
 * its CPU that has the same one.
 */
void sgd_drain(struct sim_drive *d);

/**
 * sgd_lost() - why it cannot be used any more
 * @d: the drive
 *
 * Return: text; NULL: it can.
 */
const char *sgd_lost(const struct sim_drive *d);

/**
 * sgd_print() - what is to be said of it, as JSON
 * @d: the drive
 * @out: where to: ", "device": {...}"
 */
void sgd_print(const struct sim_drive *d, FILE *out);

#endif /* SG_DRIVE_H */
