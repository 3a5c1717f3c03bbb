# SPDX-License-Identifier: GPL-2.0
# The core's files, as named from the top, and the compiler of models, which the programs of user
# space and their tests are made of; their names without more, and the folders where vpath finds
# them

CORE_FILES := $(patsubst $(ROOT)/%,%,$(addprefix $(ROOT)/,disk_model.c fb_bitmap.c \
	tools/model/model_text.c) \
	$(sort $(wildcard $(ROOT)/core/*.c $(ROOT)/core/*/*.c)))
CORE = $(basename $(notdir $(CORE_FILES)))
KERNEL = $(addprefix $(ROOT)/,$(sort $(dir $(CORE_FILES))))
