// SPDX-License-Identifier: GPL-2.0
/*
 * array_scrub - compare the members of an md array, read in the background by freeblock
 * (Documentation/examples.rst). It never writes to the array or to a member.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <freeblock/freeblock.h>

#include "array.h"
#include "compare.h"
#include "refusal.h"
#include "report.h"
#include "second.h"
#include "state.h"
#include "suspend.h"
#include "window.h"

#define MEMORY_MIB 64
#define MEMORY_MIB_MAX 65536
#define TICK_MS 1000
#define SAVE_TICKS 10
#define NSEC 1000000000ull

enum { EXIT_MISMATCH = 3, EXIT_NOT_COMPARED = 4 };

static struct {
	const char *path;
	const char *state;
	uint64_t rate;		/* KiB/s of each member; 0: as it comes */
	uint64_t memory;	/* MiB */
	unsigned int interval;	/* s between lines of progress; 0: none */
	bool json;
} options = { .memory = MEMORY_MIB, .interval = 10 };

struct scrub {
	struct array array;
	struct fb_task *tasks[GEOMETRY_DISKS_MAX];
	struct windows windows;
	struct findings findings;
	struct second second;
	struct report report;
	uint64_t began_ns;
	uint64_t open_at_ns;	/* when the rate allows the next window */
	uint64_t nr_done;	/* windows that were done when it began */
	unsigned int ticks;
	uint64_t taken_at_tick;
	bool unsafe;		/* what was found is not all of what was done: no saving */
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC + now.tv_nsec;
}

/* -1; the words are in the report */
static int fail(struct scrub *scrub, const char *format, const char *first, const char *second)
{
	static char words[1024];

	snprintf(words, sizeof(words), format, first, second);
	scrub->report.error = words;
	return -1;
}

/* ---- windows ---- */

/* Want a window's sectors of one member, from and to a boundary of its blocks */
static int want(struct scrub *scrub, unsigned int member, const struct window *window)
{
	const struct fb_task_geometry *geometry = fb_geometry(scrub->tasks[member]);
	uint64_t first, end, over;

	first = scrub->array.members[member].offset + window->number * scrub->windows.length;
	end = first + window->sectors;
	over = (geometry->start_sector + end) % geometry->granule_sectors;
	if (over)
		end += geometry->granule_sectors - over;
	if (end > geometry->sectors)
		end = geometry->sectors;
	if (fb_want(scrub->tasks[member], first, end - first, window->number, 0))
		return fail(scrub, "%s: %s", scrub->array.members[member].name, fb_error());
	return 0;
}

/* Open as many as may be open, and the rate allows */
static int open_windows(struct scrub *scrub)
{
	uint64_t now = now_ns();
	struct window *window;
	bool no_memory;
	unsigned int i;

	while (!options.rate || now >= scrub->open_at_ns) {
		window = windows_open(&scrub->windows, &no_memory);
		if (no_memory)
			return fail(scrub, "%s%s", "no memory for a window", "");
		if (!window)
			break;
		for (i = 0; i < scrub->array.n; i++)
			if (want(scrub, i, window))
				return -1;
		if (!options.rate)
			continue;
		/* what was not used up to a second ago is lost */
		if (scrub->open_at_ns + NSEC < now)
			scrub->open_at_ns = now - NSEC;
		scrub->open_at_ns += window->sectors * NSEC / 2 / options.rate;
	}
	return 0;
}

/* A unit of a window, by member */
static void blocks_of(const struct scrub *scrub, const struct window *window, uint64_t sector,
		      const unsigned char **blocks)
{
	unsigned int i;

	for (i = 0; i < scrub->array.n; i++)
		blocks[i] = window_block(window, i, sector);
}

/* Compare units that differed again: [@first, @end) of a window */
static int again(struct scrub *scrub, const struct window *window, uint64_t first, uint64_t end)
{
	uint64_t base = window->number * scrub->windows.length;

	if (first == end || !second_compare(&scrub->second, base + first, end - first,
					    &scrub->findings))
		return 0;
	scrub->unsafe = true;
	if (errno)
		return fail(scrub, "%s: writes cannot be suspended: %s", scrub->array.name,
			    strerror(errno));
	return fail(scrub, "%s%s", refusal(), "");
}

/* All of a window has come */
static int compare_window(struct scrub *scrub, struct window *window)
{
	uint64_t base = window->number * scrub->windows.length, sector, first = 0, end = 0;
	const unsigned char *blocks[GEOMETRY_DISKS_MAX];

	for (sector = 0; sector < window->sectors; sector += WINDOW_UNIT) {
		uint64_t left = window->sectors - sector;
		uint64_t sectors = left < WINDOW_UNIT ? left : WINDOW_UNIT;
		unsigned int lacks = window->lacks[sector / WINDOW_UNIT];

		if (lacks) {
			struct finding found = {
				.first = base + sector, .sectors = sectors,
				.kind = FINDING_UNREADABLE,
				.slot = scrub->array.members[lacks - 1].slot,
			};

			compare_note(&scrub->findings, found);
			continue;
		}
		blocks_of(scrub, window, sector, blocks);
		if (compare_agree(&scrub->array, base + sector, blocks, sectors * 512))
			continue;
		if (end != sector || sector + sectors - first > SECOND_SECTORS) {
			if (again(scrub, window, first, end))
				return -1;
			first = sector;
		}
		end = sector + sectors;
	}
	if (again(scrub, window, first, end))
		return -1;
	windows_close(&scrub->windows, window, true);
	return 0;
}

/* ---- members ---- */

static int take(struct scrub *scrub, unsigned int member, const struct fb_record *record)
{
	struct window *window = windows_find(&scrub->windows, record->user_data);
	int64_t first = record->first - scrub->array.members[member].offset;

	if (!window)
		return 0;
	scrub->report.taken += record->sectors;
	if (!window_take(&scrub->windows, window, member, first, record->sectors,
			 record->status == FB_OK ? record->data : NULL))
		return 0;
	return compare_window(scrub, window);
}

/* All that a member has ready */
static int take_all(struct scrub *scrub, unsigned int member)
{
	const struct fb_record *record;
	int found = 0;

	while (!stopped && (found = fb_next(scrub->tasks[member], &record, 0)) > 0)
		if (take(scrub, member, record))
			return -1;
	if (stopped || (found < 0 && (errno == ETIMEDOUT || errno == EINTR)))
		return 0;
	if (!found)
		return fail(scrub, "%s: %s", scrub->array.members[member].name,
			    "the task has ended too soon");
	return fail(scrub, "%s: %s", scrub->array.members[member].name, fb_error());
}

/* Why nothing has come since the last tick, or NULL */
static const char *waiting(struct scrub *scrub)
{
	static char words[256];
	unsigned int i;

	if (scrub->taken_at_tick != scrub->report.taken)
		return NULL;
	for (i = 0; i < scrub->array.n; i++) {
		struct fb_task_progress progress = { .size = sizeof(progress) };

		if (fb_progress(scrub->tasks[i], &progress) || progress.done == progress.total)
			continue;
		snprintf(words, sizeof(words), "%s: %s", scrub->array.members[i].name,
			 fb_waiting_for(progress.waiting_for));
		return words;
	}
	return NULL;
}

static int save(struct scrub *scrub)
{
	if (!options.state || scrub->unsafe ||
	    !state_save(options.state, &scrub->array, &scrub->windows, &scrub->findings))
		return 0;
	return fail(scrub, "%s: %s", options.state, strerror(errno));
}

/* Once a second */
static int tick(struct scrub *scrub)
{
	uint64_t now = now_ns();

	if (now - scrub->began_ns < (scrub->ticks + 1) * (TICK_MS * 1000000ull))
		return 0;
	scrub->ticks = (now - scrub->began_ns) / (TICK_MS * 1000000ull);
	scrub->report.seconds = (now - scrub->began_ns) / 1e9;
	if (array_changed(&scrub->array))
		return fail(scrub, "%s%s", refusal(), "");
	if (options.interval && scrub->ticks % options.interval == 0) {
		report_progress(&scrub->report, scrub->nr_done, waiting(scrub));
		scrub->taken_at_tick = scrub->report.taken;
	}
	return scrub->ticks % SAVE_TICKS ? 0 : save(scrub);
}

/* How long to sleep if no block comes */
static int patience(const struct scrub *scrub)
{
	uint64_t now = now_ns();

	if (!options.rate || scrub->open_at_ns <= now || scrub->open_at_ns > now + NSEC)
		return TICK_MS;
	return (scrub->open_at_ns - now) / 1000000 + 1;
}

static int run(struct scrub *scrub)
{
	struct pollfd ready[GEOMETRY_DISKS_MAX];
	unsigned int i;

	for (i = 0; i < scrub->array.n; i++)
		ready[i] = (struct pollfd){ .fd = fb_fd(scrub->tasks[i]), .events = POLLIN };
	while (!stopped) {
		if (open_windows(scrub))
			return -1;
		for (i = 0; i < scrub->array.n; i++)
			if (take_all(scrub, i))
				return -1;
		if (scrub->windows.nr_done == scrub->windows.n)
			return 0;
		if (tick(scrub) || open_windows(scrub))
			return -1;
		poll(ready, scrub->array.n, patience(scrub));
	}
	return 0;
}

/* ---- begin and end ---- */

static int open_member(struct scrub *scrub, unsigned int member, uint64_t *multiple)
{
	const struct array_member *about = &scrub->array.members[member];
	struct fb_options how = { .size = sizeof(how), .flags = FB_KEEP, .name = "array_scrub" };
	const struct fb_task_geometry *geometry;
	char path[ARRAY_NAME + 8];

	snprintf(path, sizeof(path), "/dev/%s", about->name);
	scrub->tasks[member] = fb_open(path, &how);
	if (!scrub->tasks[member])
		return fail(scrub, "%s%s", fb_error(), "");
	geometry = fb_geometry(scrub->tasks[member]);
	if ((geometry->start_sector + about->offset) % geometry->granule_sectors)
		return fail(scrub, "%s: %s", path, "its data begin within a block");
	while (*multiple % geometry->granule_sectors)
		*multiple += WINDOW_UNIT;
	return 0;
}

static int begin_windows(struct scrub *scrub, uint64_t multiple)
{
	uint64_t bytes = options.memory << 20, length;
	int found = 0;

	if (options.state)
		found = state_load(options.state, &scrub->array, &scrub->windows, &scrub->findings);
	if (found < 0)
		return fail(scrub, "%s%s", refusal(), "");
	scrub->report.resumed = found;
	scrub->nr_done = scrub->windows.nr_done;
	if (found && !(scrub->windows.length % multiple))
		return 0;
	if (found)
		return fail(scrub, "%s: %s", options.state, "its windows do not fit the blocks");
	/* a second's worth at most, so that a rate is one */
	if (options.rate && bytes > options.rate * 1024 * scrub->array.n * WINDOW_OPEN)
		bytes = options.rate * 1024 * scrub->array.n * WINDOW_OPEN;
	length = windows_length(scrub->array.sectors, scrub->array.n, bytes, multiple);
	if (!length)
		return fail(scrub, "%s%s", "--memory or --rate is not enough", "");
	if (windows_init(&scrub->windows, scrub->array.sectors, scrub->array.n, length))
		return fail(scrub, "%s%s", "no memory", "");
	return 0;
}

static int begin(struct scrub *scrub)
{
	uint64_t multiple = WINDOW_UNIT;
	unsigned int i;

	if (array_read(&scrub->array, options.path))
		return fail(scrub, "%s%s", refusal(), "");
	if (suspend_init(&scrub->array))
		return fail(scrub, "%s: writes cannot be suspended: %s", scrub->array.name,
			    strerror(errno));
	if (second_init(&scrub->second, &scrub->array))
		return fail(scrub, "%s: %s", scrub->array.members[scrub->second.times].name,
			    strerror(errno));
	for (i = 0; i < scrub->array.n; i++)
		if (open_member(scrub, i, &multiple))
			return -1;
	if (begin_windows(scrub, multiple))
		return -1;
	if (scrub->array.skipped[0])
		fprintf(stderr, "%s: skipped: %s\n", scrub->array.name, scrub->array.skipped);
	scrub->began_ns = now_ns();
	scrub->open_at_ns = scrub->began_ns;
	return 0;
}

/* The file is of no use any more when all is done */
static int keep(struct scrub *scrub)
{
	if (scrub->windows.nr_done != scrub->windows.n)
		return save(scrub);
	if (options.state && unlink(options.state) && errno != ENOENT)
		return fail(scrub, "%s: %s", options.state, strerror(errno));
	return 0;
}

static int end(struct scrub *scrub, bool failed)
{
	struct report *report = &scrub->report;
	unsigned int kind, mismatches = 0;
	const uint64_t *sectors = scrub->findings.sectors;

	if (scrub->began_ns) {
		report->seconds = (now_ns() - scrub->began_ns) / 1e9;
		failed |= keep(scrub) < 0;
	}
	report->state = failed ? "failed" : stopped ? "interrupted" : "complete";
	if (failed)
		fprintf(stderr, "array_scrub: %s\n", report->error);
	if (scrub->began_ns)
		(options.json ? report_json : report_text)(report);
	if (failed)
		return EXIT_FAILURE;
	if (stopped)
		return 128 + stopped;
	for (kind = 0; kind < FINDING_KINDS; kind++)
		mismatches |= compare_is_mismatch(kind) && sectors[kind];
	if (mismatches)
		return EXIT_MISMATCH;
	return sectors[FINDING_UNREADABLE] || sectors[FINDING_KNOWN_BAD] ||
	       sectors[FINDING_UNSETTLED] ? EXIT_NOT_COMPARED : EXIT_SUCCESS;
}

static void free_all(struct scrub *scrub)
{
	unsigned int i;

	for (i = 0; i < scrub->array.n; i++)
		fb_close(scrub->tasks[i]);
	windows_exit(&scrub->windows);
	second_exit(&scrub->second);
	suspend_exit();
	free(scrub->findings.list);
}

static void say_usage(FILE *file)
{
	fputs("usage: array_scrub [options] /dev/mdX\n"
	      "Compare the members of an md RAID1, RAID5 or RAID6, read in the background.\n"
	      "  --rate KIB       of each member, per second, at most (0: as it comes)\n"
	      "  --memory MIB     for blocks that wait for those of other members (64)\n"
	      "  --state FILE     go on where this file says; it is kept up to date\n"
	      "  --interval S     between lines of progress (10; 0: none)\n"
	      "  --json           the result as an object\n"
	      "Status: 0 no mismatch; 3 mismatches; 4 not all could be compared; 1 failed;\n"
	      "128 + number of a signal. Nothing is ever written but the file.\n", file);
}

/* 0, or -1: it is no number up to @most */
static int number(const char *text, uint64_t most, uint64_t *value)
{
	char *rest;

	errno = 0;
	*value = strtoull(text, &rest, 10);
	return *text < '0' || *text > '9' || *rest || errno || *value > most ? -1 : 0;
}

/* getopt_long() takes what begins like an option for it: is what it has just found a whole word? */
static bool is_whole(char **argv, const char *name)
{
	const char *word = argv[optind - 1 - (optarg == argv[optind - 1])] + strlen("--");
	size_t len = strlen(name);

	return !strncmp(word, name, len) && (!word[len] || word[len] == '=');
}

static void arguments(int argc, char **argv)
{
	static const struct option known[] = {
		{ "rate", required_argument, NULL, 'r' },
		{ "memory", required_argument, NULL, 'm' },
		{ "state", required_argument, NULL, 's' },
		{ "interval", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	uint64_t seconds = options.interval;
	int option, which, wrong = 0;

	while ((option = getopt_long(argc, argv, "", known, &which)) != -1) {
		if (option != '?' && !is_whole(argv, known[which].name))
			option = '?';
		if (option == 'h') {
			say_usage(stdout);
			exit(EXIT_SUCCESS);
		}
		if (option == 'r')
			wrong |= number(optarg, UINT32_MAX, &options.rate);
		else if (option == 'm')
			wrong |= number(optarg, MEMORY_MIB_MAX, &options.memory);
		else if (option == 'i')
			wrong |= number(optarg, UINT16_MAX, &seconds);
		else if (option == 's')
			options.state = optarg;
		else if (option == 'j')
			options.json = true;
		else
			wrong = -1;
	}
	if (wrong || optind != argc - 1) {
		say_usage(stderr);
		exit(2);
	}
	options.interval = seconds;
	options.path = argv[optind];
}

int main(int argc, char **argv)
{
	static struct scrub scrub;
	struct sigaction stop = { .sa_handler = on_signal };
	int failed, status;

	arguments(argc, argv);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	scrub.report.array = &scrub.array;
	scrub.report.windows = &scrub.windows;
	scrub.report.findings = &scrub.findings;
	scrub.report.second = &scrub.second;
	failed = begin(&scrub) || run(&scrub);
	status = end(&scrub, failed);
	free_all(&scrub);
	return status;
}
