// SPDX-License-Identifier: GPL-2.0
/* Module init and exit. Lower floors call higher ones through the tables handed down from here. */
#include <linux/module.h>

#include "disk/disk.h"
#include "files.h"
#include "sched/sched.h"
#include "tasks/tasks.h"

static const struct fb_disk_client *const fb_main_clients[] = {
	&fb_verify_client,
	&fb_recovery_client,
	&fb_level_client,
	&fb_measure_client,
	&fb_idle_client,
	&fb_reader_client,
	&fb_late_client,
	&fb_sysfs_client,
	&fb_debugfs_client,
	NULL
};

static int __init fb_main_init(void)
{
	int ret;

	ret = fb_delivery_init();
	if (ret)
		return ret;
	ret = fb_disk_init(fb_main_clients, fb_sysfs_disk_groups);
	if (ret)
		goto exit_delivery;
	ret = fb_user_init();
	if (ret)
		goto exit_disk;
	/* last, so that no queue has taken the scheduler when something fails */
	ret = fb_iosched_register();
	if (ret)
		goto exit_user;
	return 0;

exit_user:
	fb_user_exit();
exit_disk:
	fb_disk_exit();
exit_delivery:
	fb_delivery_exit();
	return ret;
}

static void __exit fb_main_exit(void)
{
	fb_iosched_unregister();
	fb_user_exit();
	fb_disk_exit();
	fb_delivery_exit();
	fb_memory_exit();
}

module_init(fb_main_init);
module_exit(fb_main_exit);

MODULE_DESCRIPTION("Freeblock I/O scheduler: background reads in rotational gaps");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
/* what the kernel asks for when the scheduler is chosen and is not there */
MODULE_ALIAS("freeblock-iosched");
