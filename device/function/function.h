/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One guest's virtio-net function: Ethernet and control queues.  The RDMA side
 * is behind rnic.h.
 */
#ifndef DEVICE_FUNCTION_H
#define DEVICE_FUNCTION_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "ether/filter.h"
#include "ether/switch.h"
#include "function/mq.h"
#include "rdma/rnic.h"
#include "virtio/frontend.h"

#define FUNCTION_MTU_MIN	68
#define FUNCTION_MTU_MAX	65535

struct function;

/** FUNCTION_PAIRS_MAX - the most pairs of Ethernet queues */
#define FUNCTION_PAIRS_MAX	MQ_PAIRS_MAX

/**
 * struct function_config - what the operator configured
 * @name:	for messages
 * @mac:	address of the function
 * @pin:	addresses that the guest may use; @mac is among them
 * @mtu:	largest payload of an Ethernet frame
 * @offer_mtu:	tell the guest, whose interface then has @mtu.  Else the guest
 *		decides: Linux begins with 1500, and may raise that
 * @speed:	of the link, in Mbit/s; 0 to tell none
 * @pairs:	of Ethernet queues; 0 is 1, too
 * @limits:	of the RDMA side
 * @group:	what the operator sees the function's port as, or NULL
 * @nvmf:	storage of the host for the guest's own targets, or NULL
 */
struct function_config {
	const char *name;
	uint8_t mac[ETH_ALEN];
	struct pin pin;
	uint16_t mtu;
	bool offer_mtu;
	uint32_t speed;
	unsigned int pairs;
	struct rnic_limits limits;
	struct port_group *group;
	const struct nvmf_host *nvmf;
};

/**
 * struct function_stats - what became of the frames, and what the guest did
 * @tx:		frames sent
 * @tx_dropped:	frames of the guest's that are none, or too long
 * @rx:		frames received
 * @rx_dropped:	frames for which the guest had no room
 * @rx_filtered: frames that it had not asked for
 * @doorbells:	that it rang, of RDMA
 * @fused:	its RDMA messages that took the short way (rdma/qp/fused.c)
 */
struct function_stats {
	uint64_t tx;
	uint64_t tx_dropped;
	uint64_t rx;
	uint64_t rx_dropped;
	uint64_t rx_filtered;
	uint64_t doorbells;
	uint64_t fused;
};

/**
 * struct function_keep - a function in memory that outlives the process, always current
 * @rdma:	there were commands of RoCE since the last reset
 * @cut:	its port is cut off
 * @link_up:	the cable is plugged in
 * @offloads:	as of eth_guest_offloads()
 * @filter:	what it receives
 * @mq:		in which of its queues
 */
struct function_keep {
	bool rdma;
	bool cut;
	bool link_up;
	uint64_t offloads;
	struct filter filter;
	struct mq_settings mq;
};

/** function_device_ops - what a front-end calls, with the function as device */
extern const struct fe_device_ops function_device_ops;

/**
 * function_new() - make a function
 * @loop:	event loop
 * @sw:		switch to connect to
 * @fabric:	fabric of the RDMA side
 * @config:	copied
 *
 * Return: the function, or NULL with errno set.
 */
struct function *function_new(struct loop *loop, struct l2_switch *sw,
			      struct fabric *fabric, const struct function_config *config);

/** function_free() - free a function that no front-end uses any more */
void function_free(struct function *fn);

/** function_set_frontend() - from now on @ops, called with @fe, reach the guest */
void function_set_frontend(struct function *fn, const struct fe_ops *ops, void *fe);

/** function_set_keep() - keep a function there from now on */
void function_set_keep(struct function *fn, struct function_keep *keep);

/** function_keep() - another process would go on with the function as it is now */
void function_keep(struct function *fn);

/** function_set_link() - set the link up or down */
void function_set_link(struct function *fn, bool up);

/**
 * function_port_changed() - its group was cut off, or is not any more
 * @fn:	function
 *
 * RDMA to other functions of the process takes the way of packets where the port is not a
 * plain one: its link is down, it is cut off, has faults, or is captured.
 */
void function_port_changed(struct function *fn);

/** function_leave_nvmf() - the storage of the host is about to go */
void function_leave_nvmf(struct function *fn);

/** function_set_here() - is the guest served here, and do its GIDs lead here? */
void function_set_here(struct function *fn, bool here);

/** function_leave() - it is served by another host, and its addresses are in the network */
void function_leave(struct function *fn);

/** function_link() - is the cable plugged in? */
bool function_link(const struct function *fn);

/** function_connected() - does the front-end have a guest for it? */
bool function_connected(const struct function *fn);

/** function_mac() - its present MAC address */
const uint8_t *function_mac(const struct function *fn);

/** function_rdma_counters() - rnic_counters() of the function's RDMA side */
const uint64_t *function_rdma_counters(const struct function *fn);

/** function_rnic() - the function's RDMA side */
const struct rnic *function_rnic(const struct function *fn);

/** function_num_queues() - number of virtqueues of a function with so many pairs and limits */
uint32_t function_num_queues(uint32_t pairs, const struct rnic_limits *limits);

/** function_stats() - what became of the frames since function_new() */
const struct function_stats *function_stats(struct function *fn);

#endif /* DEVICE_FUNCTION_H */
