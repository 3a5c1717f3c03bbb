/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_READER_H
#define FB_READER_H

struct fb_disk_client;

extern const struct fb_disk_client fb_reader_client;

int fb_reader_thread(void *data);

#endif /* FB_READER_H */
