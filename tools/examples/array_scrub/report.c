// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>

#include "report.h"

#define SHOWN 1000	/* findings in words; the rest is counted */

static uint64_t mismatched(const struct findings *findings)
{
	uint64_t sum = 0;
	unsigned int kind;

	for (kind = 0; kind < FINDING_KINDS; kind++)
		if (compare_is_mismatch(kind))
			sum += findings->sectors[kind];
	return sum;
}

static uint64_t not_compared(const struct findings *findings)
{
	return findings->sectors[FINDING_UNREADABLE] + findings->sectors[FINDING_KNOWN_BAD] +
	       findings->sectors[FINDING_UNSETTLED];
}

void report_progress(const struct report *report, uint64_t nr_done, const char *waiting)
{
	uint64_t all = report->windows->n, done = report->windows->nr_done;
	double kib = report->taken / 2.0 / report->array->n, left = 0;

	if (report->seconds > 0)
		kib /= report->seconds;
	fprintf(stderr, "%s: %.1f %%, %.0f KiB/s of each member, %" PRIu64 " sectors mismatch",
		report->array->name, all ? 100.0 * done / all : 100.0, kib,
		mismatched(report->findings));
	if (done > nr_done) {
		left = report->seconds * (all - done) / (done - nr_done);
		fprintf(stderr, ", %.0f:%02d:%02d left", (double)(uint64_t)(left / 3600),
			(int)((uint64_t)left / 60 % 60), (int)((uint64_t)left % 60));
	}
	fprintf(stderr, "%s%s\n", waiting ? "; waits: " : "", waiting ? waiting : "");
}

/* What a member's sectors are: "data", "P", "Q" or "copy"; @array: their first of the array's */
static const char *role(const struct array *array, const struct finding *finding,
			unsigned int slot, uint64_t *sector, bool *has_sector)
{
	const struct geometry *geometry = &array->geometry;
	struct geometry_row row;
	unsigned int i;

	*has_sector = true;
	*sector = finding->first;
	if (geometry->level == 1)
		return "copy";
	geometry_row(geometry, finding->first / geometry->chunk, &row);
	for (i = 0; i < row.n; i++)
		if (row.data[i] == slot)
			break;
	*has_sector = i < row.n;
	if (!*has_sector)
		return slot == row.p ? "P" : "Q";
	*sector = geometry_array_sector(geometry, &row, i, finding->first);
	return "data";
}

static void text_finding(const struct array *array, const struct finding *finding)
{
	unsigned int i;

	printf("%s: %s, %" PRIu64 " sectors", array->name, compare_kind_name(finding->kind),
	       finding->sectors);
	if (finding->slot >= 0)
		printf(", of slot %d", finding->slot);
	for (i = 0; i < array->n; i++) {
		const struct array_member *member = &array->members[i];
		uint64_t sector;
		bool has;
		const char *what = role(array, finding, member->slot, &sector, &has);

		printf("%s %s sector %" PRIu64 " (%s", i ? "," : ":", member->name,
		       member->offset + finding->first, what);
		if (has)
			printf(" of array sector %" PRIu64, sector);
		printf(")");
	}
	printf("\n");
}

void report_text(const struct report *report)
{
	const struct findings *findings = report->findings;
	size_t i;

	for (i = 0; i < findings->n && i < SHOWN; i++)
		text_finding(report->array, &findings->list[i]);
	if (i < findings->n)
		printf("%s: and %zu more\n", report->array->name, findings->n - i);
	printf("%s: %s: %" PRIu64 " sectors mismatch, %" PRIu64
	       " could not be compared; %" PRIu64 " second comparisons, %" PRIu64
	       " blocks had been written to meanwhile, writes waited %.0f ms at most\n",
	       report->array->name, report->state, mismatched(findings), not_compared(findings),
	       report->second->times, report->second->rewritten,
	       report->second->longest_ns / 1e6);
}

static void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", *text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json_pair(const char *key, const char *text)
{
	printf(",\n  \"%s\": ", key);
	json_string(text);
}

static void json_finding(const struct array *array, const struct finding *finding)
{
	unsigned int i;

	printf("{\"kind\": \"%s\", \"offset\": %" PRIu64 ", \"sectors\": %" PRIu64
	       ", \"slot\": %d, \"members\": [", compare_kind_name(finding->kind), finding->first,
	       finding->sectors, finding->slot);
	for (i = 0; i < array->n; i++) {
		const struct array_member *member = &array->members[i];
		uint64_t sector;
		bool has;
		const char *what = role(array, finding, member->slot, &sector, &has);

		printf("%s{\"slot\": %u, \"device\": \"%s\", \"sector\": %" PRIu64
		       ", \"role\": \"%s\"", i ? ", " : "", member->slot, member->name,
		       member->offset + finding->first, what);
		if (has)
			printf(", \"array_sector\": %" PRIu64, sector);
		printf("}");
	}
	printf("]}");
}

/* A list of those that are mismatches, or of the others */
static void json_list(const struct report *report, const char *key, bool mismatches)
{
	const struct findings *findings = report->findings;
	const char *between = "\n    ";
	size_t i;

	printf(",\n  \"%s\": [", key);
	for (i = 0; i < findings->n; i++) {
		if (compare_is_mismatch(findings->list[i].kind) != mismatches)
			continue;
		printf("%s", between);
		json_finding(report->array, &findings->list[i]);
		between = ",\n    ";
	}
	printf("]");
}

void report_json(const struct report *report)
{
	const struct second *second = report->second;
	const struct array *array = report->array;

	printf("{\n  \"array\": \"%s\",\n  \"level\": %u", array->name, array->geometry.level);
	json_pair("layout", geometry_layout_name(&array->geometry));
	json_pair("state", report->state);
	if (report->error)
		json_pair("error", report->error);
	json_pair("skipped", array->skipped);
	printf(",\n  \"resumed\": %s,\n  \"sectors\": %" PRIu64 ",\n  \"windows\": %" PRIu64
	       ",\n  \"windows_done\": %" PRIu64 ",\n  \"window_sectors\": %" PRIu64,
	       report->resumed ? "true" : "false", array->sectors, report->windows->n,
	       report->windows->nr_done, report->windows->length);
	printf(",\n  \"seconds\": %.3f,\n  \"sectors_read\": %" PRIu64
	       ",\n  \"second_comparisons\": %" PRIu64 ",\n  \"rewritten_units\": %" PRIu64
	       ",\n  \"suspended_ms\": %.3f,\n  \"longest_suspension_ms\": %.3f",
	       report->seconds, report->taken, second->times, second->rewritten,
	       second->suspended_ns / 1e6, second->longest_ns / 1e6);
	printf(",\n  \"mismatched_sectors\": %" PRIu64 ",\n  \"not_compared_sectors\": %" PRIu64,
	       mismatched(report->findings), not_compared(report->findings));
	json_list(report, "mismatches", true);
	json_list(report, "not_compared", false);
	printf("\n}\n");
}
