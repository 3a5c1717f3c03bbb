// SPDX-License-Identifier: GPL-2.0
/*
 * Errors and files; see sim_file.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <libgen.h>
#include <sys/stat.h>

#include "../../include/fb_shim.h"
#include "sim_file.h"

#define SIM_FILE_MAX (16 * 1024 * 1024)	/* bytes: no text that is read here is longer */

/* A file being written */
struct sim_file_out {
	FILE *file;	/* open */
	char *path;	/* its name, for messages */
	/* what it is to replace, with no link on the way; NULL: it is written as it is */
	char *place;
	char *part;	/* its name until it is complete; NULL with @place */
};

static noreturn void sim_file_end(int status, const char *fmt, va_list args)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	exit(status);
}

void sim_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	sim_file_end(1, fmt, args);
}

void sim_usage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	sim_file_end(2, fmt, args);
}

char *sim_file_read(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text;

	if (!f)
		sim_fail("%s: %s", path, strerror(errno));
	text = malloc(SIM_FILE_MAX);
	if (!text)
		sim_fail("out of memory");
	*len = fread(text, 1, SIM_FILE_MAX, f);
	if (ferror(f))
		sim_fail("%s: %s", path, strerror(errno));
	if (*len == SIM_FILE_MAX)
		sim_fail("%s: too long", path);
	fclose(f);
	text = realloc(text, *len + 1);
	if (!text)
		sim_fail("out of memory");
	return text;
}

static char *sim_file_join(const char *a, const char *b)
{
	char *both;

	if (asprintf(&both, "%s%s", a, b) < 0)
		sim_fail("out of memory");
	return both;
}

/* the file that a name leads to, which need not be there but for its folder; NULL: none can be */
static char *sim_file_place(const char *path)
{
	char *place = realpath(path, NULL), *copy, *folder, *start;

	if (place || errno != ENOENT)
		return place;
	/* basename() and dirname() change what they are given */
	copy = sim_file_join(path, "");
	folder = realpath(dirname(copy), NULL);
	free(copy);
	if (!folder)
		return NULL;
	copy = sim_file_join(path, "");
	start = sim_file_join(folder, "/");
	place = sim_file_join(start, basename(copy));
	free(start);
	free(copy);
	free(folder);
	return place;
}

/* a device or a pipe has no contents that could be replaced */
static bool sim_file_is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

struct sim_file_out *sim_file_create(const char *path)
{
	struct sim_file_out *out = calloc(1, sizeof(*out));

	if (!out)
		sim_fail("out of memory");
	out->path = sim_file_join(path, "");
	if (!sim_file_is_special(path)) {
		out->place = sim_file_place(path);
		if (!out->place)
			sim_fail("%s: %s", path, strerror(errno));
		out->part = sim_file_join(out->place, ".part");
	}
	out->file = fopen(out->part ? out->part : path, "w");
	if (!out->file)
		sim_fail("%s%s: %s", path, out->part ? ".part" : "", strerror(errno));
	return out;
}

static noreturn void sim_file_lose(struct sim_file_out *out)
{
	int err = errno;

	if (out->part)
		remove(out->part);
	sim_fail("%s: %s", out->path, strerror(err));
}

void sim_file_print(struct sim_file_out *out, const char *fmt, ...)
{
	va_list args;
	int printed;

	va_start(args, fmt);
	printed = vfprintf(out->file, fmt, args);
	va_end(args);
	/* at once: a disk that is full for a while would take what comes after */
	if (printed < 0)
		sim_file_lose(out);
}

void sim_file_finish(struct sim_file_out *out)
{
	if (fclose(out->file) || (out->part && rename(out->part, out->place)))
		sim_file_lose(out);
	free(out->part);
	free(out->place);
	free(out->path);
	free(out);
}

bool sim_file_same(const char *a, const char *b)
{
	char *one = sim_file_place(a), *other = sim_file_place(b);
	bool same = one && other && !strcmp(one, other) && !sim_file_is_special(a);

	free(one);
	free(other);
	return same;
}
