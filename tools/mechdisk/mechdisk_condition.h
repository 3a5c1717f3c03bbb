/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The power condition of the simulated SCSI drive (SPC-5, 5.13): START STOP UNIT and a timer put
 * it to sleep, a command for the medium wakes it at once.  No time passes for its motor.  Pure;
 * the caller serialises.
 */
#ifndef MECHDISK_CONDITION_H
#define MECHDISK_CONDITION_H

#include "mechdisk_config.h"

/**
 * struct mdo - a power condition
 * @asked: additional sense code qualifier of the condition that a command has asked for; 0: none
 * @used_ns: the last command for the medium
 */
struct mdo {
	/* private: */
	u8 asked;
	u64 used_ns;
};

/**
 * mdo_ascq() - the condition, as REQUEST SENSE tells it
 * @o: the condition
 * @cfg: the drive
 * @now_ns: the time
 *
 * Return: additional sense code qualifier of 5Eh; 0: active.
 */
u8 mdo_ascq(const struct mdo *o, const struct mde_config *cfg, u64 now_ns);

/**
 * mdo_use() - a command for the medium arrives
 * @o: the condition
 * @cfg: the drive
 * @now_ns: the time
 *
 * Return: whether it finds the spindle standing, or slow.
 */
bool mdo_use(struct mdo *o, const struct mde_config *cfg, u64 now_ns);

/**
 * mdo_start_stop() - carry out START STOP UNIT (SBC-4, 5.27)
 * @o: the condition
 * @cdb: the command
 * @now_ns: the time
 *
 * To stop is to go to standby, as an adapter has it that translates for SATA.
 */
void mdo_start_stop(struct mdo *o, const u8 *cdb, u64 now_ns);

#endif /* MECHDISK_CONDITION_H */
