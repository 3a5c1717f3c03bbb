# SPDX-License-Identifier: GPL-2.0
# cells.sh - what the guest's parts of benches share that measure cells one after the
# other (peers.sh, scrub.sh). Variables of a cell: id out disk d sched model attrs
# queue_depth nr_requests start warmup seconds seed.

LOAD=/lab/files/load

# begin_load NAME KIND KEY=VALUE...: a load of load.c beside the others; its process is
# added to $loads
begin_load()
{
	local name="$1" kind="$2"

	shift 2
	$LOAD "$kind" "/dev/$disk" start=$start warmup=$warmup seconds=$seconds seed=$seed \
		out="$out/$name.lat" "$@" > "$out/$name.said" 2> "$out/$name.err" &
	loads="$loads $name:$!"
}

# begin_loads SNAPS: all of $fg, which are separated by ";"; the first takes the snapshots
begin_loads()
{
	local load i=0 rest="$fg" words="$1"

	# shellcheck disable=SC2086 # words are meant
	while [ -n "$rest" ]; do
		load=${rest%%;*}
		rest=${rest#"$load"}
		rest=${rest#;}
		begin_load fg$i $load $words
		words=
		i=$((i + 1))
	done
}

wait_loads()
{
	local item

	for item in $loads; do
		if wait "${item#*:}"; then
			ok "$id: ${item%:*}"
		else
			not_ok "$id: ${item%:*}" "$(cat "$out/${item%:*}.err")"
		fi
	done
}

# The files whose change over the window counts
snaps()
{
	echo "snaps=$out/snap snap=/proc/timer_list snap=/sys/block/$disk/stat" \
		"snap=/sys/kernel/mechdisk/$d/stats"
	[ "$sched" = freeblock ] && echo "snap=$(debug "$disk")/numbers"
}

tune()
{
	local word

	expect_ok "$id: scheduler $sched" sched_set "$disk" "$sched"
	[ "$sched" = freeblock ] && [ -n "$model" ] && model_load "$disk" "$model"
	for word in $attrs; do
		expect_ok "$id: $word" iosched "$disk" "${word%%=*}" "${word#*=}"
	done
	[ -n "$queue_depth" ] &&
		expect_ok "$id: queue_depth" sh -c \
			"echo $queue_depth > /sys/block/$disk/device/queue_depth"
	[ -n "$nr_requests" ] && [ "$sched" != none ] &&
		expect_ok "$id: nr_requests" sh -c \
			"echo $nr_requests > /sys/block/$disk/queue/nr_requests"
}

uptime_s()
{
	cut -d. -f1 /proc/uptime
}

sleep_until()
{
	local left=$(($1 - $(uptime_s)))

	[ $left -le 0 ] || sleep $left
}
