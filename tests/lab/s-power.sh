# SPDX-License-Identifier: GPL-2.0
# t-power.sh with dozens of cuts, freeblock beside mq-deadline and none, on both file systems. In
# make soak: it takes long. Also in build/soak/power.json.
#
# lab-runner: power ext4/freeblock/5 xfs/freeblock/5 ext4/freeblock/5 xfs/freeblock/5 ext4/freeblock/5 xfs/freeblock/5 ext4/mq-deadline/3 xfs/mq-deadline/3 ext4/none/2 xfs/none/2 ext4/freeblock/5/sata xfs/freeblock/5/sata
# lab-summary: soak/power.json
# lab-python: glob mmap random
# lab-freeblock: scan scrub
# lab-host-programs: mkfs.xfs xfs_repair
# lab-kernel-modules: xfs libata
# lab: kernel=stock clock=icount smp=1 timeout=6500

. /lab/files/t-power.sh
