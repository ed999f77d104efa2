/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands "guest" and "uplink".
 */
#ifndef DEVICE_OPERATOR_CHANGE_H
#define DEVICE_OPERATOR_CHANGE_H

#include <stdbool.h>

#include "operator/commands.h"

/**
 * operator_change() - carry out a command that adds, removes or lists guests or uplinks
 * @op:		the ports that there are
 * @line:	command
 * @fd:		descriptor that came with it, or -1; set to -1 if it is taken over
 * @out:	where the answer goes
 *
 *   guest list           name, path, MAC address, state
 *   guest add TEXT       with a socket that listens, see &struct operator_changes
 *   guest remove NAME    its path, which may be there still: of what others made we
 *                        need not see the directory
 *   guest needs NAME     as needs_print()
 *   guest check-move NAME NEEDS
 *                        nothing, or the field that does not fit, as needs_check()
 *   uplink add TEXT      with its descriptor, likewise
 *   uplink remove NAME   path, if it listened at one
 *
 * Return: false if it is another command.
 */
bool operator_change(const struct operator *op, const char *line, int *fd, FILE *out);

#endif /* DEVICE_OPERATOR_CHANGE_H */
