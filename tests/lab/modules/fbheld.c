// SPDX-License-Identifier: GPL-2.0
/*
 * How long freeblock holds its locks with interrupts off, by the function that takes them: the
 * lab's figures "lock" and "disks" (tests/lab/lock.sh, disks.sh). The tracer calls this module when
 * a lock with interrupts off is taken or given back. One CPU; the time-stamp counter counts
 * instructions there.
 *
 * /sys/kernel/debug/fbheld: writing clears the sums. Reading: "nested N": the tracer's own cycles
 * of a call within a hold, which are taken off, as is the cost of an empty hold; "khz N"; then a
 * line for each function, "NAME CALLS CYCLES LONGEST OTHERS", where OTHERS is the part of CYCLES of
 * all but the threads of disks.
 */
#include <linux/debugfs.h>
#include <linux/ftrace.h>
#include <linux/hardirq.h>
#include <linux/kallsyms.h>
#include <linux/kernel_stat.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>

#define FBH_FUNCTIONS 128
#define FBH_TRIALS 1000

struct fbh_function {
	unsigned long ip;	/* where it takes the lock */
	u64 calls, cycles, longest, others;
};

static struct {
	struct fbh_function function[FBH_FUNCTIONS];
	unsigned int functions;
	unsigned long begin, end;	/* whose locks count: code of a module */
	unsigned long lock, ip;		/* the one that is held, 0: none, and who has taken it */
	u64 since;
	unsigned int nested;		/* calls of the tracer within the hold */
	unsigned long irqs;		/* interrupts until it began */
	u64 empty, each;		/* what an empty hold takes, and each such call */
} fbh;

static struct dentry *fbh_file;
static DEFINE_SPINLOCK(fbh_outer);
static DEFINE_SPINLOCK(fbh_inner);

static void fbh_note(u64 cycles)
{
	u64 off = fbh.empty + fbh.nested * fbh.each;
	struct fbh_function *f = fbh.function;

	cycles -= min(cycles, off);
	while (f < fbh.function + fbh.functions && f->ip != fbh.ip)
		f++;
	if (f == fbh.function + FBH_FUNCTIONS)
		return;
	if (f == fbh.function + fbh.functions) {
		fbh.functions++;
		f->ip = fbh.ip;
	}
	f->calls++;
	f->cycles += cycles;
	f->longest = max(f->longest, cycles);
	if (!strstarts(current->comm, "freeblock/"))
		f->others += cycles;
}

static unsigned long notrace fbh_irqs(void)
{
	return kstat_this_cpu->irqs_sum + __this_cpu_read(irq_stat.apic_timer_irqs);
}

static void notrace fbh_locked(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	unsigned long lock = ftrace_get_regs(fregs)->di;

	/* the same one: an interrupt came before it was taken, and takes it itself */
	if (fbh.lock && fbh.lock != lock) {
		fbh.nested++;
		return;
	}
	if (parent < fbh.begin || parent >= fbh.end)
		return;
	fbh.lock = lock;
	fbh.ip = parent;
	fbh.irqs = fbh_irqs();
	fbh.nested = 0;
	fbh.since = get_cycles();
}

static void notrace fbh_unlocked(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
				 struct ftrace_regs *fregs)
{
	u64 now = get_cycles();

	if (!fbh.lock)
		return;
	if (ftrace_get_regs(fregs)->di != fbh.lock) {
		fbh.nested++;
		return;
	}
	/* nor is a hold what an interrupt took that came before it */
	if (fbh.irqs == fbh_irqs())
		fbh_note(now - fbh.since);
	fbh.lock = 0;
}

static struct ftrace_ops fbh_lock_ops = { .func = fbh_locked, .flags = FTRACE_OPS_FL_SAVE_REGS };
static struct ftrace_ops fbh_unlock_ops = { .func = fbh_unlocked,
					    .flags = FTRACE_OPS_FL_SAVE_REGS };

/* ---- what it costs itself ---- */

/* mean cycles of a hold with @nested pairs in it */
static noinline u64 fbh_trial(unsigned int nested)
{
	unsigned long flags, inner;
	unsigned int i, n;
	u64 sum = 0;

	fbh.functions = 0;
	memset(fbh.function, 0, sizeof(fbh.function));
	for (i = 0; i < FBH_TRIALS; i++) {
		spin_lock_irqsave(&fbh_outer, flags);
		for (n = 0; n < nested; n++) {
			spin_lock_irqsave(&fbh_inner, inner);
			spin_unlock_irqrestore(&fbh_inner, inner);
		}
		spin_unlock_irqrestore(&fbh_outer, flags);
	}
	for (i = 0; i < fbh.functions; i++)
		sum += fbh.function[i].cycles;
	return sum / FBH_TRIALS;
}

static void fbh_calibrate(void)
{
	u64 with;

	fbh.empty = 0;
	fbh.each = 0;
	fbh.begin = (unsigned long)fbh_trial;
	fbh.end = fbh.begin + 4096;
	fbh.empty = fbh_trial(0);
	with = fbh_trial(10);
	/* two calls a pair */
	fbh.each = with / 20;
	fbh.begin = 0;
	fbh.end = 0;
}

/* ---- the file ---- */

static int fbh_show(struct seq_file *m, void *v)
{
	unsigned int i;

	seq_printf(m, "nested %llu\nkhz %u\n", fbh.each, tsc_khz);
	for (i = 0; i < fbh.functions; i++) {
		const struct fbh_function *f = &fbh.function[i];

		seq_printf(m, "%ps %llu %llu %llu %llu\n", (void *)f->ip, f->calls, f->cycles,
			   f->longest, f->others);
	}
	return 0;
}

static int fbh_open(struct inode *inode, struct file *file)
{
	return single_open(file, fbh_show, NULL);
}

static ssize_t fbh_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	unsigned long flags;

	local_irq_save(flags);
	fbh.functions = 0;
	memset(fbh.function, 0, sizeof(fbh.function));
	local_irq_restore(flags);
	return count;
}

static const struct file_operations fbh_fops = {
	.owner = THIS_MODULE,
	.open = fbh_open,
	.read = seq_read,
	.write = fbh_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* ---- module ---- */

static unsigned long fbh_base, fbh_size;
module_param_named(base, fbh_base, ulong, 0444);
MODULE_PARM_DESC(base, "where the module begins whose locks count, as /proc/modules says");
module_param_named(size, fbh_size, ulong, 0444);
MODULE_PARM_DESC(size, "how long it is");

static int fbh_trace(struct ftrace_ops *ops, char *irqsave, char *irq)
{
	int ret = ftrace_set_filter(ops, irqsave, strlen(irqsave), 1);

	ret = ret ? ret : ftrace_set_filter(ops, irq, strlen(irq), 0);
	return ret ? ret : register_ftrace_function(ops);
}

static int __init fbh_init(void)
{
	int ret;

	if (!fbh_size || num_online_cpus() > 1)
		return -EINVAL;
	ret = fbh_trace(&fbh_lock_ops, "_raw_spin_lock_irqsave", "_raw_spin_lock_irq");
	if (ret)
		return ret;
	ret = fbh_trace(&fbh_unlock_ops, "_raw_spin_unlock_irqrestore", "_raw_spin_unlock_irq");
	if (ret) {
		unregister_ftrace_function(&fbh_lock_ops);
		return ret;
	}
	fbh_calibrate();
	fbh_file = debugfs_create_file("fbheld", 0600, NULL, NULL, &fbh_fops);
	fbh.end = fbh_base + fbh_size;
	fbh.begin = fbh_base;
	return 0;
}

static void __exit fbh_exit(void)
{
	unregister_ftrace_function(&fbh_lock_ops);
	unregister_ftrace_function(&fbh_unlock_ops);
	debugfs_remove(fbh_file);
}

module_init(fbh_init);
module_exit(fbh_exit);

MODULE_DESCRIPTION("How long the freeblock scheduler holds its locks");
MODULE_LICENSE("GPL");
