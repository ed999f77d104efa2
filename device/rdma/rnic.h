/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The RDMA side of one guest's function: what the Ethernet side calls.
 */
#ifndef DEVICE_RNIC_H
#define DEVICE_RNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/loop.h"
#include "virtio/mem.h"
#include "virtio/virtq.h"

struct rnic;
struct fabric;

/**
 * struct rnic_limits - what the operator configured; the same on source and
 *		       target of a migration
 * @qps:	number of QPs, 2 … 16384 (0 and 1 are SMI and GSI)
 * @cqs:	number of CQs, 1 … 16384
 * @queue_size:	largest size of a virtqueue, bounds the depth of a QP
 * @cqe:	completions that a CQ holds, @queue_size or more
 * @mrs:	number of memory regions
 * @pds:	number of protection domains
 * @ahs:	number of address handles
 * @rfc:	offer what the RFC has and nothing else: no bit but
 *		%VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN.  A CQ holds what its virtqueue
 *		holds, and a QP that goes to RESET gives no slots back
 */
struct rnic_limits {
	uint32_t qps;
	uint32_t cqs;
	uint32_t queue_size;
	uint32_t cqe;
	uint32_t mrs;
	uint32_t pds;
	uint32_t ahs;
	bool rfc;
};

/** fabric_new() - make a fabric: NICs of one fabric reach each other in memory */
struct fabric *fabric_new(void);

/** fabric_use_packets() - NICs of this fabric, too, reach each other by packets */
void fabric_use_packets(struct fabric *fabric);

/** fabric_free() - free a fabric that has no NIC any more */
void fabric_free(struct fabric *fabric);

/**
 * rnic_new() - make the RDMA side of a function
 * @loop:	event loop, for timers
 * @fabric:	fabric to join
 * @limits:	copied
 * @name:	for messages, copied
 *
 * Return: the NIC, or NULL with errno set.
 */
struct rnic *rnic_new(struct loop *loop, struct fabric *fabric,
		      const struct rnic_limits *limits, const char *name);

/** rnic_free() - drop all objects, leave the fabric, free the NIC */
void rnic_free(struct rnic *rnic);

/**
 * struct rnic_eth - the Ethernet port of a function, as its RDMA side sees it
 * @send:	send a frame, which is read before it returns; false if it
 *		cannot be sent now
 * @mac:	present address of the function
 * @mtu:	largest payload of a frame, without tag
 */
struct rnic_eth {
	bool (*send)(void *arg, void *frame, size_t len);
	const uint8_t *(*mac)(void *arg);
	uint32_t (*mtu)(void *arg);
};

/**
 * rnic_set_eth() - from now on RoCE packets leave by a port
 * @rnic:	NIC
 * @eth:	port, called from rnic_poll() only
 * @arg:	for @eth
 */
void rnic_set_eth(struct rnic *rnic, const struct rnic_eth *eth, void *arg);

/**
 * rnic_frame() - a frame has come by the port
 * @rnic:	NIC
 * @iov:	pieces that it lies in
 * @iov_n:	number of them
 * @off:	where in them it begins
 * @len:	its bytes
 *
 * Takes packets for GIDs and QPs of the NIC, which rnic_poll() will look at.
 *
 * Return: false if the frame is none of that kind, but Ethernet's; or Ethernet's,
 *	   too, as is a datagram to a group.
 */
bool rnic_frame(struct rnic *rnic, const struct iovec *iov, unsigned int iov_n,
		size_t off, size_t len);

/** rnic_reset() - drop all objects, as after a reset of the function */
void rnic_reset(struct rnic *rnic);

/**
 * rnic_mem_changed() - the guest's memory map is another one
 * @rnic:	NIC
 * @mem:	the map, which lives until the next call or rnic_free()
 *
 * Memory regions whose pages are not in it any more fail from now on.
 */
void rnic_mem_changed(struct rnic *rnic, const struct guest_mem *mem);

/**
 * enum rnic_queue - what a virtqueue of the RDMA side is
 * @RNIC_CQ:	completion queue; its number is the CQN
 * @RNIC_SQ:	send queue; its number is the QPN
 * @RNIC_RQ:	receive queue; its number is the QPN
 */
enum rnic_queue {
	RNIC_CQ,
	RNIC_SQ,
	RNIC_RQ,
	RNIC_QUEUES,
};

/** rnic_queue_start() - @vq, queue @number of its kind, may be used */
void rnic_queue_start(struct rnic *rnic, enum rnic_queue kind, uint32_t number,
		      struct virtq *vq);

/** rnic_queue_stop() - queue @number of its kind may not be used any more */
void rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind, uint32_t number);

/** rnic_queue_kick() - the doorbell of queue @number of its kind was rung */
void rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind, uint32_t number);

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

/**
 * rnic_counters() - what was counted since rnic_new()
 * @rnic:	NIC
 *
 * Return: %VIRTIO_RDMA_CNT_NUM values by &enum virtio_rdma_counter.
 */
const uint64_t *rnic_counters(const struct rnic *rnic);

/** RNIC_RSP_MAX - no response is longer than this */
#define RNIC_RSP_MAX	256

/**
 * rnic_poll() - do work that is due: requests, responses
 * @rnic:	NIC
 *
 * Return: true if there was any.  Bounded per call, so that no guest starves
 *	   another.
 */
bool rnic_poll(struct rnic *rnic);

/**
 * rnic_sleep() - ask for the doorbells of all queues in use
 * @rnic:	NIC
 *
 * Return: true if requests turned up meanwhile.
 */
bool rnic_sleep(struct rnic *rnic);

/** rnic_wake() - doorbells are not needed while the loop polls */
void rnic_wake(struct rnic *rnic);

#endif /* DEVICE_RNIC_H */
