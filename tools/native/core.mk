# SPDX-License-Identifier: GPL-2.0
# The core's files, as named from the top, which the programs of user space and their tests are
# made of; their names without more, and the folders where vpath finds them

CORE_FILES := disk_model.c fb_bitmap.c core/block_value.c core/completion.c core/conservatism.c \
	core/destage.c core/engine/choice.c core/engine/flight.c core/engine/gap.c \
	core/engine/order.c core/engine/round.c core/guard.c core/head.c core/idle/account.c \
	core/idle/place.c core/idle/streams.c core/idle/threshold.c core/idle/times.c \
	core/idle_order.c core/idle_policy.c core/joint.c core/leftover.c core/lookahead.c core/model_build.c \
	core/model_text.c core/order_cost.c core/orders.c core/policy.c core/power.c core/search.c \
	core/seek_fit.c core/shadow.c core/track_find.c
CORE = $(basename $(notdir $(CORE_FILES)))
KERNEL = $(addprefix $(ROOT)/,$(sort $(dir $(CORE_FILES))))
