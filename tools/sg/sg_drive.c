// SPDX-License-Identifier: GPL-2.0
/*
 * A real drive; see sg_drive.h.
 *
 * A command is written to /dev/sgX and its end read from there; poll() says when. Its
 * moment is taken when poll() returns, before read() copies the data. The commands are
 * queued at the tail: the driver's default is the head, which would turn two around that
 * wait for a busy adapter.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <scsi/sg.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sg_drive.h"
#include "sg_keep.h"
#include "sg_sense.h"
#include "../sim/sim_file.h"

#define SGD_NS_PER_S 1000000000ULL
#define SGD_SLOTS 16		/* the driver's SG_MAX_QUEUE */
#define SGD_BUFFERS 64
#define SGD_ALIGN 4096		/* what direct transfers ask for at most */
#define SGD_GRACE_S 60		/* the kernel's error handling, after a time-out */
#define SGD_HOPELESS 64		/* so many commands in a row that are not carried out */
#define SGD_AT_TAIL 0x10	/* SG_FLAG_Q_AT_TAIL, which libc's header lacks */

#define SGD_READ_10 0x28
#define SGD_READ_16 0x88
#define SGD_WRITE_10 0x2a
#define SGD_WRITE_16 0x8a

/* host_status (the kernel's scsi_status.h) */
#define SGD_NO_CONNECT 0x01
#define SGD_TIME_OUT 0x03
#define SGD_BAD_TARGET 0x04

/* Data of a command */
struct sgd_buf {
	u8 *data;	/* SGD_ALIGN-aligned */
	/* 1 while it is at the drive, and 1 for each part with a checksum to come */
	u32 uses;
};

/* A command at the drive */
struct sgd_cmd {
	bool busy;	/* in use */
	bool write;	/* direction */
	u64 lbn;	/* first sector */
	u32 nsect;	/* sectors */
	struct sgd_buf *buf;	/* its data */
	u8 cdb[16];	/* the command */
	u8 sense[SGS_LEN];	/* what it failed of */
};

/* The drive */
struct sim_drive {
	const struct sgv *v;	/* the device */
	u64 host_ns;	/* see struct sim_drive_info */
	atomic_int *stop;	/* see sgd_open() */
	struct sgd_config cfg;	/* how to use it */
	u64 zero_ns;	/* the clock's time at its beginning */
	sigset_t mask;	/* signals to hold back while waiting: fewer than else */
	struct sgd_cmd cmd[SGD_SLOTS];	/* commands */
	u32 flying;	/* how many are at the drive */
	struct sgd_buf buf[SGD_BUFFERS];	/* buffers */
	u32 buffers;	/* how many there are */
	const struct sgd_cmd *last;	/* the command completed last */
	struct sgk *keep;	/* checksums, or NULL */
	u64 busy_from_ns;	/* @flying: since when */
	u64 busy_ns;	/* time with commands, before that */
	bool ending;	/* only what is there is waited for */
	u32 hopeless;	/* commands in a row that were not carried out */
	u64 timeouts;	/* commands */
	u64 indirect;	/* transfers that were to be direct, and were not */
	char lost[200];	/* see sgd_lost() */
};

static u64 sgd_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SGD_NS_PER_S + t.tv_nsec;
}

static u64 sgd_now_ns(const struct sim_drive *d)
{
	return sgd_clock_ns() - d->zero_ns;
}

u64 sim_drive_now(const struct sim_drive *d, u64 now_ns)
{
	return max(sgd_now_ns(d), now_ns);
}

static __printf(2, 3) void sgd_lose(struct sim_drive *d, const char *fmt, ...)
{
	va_list args;

	if (*d->lost)
		return;
	va_start(args, fmt);
	vsnprintf(d->lost, sizeof(d->lost), fmt, args);
	va_end(args);
	atomic_store(d->stop, 1);
}

const char *sgd_lost(const struct sim_drive *d)
{
	return *d->lost ? d->lost : NULL;
}

/* ---- sending ---- */

static struct sgd_buf *sgd_buffer(struct sim_drive *d)
{
	struct sgd_buf *b;
	void *data;
	u32 i;

	for (i = 0; i < d->buffers; i++)
		if (!d->buf[i].uses)
			return &d->buf[i];
	if (d->buffers == SGD_BUFFERS) {
		/* checksums lag: a slot is free, so one of the buffers is theirs alone */
		while (sgk_step(d->keep))
			;
		return sgd_buffer(d);
	}
	b = &d->buf[d->buffers++];
	if (posix_memalign(&data, SGD_ALIGN, d->cfg.longest * 512ULL))
		sim_fail("out of memory");
	b->data = data;
	memset(b->data, 0, d->cfg.longest * 512ULL);
	return b;
}

static u8 sgd_cdb(const struct sgd_cmd *c, u32 block, u8 *cdb)
{
	u64 first = c->lbn / block;
	u32 n = c->nsect / block;

	memset(cdb, 0, 16);
	if (first + n > U32_MAX || n > USHRT_MAX) {
		cdb[0] = c->write ? SGD_WRITE_16 : SGD_READ_16;
		sgs_put(cdb + 2, 8, first);
		sgs_put(cdb + 10, 4, n);
		return 16;
	}
	cdb[0] = c->write ? SGD_WRITE_10 : SGD_READ_10;
	sgs_put(cdb + 2, 4, first);
	sgs_put(cdb + 7, 2, n);
	return 10;
}

/* what our writes write: each sector tells its place */
static void sgd_pattern(const struct sgd_cmd *c)
{
	u64 word, end = c->nsect * 64ULL;

	for (word = 0; word < end; word++)
		sgs_put(c->buf->data + word * 8, 8, ~(c->lbn * 64 + word));
}

static void sgd_write(struct sim_drive *d, struct sgd_cmd *c)
{
	sg_io_hdr_t h = {
		.interface_id = 'S',
		.dxfer_direction = c->write ? SG_DXFER_TO_DEV : SG_DXFER_FROM_DEV,
		.cmd_len = sgd_cdb(c, d->v->block_sectors, c->cdb),
		.mx_sb_len = sizeof(c->sense),
		.dxfer_len = c->nsect * 512,
		.dxferp = c->buf->data,
		.cmdp = c->cdb,
		.sbp = c->sense,
		.timeout = d->cfg.timeout_ms,
		.flags = SGD_AT_TAIL | (d->cfg.direct ? SG_FLAG_DIRECT_IO : 0),
		.pack_id = c - d->cmd,
	};

	if (write(d->v->fd, &h, sizeof(h)) == sizeof(h)) {
		if (!d->flying++)
			d->busy_from_ns = sgd_now_ns(d);
		return;
	}
	sgd_lose(d, "%s takes no command of %u sectors: %s", d->v->path, c->nsect,
		 strerror(errno));
	c->busy = false;
	c->buf->uses--;
}

int sim_drive_submit(struct sim_drive *d, u64 now_ns, enum sim_drive_op op, u64 lbn, u32 nsect)
{
	bool write = op == SIM_DRIVE_WRITE;
	const struct sgv *v = d->v;
	struct sgd_cmd *c = d->cmd;

	if (lbn % v->block_sectors || nsect % v->block_sectors)
		sim_fail("%u sectors at %llu are not whole blocks of the drive", nsect,
			 (unsigned long long)lbn);
	if (write && !d->cfg.writes)
		sim_fail("a write to %s, which was not allowed", v->path);
	if (nsect > d->cfg.longest)
		sim_fail("a command of %u sectors, %u were announced", nsect, d->cfg.longest);
	while (c < d->cmd + SGD_SLOTS && c->busy)
		c++;
	if (c == d->cmd + SGD_SLOTS)
		sim_fail("the drive's queue is full");
	c->busy = true;
	c->write = write;
	c->lbn = lbn;
	c->nsect = nsect;
	c->buf = sgd_buffer(d);
	c->buf->uses++;
	if (write)
		sgd_pattern(c);
	if (!*d->lost)
		sgd_write(d, c);
	return c - d->cmd;
}

/* ---- completion ---- */

static u64 sgd_bad(const struct sim_drive *d, const struct sgd_cmd *c, const struct sgs *sense,
		   const sg_io_hdr_t *h)
{
	u64 bad = sense->block * d->v->block_sectors;
	u64 moved = h->dxfer_len - min_t(u32, max(h->resid, 0), h->dxfer_len);

	/* a place that is not in the command, or whose data did not come, is none */
	if (!sense->info || bad < c->lbn || bad >= c->lbn + c->nsect ||
	    (bad - c->lbn) * 512 > moved)
		return U64_MAX;
	return bad;
}

static enum sim_drive_outcome sgd_judge_sense(struct sim_drive *d, const struct sgd_cmd *c,
					      const struct sgs *sense)
{
	switch (sense->key) {
	case SGS_RECOVERED:
		return SIM_DRIVE_GOOD;
	case SGS_MEDIUM:
		return SIM_DRIVE_MEDIUM;
	case SGS_NO_SENSE:
	case SGS_HARDWARE:
	case SGS_ATTENTION:
	case SGS_ABORTED:
		return SIM_DRIVE_AGAIN;
	default:
		sgd_lose(d, "%s refuses to %s %u sectors at %llu, sense %x/%02x/%02x", d->v->path,
			 c->write ? "write" : "read", c->nsect, (unsigned long long)c->lbn,
			 sense->key, sense->asc, sense->ascq);
		return SIM_DRIVE_AGAIN;
	}
}

static enum sim_drive_outcome sgd_judge(struct sim_drive *d, const struct sgd_cmd *c,
					const sg_io_hdr_t *h, const struct sgs *sense)
{
	if (h->host_status == SGD_NO_CONNECT || h->host_status == SGD_BAD_TARGET) {
		sgd_lose(d, "%s is gone", d->v->path);
		return SIM_DRIVE_AGAIN;
	}
	if (h->host_status) {
		d->timeouts += h->host_status == SGD_TIME_OUT;
		return SIM_DRIVE_AGAIN;
	}
	if (h->status == SGS_RESERVATION_CONFLICT) {
		sgd_lose(d, "%s is reserved by another host", d->v->path);
		return SIM_DRIVE_AGAIN;
	}
	if (h->status == SGS_CHECK_CONDITION)
		return sgd_judge_sense(d, c, sense);
	return h->status || h->resid ? SIM_DRIVE_AGAIN : SIM_DRIVE_GOOD;
}

static void sgd_count(struct sim_drive *d, const sg_io_hdr_t *h, enum sim_drive_outcome outcome)
{
	d->indirect += d->cfg.direct && (h->info & SG_INFO_DIRECT_IO_MASK) != SG_INFO_DIRECT_IO;
	d->hopeless = outcome == SIM_DRIVE_AGAIN ? d->hopeless + 1 : 0;
	if (d->hopeless == SGD_HOPELESS)
		sgd_lose(d, "%s carries out no command any more, %d in a row failed", d->v->path,
			 SGD_HOPELESS);
}

/* one that has ended; false: none could be read */
static bool sgd_collect(struct sim_drive *d, u64 now_ns, struct sim_drive_done *done)
{
	sg_io_hdr_t h = { .interface_id = 'S' };
	struct sgd_cmd *c;
	struct sgs sense;

	if (read(d->v->fd, &h, sizeof(h)) != sizeof(h)) {
		if (errno != EAGAIN && errno != EINTR)
			sgd_lose(d, "%s: %s", d->v->path, strerror(errno));
		return false;
	}
	c = &d->cmd[h.pack_id];
	if (!--d->flying && !d->ending)
		d->busy_ns += now_ns - d->busy_from_ns;
	sgs_read(c->sense, h.sb_len_wr, &sense);
	done->slot = h.pack_id;
	done->report_ns = now_ns - min(now_ns, d->cfg.report_ns);
	done->outcome = sgd_judge(d, c, &h, &sense);
	done->bad = sgd_bad(d, c, &sense, &h);
	sgd_count(d, &h, done->outcome);
	c->busy = false;
	c->buf->uses--;
	d->last = c;
	return true;
}

void sgd_deliver(void *drive, u64 lbn, u32 nsect)
{
	struct sim_drive *d = drive;
	const struct sgd_cmd *c = d->last;

	sgk_add(d->keep, c->buf->data + (lbn - c->lbn) * 512, &c->buf->uses, lbn, nsect);
}

/* sleep until something ends, or @until_ns; with checksums to compute only have a look */
static int sgd_poll(const struct sim_drive *d, u64 until_ns, bool look, struct pollfd *p)
{
	u64 now_ns = sgd_now_ns(d), left_ns = until_ns > now_ns && !look ? until_ns - now_ns : 0;
	struct timespec t = { left_ns / SGD_NS_PER_S, left_ns % SGD_NS_PER_S };

	p->fd = d->v->fd;
	p->events = POLLIN;
	return ppoll(p, 1, until_ns == U64_MAX && !look ? NULL : &t, &d->mask);
}

bool sim_drive_wait(struct sim_drive *d, u64 until_ns, struct sim_drive_done *done)
{
	bool more = d->keep;
	struct pollfd p;
	u64 now_ns;
	int ready;

	while (!*d->lost && (d->flying || until_ns != U64_MAX)) {
		ready = sgd_poll(d, until_ns, more, &p);
		now_ns = sgd_now_ns(d);
		if (ready > 0 && p.revents & POLLIN && sgd_collect(d, now_ns, done))
			return true;
		if (ready > 0 && !(p.revents & POLLIN))
			sgd_lose(d, "%s is gone", d->v->path);
		if (now_ns >= until_ns || (atomic_load(d->stop) && !d->ending))
			return false;
		if (more)
			more = sgk_step(d->keep);
	}
	return false;
}

/* ---- beginning and end ---- */

void sim_drive_info(const struct sim_drive *d, struct sim_drive_info *info)
{
	info->sectors = d->v->sectors;
	info->block = d->v->block_sectors;
	info->queue = min_t(u32, d->v->queue, SGD_SLOTS);
	info->host_ns = d->host_ns;
	info->look_ahead_off = d->v->look_ahead_off;
}

void sim_drive_stats(const struct sim_drive *d, struct sim_drive_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->busy_ns = d->busy_ns;
	if (d->flying && !d->ending)
		stats->busy_ns += sgd_now_ns(d) - d->busy_from_ns;
}

struct sim_drive *sgd_open(const struct sgv *v, u64 host_ns, atomic_int *stop)
{
	struct sim_drive *d = calloc(1, sizeof(*d));

	if (!d)
		sim_fail("out of memory");
	d->v = v;
	d->host_ns = host_ns;
	d->stop = stop;
	return d;
}

void sgd_start(struct sim_drive *d, const struct sgd_config *cfg)
{
	sigset_t held;

	d->cfg = *cfg;
	if (*cfg->crc)
		d->keep = sgk_open(cfg->crc);
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, &d->mask);
	/* both may be refused: then predictions suffer, and the results tell */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	prctl(PR_SET_TIMERSLACK, 1);
	d->zero_ns = sgd_clock_ns();
}

void sgd_drain(struct sim_drive *d)
{
	u64 now_ns = sgd_now_ns(d);
	u64 until_ns = now_ns + d->cfg.timeout_ms * 1000000ULL + SGD_GRACE_S * SGD_NS_PER_S;
	struct sim_drive_done done;

	if (d->flying && !d->ending)
		d->busy_ns += now_ns - d->busy_from_ns;
	d->ending = true;
	while (d->flying && !*d->lost && sgd_now_ns(d) < until_ns)
		sim_drive_wait(d, until_ns, &done);
	if (d->flying)
		fprintf(stderr, "%s: %u commands never ended\n", d->v->path, d->flying);
}

void sim_drive_close(struct sim_drive *d)
{
	u32 i;

	sgd_drain(d);
	if (d->keep)
		sgk_close(d->keep);
	for (i = 0; i < d->buffers; i++)
		free(d->buf[i].data);
	free(d);
}

static double sgd_seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

void sgd_print(const struct sim_drive *d, FILE *out)
{
	const struct sgv *v = d->v;
	struct rusage use;

	fprintf(out, ", \"device\": {\"block\": \"%s\", \"vendor\": \"%s\", \"product\": \"%s\", ",
		v->block, v->vendor, v->product);
	fprintf(out, "\"revision\": \"%s\", \"serial\": \"%s\", \"queue_depth\": %u, ",
		v->revision, v->serial, v->queue);
	getrusage(RUSAGE_SELF, &use);
	fprintf(out, "\"timeouts\": %llu, \"indirect\": %llu, \"cpu_s\": %.6f}",
		(unsigned long long)d->timeouts, (unsigned long long)d->indirect,
		sgd_seconds(use.ru_utime) + sgd_seconds(use.ru_stime));
}
