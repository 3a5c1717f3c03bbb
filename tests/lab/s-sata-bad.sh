# SPDX-License-Identifier: GPL-2.0
# One bad sector, as a table: on SCSI and SATA, with one, two and 32 commands at the drive and with
# NCQ switched off by libata's error handler; on the disk's first block, on its last, in a gap,
# before what the foreground reads; unreadable (UNC), not found (IDNF), aborted (ABRT); met by READ
# (scan) and by FUA or VERIFY (scrub). Beside a foreground whose data are checked.
#
# At a depth of one freeblock leaves gaps alone (state/free_reads): there the places are where the
# sector lies, and idle reads meet it, after the load but for the first block. With NCQ off, and in
# part at a depth of two, reads in gaps meet what is to be prepended. A cell's last line counts both.
#
# Expected: the sector is found once and reported once, by the errors that its kind takes; the
# foreground has no error, and waits no longer than where another program meets one such sector; NCQ
# stays on; the pass ends.
#
# lab: kernel=stock clock=icount smp=1 timeout=1800
# lab-kernel-modules: libata

. /lab/lib.sh
. /lab/files/sata-bad.sh

load_module mechdisk
load_module mechata
load_module freeblock

for interface in ${interfaces-scsi sata}; do
	for queue in ${queues-1 2 32 off}; do
		[ "$interface-$queue" != scsi-off ] || continue
		without "$interface" "$queue"
		for kind in ${kinds-unc idnf abrt}; do
			for place in ${places-first last gap prepended}; do
				for task in ${tasks-scan scrub}; do
					cell "$interface" "$queue" "$place" "$kind" "$task"
				done
			done
		done
	done
done
drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
