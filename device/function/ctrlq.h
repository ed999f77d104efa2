/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The control queue of a function.
 */
#ifndef DEVICE_CTRLQ_H
#define DEVICE_CTRLQ_H

#include <stdbool.h>

struct function;

/** ctrlq_poll() - carry out a bounded number of commands; true if any */
bool ctrlq_poll(struct function *fn);

#endif /* DEVICE_CTRLQ_H */
