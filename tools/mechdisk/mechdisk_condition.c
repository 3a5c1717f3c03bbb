// SPDX-License-Identifier: GPL-2.0
/*
 * Power conditions; see mechdisk_condition.h.
 */
#include "mechdisk_bytes.h"
#include "mechdisk_condition.h"

/* Byte 4 of START STOP UNIT: the condition in its upper half. */
#define MDO_START	0x01
#define MDO_START_VALID	0
#define MDO_IDLE	2
#define MDO_STANDBY	3

/* Additional sense code qualifiers of 5Eh. */
#define MDO_STANDBY_BY_TIMER	0x02
#define MDO_STANDBY_BY_COMMAND	0x04

u8 mdo_ascq(const struct mdo *o, const struct mde_config *cfg, u64 now_ns)
{
	u64 timer_ns = cfg->standby_timer_ms * 1000000;

	if (o->asked)
		return o->asked;
	return timer_ns && now_ns - o->used_ns >= timer_ns ? MDO_STANDBY_BY_TIMER : 0;
}

bool mdo_use(struct mdo *o, const struct mde_config *cfg, u64 now_ns)
{
	u8 ascq = mdo_ascq(o, cfg, now_ns);

	o->asked = 0;
	o->used_ns = now_ns;
	return ascq && ascq != 0x03 && ascq != 0x06;
}

void mdo_start_stop(struct mdo *o, const u8 *cdb, u64 now_ns)
{
	/* By the modifier; idle_a, idle_b, idle_c and standby_z, standby_y. */
	static const u8 idle[] = { 0x03, 0x06, 0x08 };
	static const u8 standby[] = { MDO_STANDBY_BY_COMMAND, 0x0a };
	u8 modifier = cdb[3] & 0x0f;

	o->asked = 0;
	switch (cdb[4] >> 4) {
	case MDO_START_VALID:
		o->asked = cdb[4] & MDO_START ? 0 : MDO_STANDBY_BY_COMMAND;
		break;
	case MDO_IDLE:
		o->asked = modifier < sizeof(idle) ? idle[modifier] : 0;
		break;
	case MDO_STANDBY:
		o->asked = modifier < sizeof(standby) ? standby[modifier] : 0;
		break;
	}
	o->used_ns = now_ns;
}
