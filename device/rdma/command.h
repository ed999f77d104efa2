/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Control commands of class VIRTIO_NET_CTRL_ROCE.
 */
#ifndef DEVICE_RDMA_COMMAND_H
#define DEVICE_RDMA_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct rnic;

/** RNIC_RSP_MAX - no response is longer than this */
#define RNIC_RSP_MAX	256

/**
 * RNIC_COMMAND_MORE - a command is not finished
 *
 * No ack: rnic_command_more() goes on with it.
 */
#define RNIC_COMMAND_MORE	2

/**
 * struct rnic_request - a request where it lies in guest memory
 * @iov:	pieces
 * @iov_n:	their number
 * @off:	bytes in front of it
 * @len:	its bytes, not checked yet
 */
struct rnic_request {
	const struct iovec *iov;
	unsigned int iov_n;
	size_t off;
	size_t len;
};

/**
 * rnic_command() - carry out a control command of class VIRTIO_NET_CTRL_ROCE
 * @rnic:	NIC
 * @command:	&enum virtio_net_ctrl_roce_cmd, not checked yet
 * @req:	request, each byte of which is copied once at most, and none
 *		before its length was found good
 * @rsp:	buffer for the response, aligned to 8
 * @rsp_size:	room that the guest gave for it
 * @rsp_len:	set to the bytes of the response; 0 unless it succeeds
 *
 * Return: VIRTIO_NET_OK, VIRTIO_NET_ERR or RNIC_COMMAND_MORE.  In the last case
 *	   the pieces of @req must stay until the command is finished.
 */
uint8_t rnic_command(struct rnic *rnic, uint8_t command,
		     const struct rnic_request *req, void *rsp, size_t rsp_size,
		     size_t *rsp_len);

/** rnic_command_more() - go on with a command; parameters and return value alike */
uint8_t rnic_command_more(struct rnic *rnic, void *rsp, size_t *rsp_len);

/** rnic_command_abort() - forget a command that is not finished; nothing happened */
void rnic_command_abort(struct rnic *rnic);

#endif /* DEVICE_RDMA_COMMAND_H */
