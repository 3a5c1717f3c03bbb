/* SPDX-License-Identifier: GPL-2.0 */
/* Why something cannot be done, in words. */
#ifndef SCRUB_REFUSAL_H
#define SCRUB_REFUSAL_H

/* Note why something cannot be done. Returns -1 */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Why the last thing that was refused could not be done. Returns one line; valid until the next
 * refusal
 */
const char *refusal(void);

#endif /* SCRUB_REFUSAL_H */
