// SPDX-License-Identifier: GPL-2.0
/*
 * A foreground that was recorded; see sim_trace.h.
 */
#include <math.h>

#include "sim_trace.h"
#include "sim_file.h"

#define SIM_TRACE_MAX_MS 1e10	/* as the longest run */

/* Where the reader is */
struct sim_trace_at {
	const char *path;	/* file */
	u32 line;	/* line, from 1 */
	u64 sectors;	/* of the disk */
	u32 physical;	/* in one of its blocks */
	u32 most;	/* longest request, sectors */
};

static void sim_trace_check(const struct sim_trace_at *at, const struct sim_trace_req *req,
			    u64 before_ns)
{
	if (req->ns < before_ns)
		sim_fail("%s:%u: earlier than the request before", at->path, at->line);
	if (!req->nsect || req->nsect > at->most)
		sim_fail("%s:%u: %u sectors, not 1 to %u", at->path, at->line, req->nsect,
			 at->most);
	if (req->lbn >= at->sectors || req->nsect > at->sectors - req->lbn)
		sim_fail("%s:%u: sectors %llu to %llu are beyond the disk's %llu", at->path,
			 at->line, (unsigned long long)req->lbn,
			 (unsigned long long)(req->lbn + req->nsect - 1),
			 (unsigned long long)at->sectors);
	if (req->lbn % at->physical || req->nsect % at->physical)
		sim_fail("%s:%u: not whole blocks of the disk, %u sectors", at->path, at->line,
			 at->physical);
}

/* one line, without its end and comment; false: it is empty */
static bool sim_trace_line(const struct sim_trace_at *at, const char *text,
			   struct sim_trace_req *req)
{
	unsigned long long lbn;
	double ms;
	char way;
	int end;

	text += strspn(text, " \t\r");
	if (!*text)
		return false;
	if (sscanf(text, "%lf %19llu %9u %c %n", &ms, &lbn, &req->nsect, &way, &end) != 4 ||
	    text[end] || strpbrk(text, "-+") || (way != 'R' && way != 'W'))
		sim_fail("%s:%u: not MILLISECONDS LBN SECTORS R|W: '%s'", at->path, at->line, text);
	if (!(ms <= SIM_TRACE_MAX_MS))
		sim_fail("%s:%u: %g ms are more than %g", at->path, at->line, ms, SIM_TRACE_MAX_MS);
	req->ns = llround(ms * 1e6);
	req->lbn = lbn;
	req->write = way == 'W';
	return true;
}

static void sim_trace_add(struct sim_trace *t, const struct sim_trace_req *req)
{
	/* twice as many whenever it has become a power of two */
	if (!(t->n & (t->n - 1)))
		t->req = realloc(t->req, (t->n ? 2 * t->n : 1) * sizeof(*req));
	if (!t->req)
		sim_fail("out of memory");
	t->req[t->n++] = *req;
	t->longest = max(t->longest, req->nsect);
	t->writes |= req->write;
}

void sim_trace_read(struct sim_trace *t, const char *path, u64 sectors, u32 physical,
		    u32 most_sectors)
{
	struct sim_trace_at at = { path, 0, sectors, physical, most_sectors };
	struct sim_trace_req req;
	char *text, *line, *end;
	u64 before_ns = 0;
	size_t len;

	memset(t, 0, sizeof(*t));
	text = sim_file_read(path, &len);
	text[len] = 0;
	if (strlen(text) != len)
		sim_fail("%s: a byte 0: not a text", path);
	for (line = text; line; line = end) {
		at.line++;
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		line[strcspn(line, "#")] = 0;
		if (!sim_trace_line(&at, line, &req))
			continue;
		sim_trace_check(&at, &req, before_ns);
		sim_trace_add(t, &req);
		before_ns = req.ns;
	}
	if (!t->n)
		sim_fail("%s: no requests", path);
	free(text);
}

void sim_trace_free(struct sim_trace *t)
{
	free(t->req);
}
