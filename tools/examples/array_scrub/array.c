// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "array.h"
#include "refusal.h"

#define PATH_BYTES 256
#define TEXT_BYTES 128

void array_attribute(const struct array *array, const char *name, char *path, size_t size)
{
	snprintf(path, size, "/sys/block/%.63s/md/%.127s", array->name, name);
}

/* The first line of a file of md's; "" if there is none */
static void text(const struct array *array, const char *name, char *out)
{
	char path[PATH_BYTES];
	FILE *file;

	array_attribute(array, name, path, sizeof(path));
	file = fopen(path, "re");
	if (!file || !fgets(out, TEXT_BYTES, file))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* 0, or -1: there is no such number */
static int number(const struct array *array, const char *name, uint64_t *value)
{
	char line[TEXT_BYTES], *end;

	text(array, name, line);
	errno = 0;
	*value = strtoull(line, &end, 10);
	return end == line || errno ? -1 : 0;
}

static int find(struct array *array, const char *path)
{
	char link[PATH_BYTES], real[PATH_MAX], *name;
	struct stat about;

	if (stat(path, &about))
		return refuse("%s: %s", path,
			      errno == ENOENT ? "no such block device" : strerror(errno));
	if (!S_ISBLK(about.st_mode))
		return refuse("%s: not a block device", path);
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(about.st_rdev),
		 minor(about.st_rdev));
	if (!realpath(link, real))
		return refuse("%s: %s", link, strerror(errno));
	name = strrchr(real, '/') + 1;
	if (strlen(name) >= ARRAY_NAME)
		return refuse("%s: its name is too long", name);
	strcpy(array->name, name);
	array_attribute(array, "level", link, sizeof(link));
	if (access(link, R_OK))
		return refuse("%s is no md array", path);
	return 0;
}

static int find_geometry(struct array *array)
{
	struct geometry *geometry = &array->geometry;
	uint64_t disks, layout = 0, chunk = 0, size;
	char level[TEXT_BYTES];

	text(array, "level", level);
	if (strcmp(level, "raid1") && strcmp(level, "raid5") && strcmp(level, "raid6"))
		return refuse("%s: its level is %s; known are raid1, raid5 and raid6", array->name,
			      level[0] ? level : "none");
	if (number(array, "raid_disks", &disks) || number(array, "component_size", &size) ||
	    !size || disks > GEOMETRY_DISKS_MAX)
		return refuse("%s: its members are not known", array->name);
	geometry->level = level[4] - '0';
	geometry->disks = disks;
	array->sectors = size * 2;
	if (geometry->level == 1)
		return 0;
	if (number(array, "layout", &layout) || number(array, "chunk_size", &chunk) ||
	    chunk < 4096 || chunk % 4096 || disks < (geometry->level == 5 ? 2 : 4))
		return refuse("%s: its layout is not known", array->name);
	geometry->layout = layout;
	geometry->chunk = chunk / 512;
	array->sectors -= array->sectors % geometry->chunk;
	if (!geometry_layout_name(geometry))
		return refuse("%s: its layout, md's number %u, is none of those known",
			      array->name, geometry->layout);
	return 0;
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (;; list++) {
		if (!strncmp(list, word, length) && (!list[length] || list[length] == ','))
			return true;
		list = strchr(list, ',');
		if (!list)
			return false;
	}
}

static void skip(struct array *array, const char *name, const char *why)
{
	size_t used = strlen(array->skipped);

	snprintf(array->skipped + used, sizeof(array->skipped) - used, "%s%s (%s)",
		 used ? ", " : "", name, why);
}

/* dev-NAME */
static int take_member(struct array *array, const char *entry)
{
	struct array_member *member = &array->members[array->n];
	char name[PATH_BYTES], state[TEXT_BYTES];
	uint64_t slot;

	if (strlen(entry + 4) >= ARRAY_NAME)
		return refuse("%s: its name is too long", entry + 4);
	snprintf(name, sizeof(name), "%.100s/state", entry);
	text(array, name, state);
	snprintf(name, sizeof(name), "%.100s/slot", entry);
	if (number(array, name, &slot) || slot >= array->geometry.disks ||
	    has_word(state, "replacement") || has_word(state, "faulty") ||
	    !has_word(state, "in_sync")) {
		skip(array, entry + 4, state);
		return 0;
	}
	snprintf(name, sizeof(name), "%.100s/offset", entry);
	if (array->n == GEOMETRY_DISKS_MAX || number(array, name, &member->offset))
		return refuse("%s: no offset of its data", entry + 4);
	member->slot = slot;
	strcpy(member->name, entry + 4);
	array->n++;
	return 0;
}

static int by_slot(const void *a, const void *b)
{
	const struct array_member *one = a, *other = b;

	return (one->slot > other->slot) - (one->slot < other->slot);
}

static int find_members(struct array *array)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	int failed = 0;
	DIR *dir;

	array_attribute(array, "", path, sizeof(path));
	dir = opendir(path);
	if (!dir)
		return refuse("%s: %s", path, strerror(errno));
	while (!failed && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "dev-", 4))
			failed = take_member(array, entry->d_name);
	closedir(dir);
	qsort(array->members, array->n, sizeof(array->members[0]), by_slot);
	return failed;
}

/* What must be so at any time */
static int at_rest(const struct array *array)
{
	char line[TEXT_BYTES];
	uint64_t low, high;

	text(array, "sync_action", line);
	if (strcmp(line, "idle"))
		return refuse("%s: its sync_action is '%s': wait until it is idle", array->name,
			      line);
	text(array, "reshape_position", line);
	if (strcmp(line, "none"))
		return refuse("%s: a reshape has begun", array->name);
	text(array, "resync_start", line);
	if (strcmp(line, "none"))
		return refuse("%s: it has not been synchronised: resync_start is '%s'",
			      array->name, line);
	if (number(array, "suspend_lo", &low) || number(array, "suspend_hi", &high))
		return refuse("%s: its writes cannot be suspended", array->name);
	if (low < high)
		return refuse("%s: writes to sectors %llu to %llu are suspended by others (%s)",
			      array->name, (unsigned long long)low, (unsigned long long)high,
			      "echo 0 > md/suspend_hi lets them go on");
	return 0;
}

/* Everything that is to be the same afterwards */
static int look(struct array *array)
{
	text(array, "uuid", array->uuid);
	if (find_geometry(array) || find_members(array))
		return -1;
	if (array->geometry.level == 1 && array->n < 2)
		return refuse("%s: fewer than two of its copies are in sync", array->name);
	if (array->geometry.level != 1 && array->n != array->geometry.disks)
		return refuse("%s: it is degraded, %u of %u members are in sync", array->name,
			      array->n, array->geometry.disks);
	return 0;
}

int array_read(struct array *array, const char *path)
{
	memset(array, 0, sizeof(*array));
	if (find(array, path) || look(array))
		return -1;
	return at_rest(array);
}

bool array_changed(const struct array *array)
{
	struct array now = { 0 };

	strcpy(now.name, array->name);
	if (look(&now))
		return true;
	if (memcmp(&now.geometry, &array->geometry, sizeof(now.geometry)) ||
	    now.sectors != array->sectors || now.n != array->n ||
	    memcmp(now.members, array->members, sizeof(now.members)) ||
	    strcmp(now.uuid, array->uuid)) {
		refuse("%s: its members are no longer the same", array->name);
		return true;
	}
	return at_rest(array) < 0;
}

/* Whether a member's list has a sector of [first, end), of the block device */
static bool lists(const struct array *array, const char *name, uint64_t first, uint64_t end)
{
	unsigned long long at, count;
	char path[PATH_BYTES];
	bool found = false;
	FILE *file;

	array_attribute(array, name, path, sizeof(path));
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fscanf(file, "%llu %llu", &at, &count) == 2)
		found = at < end && first < at + count;
	fclose(file);
	return found;
}

int array_known_bad(const struct array *array, uint64_t first, uint64_t sectors)
{
	char name[PATH_BYTES];
	unsigned int i;

	for (i = 0; i < array->n; i++) {
		const struct array_member *member = &array->members[i];
		uint64_t at = member->offset + first;

		snprintf(name, sizeof(name), "dev-%s/bad_blocks", member->name);
		if (lists(array, name, at, at + sectors))
			return member->slot;
		snprintf(name, sizeof(name), "dev-%s/unacknowledged_bad_blocks", member->name);
		if (lists(array, name, at, at + sectors))
			return member->slot;
	}
	return -1;
}
