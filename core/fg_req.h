/* SPDX-License-Identifier: GPL-2.0 */
/* A request of the foreground, as accounts are told of it. */
#ifndef FB_FG_REQ_H
#define FB_FG_REQ_H

#include "include/fb_shim.h"

struct fb_fg_req {
	u64 lbn;			/* first sector */
	u32 nsect;			/* not 0 */
	bool write;
	u64 arrived_ns;
};

#endif /* FB_FG_REQ_H */
