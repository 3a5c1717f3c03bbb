# SPDX-License-Identifier: GPL-2.0
# freeblock probe of a simulated drive, by the kernel's SG_IO and without the module: times are those of
# the drive's description, nothing is written, and no module is loaded.
#
# Expected: one revolution of nearline16.fbdrive; whether reads with FUA and VERIFY come from the medium is
# the drive's own doing.
#
# Seen to fail: READ (16) without its FUA bit (read_fua_again_us of a hit).
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab-freeblock: probe
# lab-python: _pydecimal

. /lab/lib.sh

# value KEY STATISTIC: of the report
value()
{
	python3 -c 'import json, sys; print(json.load(open("/tmp/report"))["behaviour"][sys.argv[1]][sys.argv[2]])' \
		"$1" "$2"
}

load_module mechdisk
disk=$(drive_new d nearline16.fbdrive) || exit 1
writes=$(awk '{ print $5 }' "/sys/block/$disk/stat")
expect_ok "probe" freeblock probe "/dev/$disk" --report /tmp/report --minutes .1 --quiet
turn=$(awk '$1 == "period_ps" { print int($2 / 1e6) }' "$(lab_file nearline16.fbdrive)")
note "a revolution: $turn us; $(tr -d ' \n' < /tmp/report | tail -c 2000)"
expect_ge "FUA: a revolution, us" "$(value read_fua_again_us p50)" $((turn * 95 / 100))
expect_le "FUA: no more, us" "$(value read_fua_again_us p50)" $((turn * 120 / 100))
expect_ge "VERIFY: a revolution, us" "$(value verify_again_us p50)" $((turn * 95 / 100))
expect_le "a block that was read before, us" "$(value read_again_us p50)" $((turn / 2))
expect_eq "nothing is written" "$(awk '{ print $5 }' "/sys/block/$disk/stat")" "$writes"
expect_eq "the module is not loaded" "$(grep -c ^freeblock /proc/modules)" 0
unload_module mechdisk
done_testing
