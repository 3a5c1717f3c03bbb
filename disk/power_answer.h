/* SPDX-License-Identifier: GPL-2.0 */
/* What drives answer about their power states. */
#ifndef FB_POWER_ANSWER_H
#define FB_POWER_ANSWER_H

#include "core/power.h"

enum fb_power_state fb_power_of_ata(u8 count);
enum fb_power_state fb_power_of_sense(u8 key, u8 asc, u8 ascq);

#endif /* FB_POWER_ANSWER_H */
