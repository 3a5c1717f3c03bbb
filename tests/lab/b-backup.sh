# SPDX-License-Identifier: GPL-2.0
# What tools/examples/backup costs the foreground of a 9 GB disk (the Atlas 10K of make demo), and
# whether its image is right.
#
# Foreground: 10 requests outstanding, a third of them writes, 4 to 16 KiB, anywhere on the
# disk, through a dm snapshot-origin: demo's. Five seeds, a fresh drive each; the 99th
# percentile of the latency in windows of the same length
#
#	alone		without a snapshot
#	snapshot	with one, which nobody reads: writes copy what they overwrite
#	backup		while the program reads the disk
#
# The snapshot's store is a disk of memory that takes 100 us (an SSD). Then one image of the first
# PART_MB of the disk: the foreground is busy for BUSY_S, in which most is read, then
# idle, and is compared with the snapshot byte by byte.
#
# Leaves /out/examples.json, which make bench adds to build/examples/summary.json.
# Variables: SEEDS, WINDOW_S, PART_MB, BUSY_S
#
# lab-python: examples.backup.__main__
# lab-programs: load
# lab: kernel=stock clock=icount smp=1 timeout=2400 mem=4096

. /lab/lib.sh

SEEDS=${SEEDS:-1 2 3 4 5}
WINDOW_S=${WINDOW_S:-50}
PART_MB=${PART_MB:-700}
BUSY_S=${BUSY_S:-80}
image=/images/image
export PYTHONPATH=/bin:/bin/cli DM_DISABLE_UDEV=1

load_module mechdisk
load_module freeblock
load_module null_blk nr_devices=0
load_module dm-mod
load_module dm-snapshot
mount -t configfs configfs /sys/kernel/config
mkdir -p /images
mount -t tmpfs -o size=90% images /images

# the store: a new one, which takes no memory but what is written
store_new()
{
	local dir=/sys/kernel/config/nullb/store

	mkdir $dir || die "no null_blk"
	echo 4096 > $dir/size
	echo 1 > $dir/memory_backed
	echo 2 > $dir/irqmode
	echo 100000 > $dir/completion_nsec
	echo 1 > $dir/power || die "no store"
	store=/dev/store
	wait_for 10 [ -b $store ] || die "no $store"
}

store_off()
{
	rmdir /sys/kernel/config/nullb/store
}

# disk_new SEED: sets $disk
disk_new()
{
	disk=$(drive_new "d$1" atlas10k.fbdrive "seed $1
serial D$1
journal_records 0") || exit 1
	sched_set "$disk" freeblock || die "no freeblock"
	model_load "$disk" atlas10k.fbmodel
	iosched "$disk" depth 2
}

disk_off()
{
	sched_set "$disk" none
	drive_off "d$1"
}

# origin BLOCKDEV
origin()
{
	dmsetup create data --table "0 $(cat /sys/class/block/"$1"/size) snapshot-origin /dev/$1" ||
		die "no origin"
}

# foreground SEED SECONDS: the load's words in /tmp/said, latencies in /tmp/latencies
foreground()
{
	load random /dev/mapper/data depth=10 reads=67 seed="$1" warmup=3 seconds="$2" \
		out=/tmp/latencies > /tmp/said
}

# window SEED NAME: p99 in us of all, and of the reads, to /tmp/p99
window()
{
	expect_ok "seed $1, $2: foreground" foreground "$1" "$WINDOW_S"
	od -An -v -tu4 -w4 /tmp/latencies | awk -v reads=/tmp/us.reads '
		{ us = $1 % 2147483648; print us; if (us == $1) print us > reads }' |
		sort -n > /tmp/us
	sort -n /tmp/us.reads > /tmp/us.sorted
	echo "$1 $2 $(at_99 /tmp/us) $(at_99 /tmp/us.sorted) $(wc -l < /tmp/us)" >> /tmp/p99
	note "seed, window, p99 us, of reads, requests: $(tail -n 1 /tmp/p99)"
}

at_99()
{
	sed -n "$(($(wc -l < "$1") * 99 / 100))p" "$1"
}

# begin [ARGUMENTS]: the program, in the background
begin()
{
	python3 -m examples.backup create data $image --cow "$store" --json "$@" \
		> /tmp/backup 2> /tmp/errors &
	program=$!
}

covered()
{
	[ -e $image.part.coverage ]
}

seconds()
{
	cut -d. -f1 /proc/uptime
}

# bytes that the program has written to its image
read_bytes()
{
	echo $(($(stat -c %b $image.part) * 512))
}

state_is()
{
	grep -q "\"state\": \"$1\"" $image.part.json
}

# different FILE FILE: how many bytes, of as many as the first has, and in how many blocks
different()
{
	python3 -c "
import sys
wrong = blocks = 0
with open(sys.argv[1], 'rb') as one, open(sys.argv[2], 'rb') as two:
    while mib := one.read(1 << 20):
        other = two.read(len(mib))
        for at in range(0, len(mib), 4096) if mib != other else ():
            if mib[at:at + 4096] != other[at:at + 4096]:
                blocks += 1
                if blocks < 1000:
                    wrong += sum(a != b for a, b in zip(mib[at:at + 4096], other[at:at + 4096]))
                else:
                    wrong += 4096
print(wrong, blocks)" "$@"
}

seed_run()
{
	disk_new "$1"
	origin "$disk"
	window "$1" alone
	store_new
	dmsetup create snap --notable
	dmsetup load snap --table "0 $(cat /sys/block/"$disk"/size) snapshot /dev/$disk $store P 32"
	dmsetup suspend data
	dmsetup resume snap
	dmsetup resume data
	window "$1" snapshot
	dmsetup suspend data
	dmsetup remove snap
	dmsetup resume data
	store_off
	store_new
	begin
	wait_for 60 covered || die "no backup: $(cat /tmp/errors)"
	window "$1" backup
	kill -INT $program
	wait $program
	expect_eq "seed $1: interrupted" $? 130
	expect_ok "seed $1: abort" python3 -m examples.backup abort $image
	store_off
	numbers "$disk" state stats > "/out/status-$1"
	dmsetup remove data
	disk_off "$1"
}

# the ratios' means over the seeds, in ten thousandths
ratios()
{
	awk '{ p[$1, $2] = $3; r[$1, $2] = $4; seed[$1] = 1; n[$1, $2] = $5 }
		END {
			for (s in seed) {
				k++
				total += p[s, "backup"] / p[s, "alone"]
				snap += p[s, "snapshot"] / p[s, "alone"]
				reading += p[s, "backup"] / p[s, "snapshot"]
				rtotal += r[s, "backup"] / r[s, "alone"]
				rreading += r[s, "backup"] / r[s, "snapshot"]
			}
			printf "\"p99_ratio\": %.4f, \"p99_ratio_snapshot_alone\": %.4f, ", total / k, snap / k
			printf "\"p99_ratio_reading\": %.4f, ", reading / k
			printf "\"p99_ratio_of_reads\": %.4f, ", rtotal / k
			printf "\"p99_ratio_of_reads_reading\": %.4f, \"seeds\": %d", rreading / k, k
		}' /tmp/p99
}

# ---- what it costs ----

for seed in $SEEDS; do
	seed_run "$seed"
done
cp /tmp/p99 /out/p99

# ---- one image ----

disk_new 9
expect_ok "a partition" addpart "/dev/$disk" 1 8 $((PART_MB * 1000000 / 4096 * 8))
wait_for 10 [ -b "/dev/${disk}1" ] || die "no partition"
origin "${disk}1"
store_new
foreground 9 "$BUSY_S" &
loader=$!
sleep 2
began=$(seconds)
begin --verify
wait $loader
expect_eq "image: foreground" $? 0
busy=$(read_bytes)
expect_ok "image: all is read" wait_for 7200 state_is reread
took=$(($(seconds) - began))
# it only verifies and sums now; the snapshot is kept for the comparison
kill -INT $program
wait $program
expect_eq "image: interrupted" $? 130
wrong=$(different $image.part /dev/mapper/"$(dmsetup ls --target snapshot | cut -f1)")
wrong=${wrong% *}
expect_eq "image: bytes wrong" "$wrong" 0
note "bytes and blocks in which the disk differs: $(different $image.part "/dev/${disk}1")"
begin --verify
wait $program
expect_eq "image: exit status" $? 0
cat /tmp/backup /tmp/errors
echo "{\"backup\": {$(ratios), \"bytes_wrong\": $wrong, \"bytes\": $(stat -c %s $image)," \
	"\"bytes_while_busy\": $busy, \"busy_s\": $((BUSY_S + 1)), \"seconds\": $took," \
	"$(grep -E '"(exceptions|reread_bytes|frozen_ms)"' /tmp/backup | tr -d '\n' | sed 's/,$//')}}" |
	tee /out/examples.json
dmsetup remove data
disk_off 9
done_testing
