# SPDX-License-Identifier: GPL-2.0
# The commands of Documentation/quickstart.rst, one after the other as they stand there, beside
# somebody who uses the disk: each ends well and does what the page says. Only the model is
# there before setup (time in this guest is too coarse for measuring one), the trial is shortened,
# and what waits for a key is told to show one page. What is installed and purged is tried by
# tests/install.
#
# Seen to fail: a command in the page that this script knows nothing of (freeblock guard status), one
# that is wrong (status --seconds often); an off that leaves the scheduler.
#
# lab: kernel=stock clock=icount smp=1 timeout=400
# lab-files: Documentation/quickstart.rst
# lab-freeblock: enable setup off trial scrub status top conf models guard
# lab-python: freeblock.extraction.refuse freeblock.commands.observe freeblock.tuning.record freeblock.tracefile.detect _pydecimal concurrent.futures.thread
# lab-programs: sim

. /lab/lib.sh

load_module mechdisk
install_freeblock
disk=$(drive_new d toy.fbdrive) || exit 1
sched_set "$disk" mq-deadline
printf '[all]\nscrub_every_days = 30\n' > /etc/freeblock.conf

# the page's commands: what stands behind a prompt
sed -n "s/^        # \(freeblock .*\)/\1/p" /lab/files/quickstart.rst | sed "s/sdX/$disk/g" > /tmp/page
expect_ge "commands of the page" "$(wc -l < /tmp/page)" 9

fio --name=users --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=64 --rw=randread \
	--bs=8k --norandommap --time_based --runtime=600 --rate_iops=40 --rate_process=poisson \
	--randseed=7 --allrandrepeat=1 > /tmp/fio 2>&1 &
fio=$!

# said WANTED PATTERN: the command's status and what it printed
said()
{
	expect_match "$command: status" "$status" "^($1)$"
	expect_match "$command: says" "$(tr '\n' ' ' < /tmp/said)" "$2"
}

while read -r command; do
	more=
	case $command in
	"freeblock top") more=--once ;;
	"freeblock setup "*)
		freeblock models install "$(lab_file toy.fbmodel)" --disk "$disk" > /tmp/said ||
			die "no model: $(cat /tmp/said)" ;;
	esac
	# shellcheck disable=SC2086 # these are words
	$command $more < /dev/null > /tmp/said 2>&1
	status=$?
	note "$command: $(tail -n 3 /tmp/said | tr '\n' ' ')"
	case $command in
	"freeblock enable "*)
		said 0 "reads in idle time only: no model; freeblock off /dev/$disk puts everything back"
		expect_eq "it is served" "$(state "$disk" scheduling)" yes ;;
	"freeblock setup "*)
		said 0 "freeblock off /dev/$disk puts everything back"
		expect_eq "it has a map" "$(state "$disk" knowledge)" map ;;
	"freeblock trial "*)
		said "4" "$disk: cost: not (known|measured)" ;;
	"freeblock scrub "*" run")
		said 0 "state finished"
		expect_eq "all is scrubbed" "$(job "$disk" scrub blocks_verified)" \
			"$(job "$disk" scrub blocks_total)" ;;
	"freeblock conf check") said 0 "" ;;
	"freeblock conf show "*) said 0 "$disk: scrub_every_days 30" ;;
	"freeblock status --check") said 0 "FREEBLOCK OK - $disk" ;;
	"freeblock status "*) said 0 "$disk: scheduler freeblock, scheduling" ;;
	"freeblock top") said 0 "$disk .*foreground" ;;
	"freeblock off "*)
		said 0 "$disk"
		expect_match "the scheduler that was" "$(cat "/sys/block/$disk/queue/scheduler")" \
			'\[mq-deadline\]'
		expect_eq "the module is gone" "$(grep -c ^freeblock /proc/modules)" 0 ;;
	*) expect_eq "known command" "$command" "" ;;
	esac
done < /tmp/page
kill $fio
wait $fio
rm /var/lib/freeblock/*.coverage*
expect_eq "nothing is left but what was there, and what the scrub had verified" \
	"$(find /etc/freeblock /etc/udev /var/lib/freeblock -type f 2> /tmp/said)" \
	"$(find /etc/freeblock/models -name '*.fbmodel')"
done_testing
