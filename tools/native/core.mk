# SPDX-License-Identifier: GPL-2.0
# The core's files, as named from the top, which the programs of user space and their tests are
# made of; their names without more, and the folders where vpath finds them

CORE_FILES := disk_model.c disk_model_build.c model_text.c fb_bitmap.c fb_guard.c fb_head.c \
	fb_margin.c fb_calib.c fb_probe.c fb_completion.c fb_search.c fb_find.c \
	fb_worth.c fb_order.c fb_wait.c fg_policy.c
CORE = $(basename $(notdir $(CORE_FILES)))
KERNEL = $(addprefix $(ROOT)/,$(sort $(dir $(CORE_FILES))))
