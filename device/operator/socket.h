/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The socket that an operator's commands come by.
 */
#ifndef DEVICE_CONTROL_H
#define DEVICE_CONTROL_H

#include "base/loop.h"
#include "operator/commands.h"

struct control;

/**
 * control_new() - listen for commands
 * @loop:	event loop
 * @path:	unix socket, for its owner only
 * @report:	what the commands are about; lives as long as the socket
 *
 * Return: the socket, or NULL with errno set.
 */
struct control *control_new(struct loop *loop, const char *path,
			    const struct report *report);

/** control_free() - end all connections and remove the socket */
void control_free(struct control *control);

#endif /* DEVICE_CONTROL_H */
