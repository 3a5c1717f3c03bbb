# SPDX-License-Identifier: GPL-2.0
# Sixty disks, with packages installed: five lines of freeblock.conf, a command to enable them, one to
# see them; scrubs are on record; off undoes all within a minute while all are read.
#
# Seen to fail: a total that counts disks twice; off without --all.
#
# lab: kernel=stock clock=icount smp=1 timeout=1500
# lab-freeblock: enable setup off models scrub guard conf status top apply
# lab-python: freeblock.extraction.refuse _pydecimal

. /lab/lib.sh

DISKS=60

now()
{
	cut -d ' ' -f 1 /proc/uptime | cut -d . -f 1
}

load_module mechdisk
install_freeblock
for n in $(seq $DISKS); do
	drive_new "d$n" tiny.fbdrive "serial FLEET$n" > /dev/null || exit 1
done
cat > /etc/freeblock.conf <<CONF
[all]
enable = yes
scrub_every_days = 30
max_concurrent = 20
CONF
expect_ok "conf check" freeblock conf check
began=$(now)
expect_ok "enable" freeblock enable --all --yes --quiet
note "enabled $DISKS disks in $(($(now) - began)) s"
freeblock status --seconds 0 > /tmp/status || not_ok "status"
expect_eq "a line each, a header and a total" "$(wc -l < /tmp/status)" $((DISKS + 2))
expect_match "total" "$(tail -n 1 /tmp/status)" "^$DISKS disks, "
expect_eq "no line is longer than a screen" "$(awk 'length > 120' /tmp/status | wc -l)" 0
expect_ok "nothing is left to apply" freeblock apply
# one after the other: a process for each of sixty does not fit into this machine's memory
for disk in sda sdb sdc; do
	expect_ok "scrub of $disk" freeblock scrub $disk run --quiet --before 0
	expect_match "history of $disk" "$(freeblock scrub $disk history)" ": [0-9]* blocks, 0 bad"
done
freeblock status --seconds 0 > /tmp/status || not_ok "status"
expect_eq "they have a pass on record" "$(grep -c "  $(date +%Y-%m-%d)   *0  " /tmp/status)" 3
head -n 4 /tmp/status
tail -n 1 /tmp/status
freeblock top --once --seconds 1 > /tmp/top || not_ok "top"
expect_ge "top" "$(wc -l < /tmp/top)" $DISKS

fio --name=busy --filename="$(echo /dev/sd* | tr ' ' :)" --readonly --direct=1 --ioengine=libaio \
	--iodepth=240 --file_service_type=random --rw=randread --bs=4k --time_based --runtime=600 \
	> /tmp/fio 2>&1 &
busy=$!
sleep 2
began=$(now)
expect_ok "off" freeblock off --all
expect_le "off, s" $(($(now) - began)) 60
expect_eq "schedulers" "$(cat /sys/block/sd*/queue/scheduler | grep -c '\[freeblock\]')" 0
expect_fail "no module" test -d /sys/module/freeblock
expect_ok "still busy: $(head -n 3 /tmp/fio | tr '\n' ';')" kill $busy
done_testing
