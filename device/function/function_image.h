/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A function, with its RDMA side, saved and loaded.
 */
#ifndef DEVICE_FUNCTION_FUNCTION_IMAGE_H
#define DEVICE_FUNCTION_FUNCTION_IMAGE_H

#include "function/function.h"
#include "state/state.h"

/**
 * function_save() - write a whole state
 * @fn:		function; nothing of it is being polled.  It can go on afterwards
 * @st:		set to the state; state_free() is needed in any case
 *
 * A control command that goes on in the next round is as if it had not been taken.
 *
 * Return: false, and st->why says why, if that failed.
 */
bool function_save(struct function *fn, struct state *st);

/**
 * function_load() - read a whole state
 * @fn:		function as after function_new(), of the same limits, whose features were
 *		negotiated, with its memory map, its virtqueues started
 * @st:		from state_read()
 *
 * Return: false, and the function is as before, if that failed.
 */
bool function_load(struct function *fn, struct state *st);

/** function_look_at_all() - doorbells of its RDMA side may have got lost */
void function_look_at_all(struct function *fn);

#endif /* DEVICE_FUNCTION_FUNCTION_IMAGE_H */
