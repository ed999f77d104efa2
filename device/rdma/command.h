/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Control commands of class VIRTIO_NET_CTRL_ROCE.
 */
#ifndef DEVICE_RDMA_COMMAND_H
#define DEVICE_RDMA_COMMAND_H

#include <stddef.h>
#include <stdint.h>

struct rnic;

/** RNIC_RSP_MAX - no response is longer than this */
#define RNIC_RSP_MAX	256

/**
 * rnic_command() - carry out a control command of class VIRTIO_NET_CTRL_ROCE
 * @rnic:	NIC
 * @command:	&enum virtio_net_ctrl_roce_cmd, not checked yet
 * @req:	copy of the request, aligned to 8
 * @req_len:	its bytes, not checked yet
 * @rsp:	buffer for the response, aligned to 8
 * @rsp_size:	room that the guest gave for it
 * @rsp_len:	set to the bytes of the response; 0 unless it succeeds
 *
 * Return: VIRTIO_NET_OK or VIRTIO_NET_ERR.
 */
uint8_t rnic_command(struct rnic *rnic, uint8_t command, const void *req,
		     size_t req_len, void *rsp, size_t rsp_size,
		     size_t *rsp_len);

#endif /* DEVICE_RDMA_COMMAND_H */
