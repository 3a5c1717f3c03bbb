# SPDX-License-Identifier: GPL-2.0
# Modes and models of real (kernel) disks: what an extraction changes by SG_IO is put back by
# `freeblock restore` after SIGKILL, and by itself after SIGTERM; what the unit runs when
# a disk appears loads its model, and only the one of its firmware.
#
# Expected: the caching page as MODE SENSE (by sg_raw, not by our tool) shows it before, in
# between and afterwards; status files of the module.
#
# Seen to fail: put_back() that writes nothing; choose() by world-wide name alone; a kernel that
# is not told of its disk's write cache.
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab-freeblock: models restore
# lab-python: _pydecimal

. /lab/lib.sh

M=/sys/kernel/mechdisk
modes=/var/lib/freeblock/modes
store=/etc/freeblock/models
load_module mechdisk
load_module freeblock

disk=$(drive_new d tiny.fbdrive "cache 8 256 4
write_cache back") || exit 1
other=$(drive_new e tiny.fbdrive "serial OTHER") || exit 1

# caching: bytes 2 (WCE 4, RCD 1) and 12 (DRA 20, LBCSS 40) of the page, behind a header of 4
caching()
{
	sg_raw -r 24 -o /tmp/page /dev/$disk 1a 08 08 00 18 00 >/tmp/said 2>&1 || cat /tmp/said
	od -A n -v -t x1 /tmp/page | tr -d '\n' | awk '{ print $7, $17 }'
}

# quiet WHAT: modes switched off, and then this statement
quiet()
{
	/usr/bin/python3 -c "
import os, signal, sys, time
sys.path.insert(0, '/bin/cli')
from freeblock.drive import modes, sgio
with modes.quiet(sgio.Disk('/dev/$disk')) as switched:
    print('; '.join(switched.report), flush=True)
    $1
"
}

before=$(caching)
expect_eq "write cache, read cache and read-ahead are on" "$before" "04 40"

said=$(quiet "os.kill(os.getpid(), signal.SIGKILL)")
expect_eq "killed: they are off" "$(caching)" "01 60"
expect_match "the drive does not let reordering be changed" "$said" "reordering stays on.*QAM"
expect_eq "there is a journal" "$(find $modes -name "*json*" | wc -l)" 1
said=$(freeblock restore)
expect_match "restore says what it did" "$said" "MECHDISK TINY MDTINY001.*: put back$"
expect_eq "they are as before" "$(caching)" "$before"
expect_eq "no journal is left" "$(find $modes -name "*json*" | wc -l)" 0
expect_match "restore has nothing left to do" "$(freeblock restore)" "nothing to put back"

quiet "time.sleep(1000)" > /tmp/quiet &
wait_for 20 grep -q QAM /tmp/quiet
expect_eq "an extraction runs: they are off" "$(caching)" "01 60"
expect_match "restore leaves it alone" "$(freeblock restore /dev/$disk)" "left alone: process"
kill -TERM $(cat $modes/*.lock)
wait $!
expect_eq "SIGTERM: they are as before" "$(caching)" "$before"
expect_eq "SIGTERM: nothing is left" "$(ls $modes)" ""

# a kernel that looks meanwhile, as it does at boot, would not flush the cache
type=$(echo /sys/block/$disk/device/scsi_disk/*/cache_type)
expect_eq "the kernel flushes" "$(cat $type)" "write back"
quiet "os.kill(os.getpid(), signal.SIGKILL)" > /dev/null
echo 1 > /sys/block/$disk/device/rescan
expect_eq "it looked: it would not" "$(cat $type)" "none"
flushes=$(drive_stat d flushes)
freeblock restore > /dev/null
expect_eq "restored: it does again" "$(cat $type)" "write back"
expect_ge "what came in between is flushed" $(drive_stat d flushes) $((flushes + 1))

quiet "os.kill(os.getpid(), signal.SIGKILL)" > /dev/null
drive_off d
expect_match "no disk: the journal is kept" "$(freeblock restore)" "not here; the journal is kept"
echo 1 > $M/d/power
wait_for 30 grep -q 'on sd' $M/d/status
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/d/status)
wait_for 30 [ -b /dev/$disk ]
expect_match "back after a power cycle: nothing to write" "$(freeblock restore)" \
	"had its values already"

# ---- models

expect_ok "a model is installed" freeblock models install --disk $disk /lab/files/tiny.fbmodel
name=$(ls $store)
expect_match "by world-wide name and firmware" "$name" '^naa\.[0-9a-f]{16}-1\.fbmodel$'
expect_match "it is listed" "$(freeblock models list)" "MECHDISK TINY, 50129 sectors; $disk, not"
quiet "os.kill(os.getpid(), signal.SIGKILL)" > /dev/null

# what the unit runs, for both disks
for name in $disk $other; do
	freeblock models load --at-boot --scheduler $name > /tmp/load-$name 2>&1
	expect_eq "the unit's command for $name" $? 0
done
expect_match "its model is loaded" "$(cat $(fb $disk)/model_status)" "loaded.*TINY"
expect_eq "it has the scheduler" "$(sched_get $disk)" freeblock
expect_eq "its modes were put back first" "$(caching)" "$before"
expect_match "the other disk has no model" "$(cat /tmp/load-$other)" "there is no model"
expect_ne "and keeps its scheduler" "$(sched_get $other)" freeblock

drive_off d
echo "revision 2" > $M/d/description
echo 1 > $M/d/power
wait_for 30 grep -q 'on sd' $M/d/status
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' $M/d/status)
wait_for 30 [ -b /dev/$disk ]
expect_fail "other firmware: refused" freeblock models load --scheduler $disk
expect_match "and said why" "$(freeblock models load $disk 2>&1)" "firmware 2, and there are models"
expect_ne "it keeps its scheduler" "$(sched_get $disk)" freeblock

done_testing
