// SPDX-License-Identifier: GPL-2.0
/*
 * The trace points are defined here, apart from all who fire them (disk/trace_events.h).
 */
#define CREATE_TRACE_POINTS
#include "disk/trace_events.h"
