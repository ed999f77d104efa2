/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of the RDMA driver, and what verbs of all kinds know of them.
 */
#ifndef _VROCE_TYPES_H
#define _VROCE_TYPES_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/netdevice.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "virtio_net_roce.h"
#include "virtio_net_roce_aux.h"
#include "virtio_roce-abi.h"
#include "virtio_roce_compat.h"

#include "vroce_cmd.h"

struct vroce_domain_type;
struct vroce_user;
struct vroce_dev;
struct vroce_qp;
struct vroce_wq;

/* Keeps slots, and with them whole queues, at a size that can be allocated. */
#define VROCE_SGE_MAX	64

/* Keeps the page list of a memory region at a size that can be allocated. */
#define VROCE_FAST_REG_MAX	4096

/* Pages of the device in one of the kernel. */
#define VROCE_PAGES_PER_PAGE	((u32)(PAGE_SIZE >> VIRTIO_RDMA_MR_PAGE_SHIFT))
#define VROCE_WIRE_PAGE		BIT(VIRTIO_RDMA_MR_PAGE_SHIFT)

/* Limits of direct queues, whatever the device says. */
#define VROCE_DIRECT_MAX		65536
#define VROCE_DIRECT_WR_MAX		32768
#define VROCE_DIRECT_CQE_MAX		BIT(22)
#define VROCE_DIRECT_SEND_SGE_MAX					\
	((BIT(VIRTIO_RDMA_MAX_STRIDE_SHIFT) -				\
	  offsetof(struct virtio_rdma_swqe, sg_list)) /			\
	 sizeof(struct virtio_rdma_sge))
#define VROCE_DIRECT_RECV_SGE_MAX					\
	((BIT(VIRTIO_RDMA_MAX_STRIDE_SHIFT) -				\
	  offsetof(struct virtio_rdma_rwqe, sg_list)) /			\
	 sizeof(struct virtio_rdma_sge))

/* sgid_index has 8 bits in an address vector. */
#define VROCE_GID_MAX	256

/**
 * struct vroce_obj - something that was created in the device
 * @ref: references: the verbs object, objects that depend on this one, and one
 *	for each mapping of its memory that user space has or may still make
 * @dev: device
 * @release: called when no reference is left; tells the device and frees.
 *	Context: may sleep.
 * @work: calls @release for vroce_obj_put_later()
 */
struct vroce_obj {
	struct kref ref;
	struct vroce_dev *dev;
	void (*release)(struct vroce_obj *obj);
	struct work_struct work;
};

/**
 * struct vroce_numbers - which CQNs or QPNs are in use
 * @lock: held, shared, while the device creates or destroys an object.  An object in the
 *	form of the RFC is destroyed alone: as soon as the device has answered, it may
 *	give the number to a new object, whose rings must be zeroed before.
 * @taken: bit per number
 */
struct vroce_numbers {
	struct rw_semaphore lock;
	unsigned long *taken;
};

/**
 * enum vroce_kind - kinds of objects of which the device promises a number
 * @VROCE_PD: protection domains
 * @VROCE_MR: memory regions
 * @VROCE_AH: address handles
 * @VROCE_CQ: completion queues
 * @VROCE_QP: queue pairs, without SMI and GSI
 * @VROCE_GSI: the general service interface
 * @VROCE_DIRECT_CQ: CQs in direct form
 * @VROCE_DIRECT_QP: queue pairs in direct form
 * @VROCE_SRQ: shared receive queues
 * @VROCE_XRCD: XRC domains
 * @VROCE_WQ_TABLE: indirection tables
 * @VROCE_NVME_CTRL: NVMe controllers
 * @VROCE_KINDS: number of kinds
 */
enum vroce_kind {
	VROCE_PD,
	VROCE_MR,
	VROCE_AH,
	VROCE_CQ,
	VROCE_QP,
	VROCE_GSI,
	VROCE_DIRECT_CQ,
	VROCE_DIRECT_QP,
	VROCE_SRQ,
	VROCE_XRCD,
	VROCE_WQ_TABLE,
	VROCE_NVME_CTRL,
	VROCE_KINDS,
};

/**
 * struct vroce_quota - how many objects of a kind there are, and may be
 * @held: objects that the device holds, or may hold
 * @max: number that the device promised
 */
struct vroce_quota {
	atomic_t held;
	u32 max;
};

#define VROCE_MEM_PARTS		3

/**
 * struct vroce_charge - pages that count against RLIMIT_MEMLOCK of a process
 * @mm: its memory; NULL if nothing is counted
 * @npages: number of pages
 */
struct vroce_charge {
	struct mm_struct *mm;
	size_t npages;
};

/**
 * struct vroce_mem - pages of a direct queue
 * @ref: one for the queue, one for each entry by which it can be mapped
 * @dma_dev: device that it is mapped for
 * @pages: the pages
 * @dma: their device addresses
 * @npages: number of them
 * @pos: where each part begins, bytes
 * @len: bytes of each part
 * @map: where the kernel sees all pages; NULL if a process uses them
 * @charge: of the process that uses them
 */
struct vroce_mem {
	struct kref ref;
	struct device *dma_dev;
	struct page **pages;
	dma_addr_t *dma;
	u32 npages;
	size_t pos[VROCE_MEM_PARTS];
	size_t len[VROCE_MEM_PARTS];
	void *map;
	struct vroce_charge charge;
};

/**
 * struct vroce_doorbell - a doorbell page
 * @lock: guards @taken, and the making of the page
 * @mem: the page, NULL until there is a QP
 * @page: the same
 * @handle: the device's handle
 * @vq: doorbell virtqueue to be notified
 * @taken: bits of the page that QPs have
 * @page_entry: by this the process maps the page
 * @kick_entry: by this it maps the doorbell of @vq, if it can
 */
struct vroce_doorbell {
	struct mutex lock;	/* taken, mem */
	struct vroce_mem *mem;
	struct virtio_rdma_doorbell_page *page;
	u32 handle;
	struct virtio_net_roce_vq *vq;
	unsigned long *taken;
	struct rdma_user_mmap_entry *page_entry;
	struct rdma_user_mmap_entry *kick_entry;
};

/**
 * struct vroce_request - what the driver remembers about a request of the kernel
 * @wr_id: the consumer's wr_id, usually a pointer
 * @len: bytes that the device may write to its scatter list
 * @opcode: &enum ib_wc_opcode of its completion
 * @signaled: the request leaves a completion even if it succeeds
 */
struct vroce_request {
	u64 wr_id;
	u32 len;
	u8 opcode;
	bool signaled;
};

/**
 * struct vroce_queue - a queue in use
 * @direct: it has the direct form, not that of the RFC; see vroce_form.h
 * @vq: the virtqueue, NULL while there is none
 * @dma_dev: device that @slots are allocated for
 * @slots: work requests or completions, slot i at @stride * i
 * @dma: device address of @slots
 * @slots_len: size of @slots, whole pages
 * @depth: number of slots, a power of two
 * @stride: bytes from a slot to the next
 * @slot_len: bytes of a slot that the device may touch
 * @next: in a kernel's work queue the available index, in a kernel's completion
 *	queue the used index up to which completions were polled; see vroce_ring.h
 * @requests: for a kernel's work queue, the requests that are in its slots, kept in
 *	memory that the device does not see; else NULL
 * @done: in a kernel's work queue the index up to which requests are complete
 * @seen: @done when the queue was looked at last, see vroce_watch.c
 * @looks: how often it was looked at since, while a completion was due
 * @overtaken: a completion came before another one that was due, and was dropped
 * @head: where in a slot of a work queue the header begins
 * @data: where inline data begin
 * @sges: where the scatter list begins
 * @producer: in a direct work queue, the index that the device sees
 * @wanted: in a direct receive queue, whether a request is to be announced
 * @doorbell: in a direct work queue, by which requests are announced
 * @bit: and its bit there
 * @consumer: in a direct CQ, the index up to which completions were polled, as the
 *	device sees it
 * @flushed: in a kernel's CQ, completions that the driver has added itself
 * @charge: of the process whose slots these are, in the form of the RFC
 */
struct vroce_queue {
	bool direct;
	struct virtio_net_roce_vq *vq;
	struct device *dma_dev;
	void *slots;
	dma_addr_t dma;
	size_t slots_len;
	u32 depth;
	u32 stride;
	u32 slot_len;
	u32 next;
	u32 done;
	u32 seen;
	u8 looks;
	bool overtaken;
	struct vroce_request *requests;
	u16 head;
	u16 data;
	u16 sges;
	__le32 *producer;
	const __le32 *wanted;
	struct vroce_doorbell *doorbell;
	u32 bit;
	__le32 *consumer;
	u32 flushed;
	struct vroce_charge charge;
};

/**
 * enum vroce_piece - parts of a queue that can be mapped
 * @VROCE_PIECE_SLOTS: work requests or completions
 * @VROCE_PIECE_AVAIL: available ring
 * @VROCE_PIECE_USED: used ring
 * @VROCE_PIECE_DOORBELL: doorbell page
 * @VROCE_PIECE_CONTROL: control block of a direct queue
 * @VROCE_PIECES: number of them.  The descriptor table is not among them.
 */
enum vroce_piece {
	VROCE_PIECE_SLOTS,
	VROCE_PIECE_AVAIL,
	VROCE_PIECE_USED,
	VROCE_PIECE_DOORBELL,
	VROCE_PIECE_CONTROL,
	VROCE_PIECES,
};

/**
 * struct vroce_maps - the mappable pieces of a queue
 * @entry: an entry for each piece, NULL if there is no such piece
 */
struct vroce_maps {
	struct rdma_user_mmap_entry *entry[VROCE_PIECES];
};

/**
 * struct vroce_ucontext - a process that has the device open
 * @ibucontext: the core's part
 * @gate: free places for verbs, see vroce_gate.c
 * @user: whose process it is
 * @features: %VIRTIO_ROCE_FEATURES that the provider understands and we have
 * @doorbell: doorbell page of its direct QPs
 */
struct vroce_ucontext {
	struct ib_ucontext ibucontext;
	struct semaphore gate;
	struct vroce_user *user;
	u64 features;
	struct vroce_doorbell doorbell;
};

/**
 * struct vroce_hw_domain - a protection domain or an XRC domain in the device
 * @obj: its references
 * @type: which of them
 * @handle: the device's handle
 */
struct vroce_hw_domain {
	struct vroce_obj obj;
	const struct vroce_domain_type *type;
	u32 handle;
};

/**
 * struct vroce_pd - a protection domain
 * @ibpd: the core's part
 * @hw: the device's part
 * @windows: number of memory windows in it
 */
struct vroce_pd {
	struct ib_pd ibpd;
	struct vroce_hw_domain *hw;
	atomic_t windows;
};

/**
 * struct vroce_xrcd - an XRC domain
 * @ibxrcd: the core's part
 * @hw: the device's part
 */
struct vroce_xrcd {
	struct ib_xrcd ibxrcd;
	struct vroce_hw_domain *hw;
};

/**
 * struct vroce_hw_ah - an address handle in the device
 * @obj: its references
 * @pd: its protection domain; this object holds a reference to it
 * @ahn: handle
 */
struct vroce_hw_ah {
	struct vroce_obj obj;
	struct vroce_hw_domain *pd;
	u32 ahn;
};

/**
 * struct vroce_ah - an address handle
 * @ibah: the core's part
 * @hw: the device's part
 * @ahn: the device's handle
 */
struct vroce_ah {
	struct ib_ah ibah;
	struct vroce_hw_ah *hw;
	u32 ahn;
};

/**
 * struct vroce_mr - a memory region
 * @ibmr: the core's part
 * @umem: pinned pages of a process, else NULL
 * @access: IB_ACCESS_* bits, of a region that has these
 * @page_size: with @umem: bytes of the pages that the device was given, else 0
 * @mrn: the device's handle
 * @pages: page list of a region of vroce_alloc_mr(), else NULL; the device reads
 *	it when it carries out a request %IB_WR_REG_MR
 * @pages_dma: its device address
 * @max_pages: number of pages that the list has room for
 * @npages: number of pages in the list; with @umem: that the device was given
 */
struct vroce_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem;
	int access;
	unsigned long page_size;
	u32 mrn;
	__le64 *pages;
	dma_addr_t pages_dma;
	u32 max_pages;
	u32 npages;
};

/**
 * struct vroce_mw - a memory window
 * @ibmw: the core's part
 * @mrn: the device's handle
 */
struct vroce_mw {
	struct ib_mw ibmw;
	u32 mrn;
};

/**
 * struct vroce_hw_cq - a completion queue in the device
 * @obj: its references
 * @cqn: its number
 * @queue: its virtqueue
 * @lock: guards &vroce_queue.next, the slots, and from @feed on all of a kernel's CQ but
 *	@qps, and &vroce_queue.done of the work queues that use it
 * @short_of: it has fewer slots than were asked for, and serves the GSI only
 * @due: if @short_of: number of completions that are there or may still come
 * @feed: QP whose backlog moves on when this CQ is polled, or NULL
 * @qps: how often QPs of the kernel use it; guarded by the lock of &vroce_dev.cqs
 * @mem: its ring, if it is direct, and its control block; NULL if it has neither
 * @control: its control block, by which it is armed; NULL if it is armed by a command
 * @arm: number of the last arming, as the device sees it
 * @grown: completions up to which it had grown when it was armed last
 * @armings: armings that may have been answered, each by an event of its own; see
 *	vroce_cq_store_arm()
 * @any: number of the last of them for any completion, counted from 1
 * @answered: armings up to this number are answered by events
 */
struct vroce_hw_cq {
	struct vroce_obj obj;
	u32 cqn;
	struct vroce_queue queue;
	spinlock_t lock;	/* polling */
	bool short_of;
	atomic_t due;
	struct vroce_qp *feed;
	unsigned int qps;
	struct vroce_mem *mem;
	struct virtio_rdma_cq_control *control;
	u32 arm;
	u32 grown;
	u64 armings;
	u64 any;
	u64 answered;
};

/**
 * struct vroce_cq - a completion queue
 * @ibcq: the core's part
 * @uctx: context that created it, NULL for the kernel
 * @hw: the device's part
 * @maps: the pieces of it that user space may map
 * @failed: its consumer has been told that it is in error
 * @resizing: held while a process's direct CQ gets another ring
 */
struct vroce_cq {
	struct ib_cq ibcq;
	struct vroce_ucontext *uctx;
	struct vroce_hw_cq *hw;
	struct vroce_maps maps;
	int failed;
	struct mutex resizing;	/* hw->mem, hw->control, maps */
};

/* Parts of the memory of an SRQ. */
enum vroce_srq_part {
	VROCE_SRQ_RING,
	VROCE_SRQ_CONTROL,
	VROCE_SRQ_PARTS,
};

/**
 * struct vroce_hw_srq - a shared receive queue in the device
 * @obj: its references
 * @handle: the device's handle
 * @pd: its protection domain; the SRQ holds a reference to it
 * @xrcd: XRC domain of an XRC SRQ, or NULL; likewise
 * @cq: CQ of an XRC SRQ, or NULL; likewise
 * @queue: its ring; @next is the index that the device sees, and @requests has the
 *	requests that are posted, by cookie
 * @mem: its ring and its control block
 * @kernel: the kernel posts, not a process
 * @foreign: the device said a handle that another SRQ has
 * @lock: guards &vroce_queue.next, the slots, @requests and @free
 * @free: cookies that no request has
 * @num_free: number of them
 */
struct vroce_hw_srq {
	struct vroce_obj obj;
	u32 handle;
	struct vroce_hw_domain *pd;
	struct vroce_hw_domain *xrcd;
	struct vroce_hw_cq *cq;
	struct vroce_queue queue;
	struct vroce_mem *mem;
	bool kernel;
	bool foreign;
	spinlock_t lock;	/* posting, completing */
	u32 *free;
	u32 num_free;
};

/**
 * struct vroce_srq - a shared receive queue
 * @ibsrq: the core's part
 * @uctx: context that created it, NULL for the kernel
 * @hw: the device's part
 * @maps: the pieces of it that user space may map
 * @max_sge: elements of a request
 * @failed: its consumer has been told that it is in error
 * @armed: its consumer waits for the event that there are few requests
 * @resizing: held while it gets another ring
 * @nsid_lock: held while a namespace is mapped or unmapped
 * @nsids: the NVMe controller to which each namespace is mapped, by its number
 */
struct vroce_srq {
	struct ib_srq ibsrq;
	struct vroce_ucontext *uctx;
	struct vroce_hw_srq *hw;
	struct vroce_maps maps;
	u32 max_sge;
	int failed;
	int armed;
	struct mutex resizing;	/* the ring */
	struct mutex nsid_lock;	/* nsids */
	struct xarray nsids;
};

/**
 * struct vroce_hw_qp - a queue pair in the device
 * @obj: its references
 * @qpn: its number
 * @pd: its protection domain; the QP holds a reference to it
 * @scq: CQ of the send queue, of a work queue @rcq; the QP holds a reference to it.  Without
 *	it there are no queues, no @rcq and no @pd: it is an XRC_TGT QP or spreads frames
 * @rcq: CQ of the receive queue, of an XRC_INI QP @scq; the QP holds a reference to it
 * @srq: SRQ in the place of a receive queue, or NULL; likewise
 * @xrcd: XRC domain of an XRC_TGT QP, or NULL; likewise
 * @sq: virtqueue of the send queue
 * @rq: virtqueue of the receive queue
 * @kernel: the kernel posts and polls, not a process
 * @gsi: it is the general service interface
 * @datagram: received data begins with a network header
 * @qp: the verbs object, NULL when it is going away; changes under the locks of both
 *	CQs
 * @wq: the work queue that it is, once that was ready, until it goes away; else NULL
 * @told: bits of &enum virtio_rdma_event_type: what its consumer has been told since the
 *	last RESET
 * @mem: its rings and its control block, if it is direct
 * @rcu: frees the QP once no reader of &vroce_dev.qps can still use it
 */
struct vroce_hw_qp {
	struct vroce_obj obj;
	u32 qpn;
	struct vroce_hw_domain *pd;
	struct vroce_hw_cq *scq;
	struct vroce_hw_cq *rcq;
	struct vroce_hw_srq *srq;
	struct vroce_hw_domain *xrcd;
	struct vroce_queue sq;
	struct vroce_queue rq;
	bool kernel;
	bool gsi;
	bool datagram;
	struct vroce_qp *qp;
	struct vroce_wq *wq;
	unsigned long told;
	struct vroce_mem *mem;
	struct rcu_head rcu;
};

/**
 * struct vroce_backlog - receive requests that wait for a slot of the ring
 * @slots: requests as they go into the ring; NULL if the QP has no backlog
 * @requests: what the driver remembers about them
 * @depth: number of requests that there is room for, a power of two
 * @head: position of the first request that waits
 * @tail: position after the last request that waits
 * @limit: a request moves into the ring only while fewer completions are due on the CQ
 */
struct vroce_backlog {
	void *slots;
	struct vroce_request *requests;
	u32 depth;
	u32 head;
	u32 tail;
	u32 limit;
};

/**
 * struct vroce_drain - the last request of a queue that is drained
 * @cqe: of the request.  It stays as long as the QP, because the device may be late.
 * @done: it is complete
 */
struct vroce_drain {
	struct ib_cqe cqe;
	struct completion done;
};

/**
 * struct vroce_qp - a queue pair
 * @ibqp: the core's part
 * @uctx: context that created it, NULL for the kernel
 * @hw: the device's part
 * @sq_maps: the pieces of the send queue that user space may map
 * @rq_maps: the pieces of the receive queue that user space may map
 * @mutex: serialises changes of @state
 * @state: last known state; the device may have moved the QP to an error state since
 * @cap: capabilities
 * @sig_type: which send requests leave a completion
 * @sqd_notify: the consumer asked for the event that its send queue is drained
 * @sq_lock: guards &vroce_queue.next of a kernel's send queue
 * @rq_lock: guards &vroce_queue.next of a kernel's receive queue, and @backlog
 * @backlog: receive requests of the GSI that do not fit into the ring
 * @groups: number of multicast groups that it is attached to
 * @sq_drain: last request of the send queue, see vroce_drain.c
 * @rq_drain: of the receive queue
 */
struct vroce_qp {
	struct ib_qp ibqp;
	struct vroce_ucontext *uctx;
	struct vroce_hw_qp *hw;
	struct vroce_maps sq_maps;
	struct vroce_maps rq_maps;
	struct mutex mutex;	/* state */
	enum ib_qp_state state;
	struct ib_qp_cap cap;
	enum ib_sig_type sig_type;
	int sqd_notify;
	spinlock_t sq_lock;	/* posting */
	spinlock_t rq_lock;	/* posting */
	struct vroce_backlog backlog;
	atomic_t groups;
	struct vroce_drain sq_drain;
	struct vroce_drain rq_drain;
};

/**
 * struct vroce_wq - a work queue of a process
 * @ibwq: the core's part
 * @uctx: context that created it
 * @hw: the device's part
 * @maps: the pieces of it that user space may map
 * @mutex: serialises changes of its state
 */
struct vroce_wq {
	struct ib_wq ibwq;
	struct vroce_ucontext *uctx;
	struct vroce_hw_qp *hw;
	struct vroce_maps maps;
	struct mutex mutex;	/* ibwq.state */
};

/**
 * struct vroce_wq_table - an indirection table
 * @ibtable: the core's part
 * @handle: the device's handle
 */
struct vroce_wq_table {
	struct ib_rwq_ind_table ibtable;
	u32 handle;
};

/**
 * struct vroce_dev - an RDMA device
 * @ibdev: the core's part
 * @aux: the lower module's part
 * @attr: attributes of the device, limited to what the driver supports
 * @port: attributes of its port, limited to what the driver supports
 * @nvmf: limits of the offload of NVMe over Fabrics, as the device gave them
 * @max_cq_slots: number of slots that any CQ can have
 * @max_timed_cqe: as &vroce_device_attr.max_direct_cqe, of CQs with times
 * @quotas: how many objects of each kind the device holds
 * @cqns: CQNs in use
 * @qpns: QPNs in use
 * @qps: &struct vroce_hw_qp of each QPN in use
 * @srqs: &struct vroce_srq of each handle in use
 * @nvme_ctrls: NVMe controller of each handle in use
 * @bad_completions: number of completions that were dropped because they match no
 *	request
 * @counters_lock: guards @counters, all that is in them, and @counters_gone
 * @counters: &struct vroce_counter by their numbers
 * @counters_gone: what those that do not exist any more have counted
 * @doorbell: doorbell page of the kernel's direct QPs
 * @next_doorbell: counts doorbell pages, to spread them over the doorbell virtqueues
 * @wq: runs releases that vroce_obj_put_later() deferred
 * @netdev_nb: notices when the link of the Ethernet interface comes or goes
 * @port_lock: guards @port_active, and held while clients are told
 * @port_active: last state of the port that clients were told
 * @health: whether the device is alive
 * @cqs: &struct vroce_cq of each CQN in use
 * @flush_work: has all CQs polled when the device is dead
 * @flush_ms: how long consumers in the kernel have to let go of a device that is dead
 * @kernel_pds: number of protection domains of the kernel
 * @drain_ms: how long a queue may take to be drained
 * @users: &struct vroce_user of each user who has the device open
 * @watch: looks for completions that do not come
 * @watch_ms: how often
 */
struct vroce_dev {
	struct ib_device ibdev;
	struct virtio_net_roce_aux *aux;
	struct vroce_device_attr attr;
	struct vroce_port_attr port;
	struct virtio_rdma_ack_query_nvmf nvmf;
	u32 max_cq_slots;
	u32 max_timed_cqe;
	struct vroce_quota quotas[VROCE_KINDS];
	struct vroce_numbers cqns;
	struct vroce_numbers qpns;
	struct xarray qps;
	struct xarray srqs;
	struct xarray nvme_ctrls;
	atomic64_t bad_completions;
	struct mutex counters_lock;	/* counters, counters_gone */
	struct xarray counters;
	u64 counters_gone[VIRTIO_RDMA_CNT_NUM];
	struct vroce_doorbell doorbell;
	atomic_t next_doorbell;
	struct workqueue_struct *wq;
	struct notifier_block netdev_nb;
	spinlock_t port_lock;	/* port_active */
	bool port_active;
	enum virtio_net_roce_event health;
	struct xarray cqs;
	struct work_struct flush_work;
	unsigned int flush_ms;
	atomic_t kernel_pds;
	unsigned int drain_ms;
	struct mutex users_lock;	/* users */
	struct list_head users;
	struct delayed_work watch;
	unsigned int watch_ms;
	spinlock_t kept_lock;	/* kept */
	struct list_head kept;
};

static inline struct vroce_mw *to_vmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct vroce_mw, ibmw);
}

static inline struct vroce_dev *to_vdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct vroce_dev, ibdev);
}

static inline struct vroce_pd *to_vpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct vroce_pd, ibpd);
}

static inline struct vroce_ah *to_vah(struct ib_ah *ibah)
{
	return container_of(ibah, struct vroce_ah, ibah);
}

static inline struct vroce_mr *to_vmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct vroce_mr, ibmr);
}

static inline struct vroce_cq *to_vcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct vroce_cq, ibcq);
}

static inline struct vroce_xrcd *to_vxrcd(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct vroce_xrcd, ibxrcd);
}

static inline struct vroce_srq *to_vsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct vroce_srq, ibsrq);
}

static inline struct vroce_qp *to_vqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct vroce_qp, ibqp);
}

static inline struct vroce_wq *to_vwq(struct ib_wq *ibwq)
{
	return container_of(ibwq, struct vroce_wq, ibwq);
}

static inline struct vroce_wq_table *to_vwq_table(struct ib_rwq_ind_table *ibtable)
{
	return container_of(ibtable, struct vroce_wq_table, ibtable);
}

#endif /* _VROCE_TYPES_H */
