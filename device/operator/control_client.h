/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The client's side of the control socket.  Part of vhost-user-roce-ctl, which tells what is
 * wrong on standard error.
 */
#ifndef DEVICE_OPERATOR_CONTROL_CLIENT_H
#define DEVICE_OPERATOR_CONTROL_CLIENT_H

#include <stdio.h>

/** ask_fail() - tell the error in errno; returns EXIT_FAILURE */
int ask_fail(const char *what);

/**
 * ask() - send a command
 * @path:	control socket
 * @command:	line, with the line feed
 * @fd:		descriptor to send with it, or -1
 *
 * Return: the answer, behind its first line; NULL if it failed, which was told.
 */
FILE *ask(const char *path, const char *command, int fd);

#endif /* DEVICE_OPERATOR_CONTROL_CLIENT_H */
