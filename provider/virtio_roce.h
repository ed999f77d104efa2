/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rdma-core provider for RoCE of virtio-net.
 *
 * The kernel creates, changes and destroys objects, through uverbs.  Posting and polling
 * need no system call: the slots, rings or indices, and doorbell of each work queue and
 * completion queue are mapped.  A queue is a split virtqueue, or has the direct form if
 * kernel and device have that.
 *
 *   device.c  context, device, port, PD, MR, AH
 *   cq.c      completion queues: create, poll, translate completions
 *   qp.c      queue pairs: create, modify, query, destroy
 *   srq.c     shared receive queues
 *   wq.c      work queues, indirection tables, QPs that spread frames
 *   xrc.c     XRC domains, QPs that several processes open
 *   post.c    work requests: translate and post
 *   vq.c      map one queue, ring its doorbell
 *   process.c whose queues these are
 *   ring.h    the two forms of a queue
 *
 * A child does not inherit the mappings of a queue, because two processes, each with its
 * own lock and indices, cannot share it.  A child that uses a CQ or QP of its parent gets
 * EFAULT from every call that would touch a queue or change the object; the parent is
 * not affected.
 */
#ifndef VIRTIO_ROCE_H
#define VIRTIO_ROCE_H

#include <pthread.h>
#include <stddef.h>

#include <ccan/container_of.h>
#include <infiniband/driver.h>
#include <util/compiler.h>

#include "ring.h"
#include "virtio_net_roce.h"
#include "virtio_roce-abi.h"

#define CACHE_LINE	64

/* Slots of a work queue.  The free-running indices of the RFC's form have 16 bits. */
#define VQ_NUM_MAX	32768

/**
 * struct virtio_roce_doorbell - the doorbell page of a context, mapped
 * @process: number of the process that mapped it; a child maps it anew
 * @page: the page; NULL if it is not mapped
 * @kick: mapping with the doorbell of the doorbell virtqueue, NULL if there is none
 * @kick_len: bytes of that mapping
 * @reg: register to write @value to
 * @value: tells the device which queue to look at
 */
struct virtio_roce_doorbell {
	uint64_t process;
	struct virtio_rdma_doorbell_page *page;
	void *kick;
	size_t kick_len;
	void *reg;
	uint16_t value;
};

/**
 * struct virtio_roce_context - an open device
 * @vctx: of libibverbs
 * @qp_mutex: protects the use counts of CQs and SRQs, and which work queues complete to
 *	which CQ.  It is not held across a command that destroys an object, because such a
 *	command waits until the application has acknowledged all events of the object.
 * @doorbell: what direct QPs are announced by; changed under @qp_mutex
 * @max_inline_data: bytes that a send request can carry inline
 * @max_datagram: bytes that a datagram can have, as far as is known; changed atomically
 * @features: VIRTIO_ROCE_FEATURES that provider, kernel and device have
 * @device_caps: enum virtio_ib_device_cap
 * @nvmf_mutex: protects the following
 * @nvmf_cond: an event of an NVMe controller was acknowledged
 * @nvmf_eventfd: readable while there are events of NVMe controllers; -1 if nobody asked
 * @nvme_ctrls: NVMe controllers
 */
struct virtio_roce_context {
	struct verbs_context vctx;
	pthread_mutex_t qp_mutex;
	struct virtio_roce_doorbell doorbell;
	uint32_t max_inline_data;
	uint32_t max_datagram;
	uint64_t features;
	uint64_t device_caps;
	pthread_mutex_t nvmf_mutex;
	pthread_cond_t nvmf_cond;
	int nvmf_eventfd;
	struct virtio_rocedv_nvme_ctrl *nvme_ctrls;
};

enum {
	VQ_SLOTS,
	VQ_AVAIL,
	VQ_USED,
	VQ_DOORBELL,
	VQ_PARTS,
	/* In direct form: */
	VQ_CONTROL = VQ_AVAIL,
};

/**
 * struct virtio_roce_vq - a mapped virtqueue
 * @process: number of the process that made it, see vq_is_parents()
 * @lock: protects @ring and, with it, slots and available ring; not zero if it is taken
 * @unlocked: it does not: the application has one thread for the queue
 * @ring: its rings and slots
 * @doorbell: register to write @doorbell_value to, NULL if there is none to map
 * @doorbell_value: tells the device which queue to look at
 * @pending: direct form: the word of the doorbell page that has the bit of the QP
 * @pending_bit: that bit
 * @wr_ids: direct form: wr_id of each request, by slot; NULL with @srq
 * @wr_mask: number of them, less one
 * @plain_qpn: of a work queue: its QP if the wr_id of a completion is in @wr_ids, and
 *	nothing else is to be done or looked at, else %WQ_NOT_PLAIN.  This and what follows
 *	up to @gone is protected by the lock of its CQ
 * @plain_word: %WORD_RECV if it is a receive queue, else 0
 * @key: of a work queue: how its CQ finds it, see wq_key()
 * @chain: the next queue in the same bucket of the CQ's table
 * @linked: the queue is in that table
 * @gone: its QP is being destroyed, and its completions are dropped
 * @srq: SRQ that the requests are in, or NULL
 * @page: direct form: doorbell page of the context
 * @bit: direct form: number of the bit of the QP in that page
 * @parts: number of mappings
 * @part: the mappings
 */
struct virtio_roce_vq {
	uint64_t process;
	uint32_t lock;
	bool unlocked;
	struct ring ring;
	void *doorbell;
	uint16_t doorbell_value;
	const __le64 *pending;
	__le64 pending_bit;
	uint64_t *wr_ids;
	uint32_t wr_mask;
	uint64_t plain_qpn;
	uint64_t plain_word;
	uint64_t key;
	struct virtio_roce_vq *chain;
	bool linked;
	bool gone;
	struct virtio_roce_srq *srq;
	struct virtio_rdma_doorbell_page *page;
	uint32_t bit;
	unsigned int parts;
	struct {
		void *addr;
		size_t len;
	} part[VQ_PARTS];
};

/**
 * struct virtio_roce_resize - the resize of a queue
 * @mutex: held by a thread that resizes it; the lock of the queue is taken inside of it
 * @running: a thread does, and the kernel has copied what is in the control block;
 *	protected by the lock of the queue
 */
struct virtio_roce_resize {
	pthread_mutex_t mutex;
	bool running;
};

/* No QP has this number. */
#define WQ_NOT_PLAIN	UINT64_MAX

/* Buckets of a new CQ's table of work queues. */
#define FEW_WQS		8

/* Slots of completion queues in direct form have addresses that are multiples of this. */
#define CQE_ALIGN	sizeof(struct virtio_rdma_cqe)

/* The fields that the data path uses begin a cache line. */
#define ON_CACHE_LINE	__attribute__((aligned(CACHE_LINE)))

/**
 * struct virtio_roce_cq - a completion queue
 * @vcq: of libibverbs
 * @users: number of work queues and XRC SRQs that complete to it
 * @head: direct form: the slot that is polled next; see virtio_roce_cq_set_head()
 * @end: direct form: behind the last slot
 * @head_phase: the phase that it has when there is a completion, as a bit of its last word
 * @peek: both in one word, which is read without the lock
 * @turn: completions taken when @peek was stored, modulo 2^32
 * @locked: not zero if that must not be used: direct form: the CQ is in error
 * @last: the work queue that the last plain completion was of, or %virtio_roce_no_wq
 * @vq: its virtqueue, whose lock protects all from @head on
 * @wqs: the work queues that complete to it, in buckets by their keys, whose number is a
 *	power of two.  A completion of any other queue is dropped
 * @wqs_mask: that number, less one
 * @num_wqs: how many queues there are
 * @few: the first buckets
 * @cqe: completion that the application reads field by field
 * @stale: for each slot: its completion belongs to a QP that is gone
 * @num_stale: number of slots marked so
 * @control: direct form: its control block
 * @armings: direct form: how often it was armed
 * @any: direct form: number of the last arming for any completion, counted from 1
 * @events: events that the application has taken; changed atomically, without the lock
 * @srqs: XRC SRQs that complete to it
 * @resize: the mutex is taken inside of @qp_mutex
 * @timed: the application asked for the times of completions
 * @resized: it has had a ring before
 * @first: the mappings of the ring that it had before it was resized; nothing is there, but
 *	who looks without the lock may read it
 */
struct virtio_roce_cq {
	struct verbs_cq vcq;
	unsigned int users;
	ON_CACHE_LINE const struct virtio_rdma_cqe *head;
	const void *end;
	uint64_t head_phase;
	uintptr_t peek;
	const uint32_t *locked;
	struct virtio_roce_vq *last;
	uint32_t turn;
	struct virtio_roce_vq vq;
	struct virtio_roce_vq **wqs;
	uint32_t wqs_mask;
	uint32_t num_wqs;
	struct virtio_roce_vq *few[FEW_WQS];
	struct virtio_rdma_cq_req cqe;
	bool *stale;
	unsigned int num_stale;
	struct virtio_rdma_cq_control *control;
	uint64_t armings;
	uint64_t any;
	uint64_t events;
	struct virtio_roce_srq *srqs;
	struct virtio_roce_resize resize;
	bool timed;
	bool resized;
	struct virtio_roce_vq first;
};

/* Has a ring of the CQ the times of completions, if the application asked for them? */
static inline bool cq_has_times(const struct virtio_roce_cq *cq,
				const struct virtio_roce_queue *info)
{
	return !cq->timed || info->stride >= sizeof(struct virtio_rdma_cqe_timed);
}

/**
 * struct virtio_roce_srq - a shared receive queue
 * @vsrq: of libibverbs
 * @users: number of QPs that use it
 * @max_sge: scatter/gather elements of a request
 * @next: of an XRC SRQ: the next one of its CQ, protected by the lock of that
 * @vq: its ring, and wr_ids by cookie; it and what follows is protected by its lock
 * @cookies: number of cookies; more than the ring has slots once that has shrunk
 * @free: cookies that no request has
 * @num_free: number of them
 * @resize: see there
 */
struct virtio_roce_srq {
	struct verbs_srq vsrq;
	unsigned int users;
	uint32_t max_sge;
	struct virtio_roce_srq *next;
	ON_CACHE_LINE struct virtio_roce_vq vq;
	uint32_t cookies;
	uint32_t *free;
	uint32_t num_free;
	struct virtio_roce_resize resize;
};

/**
 * struct virtio_roce_qp - a queue pair
 * @vqp: of libibverbs
 * @sq: send queue
 * @rq: receive queue; not there with @srq, nor for XRC
 * @bare: it has neither queue: it is an XRC_RECV QP, or spreads frames over work queues
 * @srq: shared receive queue, or NULL
 * @holds: flow rules that it has, and multicast groups that it is attached to, or more if
 *	it was attached to one twice, but never less; changed atomically
 * @control: direct form: the control block of both
 * @max_send_sge: scatter/gather elements of a send request
 * @max_recv_sge: scatter/gather elements of a receive request
 * @max_inline_data: inline bytes of a send request
 * @max_tso_header: bytes of headers of a TSO request
 * @plain_ops: a bit for each enum ibv_wr_opcode that post_plain() may have
 * @wr_op: opcode of @wr_req
 * @wr_req: request that wr_*() builds.  It and its neighbours are protected by
 *	the lock of @sq, held from wr_start() on.
 * @wr_err: first error since wr_start()
 */
struct virtio_roce_qp {
	struct verbs_qp vqp;
	ON_CACHE_LINE struct virtio_roce_vq sq;
	struct virtio_roce_vq rq;
	bool bare;
	struct virtio_roce_srq *srq;
	unsigned int holds;
	struct virtio_rdma_qp_control *control;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
	uint32_t max_tso_header;
	uint32_t plain_ops;
	const struct send_op *wr_op;
	struct virtio_rdma_swqe *wr_req;
	int wr_err;
};

/** struct virtio_roce_td - a thread domain, and the number of parent domains with it */
struct virtio_roce_td {
	struct ibv_td td;
	unsigned int users;
};

/**
 * struct virtio_roce_pd - a protection domain or a parent domain
 * @pd: of libibverbs
 * @users: number of parent domains that contain it
 * @contained: of a parent domain: protection domain, else NULL
 * @td: of a parent domain: thread domain, or NULL
 */
struct virtio_roce_pd {
	struct ibv_pd pd;
	unsigned int users;
	struct virtio_roce_pd *contained;
	struct virtio_roce_td *td;
};

/**
 * struct virtio_roce_ah - an address handle
 * @ah: of libibverbs
 * @num: its number in the device
 */
struct virtio_roce_ah {
	struct ibv_ah ah;
	uint32_t num;
};

/* Context: lock of the CQ held. */
static inline struct virtio_roce_srq *cq_find_srq(const struct virtio_roce_cq *cq,
						  uint32_t srqn)
{
	struct virtio_roce_srq *srq;

	for (srq = cq->srqs; srq; srq = srq->next)
		if (srq->vsrq.srq_num == srqn)
			break;
	return srq;
}

/* The opcode in the last word of a slot of a CQ, and the bit of it that receive queues have. */
#define WORD_OPCODE	24
#define WORD_RECV	((uint64_t)VIRTIO_RDMA_CQE_RECV << WORD_OPCODE)

/* How a CQ finds the work queue that a completion is of. */
static inline uint64_t wq_key(uint32_t qpn, bool recv)
{
	return 2 * (uint64_t)qpn + recv;
}

/* Context: lock of the CQ held. */
static inline struct virtio_roce_vq *cq_find_wq(const struct virtio_roce_cq *cq,
						uint64_t key)
{
	struct virtio_roce_vq *wq;

	for (wq = cq->wqs[key & cq->wqs_mask]; wq; wq = wq->chain)
		if (wq->key == key)
			break;
	return wq;
}

/* process.c */

extern __attribute__((visibility("hidden"))) uint64_t *virtio_roce_here;

uint64_t virtio_roce_process(void);
void *virtio_roce_alloc(size_t size);

void virtio_roce_vq_spin(struct virtio_roce_vq *vq);

/*
 * The lock is nearly always free, and is taken for each request and each completion.  So
 * it is an exchange and a store in place, instead of calls into another library.
 */

/* Returns false if another thread has it. */
static inline bool vq_trylock(struct virtio_roce_vq *vq)
{
	return vq->unlocked || likely(!__atomic_exchange_n(&vq->lock, 1, __ATOMIC_ACQUIRE));
}

static inline void vq_lock(struct virtio_roce_vq *vq)
{
	if (unlikely(!vq_trylock(vq)))
		virtio_roce_vq_spin(vq);
}

static inline void vq_unlock(struct virtio_roce_vq *vq)
{
	if (!vq->unlocked)
		__atomic_store_n(&vq->lock, 0, __ATOMIC_RELEASE);
}

/* Bytes of a slot that headers of TSO take. */
static inline uint32_t tso_room(uint32_t header_len)
{
	return (header_len + 15) & ~15U;
}

static inline struct virtio_roce_context *to_vctx(struct ibv_context *context)
{
	return container_of(context, struct virtio_roce_context, vctx.context);
}

static inline struct virtio_roce_cq *to_vcq(struct ibv_cq *cq)
{
	return container_of(cq, struct virtio_roce_cq, vcq.cq);
}

static inline struct virtio_roce_cq *to_vcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct virtio_roce_cq, vcq.cq_ex);
}

static inline struct virtio_roce_srq *to_vsrq(struct ibv_srq *srq)
{
	return container_of(srq, struct virtio_roce_srq, vsrq.srq);
}

static inline struct virtio_roce_qp *to_vqp(struct ibv_qp *qp)
{
	return container_of(qp, struct virtio_roce_qp, vqp.qp);
}

static inline struct virtio_roce_qp *to_vqp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct virtio_roce_qp, vqp.qp_ex);
}

static inline struct virtio_roce_ah *to_vah(struct ibv_ah *ah)
{
	return container_of(ah, struct virtio_roce_ah, ah);
}

/*
 * Does this queue belong to a process that we were forked from?  Then nothing of it is
 * mapped here, and whoever held its lock is not here to release it.
 */
static inline bool vq_is_parents(const struct virtio_roce_vq *vq)
{
	return unlikely(vq->process !=
			__atomic_load_n(virtio_roce_here, __ATOMIC_RELAXED));
}

static inline bool qp_is_parents(const struct virtio_roce_qp *qp)
{
	return vq_is_parents(&qp->sq);
}

static inline bool cq_is_parents(const struct virtio_roce_cq *cq)
{
	return vq_is_parents(&cq->vq);
}

/* Does a QP have a send queue? */
static inline bool qp_has_sq(const struct virtio_roce_qp *qp)
{
	return !qp->bare;
}

/* Does a QP have a receive queue of its own? */
static inline bool qp_has_rq(const struct virtio_roce_qp *qp)
{
	return !qp->srq && qp_has_sq(qp) && qp->vqp.qp.qp_type != IBV_QPT_XRC_SEND;
}

/*
 * Requests that were posted and are not complete, as far as was polled.  Context: lock of
 * the SRQ held.
 */
static inline uint32_t virtio_roce_srq_outstanding(const struct virtio_roce_srq *srq)
{
	return srq->cookies - srq->num_free;
}

/*
 * Do requests of a queue in direct form need to be announced?  Not while the bit of its QP
 * is set: the device takes the bit before it reads the index.  The fence orders our store
 * of the index before our load of the bit.
 */
static inline bool vq_is_announced(const struct virtio_roce_vq *vq)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n((__force const uint64_t *)vq->pending, __ATOMIC_SEQ_CST) &
	       (__force uint64_t)vq->pending_bit;
}

/* Write the elements of a request. */
static inline void virtio_roce_copy_sges(struct virtio_rdma_sge *to,
					 const struct ibv_sge *from, uint32_t n)
{
	for (; n; n--, to++, from++) {
		to->addr = htole64(from->addr);
		to->length = htole32(from->length);
		to->lkey = htole32(from->lkey);
	}
}

/* vq.c */

enum virtio_roce_vq_type {
	VQ_WORK,
	VQ_COMPLETION,
};

int virtio_roce_vq_map(struct virtio_roce_vq *vq, struct ibv_context *context,
		       const struct virtio_roce_queue *info,
		       enum virtio_roce_vq_type type, size_t slot_size);
int virtio_roce_cq_map_direct(struct virtio_roce_cq *cq,
			      struct ibv_context *context,
			      const struct virtio_roce_queue *info);
int virtio_roce_cq_map_ring(struct virtio_roce_vq *vq, struct ibv_context *context,
			    const struct virtio_roce_queue *info);
void virtio_roce_cq_exchange(struct virtio_roce_cq *cq, struct virtio_roce_vq *vq,
			     const struct virtio_roce_queue *info);
int virtio_roce_qp_map_direct(struct virtio_roce_qp *qp,
			      struct ibv_context *context,
			      const struct ibv_qp_cap *cap,
			      const struct virtio_roce_create_qp_resp *resp);
int virtio_roce_srq_map(struct virtio_roce_srq *srq, struct ibv_context *context,
			uint32_t max_sge, const struct virtio_roce_queue *info);
int virtio_roce_srq_map_ring(const struct virtio_roce_srq *srq, struct virtio_roce_vq *vq,
			     struct ibv_context *context,
			     const struct virtio_roce_queue *info);
void virtio_roce_srq_exchange(struct virtio_roce_srq *srq, struct virtio_roce_vq *vq,
			      const struct virtio_roce_queue *info);
int virtio_roce_wq_map(struct virtio_roce_vq *vq, struct ibv_context *context,
		       uint32_t max_sge, const struct virtio_roce_create_qp_resp *resp);
void virtio_roce_doorbell_free(struct virtio_roce_context *ctx);
void virtio_roce_vq_unmap(struct virtio_roce_vq *vq);
void virtio_roce_vq_blank(struct virtio_roce_vq *vq);
void virtio_roce_vq_free(struct virtio_roce_vq *vq);
bool virtio_roce_vq_publish(struct virtio_roce_vq *vq);
bool virtio_roce_vq_ring_doorbell(const struct virtio_roce_vq *vq);

/* device.c */

uint32_t virtio_roce_ask_mtu(struct virtio_roce_context *ctx);

/* mw.c */

struct ibv_mw *virtio_roce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int virtio_roce_dealloc_mw(struct ibv_mw *mw);
int virtio_roce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
			struct ibv_mw_bind *bind);

/* pd.c */

bool virtio_roce_single_threaded(struct ibv_pd *pd);
struct ibv_pd *virtio_roce_alloc_pd(struct ibv_context *context);
int virtio_roce_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *virtio_roce_alloc_td(struct ibv_context *context,
				    struct ibv_td_init_attr *attr);
int virtio_roce_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *
virtio_roce_alloc_parent_domain(struct ibv_context *context,
				struct ibv_parent_domain_init_attr *attr);
struct ibv_pd *virtio_roce_import_pd(struct ibv_context *context, uint32_t handle);
void virtio_roce_unimport_pd(struct ibv_pd *pd);

/* poll.c */

extern struct virtio_roce_vq virtio_roce_no_wq;

void virtio_roce_cq_set_head(struct virtio_roce_cq *cq);
void virtio_roce_cq_set_ops(struct virtio_roce_cq *cq);
int virtio_roce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/* cq.c */

struct ibv_cq *virtio_roce_create_cq(struct ibv_context *context, int cqe,
				     struct ibv_comp_channel *channel,
				     int comp_vector);
struct ibv_cq_ex *virtio_roce_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr);
int virtio_roce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void virtio_roce_cq_event(struct ibv_cq *ibcq);
int virtio_roce_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int virtio_roce_resize_cq(struct ibv_cq *ibcq, int cqe);
int virtio_roce_destroy_cq(struct ibv_cq *ibcq);
void virtio_roce_cq_drop_qp(struct virtio_roce_cq *cq, uint32_t qpn,
			    struct virtio_roce_srq *srq);
void virtio_roce_cq_link(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq,
			 uint32_t qpn, bool recv);
void virtio_roce_cq_replace(struct virtio_roce_cq *cq, uint32_t qpn);
void virtio_roce_cq_unlink(struct virtio_roce_cq *cq, struct virtio_roce_vq *wq);
void virtio_roce_cq_add_srq(struct virtio_roce_cq *cq, struct virtio_roce_srq *srq);
void virtio_roce_cq_remove_srq(struct virtio_roce_cq *cq,
			       struct virtio_roce_srq *srq);
void virtio_roce_cq_drop_srq(struct virtio_roce_cq *cq, uint32_t srqn);

/* qp.c */

struct ibv_qp *virtio_roce_create_qp(struct ibv_pd *pd,
				     struct ibv_qp_init_attr *attr);
struct ibv_qp *virtio_roce_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr);
int virtio_roce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			  int attr_mask);
int virtio_roce_modify_qp_rate_limit(struct ibv_qp *ibqp,
				     struct ibv_qp_rate_limit_attr *limit);
int virtio_roce_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
			 int attr_mask, struct ibv_qp_init_attr *init_attr);
int virtio_roce_query_qp_data_in_order(struct ibv_qp *ibqp, enum ibv_wr_opcode op,
				       uint32_t flags);
int virtio_roce_destroy_qp(struct ibv_qp *ibqp);
struct ibv_qp *virtio_roce_open_qp(struct ibv_context *context,
				   struct ibv_qp_open_attr *attr);
int virtio_roce_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
			     uint16_t lid);
int virtio_roce_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
			     uint16_t lid);

void virtio_roce_vq_rewind(struct virtio_roce_vq *vq, struct virtio_roce_cq *cq);

/* srq.c */

struct ibv_srq *virtio_roce_create_srq(struct ibv_pd *pd,
				       struct ibv_srq_init_attr *attr);
struct ibv_srq *virtio_roce_create_srq_ex(struct ibv_context *context,
					  struct ibv_srq_init_attr_ex *attr);
int virtio_roce_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);
int virtio_roce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
			   int attr_mask);
int virtio_roce_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int virtio_roce_destroy_srq(struct ibv_srq *ibsrq);
int virtio_roce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr);
int virtio_roce_srq_start(struct virtio_roce_srq *srq);
uint64_t virtio_roce_srq_complete(struct virtio_roce_srq *srq, uint32_t cookie);

/* resize.c */

void virtio_roce_resize_wait(struct virtio_roce_resize *resize);
int virtio_roce_cq_resize(struct virtio_roce_cq *cq, int cqe);
int virtio_roce_srq_resize(struct virtio_roce_srq *srq, struct ibv_srq_attr *attr,
			   int attr_mask);

/* nvmf.c */

void virtio_roce_nvmf_init(struct virtio_roce_context *ctx);
void virtio_roce_nvmf_exit(struct virtio_roce_context *ctx);

/* xrc.c */

bool virtio_roce_has_xrc(const struct virtio_roce_context *ctx);
struct ibv_xrcd *virtio_roce_open_xrcd(struct ibv_context *context,
				       struct ibv_xrcd_init_attr *attr);
int virtio_roce_close_xrcd(struct ibv_xrcd *ibxrcd);

/* counters.c */

struct ibv_counters *virtio_roce_create_counters(struct ibv_context *context,
						 struct ibv_counters_init_attr *attr);
int virtio_roce_destroy_counters(struct ibv_counters *counters);
int virtio_roce_attach_counters_point_flow(struct ibv_counters *counters,
					   struct ibv_counter_attach_attr *attr,
					   struct ibv_flow *flow);
int virtio_roce_read_counters(struct ibv_counters *counters, uint64_t *values,
			      uint32_t num, uint32_t flags);
void virtio_roce_counters_use(struct ibv_counters *counters, int change);

/* flow.c */

struct ibv_flow *virtio_roce_create_flow(struct ibv_qp *ibqp,
					 struct ibv_flow_attr *attr);
int virtio_roce_destroy_flow(struct ibv_flow *flow);

/* wq.c */

bool virtio_roce_has_rss(const struct virtio_roce_context *ctx);
struct ibv_wq *virtio_roce_create_wq(struct ibv_context *context,
				     struct ibv_wq_init_attr *attr);
int virtio_roce_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int virtio_roce_destroy_wq(struct ibv_wq *ibwq);
struct ibv_rwq_ind_table *
virtio_roce_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr);
int virtio_roce_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
void virtio_roce_query_rss(const struct virtio_roce_context *ctx,
			   struct ibv_rss_caps *caps);
int virtio_roce_rx_hash_attr(const struct virtio_roce_context *ctx,
			     const struct ibv_qp_init_attr_ex *attr,
			     struct virtio_roce_create_qp_req *req);

/* post.c */

uint64_t virtio_roce_send_ops(const struct virtio_roce_context *ctx,
			      enum ibv_qp_type type);
uint32_t virtio_roce_plain_ops(const struct virtio_roce_qp *qp);
void virtio_roce_qp_set_ops(struct virtio_roce_qp *qp);
int virtio_roce_announce_send(struct virtio_roce_qp *qp);
int virtio_roce_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad_wr);

/* recv.c */

int virtio_roce_put_recv(struct virtio_roce_vq *rq, uint32_t max_sge,
			 const struct ibv_recv_wr *wr);
int virtio_roce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr);

#endif /* VIRTIO_ROCE_H */
