# SPDX-License-Identifier: GPL-2.0
# Shared by tests of power conditions. A drive is attached by SCSI, where START STOP UNIT sets its
# condition, or by SATA, where SET FEATURES does (extended power conditions, ACS-4, 9.12).

# port scsi|sata: how drives are attached from now on, $port, and what their description needs
port()
{
	port=$1
	port_text=
	[ "$port" = scsi ] || port_text="interface $port"
}

# port_model FILE.fbmodel: the same, or one whose vendor is that of all SATA drives, with its end
# record anew (model-format.rst)
port_model()
{
	local model="/lab/files/$1" new="/tmp/$port-$1"

	[ "$port" = sata ] || { echo "$model"; return; }
	sed 's/^vendor .*/vendor ATA/; /^end /d' "$model" > "$new"
	printf 'end %d %s\n' "$(wc -c < "$new")" \
		$(gzip -c "$new" | tail -c 8 | od -A n -t x4 -N 4) >> "$new"
	echo "$new"
}

# ata DISK COMMAND FEATURE COUNT LBA: hexadecimal, no data
ata()
{
	local lba=$((0x$5))

	sg_raw /dev/"$1" 85 06 00 00 "$3" 00 "$4" 00 "$(printf %02x $((lba & 255)))" \
		00 "$(printf %02x $((lba >> 8 & 255)))" 00 "$(printf %02x $((lba >> 16 & 255)))" \
		40 "$2" 00
}

# condition_set DISK NAME: the drive goes there at once
condition_set()
{
	local how

	case $port.$2 in
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
	sata.sleep) how= ;;
	*) die "no condition $2 on $port" ;;
	esac
	case $port.$2 in
	scsi*) sg_raw /dev/"$1" 1b 00 00 $how 00 ;;
	# START, which libata translates to a verify
	sata.active) sg_raw /dev/"$1" 1b 00 00 00 01 00 ;;
	sata.sleep) ata "$1" e6 00 00 0 ;;
	# EPC: enable, then go
	sata*) ata "$1" ef 4a 00 04 && ata "$1" ef 4a "$how" 01 ;;
	esac >/dev/null 2>&1 || die "$1 does not go to $2"
}
