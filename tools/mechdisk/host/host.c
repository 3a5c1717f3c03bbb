// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive in user space: command line and what the subcommands
 * share.
 */
#include "host.h"

#define MDH_TEXT_MAX (64 * 1024 * 1024)

static const char mdh_usage[] =
	"usage: mechdisk-host replay DRIVE < COMMANDS\n"
	"       mechdisk-host queue DRIVE [--policy fcfs|look|clook|sstf|sptf]\n"
	"           [--closed] [--skip N] [--details] < COMMANDS\n"
	"       mechdisk-host locate DRIVE < LBNS\n"
	"       mechdisk-host moves DRIVE < CYLINDERS\n"
	"       mechdisk-host info DRIVE\n"
	"       mechdisk-host loop DRIVE [--policy fcfs|clook|sstf|sptf] [--depth N]\n"
	"           [--think-ns N] [--bus-ns N] [--requests N] [--seed N]\n"
	"       mechdisk-host probe DRIVE [--host-ns N] [--host-jitter-ns N]\n"
	"           [--seed N]\n"
	"loop without --policy: the drive's own.\n"
	"Each takes --set LINE: a line appended to DRIVE's description.\n"
	"COMMANDS: a line each, R|W|V LBN COUNT WAIT_NS; WAIT_NS passes between\n"
	"the report of the command before and this one.  Printed: the time from\n"
	"submission to report, ns.\n"
	"queue keeps them in the driver, one at the drive, and prints what their\n"
	"times come to, as JSON, without the first --skip; their WAIT_NS is the time\n"
	"of arrival, with --closed the least time from the arrival of the one before,\n"
	"which has then ended.  --details prints a line each, in the order of service:\n"
	"NUMBER ARRIVAL START END, ns.\n"
	"LBNS: one per line.  Printed: LBN ZONE CYLINDER HEAD SECTOR\n"
	"SECTORS_PER_TRACK ANGLE, the last in turns.\n"
	"CYLINDERS: one distance per line.  Printed: ns of a read, a read with a head\n"
	"switch, a write, a write with a head switch.\n"
	"probe speaks with freeblock extract (tools/probe/probe_protocol.h); its\n"
	"--seed is the drive's: of angle, noise and jitter.\n";

static const char *const mdh_policies[] = {
	[MDH_FCFS] = "fcfs",
	[MDH_SPTF] = "sptf",
	[MDH_CLOOK] = "clook",
	[MDH_SSTF] = "sstf",
	[MDH_LOOK] = "look",
};

void mdh_die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mechdisk-host: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* The file's text with @extra after it; to be freed. */
static char *mdh_read(const char *path, const char *extra, size_t *len)
{
	FILE *f = fopen(path, "r");
	size_t room = 1 << 16, n;
	char *text = NULL;

	if (!f)
		mdh_die("%s: %s", path, strerror(errno));
	*len = 0;
	do {
		room *= 2;
		if (room > MDH_TEXT_MAX)
			mdh_die("%s: longer than any description", path);
		text = realloc(text, room);
		if (!text)
			mdh_die("out of memory");
		n = fread(text + *len, 1, room - *len, f);
		*len += n;
	} while (*len == room);
	if (ferror(f))
		mdh_die("%s: %s", path, strerror(errno));
	fclose(f);
	text = realloc(text, *len + strlen(extra) + 1);
	if (!text)
		mdh_die("out of memory");
	memcpy(text + *len, extra, strlen(extra));
	*len += strlen(extra);
	return text;
}

struct mdh_drive *mdh_open(const struct mdh_options *o)
{
	struct mdh_drive *d = calloc(1, sizeof(*d));
	struct mdt_error err = { 0 };
	size_t len;
	char *text;
	int ret;

	if (!d)
		mdh_die("out of memory");
	text = mdh_read(o->drive, o->text, &len);
	ret = mdt_parse(text, len, &d->cfg, &err);
	if (ret == -ENOMEM)
		mdh_die("out of memory");
	if (ret && err.line)
		mdh_die("%s: line %u: %s", o->drive, err.line, err.reason);
	if (ret)
		mdh_die("%s: %s", o->drive, err.reason);
	free(text);
	mde_init(&d->mde, &d->cfg, 0);
	return d;
}

void mdh_close(struct mdh_drive *d)
{
	mdt_free(&d->cfg);
	free(d);
}

static void mdh_drain(struct mdh_drive *d)
{
	int slot;

	while ((slot = mde_started(&d->mde)) >= 0)
		if (d->began)
			d->began(d, &d->mde.slot[slot]);
}

int mdh_submit(struct mdh_drive *d, enum mde_op op, u64 lbn, u32 count, u32 flags)
{
	int slot;

	mde_advance(&d->mde, d->now);
	mdh_drain(d);
	slot = mde_submit(&d->mde, d->now, op, lbn, count, flags);
	if (slot < 0)
		mdh_die("the drive's queue is full");
	return slot;
}

int mdh_wait(struct mdh_drive *d, u64 until)
{
	int slot;

	while ((slot = mde_due(&d->mde, d->now)) < 0) {
		u64 next = mde_next_event(&d->mde);

		if (d->now >= until)
			return -1;
		d->now = max(d->now, min(next, until));
		mde_advance(&d->mde, d->now);
		mdh_drain(d);
	}
	return slot;
}

static u64 mdh_number(const char *name, const char *value, u64 least, u64 most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno || *end || *value < '0' || *value > '9' || n < least || n > most)
		mdh_die("%s %s: not a number from %llu to %llu", name, value,
			(unsigned long long)least, (unsigned long long)most);
	return n;
}

static enum mdh_policy mdh_policy_named(const char *value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mdh_policies); i++)
		if (mdh_policies[i] && !strcmp(mdh_policies[i], value))
			return i;
	mdh_die("--policy %s: no such policy", value);
}

/* Lines given with --set come after the description and so override it. */
static void mdh_append(struct mdh_options *o, const char *line)
{
	size_t used = strlen(o->text);
	int n = snprintf(o->text + used, sizeof(o->text) - used, "\n%s\n", line);

	if (n < 0 || used + n >= sizeof(o->text))
		mdh_die("--set: more than %zu characters", sizeof(o->text));
}

void mdh_set_policy(struct mdh_options *o)
{
	char line[64];

	snprintf(line, sizeof(line), "firmware %s", mdh_policies[o->policy]);
	mdh_append(o, line);
}

void mdh_set_seed(struct mdh_options *o)
{
	char line[64];

	snprintf(line, sizeof(line), "seed %llu", (unsigned long long)o->seed);
	mdh_append(o, line);
}

static void mdh_option(struct mdh_options *o, const char *name, const char *value)
{
	char line[64];

	if (!strcmp(name, "--set")) {
		mdh_append(o, value);
	} else if (!strcmp(name, "--policy")) {
		o->policy = mdh_policy_named(value);
		o->policy_given = true;
	} else if (!strcmp(name, "--depth")) {
		o->depth = mdh_number(name, value, 1, MDE_SLOTS);
	} else if (!strcmp(name, "--think-ns")) {
		o->think_ns = mdh_number(name, value, 0, 1000 * NSEC_PER_SEC);
	} else if (!strcmp(name, "--bus-ns")) {
		snprintf(line, sizeof(line), "bus_ns %llu", (unsigned long long)
			 mdh_number(name, value, 0, NSEC_PER_SEC));
		mdh_append(o, line);
	} else if (!strcmp(name, "--requests")) {
		o->requests = mdh_number(name, value, 1, 1000 * 1000 * 1000);
	} else if (!strcmp(name, "--seed")) {
		o->seed = mdh_number(name, value, 1, U64_MAX);
		o->seeded = true;
	} else if (!strcmp(name, "--host-ns")) {
		o->host_ns = mdh_number(name, value, 0, NSEC_PER_SEC);
	} else if (!strcmp(name, "--host-jitter-ns")) {
		o->host_jitter_ns = mdh_number(name, value, 0, NSEC_PER_SEC);
	} else if (!strcmp(name, "--skip")) {
		o->skip = mdh_number(name, value, 0, 1000 * 1000 * 1000);
	} else {
		mdh_die("%s: no such option\n%s", name, mdh_usage);
	}
}

/* An option without a value; false if it is none. */
static bool mdh_flag(struct mdh_options *o, const char *name)
{
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "--details", &o->details },
		{ "--closed", &o->closed },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (!strcmp(name, flags[i].name)) {
			*flags[i].flag = true;
			return true;
		}
	return false;
}

static void mdh_options(struct mdh_options *o, int argc, char **argv)
{
	int i;

	o->drive = argv[2];
	for (i = 3; i < argc; i++) {
		if (mdh_flag(o, argv[i]))
			continue;
		if (i + 1 == argc)
			mdh_die("%s: lacks its value\n%s", argv[i], mdh_usage);
		mdh_option(o, argv[i], argv[i + 1]);
		i++;
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const struct mdh_options *options);
	} command[] = {
		{ "replay", mdh_replay },
		{ "queue", mdh_queue },
		{ "locate", mdh_locate },
		{ "moves", mdh_moves },
		{ "info", mdh_info },
		{ "loop", mdh_loop },
		{ "probe", mdh_probe },
	};
	struct mdh_options o = {
		.policy = MDH_SPTF, .depth = 1, .requests = 20000, .seed = 1,
		.host_ns = 10000,
	};
	size_t i;

	if (argc < 3) {
		fputs(mdh_usage, argc == 2 && !strcmp(argv[1], "--help") ?
				 stdout : stderr);
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	mdh_options(&o, argc, argv);
	for (i = 0; i < ARRAY_SIZE(command); i++)
		if (!strcmp(argv[1], command[i].name))
			return command[i].run(&o);
	mdh_die("%s: no such subcommand\n%s", argv[1], mdh_usage);
}
