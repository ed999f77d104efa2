/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The control queue of a function.
 */
#ifndef DEVICE_CTRLQ_H
#define DEVICE_CTRLQ_H

#include <stdbool.h>

struct function;

/** ctrlq_poll() - carry out commands, as far as is bounded; true if any */
bool ctrlq_poll(struct function *fn);

/**
 * ctrlq_restart() - make an unfinished command start again from its beginning
 * @fn:		function, whose control queue or memory goes away
 *
 * It is put back into the queue, as if it had not been taken yet.
 */
void ctrlq_restart(struct function *fn);

#endif /* DEVICE_CTRLQ_H */
