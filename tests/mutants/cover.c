// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into a freeblock.ko that tests/mutants/labrun.py compiles with -fsanitize-coverage=trace-pc:
 * notes which of the calls that the compiler puts into each basic block are made, and tells
 * the kernel's log when the module goes.
 */

#include <linux/bitops.h>
#include <linux/printk.h>
#include <linux/types.h>

/* Bytes of code, one bit each, half of them before the function that is called */
#define FB_COVER_BYTES	(1 << 20)

void __sanitizer_cov_trace_pc(void);
void fb_cover_tell(void);

static DECLARE_BITMAP(fb_cover_called, FB_COVER_BYTES);

void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long at = (unsigned long)__builtin_return_address(0) + FB_COVER_BYTES / 2 -
			   (unsigned long)__sanitizer_cov_trace_pc;

	if (at < FB_COVER_BYTES)
		set_bit(at, fb_cover_called);
}

void fb_cover_tell(void)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(FB_COVER_BYTES); i++) {
		if (fb_cover_called[i])
			pr_info("fb_cover %x %lx\n", i, fb_cover_called[i]);
	}
}
