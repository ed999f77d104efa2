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
 * @st:		from state_write(); all of it is written then
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

/**
 * function_move_save() - the state of a function that is stopped, for another host
 * @dev:	function, without virtqueues
 * @data:	set to the state, for free()
 * @size:	its bytes
 *
 * From now on the guest is elsewhere, until a queue is started: who talks to it does so by the
 * uplinks.
 *
 * Return: 0, or -errno, and the reason was logged.
 */
int function_move_save(void *dev, uint8_t **data, size_t *size);

/**
 * function_move_load() - go on as a function from another host
 * @dev:	function, without memory and virtqueues
 * @data:	its state
 * @size:	bytes of that
 * @features:	set to those that were negotiated
 *
 * When it has its control queue it announces its addresses.
 *
 * Return: 0, or -errno; then the reason was logged, and the function has no objects.
 */
int function_move_load(void *dev, const uint8_t *data, size_t size, uint64_t *features);

/** function_section_known() - the version of a section that function_load() reads, or 0 */
uint16_t function_section_known(const char *kind);

/** function_look_at_all() - doorbells of its RDMA side may have got lost */
void function_look_at_all(struct function *fn);

/**
 * function_recover() - go on as a function that was kept
 * @fn:		function, whose front-end was recovered before
 * @keep:	what another process has left, which was killed
 *
 * It has no objects of RDMA.  If the other one may have had some, each command of RoCE fails
 * until the guest resets the function.
 *
 * Return: 0, or -EINVAL after an error was printed.
 */
int function_recover(struct function *fn, const struct function_keep *keep);

#endif /* DEVICE_FUNCTION_FUNCTION_IMAGE_H */
