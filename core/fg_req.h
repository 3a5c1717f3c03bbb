/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A request of the foreground, as accounts are told of it.
 */
#ifndef FB_FG_REQ_H
#define FB_FG_REQ_H

#include "include/fb_shim.h"

/**
 * struct fb_fg_req - a foreground request
 * @lbn: first sector
 * @nsect: sectors, not 0
 * @write: direction
 * @arrived_ns: when it came
 */
struct fb_fg_req {
	u64 lbn;
	u32 nsect;
	bool write;
	u64 arrived_ns;
};

#endif /* FB_FG_REQ_H */
