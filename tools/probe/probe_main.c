// SPDX-License-Identifier: GPL-2.0
/*
 * Time commands at a real drive, as freeblock extract asks for it; probe_protocol.h says
 * how, probe_sg.h has the drive.
 */
#include "probe_sg.h"
#include "../sim/sim_file.h"

static const char prm_usage[] =
	"usage: extract-probe DEVICE [--in-use]\n"
	"DEVICE: /dev/sgX. What it is told on standard input, and answers on standard\n"
	"output, is in tools/probe/probe_protocol.h; freeblock extract speaks so.\n";

/* The program */
struct prm {
	struct prs drive;	/* the drive */
	u64 busy;	/* disk time, ns */
	u64 ended;	/* when the last command did, ns */
	u64 sent;	/* when the last command was sent, ns */
};

/* ---- pipes ---- */

/* false: the other side is through with us */
static bool prm_get(void *to, size_t len)
{
	return !len || fread(to, len, 1, stdin) == 1;
}

static void prm_put(const void *from, size_t len)
{
	if (len && fwrite(from, len, 1, stdout) != 1)
		exit(1);
}

static void *prm_room(size_t len)
{
	void *room = malloc(len ?: 1);

	if (!room)
		sim_fail("out of memory");
	memset(room, 0, len);
	return room;
}

static void prm_put_tail(const struct prm *m)
{
	struct prb_tail tail = { .now = prs_now(), .busy = m->busy };

	prm_put(&tail, sizeof(tail));
	if (fflush(stdout))
		exit(1);
}

/* ---- ops ---- */

/* 0, or why it cannot be sent */
static int prm_refused(const struct prm *m, const struct prb_op *op)
{
	const struct prs *d = &m->drive;

	if (d->stop)
		return -EINTR;
	if (op->op > PRB_VERIFY || op->flags & ~PRB_FLAGS || !op->count ||
	    op->count > d->longest || op->block >= d->blocks ||
	    op->count > d->blocks - op->block || op->wait > INT64_MAX)
		return -EINVAL;
	return op->op == PRB_WRITE ? -EPERM : 0;
}

/* wait until then, or a command ends; false: none did */
static bool prm_pass(struct prm *m, struct prb_result *results, u64 until_ns)
{
	struct prs_end end;
	struct prb_result *r;

	if (!prs_wait(&m->drive, until_ns, &end))
		return false;
	r = &results[end.number];
	end.result.submit = r->submit;
	*r = end.result;
	m->ended = r->done;
	return true;
}

static u64 prm_moment(const struct prm *m, const struct prb_op *op, bool overlap)
{
	return (overlap ? m->sent : m->ended) + op->wait;
}

static void prm_send(struct prm *m, const struct prb_op *op, struct prb_result *results, u32 i)
{
	bool overlap = op->flags & PRB_OVERLAP && i;
	u64 at_ns;
	int ret;

	while (m->drive.flying > (overlap ? PRS_AT_DRIVE - 1 : 0))
		prm_pass(m, results, PRS_NEVER);
	at_ns = prm_moment(m, op, overlap);
	while (prs_now() < at_ns && !m->drive.stop)
		prm_pass(m, results, at_ns);
	ret = prm_refused(m, op);
	if (!ret)
		ret = prs_submit(&m->drive, op, i, &results[i].submit);
	m->sent = results[i].submit;
	if (!ret)
		return;
	results[i].status = ret;
	results[i].submit = prs_now();
	results[i].done = results[i].submit;
}

static bool prm_run_batch(struct prm *m, u32 count)
{
	struct prb_op *op = prm_room(count * sizeof(*op));
	struct prb_result *results = prm_room(count * sizeof(*results));
	bool all = prm_get(op, count * sizeof(*op));
	u64 began_ns = prs_now();
	u32 i;

	prs_begin(&m->drive);
	for (i = 0; all && i < count; i++) {
		results[i].status = prm_refused(m, &op[i]);
		results[i].submit = prs_now();
		results[i].done = results[i].submit;
		if (!results[i].status)
			prm_send(m, &op[i], results, i);
	}
	while (m->drive.flying)
		prm_pass(m, results, PRS_NEVER);
	m->busy += prs_now() - began_ns;
	if (all)
		prm_put(results, count * sizeof(*results));
	free(op);
	free(results);
	return all;
}

/* ---- commands as such ---- */

static bool prm_run_cdb(struct prm *m)
{
	struct prb_answer a = { 0 };
	struct prb_cdb c;
	u8 *out, *in;
	bool all;

	if (!prm_get(&c, sizeof(c)))
		return false;
	if (c.out > PRB_MOST_DATA || c.in > PRB_MOST_DATA || c.len > PRB_CDB_LEN)
		sim_fail("standard input: not a record of the protocol");
	out = prm_room(c.out);
	in = prm_room(c.in);
	all = prm_get(out, c.out);
	if (!prb_harmless(c.cdb, out, c.out))
		a.result.status = -EPERM;
	else if (all)
		prs_command(&m->drive, &c, out, in, &a);
	m->busy += a.result.done - a.result.submit;
	m->ended = prs_now();
	if (all) {
		prm_put(&a, sizeof(a));
		prm_put(in, a.data);
	}
	free(out);
	free(in);
	return all;
}

/* ---- the program ---- */

static void prm_say_hello(const struct prm *m)
{
	const struct prs *d = &m->drive;
	struct prb_hello hello = {
		.magic = PRB_MAGIC,
		.version = PRB_VERSION,
		.blocks = d->blocks,
		.unit_bytes = d->v.physical_sectors * 512,
		.logical_bytes = d->v.block_sectors * 512,
		.longest = d->longest,
	};

	prm_put(&hello, sizeof(hello));
	if (fflush(stdout))
		exit(1);
}

static bool prm_serve(struct prm *m)
{
	struct prb_request request;
	bool all = true;

	if (!prm_get(&request, sizeof(request)))
		return false;
	if (request.kind == PRB_RUN && request.count <= PRB_MOST_OPS)
		all = prm_run_batch(m, request.count);
	else if (request.kind == PRB_CDB)
		all = prm_run_cdb(m);
	else
		sim_fail("standard input: not a record of the protocol");
	if (all)
		prm_put_tail(m);
	return all;
}

int main(int argc, char **argv)
{
	bool in_use = false;
	static struct prm m;
	int i;

	if (argc < 2 || *argv[1] == '-') {
		fputs(prm_usage, stderr);
		return 2;
	}
	for (i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--in-use"))
			in_use = true;
		else
			sim_usage("%s: no such option\n%s", argv[i], prm_usage);
	}
	prs_open(&m.drive, argv[1], in_use);
	m.ended = prs_now();
	prm_say_hello(&m);
	while (prm_serve(&m))
		;
	prs_close(&m.drive);
	return 0;
}
