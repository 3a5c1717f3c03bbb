// SPDX-License-Identifier: GPL-2.0
/*
 * array_scrub 1
 * array UUID
 * level 5 layout 2 disks 3 chunk 1024		(chunk: sectors)
 * sectors 123456789 members 3 length 2048	(of each member; of a window)
 * done NUMBER COUNT				(windows)
 * found FIRST SECTORS KIND SLOT
 * counted KIND SECTORS				(with those that have no line of their own)
 * end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refusal.h"
#include "state.h"

/* The lines that say which array it is */
static void identify(const struct array *array, char *out, size_t size)
{
	snprintf(out, size, "array_scrub 1\narray %s\nlevel %u layout %u disks %u chunk %" PRIu64
		 "\n", array->uuid[0] ? array->uuid : array->name, array->geometry.level,
		 array->geometry.layout, array->geometry.disks, array->geometry.chunk);
}

static int take_kind(const char *name, enum finding_kind *kind)
{
	for (*kind = FINDING_NONE + 1; *kind < FINDING_KINDS; (*kind)++)
		if (!strcmp(name, compare_kind_name(*kind)))
			return 0;
	return -1;
}

/* 1: the end; 0; -1: not understood */
static int take_line(const char *line, struct windows *windows, struct findings *findings)
{
	struct finding found;
	uint64_t first, count;
	char kind[16];

	if (!strcmp(line, "end\n"))
		return 1;
	if (sscanf(line, "done %" SCNu64 " %" SCNu64, &first, &count) == 2) {
		if (first > windows->n || count > windows->n - first)
			return -1;
		while (count--)
			windows_mark(windows, first++);
		return 0;
	}
	if (sscanf(line, "found %" SCNu64 " %" SCNu64 " %15s %d", &found.first, &found.sectors,
		   kind, &found.slot) == 4) {
		if (take_kind(kind, &found.kind))
			return -1;
		compare_note(findings, found);
		return 0;
	}
	if (sscanf(line, "counted %15s %" SCNu64, kind, &count) == 2) {
		if (take_kind(kind, &found.kind))
			return -1;
		findings->sectors[found.kind] = count;
		return 0;
	}
	return -1;
}

static int take_file(FILE *file, const char *path, const struct array *array,
		     struct windows *windows, struct findings *findings)
{
	char own[512], line[256], theirs[512] = "";
	uint64_t sectors, length;
	unsigned int members, i;
	int end = 0;

	identify(array, own, sizeof(own));
	for (i = 0; i < 3 && fgets(line, sizeof(line), file); i++)
		strncat(theirs, line, sizeof(theirs) - strlen(theirs) - 1);
	if (strncmp(theirs, "array_scrub 1\n", 14))
		return refuse("%s: no file of this program's", path);
	if (!fgets(line, sizeof(line), file) ||
	    sscanf(line, "sectors %" SCNu64 " members %u length %" SCNu64, &sectors, &members,
		   &length) != 3)
		return refuse("%s: damaged", path);
	if (strcmp(own, theirs) || sectors != array->sectors || members != array->n)
		return refuse("%s: of another array, or of this one as it was before", path);
	if (!length || length % WINDOW_UNIT || windows_init(windows, sectors, members, length))
		return refuse("%s: damaged, or no memory", path);
	while (!end && fgets(line, sizeof(line), file))
		end = take_line(line, windows, findings);
	return end == 1 ? 0 : refuse("%s: damaged or cut short", path);
}

int state_load(const char *path, const struct array *array, struct windows *windows,
	       struct findings *findings)
{
	FILE *file = fopen(path, "re");
	int failed;

	if (!file)
		return errno == ENOENT ? 0 : refuse("%s: %s", path, strerror(errno));
	failed = take_file(file, path, array, windows, findings);
	fclose(file);
	return failed ? -1 : 1;
}

static void put_done(FILE *file, const struct windows *windows)
{
	uint64_t first, end;

	for (first = 0; first < windows->n; first = end + 1) {
		for (end = first; end < windows->n && windows_is_done(windows, end);)
			end++;
		if (end > first)
			fprintf(file, "done %" PRIu64 " %" PRIu64 "\n", first, end - first);
	}
}

static void put_all(FILE *file, const struct array *array, const struct windows *windows,
		    const struct findings *findings)
{
	char own[512];
	size_t i;

	identify(array, own, sizeof(own));
	fprintf(file, "%ssectors %" PRIu64 " members %u length %" PRIu64 "\n", own,
		windows->sectors, windows->members, windows->length);
	put_done(file, windows);
	for (i = 0; i < findings->n; i++)
		fprintf(file, "found %" PRIu64 " %" PRIu64 " %s %d\n", findings->list[i].first,
			findings->list[i].sectors, compare_kind_name(findings->list[i].kind),
			findings->list[i].slot);
	for (i = 1; i < FINDING_KINDS; i++)
		if (findings->sectors[i])
			fprintf(file, "counted %s %" PRIu64 "\n", compare_kind_name(i),
				findings->sectors[i]);
	fputs("end\n", file);
}

static int sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd, failed;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	failed = fsync(fd);
	close(fd);
	return failed;
}

int state_save(const char *path, const struct array *array, const struct windows *windows,
	       const struct findings *findings)
{
	char temporary[PATH_MAX];
	FILE *file;
	int failed;

	if (snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	file = fopen(temporary, "we");
	if (!file)
		return -1;
	put_all(file, array, windows, findings);
	failed = fflush(file) || ferror(file) || fsync(fileno(file));
	failed |= fclose(file);
	if (failed || rename(temporary, path))
		return -1;
	return sync_folder(path);
}
