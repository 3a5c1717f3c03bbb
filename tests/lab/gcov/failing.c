// SPDX-License-Identifier: GPL-2.0
/*
 * Which call of a module that counts its branches is to fail (failing.h). Two files in debugfs:
 *
 *	fbgcov/fail-nth		a number: that call from now on of whoever writes it, as
 *				/proc/self/fail-nth does where the kernel can; read: what is left,
 *				0: it has failed, or none is to
 *	fbgcov/fail-threads	a number: so many of the calls to come of the kernel's own threads
 *
 * There is one victim at a time: the last that wrote.
 */
#include <linux/debugfs.h>
#include <linux/kobject.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#define FBGCOV_DECLARE_ONLY
#include "failing.h"
#include "fbgcov.h"

/* only the victim itself, in process context, counts down */
static struct task_struct *fbgcov_victim;
static u32 fbgcov_nth;
static atomic_t fbgcov_of_threads;

/* Is it this call's turn to fail? Context: any. */
bool fbgcov_fails(void)
{
	if (!in_task())
		return false;
	if (current->flags & PF_KTHREAD)
		return atomic_dec_if_positive(&fbgcov_of_threads) >= 0;
	return READ_ONCE(fbgcov_victim) == current && fbgcov_nth && !--fbgcov_nth;
}
EXPORT_SYMBOL_GPL(fbgcov_fails);

struct task_struct *fbgcov_kthread_create(int (*fn)(void *data), void *data, const char *name, ...)
{
	char text[TASK_COMM_LEN];
	va_list args;

	if (fbgcov_fails())
		return ERR_PTR(-ENOMEM);
	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	return kthread_create(fn, data, "%s", text);
}
EXPORT_SYMBOL_GPL(fbgcov_kthread_create);

int fbgcov_kobject_init_and_add(struct kobject *kobj, const struct kobj_type *ktype,
				struct kobject *parent, const char *name, ...)
{
	char text[64];
	va_list args;

	kobject_init(kobj, ktype);
	if (fbgcov_fails())
		return -ENOMEM;
	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	return kobject_add(kobj, parent, "%s", text);
}
EXPORT_SYMBOL_GPL(fbgcov_kobject_init_and_add);

static ssize_t fbgcov_nth_read(struct file *file, char __user *to, size_t len, loff_t *off)
{
	char text[16];
	u32 left = fbgcov_victim == current ? fbgcov_nth : 0;

	return simple_read_from_buffer(to, len, off, text,
				       scnprintf(text, sizeof(text), "%u\n", left));
}

static ssize_t fbgcov_nth_write(struct file *file, const char __user *from, size_t len, loff_t *off)
{
	int ret = kstrtou32_from_user(from, len, 10, &fbgcov_nth);

	if (ret)
		return ret;
	WRITE_ONCE(fbgcov_victim, current);
	return len;
}

static const struct file_operations fbgcov_nth_fops = {
	.owner = THIS_MODULE,
	.read = fbgcov_nth_read,
	.write = fbgcov_nth_write,
};

int fbgcov_failing_init(void)
{
	struct dentry *folder = debugfs_create_dir("fbgcov", NULL);

	debugfs_create_file("fail-nth", 0600, folder, NULL, &fbgcov_nth_fops);
	debugfs_create_atomic_t("fail-threads", 0600, folder, &fbgcov_of_threads);
	return PTR_ERR_OR_ZERO(folder);
}
