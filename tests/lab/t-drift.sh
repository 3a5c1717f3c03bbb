# SPDX-License-Identifier: GPL-2.0
# A drive that warms up, at few requests: 200 ppm faster after an hour, seeks ever
# longer. Predictions stay within 50 us, what was learnt can be read, and a model made of it
# is accepted and fits from the beginning. A model of another layout, or with other seeks, is
# given up: transparent, and it says why.
#
# Expected: 95 %. What seeks really take is the drive's description: 19000 ppm longer after 400 s. What
# was learnt lags behind by minutes, and is 2000 off by chance, as in freeblock sim with 24 seeds:
# 20000 (8700 after 200 s, and 300 without a drift). make soak has an hour of it at six requests a
# second: seeks are 3 % longer after 20 minutes.
#
# Seen to fail: corrections never applied (the model has got that); fb_head_misfit() and
# fb_seek_fit_misfit() not asked (both wrong models).
#
# lab: kernel=stock clock=icount smp=1 timeout=300
# lab: set=soak kernel=stock clock=icount smp=1 timeout=1800
# lab-freeblock: calibrate

. /lab/lib.sh

runs=4 seconds=100 rate=15 seeks="30000 400" least=11000 most=30000
if [ "${SET-}" = soak ]; then
	runs=6 seconds=600 rate=6 seeks="30000 1200" least=22000 most=38000
fi

# load NAME SECONDS ARGUMENTS...: random 4 KiB reads and writes
load()
{
	local name="$1" seconds="$2"

	shift 2
	fio_run "$name" --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randrw --rwmixread=67 --bs=4k --norandommap --randseed=7 --allrandrepeat=1 \
		--time_based --runtime="$seconds" "$@"
	expect_eq "$name: no errors" "$(fio_errors "$name")" 0
}

# predicted NAME SECONDS: at Poisson times; adds per mille within 50 us to $parts
predicted()
{
	local total within

	echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
	load "$1" "$2" --rate_process=poisson \
		--rate_iops=$((rate * 2 / 3)),$((rate / 3))
	total=$(stats "$disk" pred_total)
	within=$(stats "$disk" pred_within_50us)
	note "$1: $within of $total within 50 us"
	expect_ge "$1: predicted" "$total" $(($2 * rate * 8 / 10))
	parts="$parts $((within * 1000 / (total + 1)))"
}

# learnt KEY: of seeks
learnt()
{
	awk -v key="$1" '$1 == "band" {
		for (i = 4; i < NF; i += 2) if ($i == key) print $(i + 1) }' "$calibration"
}

# seek_ns FILE: of a model over 3000 cylinders or the next
seek_ns()
{
	awk '$1 == "seek" && $2 >= 3000 { print $3; exit }' "$1"
}

# attach NAME DRIVE MODEL [LINES]: alone the drive orders, and nothing is predicted: depth 2
attach()
{
	disk=$(drive_new "$1" "$2" "$4") || exit 1
	sched_set "$disk" freeblock
	model_load "$disk" "$3"
	iosched "$disk" depth 2
	calibration=/sys/kernel/debug/freeblock/$disk/calibration
}

# given_up NAME MODEL: with a wrong model
given_up()
{
	attach "$1" tiny.fbdrive "$2" ""
	expect_eq "$1: believed at first" "$(state "$disk" knowledge)" map
	load "$1" 8
	expect_match "$1: given up" "$(state "$disk" knowledge)" ": completions do not fit the model"
	expect_match "$1: no free reads" "$(state "$disk" free_reads)" "^off"
	drive_off "$1"
}

load_module mechdisk
load_module freeblock

attach a atlas10k.fbdrive atlas10k.fbmodel "rpm_drift 200 3600
seek_drift $seeks"
parts=
for run in $(seq "$runs"); do
	predicted "run-$run" "$seconds"
done
# shellcheck disable=SC2086
expect_mean "within 50 us, per mille" 950 990 $parts
sed 's/^/# /' "$calibration"
cp "$calibration" /out/calibration
expect_eq "the phase is known" "$(kv "$calibration" phase)" locked
expect_ge "trials of long seeks" "$(learnt trials)" 40
expect_ge "seeks are longer, ppm" "$(learnt shift_ppm)" "$least"
expect_le "the shift is not too long, ppm" "$(learnt shift_ppm)" "$most"
expect_ge "the model has got that, ppm" "$(learnt applied_ppm)" $((least / 2))

expect_ok "a model of it" freeblock calibrate "$disk" /lab/files/atlas10k.fbmodel -o /tmp/new.fbmodel
old_ns=$(seek_ns /lab/files/atlas10k.fbmodel)
longer=$((($(seek_ns /tmp/new.fbmodel) - old_ns) * 1000000 / old_ns))
expect_ge "its seeks are longer, ppm" $longer "$least"
expect_le "but not too much so, ppm" $longer "$most"
model_load "$disk" /tmp/new.fbmodel
expect_eq "its period is the tracked one" "$(kv "$calibration" model_period_ps)" \
	"$(kv /out/calibration period_ps)"
parts=
for run in 1 2; do
	predicted "with-it-$run" 60
done
# shellcheck disable=SC2086
expect_mean "with it: within 50 us, per mille" 950 990 $parts
drive_off a

given_up skewed tiny-skewed.fbmodel
given_up swift tiny-swift.fbmodel
expect_within "unload freeblock" 20 unload_module freeblock
done_testing
