# SPDX-License-Identifier: GPL-2.0
# A disk of which nothing is known. A scan and a scrub are served from the first second, a bad block
# is found once, a model that comes or proves wrong changes what is used and not whether. The
# foreground goes to the drive in the order that was asked for, and none of it is held; with
# idle_only that holds with a model, too.
#
# Expected: Documentation/levels.rst.
#
# Seen to fail with: sstf in spite of idle_only; no long first VERIFY (6260 blocks unverified); tasks
# that are served with a map only (no scan); an idle_only that is not looked at ("map").
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

M=/sys/kernel/mechdisk
T=/sys/kernel/tracing

# fresh FILE [LINES]: a drive without a model
fresh()
{
	[ ! -d $M/d ] || echo d > $M/delete
	disk=$(drive_new d "$1" "$2") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
}

job_over()
{
	! grep -Eq '^(running|stopping)' "$(fb "$disk")/$1"
}

# sectors EVENT: those of the foreground, in order; ours are longer
sectors()
{
	awk -v event="$1:" '$0 ~ event { for (i = 1; i < NF; i++)
		if ($i == "+" && $(i + 1) == 8) print $(i - 1) }' $T/trace
}

# issued FILE: the sectors of 256 requests, 32 at a time, in the order they are sent in; and
# FILE.came in the order they came in
issued()
{
	echo > $T/trace
	echo 1 > $T/events/block/block_rq_issue/enable
	echo 1 > $T/events/block/block_bio_queue/enable
	fio_run load --filename=/dev/"$disk" --ioengine=libaio --direct=1 --rw=randrw --bs=4k \
		--iodepth=32 --number_ios=256 --randseed=7 --allow_file_create=0
	echo 0 > $T/events/block/block_rq_issue/enable
	echo 0 > $T/events/block/block_bio_queue/enable
	sectors block_rq_issue > "$1"
	sectors block_bio_queue > "$1.came"
	expect_eq "$1: all requests are seen" "$(wc -l < "$1")" 256
}

# way FILE: MB between one request and the next, on the mean
way()
{
	awk 'NR > 1 { d = $1 - last; sum += d < 0 ? -d : d } { last = $1 }
		END { printf "%.0f\n", sum / (NR - 1) / 1953 }' "$1"
}

has_read()
{
	[ "$(job "$disk" scan blocks_delivered)" -gt "$1" ]
}

mount -t tracefs nodev $T 2>/dev/null
load_module mechdisk
load_module freeblock

### A scan and a scrub

fresh tiny.fbdrive
expect_eq "nothing is known" "$(state "$disk" knowledge)" "none: no model"
expect_eq "it is served" "$(state "$disk" scheduling)" yes
expect_eq "its blocks" "$(cat "$(fb "$disk")/granule_bytes")" 4096
expect_eq "gaps are not used" "$(state "$disk" free_reads)" "off: no map of the drive is in use"
expect_eq "who orders" "$(state "$disk" order)" drive
blocks=$((($(cat "/sys/block/$disk/size") + 7) / 8))
echo start > "$(fb "$disk")/scan"
expect_ok "a scan ends" wait_for 60 job_over scan
# Seen to fail with fb_idle_policy_knows() that is always false.
expect_eq "what reads take is known" "$(state "$disk" knowledge)" "rates: no model"
expect_eq "it has read all" "$(job "$disk" scan) $(job "$disk" scan blocks_verified)" \
	"finished $blocks"
echo "add 30000 1" > $M/d/medium_errors
echo start > "$(fb "$disk")/scrub"
expect_ok "a scrub ends" wait_for 400 job_over scrub
note "after $(cut -d" " -f1 /proc/uptime) s"
expect_eq "verified, bad, left out, unverified" "$(for n in verified bad skipped unverified; do
	job "$disk" scrub blocks_$n; done | xargs)" "$((blocks - 1)) 1 0 0"
expect_eq "the bad block" "$(cut -d' ' -f1,2 "$(debug "$disk")/bad_blocks" | xargs)" "30000 8"
expect_le "reads that failed" "$(stats "$disk" free_errors)" 2
note "medium: $(state "$disk" medium)"

### What the foreground sees

fresh nearline16.fbdrive
echo 1000 > "$(fb "$disk")/idle_wait_us"
echo 10000000 > "$(fb "$disk")/idle_mean_us"
# so that a scheduler has something to order
echo 4 > /sys/block/"$disk"/device/queue_depth
echo start > "$(fb "$disk")/scan"
wait_for 30 has_read 0 || die "no scan"
issued /tmp/auto
expect_le "mq-deadline's order: a shorter way than that of arrival" \
	"$(way /tmp/auto)" $(($(way /tmp/auto.came) * 3 / 4))
expect_eq "auto: who orders" "$(state "$disk" order)" drive
iosched "$disk" policy sstf
issued /tmp/sstf
note "way: arrival $(way /tmp/auto.came), mq-deadline $(way /tmp/auto), sstf $(way /tmp/sstf)"
expect_le "sstf: the nearest" "$(way /tmp/sstf)" $(($(way /tmp/sstf.came) / 4))
expect_eq "sstf: who orders" "$(state "$disk" order)" policy
echo 1 > "$(fb "$disk")/idle_only"
issued /tmp/sstf-idle
expect_ge "sstf with idle_only: mq-deadline's" "$(way /tmp/sstf-idle)" $(($(way /tmp/sstf) * 2))
expect_ok "the scan goes on" wait_for 10 has_read "$(job "$disk" scan blocks_delivered)"

### A model comes, and is not used for the foreground

total=$(job "$disk" scan blocks_total)
model_load "$disk" nearline16.fbmodel
expect_match "idle_only with a model" "$(state "$disk" knowledge)" ": idle_only is set$"
expect_eq "the scan is the same" "$(job "$disk" scan) $(job "$disk" scan blocks_total)" \
	"running $total"
iosched "$disk" policy auto
issued /tmp/idle-only
expect_le "idle_only: mq-deadline's order" \
	"$(way /tmp/idle-only)" $(($(way /tmp/idle-only.came) * 3 / 4))
expect_eq "idle_only: nothing in gaps" \
	"$(stats "$disk" prepends) $(stats "$disk" separates)" "0 0"
echo 0 > "$(fb "$disk")/idle_only"
expect_eq "a model" "$(state "$disk" knowledge)" map
expect_ok "the scan goes on with it" wait_for 10 has_read "$(job "$disk" scan blocks_delivered)"
scan_stop "$disk"

### Models that come while a scan runs, the last one proves wrong

# load NAME SECONDS
load()
{
	fio_run "$1" --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --bs=4k --norandommap --time_based --runtime="$2"
}

fresh tiny.fbdrive
iosched "$disk" depth 2
echo 0 > "$(fb "$disk")/idle_mean_us"
echo start > "$(fb "$disk")/scan"
load without 3
expect_eq "no model, and no idle time: nothing is read" "$(job "$disk" scan blocks_delivered)" 0
expect_fail "a model of other blocks than the scan's" \
	cp "$(model_table tiny-coarse.fbmodel)" "$(fb "$disk")/model"
expect_match "and why" "$(cat "$(fb "$disk")/model_status")" "blocks of 8 sectors.* stop it first"
model_load "$disk" tiny.fbmodel
expect_eq "a model: it is used" "$(state "$disk" knowledge)" map
load with 4
gaps=$(job "$disk" scan blocks_delivered)
expect_ge "in gaps" "$(($(stats "$disk" prepends) + $(stats "$disk" separates)))" 10
expect_ge "the scan has got them" "$gaps" 10
model_load "$disk" tiny-swift.fbmodel
expect_eq "another one: it is believed at first" "$(state "$disk" knowledge)" map
load wrong 12
expect_match "given up" "$(state "$disk" knowledge)" "^(none|rates): "
note "knowledge: $(state "$disk" knowledge); blocks $gaps $(job "$disk" scan blocks_delivered)"
echo 1000 > "$(fb "$disk")/idle_wait_us"
echo 10000000 > "$(fb "$disk")/idle_mean_us"
expect_ok "the scan ends all the same" wait_for 60 job_over scan
expect_eq "each block was read once" \
	"$(job "$disk" scan) $(job "$disk" scan blocks_verified) $(job "$disk" scan blocks_delivered)" \
	"finished $blocks $blocks"

sched_set "$disk" none
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
