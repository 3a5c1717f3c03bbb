/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What freeblock extract and its probe programs say to each other.
 *
 * A probe program times commands at a drive: extract-probe those at a real one,
 * mechdisk-host probe those at a simulated one. It is driven by records on standard
 * input and answers on standard output; all numbers are little endian, all records as
 * laid out below, without gaps. Instants are nanoseconds of one clock that only goes
 * forward. Positions and lengths are in units: the larger of a logical and a physical
 * block of the drive.
 *
 * First the program says who it is: struct prb_hello. (If it cannot use the drive, it
 * says why on standard error and ends with status 1, having written nothing.) Then it
 * answers each request, struct prb_request:
 *
 *   PRB_RUN   count x struct prb_op      ->  count x struct prb_result, struct prb_tail
 *   PRB_CDB   struct prb_cdb, data out   ->  struct prb_answer, data in, struct prb_tail
 *
 * It reads a whole request before it writes the first byte of the answer, and ends when
 * standard input does. A command that fails is a result like others; see @status of
 * struct prb_result. SIGINT ends the batch that is under way: what was not sent comes
 * back as -EINTR.
 *
 * Nothing is sent that could change what is on the disk, or what the drive keeps over a power
 * cycle: only the commands that prb_harmless() knows.
 */
#ifndef PROBE_PROTOCOL_H
#define PROBE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#define PRB_MAGIC 0x42525046	/* "FPRB" */
#define PRB_VERSION 1
#define PRB_MOST_OPS 0x100000	/* of a batch */
#define PRB_MOST_DATA 0x100000	/* of a command, bytes, each way */
#define PRB_SENSE 64
#define PRB_CDB_LEN 16

enum prb_kind { PRB_RUN = 1, PRB_CDB = 2 };

enum prb_what { PRB_READ = 0, PRB_WRITE = 1, PRB_VERIFY = 2 };

/**
 * enum prb_flags - of an op
 * @PRB_FUA: from the medium, not from the cache; nothing for a verify
 * @PRB_OVERLAP: send it when the op before has been sent, and not more than one other
 *	is at the drive; else when all before have ended
 * @PRB_FLAGS: all of them
 */
enum prb_flags { PRB_FUA = 1, PRB_OVERLAP = 2, PRB_FLAGS = 3 };

/**
 * struct prb_hello - what is at hand
 * @magic: PRB_MAGIC
 * @version: PRB_VERSION
 * @blocks: capacity, units
 * @unit_bytes: bytes of a unit
 * @logical_bytes: bytes of what the drive's own addresses count
 * @longest: most units of a command
 * @pad: 0
 */
struct prb_hello {
	uint32_t magic;
	uint32_t version;
	uint64_t blocks;
	uint32_t unit_bytes;
	uint32_t logical_bytes;
	uint32_t longest;
	uint32_t pad;
};

/**
 * struct prb_request - begins a request
 * @kind: enum prb_kind
 * @count: ops that follow (PRB_RUN), at most PRB_MOST_OPS
 */
struct prb_request {
	uint32_t kind;
	uint32_t count;
};

/**
 * struct prb_op - a command to time
 * @op: enum prb_what
 * @flags: enum prb_flags
 * @pad: 0
 * @count: units
 * @block: first unit
 * @wait: not sent before so long after the end of the op before, or with PRB_OVERLAP after it was
 *	sent, ns
 */
struct prb_op {
	uint8_t op;
	uint8_t flags;
	uint16_t pad;
	uint32_t count;
	uint64_t block;
	uint64_t wait;
};

/**
 * struct prb_result - what a command came to
 * @submit: when it was sent
 * @done: when the host knew that it had ended
 * @status: 0: good; 1 to 15: its sense key (3: medium error); 0x100 + SCSI status, when
 *	it failed without sense data; negative: -errno, it was not carried out: -EPERM
 *	(not allowed), -EINVAL (no such op, or beyond the drive's end), -EINTR,
 *	-ETIMEDOUT, -ENODEV (the drive is gone), -EIO (the adapter says so)
 * @asc: additional sense code * 256 + its qualifier
 */
struct prb_result {
	uint64_t submit;
	uint64_t done;
	int32_t status;
	uint32_t asc;
};

/**
 * struct prb_tail - ends each answer
 * @now: the clock
 * @busy: disk time so far, ns: of each batch the time from its beginning to its end,
 *	waits included, but not the host's own time between batches
 */
struct prb_tail {
	uint64_t now;
	uint64_t busy;
};

/**
 * struct prb_cdb - a command as such
 * @cdb: the command
 * @len: bytes of it: 6, 10, 12 or 16
 * @out: bytes of data that follow, for the drive
 * @in: bytes of data wanted from it; not both
 * @timeout_ms: 0: the usual one
 */
struct prb_cdb {
	uint8_t cdb[PRB_CDB_LEN];
	uint32_t len;
	uint32_t out;
	uint32_t in;
	uint32_t timeout_ms;
};

/**
 * struct prb_answer - what it came to
 * @result: as of an op, but @status is the SCSI status (2: CHECK CONDITION), if not
 *	negative
 * @sense_len: bytes of @sense
 * @data: bytes of data that follow
 * @sense: sense data
 */
struct prb_answer {
	struct prb_result result;
	uint32_t sense_len;
	uint32_t data;
	uint8_t sense[PRB_SENSE];
};

/* A list for MODE SELECT without block descriptors: their number of blocks would last (SBC-3). */
static inline bool prb_bare_list(const uint8_t *data, uint32_t len, bool ten)
{
	if (ten)
		return len >= 8 && !data[6] && !data[7];
	return len >= 4 && !data[3];
}

/*
 * ATA PASS-THROUGH (16): IDENTIFY DEVICE, and SET FEATURES of write cache and look-ahead, which a
 * loss of power undoes.
 */
static inline bool prb_ata_harmless(const uint8_t *cdb)
{
	if (cdb[14] == 0xec)
		return true;
	if (cdb[14] != 0xef)
		return false;
	switch (cdb[4]) {
	case 0x02:		/* write cache: on, off */
	case 0x82:
	case 0xaa:		/* look-ahead: on, off */
	case 0x55:
		return true;
	default:
		return false;
	}
}

/**
 * prb_harmless() - can a command change nothing that lasts?
 * @cdb: the command
 * @data: what it sends
 * @len: bytes of that
 *
 * Mode pages may be changed, but not saved, nor the capacity with them, and caches switched by
 * SET FEATURES; self tests are not begun.
 *
 * Return: whether it may be sent.
 */
static inline bool prb_harmless(const uint8_t *cdb, const uint8_t *data, uint32_t len)
{
	switch (cdb[0]) {
	case 0x00:		/* TEST UNIT READY */
	case 0x03:		/* REQUEST SENSE */
	case 0x08:		/* READ(6) */
	case 0x12:		/* INQUIRY */
	case 0x1a:		/* MODE SENSE(6) */
	case 0x1b:		/* START STOP UNIT */
	case 0x1c:		/* RECEIVE DIAGNOSTIC RESULTS */
	case 0x25:		/* READ CAPACITY(10) */
	case 0x28:		/* READ(10) */
	case 0x35:		/* SYNCHRONIZE CACHE(10) */
	case 0x37:		/* READ DEFECT DATA(10) */
	case 0x5a:		/* MODE SENSE(10) */
	case 0x88:		/* READ(16) */
	case 0x91:		/* SYNCHRONIZE CACHE(16) */
	case 0x95:		/* ZBC IN (REPORT ZONES) */
	case 0xa0:		/* REPORT LUNS */
	case 0xa3:		/* MAINTENANCE IN */
	case 0xa8:		/* READ(12) */
	case 0xb7:		/* READ DEFECT DATA(12) */
		return true;
	case 0x2f:		/* VERIFY(10), (12), (16): no data compared */
	case 0xaf:
	case 0x8f:
		return !(cdb[1] & 0x06);
	case 0x15:		/* MODE SELECT(6), (10): not saved */
	case 0x55:
		return !(cdb[1] & 0x01) && prb_bare_list(data, len, cdb[0] == 0x55);
	case 0x4d:		/* LOG SENSE: not saved */
		return !(cdb[1] & 0x01);
	case 0x85:
		return prb_ata_harmless(cdb);
	case 0x1d:		/* SEND DIAGNOSTIC: Translate Address, no test */
		return (cdb[1] & 0xf7) == 0x10 && len && data[0] == 0x40;
	case 0x9e:		/* READ CAPACITY(16), GET LBA STATUS; others remove media */
		return (cdb[1] & 0x1f) == 0x10 || (cdb[1] & 0x1f) == 0x12;
	default:
		return false;
	}
}

#endif /* PROBE_PROTOCOL_H */
