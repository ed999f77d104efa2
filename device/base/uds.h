/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Unix stream sockets.
 */
#ifndef DEVICE_UDS_H
#define DEVICE_UDS_H

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
