/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The type of handlers of control commands, and their arguments.
 */
#ifndef DEVICE_RDMA_COMMAND_PRIV_H
#define DEVICE_RDMA_COMMAND_PRIV_H

struct rnic;
struct rnic_request;

/**
 * struct command_args - what a handler is given
 * @req:	copy of the fixed part of the request
 * @whole:	all of it
 * @rsp:	where the response goes
 */
struct command_args {
	const void *req;
	const struct rnic_request *whole;
	void *rsp;
};

/* Each handler returns NULL, or why it failed. */
typedef const char *command_fn(struct rnic *rnic, const struct command_args *args);

#endif /* DEVICE_RDMA_COMMAND_PRIV_H */
