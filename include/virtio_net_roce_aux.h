/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the module that owns the PCI function (virtio_net_roce) and
 * the RDMA driver (virtio_roce): an auxiliary device with a table of operations.
 *
 * The lower module knows queues and commands, but no verbs.  The upper module knows
 * verbs, but no PCI.  Tests give the RDMA driver a device with their own table.
 */
#ifndef _VIRTIO_NET_ROCE_AUX_H
#define _VIRTIO_NET_ROCE_AUX_H

#include <linux/auxiliary_bus.h>
#include <linux/container_of.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/virtio_ring.h>

/* The auxiliary device is "virtio_net_roce.rdma.N". */
#define VIRTIO_NET_ROCE_AUX_MODULE	"virtio_net_roce"
#define VIRTIO_NET_ROCE_AUX_NAME	"rdma"

struct net_device;

/**
 * struct virtio_net_roce_cmd - a control command of class VIRTIO_NET_CTRL_ROCE
 * @command: &enum virtio_net_ctrl_roce_cmd
 * @atomic: the caller must not sleep; the answer is polled for
 * @settle: after a failure the caller frees memory that the device knows.  So if the
 *	device dies, the failure is returned when the device can no longer reach memory.
 * @undo: command that undoes this one, or 0.  It is sent if @atomic is set and the answer
 *	comes after the caller has given up.  Its request is the first four bytes of this
 *	one's request and the response of this one, which has four bytes.
 * @slow: the device needs long for it, as for a long request: few of these are sent at a
 *	time
 * @req: the request in up to two pieces, copied before the command is sent
 * @rsp: buffer for the response
 * @rsp_len: bytes of the response; 0 if there is none
 */
struct virtio_net_roce_cmd {
	u8 command;
	bool atomic;
	bool settle;
	bool slow;
	u8 undo;
	struct kvec req[2];
	void *rsp;
	size_t rsp_len;
};

/**
 * struct virtio_net_roce_vq - one RoCE virtqueue
 * @index: number of the virtqueue in the function, the value for its doorbell
 * @vring: size and kernel addresses of the three parts, known to the device
 * @avail_phys: physical address of the available ring; 0 if processes cannot map the
 *	virtqueue.  If they can, each part is physically contiguous and on pages of its own
 * @used_phys: physical address of the used ring
 * @avail_len: bytes of the available ring
 * @used_len: bytes of the used ring
 * @doorbell_phys: physical address of the page that holds this queue's doorbell
 *	and no other; 0 if there is none
 * @doorbell_pos: where in that page the 16-bit register is
 *
 * The memory belongs to the lower module and lives as long as the auxiliary
 * device.  The device looks at it only while a CQ or QP uses it; the upper
 * module zeroes it before it creates one.
 */
struct virtio_net_roce_vq {
	u16 index;
	struct vring vring;
	phys_addr_t avail_phys;
	phys_addr_t used_phys;
	u32 avail_len;
	u32 used_len;
	phys_addr_t doorbell_phys;
	u32 doorbell_pos;
};

struct virtio_net_roce_aux;

/**
 * enum virtio_net_roce_event - state of a function
 * @VIRTIO_NET_ROCE_RUNS: nothing has happened
 * @VIRTIO_NET_ROCE_DEAD: the device does not answer any more; it may still write to
 *	memory
 * @VIRTIO_NET_ROCE_QUIESCED: the device does not write to memory any more, and only the
 *	driver uses rings and slots.  The auxiliary device is removed soon.
 */
enum virtio_net_roce_event {
	VIRTIO_NET_ROCE_RUNS,
	VIRTIO_NET_ROCE_DEAD,
	VIRTIO_NET_ROCE_QUIESCED,
};

/**
 * struct virtio_net_roce_ops - what the lower module does for the upper one
 * @exec: carry out one command and wait for its answer.  Returns 0 with @rsp
 *	filled, with zeros where the device wrote nothing, -EREMOTEIO if the device
 *	answered VIRTIO_NET_ERR, -EPROTO if it gave the command back without an
 *	answer, -ETIMEDOUT if that did not come in time, after which every command
 *	that was not sent yet fails with -EIO unless the command was atomic, -ENODEV if
 *	the device was reset since, has no objects any more and touches no memory,
 *	-ENOMEM, -E2BIG if the request does not fit into the control queue, -EAGAIN if
 *	the queue is full and the caller must not sleep, -EBUSY if it could not be sent
 *	because of other long requests.
 *	Context: may sleep unless the command says atomic.
 * @cq_vq: the virtqueue of CQN @cqn, NULL if the number is out of range
 * @sq_vq: the send virtqueue of QPN @qpn, NULL if it is out of range
 * @rq_vq: the receive virtqueue of QPN @qpn, NULL if it is out of range
 * @doorbell_vq: doorbell virtqueue @d, NULL if it is out of range
 * @events: call @notify, with interrupts off, for each event that the device reports,
 *	with &enum virtio_rdma_event_type and number as the device wrote them; NULL to
 *	stop.  No call of the last function runs when it returns.  Context: may sleep.
 * @synchronize: wait for calls of that function that run now.  Context: may sleep.
 * @kick: ring the doorbell of a virtqueue.  Context: any.
 * @cq_enable: call @notify(@data), with interrupts off, after each
 *	interrupt for this CQ.  An interrupt vector may serve many queues: the
 *	call is a hint, made only while the CQ is armed and has grown since.
 *	If @kernel, @cq_request will be called for it.  Returns 0 or -ENOMEM.
 *	Context: may sleep.
 * @cq_arm: arm the CQ; to be called before REQ_NOTIFY_CQ is sent.  Context: any.
 * @cq_request: ask for a notification by REQ_NOTIFY_CQ, without waiting for the answer.
 *	This includes @cq_arm.  The command is sent when there is room for it.
 *	Completions that come before the device has the command are notified, too.
 *	Returns 0, or -EIO if no command can be sent any more.  Context: any.
 * @listen: call @event, one call at a time, when the state of the function changes, and
 *	at once if it does not run; NULL to stop.  Context: may sleep.
 * @give_up: the device breaks the rules; it is dead, and will be reset.  Context: any.
 * @quiesce: the same, and wait until the device touches no memory any more.  Returns 0,
 *	or -EBUSY if no reset was confirmed and it may still do.  Context: may sleep.
 * @cq_disable: undo @cq_enable.  No call of @notify runs when it returns.
 *	Context: may sleep.
 */
struct virtio_net_roce_ops {
	int (*exec)(struct virtio_net_roce_aux *aux,
		    struct virtio_net_roce_cmd *cmd);
	struct virtio_net_roce_vq *(*cq_vq)(struct virtio_net_roce_aux *aux,
					    u32 cqn);
	struct virtio_net_roce_vq *(*sq_vq)(struct virtio_net_roce_aux *aux,
					    u32 qpn);
	struct virtio_net_roce_vq *(*rq_vq)(struct virtio_net_roce_aux *aux,
					    u32 qpn);
	struct virtio_net_roce_vq *(*doorbell_vq)(struct virtio_net_roce_aux *aux,
						  u32 d);
	void (*events)(struct virtio_net_roce_aux *aux,
		       void (*notify)(struct virtio_net_roce_aux *aux,
				      u16 type, u32 number));
	void (*synchronize)(struct virtio_net_roce_aux *aux);
	void (*kick)(struct virtio_net_roce_aux *aux,
		     struct virtio_net_roce_vq *vq);
	int (*cq_enable)(struct virtio_net_roce_aux *aux, u32 cqn, bool kernel,
			 void (*notify)(void *data), void *data);
	void (*cq_arm)(struct virtio_net_roce_aux *aux, u32 cqn);
	int (*cq_request)(struct virtio_net_roce_aux *aux, u32 cqn,
			  bool solicited_only);
	void (*cq_disable)(struct virtio_net_roce_aux *aux, u32 cqn);
	void (*listen)(struct virtio_net_roce_aux *aux,
		       void (*event)(struct virtio_net_roce_aux *aux,
				     enum virtio_net_roce_event event));
	void (*give_up)(struct virtio_net_roce_aux *aux);
	int (*quiesce)(struct virtio_net_roce_aux *aux);
};

/**
 * struct virtio_net_roce_aux - a RoCE function as the RDMA driver sees it
 * @adev: the auxiliary device; its parent is the PCI device
 * @owner: module that must stay while a user has the RDMA device open
 * @dma_dev: device whose DMA addresses the RoCE device understands
 * @netdev: Ethernet interface of the same function, registered for as long as
 *	the auxiliary device exists
 * @max_qps: number of QPs (max_rdma_qps)
 * @max_cqs: number of CQs (max_rdma_cqs)
 * @num_vectors: number of interrupt vectors that serve CQs, at least 1; CQN n has
 *	vector n modulo this
 * @num_events: number of event virtqueues, 0 if the device has none
 * @num_doorbells: number of doorbell virtqueues, likewise
 * @max_req: bytes of the longest request that @ops->exec takes
 * @event_idx: VIRTIO_F_RING_EVENT_IDX was negotiated
 * @cq_hold: the upper module has found that the device has %VIRTIO_IB_DEVICE_CQ_HOLD
 * @ops: operations
 */
struct virtio_net_roce_aux {
	struct auxiliary_device adev;
	struct module *owner;
	struct device *dma_dev;
	struct net_device *netdev;
	u32 max_qps;
	u32 max_cqs;
	u32 num_vectors;
	u32 num_events;
	u32 num_doorbells;
	size_t max_req;
	bool event_idx;
	bool cq_hold;
	const struct virtio_net_roce_ops *ops;
};

static inline struct virtio_net_roce_aux *
to_virtio_net_roce_aux(struct auxiliary_device *adev)
{
	return container_of(adev, struct virtio_net_roce_aux, adev);
}

#endif /* _VIRTIO_NET_ROCE_AUX_H */
