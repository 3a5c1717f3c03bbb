// SPDX-License-Identifier: GPL-2.0
/*
 * gcov for a kernel that was built without it: the kernel's own kernel/gcov as a module, which
 * tools/build/build-modules puts beside this file, and what CONFIG_CONSTRUCTORS would do: the
 * constructors of modules that are loaded afterwards are called, which register their counters.
 */
#include <linux/module.h>
#include <linux/string.h>

#include "fbgcov.h"

/* gcc's name of an object file's constructor that registers counters */
#define FBGCOV_CONSTRUCTOR "_sub_I_00100_0"

static int fbgcov_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct module *mod = data;
	const struct mod_kallsyms *symbols;
	unsigned int i;

	if (event != MODULE_STATE_COMING)
		return NOTIFY_OK;
	/* the module is being loaded: nobody else changes its table */
	symbols = rcu_dereference_protected(mod->kallsyms, true);
	for (i = 0; i < symbols->num_symtab; i++) {
		const Elf_Sym *symbol = &symbols->symtab[i];

		if (!strcmp(symbols->strtab + symbol->st_name, FBGCOV_CONSTRUCTOR))
			((void (*)(void))symbol->st_value)();
	}
	return NOTIFY_OK;
}

static struct notifier_block fbgcov_block = {
	.notifier_call = fbgcov_notify,
};

/* There is no way back: counters of modules that are gone are kept until the guest ends. */
static int __init fbgcov_init(void)
{
	int ret = fbgcov_gcov_init();

	if (!ret)
		ret = fbgcov_gcov_fs_init();
	if (!ret)
		ret = fbgcov_failing_init();
	return ret ? ret : register_module_notifier(&fbgcov_block);
}

module_init(fbgcov_init);

MODULE_DESCRIPTION("Counters of branches, for the lab");
MODULE_LICENSE("GPL");
