/* SPDX-License-Identifier: GPL-2.0 */
/*
 * virtio_roce: internal interfaces, file by file.
 */
#ifndef _VROCE_H
#define _VROCE_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/netdevice.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "virtio_net_roce.h"
#include "virtio_net_roce_aux.h"
#include "virtio_roce-abi.h"
#include "virtio_roce_compat.h"

#include "vroce_cmd.h"

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

struct vroce_dev;
struct vroce_hw_cq;

/* ----- vroce_obj.c: what the device holds ----- */

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

void vroce_obj_init(struct vroce_obj *obj, struct vroce_dev *dev,
		    void (*release)(struct vroce_obj *obj));
void vroce_obj_get(struct vroce_obj *obj);
void vroce_obj_put(struct vroce_obj *obj);
void vroce_obj_put_later(struct vroce_obj *obj);

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

int vroce_numbers_init(struct vroce_numbers *numbers, u32 max);
void vroce_numbers_destroy(struct vroce_numbers *numbers);
void vroce_numbers_lock(struct vroce_numbers *numbers, bool alone);
void vroce_numbers_unlock(struct vroce_numbers *numbers, bool alone);
bool vroce_numbers_take(struct vroce_numbers *numbers, u32 number);

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

void vroce_quotas_init(struct vroce_dev *dev);
int vroce_quota_take(struct vroce_dev *dev, enum vroce_kind kind);
void vroce_quota_give(struct vroce_dev *dev, enum vroce_kind kind);

/* ----- vroce_kept.c: memory that a live device did not let go ----- */

void vroce_kept_init(struct vroce_dev *dev);
void vroce_keep(struct vroce_dev *dev, void *what, void (*release)(void *what));
int vroce_settle(struct vroce_dev *dev, const char *what, u32 number);
void vroce_kept_free(struct vroce_dev *dev);

/* ----- vroce_mem.c: memory of direct queues ----- */

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

int vroce_charge_take(struct vroce_charge *charge, size_t npages);
void vroce_charge_give(struct vroce_charge *charge);

/* The kernel uses it, not a process. */
#define VROCE_MEM_KERNEL	BIT(0)
/* The last part may share a page with the one before. */
#define VROCE_MEM_PACKED	BIT(1)

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

struct vroce_mem *vroce_mem_create(struct device *dma_dev, const size_t *lens,
				   u32 nparts, u32 flags);
void vroce_mem_destroy(struct vroce_mem *mem);
void vroce_mem_keep(struct vroce_dev *dev, struct vroce_mem *mem);
bool vroce_mem_failed(struct vroce_dev *dev, struct vroce_mem *mem, int err);
void vroce_mem_put(struct vroce_mem *mem);
void *vroce_mem_addr(const struct vroce_mem *mem, u32 part);
dma_addr_t vroce_mem_dma(const struct vroce_mem *mem, u32 part);
u32 vroce_mem_wire_pages(const struct vroce_mem *mem, u32 part);
__le64 *vroce_mem_list(const struct vroce_mem *mem, u32 nparts);

/* ----- vroce_doorbell.c: doorbell pages of direct QPs ----- */

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

void vroce_doorbell_init(struct vroce_doorbell *db);
void vroce_doorbell_exit(struct vroce_dev *dev, struct vroce_doorbell *db);
int vroce_doorbell_take(struct vroce_dev *dev, struct vroce_doorbell *db,
			u32 *bit);
void vroce_doorbell_give(struct vroce_doorbell *db, u32 bit);
void vroce_doorbell_ring(struct virtio_net_roce_aux *aux,
			 struct vroce_doorbell *db, u32 bit);

/* ----- vroce_queue.c: a virtqueue and its slots ----- */

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

int vroce_queue_alloc(struct vroce_queue *q, struct device *dma_dev, u32 depth,
		      u32 slot_len, u32 align);
int vroce_queue_charge(struct vroce_queue *q);
void vroce_queue_init_direct(struct vroce_queue *q, void *slots, u32 depth,
			     u32 stride);
int vroce_queue_alloc_requests(struct vroce_queue *q);
void vroce_queue_free(struct vroce_queue *q);
void vroce_queue_keep(struct vroce_dev *dev, struct vroce_queue *q);
int vroce_queue_attach_cq(struct vroce_queue *q,
			  struct virtio_net_roce_vq *vq);
int vroce_queue_attach_wq(struct vroce_queue *q,
			  struct virtio_net_roce_vq *vq);
void vroce_queue_detach(struct vroce_queue *q);
void vroce_vq_clear(struct virtio_net_roce_vq *vq);

/* ----- vroce_mmap.c: what user space maps ----- */

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
 * struct vroce_range - memory to map
 * @phys: physical address
 * @mem: memory of a direct queue, in place of @phys, or NULL
 * @page: first page of it
 * @len: bytes, whole pages; 0 if there is no such piece
 * @writable: user space may write to it
 * @io: it belongs to the PCI function and is not memory
 */
struct vroce_range {
	phys_addr_t phys;
	struct vroce_mem *mem;
	u32 page;
	size_t len;
	bool writable;
	bool io;
};

/**
 * struct vroce_maps - the mappable pieces of a queue
 * @entry: an entry for each piece, NULL if there is no such piece
 */
struct vroce_maps {
	struct rdma_user_mmap_entry *entry[VROCE_PIECES];
};

void vroce_queue_ranges(const struct vroce_queue *q, bool is_cq,
			struct vroce_range ranges[VROCE_PIECES]);
int vroce_maps_insert(struct vroce_maps *maps, struct ib_ucontext *uctx,
		      struct vroce_obj *owner, const struct vroce_queue *q,
		      bool is_cq, struct virtio_roce_queue *resp);
int vroce_maps_insert_cq(struct vroce_maps *maps, struct ib_ucontext *uctx,
			 struct vroce_mem *mem, u32 cqe,
			 struct virtio_roce_queue *resp);
int vroce_maps_insert_qp(struct vroce_maps *maps, struct ib_ucontext *uctx,
			 const struct vroce_queue *q, struct vroce_mem *mem,
			 u32 part, struct virtio_roce_queue *resp);
int vroce_maps_insert_srq(struct vroce_maps *maps, struct ib_ucontext *uctx,
			  const struct vroce_queue *q, struct vroce_mem *mem,
			  struct virtio_roce_queue *resp);
int vroce_doorbell_expose(struct vroce_doorbell *db, struct ib_ucontext *uctx,
			  struct virtio_roce_create_qp_resp *resp);
void vroce_doorbell_withdraw(struct vroce_doorbell *db);
void vroce_maps_remove(struct vroce_maps *maps);
int vroce_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void vroce_mmap_free(struct rdma_user_mmap_entry *entry);

/* ----- vroce_udata.c: data exchanged with the provider ----- */

int vroce_check_udata(struct ib_udata *udata, size_t outlen);
int vroce_udata_in(struct ib_udata *udata, void *req, size_t min, size_t len);
int vroce_udata_out(struct ib_udata *udata, void *resp, size_t len);
bool vroce_wants_direct(struct vroce_dev *dev, struct ib_udata *udata);

/* ----- vroce_users.c: users, and what each may have at a time ----- */

/**
 * struct vroce_user - a user of the device
 * @list: in &vroce_dev.users
 * @dev: device
 * @refs: contexts of the user, and threads that have a place; guarded by the lock of the
 *	list
 * @uid: who it is
 * @gate: free places for verbs
 * @lengthy: free place for a long command
 */
struct vroce_user {
	struct list_head list;
	struct vroce_dev *dev;
	unsigned int refs;
	kuid_t uid;
	struct semaphore gate;
	struct semaphore lengthy;
};

struct vroce_ucontext;

void vroce_users_init(struct vroce_dev *dev);
struct vroce_user *vroce_user_get(struct vroce_dev *dev);
void vroce_user_put(struct vroce_user *user);
struct vroce_user *vroce_long_begin(struct vroce_dev *dev, u32 npages);
void vroce_long_end(struct vroce_user *user);
int vroce_gate_init(struct vroce_ucontext *uctx);
void vroce_gate_exit(struct vroce_ucontext *uctx);

/* ----- vroce_user.c: contexts, and what a provider is told ----- */

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

extern const struct uapi_definition vroce_uapi_defs[];

int vroce_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs);
int vroce_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void vroce_dealloc_ucontext(struct ib_ucontext *uctx);
void vroce_disassociate_ucontext(struct ib_ucontext *uctx);

/* ----- vroce_domain.c: protection domains, XRC domains ----- */

struct vroce_domain_type;

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

int vroce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vroce_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/* ----- vroce_verbs.c: device, port, GIDs ----- */

bool vroce_port_is_active(const struct vroce_dev *dev);
void vroce_port_update(struct vroce_dev *dev);
int vroce_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata);
int vroce_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *modify);
int vroce_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr);
int vroce_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable);
enum rdma_link_layer vroce_get_link_layer(struct ib_device *ibdev, u32 port);
void vroce_get_dev_fw_str(struct ib_device *ibdev, char *str);
int vroce_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vroce_add_gid(const struct ib_gid_attr *attr, void **context);
int vroce_del_gid(const struct ib_gid_attr *attr, void **context);

/* ----- vroce_counters.c: hardware counters ----- */

void vroce_set_counter_ops(struct vroce_dev *dev);

/* ----- vroce_restrack.c: details of objects ----- */

struct vroce_cq;
struct vroce_qp;

void vroce_restrack_hide_qp(struct vroce_qp *qp);
void vroce_restrack_hide_cq(struct vroce_cq *cq);
void vroce_set_restrack_ops(struct vroce_dev *dev);

/* ----- vroce_ah.c: address handles ----- */

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

int vroce_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		    struct ib_udata *udata);
int vroce_destroy_ah(struct ib_ah *ibah, u32 flags);

/* ----- vroce_mcast.c: multicast groups ----- */

int vroce_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vroce_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* ----- vroce_list.c: lists of the pages of memory regions ----- */

/**
 * struct vroce_list - the pages of a memory region
 * @pages: device address of each
 * @npages: number of them
 * @where: device addresses of the pages of 4096 bytes that @pages lies in, NULL if the
 *	device does not read it there
 * @dma_dev: device
 */
struct vroce_list {
	__le64 *pages;
	u32 npages;
	__le64 *where;
	struct device *dma_dev;
};

struct vroce_list *vroce_list_create(struct vroce_dev *dev, struct ib_umem *umem,
				     unsigned long pgsz);
void vroce_list_free(void *data);

/* ----- vroce_mr.c: memory regions ----- */

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

static inline struct vroce_mw *to_vmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct vroce_mw, ibmw);
}

int vroce_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vroce_dealloc_mw(struct ib_mw *ibmw);
struct ib_mr *vroce_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *vroce_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 virt_addr, int access,
				struct ib_udata *udata);
struct ib_mr *vroce_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length,
				       u64 virt_addr, int fd, int access,
				       struct ib_udata *udata);
struct ib_mr *vroce_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg);
int vroce_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset);
struct ib_mr *vroce_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 virt_addr, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
bool vroce_mr_access_is_ok(const struct vroce_dev *dev, int access);

/* ----- vroce_cq.c: completion queues ----- */

/**
 * struct vroce_hw_cq - a completion queue in the device
 * @obj: its references
 * @cqn: its number
 * @queue: its virtqueue
 * @lock: guards &vroce_queue.next, the slots, @feed, @armings, @any and @answered of a
 *	kernel's CQ, and &vroce_queue.done of the work queues that use it
 * @short_of: it has fewer slots than were asked for, and serves the GSI only
 * @due: if @short_of: number of completions that are there or may still come
 * @feed: QP whose backlog moves on when this CQ is polled, or NULL
 * @qps: how often QPs of the kernel use it; guarded by the lock of &vroce_dev.cqs
 * @mem: its ring, if it is direct, and its control block; NULL if it has neither
 * @control: its control block, by which it is armed; NULL if it is armed by a command
 * @armings: with @control: how often the kernel armed it
 * @any: number of its last arming for any completion, counted from 1
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

void vroce_cq_fatal(struct vroce_cq *cq);
void vroce_cq_answered(struct vroce_cq *cq);
int vroce_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    VROCE_CREATE_CQ_ARG *arg);
int vroce_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vroce_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
		    struct ib_udata *udata);
int vroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/* ----- vroce_resize.c: another ring for a direct CQ ----- */

int vroce_cq_grow(struct vroce_cq *cq, u32 cqe, struct ib_udata *udata);

/* ----- vroce_srq.c: shared receive queues ----- */

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
};

int vroce_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		     struct ib_udata *udata);
int vroce_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int vroce_srq_resize(struct vroce_srq *srq, u32 depth, struct ib_udata *udata);
int vroce_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vroce_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int vroce_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);
void vroce_srq_event(struct vroce_dev *dev, u32 handle, enum ib_event_type type);

/* ----- vroce_qp.c: queue pairs ----- */

/**
 * struct vroce_hw_qp - a queue pair in the device
 * @obj: its references
 * @qpn: its number
 * @pd: its protection domain; the QP holds a reference to it
 * @scq: CQ of the send queue; the QP holds a reference to it
 * @rcq: CQ of the receive queue, of an XRC_INI QP @scq; the QP holds a reference to it
 * @srq: SRQ in the place of a receive queue, or NULL; likewise
 * @xrcd: XRC domain of an XRC_TGT QP, or NULL; likewise.  With it there are no queues, no
 *	CQs and no protection domain
 * @sq: virtqueue of the send queue
 * @rq: virtqueue of the receive queue
 * @kernel: the kernel posts and polls, not a process
 * @gsi: it is the general service interface
 * @datagram: received data begins with a network header
 * @qp: the verbs object, NULL when it is going away; changes under the locks of both
 *	CQs
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

/* ----- vroce_hw_qp.c: their part in the device ----- */

/* Parts of the memory of a direct QP. */
enum vroce_qp_part {
	VROCE_QP_SEND,
	VROCE_QP_RECV,
	VROCE_QP_CONTROL,
};

u32 vroce_rq_stride(const struct ib_qp_cap *cap);
u8 vroce_stride_shift(size_t len);
u32 vroce_inline_room(enum ib_qp_type type, const struct ib_qp_cap *cap);
size_t vroce_max_slots(const struct vroce_dev *dev);
void vroce_hw_qp_forget(struct vroce_hw_qp *hw);
struct vroce_hw_qp *
vroce_hw_qp_create(struct vroce_dev *dev, struct ib_pd *ibpd,
		   const struct ib_qp_init_attr *attr,
		   const struct ib_qp_cap *cap, bool kernel,
		   struct vroce_doorbell *db);
struct vroce_hw_qp *vroce_hw_tgt_create(struct vroce_dev *dev,
					struct vroce_hw_domain *xrcd);

/* ----- vroce_qp.c: their verbs ----- */

int vroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata);
int vroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int vroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr);
int vroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void vroce_qp_event(struct vroce_dev *dev, u16 type, u32 qpn);

/* ----- vroce_kq.c: queues of the kernel ----- */

/* Marks a completion whose QP is gone. */
#define VROCE_QPN_GONE		U32_MAX

static inline struct vroce_request *vroce_queue_request(const struct vroce_queue *q,
							u32 pos)
{
	return &q->requests[pos & (q->depth - 1)];
}

void vroce_cq_notify(void *data);
bool vroce_cq_expect(struct vroce_hw_cq *hw, u32 limit);
void vroce_cq_unexpect(struct vroce_hw_cq *hw);
void vroce_put_sges(struct virtio_rdma_sge *wire, const struct ib_sge *sge, int n);
u32 vroce_sges_len(const struct ib_sge *sge, int n);
void vroce_put_recv(const struct vroce_queue *q, void *slot,
		    struct vroce_request *keep, const struct ib_recv_wr *wr);
bool vroce_wq_owed(const struct vroce_queue *q, u32 pos);
bool vroce_srq_complete(struct vroce_hw_srq *hw, u32 cookie,
			struct vroce_request *request);
bool vroce_cq_has_completions(struct vroce_hw_cq *hw);
void vroce_cq_forget_qp(struct vroce_hw_cq *hw, struct vroce_hw_qp *qp);

/* ----- vroce_event.c: events of objects ----- */

void vroce_events(struct vroce_dev *dev, bool on);

/* ----- vroce_post.c: the data path of kernel consumers ----- */

/*
 * This bit in a wr_id on the wire means that the request is of a receive queue.  The
 * bits below it are the position in the ring.
 */
#define VROCE_COOKIE_RECV	BIT_ULL(16)

int vroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int vroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
int vroce_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
void vroce_backlog_drop(struct vroce_qp *qp);

/* ----- vroce_gate.c: the verbs above, for a process ----- */

int vroce_gate_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_gate_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vroce_gate_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 VROCE_CREATE_CQ_ARG *arg);
int vroce_gate_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vroce_gate_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int vroce_gate_resize_cq(struct ib_cq *ibcq, VROCE_RESIZE_CQ_ARG cqe,
			 struct ib_udata *udata);
int vroce_gate_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata);
int vroce_gate_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata);
int vroce_gate_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init_attr);
int vroce_gate_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int vroce_gate_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
			  struct ib_udata *udata);
int vroce_gate_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata);
int vroce_gate_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vroce_gate_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int vroce_gate_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vroce_gate_dealloc_mw(struct ib_mw *ibmw);
int vroce_gate_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *vroce_gate_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				       u64 length, u64 virt_addr, int access,
				       struct ib_pd *ibpd,
				       struct ib_udata *udata);
int vroce_gate_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
			      struct ib_udata *udata);
int vroce_gate_destroy_ah(struct ib_ah *ibah, u32 flags);
int vroce_gate_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vroce_gate_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
struct ib_mr *vroce_gate_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				     u64 virt_addr, int access,
				     struct ib_udata *udata);
struct ib_mr *vroce_gate_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					    u64 length, u64 virt_addr, int fd,
					    int access, struct ib_udata *udata);

/* ----- vroce_flush.c: what happens when the device is dead ----- */

u32 vroce_alive_expose(const struct vroce_hw_cq *hw);
void vroce_flush_cq(struct vroce_dev *dev, struct vroce_hw_cq *hw);
bool vroce_flush_owes(struct vroce_dev *dev, const struct vroce_hw_cq *hw);
void vroce_flush_drop(struct vroce_dev *dev, struct vroce_hw_qp *hw);
void vroce_flush_posted(struct vroce_dev *dev);
void vroce_flush_count(struct vroce_dev *dev, struct vroce_hw_qp *hw, int n);
void vroce_flush_init(struct vroce_dev *dev);
void vroce_flush_listen(struct vroce_dev *dev, bool on);

/* ----- vroce_drain.c: draining the queues of a kernel's QP ----- */

void vroce_drain_sq(struct ib_qp *ibqp);
void vroce_drain_rq(struct ib_qp *ibqp);
void vroce_drain_init(struct vroce_dev *dev);

/* ----- vroce_watch.c: completions that do not come ----- */

void vroce_watch_start(struct vroce_dev *dev);
void vroce_watch_stop(struct vroce_dev *dev);

/* ----- vroce_main.c ----- */

/**
 * struct vroce_dev - an RDMA device
 * @ibdev: the core's part
 * @aux: the lower module's part
 * @attr: attributes of the device, limited to what the driver supports
 * @port: attributes of its port, limited to what the driver supports
 * @max_cq_slots: number of slots that any CQ can have
 * @quotas: how many objects of each kind the device holds
 * @cqns: CQNs in use
 * @qpns: QPNs in use
 * @qps: &struct vroce_hw_qp of each QPN in use
 * @srqs: &struct vroce_srq of each handle in use
 * @bad_completions: number of completions that were dropped because they match no
 *	request
 * @doorbell: doorbell page of the kernel's direct QPs
 * @next_doorbell: counts doorbell pages, to spread them over the doorbell virtqueues
 * @wq: runs releases that vroce_obj_put_later() deferred
 * @netdev_nb: notices when the link of the Ethernet interface comes or goes
 * @port_lock: guards @port_active, and held while clients are told
 * @port_active: last state of the port that clients were told
 * @health: whether the device is alive
 * @cqs: &struct vroce_cq of each CQN in use
 * @flush_work: has all CQs polled when the device is dead
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
	u32 max_cq_slots;
	struct vroce_quota quotas[VROCE_KINDS];
	struct vroce_numbers cqns;
	struct vroce_numbers qpns;
	struct xarray qps;
	struct xarray srqs;
	atomic64_t bad_completions;
	struct vroce_doorbell doorbell;
	atomic_t next_doorbell;
	struct workqueue_struct *wq;
	struct notifier_block netdev_nb;
	spinlock_t port_lock;	/* port_active */
	bool port_active;
	enum virtio_net_roce_event health;
	struct xarray cqs;
	struct work_struct flush_work;
	unsigned int drain_ms;
	struct mutex users_lock;	/* users */
	struct list_head users;
	struct delayed_work watch;
	unsigned int watch_ms;
	spinlock_t kept_lock;	/* kept */
	struct list_head kept;
};

/* Can work requests register memory? */
static inline bool vroce_has_fast_reg(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS;
}

/* Can a GID have a VLAN? */
static inline bool vroce_has_gid_vlan(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_GID_VLAN;
}

/* Can a peer flush what it has written? */
static inline bool vroce_has_flush(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_FLUSH;
}

/* Are there events of QPs beside QP_FATAL? */
static inline bool vroce_has_qp_events(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_QP_EVENTS;
}

/* Can a memory region get other pages and rights, and keep its keys? */
static inline bool vroce_has_rereg(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_REREG_MR;
}

/* Can the pages of a memory region have other sizes than 4096 bytes? */
static inline bool vroce_has_page_shift(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MR_PAGE_SHIFT;
}

/* Can their list lie outside of the command? */
static inline bool vroce_has_indirect(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MR_INDIRECT;
}

/* Can the first byte of a memory region have address 0? */
static inline bool vroce_has_zero_based(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_ZERO_BASED;
}

/* Are there memory windows? */
static inline bool vroce_has_mw(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MEM_WINDOW;
}

/* Are there atomic operations? */
static inline bool vroce_has_atomics(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_ATOMIC;
}

/*
 * What the device is told of access flags.  Libraries grant atomic operations wherever
 * they may, so that is accepted for all devices, and means nothing to those without.
 */
static inline int vroce_known_access(const struct vroce_dev *dev, int access)
{
	return vroce_has_atomics(dev) ? access : access & ~IB_ACCESS_REMOTE_ATOMIC;
}

/* Does the device hold completions that find no slot? */
static inline bool vroce_cqs_hold(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_CQ_HOLD;
}

/* Does RESET give the slots of a QP back? */
static inline bool vroce_reset_gives_slots(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_RESET_SLOTS;
}

/* Are CQs armed by a store, and events reported by number? */
static inline bool vroce_has_events(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_EVENTS;
}

/* Can queues be in memory that the create command names? */
static inline bool vroce_has_direct(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_DIRECT;
}

/* Can QPs share a receive queue? */
static inline bool vroce_has_srq(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_SRQ;
}

/* Can a shared receive queue get another ring? */
static inline bool vroce_has_srq_resize(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_SRQ_RESIZE;
}

/* Are there extended reliable connections? */
static inline bool vroce_has_xrc(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_XRC;
}

/* Can QPs be attached to multicast groups? */
static inline bool vroce_has_mcast(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_MCAST;
}

/* The MTU of the port follows that of the Ethernet interface, and can change at any time. */
static inline enum ib_mtu vroce_active_mtu(const struct vroce_dev *dev)
{
	/* 0 is below the smallest InfiniBand MTU. */
	return iboe_get_mtu(READ_ONCE(dev->aux->netdev->mtu)) ?: IB_MTU_256;
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

#endif /* _VROCE_H */
