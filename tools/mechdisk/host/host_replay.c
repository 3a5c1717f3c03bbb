// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of standard input, one outstanding; and where LBNs live.
 */
#include "host.h"

#include <ctype.h>

/* The next number of a line; @at moves past it. */
static bool mdh_next_number(char **at, u64 *n)
{
	char *end;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*n = strtoull(*at, &end, 10);
	*at = end;
	return !errno && (!*end || isspace((unsigned char)*end));
}

static bool mdh_at_end(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return !*at;
}

/* NULL, or why the drive cannot be given a command. */
static const char *mdh_check_line(const struct mdh_drive *d, const struct mdh_line *l)
{
	if (!l->count)
		return "no sectors";
	if (l->count > U32_MAX)
		return "more than 4294967295 sectors";
	if (l->lbn >= d->cfg.sectors || l->count > d->cfg.sectors - l->lbn)
		return "beyond the drive's last LBN";
	if (l->ns > MDH_CLOCK_NS || d->now + l->ns > MDH_CLOCK_NS)
		return "beyond the clock's 106 days";
	return NULL;
}

/* NULL, or what is wrong with the line. */
static const char *mdh_parse_line(const struct mdh_drive *d, char *text,
				  struct mdh_line *l)
{
	char *at = text + 1;

	switch (*text) {
	case 'R':
		l->op = MDE_READ;
		break;
	case 'W':
		l->op = MDE_WRITE;
		break;
	case 'V':
		l->op = MDE_VERIFY;
		break;
	default:
		return "does not begin with R, W or V";
	}
	if (!mdh_next_number(&at, &l->lbn) || !mdh_next_number(&at, &l->count) ||
	    !mdh_next_number(&at, &l->ns) || !mdh_at_end(at))
		return "not R|W|V LBN COUNT and a time in ns";
	return mdh_check_line(d, l);
}

bool mdh_read_line(const struct mdh_drive *d, unsigned int *number,
		   struct mdh_line *l)
{
	const char *wrong;
	char text[256];

	if (!fgets(text, sizeof(text), stdin)) {
		if (ferror(stdin))
			mdh_die("standard input: %s", strerror(errno));
		return false;
	}
	++*number;
	wrong = mdh_parse_line(d, text, l);
	if (wrong)
		mdh_die("standard input: line %u: %s", *number, wrong);
	return true;
}

static void mdh_replay_one(struct mdh_drive *d, const struct mdh_line *l)
{
	u64 submitted = d->now + l->ns;
	int slot;

	/* What the drive does by itself meanwhile happens in due time. */
	mdh_wait(d, submitted);
	mdh_submit(d, l->op, l->lbn, l->count, 0);
	slot = mdh_wait(d, MDE_NEVER);
	printf("%llu\n", (unsigned long long)(d->now - submitted));
	mde_release(&d->mde, slot);
}

int mdh_replay(const struct mdh_options *o)
{
	struct mdh_drive *d = mdh_open(o);
	unsigned int number = 0;
	struct mdh_line l;

	while (mdh_read_line(d, &number, &l))
		mdh_replay_one(d, &l);
	mdh_close(d);
	return 0;
}

int mdh_locate(const struct mdh_options *o)
{
	struct mdh_drive *d = mdh_open(o);
	unsigned int number = 0;
	struct mdl_piece p;
	char text[256];
	char *at;
	u64 lbn;

	while (fgets(text, sizeof(text), stdin)) {
		number++;
		at = text;
		if (!mdh_next_number(&at, &lbn) || !mdh_at_end(at))
			mdh_die("standard input: line %u: not an LBN", number);
		if (lbn >= d->cfg.sectors)
			mdh_die("standard input: line %u: beyond the drive's last LBN",
				number);
		mdl_locate(&d->cfg, lbn, 1, &p);
		printf("%llu %u %u %u %u %u %.12f\n", (unsigned long long)lbn,
		       p.zone, p.cyl, p.head, p.sector, p.spt,
		       p.angle / 18446744073709551616.0);
	}
	mdh_close(d);
	return 0;
}

int mdh_moves(const struct mdh_options *o)
{
	struct mdh_drive *d = mdh_open(o);
	unsigned int cyls;
	int way;

	while (scanf("%u", &cyls) == 1)
		for (way = 0; way < 4; way++)
			printf("%.3f%c", mdm_move_ps(&d->cfg, cyls, way & 1, way >> 1) / 1e3,
			       way < 3 ? ' ' : '\n');
	mdh_close(d);
	return 0;
}

int mdh_info(const struct mdh_options *o)
{
	struct mdh_drive *d = mdh_open(o);

	printf("{\"sectors\": %llu, ", (unsigned long long)d->cfg.sectors);
	printf("\"cylinders\": %llu, ", (unsigned long long)d->cfg.cylinders);
	printf("\"heads\": %llu, ", (unsigned long long)d->cfg.heads);
	printf("\"zones\": %u, ", d->cfg.zones);
	printf("\"turn_ps\": %llu}\n", (unsigned long long)d->mde.mech.period);
	mdh_close(d);
	return 0;
}
