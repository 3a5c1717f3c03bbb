# SPDX-License-Identifier: GPL-2.0
# Bad input: each is refused with -EINVAL (or what the ABI file says), named in
# model_status or the log, and changes nothing. Expectations are those of
# Documentation/ABI/testing/sysfs-block-freeblock.
#
# Seen to fail with: fb_disk_commit() without fb_disk_check_model() (other disks'
# models are taken, the old text is gone); fb_tunables_number_store() without
# "value > n->highest", and taking "auto" for every file; fb_disk_check_unit() that
# refuses nothing, model_force kept for another model, a model's own distrust and another
# firmware left out of fb_disk_transparent(); a coverage taken bit by bit at its end (with the
# write's length); a consumer's memory that memory_mib does not know.
#
# lab: kernel=stock clock=icount smp=1 timeout=500
# lab: set=soak kernel=debug clock=real smp=4 timeout=900

. /lab/lib.sh

# refused NAME FILE VALUE: a write fails and leaves the file as it was
refused()
{
	local name="$1" file="$2" value="$3" before

	before=$(cat "$file")
	if printf '%s' "$value" > "$file" 2>/dev/null; then
		not_ok "$name: refused" "'$value' was taken"
	else
		ok "$name: refused"
	fi
	expect_eq "$name: nothing changed" "$(cat "$file")" "$before"
}

# bad_model NAME REASON: /tmp/bad.table is refused for REASON, the model stays
bad_model()
{
	if dd if=/tmp/bad.table of="$dir/model" bs=1M 2>/dev/null; then
		not_ok "$1: refused" "it was taken"
	else
		ok "$1: refused"
	fi
	expect_match "$1: the reason is readable" "$(cat "$dir/model_status")" "$2"
	expect_ok "$1: the old model is in force" cmp -s "$dir/model" $model
	expect_eq "$1: still scheduling" "$(state "$disk" scheduling)" yes
}

logged()
{
	dmesg | tail -n 5 | grep -q "$1"
}

load_module mechdisk
load_module freeblock
disk=$(drive_new d toy.fbdrive 'noise off') || exit 1
dir=$(fb "$disk")
model=$(model_table toy.fbmodel)

# ---- no model

sched_set "$disk" freeblock
expect_eq "no model: served" "$(state "$disk" scheduling)" yes
expect_eq "no model: nothing is known" "$(state "$disk" knowledge)" "none: no model"
expect_eq "no model: the table says so" \
	"$(state "$disk" knowledge)" "none: no model"
expect_eq "no model: nothing to read" "$(wc -c < "$dir/model")" 0
expect_eq "no model: blocks all the same" "$(cat "$dir/granule_bytes")" 4096
refused "model_force without a model" "$dir/model_force" 1
refused "idle_only" "$dir/idle_only" 2
refused "stop without a scan" "$dir/scan" stop

# ---- models

model_load "$disk" toy.fbmodel
expect_match "model loaded" "$(cat "$dir/model_status")" '^loaded'
expect_ok "model reads back" cmp -s "$dir/model" $model
expect_eq "granule" "$(cat "$dir/granule_bytes")" 4096

head -c 1000 $model > "$dir/model"
expect_match "truncated: waits for its end" "$(cat "$dir/model_status")" 'incomplete: 1000 bytes of [0-9]+'
expect_ok "truncated: the old model is in force" cmp -s "$dir/model" $model

cp $model /tmp/bad.table
printf '\377' | dd of=/tmp/bad.table bs=1 seek=600 conv=notrunc 2>/dev/null
bad_model "a changed byte" 'says crc32 [0-9a-f]+, but it is [0-9a-f]+'
dd if=/dev/zero of=/tmp/bad.table bs=1k count=2 2>/dev/null
bad_model "zeros" 'no compiled model of this version'
cp /lab/files/toy.fbmodel /tmp/bad.table
bad_model "a text" 'no compiled model of this version'
(cat $model; echo) > /tmp/bad.table
bad_model "a byte too many" 'says that it has [0-9]+ bytes, but has more'
# bad_model_file NAME FILE REASON
bad_model_file()
{
	freeblock-model "/lab/files/$2" > /tmp/bad.table || { not_ok "$1" "$2 does not compile"; return; }
	bad_model "$1" "$3"
}
# bad_text NAME FILE REASON: it does not compile
bad_text()
{
	expect_fail "$1" sh -c "freeblock-model /lab/files/$2 > /tmp/bad.table 2> /tmp/said"
	expect_match "$1: the reason" "$(cat /tmp/said)" "$2: $3"
	expect_eq "$1: no table" "$(wc -c < /tmp/bad.table)" 0
}
bad_model_file "another disk's" atlas10k.fbmodel 'it is for 17966953 sectors'
bad_model_file "another vendor's" bad-vendor.fbmodel "vendor 'NOBODY'"
bad_model_file "another product's" bad-product.fbmodel "product 'NOTHING'"
bad_text "a bad record" bad-record.fbmodel 'line [0-9]+: .*wobble'
bad_text "a bad value" bad-value.fbmodel 'line [0-9]+: .*heads'
bad_model_file "other firmware's" bad-revision.fbmodel "firmware '9', the disk says '1'"
bad_model_file "another unit's" bad-wwn.fbmodel "'naa.5000c500a1b2c3d4', this one is 'naa\."
bad_model_file "a granule too small" bad-granule.fbmodel 'granule of 4 sectors'
expect_ok "the log names the reason" logged 'the model was refused: granule of 4 '

if dd if=$model of="$dir/model" bs=512 seek=1 count=1 conv=notrunc 2>/dev/null; then
	not_ok "out of order: refused" "taken"
else
	ok "out of order: refused"
fi
expect_ok "out of order: the old model is in force" cmp -s "$dir/model" $model

# split at any byte but within the first eight
expect_fail "a first piece of seven bytes" dd if=$model of="$dir/model" bs=7 count=1
dd if=$model of="$dir/model" bs=9 2>/dev/null
expect_match "in pieces of nine bytes" "$(cat "$dir/model_status")" '^loaded'

# ---- a model that does not trust itself

refused "model_force ' '" "$dir/model_force" ' '
refused "model_force 2" "$dir/model_force" 2
refused "model_force yes" "$dir/model_force" yes
expect_eq "nothing is forced" "$(cat "$dir/model_force")" 0
why="the model is distrusted: 60 % of the reads within 50 us, 97 % are needed"
model_load "$disk" distrusted.fbmodel
expect_match "distrusted: loaded, and it says why" "$(cat "$dir/model_status")" "^loaded.*; $why"
expect_eq "distrusted: not used" "$(state "$disk" knowledge)" "none: $why"
expect_eq "distrusted: the table says so" \
	"$(state "$disk" knowledge)" "none: $why"
expect_eq "distrusted: no free reads in gaps" \
	"$(state "$disk" free_reads)" "off: no map of the drive is in use"
expect_eq "distrusted: served" "$(state "$disk" scheduling)" yes
echo 1 > "$dir/model_force"
expect_eq "forced: scheduling" "$(state "$disk" knowledge)" map
model_load "$disk" distrusted.fbmodel
expect_eq "the same model again: still forced" "$(cat "$dir/model_force")" 1
sched_set "$disk" none
sched_set "$disk" freeblock
expect_eq "a scheduler switch: still forced" "$(state "$disk" knowledge)" map
echo 0 > "$dir/model_force"
expect_eq "no longer forced: not used" "$(state "$disk" knowledge)" "none: $why"
echo 1 > "$dir/model_force"
model_load "$disk" toy.fbmodel
expect_eq "another model: not forced" "$(cat "$dir/model_force")" 0
expect_eq "another model: scheduling" "$(state "$disk" knowledge)" map

# ---- layouts that most drives here do not have, each on a drive of its own

# predicted NAME DISK MODEL [WHERE..]: a disk's reads end when its model says
predicted()
{
	local name="$1" disk="$2" model="$3" total

	shift 3
	sched_set "$disk" freeblock
	model_load "$disk" "$model"
	# two at the drive, as while free reads are wanted: then each is predicted
	iosched "$disk" depth 2
	fio_run "$name" --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --bs=4k --number_ios=400 "$@"
	expect_eq "$name: all were read" "$(fio_ios "$name")" 400
	# on a busy host completions are late, and no model fits them
	[ "$LAB_CLOCK" = icount ] || return
	expect_eq "$name: scheduling" "$(state "$disk" scheduling)" yes
	total=$(stats "$disk" pred_total)
	expect_ge "$name: predicted" "$total" 300
	expect_ge "$name: of them within 50 us" "$(stats "$disk" end_within_50us)" \
		$((total * 95 / 100))
}

# tracks that differ from head to head
surfaces=$(drive_new s nearline16-surfaces.fbdrive 'noise off') || exit 1
predicted surfaces "$surfaces" nearline16-surfaces.fbmodel

# LBNs that stay on a surface for 315 tracks: the first surfaces of the first bands.  As a SCSI
# drive: the layout is tested, not who attaches it
runs=$(drive_new r x300.fbdrive 'noise off
interface scsi') || exit 1
predicted runs "$runs" x300.fbmodel --size=12g
drive_off r

# two MiB of buffers, and a map; what another consumer takes has three more
load_module fbconsumer
echo 5 > /sys/module/freeblock/parameters/memory_mib
refused "scan: no memory beside a consumer's" "$dir/scan" start
expect_ok "the log says what needs it" logged 'a task needs .* KiB, more than memory_mib=5'
unload_module fbconsumer
echo start > "$dir/scan"
expect_ok "without it there is enough" grep -qx running "$dir/scan"
scan_stop "$disk"
echo 1 > /sys/module/freeblock/parameters/memory_mib
expect_fail "no memory for a consumer" insmod /lab/modules/fbconsumer.ko
expect_ok "the log says that it needs it" logged 'deliveries needs .* KiB, more than memory_mib=1'
echo 1024 > /sys/module/freeblock/parameters/memory_mib

# ---- a large coverage given back: no write takes long

now_ms()
{
	sed 's/^\([0-9]*\)\.\([0-9]*\) .*/\1\20/' /proc/uptime
}

coverage="$(fb "$surfaces")/coverage"
scrub="$(fb "$surfaces")/scrub"
echo start > "$scrub"
expect_ok "a large disk is scrubbed" grep -qx running "$scrub"
echo stop > "$scrub"
expect_ok "and stopped" wait_for 30 grep -qx stopped "$scrub"
cp "$coverage" /tmp/coverage
last=$(($(wc -c < /tmp/coverage) / 4096))
expect_ge "pages of a coverage" $last 3000
exec 4> "$coverage"
expect_ok "given back, but for the end" sh -c "dd if=/tmp/coverage bs=4096 count=$last >&4"
before=$(now_ms)
expect_ok "the end" sh -c "dd if=/tmp/coverage bs=4096 skip=$last >&4"
expect_le "the end: ms" $(($(now_ms) - before)) 200
exec 4>&-
expect_ok "it is what it was" cmp /tmp/coverage "$coverage"
rm /tmp/coverage
drive_off s

# ---- tunables

it=/sys/block/$disk/queue/iosched
while read -r name low high; do
	for value in ' ' x 1x -1 0x "$((high + 1))" 18446744073709551616 "$high$high$high"; do
		refused "$name '$value'" "$it/$name" "$value"
	done
	[ "$low" = 0 ] || refused "$name '$((low - 1))'" "$it/$name" $((low - 1))
	refused "$name 'auto'" "$it/$name" auto
	was=$(cat "$it/$name")
	for value in "$low" "$high" "$was"; do
		iosched "$disk" "$name" "$value"
		expect_eq "$name takes $value" "$(iosched "$disk" "$name")" "$value"
	done
done <<-END
	sw_percent 0 1000
	hold_back 0 1
	target_slowdown_ppm 0 1000000
	foreground_cost_ppm 1 500000
	read_expire 1 600000
	write_expire 1 600000
	background_expire 1 600000
	background_wait_us 0 1000000
	search_us 1 100000
END
expect_ok "the log names the range" logged "search_us: '.*' is not a number from 1 to 100000"
for value in ' ' SPTF sptf-sw60 'sptf clook' scan; do
	refused "policy '$value'" "$it/policy" "$value"
done

for value in ' ' all 8 -1 '1 4' auto+1; do
	refused "lift '$value'" "$it/lift" "$value"
done
# numbers, or auto
while read -r name low high; do
	for value in ' ' x -1 Auto 'auto 1' "$((high + 1))" 18446744073709551616; do
		refused "$name '$value'" "$it/$name" "$value"
	done
	for value in "$low" "$high" auto; do
		iosched "$disk" "$name" "$value"
		expect_eq "$name takes $value" "$(iosched "$disk" "$name")" "$value"
	done
done <<-END
	depth 1 4
	conservatism_us 0 10000
END
refused "depth 0" "$it/depth" 0
expect_ok "the log names auto and the range" logged "depth: '0' is not auto or a number from 1 to 4"

# every policy and depth under load
fio --name=load --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=16 \
	--rw=randrw --bs=4k --time_based --runtime=8 --eta=never --output=/tmp/load.fio &
load=$!
for policy in clook sstf sptf sptf-sw; do
	for depth in 1 2 auto 3 4; do
		iosched "$disk" policy $policy
		iosched "$disk" depth $depth
		sleep 0.2
	done
	expect_eq "policy $policy" "$(iosched "$disk" policy)" $policy
done
wait $load
expect_eq "fio ran through it all" $? 0
expect_eq "no errors" "$(grep -c 'err= 0' /tmp/load.fio)" 1
iosched "$disk" depth auto

# ---- scans

sectors=$(cat "/sys/block/$disk/size")
for text in ' ' go 'start 0' 'start 0 0' 'start 4 8' 'start 0 7' 'start x 8' 'start 0 8 8' \
	"start 0 $((sectors + 8))" "start $sectors 8" 'start crc' 'start near far' 'stop now' 'start -8 8' \
	'start 0 18446744073709551600'; do
	refused "scan '$text'" "$dir/scan" "$text"
done
echo 'start 0 8000' > "$dir/scan"
expect_eq "scan runs" "$(job "$disk" scan)" running
if echo start > "$dir/scan" 2>/dev/null; then not_ok "second scan" taken; else ok "second scan"; fi
dd if=$model of="$dir/model" bs=1M 2>/dev/null
expect_match "a model while a scan is at work" "$(cat "$dir/model_status")" '^loaded'
expect_ok "a model while a scan is at work: it is the new one" cmp -s "$dir/model" $model
expect_eq "a model while a scan is at work: that goes on" "$(job "$disk" scan)" running
echo stop > "$dir/scan"
scan_over()
{
	[ "$(job "$disk" scan) $(state "$disk" tasks)" = "stopped 0" ]
}
expect_ok "scan stops" wait_for 20 scan_over
refused "stop again" "$dir/scan" stop

# ---- a model of the firmware there was

model_load "$disk" distrusted.fbmodel
echo 1 > "$dir/model_force"
expect_eq "its firmware: scheduling" "$(state "$disk" knowledge)" map
drive_off d
echo 'revision 2' > /sys/kernel/mechdisk/d/description
echo 1 > /sys/kernel/mechdisk/d/power
expect_ok "the drive comes back" wait_for 30 grep -q 'on sd' /sys/kernel/mechdisk/d/status
disk=$(sed -n 's/.*on \(sd[a-z]*\).*/\1/p' /sys/kernel/mechdisk/d/status)
expect_ok "the disk comes back" wait_for 30 [ -b "/dev/$disk" ]
sched_set "$disk" freeblock
dir=$(fb "$disk")
expect_eq "other firmware: the model is still there" "$(state "$disk" model)" 1
expect_eq "other firmware: not used" "$(state "$disk" knowledge)" \
	"none: the drive's firmware is no longer the model's"
model_load "$disk" toy.fbmodel
expect_eq "a model of any firmware: scheduling" "$(state "$disk" knowledge)" map

# ---- a scheduler switch keeps the model

sched_set "$disk" none
expect_eq "switched away" "$(state "$disk" scheduling)" "another scheduler"
sched_set "$disk" freeblock
expect_eq "switched back: scheduling" "$(state "$disk" scheduling)" yes

drive_off d
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
