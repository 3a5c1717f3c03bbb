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
#include "../mechdisk_reply.h"
#include "../../probe/probe_protocol.h"

#define MDH_CHECK	0x02	/* status CHECK CONDITION */
/* Sense keys, and an additional sense code: invalid field in the CDB. */
#define MDH_MEDIUM	0x3
#define MDH_ILLEGAL	0x5
#define MDH_BAD_FIELD	0x24

/* Commands of a batch at the drive at once, if it takes as many. */
#define MDH_AT_DRIVE 2

/* Ops on their way */
struct mdh_batch {
	const struct prb_op *op;	/* the batch */
	struct prb_result *result;	/* theirs */
	u32 number[MDH_AT_DRIVE];	/* ops at the drive, in any order */
	int slot[MDH_AT_DRIVE];	/* theirs */
	u32 at_drive;	/* how many there are */
};

/* The program */
struct mdh_prober {
	const struct mdh_options *o;	/* the command line */
	struct mdh_drive *d;	/* the drive */
	struct mdy scsi;	/* what other commands leave behind */
	u32 unit;	/* LBNs in a unit */
	u64 blocks;	/* units of the drive */
	u64 random;	/* state of the host's lateness */
	u64 busy;	/* disk time, ns */
	u64 learnt;	/* when the host last learnt something, ns */
	u64 ended;	/* when the last command did, ns */
	u64 sent;	/* when the last command was sent, ns */
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
		r->status = MDH_MEDIUM;
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
	if (!r->status && b->op[i].count > mde_longest(&p->d->cfg) / p->unit) {
		r->status = MDH_ILLEGAL;
		r->asc = MDH_BAD_FIELD << 8;
	}
	if (!r->status)
		return mdh_send(p, b, i);
	r->submit = p->d->now;
	r->done = p->d->now;
}

/* Let time pass; no command is at the drive that anyone waits for. */
static void mdh_live(struct mdh_drive *d, u64 until)
{
	int ended;

	while ((ended = mdh_wait(d, until)) >= 0)
		mde_release(&d->mde, ended);
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
	mdh_live(p->d, p->learnt);
	p->busy += p->d->now - began;
	if (all)
		mdh_put(result, count * sizeof(*result));
	free(op);
	free(result);
	return all;
}

/* ---- commands as such ---- */

/* Carry a command out that the engine has a part in; its data are zeros. */
static void mdh_medium(struct mdh_drive *d, struct mdy_answer *said, u8 *in, u32 room,
		       struct prb_answer *a)
{
	const struct mde_range *range = &said->range;
	int ended, slot = mdh_submit(d, range->op, range->lbn, range->count, range->flags);
	const struct mde_slot *s = &d->mde.slot[slot];

	if (range->at_once)
		return;
	/* Others that end are flushes nobody waits for. */
	while ((ended = mdh_wait(d, MDE_NEVER)) != slot)
		mde_release(&d->mde, ended);
	if (range->op == MDE_READ) {
		a->data = min(s->good * d->cfg.sector_bytes, (u64)room);
		memset(in, 0, a->data);
	}
	if (s->asc)
		said->sense_len = mdy_bad_sector(said->sense, s->error, s->asc, s->info,
						 s->lbn + s->good);
	mde_release(&d->mde, slot);
}

/* As mdh_decode() of mechdisk_scsi.c. */
static void mdh_command(struct mdh_prober *p, const struct prb_cdb *c, const u8 *out, u8 *in,
			struct prb_answer *a)
{
	const struct mde_caching *now = &p->scsi.pages.now.caching;
	struct mde_caching before = *now;
	struct mdh_drive *d = p->d;
	struct mdy_command command = {
		.cdb = c->cdb, .list = out, .now_ns = d->now,
		.bytes = mdy_list_len(c->cdb) ? c->out : max(c->in, c->out),
		.dirty = mdb_dirty_segments(&d->mde.cache),
	};
	struct mdy_answer said;
	bool wants = mdy_command(&p->scsi, &command, &said);

	if (memcmp(&before, now, sizeof(before)))
		mde_set_caching(&d->mde, d->now, now);
	a->data = min(said.len, c->in);
	memcpy(in, said.page, a->data);
	if (wants)
		mdh_medium(d, &said, in, c->in, a);
	if (!said.sense_len)
		return;
	a->result.status = MDH_CHECK;
	/* Fixed or descriptor format. */
	a->result.asc = said.sense[0] & 0x02 ? said.sense[2] << 8 : said.sense[12] << 8;
	a->sense_len = said.sense_len;
	memcpy(a->sense, said.sense, said.sense_len);
}

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
	mdh_live(p->d, p->learnt + p->o->host_ns);
	a.result.submit = p->d->now;
	if (!prb_harmless(c.cdb, out, c.out))
		a.result.status = -EPERM;
	else
		mdh_command(p, &c, out, in, &a);
	mdh_learn(p, &a.result);
	mdh_live(p->d, p->learnt);
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
		.longest = mde_longest(&p->d->cfg) / p->unit,
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
	mdy_init(&p.scsi, &p.d->cfg, NULL, 0);
	mde_set_caching(&p.d->mde, 0, &p.scsi.pages.now.caching);
	p.unit = 1U << p.d->cfg.physical_exponent;
	p.blocks = p.d->cfg.sectors / p.unit;
	if (mde_longest(&p.d->cfg) < p.unit)
		mdh_die("%s: a physical block is longer than max_sectors", o->drive);
	sigaction(SIGINT, &act, NULL);
	mdh_say_hello(&p);
	while (mdh_serve(&p))
		;
	mdh_close(p.d);
	return 0;
}
