/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An RDMA side that does nothing and remembers what it was told.
 */
#ifndef DEVICE_TESTS_RNIC_MOCK_H
#define DEVICE_TESTS_RNIC_MOCK_H

#include <stddef.h>
#include <stdint.h>

#include "rdma/rnic.h"
#include "rdma/steer.h"
#include "rdma/view.h"

#define RNIC_MOCK_QUEUES	64

#define RNIC_MOCK_GIDS		4u

/**
 * struct rnic_mock - what the NIC that was made last was told
 * @resets:	calls of rnic_reset()
 * @polls:	calls of rnic_poll()
 * @mem:	of the last rnic_mem_changed()
 * @eth:	of the last rnic_set_eth()
 * @eth_arg:	the same
 * @may:	of the last rnic_set_gid_policy()
 * @may_arg:	the same
 * @packets:	of the last rnic_set_packets()
 * @poller:	of the last rnic_set_poller()
 * @restless:	what rnic_may_sleep() denies
 * @away:	of the last rnic_set_away()
 * @path_mtu:	what rnic_path_mtu() returns
 * @moves:	calls of rnic_moved()
 * @parts:	calls of rnic_parted()
 * @frames:	calls of rnic_frame()
 * @frame_len:	of the last one
 * @frame_from:	of the last one
 * @take_frames: what rnic_frame() returns
 * @steered:	calls of rnic_steer()
 * @steer_what:	of the last one
 * @hits:	what that says
 * @given:	calls of rnic_give()
 * @given_len:	bytes of all of them
 * @unflushed:	calls since the last one of rnic_flush()
 * @queue:	queues started and not stopped, by kind and number
 * @kicks:	calls of rnic_queue_kick(), by kind and number
 * @commands:	calls of rnic_command()
 * @command:	of the last one
 * @req_len:	of the last one
 * @read:	it shall read requests
 * @req_sum:	sum of the bytes of its request
 * @more:	how often it shall say that the command goes on
 * @aborts:	calls of rnic_command_abort()
 * @rsp_size:	of the last one
 * @ack:	what rnic_command() returns
 * @rsp:	response that it gives, if there is room
 * @rsp_len:	bytes of that
 * @gid:	GIDs that each NIC says it has
 * @gid_vlan:	their VLANs
 * @gids:	number of them
 * @qp:		QPs that each NIC says it has
 * @qps:	number of them
 */
struct rnic_mock {
	const uint8_t *gid[RNIC_MOCK_GIDS];
	uint16_t gid_vlan[RNIC_MOCK_GIDS];
	unsigned int gids;
	unsigned int resets;
	unsigned int polls;
	const struct guest_mem *mem;
	const struct rnic_eth *eth;
	void *eth_arg;
	bool (*may)(const void *arg, const uint8_t *gid);
	const void *may_arg;
	bool packets;
	const struct loop_poller *poller;
	bool restless;
	bool away;
	uint32_t path_mtu;
	unsigned int moves;
	unsigned int parts;
	unsigned int frames;
	size_t frame_len;
	const struct rnic *frame_from;
	bool take_frames;
	unsigned int steered;
	enum rule_for steer_what;
	struct rule_hits hits;
	unsigned int given;
	size_t given_len;
	unsigned int unflushed;
	struct virtq *queue[RNIC_QUEUES][RNIC_MOCK_QUEUES];
	unsigned int kicks[RNIC_QUEUES][RNIC_MOCK_QUEUES];
	unsigned int commands;
	uint8_t command;
	size_t req_len;
	bool read;
	uint64_t req_sum;
	unsigned int more;
	unsigned int aborts;
	size_t rsp_size;
	uint8_t ack;
	uint8_t rsp[RNIC_RSP_MAX];
	size_t rsp_len;
	const struct qp_view *qp;
	unsigned int qps;
};

extern struct rnic_mock rnic_mock;

#endif /* DEVICE_TESTS_RNIC_MOCK_H */
