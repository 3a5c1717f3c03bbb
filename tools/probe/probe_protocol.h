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

/* What is at hand */
struct prb_hello {
	uint32_t magic;	/* PRB_MAGIC */
	uint32_t version;	/* PRB_VERSION */
	uint64_t blocks;	/* capacity, units */
	uint32_t unit_bytes;	/* bytes of a unit */
	uint32_t logical_bytes;	/* bytes of what the drive's own addresses count */
	uint32_t longest;	/* most units of a command */
	uint32_t pad;	/* 0 */
};

/* Begins a request */
struct prb_request {
	uint32_t kind;	/* enum prb_kind */
	uint32_t count;	/* ops that follow (PRB_RUN), at most PRB_MOST_OPS */
};

/* A command to time */
struct prb_op {
	uint8_t op;	/* enum prb_what */
	uint8_t flags;	/* enum prb_flags */
	uint16_t pad;	/* 0 */
	uint32_t count;	/* units */
	uint64_t block;	/* first unit */
	/*
	 * not sent before so long after the end of the op before, or with PRB_OVERLAP after it
	 * was sent, ns
	 */
	uint64_t wait;
};

/* What a command came to */
struct prb_result {
	uint64_t submit;	/* when it was sent */
	uint64_t done;	/* when the host knew that it had ended */
	/*
	 * 0: good; 1 to 15: its sense key (3: medium error); 0x100 + SCSI status, when it failed
	 * without sense data; negative: -errno, it was not carried out: -EPERM (not allowed),
	 * -EINVAL (no such op, or beyond the drive's end), -EINTR, -ETIMEDOUT, -ENODEV (the drive
	 * is gone), -EIO (the adapter says so)
	 */
	int32_t status;
	uint32_t asc;	/* additional sense code * 256 + its qualifier */
};

/* Ends each answer */
struct prb_tail {
	uint64_t now;	/* the clock */
	/*
	 * disk time so far, ns: of each batch the time from its beginning to its end, waits
	 * included, but not the host's own time between batches
	 */
	uint64_t busy;
};

/* A command as such */
struct prb_cdb {
	uint8_t cdb[PRB_CDB_LEN];	/* the command */
	uint32_t len;	/* bytes of it: 6, 10, 12 or 16 */
	uint32_t out;	/* bytes of data that follow, for the drive */
	uint32_t in;	/* bytes of data wanted from it; not both */
	uint32_t timeout_ms;	/* 0: the usual one */
};

/* What it came to */
struct prb_answer {
	/* as of an op, but @status is the SCSI status (2: CHECK CONDITION), if not negative */
	struct prb_result result;
	uint32_t sense_len;	/* bytes of @sense */
	uint32_t data;	/* bytes of data that follow */
	uint8_t sense[PRB_SENSE];	/* sense data */
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

/*
 * Can a command change nothing that lasts? Mode pages may be changed, but not saved, nor the
 * capacity with them, and caches switched by SET FEATURES; self tests are not begun. Returns
 * whether it may be sent. @data: what it sends. @len: bytes of that
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
	case 0x5a:		/* MODE SENSE(10) */
	case 0x88:		/* READ(16) */
	case 0x91:		/* SYNCHRONIZE CACHE(16) */
	case 0x95:		/* ZBC IN (REPORT ZONES) */
	case 0xa0:		/* REPORT LUNS */
	case 0xa3:		/* MAINTENANCE IN */
	case 0xa8:		/* READ(12) */
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
