/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The socket that an operator's commands come by.
 */
#ifndef DEVICE_OPERATOR_SOCKET_H
#define DEVICE_OPERATOR_SOCKET_H

#include "base/loop.h"
#include "operator/commands.h"

struct operator_socket;

/**
 * operator_socket_new() - listen for commands
 * @loop:	event loop
 * @path:	unix socket, for its owner only
 * @op:		what the commands are about; lives as long as the socket
 *
 * Return: the socket, or NULL with errno set.
 */
struct operator_socket *operator_socket_new(struct loop *loop, const char *path,
					    const struct operator *op);

/**
 * operator_socket_take() - listen for commands at a socket that others made
 * @loop:	event loop
 * @path:	its name
 * @fd:		the socket, which listens; taken over unless there is an error
 * @op:		as for operator_socket_new()
 *
 * Return: the socket, or NULL with errno set.
 */
struct operator_socket *operator_socket_take(struct loop *loop, const char *path, int fd,
					     const struct operator *op);

/** operator_socket_fd() - the listening socket */
int operator_socket_fd(const struct operator_socket *control);

/** operator_socket_free() - end all connections and remove the socket */
void operator_socket_free(struct operator_socket *control);

#endif /* DEVICE_OPERATOR_SOCKET_H */
