# SPDX-License-Identifier: GPL-2.0
# The core's files, for the hosts in tools/

CORE := disk_model disk_model_build model_text fb_bitmap fb_guard fb_head fb_margin fb_calib \
	fb_probe fb_completion fb_search fb_find fb_worth fb_order fb_wait fg_policy
