# SPDX-License-Identifier: GPL-2.0
# A guest of make moments: a drive, freeblock, and the program moments, which makes the events and
# tells run of them; then all is taken down.
#
#	MO_SEED		what is drawn follows from it
#	MO_EVENTS	how many events
#	MO_ONLY		names of kinds, divided by commas; empty: all
#
# Seen to fail with, 25 events each on the stock kernel: each 300th request not entered into the
# pool (a hang); a bit of each 200th record of a task inverted (19 sectors wrong); the mutex of a
# disk's life kept by the ninth start of a task (scan and scrub never stop); a reference to the
# module kept by the fifth close (it cannot be removed). Not noticed in 25 events: no
# RQF_MIXED_MERGE in fb_free_read_prepend(), which t-medium.sh sees.
#
# lab-programs: moments
# lab-starves: memory

. /lab/lib.sh

M=/sys/kernel/mechdisk
kind=tiny
# A command fails for good after six of these, the error handler's work for others included: one
# second each was too little, and a read failed that the drive had not refused.
lines="timeout_ms 3000"
if [ "$LAB_CLOCK" = real ]; then
	kind=slow
	lines="timeout_ms 4000
hw_queues 4"
fi

# What this machine and its kernel can be made to suffer
capabilities()
{
	[ "$LAB_SMP" = 1 ] || echo cpus
	[ ! -d /sys/kernel/debug/failslab ] || echo faults
	grep -q freeze /sys/power/state 2>/dev/null && [ -e /sys/power/pm_test ] && echo suspend
	[ -e /sys/fs/cgroup/moments/io.max ] && echo cgroup
}

# Everybody who asks for blocks is in it
cgroup()
{
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || return
	echo +io > /sys/fs/cgroup/cgroup.subtree_control || return
	mkdir /sys/fs/cgroup/moments
}

for module in mq-deadline bfq kyber-iosched; do
	modprobe -q $module
done
load_module mechdisk
load_module freeblock
disk=$(drive_new d $kind.fbdrive "serial MDd
$lines") || exit 1
# takes the name while the disk is away
echo filler > $M/new
cat "$(lab_file $kind.fbdrive)" > $M/filler/description
echo "serial MDfiller" > $M/filler/description
for model in right swift skewed; do
	freeblock-model "/lab/moments/$kind-$model.fbmodel" > /tmp/model-$model || die "no model"
done
sched_set "$disk" freeblock || die "no freeblock"
cat /tmp/model-right > "$(fb "$disk")/model" || die "the model is refused"
expect_eq "scheduling" "$(state "$disk" scheduling)" yes
cgroup
able=$(capabilities | tr '\n' ',')
note "able: $able"

( while sleep 5; do echo mo alive; done ) &
alive=$!
# shellcheck disable=SC2016
sh -c '[ ! -d /sys/fs/cgroup/moments ] || echo $$ > /sys/fs/cgroup/moments/cgroup.procs
	exec moments run "$@"' run "$disk" "$MO_SEED" "$MO_EVENTS" 1 "$able" "$MO_ONLY"
expect_eq "the program" $? 0
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/d/status | head -n 1)
numbers "$disk" state stats > /out/status
cat $M/d/stats > /out/drive-stats
expect_within "to none" 60 sched_set "$disk" none
expect_within "freeblock unloads" 60 unload_module freeblock
expect_within "the drive goes" 60 drive_off d
expect_within "mechdisk unloads" 60 unload_module mechdisk
kill $alive
done_testing
