/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tell the network where a guest is that was moved here.
 */
#ifndef DEVICE_FUNCTION_ANNOUNCE_H
#define DEVICE_FUNCTION_ANNOUNCE_H

#include "function/function_priv.h"

/** announce_init() - nothing is to be announced yet */
void announce_init(struct function *fn);

/** announce_start() - announce now, and some more times, as a frame may be lost */
void announce_start(struct function *fn);

/** announce_stop() - announce no more */
void announce_stop(struct function *fn);

#endif /* DEVICE_FUNCTION_ANNOUNCE_H */
