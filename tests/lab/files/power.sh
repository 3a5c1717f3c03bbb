# SPDX-License-Identifier: GPL-2.0
# Shared by tests of power conditions. $PORT says what the drive is attached by, "scsi" or "sata"
# (--set PORT=sata): by START STOP UNIT, or by extended power conditions (ACS-4, 9.12).

PORT=${PORT:-scsi}
# what a drive's description needs besides
port_text=
[ "$PORT" = scsi ] || port_text="interface $PORT"

# ata DISK COMMAND FEATURE COUNT LBA: hexadecimal, no data
ata()
{
	sg_raw /dev/"$1" 85 06 00 00 "$3" 00 "$4" 00 "$5" 00 00 00 00 40 "$2" 00
}

# condition_set DISK NAME: the drive goes there at once
condition_set()
{
	local how

	case $PORT.$2 in
	scsi.active) how="00 10" ;;
	scsi.idle_a) how="00 20" ;;
	scsi.idle_b) how="01 20" ;;
	scsi.idle_c) how="02 20" ;;
	scsi.standby_y) how="01 30" ;;
	scsi.standby_z) how="00 30" ;;
	sata.active) how= ;;
	sata.idle_a) how=81 ;;
	sata.idle_b) how=82 ;;
	sata.idle_c) how=83 ;;
	sata.standby_y) how=01 ;;
	sata.standby_z) how=00 ;;
	*) die "no condition $2 on $PORT" ;;
	esac
	case $PORT in
	scsi) sg_raw /dev/"$1" 1b 00 00 $how 00 ;;
	# EPC: enable, then go
	sata) [ -z "$how" ] || { ata "$1" ef 4a 00 04 && ata "$1" ef 4a "$how" 01; } ;;
	esac >/dev/null 2>&1 || die "$1 does not go to $2"
}
