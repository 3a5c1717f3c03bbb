/* SPDX-License-Identifier: GPL-2.0 */
/* Why something cannot be done, in words. */
#ifndef SCRUB_REFUSAL_H
#define SCRUB_REFUSAL_H

/**
 * refuse() - note why something cannot be done
 * @format: as of printf()
 *
 * Return: -1.
 */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * refusal() - why the last thing that was refused could not be done
 *
 * Return: one line; valid until the next refusal.
 */
const char *refusal(void);

#endif /* SCRUB_REFUSAL_H */
