#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs in guests that boot from the root with our packages, on a simulated disk, with the module
# that DKMS built. Five boots: a disk is set up and its scrub begins; after a boot it goes on; the
# kernel's command line keeps it off; the machine goes down soon after it was started; so it stays
# off until that is allowed again, freeblock.conf has the disk scrubbed, all is switched off, and it
# is set up once more.
# Two boots with Secure Boot: the module is refused, and loads when the key is
# known. One with a pool of ZFS' on the disk, one with sixty disks, one with a canary. Says
# "guest ok WHAT" or "guest not WHAT: WHY", and reboots, or switches off.

say()
{
	# getty's prompt may stand in the line
	printf '\nguest %s\n' "$*" > /dev/ttyS0
}

# check WHAT COMMAND...
check()
{
	what=$1
	shift
	if said=$("$@" 2>&1); then
		say "ok $what"
	else
		say "not $what: $(echo "$said" | tr '\n' ' ' | tail -c 300)"
	fi
}

# wait_for SECONDS COMMAND...
wait_for()
{
	left=$1
	shift
	while ! "$@"; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 1
	done
}

is()
{
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

# number NAME: of debugfs
number()
{
	sed -n "s,^$1 ,,p" "/sys/kernel/debug/freeblock/$disk/numbers" 2>/dev/null
}

more_than()
{
	[ "$(number "$1")" -gt "$2" ] 2>/dev/null
}

# drive NAME TEXT: a simulated disk
drive()
{
	echo "$1" > /sys/kernel/mechdisk/new &&
	echo "$2" > "/sys/kernel/mechdisk/$1/description" &&
	echo 1 > "/sys/kernel/mechdisk/$1/power" &&
	wait_for 60 grep -q 'on sd' "/sys/kernel/mechdisk/$1/status"
}

# a simulated disk; sets $disk and $fb
simulated()
{
	insmod /root/mechdisk/mechdisk.ko
	check "a simulated disk" drive sim "$(cat /usr/share/freeblock/drives/toy.fbdrive)"
	disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' /sys/kernel/mechdisk/sim/status | head -n 1)
	fb=/sys/kernel/freeblock/$disk
	wait_for 60 [ -b "/dev/$disk" ]
	[ -e /root/scheduler ] ||
		sed 's/.*\[\(.*\)\].*/\1/' "/sys/block/$disk/queue/scheduler" > /root/scheduler
}

# has WHAT: its scheduler
has()
{
	grep -q "\[$1\]" "/sys/block/$disk/queue/scheduler"
}

setup()
{
	freeblock setup "/dev/$disk" --model /usr/share/freeblock/models/toy.fbmodel --observe 0 \
		--quiet && has freeblock && is "$fb/state/scheduling" yes
}

# as Documentation/scan-scrub.rst says it
scrub_service()
{
	freeblock scrub "$disk" install-service > /etc/systemd/system/freeblock-scrub@.service &&
	systemctl daemon-reload && systemctl -q enable --now "freeblock-scrub@$disk" &&
	wait_for 300 more_than scrub_stats/blocks_verified 100 &&
	number scrub_stats/blocks_verified > /root/verified &&
	number scrub_stats/began > /root/began
}

unloads()
{
	has "$(cat /root/scheduler)" && [ ! -e /sys/module/freeblock ]
}

first()
{
	simulated
	check "freeblock setup" setup
	check "the guard waits for a clean shutdown" systemctl -q is-active freeblock-guard
	check "a scrub goes on" scrub_service
	check "freeblock status" freeblock status
	[ "$(cat "$fb/scrub")" = running ] || say "not the scrub is not over yet: $(cat "$fb/scrub")"
}

second()
{
	simulated
	check "freeblock may start" freeblock guard status
	check "the disk has the scheduler" wait_for 120 has freeblock
	check "and the model" wait_for 120 is "$fb/state/scheduling" yes
	check "the scrub goes on where it was" wait_for 300 more_than \
		scrub_stats/blocks_before $(($(cat /root/verified) - 1))
	check "it is the same pass" [ "$(number scrub_stats/began)" = "$(cat /root/began)" ]
	check "and reads on" wait_for 300 more_than scrub_stats/blocks_verified \
		"$(number scrub_stats/blocks_before)"
}

# an event is found by its message id, and explained; the same that the guard would tell
told()
{
	mkdir -p /var/lib/freeblock/guard &&
	echo '{"reason": "the test says so"}' > /var/lib/freeblock/guard/held.json &&
	! freeblock models load --at-boot --scheduler "$disk" &&
	wait_for 30 explained &&
	freeblock guard allow
}

explained()
{
	journalctl -q -x -o short MESSAGE_ID=2d54e979843c403fac4290bdab6ca415 > /root/explained
	grep -q "$disk: freeblock stays off: the test says so" /root/explained &&
	grep -q "freeblock guard allow.* has it started again" /root/explained
}

# With freeblock.off=1 nothing is started, also not by hand through the unit
switched_off()
{
	simulated
	check "freeblock.off=1: the unit starts nothing" fails_with "" \
		systemctl start "freeblock-disk@$disk"
	check "the disk keeps its scheduler" has "$(cat /root/scheduler)"
	check "the module is not loaded" [ ! -e /sys/module/freeblock ]
	check "freeblock guard status says why" fails_with "freeblock.off=1" freeblock guard status
	check "and so does freeblock status" says "freeblock.off=1" freeblock status
}

# The machine goes down within ten minutes of its start, without a word to the disk
goes_down()
{
	simulated
	check "the disk has the scheduler" wait_for 120 has freeblock
	say "end"
	echo third > /root/stage
	# what this test writes is to last; what freeblock leaves has to by itself
	sync /root/stage
	echo b > /proc/sysrq-trigger
}

# by hand, as somebody who was told why: systemd, too, is to forget that it failed
starts_again()
{
	freeblock guard allow && systemctl reset-failed &&
	systemctl start "freeblock-disk@$disk" && has freeblock && is "$fb/state/scheduling" yes
}

# the unit that freeblock-due.service starts: what was left of the pass may be over by now
due_ran()
{
	[ "$(systemctl show -P ExecMainStartTimestampMonotonic "freeblock-due@$disk")" -gt 0 ]
}

scrubbed_by_conf()
{
	printf '[all]\nscrub_every_days = 30\npace_days = none\n' > /etc/freeblock.conf &&
	systemctl start freeblock-due.service && wait_for 120 due_ran &&
	wait_for 300 more_than scrub_stats/blocks_verified 100 ||
		{ cat "$fb/scrub"; systemctl status "freeblock-due@$disk"; false; }
}

third()
{
	simulated
	check "after that it stays off" wait_for 120 \
		systemctl -q is-failed "freeblock-disk@$disk"
	check "the disk keeps its scheduler" has "$(cat /root/scheduler)"
	check "freeblock guard status says why" fails_with "went down within ten minutes" \
		freeblock guard status
	check "allowed again it starts" starts_again
	check "an event is in the journal, and explained" told
	systemctl -q disable --now "freeblock-scrub@$disk"
	rm /etc/systemd/system/freeblock-scrub@.service
	check "freeblock.conf's timer starts a scrub" scrubbed_by_conf
	check "freeblock off --all" freeblock off --all
	check "scheduler and module are as before" unloads
	rm /etc/freeblock.conf
	left=$(find /etc /usr/local /lib/systemd/system -name '*freeblock*' ! -path '/etc/alternatives/*')
	[ -z "$left" ] || say "not nothing is left in /etc: $left"
	check "set up again, for the upgrade and the purge" setup
}

# says WHAT COMMAND..., whatever its status
says()
{
	pattern=$1
	shift
	"$@" > /root/said 2>&1 || true
	grep -q "$pattern" /root/said || { cat /root/said; false; }
}

# fails_with WHAT COMMAND...
fails_with()
{
	pattern=$1
	shift
	if "$@" > /root/said 2>&1; then
		echo "it did not fail"
		return 1
	fi
	grep -q "$pattern" /root/said || { cat /root/said; false; }
}

# types WORDS...: a person who types the password after each of the questions, at a terminal of
# mokutil's own: at the console, from which a login was taken, nothing arrived in Debian 13
types()
{
	for words in "$@"; do
		wait_for 120 grep -q "$words" /root/asked
		# what is typed while echo is being switched off is forgotten
		sleep 2
		echo enrol-freeblock
	done
}

# mokutil asks for a password twice
import_key()
{
	: > /root/asked
	types "input password:" "input password again:" |
		script -q -e -f -c "mokutil --import $key" /root/asked
	mokutil --list-new | grep -q "DKMS module signing key"
}

refused()
{
	dpkg -i /root/mokutil/*.deb > /root/dpkg 2>&1
	check "Secure Boot is on" says "SecureBoot enabled" mokutil --sb-state
	check "the kernel has locked itself" grep -qF "[integrity]" /sys/kernel/security/lockdown
	check "the key is not known" says "is not enrolled" mokutil --test-key "$key"
	check "modprobe is refused" fails_with "Key was rejected\|Operation not permitted" \
		modprobe freeblock
	check "freeblock setup would say what to do" fails_with "mokutil --import $key" \
		python3 -c "from freeblock.machine import kernel; kernel.load()"
	check "mokutil asks for the key to be enrolled" import_key
}

enrolled()
{
	check "the key is known" says "already enrolled" mokutil --test-key "$key"
	check "modprobe" modprobe freeblock
	# its module has the same signature
	simulated
	check "freeblock setup" setup
	check "a scrub goes on" scrub_service
	check "freeblock status" freeblock status
	check "freeblock metrics" freeblock metrics
	check "freeblock off --all" freeblock off --all
}

# reads of the file by who has it in no cache: all that the disk's scheduler got
pool_read()
{
	zpool export tank && zpool import -d /dev tank &&
	before=$(number stats/fg_reads) &&
	md5sum < /tank/file | cmp - /root/sum &&
	echo "$(($(number stats/fg_reads) - before)) reads" &&
	[ $(($(number stats/fg_reads) - before)) -ge 32 ]
}

pool_file()
{
	before=$(number stats/fg_writes) &&
	dd if=/dev/urandom of=/tank/file bs=1M count=32 conv=fsync && zpool sync tank &&
	md5sum < /tank/file > /root/sum &&
	[ $(($(number stats/fg_writes) - before)) -ge 32 ]
}

scrubs_the_disk()
{
	echo start > "$fb/scrub" && wait_for 60 more_than scrub_stats/blocks_verified 0
}

pool_scrub()
{
	verified=$(number scrub_stats/blocks_verified) &&
	before=$(number stats/background_sent) &&
	zpool scrub -w tank && zpool status tank > /root/said &&
	grep -q "scrub repaired 0B .* with 0 errors" /root/said &&
	grep -q "errors: No known data errors" /root/said &&
	[ "$(cat "$fb/scrub")" = running ] &&
	say "note beside zpool scrub: $(($(number scrub_stats/blocks_verified) - verified)) blocks" \
		"verified, $(($(number stats/background_sent) - before)) requests were of the idle class"
}

# A pool of ZFS' on a whole disk, which it partitions
pool()
{
	simulated
	check "freeblock setup" setup
	check "the module zfs" modprobe zfs
	check "zpool create" zpool create -f -O compression=off tank "/dev/$disk"
	say "note scheduler: $(cat "/sys/block/$disk/queue/scheduler")"
	check "the disk keeps the scheduler" has freeblock
	check "what is written is scheduled" pool_file
	check "what is read is scheduled" pool_read
	check "and the disk keeps the scheduler" has freeblock
	check "a scan of its partition" freeblock scan "/dev/${disk}1" -o /root/digests \
		--before 0 --quiet
	check "a volume" zfs create -V 32M tank/volume
	check "the volume is there" wait_for 60 [ -b /dev/zd0 ]
	check "which cannot be named to scan" fails_with "name the disks that hold it" \
		freeblock scan /dev/zd0 -o /root/digests
	check "nor to scrub" fails_with "name the disks that hold it" freeblock scrub /dev/zd0 run
	check "a scrub of the disk" scrubs_the_disk
	check "zpool scrub beside it" pool_scrub
	verified=$(number scrub_stats/blocks_verified)
	check "zpool export beside it" zpool export tank
	check "which goes on" wait_for 60 more_than scrub_stats/blocks_verified "$verified"
	check "the pool is imported again" pool_again
	check "freeblock off --all" freeblock off --all
}

pool_again()
{
	zpool import -d /dev tank && md5sum < /tank/file | cmp - /root/sum && zpool export tank
}

drives()
{
	insmod /root/mechdisk/mechdisk.ko &&
	for n in $(seq "$1"); do
		drive "sim$n" "$(cat /root/tiny.fbdrive)
serial FLEET$n" || return
	done
}

# schedulers NAME: how many disks have it
schedulers()
{
	cat /sys/block/sd*/queue/scheduler | grep -c "\[$1\]"
}

# how many scrubs are at work, if more than ever before
at_once()
{
	now=$(grep -lx running /sys/kernel/freeblock/*/scrub | wc -l)
	[ "$now" -le "$(cat /root/most)" ] || echo "$now" > /root/most
}

# all of them have been scrubbed, as status says it: a date, and no bad block
all_scrubbed()
{
	at_once
	[ "$(freeblock status --seconds 0 | grep -c "  $(date -u +%Y-%m-%d)   *0  ")" = "$1" ]
}

off_in_a_minute()
{
	began=$(cut -d. -f1 /proc/uptime)
	freeblock off --all && echo "$(($(cut -d. -f1 /proc/uptime) - began)) s" &&
	[ $(($(cut -d. -f1 /proc/uptime) - began)) -le 60 ]
}

# Sixty disks by the lines of Documentation/quickstart.rst; the boot's clock is that of instructions
fleet()
{
	check "sixty simulated disks" drives 60
	printf '[all]\nenable = yes\nscrub_every_days = 30\nmax_concurrent = 20\n' \
		> /etc/freeblock.conf
	check "freeblock conf check" freeblock conf check
	check "freeblock enable --all" freeblock enable --all --yes --quiet
	check "all have the scheduler" [ "$(schedulers freeblock)" = 60 ]
	check "freeblock apply finds nothing to do" freeblock apply
	freeblock status --seconds 0 > /root/said
	check "a line each, a header and a total" [ "$(wc -l < /root/said)" = 62 ]
	echo 0 > /root/most
	check "the timer's service" systemctl start freeblock-due.service
	check "each is scrubbed" wait_for 600 all_scrubbed 60
	check "some were seen at work" [ "$(cat /root/most)" -ge 1 ]
	check "no more than twenty" [ "$(cat /root/most)" -le 20 ]
	check "freeblock off --all within a minute" off_in_a_minute
	check "no disk has the scheduler" [ "$(schedulers freeblock)" = 0 ]
	check "the module is unloaded" [ ! -e /sys/module/freeblock ]
}

# canary STATUS PATTERN OPTIONS...: how it ends, and what it says
canary_ends()
{
	wanted=$1
	pattern=$2
	shift 2
	status=0
	freeblock canary "$disk" --quiet "$@" > /root/said 2>&1 || status=$?
	cat /root/said
	[ $status = "$wanted" ] && grep -q "$pattern" /root/said
}

# reads of whoever else uses the disk, all over it
foreground()
{
	python3 - "/dev/$disk" <<-'PYTHON' &
	import mmap, os, random, sys, time
	disk = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
	blocks = os.lseek(disk, 0, os.SEEK_END) // 4096
	page = mmap.mmap(-1, 4096)
	while True:
	    os.preadv(disk, [page], random.randrange(blocks) * 4096)
	    time.sleep(.04)
	PYTHON
	reader=$!
}

bad_sector()
{
	# of a place that the reader above does not choose often
	echo "add 400000 1" > /sys/kernel/mechdisk/sim/medium_errors
	! dd if="/dev/$disk" of=/dev/null bs=4k skip=50000 count=1 iflag=direct
}

# leases N: so many of them run
leases()
{
	[ "$(systemctl list-units --no-legend 'freeblock-lease-*.timer' | grep -c .)" = "$1" ]
}

# A disk is tried: for three minutes in which all is well; until a command fails; until the command
# that tries it is killed
canary()
{
	simulated
	check "freeblock setup" setup
	check "a scrub goes on" scrub_service
	foreground
	check "all is well, or too few reads to know" canary_well
	check "the disk keeps the scheduler" has freeblock
	sleep 5 && bad_sector &
	check "a command failed: exit status 3" canary_ends 3 "1 commands failed" --days 1 \
		--max-errors 0
	check "the disk has its former scheduler" has "$(cat /root/scheduler)"
	kill $reader
	check "freeblock setup" setup
	freeblock canary "$disk" --lease 2 --quiet > /dev/null 2>&1 &
	check "a lease of two minutes" wait_for 60 leases 1
	kill -9 $!
	check "the command was killed: the lease ends" wait_for 240 has "$(cat /root/scheduler)"
	check "nothing of it is left" leases 0
}

canary_well()
{
	canary_ends 0 '"breach": null' --json --days .002 || grep -q '"breach": null' /root/said
}

key=/var/lib/dkms/mok.pub
stage=$(cat /root/stage)
say "begin $stage $(uname -r)"
modprobe -a scsi_mod sd_mod
"$stage"
say "end"
case $stage in
first) echo second > /root/stage ;;
second) echo switched_off > /root/stage ;;
switched_off) echo goes_down > /root/stage ;;
refused) echo enrolled > /root/stage ;;
third|enrolled|pool|fleet|canary) exec systemctl --no-block poweroff ;;
esac
exec systemctl --no-block reboot
