// SPDX-License-Identifier: GPL-2.0
/*
 * The trace points, apart from all who fire them.
 */
#define CREATE_TRACE_POINTS
#include "disk/trace_events.h"
