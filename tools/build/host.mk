# SPDX-License-Identifier: GPL-2.0
# Rules of the programs here: PROGRAM from OBJS, whose sources vpath finds, in OUT. Who packs them
# adds EXTRA_CFLAGS and EXTRA_LDFLAGS. A warning is an error in the tests (tests/check sets WERROR),
# not on the machine of a user, whose compiler may be another

# The map: a checkout elsewhere makes the same program
CFLAGS := -std=gnu11 -g -O2 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
	$(WERROR) \
	-MMD -MP -I$(ROOT) \
	-ffile-prefix-map=$(ROOT)=.

all: $(PROGRAM)

# A file gets its name when it is complete: who is killed leaves none that looks up to date
$(OUT)/%.o: %.c | $(OUT)
	$(CC) $(CFLAGS) -MF $(@:.o=.d).part -MT $@ $(EXTRA_CFLAGS) -c $< -o $@.part
	mv $(@:.o=.d).part $(@:.o=.d)
	mv $@.part $@

$(PROGRAM): $(OBJS)
	$(CC) $(EXTRA_LDFLAGS) $^ -lm -o $@.part
	mv $@.part $@

$(OUT):
	mkdir -p $@

clean:
	rm -rf $(OUT)

.PHONY: all clean

-include $(wildcard $(OUT)/*.d)
