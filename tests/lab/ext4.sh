# SPDX-License-Identifier: GPL-2.0
# The guest's part of `tools/freeblock-bench bench --figure files`, the freeblock paper's
# figure 7(c): small files on a file system, read in random order, and how far
# completions are from their predictions. There 10,000 reads of 3 KB files, 2000
# directories of 50, on FFS; here on ext4, fewer, because the guest is slow.
#
# Variables: FOLDERS, FILES in each, READERS processes, READS of each, LINES: of
# the drive, which has a cache that reads ahead, as the real one.
# What comes back: /out/errors, a line for each command of the reading: reported less
# predicted end, ns, or "unknown" where nothing was predicted.

. /lab/lib.sh

# $1 folders of $2 files of 3 KiB; awk writes without a process for each
populate()
{
	awk -v folders="$1" -v files="$2" 'BEGIN {
		for (text = "freeblock"; length(text) < 3072;)
			text = text text
		text = substr(text, 1, 3072)
		for (d = 0; d < folders; d++) {
			system("mkdir /mnt/d" d)
			for (f = 0; f < files; f++) {
				name = "/mnt/d" d "/f" f
				printf "%s", text > name
				if (close(name))
					exit 1
			}
		}
	}' /dev/null
}

# reader SEED FOLDERS FILES READS: prints bytes read
reader()
{
	awk -v seed="$1" -v folders="$2" -v files="$3" -v reads="$4" 'BEGIN {
		srand(seed)
		for (i = 0; i < reads; i++) {
			name = "/mnt/d" int(rand() * folders) "/f" int(rand() * files)
			while ((getline line < name) > 0)
				bytes += length(line)
			close(name)
		}
		print bytes
	}' /dev/null
}

# read_all: all readers; prints the bytes of each
read_all()
{
	for seed in $(seq "$READERS"); do
		reader "$seed" "$FOLDERS" "$FILES" "$READS" > "/tmp/read.$seed" &
	done
	wait
	cat /tmp/read.*
}

tracing=/sys/kernel/tracing
load_module mechdisk
load_module freeblock
load_module ext4
disk=$(drive_new d atlas10k.fbdrive "$LINES") || exit 1
sched_set "$disk" freeblock
model_load "$disk" atlas10k.fbmodel
# With auto the drive orders while there is no task, and nothing is predicted
expect_ok "policy" iosched "$disk" policy sptf
expect_ok "depth" iosched "$disk" depth 2

# What is initialised behind the reader's back would be in its way
expect_ok "mkfs" mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 \
	"/dev/$disk"
mkdir -p /mnt
expect_ok "mount" mount -t ext4 -o noatime,noinit_itable "/dev/$disk" /mnt
expect_ok "files" populate "$FOLDERS" "$FILES"
expect_eq "folders" "$(ls -d /mnt/d* | wc -l)" "$FOLDERS"
sync
expect_ok "umount" umount /mnt
expect_ok "mount again" mount -t ext4 -o noatime,noinit_itable "/dev/$disk" /mnt
echo 3 > /proc/sys/vm/drop_caches
echo 1 > "/sys/kernel/debug/freeblock/$disk/reset"
late=$(drive_stat d late_over_10us)

mount -t tracefs nodev $tracing 2>/dev/null
echo 16384 > $tracing/buffer_size_kb
echo > $tracing/trace
echo 1 > $tracing/events/freeblock/freeblock_complete/enable
read_all > /tmp/read
echo 0 > $tracing/events/freeblock/freeblock_complete/enable
expect_eq "bytes of each reader" "$(sort -u /tmp/read)" $((READS * 3072))
expect_eq "trace complete" "$(kv $tracing/per_cpu/cpu0/stats overrun)" 0
sed -n 's/.* error_ns=\(-*[0-9]*\) .*/\1/p' $tracing/trace |
	sed 's/^0$/unknown/' > /out/errors
numbers "$disk" state stats > /out/status
cp "/sys/kernel/mechdisk/d/stats" /out
expect_ge "commands" "$(wc -l < /out/errors)" "$READS"
expect_eq "predicted" "$(grep -cv unknown /out/errors)" \
	"$(kv /out/status pred_total)"
# As make bench-peers asks: one command in a thousand
expect_le "commands answered more than 10 us late" $(($(drive_stat d late_over_10us) - late)) \
	$((READERS * READS / 1000))
expect_ok "umount at the end" umount /mnt
drive_off d
done_testing
