// SPDX-License-Identifier: GPL-2.0
/* What drives answer about their power states (SCSI, ATA); see core/power.h. Pure. */
#include "disk/power_answer.h"

/* SPC-5, table of sense keys and additional sense codes */
#define FB_POWER_KEY_NOT_READY 0x02
#define FB_POWER_ASC_LOW 0x5e

/* Translate the answer of CHECK POWER MODE (ACS-4, 7.3). @count: the count register. */
enum fb_power_state fb_power_of_ata(u8 count)
{
	switch (count) {
	case 0x00:
		return FB_POWER_STANDBY_Z;
	case 0x01:
		return FB_POWER_STANDBY_Y;
	case 0x83:
		return FB_POWER_IDLE_C;
	/* active or idle, idle_a, idle_b, active */
	case 0x80:
	case 0x81:
	case 0x82:
	case 0xff:
		return FB_POWER_ACTIVE;
	default:
		return FB_POWER_UNKNOWN;
	}
}

/* Translate the answer of REQUEST SENSE (SPC-5, annex F): key, code and its qualifier. */
enum fb_power_state fb_power_of_sense(u8 key, u8 asc, u8 ascq)
{
	/* idle_a and idle_b, by timer and by command, spin */
	static const enum fb_power_state low[] = {
		[0x00] = FB_POWER_LOW,
		[0x02] = FB_POWER_STANDBY_Z,
		[0x04] = FB_POWER_STANDBY_Z,
		[0x07] = FB_POWER_IDLE_C,
		[0x08] = FB_POWER_IDLE_C,
		[0x09] = FB_POWER_STANDBY_Y,
		[0x0a] = FB_POWER_STANDBY_Y,
	};

	if (asc == FB_POWER_ASC_LOW)
		return ascq < ARRAY_SIZE(low) ? low[ascq] : FB_POWER_UNKNOWN;
	return key == FB_POWER_KEY_NOT_READY ? FB_POWER_STOPPED : FB_POWER_ACTIVE;
}
