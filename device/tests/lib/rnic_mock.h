/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An RDMA side that does nothing and remembers what it was told.
 */
#ifndef DEVICE_TESTS_NIC_MOCK_H
#define DEVICE_TESTS_NIC_MOCK_H

#include <stddef.h>
#include <stdint.h>

#include "rdma/rnic.h"

#define NIC_MOCK_QUEUES	64

/**
 * struct nic_mock - what the last NIC made was told
 * @resets:	calls of nic_reset()
 * @polls:	calls of nic_poll()
 * @mem:	of the last nic_mem_changed()
 * @eth:	of the last nic_set_eth()
 * @eth_arg:	the same
 * @frames:	calls of nic_frame()
 * @frame_len:	of the last one
 * @take_frames: what nic_frame() shall return
 * @cq:		queues started and not stopped
 * @sq:		queues started and not stopped
 * @rq:		queues started and not stopped
 * @sq_kicks:	calls of nic_sq_kick()
 * @rq_kicks:	calls of nic_rq_kick()
 * @commands:	calls of nic_command()
 * @command:	of the last one
 * @req_len:	of the last one
 * @req_sum:	sum of the bytes of its request
 * @rsp_size:	of the last one
 * @ack:	what nic_command() shall return
 * @rsp:	response that it shall give, if there is room
 * @rsp_len:	bytes of that
 */
struct nic_mock {
	unsigned int resets;
	unsigned int polls;
	const struct guest_mem *mem;
	const struct nic_eth *eth;
	void *eth_arg;
	unsigned int frames;
	size_t frame_len;
	bool take_frames;
	struct virtq *cq[NIC_MOCK_QUEUES];
	struct virtq *sq[NIC_MOCK_QUEUES];
	struct virtq *rq[NIC_MOCK_QUEUES];
	unsigned int sq_kicks[NIC_MOCK_QUEUES];
	unsigned int rq_kicks[NIC_MOCK_QUEUES];
	unsigned int commands;
	uint8_t command;
	size_t req_len;
	uint64_t req_sum;
	size_t rsp_size;
	uint8_t ack;
	uint8_t rsp[NIC_RSP_MAX];
	size_t rsp_len;
};

extern struct nic_mock nic_mock;

#endif /* DEVICE_TESTS_NIC_MOCK_H */
