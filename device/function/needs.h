/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The needs of a guest that is to be moved, told before it is stopped.
 */
#ifndef DEVICE_FUNCTION_NEEDS_H
#define DEVICE_FUNCTION_NEEDS_H

#include <stdio.h>

#include "function/function.h"

/** NEEDS_FIRST - what such a text begins with */
#define NEEDS_FIRST	"features="

/** NEEDS_WHY - room for the reason why a guest cannot move, with the field */
#define NEEDS_WHY	160

/** needs_print() - all that counts, as one line of words FIELD=VALUE */
void needs_print(struct function *fn, FILE *out);

/**
 * needs_check() - could the guest whose needs these are be moved here?
 * @fn:		function that it would get
 * @text:	of needs_print(), from anywhere; changed
 * @why:	set to the field and the reason, if not
 *
 * What it says of a field is what loading the state would say.
 */
bool needs_check(const struct function *fn, char *text, char why[NEEDS_WHY]);

/**
 * needs_portable() - could it be moved to anywhere, as far as is known here?
 * @dev:	function
 * @why:	set to the field and the reason, if not
 * @size:	room there
 *
 * As @can_move of &struct fe_device_ops.
 */
bool needs_portable(void *dev, char *why, size_t size);

#endif /* DEVICE_FUNCTION_NEEDS_H */
