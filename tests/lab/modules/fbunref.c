// SPDX-License-Identifier: GPL-2.0
/*
 * Takes back one reference to freeblock that the kernel has lost: nomem.c says when that is. It
 * never stays: loading it fails with ENODEV.
 */
#include <linux/module.h>

#include "include/freeblock.h"

static int __init fbu_init(void)
{
	symbol_put_addr(freeblock_alloc);
	return -ENODEV;
}

module_init(fbu_init);

MODULE_DESCRIPTION("Takes back a reference to the freeblock scheduler that the kernel has lost");
MODULE_LICENSE("GPL");
