# SPDX-License-Identifier: GPL-2.0
# Rules of unit tests: PROGRAMS, each from its own object in OUT and from OBJS, whose sources
# vpath finds, under the address and undefined behaviour sanitizers, or whatever INSTRUMENT says;
# INCLUDE is looked into

# tests of mutants build without: a mutant may well leave something unused
WERROR := -Werror
INSTRUMENT := -fsanitize=address,undefined
CFLAGS := -std=gnu11 -g -O1 -Wall -Wextra -Wno-unused-parameter $(WERROR) -MMD -MP -I$(INCLUDE) \
	-fno-omit-frame-pointer -fno-sanitize-recover=undefined $(INSTRUMENT)
LDFLAGS := $(INSTRUMENT)

# Where the tests find the drives' vectors
export FREEBLOCK_DRIVES ?= $(abspath $(ROOT)/../shared/data/drives)

all: $(PROGRAMS)

check: all
	@failed=0; \
	for test in $(PROGRAMS); do \
		timeout 300 $$test || { echo "FAILED: $$test" >&2; failed=1; }; \
	done; exit $$failed

$(OUT)/%.o: %.c | $(OUT)
	$(CC) $(CFLAGS) -c $< -o $@

$(PROGRAMS): %: %.o $(OBJS)
	$(CC) $(LDFLAGS) $^ -lcmocka -lm -o $@

$(OUT):
	mkdir -p $@

clean:
	rm -rf $(OUT)

-include $(wildcard $(OUT)/*.d)

.PHONY: all check clean
.SECONDARY:
