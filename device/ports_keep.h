/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guests in memory that outlives the process: a daemon that comes after one that was killed
 * goes on with them.
 */
#ifndef DEVICE_PORTS_KEEP_H
#define DEVICE_PORTS_KEEP_H

#include "ports.h"

/** PORTS_KEEP_SIZE - bytes of &ports.keep */
#define PORTS_KEEP_SIZE	(GUESTS_MAX * sizeof(struct guest_keep))

/** ports_keep_guest() - keep a guest from now on, if there is &ports.keep */
void ports_keep_guest(struct ports *ports, struct guest *guest);

/** ports_keep_not() - a guest ends */
void ports_keep_not(struct ports *ports, const struct guest *guest);

/** ports_keep_all() - keep all guests from now on */
void ports_keep_all(struct ports *ports);

/** ports_keep_sweep() - close all descriptors that are not of guests in &ports.keep */
void ports_keep_sweep(struct ports *ports);

/**
 * ports_recover() - go on with the guests that were kept, and start the other ports anew
 * @ports:	all, after ports_init()
 *
 * A guest that cannot be had loses its connection.
 *
 * Return: 0, or -errno after an error was printed.
 */
int ports_recover(struct ports *ports);

/** ports_recovered() - this process serves now: look at what the other may have missed */
void ports_recovered(struct ports *ports);

#endif /* DEVICE_PORTS_KEEP_H */
