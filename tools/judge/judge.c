// SPDX-License-Identifier: GPL-2.0
/*
 * freeblock-judge MODEL < COMMANDS: what the scheduler would have predicted
 *
 * With the core's own code (disk_model.c, core/head.c), so that what is judged is what the
 * scheduler will believe. COMMANDS, a line each, in the order in which the drive served
 * them: SUBMIT_NS DONE_NS R|W LBN COUNT, times of the host, LBNs of 512 bytes. Printed, a
 * line each: PREDICTED ERROR TURNS, the time from DONE_NS of the command before to this
 * one's as predicted, how much later it came than predicted, whole turns left out, and
 * how many of these, in ns; "-" for one of which nothing could be predicted: before the
 * phase is believed, or behind one that was not mechanical.
 */
#include "disk_model.h"
#include "core/head.h"
#include "tools/model/model_text.h"
#include "../sim/sim_file.h"

#define JDG_LINE 128

/* A line read */
struct jdg_command {
	u64 submit_ns;	/* when it was sent */
	u64 done_ns;	/* when it was reported */
	u64 lbn;	/* first sector */
	u32 nsect;	/* sectors */
	bool write;	/* direction */
};

/* Who judges */
struct jdg {
	struct disk_model *dm;	/* the model */
	struct fb_head head;	/* head and phase */
	u64 done_ns;	/* when the command before was reported */
};

static struct disk_model *jdg_model(const char *path)
{
	struct dm_fault err = { 0 };
	struct disk_model *dm;
	size_t len;
	char *text = sim_file_read(path, &len);

	if (fb_model_text_parse(text, len, &dm, &err))
		sim_fail("%s: line %u: %s", path, err.line, err.reason);
	free(text);
	return dm;
}

static void jdg_read(const char *text, unsigned int line, struct jdg_command *c)
{
	unsigned long long submit_ns, done_ns, lbn;
	char way, more;

	if (sscanf(text, "%llu %llu %c %llu %u %c", &submit_ns, &done_ns, &way, &lbn, &c->nsect,
		   &more) != 5 || (way != 'R' && way != 'W') || done_ns < submit_ns)
		sim_fail("line %u is not SUBMIT_NS DONE_NS R|W LBN COUNT", line);
	c->submit_ns = submit_ns;
	c->done_ns = done_ns;
	c->lbn = lbn;
	c->write = way == 'W';
}

/*
 * The command's course, from where the head was: behind another command its overhead is
 * hidden, at an idle drive the arm moves when it has been taken in.
 */
static bool jdg_predict(struct jdg *j, const struct jdg_command *c, u64 *start_ns,
			struct dm_access *acc)
{
	const struct dm_info *info = dm_info(j->dm);
	u64 taken_ns = c->submit_ns + (c->write ? info->write_overhead_ns :
				       info->read_overhead_ns);
	struct dm_place from;

	*start_ns = max(taken_ns, j->head.known ? j->head.at_ns : 0);
	return fb_head_now(&j->head, *start_ns, &from) &&
	       !dm_access(j->dm, &from, c->lbn, c->nsect, c->write, acc);
}

/* Without a prediction the end is that of the last sector, if that is mapped. */
static bool jdg_end(const struct jdg *j, const struct jdg_command *c, struct dm_access *acc)
{
	u64 last = c->lbn + c->nsect - 1;
	struct dm_place place;

	return !dm_place_of(j->dm, last, &place) &&
	       !dm_access(j->dm, &place, last, 1, false, acc);
}

static void jdg_command(struct jdg *j, const struct jdg_command *c)
{
	const struct dm_info *info = dm_info(j->dm);
	u32 report_ns = c->write ? info->write_report_ns : info->read_report_ns;
	struct fb_head_end end;
	struct dm_access acc;
	u64 start_ns, media_ns = 0, transfer_ns = 0;
	bool known = jdg_predict(j, c, &start_ns, &acc);

	if (known) {
		media_ns = start_ns + acc.total_ns;
		transfer_ns = acc.total_ns - acc.seek_ns - acc.latency_ns;
	} else if (!jdg_end(j, c, &acc)) {
		/* behind an extent that is not mapped the head is unknown */
		fb_head_lose(&j->head);
		puts("-");
		j->done_ns = c->done_ns;
		return;
	}
	fb_head_complete(&j->head, c->done_ns, &acc.end, media_ns, known ? start_ns : c->submit_ns,
			 transfer_ns, c->write, &end);
	if (known) {
		s64 late_ns = c->done_ns - report_ns - media_ns;
		s64 turn_ns = dm_period_ns(j->dm);
		s64 turns = (late_ns + (late_ns < 0 ? -turn_ns : turn_ns) / 2) / turn_ns;

		printf("%lld %lld %lld\n", (long long)(media_ns + report_ns - j->done_ns),
		       (long long)(late_ns - turns * turn_ns), (long long)turns);
	} else {
		puts("-");
	}
	j->done_ns = c->done_ns;
}

int main(int argc, char **argv)
{
	struct jdg_command c;
	char text[JDG_LINE];
	unsigned int line;
	struct jdg j = { 0 };
	u64 sectors;

	if (argc != 2)
		sim_usage("usage: freeblock-judge MODEL < COMMANDS");
	j.dm = jdg_model(argv[1]);
	sectors = dm_info(j.dm)->sectors;
	fb_head_init(&j.head, j.dm);
	for (line = 1; fgets(text, sizeof(text), stdin); line++) {
		jdg_read(text, line, &c);
		if (!c.nsect || c.lbn >= sectors || c.nsect > sectors - c.lbn)
			sim_fail("line %u: the model has no such LBNs", line);
		jdg_command(&j, &c);
	}
	dm_free(j.dm);
	return fflush(stdout) ? 1 : 0;
}
