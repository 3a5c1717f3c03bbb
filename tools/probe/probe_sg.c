// SPDX-License-Identifier: GPL-2.0
/*
 * Commands at a real drive; see probe_sg.h.
 *
 * An op is written to /dev/sgX and its end read from there; poll() says when. Its moment
 * is taken when poll() returns, before read() copies the data. The commands are queued at
 * the tail: the driver's default is the head, which would turn two around that wait for a
 * busy adapter.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "probe_sg.h"
#include "../sim/sim_file.h"

#define PRS_NS_PER_S 1000000000ULL
#define PRS_TIMEOUT_MS 30000	/* a bad sector may keep a drive busy that long */
#define PRS_GRACE_S 60		/* the kernel's error handling, after a time-out */
#define PRS_TRIES 5		/* unit attentions in a row */
#define PRS_MOST_BYTES 0x400000	/* of an op: more tells nothing new */
#define PRS_ALIGN 4096
#define PRS_AT_TAIL 0x10	/* SG_FLAG_Q_AT_TAIL, which libc's header lacks */
/* beyond threads that handle interrupts (50, where there are any): they deliver our ends */
#define PRS_PRIORITY 60

#define PRS_FUA 0x08		/* byte 1 of reads and writes */

/* host_status (the kernel's scsi_status.h) */
#define PRS_NO_CONNECT 0x01
#define PRS_TIME_OUT 0x03
#define PRS_BAD_TARGET 0x04

#define PRS_STATUS_ONLY 0x100	/* @status of struct prb_result without sense data */

u64 prs_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * PRS_NS_PER_S + t.tv_nsec;
}

/* ---- what it came to ---- */

/* the drive will not come back by itself: no more commands */
static int prs_gone(struct prs *p)
{
	p->gone = true;
	return -ENODEV;
}

/* 0, or why the command did not reach the drive, or its end not us */
static int prs_host(struct prs *p, const sg_io_hdr_t *h)
{
	switch (h->host_status) {
	case 0:
		return 0;
	case PRS_NO_CONNECT:
	case PRS_BAD_TARGET:
		return prs_gone(p);
	case PRS_TIME_OUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

static int prs_errno(struct prs *p)
{
	return errno == ENODEV || errno == ENXIO ? prs_gone(p) : -errno;
}

static void prs_judge(struct prs *p, const struct prs_cmd *c, const sg_io_hdr_t *h,
		      struct prb_result *r)
{
	struct sgs sense;

	sgs_read(c->sense, h->sb_len_wr, &sense);
	r->asc = sense.asc << 8 | sense.ascq;
	r->status = prs_host(p, h);
	if (!r->status && h->status)
		r->status = sense.key ?: PRS_STATUS_ONLY + h->status;
}

/* ---- ops ---- */

static void prs_interrupt(int sig)
{
	/* it has done its work: ppoll() returned */
}

void prs_begin(struct prs *p)
{
	static const struct timespec at_once;
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	while (sigtimedwait(&held, NULL, &at_once) > 0)
		;
	p->stop = false;
}

static u8 prs_cdb(const struct prs *p, const struct prb_op *op, u8 *cdb)
{
	static const u8 short_op[] = {
		[PRB_READ] = 0x28, [PRB_VERIFY] = 0x2f,
	};
	static const u8 long_op[] = {
		[PRB_READ] = 0x88, [PRB_VERIFY] = 0x8f,
	};
	u64 first = op->block * p->unit;
	u64 n = (u64)op->count * p->unit;

	memset(cdb, 0, PRB_CDB_LEN);
	cdb[1] = op->op != PRB_VERIFY && op->flags & PRB_FUA ? PRS_FUA : 0;
	if (first + n > U32_MAX || n > USHRT_MAX) {
		cdb[0] = long_op[op->op];
		sgs_put(cdb + 2, 8, first);
		sgs_put(cdb + 10, 4, n);
		return 16;
	}
	cdb[0] = short_op[op->op];
	sgs_put(cdb + 2, 4, first);
	sgs_put(cdb + 7, 2, n);
	return 10;
}

int prs_submit(struct prs *p, const struct prb_op *op, u32 number, u64 *submit_ns)
{
	struct prs_cmd *c = p->cmd;
	sg_io_hdr_t h = {
		.interface_id = 'S',
		.dxfer_direction = op->op == PRB_READ ? SG_DXFER_FROM_DEV : SG_DXFER_NONE,
		.mx_sb_len = sizeof(c->sense),
		.timeout = PRS_TIMEOUT_MS,
		.flags = PRS_AT_TAIL,
	};

	while (c->busy)
		c++;
	h.cmd_len = prs_cdb(p, op, c->cdb);
	h.cmdp = c->cdb;
	h.sbp = c->sense;
	h.pack_id = c - p->cmd;
	if (op->op != PRB_VERIFY) {
		h.dxfer_len = op->count * p->unit * p->v.block_sectors * 512;
		h.dxferp = c->data;
	}
	*submit_ns = prs_now();
	if (p->gone)
		return -ENODEV;
	if (write(p->v.fd, &h, sizeof(h)) != sizeof(h))
		return prs_errno(p);
	c->busy = true;
	c->number = number;
	c->late_ns = *submit_ns + PRS_TIMEOUT_MS * 1000000ULL + PRS_GRACE_S * PRS_NS_PER_S;
	p->flying++;
	return 0;
}

static void prs_end(struct prs *p, struct prs_cmd *c, struct prs_end *end)
{
	end->number = c->number;
	c->busy = false;
	p->flying--;
}

/* the first one that is at the drive ends like this */
static bool prs_give_up(struct prs *p, u64 now_ns, int status, struct prs_end *end)
{
	struct prs_cmd *c = p->cmd;

	p->gone = true;
	while (!c->busy)
		c++;
	end->result.done = now_ns;
	end->result.status = status;
	end->result.asc = 0;
	prs_end(p, c, end);
	return true;
}

static bool prs_collect(struct prs *p, u64 now_ns, struct prs_end *end)
{
	sg_io_hdr_t h = { .interface_id = 'S' };

	if (read(p->v.fd, &h, sizeof(h)) != sizeof(h)) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		return prs_give_up(p, now_ns, -ENODEV, end);
	}
	end->result.done = now_ns;
	prs_judge(p, &p->cmd[h.pack_id], &h, &end->result);
	prs_end(p, &p->cmd[h.pack_id], end);
	return true;
}

/* when the kernel should long have ended a command that is at the drive */
static u64 prs_late(const struct prs *p)
{
	u64 late_ns = PRS_NEVER;
	int i;

	for (i = 0; i < PRS_AT_DRIVE; i++)
		if (p->cmd[i].busy)
			late_ns = min(late_ns, p->cmd[i].late_ns);
	return late_ns;
}

/* sleep until something ends, or @until_ns; positive: the device has something to say */
static int prs_poll(struct prs *p, u64 now_ns, u64 until_ns)
{
	u64 left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec t = { left_ns / PRS_NS_PER_S, left_ns % PRS_NS_PER_S };
	struct pollfd fds[] = {
		{ .fd = p->flying ? p->v.fd : -1, .events = POLLIN },
		/* without events: it tells only of its end */
		{ .fd = p->stop ? -1 : STDIN_FILENO },
	};
	int ready = ppoll(fds, ARRAY_SIZE(fds), &t, &p->mask);

	if (ready < 0 || fds[1].revents)
		p->stop = true;
	return ready > 0 ? fds[0].revents : 0;
}

bool prs_wait(struct prs *p, u64 until_ns, struct prs_end *end)
{
	u64 now_ns = prs_now();
	int said;

	while (p->flying || (now_ns < until_ns && !p->stop)) {
		said = prs_poll(p, now_ns, min(until_ns, prs_late(p)));
		now_ns = prs_now();
		if (p->flying && p->gone)
			return prs_give_up(p, now_ns, -ENODEV, end);
		if (said & POLLIN && prs_collect(p, now_ns, end))
			return true;
		if (said && !(said & POLLIN))
			return prs_give_up(p, now_ns, -ENODEV, end);
		if (now_ns >= prs_late(p))
			return prs_give_up(p, now_ns, -ETIMEDOUT, end);
		if (now_ns >= until_ns)
			return false;
	}
	return false;
}

/* ---- commands as such ---- */

/* one try; the sense key */
static u8 prs_try(struct prs *p, const struct prb_cdb *c, u8 *out, u8 *in,
		  struct prb_answer *a)
{
	struct sgs sense;
	sg_io_hdr_t h = {
		.interface_id = 'S',
		.dxfer_direction = c->out ? SG_DXFER_TO_DEV :
				   c->in ? SG_DXFER_FROM_DEV : SG_DXFER_NONE,
		.cmd_len = c->len,
		.mx_sb_len = sizeof(a->sense),
		.dxfer_len = c->out ?: c->in,
		.dxferp = c->out ? out : in,
		.cmdp = (u8 *)c->cdb,
		.sbp = a->sense,
		.timeout = c->timeout_ms ?: PRS_TIMEOUT_MS,
	};

	memset(a, 0, sizeof(*a));
	a->result.submit = prs_now();
	a->result.status = ioctl(p->v.fd, SG_IO, &h) ? prs_errno(p) : prs_host(p, &h);
	a->result.done = prs_now();
	if (a->result.status)
		return 0;
	a->result.status = h.status;
	a->sense_len = h.sb_len_wr;
	sgs_read(a->sense, h.sb_len_wr, &sense);
	/* of a command that was refused, adapters may claim data that never came */
	if (c->in && (!h.status || sense.key == SGS_RECOVERED || sense.key == SGS_MEDIUM))
		a->data = c->in - min_t(u32, max(h.resid, 0), c->in);
	a->result.asc = sense.asc << 8 | sense.ascq;
	return h.status ? sense.key : 0;
}

void prs_command(struct prs *p, const struct prb_cdb *c, u8 *out, u8 *in,
		 struct prb_answer *a)
{
	int i;

	for (i = 0; i < PRS_TRIES; i++)
		if (prs_try(p, c, out, in, a) != SGS_ATTENTION)
			return;
}

/* ---- beginning and end ---- */

static void prs_measure(struct prs *p)
{
	const struct sgv *v = &p->v;
	u32 unit_bytes = v->physical_sectors * 512;
	int bytes;

	if (v->first_aligned)
		sim_fail("%s: its physical blocks begin at block %u, not at 0: not supported",
			 v->path, v->first_aligned);
	p->unit = v->physical_sectors / v->block_sectors;
	p->blocks = v->sectors / v->physical_sectors;
	p->longest = min_t(u32, v->most_sectors / v->physical_sectors,
			   PRS_MOST_BYTES / unit_bytes);
	if (!p->longest || !p->blocks)
		sim_fail("%s: commands of %u bytes, physical blocks of %u: nothing to read",
			 v->path, v->most_sectors * 512, unit_bytes);
	/* may be refused: then the driver looks for memory with each command */
	bytes = p->longest * unit_bytes;
	ioctl(v->fd, SG_SET_RESERVED_SIZE, &bytes);
}

static void prs_allocate(struct prs *p)
{
	size_t bytes = (size_t)p->longest * p->v.physical_sectors * 512;
	void *data;
	int i;

	for (i = 0; i < PRS_AT_DRIVE; i++) {
		if (posix_memalign(&data, PRS_ALIGN, bytes))
			sim_fail("out of memory");
		memset(data, 0, bytes);
		p->cmd[i].data = data;
	}
}

/* each may be refused: then the times scatter more, which is measured */
static void prs_be_prompt(void)
{
	struct sched_param urgent = { .sched_priority = PRS_PRIORITY };

	mlockall(MCL_CURRENT | MCL_FUTURE);
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &urgent);
}

void prs_open(struct prs *p, const char *path, bool in_use)
{
	struct sigaction act = { .sa_handler = prs_interrupt };
	sigset_t held;

	memset(p, 0, sizeof(*p));
	sgv_open(&p->v, path, in_use);
	prs_measure(p);
	prs_allocate(p);
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigprocmask(SIG_BLOCK, &held, &p->mask);
	sigdelset(&p->mask, SIGINT);
	sigaction(SIGINT, &act, NULL);
	prs_be_prompt();
}

void prs_close(struct prs *p)
{
	int i;

	for (i = 0; i < PRS_AT_DRIVE; i++)
		free(p->cmd[i].data);
	sgv_close(&p->v);
}
