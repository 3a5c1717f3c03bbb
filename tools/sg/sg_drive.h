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

/* How to use it */
struct sgd_config {
	u32 longest;	/* longest command, sectors */
	u64 report_ns;	/* completions are reported so much later than the model says */
	u32 timeout_ms;	/* of a command */
	bool direct;	/* data go straight from and to our memory */
	bool writes;	/* are allowed */
	const char *crc;	/* file for the checksums of blocks read; "": none */
};

/*
 * A drive that can only be asked what it is. Returns the drive, to be closed with
 * sim_drive_close(), which first waits for all of its commands. @v: the device, kept. @stop: to
 * be set when the drive is lost; when it is set a wait ends
 */
struct sim_drive *sgd_open(const struct sgv *v, u64 host_ns, atomic_int *stop);

/*
 * Use it; the clock starts now. SIGINT and SIGTERM are held back from now on but in
 * sim_drive_wait()
 */
void sgd_start(struct sim_drive *d, const struct sgd_config *cfg);

/* Some sectors of the command completed last are the scan's */
void sgd_deliver(void *drive, u64 lbn, u32 nsect);

/*
 * Wait for the commands that are at the drive; none is sent any more. What they take counts no
 * longer. Whoever computes while they are there may keep a drive from its CPU that has the same
 * one
 */
void sgd_drain(struct sim_drive *d);

/* Why it cannot be used any more; NULL: it can */
const char *sgd_lost(const struct sim_drive *d);

/* What is to be said of it, as JSON. @out: where to: ", "device": {...}" */
void sgd_print(const struct sim_drive *d, FILE *out);

#endif /* SG_DRIVE_H */
