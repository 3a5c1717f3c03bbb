// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive as a probe program of freeblock extract: what comes in and goes
 * out is in probe_protocol.h, which is all that they share.
 *
 * Time stands still between batches.  Within one, the host needs some time between what
 * it learns (a command has ended, or has been sent) and the next command.  Data are not
 * kept: reads that return any return zeros.
 */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "host.h"
#include "host_scsi.h"
#include "../../probe/probe_protocol.h"

/* Commands of a batch at the drive at once, if it takes as many. */
#define MDH_AT_DRIVE 2

/**
 * struct mdh_batch - ops on their way
 * @op: the batch
 * @result: theirs
 * @number: ops at the drive, in any order
 * @slot: theirs
 * @at_drive: how many there are
 */
struct mdh_batch {
	const struct prb_op *op;
	struct prb_result *result;
	u32 number[MDH_AT_DRIVE];
	int slot[MDH_AT_DRIVE];
	u32 at_drive;
};

/**
 * struct mdh_prober - the program
 * @o: the command line
 * @d: the drive
 * @scsi: its answers to other commands
 * @unit: LBNs in a unit
 * @blocks: units of the drive
 * @random: state of the host's lateness
 * @busy: disk time, ns
 * @learnt: when the host last learnt something, ns
 * @ended: when the last command did, ns
 * @sent: when the last command was sent, ns
 */
struct mdh_prober {
	const struct mdh_options *o;
	struct mdh_drive *d;
	struct mdx scsi;
	u32 unit;
	u64 blocks;
	u64 random;
	u64 busy;
	u64 learnt;
	u64 ended;
	u64 sent;
};

static atomic_int mdh_stop;

static void mdh_interrupt(int sig)
{
	atomic_store(&mdh_stop, sig);
}

/* ---- pipes ---- */

/* False: the other side is through with us. */
static bool mdh_get(void *to, size_t len)
{
	return !len || fread(to, len, 1, stdin) == 1;
}

static void mdh_put(const void *from, size_t len)
{
	if (len && fwrite(from, len, 1, stdout) != 1)
		exit(1);
}

static void *mdh_room(size_t len)
{
	void *room = malloc(len ?: 1);

	if (!room)
		mdh_die("out of memory");
	return room;
}

static void mdh_put_tail(const struct mdh_prober *p)
{
	struct prb_tail tail = { .now = p->d->now, .busy = p->busy };

	mdh_put(&tail, sizeof(tail));
	fflush(stdout);
}

/* ---- ops ---- */

/* 0, or why it cannot be sent. */
static int mdh_op_refused(const struct mdh_prober *p, const struct prb_op *op)
{
	if (atomic_load(&mdh_stop))
		return -EINTR;
	if (op->op > PRB_VERIFY || op->flags & ~PRB_FLAGS || !op->count ||
	    op->block >= p->blocks || op->count > p->blocks - op->block ||
	    op->wait > MDH_CLOCK_NS || p->d->now > MDH_CLOCK_NS)
		return -EINVAL;
	return op->op == PRB_WRITE ? -EPERM : 0;
}

/* How late the host learns of an end, ns: an adapter or a bridge of its own mind. */
static u64 mdh_lateness(struct mdh_prober *p)
{
	u64 x = p->random;

	/* xorshift64 (Marsaglia 2003): never the drive's. */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	p->random = x;
	return mul_u64_u64_shr(x, p->o->host_jitter_ns + 1, 64);
}

/* The host learns of an end. */
static void mdh_learn(struct mdh_prober *p, struct prb_result *r)
{
	r->done = p->d->now + mdh_lateness(p);
	p->ended = max(p->ended, r->done);
	p->learnt = p->ended;
}

/* Let time pass until @until, or a command ends; false: none did. */
static bool mdh_pass(struct mdh_prober *p, struct mdh_batch *b, u64 until)
{
	int slot = mdh_wait(p->d, until);
	struct prb_result *r;
	u32 i = 0;

	if (slot < 0)
		return false;
	while (i < b->at_drive && b->slot[i] != slot)
		i++;
	if (i == b->at_drive) {
		/* A flush that nobody waits for. */
		mde_release(&p->d->mde, slot);
		return true;
	}
	r = &b->result[b->number[i]];
	mdh_learn(p, r);
	if (p->d->mde.slot[slot].asc) {
		r->status = MDX_MEDIUM;
		r->asc = p->d->mde.slot[slot].asc << 8;
	}
	mde_release(&p->d->mde, slot);
	b->at_drive--;
	b->slot[i] = b->slot[b->at_drive];
	b->number[i] = b->number[b->at_drive];
	return true;
}

/* When an op that may be sent now is sent. */
static u64 mdh_moment(const struct mdh_prober *p, const struct prb_op *op, bool overlap)
{
	u64 from = overlap ? p->sent : p->ended;
	u64 ready = p->learnt + p->o->host_ns;

	return max(ready, from + op->wait);
}

static void mdh_send(struct mdh_prober *p, struct mdh_batch *b, u32 i)
{
	static const enum mde_op ops[] = {
		[PRB_READ] = MDE_READ, [PRB_VERIFY] = MDE_VERIFY,
	};
	const struct prb_op *op = &b->op[i];
	bool overlap = op->flags & PRB_OVERLAP && i;
	u64 most = min_t(u64, p->d->cfg.queue_depth, MDH_AT_DRIVE);
	u64 at;

	while (b->at_drive > (overlap ? most - 1 : 0))
		mdh_pass(p, b, MDE_NEVER);
	at = mdh_moment(p, op, overlap);
	while (mdh_pass(p, b, at))
		;
	p->sent = p->d->now;
	p->learnt = p->d->now;
	b->result[i].submit = p->d->now;
	b->number[b->at_drive] = i;
	b->slot[b->at_drive++] = mdh_submit(p->d, ops[op->op], op->block * p->unit,
					    op->count * p->unit,
					    op->flags & PRB_FUA ? MDE_FUA : 0);
}

static void mdh_batch_op(struct mdh_prober *p, struct mdh_batch *b, u32 i)
{
	struct prb_result *r = &b->result[i];

	r->status = mdh_op_refused(p, &b->op[i]);
	if (!r->status && b->op[i].count > p->scsi.longest / p->unit) {
		r->status = MDX_ILLEGAL;
		r->asc = MDP_ASC_CDB << 8;
	}
	if (!r->status)
		return mdh_send(p, b, i);
	r->submit = p->d->now;
	r->done = p->d->now;
}

static bool mdh_run_batch(struct mdh_prober *p, u32 count)
{
	struct prb_op *op = mdh_room(count * sizeof(*op));
	struct prb_result *result = mdh_room(count * sizeof(*result));
	struct mdh_batch b = { .op = op, .result = result };
	u64 began = p->d->now;
	bool all;
	u32 i;

	atomic_store(&mdh_stop, 0);
	memset(result, 0, count * sizeof(*result));
	all = mdh_get(op, count * sizeof(*op));
	for (i = 0; all && i < count; i++)
		mdh_batch_op(p, &b, i);
	while (b.at_drive)
		mdh_pass(p, &b, MDE_NEVER);
	mdx_pass(p->d, p->learnt);
	p->busy += p->d->now - began;
	if (all)
		mdh_put(result, count * sizeof(*result));
	free(op);
	free(result);
	return all;
}

/* ---- commands as such ---- */

static bool mdh_run_cdb(struct mdh_prober *p)
{
	struct prb_answer a = { 0 };
	struct prb_cdb c;
	u64 began = p->d->now;
	u8 *out, *in;

	if (!mdh_get(&c, sizeof(c)))
		return false;
	if (c.out > PRB_MOST_DATA || c.in > PRB_MOST_DATA || c.len > PRB_CDB_LEN)
		mdh_die("standard input: not a record of the protocol");
	out = mdh_room(c.out);
	in = mdh_room(c.in);
	if (!mdh_get(out, c.out))
		return false;
	mdx_pass(p->d, p->learnt + p->o->host_ns);
	a.result.submit = p->d->now;
	if (!prb_harmless(c.cdb, out, c.out))
		a.result.status = -EPERM;
	else
		mdx_command(&p->scsi, p->d, &c, out, in, &a);
	mdh_learn(p, &a.result);
	mdx_pass(p->d, p->learnt);
	p->busy += p->d->now - began;
	mdh_put(&a, sizeof(a));
	mdh_put(in, a.data);
	free(out);
	free(in);
	return true;
}

/* ---- the program ---- */

static void mdh_say_hello(const struct mdh_prober *p)
{
	const struct mde_config *cfg = &p->d->cfg;
	struct prb_hello hello = {
		.magic = PRB_MAGIC,
		.version = PRB_VERSION,
		.blocks = p->blocks,
		.unit_bytes = p->unit * cfg->sector_bytes,
		.logical_bytes = cfg->sector_bytes,
		.longest = p->scsi.longest / p->unit,
	};

	mdh_put(&hello, sizeof(hello));
	fflush(stdout);
}

static bool mdh_serve(struct mdh_prober *p)
{
	struct prb_request request;
	bool all = true;

	if (!mdh_get(&request, sizeof(request)))
		return false;
	if (request.kind == PRB_RUN && request.count <= PRB_MOST_OPS)
		all = mdh_run_batch(p, request.count);
	else if (request.kind == PRB_CDB)
		all = mdh_run_cdb(p);
	else
		mdh_die("standard input: not a record of the protocol");
	if (all)
		mdh_put_tail(p);
	return all;
}

int mdh_probe(const struct mdh_options *o)
{
	struct sigaction act = { .sa_handler = mdh_interrupt, .sa_flags = SA_RESTART };
	struct mdh_options seeded = *o;
	struct mdh_prober p = { .o = o, .random = o->seed * 0x9e3779b97f4a7c15ULL | 1 };

	if (o->seeded)
		mdh_set_seed(&seeded);
	p.d = mdh_open(&seeded);
	mdx_init(&p.scsi, p.d);
	p.unit = 1U << p.d->cfg.physical_exponent;
	p.blocks = p.d->cfg.sectors / p.unit;
	if (p.scsi.longest < p.unit)
		mdh_die("%s: a physical block is longer than max_sectors", o->drive);
	sigaction(SIGINT, &act, NULL);
	mdh_say_hello(&p);
	while (mdh_serve(&p))
		;
	mdh_close(p.d);
	return 0;
}
