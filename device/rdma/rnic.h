/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The RDMA side of one guest's function: what the Ethernet side calls.
 */
#ifndef DEVICE_RDMA_RNIC_H
#define DEVICE_RDMA_RNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "rdma/command.h"
#include "rdma/eth_port.h"
#include "rdma/object/ctx.h"
#include "rdma/object/fabric.h"

struct rnic;

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

/**
 * rnic_free() - drop all objects, leave the fabric, free the NIC
 * @rnic:	NIC, whose virtqueues were stopped
 *
 * It is out of reach then.  Its memory is given back by the loop's chores.
 */
void rnic_free(struct rnic *rnic);

/**
 * rnic_set_eth() - from now on RoCE packets leave by a port
 * @rnic:	NIC
 * @eth:	port, called from rnic_poll() only
 * @arg:	for @eth
 */
void rnic_set_eth(struct rnic *rnic, const struct rnic_eth *eth, void *arg);

struct nvmf_host;

/**
 * rnic_set_nvmf() - offer the offload of NVMe over Fabrics, or end it
 * @rnic:	NIC
 * @host:	what the host has for it, before there is a guest; NULL: all that the guest has of
 *		it ends
 */
void rnic_set_nvmf(struct rnic *rnic, const struct nvmf_host *host);

/** rnic_gid() - GID @index, and its VLAN as of ADD_GID; NULL if there is none */
const uint8_t *rnic_gid(const struct rnic *rnic, uint32_t index, uint16_t *vlan);

/**
 * rnic_set_gid_policy() - from now on ask which GIDs the guest may enter
 * @rnic:	NIC
 * @may:	may it enter this one?
 * @arg:	for @may
 */
void rnic_set_gid_policy(struct rnic *rnic,
			 bool (*may)(const void *arg, const uint8_t *gid),
			 const void *arg);

/**
 * rnic_set_away() - the guest is elsewhere now, or here again
 * @rnic:	NIC, whose virtqueues were stopped
 * @away:	its GIDs lead out of this process; its objects stay
 */
void rnic_set_away(struct rnic *rnic, bool away);

/**
 * rnic_set_poller() - it is polled by a poller that may sleep alone
 * @rnic:	NIC
 * @poller:	calls rnic_poll(), rnic_sleep() and rnic_wake(); valid until rnic_free()
 *
 * Whatever gives the NIC work, but for a doorbell of its guest, wakes that poller.
 */
void rnic_set_poller(struct rnic *rnic, struct loop_poller *poller);

/** rnic_set_packets() - shall it reach other NICs of this process by packets only? */
void rnic_set_packets(struct rnic *rnic, bool packets);

/**
 * rnic_frame() - a frame has come by the port
 * @rnic:	NIC
 * @from:	NIC of the guest that has sent it, or NULL if it is none of this
 *		process's
 * @iov:	pieces that it lies in
 * @iov_n:	number of them
 * @off:	where in them it begins
 * @len:	its bytes
 *
 * Takes packets for GIDs and QPs of the NIC, which rnic_poll() will look at.
 *
 * Return: false if the frame goes to Ethernet: it is of another kind, or it is a
 *	   datagram to a group, which both get.
 */
bool rnic_frame(struct rnic *rnic, const struct rnic *from,
		const struct iovec *iov, unsigned int iov_n, size_t off,
		size_t len);

/**
 * rnic_reset() - drop all objects, as after a reset of the function
 * @rnic:	NIC, whose virtqueues were stopped
 *
 * From now on none of them has a part in anything, and the guest's memory is not touched.
 * They are freed bit by bit by the loop's chores; a command that comes before that is
 * done waits for it.
 */
void rnic_reset(struct rnic *rnic);

/** rnic_clear_some() - free a portion of what was there before the last reset */
void rnic_clear_some(struct rnic *rnic);

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
 * @RNIC_EVENT:	event virtqueue
 * @RNIC_DOORBELL: doorbell virtqueue
 */
enum rnic_queue {
	RNIC_CQ,
	RNIC_SQ,
	RNIC_RQ,
	RNIC_EVENT,
	RNIC_DOORBELL,
	RNIC_QUEUES,
};

/** rnic_queue_start() - @vq, queue @number of its kind, may be used */
void rnic_queue_start(struct rnic *rnic, enum rnic_queue kind, uint32_t number,
		      struct virtq *vq);

/** rnic_queue_stop() - queue @number of its kind may not be used any more */
void rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind, uint32_t number);

/** rnic_queue_kick() - the doorbell of queue @number of its kind was rung */
void rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind, uint32_t number);

/** rnic_fused() - messages that took the short way (rdma/qp/fused.c) */
uint64_t rnic_fused(const struct rnic *rnic);

/**
 * rnic_counters() - what was counted since rnic_new()
 * @rnic:	NIC
 *
 * Return: %VIRTIO_RDMA_CNT_NUM values by &enum virtio_rdma_counter.
 */
const uint64_t *rnic_counters(const struct rnic *rnic);

/**
 * rnic_poll() - do work that is due: requests, responses
 * @rnic:	NIC
 *
 * Return: true if there was any.  Bounded per call, so that no guest starves
 *	   another.
 */
bool rnic_poll(struct rnic *rnic);

/** rnic_flush() - tell the driver of the frames that rnic_give() has given to QPs */
void rnic_flush(struct rnic *rnic);

/**
 * rnic_sleep() - ask for the doorbells of all queues in use
 * @rnic:	NIC
 *
 * Return: true if requests turned up meanwhile.
 */
bool rnic_sleep(struct rnic *rnic);

/** rnic_wake() - doorbells are not needed while the loop polls */
void rnic_wake(struct rnic *rnic);

/** rnic_may_sleep() - may its poller sleep alone?  Then rnic_sleep() takes little time */
bool rnic_may_sleep(const struct rnic *rnic);

#endif /* DEVICE_RDMA_RNIC_H */
