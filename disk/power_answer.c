// SPDX-License-Identifier: GPL-2.0
/* What drives answer about their power states and timers (SCSI, ATA); see core/power.h. Pure. */
#include "disk/power_answer.h"

/* SPC-5, table of sense keys and additional sense codes */
#define FB_POWER_KEY_NOT_READY 0x02
#define FB_POWER_ASC_LOW 0x5e

/* mode page 1Ah, Power Condition (SPC-5, 7.5.15) */
#define FB_POWER_PAGE 0x1a
#define FB_POWER_TICK_NS (100ULL * NSEC_PER_MSEC)

/* fields of a descriptor of the Power Conditions log, 08h (ACS-4) */
#define FB_POWER_LOG_ENABLED 0x04	/* in byte 1: the current timer is enabled */
#define FB_POWER_LOG_CURRENT 12		/* byte at which that timer is */

/* Translate the answer of CHECK POWER MODE (ACS-4, 7.3). @count: the count register. */
enum fb_power_state fb_power_of_ata(u8 count)
{
	switch (count) {
	case 0x00:
		return FB_POWER_STANDBY_Z;
	case 0x01:
		return FB_POWER_STANDBY_Y;
	case 0x80:
		return FB_POWER_IDLE;
	case 0x81:
		return FB_POWER_IDLE_A;
	case 0x82:
		return FB_POWER_IDLE_B;
	case 0x83:
		return FB_POWER_IDLE_C;
	case 0xff:
		return FB_POWER_ACTIVE;
	default:
		return FB_POWER_UNKNOWN;
	}
}

/* Translate the answer of REQUEST SENSE (SPC-5, annex F): key, code and its qualifier. */
enum fb_power_state fb_power_of_sense(u8 key, u8 asc, u8 ascq)
{
	/* by timer and by command */
	static const enum fb_power_state low[] = {
		[0x00] = FB_POWER_LOW,
		[0x01] = FB_POWER_IDLE_A,
		[0x02] = FB_POWER_STANDBY_Z,
		[0x03] = FB_POWER_IDLE_A,
		[0x04] = FB_POWER_STANDBY_Z,
		[0x05] = FB_POWER_IDLE_B,
		[0x06] = FB_POWER_IDLE_B,
		[0x07] = FB_POWER_IDLE_C,
		[0x08] = FB_POWER_IDLE_C,
		[0x09] = FB_POWER_STANDBY_Y,
		[0x0a] = FB_POWER_STANDBY_Y,
	};

	if (asc == FB_POWER_ASC_LOW)
		return ascq < ARRAY_SIZE(low) ? low[ascq] : FB_POWER_UNKNOWN;
	return key == FB_POWER_KEY_NOT_READY ? FB_POWER_STOPPED : FB_POWER_ACTIVE;
}

/* the shorter of two timers, 0: none; of @ticks of 100 ms */
static u64 fb_power_least_ns(u64 least_ns, u32 ticks)
{
	u64 ns = ticks * FB_POWER_TICK_NS;

	return ns && (!least_ns || ns < least_ns) ? ns : least_ns;
}

/* The shortest timer of mode page 1Ah after which a drive sleeps; 0: none, or another page. */
u64 fb_power_page_ns(const u8 *page, u32 len)
{
	/* where a timer is enabled, and where it is */
	static const struct {
		u32 byte, bit, at;
	} timers[] = {
		{ .byte = 3, .bit = 0x01, .at = 8 },	/* standby_z */
		{ .byte = 3, .bit = 0x08, .at = 16 },	/* idle_c */
		{ .byte = 2, .bit = 0x01, .at = 20 },	/* standby_y */
	};
	u64 least = 0;
	u32 i;

	if (len < 4 || (page[0] & 0x3f) != FB_POWER_PAGE)
		return 0;
	len = min_t(u32, len, page[1] + 2);
	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		const u8 *at = page + timers[i].at;

		/* before SPC-4 the page ends after standby_z */
		if (timers[i].at + 4 > len || !(page[timers[i].byte] & timers[i].bit))
			continue;
		least = fb_power_least_ns(least, (u32)at[0] << 24 | at[1] << 16 | at[2] << 8 |
					  at[3]);
	}
	return least;
}

/* The same of an ATA drive. @log: its Power Conditions log, from page 0 on. */
u64 fb_power_log_ns(const u8 *log, u32 len)
{
	/* idle_c is on page 0, standby_y and standby_z on page 1 */
	static const u32 where[] = { 128, 512 + 384, 512 + 448 };
	u64 least = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(where); i++) {
		const u8 *at = log + where[i] + FB_POWER_LOG_CURRENT;

		if (where[i] + FB_POWER_LOG_CURRENT + 4 > len ||
		    !(log[where[i] + 1] & FB_POWER_LOG_ENABLED))
			continue;
		least = fb_power_least_ns(least, at[0] | at[1] << 8 | at[2] << 16 |
					  (u32)at[3] << 24);
	}
	return least;
}
