# SPDX-License-Identifier: GPL-2.0
# What the commands advise (tools/cli/freeblock/base/advice.py): a disk is brought into each state that
# hinders, the command that is printed behind "run: " is run as it stands, and the state is over.
#
# A disk without a model is no such state: nothing is advised.
#
# Expected: the module's own files, before and after. A drive is not measured here: the model that
# setup would measure is installed before, and the advice to measure a drive anew is only looked at.
#
# Seen to fail: "stop it first" without a command; "echo freeblock > /sys/block/DISK/queue/scheduler".
#
# lab: kernel=stock clock=icount smp=1 timeout=400
# lab-kernel-modules: null_blk
# lab-freeblock: enable setup off scrub status top conf models guard
# lab-python: freeblock.extraction.refuse freeblock.commands.observe freeblock.tuning.record freeblock.tracefile.detect _pydecimal concurrent.futures.thread
# lab-programs: sim

. /lab/lib.sh

M=/sys/kernel/mechdisk

# said COMMAND...: /tmp/said is what it prints; $status: its exit status
said()
{
	"$@" > /tmp/said 2>&1
	status=$?
}

# follow NAME: run the command that was said
follow()
{
	advice=$(sed -n 's/.*run: //p' /tmp/said | head -n 1)
	note "$1: run: $advice"
	expect_ne "$1: there is a command" "$advice" ""
	expect_no_match "$1: which names what is there" "$advice" 'sdX|DISK|DEVICE|FILE|\.\.\.'
	sh -c "$advice" > /tmp/followed 2>&1
	followed=$?
}

# followed NAME: and it did well
followed()
{
	follow "$1"
	[ $followed = 0 ] || not_ok "$1: the command" "status $followed: $(cat /tmp/followed)"
}

scheduling()
{
	state "$disk" scheduling
}

knowledge()
{
	state "$disk" knowledge
}

install_model()
{
	freeblock models install "$(lab_file "$1")" --disk "$disk" > /dev/null || die "no model $1"
}

# given_up: reads of the skewed model's disk end at no angle of it
given_up()
{
	iosched "$disk" depth 2
	fio_run load --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=8 --rw=randread \
		--bs=4k --norandommap --randseed=7 --allrandrepeat=1 --time_based --runtime=8
	iosched "$disk" depth auto
	expect_eq "$1: given up" "$(state "$disk" phase)" given-up
}

load_module mechdisk
install_freeblock
disk=$(drive_new d tiny.fbdrive) || exit 1
sched_set "$disk" mq-deadline
install_model tiny.fbmodel

said freeblock status
expect_match "no module: status" "$(cat /tmp/said)" "is not loaded; run: "
followed "no module"
expect_ok "no module: loaded" grep -q '^freeblock ' /proc/modules

said freeblock status
expect_match "no disk: status" "$(cat /tmp/said)" "the module knows no disk"
followed "no disk"
expect_eq "no disk: scheduling" "$(scheduling)" yes
expect_eq "no disk: with the model that is there" "$(knowledge)" map

said freeblock scrub "$disk" pause
expect_match "no scrub" "$(cat /tmp/said)" "is not being scrubbed"
followed "no scrub"
expect_eq "no scrub: it runs" "$(job "$disk" scrub)" running

sched_set "$disk" mq-deadline
said freeblock top --once --seconds 0.1
expect_le "another scheduler: columns of top" "$(wc -L < /tmp/said)" 80
top=$(sed -n 's/.*run: //p' /tmp/said)
said freeblock status "$disk" --seconds 0
followed "another scheduler"
expect_eq "another scheduler: the same in top" "$top" "$advice"
expect_eq "another scheduler: scheduling" "$(scheduling)" yes
expect_eq "another scheduler: the scrub goes on" "$(job "$disk" scrub)" running

mount -t tmpfs none /sys/kernel/debug || die "no tmpfs"
said freeblock status "$disk" --seconds 0
followed "no debugfs"

said freeblock scrub "/dev/$disk" start
expect_match "scrubbed already" "$(cat /tmp/said)" "is being scrubbed already"
followed "scrubbed already"
freeblock scrub "$disk" stop

# a model whose phase was given up; tasks stay
install_model tiny-skewed.fbmodel
freeblock setup "/dev/$disk" --quiet > /tmp/said 2>&1
expect_eq "a wrong model: believed at first" "$(knowledge)" map
given_up "a wrong model"
expect_match "given up: knowledge" "$(knowledge)" ": reads end at no angle of the model"
expect_ok "a scrub begins" freeblock scrub "$disk" start
said freeblock status "$disk" --seconds 0
# no drive is measured here
expect_match "given up: the command" "$(cat /tmp/said)" "run: freeblock setup /dev/$disk --measure"
expect_eq "given up: the scrub goes on" "$(job "$disk" scrub)" running

# another model, beside a task
install_model tiny.fbmodel
expect_ok "beside a task: setup ends well" freeblock setup "/dev/$disk" --quiet
expect_eq "beside a task: that goes on" "$(job "$disk" scrub)" running
install_model tiny-coarse.fbmodel
said freeblock setup "/dev/$disk" --quiet
expect_eq "other blocks beside a task: setup ends" $status 1
expect_match "other blocks beside a task" "$(cat /tmp/said)" "blocks of 8 sectors.*: stop it first; run: "
followed "other blocks beside a task"
expect_eq "other blocks beside a task: it is stopped" "$(job "$disk" scrub)" stopped
expect_ok "other blocks: then setup ends well" freeblock setup "/dev/$disk" --quiet
install_model tiny.fbmodel
expect_ok "the first ones again" freeblock setup "/dev/$disk" --quiet
expect_ok "beside a task: with that model" cmp -s "$(fb "$disk")/model" "$(model_table tiny.fbmodel)"
expect_eq "beside a task: knowledge" "$(knowledge)" map

model_load "$disk" distrusted-tiny.fbmodel
expect_match "distrusted" "$(knowledge)" ": the model is distrusted"
expect_eq "distrusted: the disk is served" "$(scheduling)" yes
said freeblock status --check
expect_eq "distrusted: a warning" $status 1
said freeblock status "$disk" --seconds 0
followed "distrusted"
expect_eq "distrusted: knowledge" "$(knowledge)" map

# memory
echo 1 > /sys/module/freeblock/parameters/memory_mib
said freeblock scrub "$disk" start
note "memory: $(tail -n 1 /tmp/said)"
expect_ne "memory: refused" $status 0
followed "memory"

# the module forgets its models: nothing is advised, and the disk is served
sched_set "$disk" mq-deadline
expect_within "unload" 20 unload_module freeblock
modprobe freeblock
sched_set "$disk" freeblock
expect_match "no model" "$(knowledge)" ": no model$"
expect_ok "no model: a scrub begins" freeblock scrub "$disk" start
said freeblock status "$disk" --seconds 0
expect_match "no model: status" "$(cat /tmp/said)" "scheduler freeblock, scheduling"
expect_no_match "no model: nothing to run" "$(cat /tmp/said)" "run: "
freeblock scrub "$disk" stop

# the guard
sed -i 's/"boot_id": "[^"]*"/"boot_id": "another"/' /var/lib/freeblock/guard/armed.json
said freeblock models load --at-boot --scheduler "$disk"
expect_match "kept off" "$(cat /tmp/said)" "stays off"
followed "kept off"
expect_ok "kept off: it starts" freeblock models load --at-boot --scheduler "$disk"

# new firmware
python3 - > /tmp/revision1.fbmodel <<-END
	import sys
	sys.path.insert(0, "/bin/cli")
	from freeblock.formats import fbmodel
	with open("/lab/files/tiny.fbmodel", "rb") as file:
	    lines = file.read().splitlines()[:-1]
	lines.insert(1, b"revision 1")
	sys.stdout.buffer.write(fbmodel.seal(b"\n".join(lines) + b"\n"))
END
install_model /tmp/revision1.fbmodel
expect_ok "a model of this firmware" freeblock models load "$disk"
drive_off d
wait_for 30 [ ! -e "/sys/block/$disk" ]
echo 'revision 2' > $M/d/description
echo 1 > $M/d/power
expect_ok "the drive comes back" wait_for 30 grep -q 'on sd' $M/d/status
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/d/status)
wait_for 30 [ -b "/dev/$disk" ]
sched_set "$disk" freeblock
said freeblock status "$disk" --seconds 0
expect_match "new firmware" "$(cat /tmp/said)" "firmware is no longer the model's"
expect_eq "new firmware: the disk is served" "$(scheduling)" yes
install_model tiny.fbmodel
followed "new firmware"
expect_eq "new firmware: knowledge" "$(knowledge)" map
expect_ok "off" freeblock off "/dev/$disk"

# a disk that does not suit
modprobe freeblock
modprobe null_blk nr_devices=1 || load_module null_blk nr_devices=1
echo freeblock > /sys/block/nullb0/queue/scheduler
disk=nullb0
expect_eq "solid state" "$(scheduling)" "solid state"
said freeblock status --check
expect_eq "solid state: a warning" $status 1
said freeblock status nullb0 --seconds 0
followed "solid state"
expect_eq "solid state: left alone" "$(sched_get nullb0)" mq-deadline
done_testing
