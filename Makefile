# SPDX-License-Identifier: GPL-2.0
# What a person types. The kernel module's own rules are in Kbuild; results
# land under build/, and nothing else in the tree is written to.

ifneq ($(words x$(subst :, ,$(CURDIR))),1)
$(error $(CURDIR): make, and the kernel's build, take no spaces or colons in a folder's name: move it)
endif

SHELL := /bin/sh
BUILD ?= build
override BUILD := $(abspath $(BUILD))
PYTHON := /usr/bin/python3

# Variables of make demo; what is not given is tools/demo's own default
DEMO_VARIABLES := DRIVE POLICY CONSERVATISM_US RUNTIME_S NOISE SEED MODERN
demo_settings = $(foreach v,$(DEMO_VARIABLES),$(if $($(v)),$(v)='$($(v))'))

.PHONY: help
help:
	@echo 'make demo          freeblock scheduling at work on a simulated disk: table, picture, verdict'
	@echo '                   DRIVE= POLICY= CONSERVATISM_US= RUNTIME_S= NOISE= SEED= vary it'
	@echo 'make try           a shell in a virtual machine with a simulated disk: setup, scrub, top'
	@echo 'make check         all tests; the last line says how many passed; FRESH=1: those, too, that'
	@echo '                   passed before and read nothing that has changed since'
	@echo '                   ONLY=regex runs the tests whose name matches'
	@echo 'make quick         what a change since BASE (HEAD) touches, without a guest, in a minute'
	@echo 'make draws         how much a lab script'"'"'s figures vary: TEST=t-mechdisk N=10'
	@echo 'make kernels       what must hold on every kernel, on 6.1, 6.12 and 7.x: a table,'
	@echo '                   build/kernels/summary.json; ONLY=scan runs one test on each'
	@echo 'make controllers   stock drivers (ahci, megaraid_sas, uas, ...) over QEMU'"'"'s devices, on 6.1,'
	@echo '                   6.12 and 7.x: build/controllers/summary.json; KERNEL=6.1 is one of them'
	@echo 'make races         data races (KCSAN) of what runs at once, build/races; ONLY=stress runs one test'
	@echo 'make newest        life cycle, tasks and more on a debug kernel of the newest series, 7.x, and'
	@echo '                   on one with PREEMPT_RT (built once each), build/newest; ONLY=life runs one test'
	@echo 'make modules       freeblock.ko for the installed 6.1 headers (KDIR= for others)'
	@echo 'make modules-debug the same for the lab'"'"'s debug kernel (built once, some ten minutes)'
	@echo 'make modules-race  the same for its race kernel: KCSAN'
	@echo 'make modules-newest  the same for its debug kernels of the newest series, one with PREEMPT_RT'
	@echo 'make install       freeblock.ko into /lib/modules of the running kernel (as root)'
	@echo 'make lib           libfreeblock, for programs that want blocks read: build/lib'
	@echo 'make install-lib   the same installed, with header and manual; DESTDIR= PREFIX= say where'
	@echo 'make examples      programs on it: build/array_scrub'
	@echo 'make style         checkpatch, sparse, coccinelle, compiler warnings, kernel-doc, sizes, floors;'
	@echo '                   ruff, shellcheck, import-linter'
	@echo 'make lines         lines of the module, comments and blanks among them, the constants of its'
	@echo '                   core, and lines of the tree: table, build/lines.json'
	@echo 'make english       sentences of --help, README and documents that have to be read twice'
	@echo 'make fidelity      the simulated drive against traces of real ones; DRIVES=folder'
	@echo 'make yardstick     the simulated drive against DiskSim in closed loops'
	@echo 'make compare-idle  lab and simulator beside a disk that is idle at times; SEEDS="1 2 3"'
	@echo 'make bench-peers   freeblock, bfq, mq-deadline, kyber and none side by side: tables, picture'
	@echo '                   DRIVE= LOAD= PEER= SECONDS_= SET= WIDE=1 FRESH=1 KEPT=1 restrict or vary it'
	@echo 'make bench-scrub   scrubbers beside foregrounds: tables, picture, build/bench-scrub/summary.json'
	@echo '                   DRIVE= LOAD= CELL= SECONDS_= QUICK=1 FRESH=1 KEPT=1 restrict or vary it'
	@echo 'make bench         the paper'"'"'s evaluation: data, pictures, build/bench/summary.json'
	@echo '                   FIGURE=name measures one (bench.rst), QUICK=1 with fewer requests'
	@echo 'make extract       models extracted from simulated drives, judged: build/extract/summary.json'
	@echo '                   DRIVE= MODE= SEED= restrict or vary it; RANDOM=N: N drives drawn by SEED,'
	@echo '                   KIND=small|real|tenth; build/extract/random.json; goes on where it stopped,'
	@echo '                   FRESH=1 does not'
	@echo 'make validate-predict  the analytic model against the simulated drive: build/predict/summary.json'
	@echo '                   CELL= SEED= restrict or vary it'
	@echo 'make fuzz          fuzz the parsers for long: build/fuzz/summary.json'
	@echo '                   TARGET= SECONDS_= INPUTS= FRESH=1 restrict or vary it'
	@echo 'make blktests      the block layer'"'"'s own tests beside mq-deadline: build/blktests/summary.json'
	@echo '                   ID=regex SUITE=file.tar.gz FRESH=1 restrict or vary it'
	@echo 'make mutants       bugs planted into the core: do the unit tests notice? build/mutants/summary.json'
	@echo '                   PART=lab: into disk/, sched/, tasks/: do scripts of the lab notice?'
	@echo '                   FILE= COUNT= SEED= restrict or vary it; goes on where it stopped'
	@echo 'make coverage      branches that the unit tests take: table, build/coverage/summary.json'
	@echo 'make soak          long runs of the lab, hard moments, power cuts, data races, the newest'
	@echo '                   debug kernels, the fuzzer, a thousand random drives extracted:'
	@echo '                   build/soak/{power,fuzz/summary}.json, build/extract/random.json'
	@echo '                   PART=lab|kernels|controllers|races|newest|fuzz|extract runs one of them'
	@echo 'make moments       a thousand hard moments: build/lab/t-moments/result.json'
	@echo '                   EVENTS= SEED= KERNEL=stock|debug restrict or vary it'
	@echo 'make arm64         module, library and programs compiled for arm64: build/arm64'
	@echo 'make deb           Debian packages of module, tools and documents: build/deb'
	@echo 'make rpm           the same for distributions with RPM: build/rpm/RPMS'
	@echo 'make kmod KVER=     a module for hosts without a compiler; KEY= CERT= sign it: build/kmod'
	@echo 'make install-test  them installed, used, upgraded and purged: build/install/summary.json'
	@echo '                   GUEST=debian12|debian13 does it in one of them,'
	@echo '                   STEP=secure-boot that step; STEP=zfs one more'
	@echo 'make setup         install the Debian packages that are missing'
	@echo 'make clean         remove $(BUILD)'

.PHONY: setup
setup:
	@tools/build/setup

.PHONY: modules modules-debug modules-race
ifdef KDIR
modules:
	@tools/build/setup --modules
	@KDIR='$(KDIR)' tools/build/build-modules other '$(BUILD)'
else
modules: setup
	@tools/build/build-modules stock '$(BUILD)'
endif

modules-debug: setup
	@tools/build/build-modules debug '$(BUILD)'

modules-race: setup
	@tools/build/build-modules $(@:modules-%=%) '$(BUILD)'

# Two series more, of Debian's archive, and debug kernels of the newest: those that are not to be had
# are skipped. A warning is an error here, for `make style` compiles for 6.1 only. Any day the newest
# of sid may be one that does not fit: that fails the tests on it, not this target, or no test at all
# would be run
.PHONY: modules-others modules-newest
modules-others: kinds := 6.12 7.x
modules-newest: kinds := debug-7.x rt
modules-others modules-newest: setup
	@for kernel in $(kinds); do \
		status=0; \
		KCFLAGS=-Werror tools/build/build-modules $$kernel '$(BUILD)' || status=$$?; \
		case $$status in \
		0) ;; \
		3) echo "no $$kernel kernel, skipped" ;; \
		*) echo "nothing was built for the $$kernel kernel: its tests will fail" ;; \
		esac; \
	done

.PHONY: demo
demo: modules
	@$(PYTHON) tools/demo --build '$(BUILD)' $(demo_settings)

.PHONY: try
try: modules
	@tools/try '$(BUILD)'

# What passed before and reads nothing that changed is not run again, but with FRESH=1
check_which = $(if $(ONLY),--only '$(ONLY)') $(if $(FRESH),--fresh)
.PHONY: check
check: setup
	@needs=$$($(PYTHON) tests/check --build '$(BUILD)' --needs $(check_which)) && \
	$(MAKE) --no-print-directory setup $$needs || exit; \
	$(PYTHON) tests/check --build '$(BUILD)' --made $(check_which)

# What a change since BASE touches, without a guest: units, Python, style
.PHONY: quick
quick: setup
	@$(PYTHON) tests/check --build '$(BUILD)' --changed '$(or $(BASE),HEAD)'

# Bounds are set from this (lab.rst)
.PHONY: draws
draws: setup
	@tests/lab/draws --build '$(BUILD)' $(if $(N),-n '$(N)') '$(or $(TEST),t-mechdisk)'

# What must hold on every kernel, on one of each series
KERNEL_TESTS := smoke|scan|verify|medium|life|user|repair
kernels = $(PYTHON) tests/check --build '$(BUILD)' --kernels '6.1 6.12 7.x' \
	--only '^lab t-($(if $(ONLY),$(ONLY),$(KERNEL_TESTS))) '
.PHONY: kernels
kernels: modules modules-others
	@$(kernels)

# Drivers that nobody here wrote
controllers = $(PYTHON) tests/check --build '$(BUILD)' --folder controllers --only '^lab ' \
	--kernels '$(or $(KERNEL),6.1 6.12 7.x)' --lab-scripts '[st]-controllers.sh'
.PHONY: controllers
controllers: modules $(if $(filter-out 6.1 stock,$(or $(KERNEL),7.x)),modules-others)
	@$(controllers)

# Data races: scripts in which much goes on at once
RACE_TESTS := t-stress|t-life|t-user|t-tasks|t-scan|t-sysfs|t-moments
races = $(PYTHON) tests/check --build '$(BUILD)' --kernels race \
	--only '^lab ($(if $(ONLY),[st]-($(ONLY)),$(RACE_TESTS))) '
.PHONY: races
races: modules-race
	@$(races)

# From 6.12 on lockdep knows the freeze of a queue; with PREEMPT_RT spinlocks sleep
NEWEST_TESTS := t-stress|t-life|t-user|t-tasks|t-sysfs|s-offline|s-nomem
RT_TESTS := t-stress|t-life|t-tasks|t-sysfs
newest = $(PYTHON) tests/check --build '$(BUILD)' --kernels 'debug-7.x rt' \
	--only '^lab $(if $(ONLY),[st]-($(ONLY)) ,(($(NEWEST_TESTS)) .debug-7|($(RT_TESTS)) .rt,))'
.PHONY: newest
newest: modules-newest
	@$(newest)

.PHONY: style
style: setup
	@$(PYTHON) tools/build/check-style --build '$(BUILD)'

.PHONY: lines english
lines:
	@$(PYTHON) tools/build/lines --build '$(BUILD)'

english: setup
	@$(PYTHON) tools/build/english

.PHONY: fidelity yardstick compare-idle
fidelity: setup
	@FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench fidelity $(if $(DRIVES),--drives '$(DRIVES)') \
		--output '$(BUILD)/fidelity'

yardstick: setup
	@FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench yardstick

compare_idle = RATES='24 48 79' $(if $(SEEDS),SEEDS='$(SEEDS)') FREEBLOCK_BUILD='$(BUILD)' \
	$(PYTHON) -m pytest -s --tap tests/python/test_sim_lab_idle.py
compare-idle: modules
	@$(compare_idle)

# The simulator's part, and, if all is wanted, that of the lab: tests/lab/b-*.sh
.PHONY: bench soak
bench: $(if $(FIGURE),$(if $(filter days files lock,$(FIGURE)),modules,setup),modules)
	@status=0; FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench bench $(if $(QUICK),--quick) \
		$(if $(THROUGH),--through '$(THROUGH)') \
		$(foreach name,$(FIGURE),--figure '$(name)') || status=$$?; \
	$(if $(FIGURE),,$(PYTHON) tests/check --build '$(BUILD)' --lab-scripts 'b-*.sh' \
		--only '^lab' || status=$$?; \
	$(PYTHON) tools/examples/summarise --build '$(BUILD)' || status=$$?;) exit $$status

# Lab scripts too: tests/lab/s-*.sh, and the ways of others that say "set=soak". The fuzzer has ten
# minutes for each target, in all runs
soak_lab = $(PYTHON) tests/check --build '$(BUILD)' --set soak --only '^lab .*\((stock|debug)'
SOAK_PARTS := lab kernels controllers races newest fuzz extract
soak_parts := $(if $(PART),$(filter $(PART),$(SOAK_PARTS)),$(SOAK_PARTS))
ifneq ($(words $(PART)),$(words $(filter $(SOAK_PARTS),$(PART))))
soak:
	@echo 'soak: PART=$(PART): no such part; there are $(SOAK_PARTS)' >&2; exit 2
else
soak: $(if $(filter-out extract,$(soak_parts)),modules modules-debug,setup) \
		$(if $(filter kernels controllers,$(soak_parts)),modules-others) \
		$(if $(filter races,$(soak_parts)),modules-race) \
		$(if $(filter newest,$(soak_parts)),modules-newest)
	@status=0; \
	$(if $(filter lab,$(soak_parts)),$(soak_lab) || status=$$?; $(compare_idle) || status=$$?; \
		$(PYTHON) tools/examples/summarise --build '$(BUILD)' || status=$$?;) \
	$(if $(filter kernels,$(soak_parts)),$(kernels) || status=$$?;) \
	$(if $(filter controllers,$(soak_parts)),$(controllers) || status=$$?;) \
	$(if $(filter races,$(soak_parts)),$(races) || status=$$?;) \
	$(if $(filter newest,$(soak_parts)),$(newest) || status=$$?;) \
	$(if $(filter fuzz,$(soak_parts)),tests/fuzz/run --build '$(BUILD)' \
		--out '$(BUILD)/soak/fuzz' --seconds 600 || status=$$?;) \
	$(if $(filter extract,$(soak_parts)),FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench bench-extract \
		--output '$(BUILD)/extract' --random 1000 $(if $(SEED),--seed '$(SEED)') || status=$$?;) \
	exit $$status
endif

# A guest's events follow from its SEED
.PHONY: moments
moments: $(if $(filter stock,$(KERNEL)),modules,modules-debug)
	@tests/lab/lab --build '$(BUILD)' --kernel '$(or $(KERNEL),debug)' --timeout 20000 \
		--seed '$(or $(SEED),1)' --set EVENTS='$(or $(EVENTS),1000)' \
		tests/lab/t-moments.sh

# What was cut off goes on; FRESH=1: run all of it anew
.PHONY: blktests
blktests: modules
	@$(PYTHON) tests/blktests/run --build '$(BUILD)' $(if $(ID),--only '$(ID)') \
		$(if $(SUITE),--suite '$(SUITE)') \
		$(if $(THROUGH),--through '$(THROUGH)') $(if $(FRESH),--fresh)

# SECONDS_ and INPUTS are each target's
.PHONY: fuzz
fuzz: setup
	@tests/fuzz/run --build '$(BUILD)' $(if $(TARGET),--target '$(TARGET)') \
		$(if $(SECONDS_),--seconds '$(SECONDS_)') $(if $(INPUTS),--inputs '$(INPUTS)') \
		$(if $(FRESH),--fresh)

# FILE=core/policy.c; another SEED is another draw
.PHONY: mutants coverage
mutants: $(if $(filter lab,$(PART)),modules,setup)
	@tests/mutants/run --build '$(BUILD)' $(if $(PART),--part '$(PART)') \
		$(if $(FILE),--file '$(FILE)') $(if $(COUNT),--count '$(COUNT)') \
		$(if $(SEED),--seed '$(SEED)') $(if $(THROUGH),--through '$(THROUGH)')

coverage: setup
	@tests/coverage --build '$(BUILD)'

# A bench that was stopped goes on; FRESH=1: measure all of it anew
.PHONY: bench-peers
bench-peers: modules
	@FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench peers --build '$(BUILD)' \
		$(if $(DRIVE),--drive '$(DRIVE)') $(if $(LOAD),--load '$(LOAD)') \
		$(if $(PEER),--peer '$(PEER)') $(if $(SECONDS_),--seconds '$(SECONDS_)') \
		$(if $(SEED),--seed '$(SEED)') $(if $(SET),--set '$(SET)') \
		$(if $(THROUGH),--through '$(THROUGH)') \
		$(if $(NO_MODEL),--no-model) $(if $(WIDE),--wide) $(if $(FRESH),--fresh) \
		$(if $(KEPT),--kept)

# Likewise. CELL= is a regular expression for settings as the tables call them
.PHONY: bench-scrub
bench-scrub: modules
	@FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench bench-scrub --build '$(BUILD)' \
		$(if $(DRIVE),--drive '$(DRIVE)') $(if $(LOAD),--load '$(LOAD)') \
		$(if $(CELL),--cell '$(CELL)') $(if $(SECONDS_),--seconds '$(SECONDS_)') \
		$(if $(THROUGH),--through '$(THROUGH)') $(if $(QUICK),--quick) \
		$(if $(NO_MODEL),--no-model) $(if $(FRESH),--fresh) $(if $(KEPT),--kept)

# DRIVE=: a name of tools/mechdisk/drives, or any .fbdrive file
.PHONY: extract
extract: setup
	@FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench bench-extract --output '$(BUILD)/extract' \
		$(if $(DRIVE),--drive '$(DRIVE)') $(if $(MODE),--mode '$(MODE)') \
		$(if $(SEED),--seed '$(SEED)') $(if $(RANDOM),--random '$(RANDOM)') \
		$(if $(KIND),--kind '$(KIND)') $(if $(FRESH),--fresh)

.PHONY: validate-predict
validate-predict: setup
	@FREEBLOCK_BUILD='$(BUILD)' tools/freeblock-bench validate-predict --output '$(BUILD)/predict' \
		$(if $(CELL),--cell '$(CELL)') $(if $(SEED),--seed '$(SEED)')

.PHONY: install
install:
	@KDIR=/lib/modules/$$(uname -r)/build tools/build/build-modules other '$(BUILD)'
	install -D -m 644 '$(BUILD)/kernel-'$$(uname -r)/freeblock/freeblock.ko \
		'$(DESTDIR)/lib/modules/'$$(uname -r)/extra/freeblock.ko
	$(if $(DESTDIR),,/sbin/depmod -a)

# KVER= is a release whose headers are installed, or a folder with headers; KEY= and CERT= sign
.PHONY: kmod
kmod:
	$(if $(KVER),,$(error make kmod KVER=<release or headers> [KEY=<file> CERT=<file>]))
	$(if $(KEY)$(CERT),$(if $(and $(KEY),$(CERT)),,$(error KEY= and CERT= come together)))
	@tools/build/setup --modules
	@tools/build/make-kmod '$(BUILD)' '$(KVER)' $(if $(KEY),'$(KEY)' '$(CERT)')

.PHONY: arm64
arm64: setup
	@tools/build/make-arm64 '$(BUILD)'

.PHONY: deb
deb: setup
	@tools/build/make-deb '$(BUILD)'

.PHONY: rpm
rpm: setup
	@tools/build/make-rpm '$(BUILD)'

# GUEST=debian12: that one only; STEP=secure-boot: that step only, after the installation; zfs: which
# is in no other run
.PHONY: install-test
install-test: deb
	@tests/install/run --build '$(BUILD)' $(if $(GUEST),--guest '$(GUEST)') \
		$(foreach name,$(STEP),--step '$(name)')

.PHONY: lib install-lib
lib:
	@echo 'libfreeblock: building $(BUILD)/lib'
	@$(MAKE) -s -C tools/lib BUILD='$(BUILD)'

install-lib:
	@$(MAKE) -s -C tools/lib BUILD='$(BUILD)' install

.PHONY: examples
examples:
	@echo 'array_scrub: building $(BUILD)/array_scrub'
	@$(MAKE) -s -C tools/examples/array_scrub BUILD='$(BUILD)'

.PHONY: clean
clean:
	rm -rf '$(BUILD)'
