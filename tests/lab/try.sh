# SPDX-License-Identifier: GPL-2.0
# The guest's part of make try: a simulated disk that is in use, and a shell for a person, as root.
# The drive's model is there already: time in this guest is too coarse for measuring one.
#
# Variables: ROWS COLUMNS of the terminal
#
# lab-freeblock: enable setup off trial scrub scan status top conf models guard observe metrics
# lab-python: freeblock.extraction.refuse freeblock.tuning.record freeblock.tracefile.detect _pydecimal concurrent.futures.thread
# lab-programs: sim

. /lab/lib.sh

stty -F /dev/ttyS1 sane rows "$ROWS" cols "$COLUMNS"
load_module mechdisk > /dev/null
install_freeblock
disk=$(drive_new d toy.fbdrive) || exit 1
sched_set "$disk" mq-deadline
freeblock models install "$(lab_file toy.fbmodel)" --disk "$disk" > /dev/null
fio --name=users --filename=/dev/"$disk" --direct=1 --ioengine=libaio --iodepth=64 --rw=randread \
	--bs=8k --norandommap --time_based --runtime=1000000 --rate_iops=40 \
	--rate_process=poisson --eta=never > /dev/null 2>&1 &
cat <<-END

	A virtual machine with a simulated disk, /dev/$disk (0.5 GB), which serves 40 random reads a
	second to its users. You are root here, and nothing that you do reaches your own machine.
	Each command takes some seconds to begin; idle time passes faster than outside, and on a busy
	machine all is slower, but never late. Type, for instance:

	    freeblock enable /dev/$disk        # give the disk the scheduler: no model is needed
	    freeblock scrub /dev/$disk start   # verify all of it, in the background, some minutes
	    freeblock top                    # how far it is, and what it costs: q ends this
	    freeblock status $disk             # the same, and more, once
	    freeblock setup /dev/$disk         # use busy times, too (its model is there)
	    freeblock off /dev/$disk           # put everything back
	    exit                             # end the virtual machine

END
setsid sh -c 'PS1="try# " exec sh < /dev/ttyS1 > /dev/ttyS1 2>&1'
reboot -f
