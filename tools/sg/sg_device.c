// SPDX-License-Identifier: GPL-2.0
/*
 * The device; see sg_device.h.
 *
 * Who else uses the disk is asked of the block device behind it: opened exclusively, it
 * refuses when it or a partition is mounted, is swap, or belongs to device mapper or md,
 * and they refuse as long as it is open. A program that merely reads or writes it
 * without asking for exclusive use is not noticed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/major.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sg_device.h"
#include "sg_sense.h"
#include "../sim/sim_file.h"

#define SGV_VERSION 30000	/* of the driver: sg_io_hdr and asynchronous reads and writes */
#define SGV_TIMEOUT_MS 30000	/* a disk that spins up answers within */
#define SGV_TRIES 5		/* unit attentions in a row */
#define SGV_QUEUE 2		/* what the scheduler needs at the drive */
#define SGV_MOST_BLOCK 4096	/* bytes */

#define SGV_INQUIRY 0x12
#define SGV_MODE_SENSE_10 0x5a
#define SGV_NO_BLOCKS 0x08	/* DBD: no block descriptors */
#define SGV_PAGE_CACHING 0x08
#define SGV_RCD 0x01		/* of its byte 2 */
#define SGV_DRA 0x20		/* of its byte 12 */
#define SGV_READ_CAPACITY_10 0x25
#define SGV_SERVICE_IN_16 0x9e
#define SGV_READ_CAPACITY_16 0x10	/* service action */
#define SGV_PAGE_SERIAL 0x80

#define SGV_INQUIRY_LEN 36
#define SGV_PAGE_LEN 64
#define SGV_CAPACITY_LEN 32

/* ---- sysfs ---- */

/* "DIR/NAME", its first line; false: there is no such file */
static bool sgv_sysfs(const char *dir, const char *name, char *text, size_t size)
{
	char path[2 * SGV_NAME + 64];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	got = fgets(text, size, f);
	if (got)
		text[strcspn(text, "\n")] = 0;
	fclose(f);
	return got;
}

/* the first name in a folder that begins so and is not @but; false: there is none */
static bool sgv_first(const char *dir, const char *begins, const char *but, char *name)
{
	size_t len = strlen(begins);
	struct dirent *entry;
	bool found = false;
	DIR *d = opendir(dir);

	while (d && !found && (entry = readdir(d))) {
		found = *entry->d_name != '.' && strcmp(entry->d_name, but) &&
			!strncmp(entry->d_name, begins, len) &&
			strlen(entry->d_name) < SGV_NAME;
		if (found)
			strcpy(name, entry->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

/* ---- questions ---- */

/* one command that reads; false: it failed, and @sense says why */
static bool sgv_ask(const struct sgv *v, const u8 *cdb, u8 len, u8 *answer, u32 size,
		    struct sgs *sense)
{
	u8 bytes[SGS_LEN];
	sg_io_hdr_t h = {
		.interface_id = 'S',
		.dxfer_direction = SG_DXFER_FROM_DEV,
		.cmd_len = len,
		.mx_sb_len = sizeof(bytes),
		.dxfer_len = size,
		.dxferp = answer,
		.cmdp = (u8 *)cdb,
		.sbp = bytes,
		.timeout = SGV_TIMEOUT_MS,
	};
	int i;

	for (i = 0; i < SGV_TRIES; i++) {
		memset(answer, 0, size);
		if (ioctl(v->fd, SG_IO, &h))
			sim_fail("%s: %s", v->path, strerror(errno));
		sgs_read(bytes, h.sb_len_wr, sense);
		if (!h.status && !h.host_status)
			return true;
		if (sense->key != SGS_ATTENTION)
			break;
	}
	return false;
}

/* letters only, blanks at both ends removed */
static void sgv_text(char *to, const u8 *from, u32 len)
{
	u32 i;

	while (len && (from[len - 1] == ' ' || !from[len - 1]))
		len--;
	while (len && *from == ' ') {
		from++;
		len--;
	}
	for (i = 0; i < len; i++)
		to[i] = isprint(from[i]) && from[i] != '"' && from[i] != '\\' ? from[i] : '?';
	to[len] = 0;
}

static void sgv_inquire(struct sgv *v)
{
	static const u8 cdb[6] = { SGV_INQUIRY, 0, 0, 0, SGV_INQUIRY_LEN };
	static const u8 page[6] = { SGV_INQUIRY, 1, SGV_PAGE_SERIAL, 0, SGV_PAGE_LEN };
	u8 answer[SGV_PAGE_LEN];
	struct sgs sense;

	if (!sgv_ask(v, cdb, sizeof(cdb), answer, SGV_INQUIRY_LEN, &sense))
		sim_fail("%s: INQUIRY fails: is the device still there?", v->path);
	if (answer[0])
		sim_fail("%s: device type %u, not a disk: see the TYPE column of lsscsi -g",
			 v->path, answer[0] & 0x1f);
	sgv_text(v->vendor, answer + 8, 8);
	sgv_text(v->product, answer + 16, 16);
	sgv_text(v->revision, answer + 32, 4);
	if (sgv_ask(v, page, sizeof(page), answer, SGV_PAGE_LEN, &sense) &&
	    answer[1] == SGV_PAGE_SERIAL)
		sgv_text(v->serial, answer + 4, min(answer[3], (u8)(SGV_PAGE_LEN - 4)));
}

/* a drive that does not tell is taken for one that reads ahead */
static void sgv_ask_cache(struct sgv *v)
{
	static const u8 cdb[10] = {
		SGV_MODE_SENSE_10, SGV_NO_BLOCKS, SGV_PAGE_CACHING, [8] = SGV_PAGE_LEN,
	};
	u8 answer[SGV_PAGE_LEN];
	struct sgs sense;
	u32 at;

	if (!sgv_ask(v, cdb, sizeof(cdb), answer, SGV_PAGE_LEN, &sense))
		return;
	/* after the header, and block descriptors if there are some all the same */
	at = 8 + sgs_get(answer + 6, 2);
	if (at + 13 <= SGV_PAGE_LEN && (answer[at] & 0x3f) == SGV_PAGE_CACHING)
		v->look_ahead_off = answer[at + 2] & SGV_RCD || answer[at + 12] & SGV_DRA;
}

static void sgv_measure(struct sgv *v)
{
	static const u8 cdb16[16] = {
		SGV_SERVICE_IN_16, SGV_READ_CAPACITY_16, [13] = SGV_CAPACITY_LEN,
	};
	static const u8 cdb10[10] = { SGV_READ_CAPACITY_10 };
	u8 answer[SGV_CAPACITY_LEN];
	struct sgs sense;
	u64 blocks;
	u32 bytes, physical = 1;

	if (sgv_ask(v, cdb16, sizeof(cdb16), answer, SGV_CAPACITY_LEN, &sense)) {
		blocks = sgs_get(answer, 8) + 1;
		bytes = sgs_get(answer + 8, 4);
		physical = 1U << (answer[13] & 0xf);
		v->first_aligned = sgs_get(answer + 14, 2) & 0x3fff;
	} else if (sgv_ask(v, cdb10, sizeof(cdb10), answer, 8, &sense)) {
		blocks = sgs_get(answer, 4) + 1;
		bytes = sgs_get(answer + 4, 4);
	} else {
		sim_fail("%s: READ CAPACITY fails, sense %x/%02x/%02x: is it spun up? (sg_start)",
			 v->path, sense.key, sense.asc, sense.ascq);
	}
	if (bytes < 512 || bytes > SGV_MOST_BLOCK || bytes & (bytes - 1))
		sim_fail("%s: blocks of %u bytes; a power of two, 512 to %u, is needed: sg_format",
			 v->path, bytes, SGV_MOST_BLOCK);
	v->block_sectors = bytes / 512;
	v->physical_sectors = physical * v->block_sectors;
	v->sectors = blocks * v->block_sectors;
}

/* ---- may it be used? ---- */

static void sgv_open_generic(struct sgv *v, bool in_use)
{
	int exclusive = in_use ? 0 : O_EXCL;
	int version = 0;
	struct stat st;

	if (stat(v->path, &st))
		sim_fail("%s: %s", v->path, strerror(errno));
	if (S_ISBLK(st.st_mode))
		sim_fail("%s: a block device: %s, see lsscsi -g or /sys/dev/block/%u:%u/device/%s",
			 v->path, "name the SCSI generic device of the same disk",
			 major(st.st_rdev), minor(st.st_rdev), "scsi_generic/");
	if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != SCSI_GENERIC_MAJOR)
		sim_fail("%s: not a SCSI generic device, /dev/sgX: see lsscsi -g (and modprobe sg)",
			 v->path);
	v->fd = open(v->path, O_RDWR | O_NONBLOCK | exclusive | O_CLOEXEC);
	if (v->fd < 0 && errno == EBUSY)
		sim_fail("%s: another program has it open: see fuser -v %s", v->path, v->path);
	if (v->fd < 0)
		sim_fail("%s: %s%s", v->path, strerror(errno),
			 errno == EACCES || errno == EPERM ? ": run as root" : "");
	if (ioctl(v->fd, SG_GET_VERSION_NUM, &version) || version < SGV_VERSION)
		sim_fail("%s: its driver has version %d, %d is needed", v->path, version,
			 SGV_VERSION);
	snprintf(v->dir, sizeof(v->dir), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
}

/* "sda" or a partition of it, in the hands of "dm-0" */
static void sgv_check_holders(const struct sgv *v, const char *dir, const char *name)
{
	char path[4 * SGV_NAME], holder[SGV_NAME];

	snprintf(path, sizeof(path), "%s/holders", dir);
	if (sgv_first(path, "", "", holder))
		sim_fail("%s: %s is in use by %s: stop that first (lsblk /dev/%s)", v->path, name,
			 holder, v->block);
}

static void sgv_check_partitions(const struct sgv *v, const char *dir)
{
	char path[2 * SGV_NAME + 256 + 2];
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d))) {
		if (strncmp(entry->d_name, v->block, strlen(v->block)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		sgv_check_holders(v, path, entry->d_name);
	}
	if (d)
		closedir(d);
}

static void sgv_check_kind(const struct sgv *v, const char *dir)
{
	char text[SGV_NAME];

	if (sgv_sysfs(dir, "queue/rotational", text, sizeof(text)) && !strcmp(text, "0"))
		sim_fail("%s: %s does not rotate: there are no gaps to use", v->path, v->block);
	if (sgv_sysfs(dir, "queue/zoned", text, sizeof(text)) && strcmp(text, "none"))
		sim_fail("%s: %s is zoned (%s): its layout is not what models describe", v->path,
			 v->block, text);
}

/* the block device: nobody else's, from now until we close it, unless it may be */
static void sgv_hold(struct sgv *v, bool in_use)
{
	char dir[2 * SGV_NAME], path[SGV_NAME + 8];

	snprintf(dir, sizeof(dir), "%s/block", v->dir);
	if (!sgv_first(dir, "", "", v->block))
		return;
	snprintf(dir, sizeof(dir), "/sys/block/%s", v->block);
	sgv_check_kind(v, dir);
	if (in_use)
		return;
	sgv_check_holders(v, dir, v->block);
	sgv_check_partitions(v, dir);
	snprintf(path, sizeof(path), "/dev/%s", v->block);
	v->hold = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (v->hold < 0 && errno == EBUSY)
		sim_fail("%s: %s or a partition of it is in use: %s (lsblk %s)", v->path, path,
			 "unmount it, swapoff, or stop what holds it", path);
	if (v->hold < 0)
		sim_fail("%s: cannot make sure that nobody uses %s: %s", v->path, path,
			 strerror(errno));
}

static void sgv_limits(struct sgv *v)
{
	char text[SGV_NAME];
	int bytes = 0;

	if (!sgv_sysfs(v->dir, "queue_depth", text, sizeof(text)))
		sim_fail("%s: no %s/queue_depth: is sysfs mounted?", v->path, v->dir);
	v->queue = atoi(text);
	if (v->queue < SGV_QUEUE)
		sim_fail("%s: Linux hands it %u command at once: echo %d > %s/queue_depth",
			 v->path, v->queue, SGV_QUEUE, v->dir);
	if (ioctl(v->fd, BLKSECTGET, &bytes) || bytes < 512)
		sim_fail("%s: the driver does not tell its longest transfer", v->path);
	v->most_sectors = bytes / 512;
}

void sgv_open(struct sgv *v, const char *path, bool in_use)
{
	memset(v, 0, sizeof(*v));
	v->path = path;
	v->hold = -1;
	sgv_open_generic(v, in_use);
	sgv_hold(v, in_use);
	sgv_inquire(v);
	sgv_measure(v);
	sgv_ask_cache(v);
	sgv_limits(v);
}

void sgv_close(struct sgv *v)
{
	close(v->fd);
	if (v->hold >= 0)
		close(v->hold);
}

/* ---- is it the right one? ---- */

void sgv_check_model(const struct sgv *v, const char *path, const struct dm_info *info)
{
	if (strcmp(info->vendor, v->vendor) || strcmp(info->product, v->product))
		sim_fail("%s is for '%s' '%s', %s says '%s' '%s': give --model that of this drive",
			 path, info->vendor, info->product, v->path, v->vendor, v->product);
	if (*info->serial && strcmp(info->serial, v->serial))
		sim_fail("%s is for the unit with serial number '%s', that of %s is '%s'", path,
			 info->serial, v->path, v->serial);
	if (info->sectors != v->sectors)
		sim_fail("%s has %llu sectors of 512 bytes, %s has %llu: %s", path,
			 (unsigned long long)info->sectors, v->path, (unsigned long long)v->sectors,
			 "give --model that of this drive");
	if (info->physical_sectors % v->block_sectors)
		sim_fail("%s counts in blocks of %u bytes, %s in %u", path,
			 info->physical_sectors * 512, v->path, v->block_sectors * 512);
}

void sgv_check_writes(const struct sgv *v, const char *confirm)
{
	char dir[2 * SGV_NAME], name[SGV_NAME];

	if (*v->serial && strcmp(confirm, v->serial))
		sim_fail("%s: writes destroy what is on '%s %s': %s (sg_inq -p sn); you said '%s'",
			 v->path, v->vendor, v->product,
			 "confirm its serial number, as on its label", confirm);
	snprintf(name, sizeof(name), "%s %s", v->vendor, v->product);
	if (!*v->serial && strcmp(confirm, name))
		sim_fail("%s: writes destroy what is on it: confirm '%s'; you said '%s'", v->path,
			 name, confirm);
	if (!*v->block)
		return;
	snprintf(dir, sizeof(dir), "/sys/block/%s", v->block);
	if (sgv_first(dir, v->block, "", name))
		sim_fail("%s: there is a partition, %s: %s, remove it first (wipefs --all /dev/%s)",
			 v->path, name, "writes are refused; if nothing there is of worth",
			 v->block);
	if (sgv_sysfs(dir, "ro", name, sizeof(name)) && strcmp(name, "0"))
		sim_fail("%s: %s is set read-only: writes are refused", v->path, v->block);
}
