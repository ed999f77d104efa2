/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unix stream sockets.
 */
#ifndef DEVICE_UDS_H
#define DEVICE_UDS_H

#include <stdbool.h>

#include "base/loop.h"

/**
 * uds_listen() - listen on a unix stream socket
 * @path:	its name; a socket that its owner left behind is replaced
 * @backlog:	connections that may wait to be accepted
 *
 * Return: a descriptor that does not block, or -errno.  The caller removes
 *	   @path when it closes it.
 */
int uds_listen(const char *path, int backlog);

/** uds_is_listening() - is it a unix stream socket that listens? */
bool uds_is_listening(int fd);

/** uds_is_connected() - is it a unix stream socket that does not listen? */
bool uds_is_connected(int fd);

/** uds_unlink() - remove a socket's name, if it is one */
void uds_unlink(const char *path);

/**
 * uds_unlink_stale() - remove the name of a socket that nobody listens on
 * @path:	name
 *
 * Return: 0, also if there is no such name; -EADDRINUSE if somebody listens, -EEXIST if
 *	   it is something else than a socket, or another -errno.
 */
int uds_unlink_stale(const char *path);

/** set_nonblocking() - have a descriptor that others made not block; 0 or -errno */
int set_nonblocking(int fd);

/**
 * uds_accept() - accept a connection
 * @loop:	event loop
 * @listener:	from uds_listen(), watched for EPOLLIN
 *
 * If there are no descriptors left, the connection waits.  The listener is not watched
 * meanwhile, so the loop does not spin.
 *
 * Return: a descriptor that does not block, or -errno.
 */
int uds_accept(struct loop *loop, struct loop_fd *listener);

/** uds_connect() - connect to @path; a descriptor that does not block, or -errno */
int uds_connect(const char *path);

#endif /* DEVICE_UDS_H */
