// SPDX-License-Identifier: GPL-2.0
/*
 * Errors and files; see sim_file.h.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "../../../include/fb_shim.h"
#include "sim_file.h"

#define SIM_FILE_MAX (16 * 1024 * 1024)	/* bytes: no text that is read here is longer */

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
