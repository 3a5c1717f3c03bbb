/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drives are switched on through /sys/kernel/mechdisk; other modules attach some of them.
 */
#ifndef MECHDISK_CTL_H
#define MECHDISK_CTL_H

#include "mechdisk_run.h"

/* Drives of an interface can be powered on from now on. @port: what they are attached by. */
void mdc_register(enum mde_interface interface, const struct md_port *port);

/* Power all drives of an interface off, and let none be powered on. Context: process, sleeps. */
void mdc_unregister(enum mde_interface interface);

#endif /* MECHDISK_CTL_H */
