// SPDX-License-Identifier: GPL-2.0
/*
 * Definition of the trace points (disk/trace_events.h), separate from the code that fires them.
 */
#define CREATE_TRACE_POINTS
#include "disk/trace_events.h"
