// SPDX-License-Identifier: GPL-2.0
/* The few ioctls of device mapper that are needed; no library in a static program. */
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>

#include "moments.h"

#define ROOM 4096

static union {
	struct dm_ioctl head;
	char bytes[ROOM];
} call;

static void prepare(const char *name)
{
	memset(&call, 0, sizeof(call));
	call.head.version[0] = DM_VERSION_MAJOR;
	call.head.data_size = sizeof(call);
	call.head.data_start = sizeof(call.head);
	snprintf(call.head.name, sizeof(call.head.name), "%s", name);
}

static int make(unsigned long request)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, request, &call))
		error = -errno;
	close(fd);
	return error;
}

/* The minor number of the device, or an error */
int dm_create(const char *name, const char *target, const char *table, u64 sectors)
{
	struct dm_target_spec *spec = (void *)(call.bytes + sizeof(call.head));
	int error, minor_of;

	prepare(name);
	error = make(DM_DEV_CREATE);
	if (error)
		return error;
	minor_of = call.head.dev & 0xff;
	prepare(name);
	call.head.target_count = 1;
	spec->length = sectors;
	snprintf(spec->target_type, sizeof(spec->target_type), "%s", target);
	snprintf((char *)(spec + 1), ROOM - sizeof(call.head) - sizeof(*spec), "%s", table);
	spec->next = sizeof(*spec) + (strlen(table) + 8) / 8 * 8;
	error = make(DM_TABLE_LOAD);
	if (!error) {
		prepare(name);
		error = make(DM_DEV_SUSPEND);
	}
	if (error)
		dm_remove(name);
	return error ?: minor_of;
}

int dm_message(const char *name, const char *text)
{
	struct dm_target_msg *msg = (void *)(call.bytes + sizeof(call.head));

	prepare(name);
	strcpy(msg->message, text);
	return make(DM_TARGET_MSG);
}

int dm_remove(const char *name)
{
	prepare(name);
	return make(DM_DEV_REMOVE);
}
