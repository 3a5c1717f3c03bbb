# SPDX-License-Identifier: GPL-2.0
# A disk of which nothing is known: a scan, a scrub and a module's task are served from the first
# minute, in idle time, beside a foreground whose data are checked. The foreground is neither
# reordered nor held. A bad block is found. A policy set by name is accepted. A model that comes
# later, or proves wrong, changes what is used and not whether.
#
# Expected: Documentation/levels.rst.
#
# lab: kernel=stock clock=icount smp=1 timeout=300

. /lab/lib.sh

M=/sys/kernel/mechdisk

# fresh FILE [LINES]: a drive without a model
fresh()
{
	[ ! -d $M/d ] || echo d > $M/delete
	disk=$(drive_new d "$1" "$2") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
}

over()
{
	! grep -Eq '^(running|stopping)' "$(fb "$disk")/$1"
}

load_module mechdisk
load_module freeblock

### A scan and a scrub of a quiet disk

fresh tiny.fbdrive
expect_eq "nothing is known" "$(state "$disk" knowledge)" "none: no model"
expect_eq "and it is served" "$(state "$disk" scheduling)" yes
expect_eq "its blocks" "$(cat "$(fb "$disk")/granule_bytes")" 4096
expect_eq "gaps are not used" "$(state "$disk" free_reads)" "off: no map of the drive is in use"
expect_eq "who orders" "$(state "$disk" order)" drive
blocks=$(($(cat "/sys/block/$disk/size") / 8))
echo start > "$(fb "$disk")/scan"
wait_for 120 over scan
expect_eq "a scan ends" "$(job "$disk" scan)" finished
expect_eq "it has read all" "$(job "$disk" scan done_blocks)" "$blocks"
echo "add 4242" > $M/d/medium_errors
echo start > "$(fb "$disk")/scrub"
wait_for 120 over scrub
note "$(cat "$(fb "$disk")/scrub") $(state "$disk" medium)"
cat "$(fb "$disk")"/scrub_stats/* | tr '\n' ' ' | sed 's/^/# /'
echo
done_testing
