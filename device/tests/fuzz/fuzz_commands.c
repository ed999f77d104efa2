// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: control commands of a hostile guest.
 *
 * A function gets commands by its control queue: whole sequences, most of them as a
 * good driver has them, with some bits flipped, and handles that the device gave out,
 * or has taken back.  In between the guest posts work requests, takes queues and
 * memory away, and resets the function.
 *
 *	input:	begin, then operations
 *	operation: what, how, ...; see operation()
 *
 * A command is answered once, with one of the two acks, and the response is as long
 * as its command says.  After a reset of the function all objects that it may have
 * can be made again.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "function/function_priv.h"
#include "nvmf/nvmf.h"
#include "rdma/nvmf/subsys.h"
#include "storage/staging.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/guest.h"
#include "tests/lib/need.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Begin: bits of the first byte. */
#define BEGIN_OBJECTS	1	/* one of each kind, a QP in RTS */
#define BEGIN_EVENT_IDX	2	/* VIRTIO_RING_F_EVENT_IDX */
#define BEGIN_PLAIN	4	/* a driver that does not know RoCE */
#define BEGIN_PAIRS	8	/* all pairs of Ethernet queues, not the first one alone */

/* How: bits of the second byte of an operation. */
#define HOW_RAW		1	/* no good request to begin with */
#define HOW_HANDLES	2	/* handles are numbers, not those of what there is */
#define HOW_LENGTH	4	/* the request is longer or shorter, by a signed byte */
#define HOW_ROOM	8	/* the room for a response is, too */
#define HOW_PIECES	16	/* everything is in small pieces */
#define HOW_NUMBER	32	/* any class and number */
#define HOW_INDIRECT	64	/* the descriptors stand in a table of their own */

enum {
	OP_COMMANDS = 64,	/* some more than there are */
	OP_POST = OP_COMMANDS,
	OP_RING,
	OP_POLL,
	OP_QUEUE,
	OP_MEMORY,
	OP_RESET,
	OP_PAIRS,
	OP_FRAME,
	OPS,
};

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		16
#define QPS		5
#define CQS		4
#define MRS		8
#define PDS		4
#define AHS		4
#define DIRECT_QPS	5
#define DIRECT_CQS	3
#define QPS_ALL		(QPS + DIRECT_QPS)
#define PAIRS		3u
/* Those of RDMA: one event and one doorbell virtqueue, too. */
#define RDMA_QUEUES	(CQS + 2 * QPS + 2)
#define QUEUES_MAX	(2 * PAIRS + 1 + RDMA_QUEUES)

/* Places in the guest's memory. */
#define MEM_SIZE	(256u << 10)
#define RINGS_AT	0u
#define RING_SIZE	1024u
#define SLOTS_AT	(32u << 10)
#define SLOT_SIZE	640u
#define REQ_AT		(192u << 10)
#define REQ_MAX		4096u
#define RSP_AT		(REQ_AT + REQ_MAX + 64)
#define RSP_MAX		512u
#define TABLE_AT	(RSP_AT + 1024)
#define DATA_AT		(208u << 10)
/* A list of pages. */
#define LIST_AT		(DATA_AT + 4096u * 5)
/* Pages of direct rings and what goes with them, near the end of the data. */
#define RING_AT(n)	(DATA_AT + 4096u * (6 + (n)))
#define DOORBELL_AT	RING_AT(0)
#define CONTROL_AT	RING_AT(1)
#define CQ_AT		RING_AT(2)
#define SEND_AT		RING_AT(3)
#define RECV_AT		RING_AT(4)
#define SRQ_AT		RING_AT(5)
#define PIECE		24u
/* Entries of the queues of an NVMe controller. */
#define NVME_DEPTH	16u
#define VA		0x10000u

enum kind { PD, MR, AH, CQ, QP, DB, SRQ, XRCD, FLOW, TABLE, NVME, KINDS };
#define HANDLES		8

/**
 * struct row - a command
 * @number:	its number
 * @req:	bytes of its request, without a list of pages
 * @rsp:	bytes of its response
 * @makes:	what it makes, or %KINDS
 * @field:	handles in its request: of what, and where + 1
 */
struct row {
	uint8_t number;
	uint16_t req;
	uint16_t rsp;
	enum kind makes;
	struct {
		enum kind kind;
		uint8_t at;
	} field[4];
};

#define REQ(name)	sizeof(struct virtio_rdma_cmd_ ## name)
#define RSP(name)	sizeof(struct virtio_rdma_ack_ ## name)
/* CREATE_QP of a direct QP, without its list of pages. */
#define QP_LONG		(VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(struct virtio_rdma_qp_direct))
/* The same, of the page of a send ring, and of that of a receive ring. */
#define QP_SHARED	(QP_LONG + sizeof(__le64))
#define QP_OWN		(QP_LONG + 2 * sizeof(__le64))
/* The same, of an XRC_INI QP, of whose send ring it is four times the same page. */
#define INI_PAGES	4u
#define QP_INI		(QP_LONG + INI_PAGES * sizeof(__le64))
/* The same, of a RAW_PACKET QP: two of that of a send ring, one of a receive ring. */
#define QP_RAW		(QP_LONG + 3 * sizeof(__le64))
/* The same, of a work queue, whose receive ring is eight times the same page. */
#define WQ_PAGES	8u
#define QP_WQ		(QP_LONG + WQ_PAGES * sizeof(__le64))
/* CREATE_WQ_TABLE with two entries. */
#define TABLE_LEN	(REQ(create_wq_table) + 2 * sizeof(__le32))
#define QP_AT(member)	(VIRTIO_RDMA_QP_DIRECT_OFFSET + \
			 offsetof(struct virtio_rdma_qp_direct, member) + 1)
#define AT(name, member) (offsetof(struct virtio_rdma_cmd_ ## name, member) + 1)

static const struct row rows[] = {
	{ CMD(QUERY_DEVICE), 0, RSP(query_device), KINDS, {} },
	{ CMD(QUERY_PORT), 0, RSP(query_port), KINDS, {} },
	{ CMD(CREATE_CQ), REQ(create_cq), RSP(create_cq), CQ, {} },
	{ CMD(DESTROY_CQ), REQ(destroy_cq), 0, KINDS, { { CQ, AT(destroy_cq, cqn) } } },
	{ CMD(CREATE_PD), 0, RSP(create_pd), PD, {} },
	{ CMD(DESTROY_PD), REQ(destroy_pd), 0, KINDS, { { PD, AT(destroy_pd, pdn) } } },
	{ CMD(GET_DMA_MR), REQ(get_dma_mr), RSP(mr), MR, { { PD, AT(get_dma_mr, pdn) } } },
	{ CMD(REG_USER_MR), REQ(reg_user_mr), RSP(mr), MR, { { PD, AT(reg_user_mr, pdn) } } },
	{ CMD(DEREG_MR), REQ(dereg_mr), 0, KINDS, { { MR, AT(dereg_mr, mrn) } } },
	{ CMD(CREATE_QP), REQ(create_qp), RSP(create_qp), QP,
	  { { PD, AT(create_qp, pdn) }, { CQ, AT(create_qp, send_cqn) },
	    { CQ, AT(create_qp, recv_cqn) } } },
	{ CMD(MODIFY_QP), REQ(modify_qp), 0, KINDS,
	  { { QP, AT(modify_qp, qpn) }, { QP, AT(modify_qp, dest_qp_num) } } },
	{ CMD(QUERY_QP), REQ(query_qp), RSP(query_qp), KINDS, { { QP, AT(query_qp, qpn) } } },
	{ CMD(DESTROY_QP), REQ(destroy_qp), 0, KINDS, { { QP, AT(destroy_qp, qpn) } } },
	{ CMD(CREATE_AH), REQ(create_ah), RSP(create_ah), AH, { { PD, AT(create_ah, pdn) } } },
	{ CMD(DESTROY_AH), REQ(destroy_ah), 0, KINDS,
	  { { PD, AT(destroy_ah, pdn) }, { AH, AT(destroy_ah, ah) } } },
	{ CMD(ADD_GID), REQ(add_gid), 0, KINDS, {} },
	{ CMD(DEL_GID), REQ(del_gid), 0, KINDS, {} },
	{ CMD(REQ_NOTIFY_CQ), REQ(req_notify), 0, KINDS, { { CQ, AT(req_notify, cqn) } } },
	{ CMD(ALLOC_MR), REQ(alloc_mr), RSP(mr), MR, { { PD, AT(alloc_mr, pdn) } } },
	{ CMD(QUERY_COUNTERS), 0, RSP(query_counters), KINDS, {} },
	{ CMD(ATTACH_MCAST), REQ(mcast), 0, KINDS, { { QP, AT(mcast, qpn) } } },
	{ CMD(DETACH_MCAST), REQ(mcast), 0, KINDS, { { QP, AT(mcast, qpn) } } },
	{ CMD(ALLOC_DOORBELL), REQ(alloc_doorbell), RSP(alloc_doorbell), DB, {} },
	{ CMD(FREE_DOORBELL), REQ(free_doorbell), 0, KINDS,
	  { { DB, AT(free_doorbell, doorbell) } } },
	/* The long forms, each with its list of pages. */
	{ CMD(CREATE_CQ), REQ(create_cq_long) + 8, RSP(create_cq), CQ, {} },
	{ CMD(CREATE_QP), QP_OWN, RSP(create_qp), QP,
	  { { PD, AT(create_qp, pdn) }, { CQ, AT(create_qp, send_cqn) },
	    { DB, QP_AT(doorbell) } } },
	{ CMD(RESIZE_CQ), REQ(resize_cq) + 8, RSP(resize_cq), KINDS,
	  { { CQ, AT(resize_cq, cqn) } } },
	{ CMD(MODIFY_CQ), REQ(modify_cq), 0, KINDS, { { CQ, AT(modify_cq, cqn) } } },
	{ CMD(CREATE_SRQ), REQ(create_srq) + 8, RSP(create_srq), SRQ,
	  { { PD, AT(create_srq, pdn) } } },
	{ CMD(MODIFY_SRQ), REQ(modify_srq), 0, KINDS, { { SRQ, AT(modify_srq, srq) } } },
	{ CMD(QUERY_SRQ), REQ(query_srq), RSP(query_srq), KINDS,
	  { { SRQ, AT(query_srq, srq) } } },
	{ CMD(DESTROY_SRQ), REQ(destroy_srq), 0, KINDS, { { SRQ, AT(destroy_srq, srq) } } },
	/* A QP with an SRQ; it has no receive ring. */
	{ CMD(CREATE_QP), QP_SHARED, RSP(create_qp), QP,
	  { { PD, AT(create_qp, pdn) }, { CQ, AT(create_qp, send_cqn) },
	    { DB, QP_AT(doorbell) }, { SRQ, QP_AT(srq) } } },
	{ CMD(REREG_MR), REQ(rereg_mr), 0, KINDS,
	  { { PD, AT(rereg_mr, pdn) }, { MR, AT(rereg_mr, mrn) } } },
	{ CMD(ALLOC_MW), REQ(alloc_mw), RSP(mr), MR, { { PD, AT(alloc_mw, pdn) } } },
	{ CMD(RESIZE_SRQ), REQ(resize_srq) + 8, 0, KINDS, { { SRQ, AT(resize_srq, srq) } } },
	{ CMD(CREATE_XRCD), 0, RSP(create_xrcd), XRCD, {} },
	{ CMD(DESTROY_XRCD), REQ(destroy_xrcd), 0, KINDS,
	  { { XRCD, AT(destroy_xrcd, xrcd) } } },
	{ CMD(CREATE_XRC_SRQ), REQ(create_xrc_srq) + 8, RSP(create_srq), SRQ,
	  { { PD, AT(create_srq, pdn) }, { XRCD, AT(create_xrc_srq, xrcd) },
	    { CQ, AT(create_xrc_srq, cqn) } } },
	/* An XRC_TGT QP. */
	{ CMD(CREATE_QP), QP_LONG, RSP(create_qp), QP, { { XRCD, QP_AT(xrcd) } } },
	/* An XRC_INI QP; its length tells it from the others. */
	{ CMD(CREATE_QP), QP_INI, RSP(create_qp), QP,
	  { { PD, AT(create_qp, pdn) }, { CQ, AT(create_qp, send_cqn) },
	    { DB, QP_AT(doorbell) } } },
	/* Those whose list is in a page of its own. */
	{ CMD(REG_USER_MR), REQ(reg_user_mr) + 8, RSP(mr), MR,
	  { { PD, AT(reg_user_mr, pdn) } } },
	{ CMD(REREG_MR_LONG), REQ(rereg_mr_long) + 8, 0, KINDS,
	  { { PD, AT(rereg_mr_long, pdn) }, { MR, AT(rereg_mr_long, mrn) } } },
	/* A RAW_PACKET QP, and rules that give it frames. */
	{ CMD(CREATE_QP), QP_RAW, RSP(create_qp), QP,
	  { { PD, AT(create_qp, pdn) }, { CQ, AT(create_qp, send_cqn) },
	    { DB, QP_AT(doorbell) } } },
	{ CMD(CREATE_FLOW), REQ(create_flow), RSP(create_flow), FLOW,
	  { { QP, AT(create_flow, qpn) } } },
	{ CMD(DESTROY_FLOW), REQ(destroy_flow), 0, KINDS,
	  { { FLOW, AT(destroy_flow, flow) } } },
	{ CMD(QUERY_FLOW), REQ(query_flow), RSP(query_flow), KINDS,
	  { { FLOW, AT(query_flow, flow) } } },
	{ CMD(CREATE_FLOW_LONG), REQ(create_flow_long), RSP(create_flow), FLOW,
	  { { QP, AT(create_flow_long, flow.qpn) } } },
	/* A work queue, a table of it and another one, a QP that spreads frames over them. */
	{ CMD(CREATE_QP), QP_WQ, RSP(create_qp), QP,
	  { { PD, AT(create_qp, pdn) }, { CQ, AT(create_qp, recv_cqn) },
	    { DB, QP_AT(doorbell) } } },
	{ CMD(CREATE_WQ_TABLE), TABLE_LEN, RSP(create_wq_table), TABLE,
	  { { QP, REQ(create_wq_table) + 1 }, { QP, REQ(create_wq_table) + 5 } } },
	{ CMD(DESTROY_WQ_TABLE), REQ(destroy_wq_table), 0, KINDS,
	  { { TABLE, AT(destroy_wq_table, table) } } },
	{ CMD(CREATE_RX_HASH_QP), REQ(create_rx_hash_qp), RSP(create_qp), QP,
	  { { TABLE, AT(create_rx_hash_qp, table) } } },
	/* New rows stand at the end: seeds have their numbers. */
	{ CMD(QUERY_QP_COUNTERS), REQ(query_qp_counters), RSP(query_counters), KINDS,
	  { { QP, AT(query_qp_counters, qpn) } } },
	/* The offload of NVMe over Fabrics, of the SRQ of a QP. */
	{ CMD(QUERY_NVMF), 0, RSP(query_nvmf), KINDS, {} },
	{ CMD(QUERY_NAMESPACE), REQ(query_namespace), RSP(query_namespace), KINDS, {} },
	{ CMD(SET_SRQ_NVMF), REQ(set_srq_nvmf), 0, KINDS, { { SRQ, AT(set_srq_nvmf, srq) } } },
	{ CMD(CREATE_NVME_CTRL), REQ(create_nvme_ctrl), RSP(create_nvme_ctrl), NVME,
	  { { SRQ, AT(create_nvme_ctrl, srq) } } },
	{ CMD(DESTROY_NVME_CTRL), REQ(destroy_nvme_ctrl), 0, KINDS,
	  { { NVME, AT(destroy_nvme_ctrl, ctrl) } } },
	{ CMD(MAP_NSID), REQ(map_nsid), 0, KINDS, { { NVME, AT(map_nsid, ctrl) } } },
	{ CMD(UNMAP_NSID), REQ(unmap_nsid), 0, KINDS, { { NVME, AT(unmap_nsid, ctrl) } } },
	{ CMD(SET_QP_NVMF), REQ(set_qp_nvmf), 0, KINDS, { { QP, AT(set_qp_nvmf, qpn) } } },
	{ CMD(QUERY_CLOCK), 0, RSP(query_clock), KINDS, {} },
};

_Static_assert(ARRAY_SIZE(rows) <= OP_COMMANDS, "no operation for some commands");

/**
 * struct target - what is fuzzed
 * @fn:		function
 * @guest:	guest
 * @mem:	its memory map, as the device is told
 * @first:	number of the first queue of RDMA; the control queue is before it
 * @queues:	number of queues
 * @vq:		the device's side of its queues
 * @gvq:	the driver's side
 * @handle:	handles that the device has given out, the last ones of each kind
 * @handles:	number of them
 * @key:	key of the newest memory region
 * @type:	by QPN, type
 * @state:	by QPN, state that was asked for last
 * @spoilt:	the control queue's ring has been written to
 */
static struct target {
	struct function *fn;
	struct guest guest;
	struct guest_mem mem;
	unsigned int first;
	unsigned int queues;
	struct virtq vq[QUEUES_MAX];
	struct guest_vq gvq[QUEUES_MAX];
	uint32_t handle[KINDS][HANDLES];
	unsigned int handles[KINDS];
	uint32_t key;
	uint8_t type[QPS_ALL];
	uint8_t state[QPS_ALL];
	bool spoilt;
} t;

/* ------------------------------------------------------------------------- */
/* The function and its queues                                               */
/* ------------------------------------------------------------------------- */

static void on_call(struct virtq *vq __always_unused)
{
}

/* A namespace that keeps nothing, which is done at once. */
static void disk_submit(void *arg __always_unused, struct ns_io *io)
{
	io->done(io, 0);
}

static struct ns disk = {
	.name = "disk",
	.size = 1 << 20,
	.block = 512,
	.submit = disk_submit,
};

static struct ns *disk_find(const void *arg __always_unused, const char *name,
			    const char *guest __always_unused)
{
	return strcmp(name, disk.name) ? NULL : &disk;
}

/* It lives as long as the function. */
static const struct nvmf_host *storage_init(struct loop *loop)
{
	static struct nvmf_host host = { .find = disk_find };
	static struct nvmf_pool pool;
	struct staging *staging = staging_new(4 << 20);

	need(staging);
	pool = (struct nvmf_pool) {
		.alloc = staging_alloc,
		.alloc_of = staging_alloc_of,
		.free = staging_release,
		.arg = staging,
		.size = staging_size(staging),
	};
	host.nvmf = nvmf_new(loop, &pool);
	need(host.nvmf);
	return &host;
}

static void target_init(void)
{
	struct loop *loop = loop_new(0);
	const struct function_config config = {
		.name = "fuzz",
		.mac = { 2, 0, 0, 0, 0, 1 },
		.mtu = 1500,
		.pairs = PAIRS,
		.limits = { .qps = QPS, .cqs = CQS, .queue_size = NUM, .cqe = 2 * NUM,
			    .mrs = MRS, .pds = PDS, .ahs = AHS, .event_vqs = 1,
			    .doorbell_vqs = 1, .direct_qps = DIRECT_QPS,
			    .direct_cqs = DIRECT_CQS },
		.nvmf = storage_init(loop),
	};

	log_set_level(LOG_LEVEL_ERROR);
	guest_init(&t.guest, MEM_SIZE);
	t.fn = function_new(loop, switch_new(loop), fabric_new(), &config);
	need(t.fn);
}

static void *ptr(uint32_t at)
{
	return t.guest.host + at;
}

static void queue_start(unsigned int i)
{
	struct guest_vq *gvq = &t.gvq[i];
	uint32_t at = RINGS_AT + i * RING_SIZE;
	struct virtq *vq = &t.vq[i];

	*gvq = (struct guest_vq) {
		.guest = &t.guest,
		.num = NUM,
		.desc_addr = GUEST_BASE + at,
		.avail_addr = GUEST_BASE + at + 16 * NUM,
		.used_addr = GUEST_BASE + at + 16 * NUM + 64,
		.desc = ptr(at),
		.avail = ptr(at + 16 * NUM),
		.used = ptr(at + 16 * NUM + 64),
	};
	memset(ptr(at), 0, RING_SIZE);
	vq->index = i;
	vq->call = on_call;
	vq->indirect = true;
	vq->event_idx = t.fn->features & BIT(VIRTIO_RING_F_EVENT_IDX);
	vq->mem = &t.mem;
	need(!virtq_start(vq, NUM, 0, gvq->desc, gvq->avail, gvq->used));
	function_device_ops.queue_start(t.fn, vq);
	if (i == t.first - 1)
		t.spoilt = false;
}

static void queue_stop(unsigned int i)
{
	function_device_ops.queue_stop(t.fn, &t.vq[i]);
	virtq_stop(&t.vq[i]);
}

/* A round may end after each of the three things that a function looks at. */
static void poll_function(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		t.fn->poller.poll(t.fn->poller.arg);
}

static void function_down(void)
{
	unsigned int i;

	for (i = 0; i < t.queues; i++)
		if (t.vq[i].ready)
			queue_stop(i);
	function_device_ops.reset(t.fn);
}

static void function_up(uint8_t how)
{
	uint64_t features = function_device_ops.features(t.fn);
	unsigned int i;

	if (!(how & BEGIN_EVENT_IDX))
		features &= ~BIT(VIRTIO_RING_F_EVENT_IDX);
	if (how & BEGIN_PLAIN)
		features &= ~BIT(VIRTIO_NET_F_ROCE);
	if (!(how & BEGIN_PAIRS))
		features &= ~(BIT(VIRTIO_NET_F_MQ) | BIT(VIRTIO_NET_F_RSS) |
			      BIT(VIRTIO_NET_F_HASH_REPORT));
	t.first = how & BEGIN_PAIRS ? 2 * PAIRS + 1 : FUNCTION_QUEUES;
	t.queues = t.first + RDMA_QUEUES;
	need(!function_device_ops.negotiated(t.fn, features));
	t.mem = t.guest.mem;
	function_device_ops.mem_changed(t.fn, &t.mem);
	for (i = 0; i < t.queues; i++)
		queue_start(i);
	memset(t.handles, 0, sizeof(t.handles));
	memset(t.state, 0, sizeof(t.state));
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void own_gid(uint8_t *gid)
{
	gid[10] = 0xff;
	gid[11] = 0xff;
	gid[12] = 10;
	gid[15] = 1;
}

static uint32_t attributes(uint8_t type, uint8_t state)
{
	bool conn = type == VIRTIO_IB_QPT_RC || type == VIRTIO_IB_QPT_UC;
	uint32_t mask = VIRTIO_IB_QP_STATE;

	if (type == VIRTIO_IB_QPT_RAW_PACKET || type == VIRTIO_IB_QPT_WQ)
		return mask;
	switch (state) {
	case VIRTIO_IB_QPS_INIT:
		return mask | (conn ? VIRTIO_IB_QP_ACCESS_FLAGS : VIRTIO_IB_QP_QKEY);
	case VIRTIO_IB_QPS_RTR:
		if (conn)
			mask |= VIRTIO_IB_QP_AV | VIRTIO_IB_QP_PATH_MTU |
				VIRTIO_IB_QP_DEST_QPN | VIRTIO_IB_QP_RQ_PSN;
		if (type == VIRTIO_IB_QPT_RC)
			mask |= VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC |
				VIRTIO_IB_QP_MIN_RNR_TIMER;
		return mask;
	case VIRTIO_IB_QPS_RTS:
		mask |= VIRTIO_IB_QP_SQ_PSN;
		if (type == VIRTIO_IB_QPT_RC)
			mask |= VIRTIO_IB_QP_TIMEOUT | VIRTIO_IB_QP_RETRY_CNT |
				VIRTIO_IB_QP_RNR_RETRY | VIRTIO_IB_QP_MAX_QP_RD_ATOMIC;
		return mask;
	}
	return mask;
}

static uint32_t newest(enum kind kind)
{
	return t.handles[kind] ? t.handle[kind][(t.handles[kind] - 1) % HANDLES] : 0;
}

/* Takes the newest QP to its next state, connected with itself. */
static void good_modify(struct virtio_rdma_cmd_modify_qp *req)
{
	uint32_t qpn = newest(QP) % QPS_ALL;
	uint8_t state = t.state[qpn] < VIRTIO_IB_QPS_RTS ? t.state[qpn] + 1 :
			VIRTIO_IB_QPS_ERR;

	if (t.type[qpn] == VIRTIO_IB_QPT_WQ && state == VIRTIO_IB_QPS_INIT)
		state = VIRTIO_IB_QPS_RTR;
	*req = (struct virtio_rdma_cmd_modify_qp) {
		.attr_mask = htole32(attributes(t.type[qpn], state)),
		.qp_state = state,
		.path_mtu = VIRTIO_IB_MTU_1024,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.timeout = 10,
		.retry_cnt = 2,
		.rnr_retry = 3,
		.qkey = htole32(1),
		.qp_access_flags = htole32(7),
		.ah_attr = { .dmac = { 2, 0, 0, 0, 0, 1 } },
	};
	own_gid(req->ah_attr.grh.dgid);
}

static void good_cq_long(uint8_t *to)
{
	struct virtio_rdma_cmd_create_cq_long *req = (void *)to;

	req->cqe = htole32(64);
	req->flags = VIRTIO_RDMA_CQ_CONTROL | VIRTIO_RDMA_CQ_DIRECT;
	req->cqe_shift = 5;
	req->control = htole64(GUEST_BASE + CONTROL_AT);
	req->npages = htole32(1);
	req->pages[0] = htole64(GUEST_BASE + CQ_AT);
}

/*
 * Behind what it has in common with that of the RFC; of one CQ, the newest.  Without room
 * for the page of a receive ring the QP has an SRQ, without any page it is an XRC_TGT QP.
 */
static void good_qp_long(uint8_t *to, size_t len)
{
	struct virtio_rdma_cmd_create_qp *req = (void *)to;
	struct virtio_rdma_qp_direct *direct = (void *)(to + VIRTIO_RDMA_QP_DIRECT_OFFSET);
	__le64 *pages = (void *)(direct + 1);
	unsigned int i;

	direct->form = VIRTIO_RDMA_QP_FORM_DIRECT;
	if (len == QP_LONG) {
		memset(to, 0, VIRTIO_RDMA_QP_DIRECT_OFFSET);
		req->qp_type = VIRTIO_IB_QPT_XRC_TGT;
		return;
	}
	req->recv_cqn = htole32(newest(CQ));
	direct->send_shift = 6;
	direct->recv_shift = 6;
	direct->send_depth = htole32(NUM);
	direct->send_pages = htole32(1);
	direct->control = htole64(GUEST_BASE + CONTROL_AT + 64);
	pages[0] = htole64(GUEST_BASE + SEND_AT);
	if (len == QP_INI) {
		req->qp_type = VIRTIO_IB_QPT_XRC_INI;
		direct->send_depth = htole32(INI_PAGES * 64);
		direct->send_pages = htole32(INI_PAGES);
		for (i = 1; i < INI_PAGES; i++)
			pages[i] = pages[0];
		return;
	}
	if (len == QP_WQ) {
		req->qp_type = VIRTIO_IB_QPT_WQ;
		/* Handles are put in later; 0 is the newest. */
		req->recv_cqn = 0;
		direct->bit = htole32(3);
		direct->send_depth = 0;
		direct->send_pages = 0;
		direct->recv_depth = htole32(WQ_PAGES * 64);
		direct->recv_pages = htole32(WQ_PAGES);
		for (i = 1; i < WQ_PAGES; i++)
			pages[i] = pages[0];
		return;
	}
	if (len < QP_OWN) {
		direct->flags = VIRTIO_RDMA_QP_SRQ;
		direct->bit = htole32(1);
		return;
	}
	direct->recv_depth = htole32(NUM);
	direct->recv_pages = htole32(1);
	pages[1] = htole64(GUEST_BASE + RECV_AT);
	if (len < QP_RAW)
		return;
	req->qp_type = VIRTIO_IB_QPT_RAW_PACKET;
	direct->bit = htole32(2);
	direct->send_depth = htole32(2 * 64);
	direct->send_pages = htole32(2);
	pages[2] = pages[1];
	pages[1] = pages[0];
}

/* Its list of pages stands behind what @size bytes hold. */
static void good_srq(uint8_t *to, size_t size)
{
	struct virtio_rdma_cmd_create_srq *req = (void *)to;
	__le64 *pages = (void *)(to + size);

	req->depth = htole32(NUM);
	req->max_sge = htole32(2);
	req->shift = 6;
	req->control = htole64(GUEST_BASE + CONTROL_AT + 192);
	req->npages = htole32(1);
	pages[0] = htole64(GUEST_BASE + SRQ_AT);
}

/* A region of two pages of 8 KiB, of which the list lies in a page. */
static void good_list(struct virtio_rdma_cmd_reg_user_mr *reg)
{
	__le64 *list = ptr(LIST_AT);

	list[0] = htole64(GUEST_BASE + DATA_AT + 8192);
	list[1] = htole64(GUEST_BASE + DATA_AT);
	reg->access_flags = htole32(7);
	reg->virt_addr = htole64(VA + 8192 - 100);
	reg->length = htole64(8000);
	reg->npages = htole32(2);
}

/* Part of the guest's memory, by a region of all of it, if that is the newest. */
static struct virtio_rdma_region in_memory(uint32_t at, uint64_t len)
{
	return (struct virtio_rdma_region) {
		.addr = htole64(GUEST_BASE + at),
		.length = htole64(len),
		.lkey = t.key,
	};
}

/* Of the namespace and of queues in memory in turn. */
static void good_nvme_ctrl(struct virtio_rdma_cmd_create_nvme_ctrl *ctrl)
{
	if (t.handles[NVME] % 2 == 0) {
		ctrl->backend = VIRTIO_RDMA_NVME_NAMESPACE;
		memcpy(ctrl->name, disk.name, strlen(disk.name));
		return;
	}
	ctrl->backend = VIRTIO_RDMA_NVME_QUEUES;
	ctrl->timeout_ms = htole16(1);
	ctrl->queues.sq = in_memory(DATA_AT, 64 * NVME_DEPTH);
	ctrl->queues.cq = in_memory(DATA_AT + 4096, 16 * NVME_DEPTH);
	ctrl->queues.sq_doorbell = in_memory(DATA_AT + 8192, 4);
	ctrl->queues.cq_doorbell = in_memory(DATA_AT + 8196, 4);
}

/* A good request, its handles zero; returns its length. */
static size_t good(uint8_t number, size_t len, uint8_t *to)
{
	union {
		uint8_t bytes[REQ_MAX];
		struct virtio_rdma_cmd_create_cq create_cq;
		struct virtio_rdma_cmd_get_dma_mr get_dma_mr;
		struct virtio_rdma_cmd_reg_user_mr reg;
		struct virtio_rdma_cmd_rereg_mr_long rereg_long;
		struct virtio_rdma_cmd_create_qp create_qp;
		struct virtio_rdma_cmd_modify_qp modify_qp;
		struct virtio_rdma_cmd_create_ah create_ah;
		struct virtio_rdma_cmd_add_gid add_gid;
		struct virtio_rdma_cmd_req_notify req_notify;
		struct virtio_rdma_cmd_alloc_mr alloc_mr;
		struct virtio_rdma_cmd_alloc_mw alloc_mw;
		struct virtio_rdma_cmd_mcast mcast;
		struct virtio_rdma_cmd_create_flow_long create_flow;
		struct virtio_rdma_cmd_create_rx_hash_qp rx_hash;
		struct virtio_rdma_cmd_alloc_doorbell alloc_doorbell;
		struct virtio_rdma_cmd_resize_cq resize_cq;
		struct virtio_rdma_cmd_modify_cq modify_cq;
		struct virtio_rdma_cmd_modify_srq modify_srq;
		struct virtio_rdma_cmd_query_namespace query_namespace;
		struct virtio_rdma_cmd_set_srq_nvmf set_srq_nvmf;
		struct virtio_rdma_cmd_create_nvme_ctrl nvme_ctrl;
		struct virtio_rdma_cmd_map_nsid map_nsid;
		struct virtio_rdma_cmd_unmap_nsid unmap_nsid;
		struct virtio_rdma_cmd_set_qp_nvmf set_qp_nvmf;
		struct {
			struct virtio_rdma_cmd_resize_srq resize_srq;
			__le64 srq_page;
		};
	} u;

	memset(&u, 0, sizeof(u));
	switch (number) {
	case CMD(CREATE_CQ):
		u.create_cq.cqe = htole32(NUM);
		if (len > sizeof(u.create_cq))
			good_cq_long(u.bytes);
		break;
	case CMD(GET_DMA_MR):
		u.get_dma_mr.access_flags = htole32(1);
		break;
	case CMD(REREG_MR_LONG):
		good_list(&u.reg);
		u.rereg_long.page_shift = 13;
		u.rereg_long.levels = 1;
		u.rereg_long.pages[0] = htole64(GUEST_BASE + LIST_AT);
		break;
	case CMD(REG_USER_MR):
	case CMD(REREG_MR):	/* laid out like it */
		if (len > sizeof(u.reg)) {
			good_list(&u.reg);
			u.reg.page_shift = 13;
			u.reg.levels = 1;
			u.reg.pages[0] = htole64(GUEST_BASE + LIST_AT);
			break;
		}
		u.reg.access_flags = htole32(7);
		u.reg.virt_addr = htole64(VA);
		u.reg.length = htole64(8000);
		u.reg.npages = htole32(2);
		u.reg.pages[0] = htole64(GUEST_BASE + DATA_AT);
		u.reg.pages[1] = htole64(GUEST_BASE + DATA_AT + 8192);
		len += 2 * sizeof(u.reg.pages[0]);
		break;
	case CMD(CREATE_QP):
		u.create_qp.qp_type = VIRTIO_IB_QPT_RC;
		u.create_qp.cap = (struct virtio_rdma_qp_cap) {
			htole32(NUM), htole32(NUM), htole32(2), htole32(2), htole32(32), 0,
		};
		if (len > sizeof(u.create_qp))
			good_qp_long(u.bytes, len);
		break;
	case CMD(ALLOC_DOORBELL):
		u.alloc_doorbell.page = htole64(GUEST_BASE + DOORBELL_AT);
		break;
	case CMD(MODIFY_CQ):
		u.modify_cq.count = htole16(2);
		u.modify_cq.period = htole16(10);
		break;
	case CMD(RESIZE_CQ):
		u.resize_cq.cqe = htole32(128);
		u.resize_cq.npages = htole32(1);
		u.resize_cq.control = htole64(GUEST_BASE + CONTROL_AT + 128);
		u.resize_cq.pages[0] = htole64(GUEST_BASE + CQ_AT);
		break;
	case CMD(CREATE_SRQ):
		good_srq(u.bytes, sizeof(struct virtio_rdma_cmd_create_srq));
		break;
	case CMD(CREATE_XRC_SRQ):
		good_srq(u.bytes, sizeof(struct virtio_rdma_cmd_create_xrc_srq));
		break;
	case CMD(RESIZE_SRQ):
		u.resize_srq.depth = htole32(2 * NUM);
		u.resize_srq.npages = htole32(1);
		u.resize_srq.control = htole64(GUEST_BASE + CONTROL_AT + 192);
		u.srq_page = htole64(GUEST_BASE + CQ_AT);
		break;
	case CMD(MODIFY_SRQ):
		u.modify_srq.limit = htole32(NUM / 2);
		break;
	case CMD(MODIFY_QP):
		good_modify(&u.modify_qp);
		break;
	case CMD(CREATE_AH):
		own_gid(u.create_ah.ah_attr.grh.dgid);
		break;
	case CMD(ALLOC_MW):
		u.alloc_mw.type = htole32(VIRTIO_IB_MW_TYPE_1);
		break;
	case CMD(ADD_GID):
		own_gid(u.add_gid.gid);
		break;
	case CMD(REQ_NOTIFY_CQ):
		u.req_notify.flags = htole32(VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
		break;
	case CMD(ALLOC_MR):
		u.alloc_mr.max_pages = htole32(4);
		break;
	case CMD(CREATE_WQ_TABLE):
		u.bytes[0] = 1;
		break;
	case CMD(CREATE_RX_HASH_QP):
		u.rx_hash.function = VIRTIO_RDMA_RX_HASH_XOR;
		u.rx_hash.fields = htole32(VIRTIO_RDMA_RX_HASH_SRC_IPV4 |
					   VIRTIO_RDMA_RX_HASH_SRC_PORT_UDP);
		break;
	case CMD(CREATE_FLOW):
	case CMD(CREATE_FLOW_LONG):	/* begins like it */
		/* For frames of zeroes. */
		u.create_flow.flow.mask.ether_type = 0xffff;
		if (len > sizeof(u.create_flow.flow))
			u.create_flow.tag = htole32(1);
		break;
	case CMD(QUERY_NAMESPACE):
		memcpy(u.query_namespace.name, disk.name, strlen(disk.name));
		break;
	case CMD(SET_SRQ_NVMF):
		u.set_srq_nvmf.ops = htole32(VIRTIO_RDMA_NVMF_WRITE | VIRTIO_RDMA_NVMF_READ |
					     VIRTIO_RDMA_NVMF_FLUSH);
		u.set_srq_nvmf.max_namespaces = htole32(2);
		u.set_srq_nvmf.max_io_size = htole32(8192);
		u.set_srq_nvmf.capsule = htole32(256 / 16);
		u.set_srq_nvmf.queue_depth = htole16(NVME_DEPTH);
		u.set_srq_nvmf.page_shift = 12;
		u.set_srq_nvmf.staging = in_memory(RINGS_AT, 64u << 10);
		break;
	case CMD(CREATE_NVME_CTRL):
		good_nvme_ctrl(&u.nvme_ctrl);
		break;
	case CMD(MAP_NSID):
		u.map_nsid.nsid = htole32(1);
		u.map_nsid.ctrl_nsid = htole32(1);
		u.map_nsid.lba_size = htole32(disk.block);
		break;
	case CMD(UNMAP_NSID):
		u.unmap_nsid.nsid = htole32(1);
		break;
	case CMD(SET_QP_NVMF):
		u.set_qp_nvmf.flags = htole32(VIRTIO_RDMA_QP_NVMF_ENABLE);
		break;
	case CMD(ATTACH_MCAST):
	case CMD(DETACH_MCAST):
		u.mcast.gid[0] = 0xff;
		u.mcast.gid[1] = 0x02;
		break;
	}
	memcpy(to, &u, len);
	return len;
}

/* The numbers in a request that are handles choose one of those that there were. */
static void put_handles(const struct row *row, uint8_t *req)
{
	uint32_t value, back;
	unsigned int i, n;
	enum kind kind;

	for (i = 0; i < ARRAY_SIZE(row->field) && row->field[i].at; i++) {
		kind = row->field[i].kind;
		n = t.handles[kind] < HANDLES ? t.handles[kind] : HANDLES;
		if (!n)
			continue;
		memcpy(&value, req + row->field[i].at - 1, sizeof(value));
		/* 0 is the newest. */
		back = le32toh(value) % n;
		value = htole32(t.handle[kind][(t.handles[kind] - 1 - back) % HANDLES]);
		memcpy(req + row->field[i].at - 1, &value, sizeof(value));
	}
}

/* Note the objects that the device has made. */
static void learn(const struct row *row, const uint8_t *req)
{
	uint32_t handle, number;

	memcpy(&number, req, sizeof(number));
	number = le32toh(number);
	if (row->makes != KINDS) {
		memcpy(&handle, ptr(RSP_AT + 1), sizeof(handle));
		handle = le32toh(handle);
		t.handle[row->makes][t.handles[row->makes]++ % HANDLES] = handle;
		if (row->makes == MR)
			memcpy(&t.key, ptr(RSP_AT + 1 + offsetof(struct virtio_rdma_ack_mr,
								 lkey)),
			       sizeof(t.key));
		if (row->makes == QP) {
			need(handle < QPS_ALL);
			t.type[handle] = req[offsetof(struct virtio_rdma_cmd_create_qp,
						      qp_type)];
			t.state[handle] = VIRTIO_IB_QPS_RESET;
		}
	} else if (row->number == CMD(MODIFY_QP)) {
		need(number < QPS_ALL);
		t.state[number] = req[offsetof(struct virtio_rdma_cmd_modify_qp,
					       qp_state)];
	}
}

static unsigned int split(struct guest_buf *buf, uint32_t at, uint32_t len, bool write,
			  uint32_t piece)
{
	unsigned int n = 0;
	uint32_t part;

	while (len) {
		part = len < piece || n == 5 ? len : piece;
		buf[n++] = (struct guest_buf){ GUEST_BASE + at, part, write };
		at += part;
		len -= part;
	}
	return n;
}

/* By way of a table of descriptors elsewhere in memory. */
static void add_indirect(struct guest_vq *gvq, const struct guest_buf *buf,
			 unsigned int n)
{
	struct vring_desc *desc = ptr(TABLE_AT);
	unsigned int i;
	uint16_t head = gvq->next_desc;

	for (i = 0; i < n; i++)
		desc[i] = (struct vring_desc) {
			.addr = buf[i].addr,
			.len = buf[i].len,
			.flags = (buf[i].write ? VRING_DESC_F_WRITE : 0) |
				 (i + 1 < n ? VRING_DESC_F_NEXT : 0),
			.next = i + 1,
		};
	gvq->desc[head] = (struct vring_desc) {
		.addr = GUEST_BASE + TABLE_AT,
		.len = n * sizeof(*desc),
		.flags = VRING_DESC_F_INDIRECT,
	};
	gvq->next_desc = (head + 1) % NUM;
	guest_vq_add_head(gvq, head);
}

/* Rounds in which each command has its answer. */
#define ROUNDS_MAX	100000u

/**
 * submit() - put a command on the control queue
 * @class:	its class
 * @number:	its number
 * @len:	bytes of the request, which stands at REQ_AT + 2
 * @room:	bytes for ack and response
 * @how:	how
 *
 * Return: bytes of the answer, -1 if there is none because there could be none.
 */
static int submit(uint8_t class, uint8_t number, size_t len, size_t room, uint8_t how)
{
	struct guest_vq *gvq = &t.gvq[t.first - 1];
	uint32_t piece = how & HOW_PIECES ? PIECE : UINT32_MAX, head, used;
	uint8_t *header = ptr(REQ_AT);
	struct guest_buf buf[16];
	bool answered = false;
	unsigned int n, i;

	if (!t.vq[t.first - 1].ready)
		return -1;
	header[0] = class;
	header[1] = number;
	memset(ptr(RSP_AT), 0x5a, RSP_MAX);
	n = split(buf, REQ_AT, len + 2, false, piece);
	n += split(buf + n, RSP_AT, room, true, piece);
	if (how & HOW_INDIRECT)
		add_indirect(gvq, buf, n);
	else
		guest_vq_add(gvq, buf, n);
	/* A command waits until what was there before a reset is freed, bit by bit. */
	for (i = 0; i < ROUNDS_MAX && !(answered = guest_vq_get(gvq, &head, &used)) &&
		    !t.spoilt; i++)
		poll_function();
	if (t.spoilt)
		return -1;
	need(answered);
	need(!guest_vq_get(gvq, &head, &used));
	need(used <= room);
	return used;
}

static void op_command(struct fuzz_input *in, uint8_t which, uint8_t how)
{
	const struct row *row = &rows[which % ARRAY_SIZE(rows)];
	uint8_t class = VIRTIO_NET_CTRL_ROCE, number = row->number;
	uint8_t *req = (uint8_t *)ptr(REQ_AT) + 2, ack;
	uint8_t copy[REQ_MAX];
	size_t len = row->req, room = 1 + row->rsp;
	bool known = !(how & HOW_NUMBER);
	int used;

	memset(req, 0, REQ_MAX - 2);
	if (how & HOW_NUMBER) {
		class = fuzz_u8(in);
		number = fuzz_u8(in);
	}
	if (!(how & HOW_RAW))
		len = good(row->number, len, req);
	if (how & HOW_LENGTH)
		len = (len + (int8_t)fuzz_u8(in)) % (REQ_MAX - 2);
	if (how & HOW_ROOM)
		room = (room + (int8_t)fuzz_u8(in)) % RSP_MAX;
	fuzz_patch(in, req, len);
	if (!(how & HOW_HANDLES) && len >= row->req)
		put_handles(row, req);
	memcpy(copy, req, REQ_MAX - 2);
	used = submit(class, number, len, room, how);
	if (used <= 0)
		return;
	ack = *(uint8_t *)ptr(RSP_AT);
	need(ack == VIRTIO_NET_OK || ack == VIRTIO_NET_ERR);
	need(used == 1 || ack == VIRTIO_NET_OK);
	if (!known || ack != VIRTIO_NET_OK)
		return;
	need(used == 1 + row->rsp);
	learn(row, copy);
}

/* A command as a good driver has it, in the form that has @len bytes, or in the first. */
static void say_long(uint8_t number, size_t len)
{
	struct fuzz_input none = { NULL, 0 };
	unsigned int i;

	for (i = 0; rows[i].number != number || (len && rows[i].req != len); i++)
		;
	op_command(&none, i, 0);
}

static void say(uint8_t number)
{
	say_long(number, 0);
}

/* ------------------------------------------------------------------------- */
/* Other operations                                                          */
/* ------------------------------------------------------------------------- */

static void put_slot(unsigned int queue, const void *slot, uint32_t len, bool write)
{
	struct guest_vq *gvq = &t.gvq[queue];
	uint32_t at = SLOTS_AT + (queue * NUM + gvq->next_desc) % 240 * SLOT_SIZE;
	struct guest_buf buf = { GUEST_BASE + at, len, write };

	if (!t.vq[queue].ready)
		return;
	if (slot)
		memcpy(ptr(at), slot, len);
	guest_vq_add(gvq, &buf, 1);
	function_device_ops.kick(t.fn, &t.vq[queue]);
}

static void fill_cq(uint32_t cqn)
{
	unsigned int i;

	for (i = 0; i < NUM; i++)
		put_slot(t.first + cqn % CQS, NULL,
			 sizeof(struct virtio_rdma_cq_req), true);
}

/* The same in direct form, announced by any bit. */
static void op_post_direct(struct fuzz_input *in)
{
	struct virtio_rdma_doorbell_page *page = ptr(DOORBELL_AT);
	struct virtio_rdma_qp_control *control = ptr(CONTROL_AT + 64);
	struct virtio_rdma_swqe *send = ptr(SEND_AT + control->send_producer % NUM * 64);
	struct virtio_rdma_rwqe *recv = ptr(RECV_AT + control->recv_producer % NUM * 64);
	struct virtio_rdma_srq_control *shared = ptr(CONTROL_AT + 192);
	const unsigned int doorbell = t.queues - 1;
	struct virtio_rdma_xrc *xrc;

	send->opcode = VIRTIO_IB_WR_SEND;
	send->send_flags = VIRTIO_IB_SEND_SIGNALED;
	send->num_sge = htole16(1);
	send->sg_list[0] = (struct virtio_rdma_sge) {
		htole64(VA + 100), htole32(100), t.key,
	};
	recv->num_sge = htole32(1);
	recv->sg_list[0] = send->sg_list[0];
	memcpy(ptr(SRQ_AT + shared->producer % NUM * 64), recv, 64);
	if (t.type[newest(QP) % QPS_ALL] == VIRTIO_IB_QPT_XRC_INI) {
		xrc = (void *)((uint8_t *)send + VIRTIO_RDMA_XRC_OFFSET);
		xrc->srqn = htole32(newest(SRQ));
		xrc->sg_list[0] = recv->sg_list[0];
	}
	fuzz_patch(in, send, 64);
	control->send_producer++;
	control->recv_producer++;
	shared->producer++;
	memset(page->pending, 0xff, 8);
	memset(page->words, 0xff, 8);
	page->ring_me = 0;
	if (t.vq[doorbell].ready)
		function_device_ops.kick(t.fn, &t.vq[doorbell]);
}

/* A request for each queue of the newest QP; patch of the one to send */
static void op_post(struct fuzz_input *in)
{
	uint32_t qpn = newest(QP) % QPS, queue = t.first + CQS + 2 * qpn;
	const struct virtio_rdma_sge sge = {
		htole64(VA + 100), htole32(100), t.key,
	};
	union {
		struct virtio_rdma_sq_req req;
		uint8_t bytes[sizeof(struct virtio_rdma_sq_req) + 32];
	} send = {
		.req = {
			.opcode = VIRTIO_IB_WR_SEND,
			.send_flags = VIRTIO_IB_SEND_SIGNALED,
			.rdma = { htole64(VA + 300), t.key },
			.num_sge = htole32(1),
		},
	};
	union {
		struct virtio_rdma_rq_req req;
		uint8_t bytes[sizeof(struct virtio_rdma_rq_req) + 32];
	} recv = { .req = { .num_sge = htole32(1) } };

	if (newest(QP) >= QPS) {
		op_post_direct(in);
		return;
	}
	memcpy(send.bytes + sizeof(send.req), &sge, sizeof(sge));
	memcpy(recv.bytes + sizeof(recv.req), &sge, sizeof(sge));
	if (t.type[qpn] == VIRTIO_IB_QPT_UD) {
		send.req.ud.remote_qpn = htole32(qpn);
		send.req.ud.remote_qkey = htole32(1);
		send.req.ud.ah = htole32(newest(AH));
	}
	fuzz_patch(in, &send, sizeof(send));
	fill_cq(newest(CQ));
	put_slot(queue + 1, &recv, sizeof(recv), false);
	put_slot(queue, &send, sizeof(send), false);
}

/* which queue, where, patch of its three rings */
static void op_ring(struct fuzz_input *in)
{
	unsigned int queue = fuzz_u8(in) % t.queues;
	uint32_t at = fuzz_u16(in) % RING_SIZE;

	if (queue == t.first - 1)
		t.spoilt = true;
	fuzz_patch(in, ptr(RINGS_AT + queue * RING_SIZE + at), RING_SIZE - at);
	if (t.vq[queue].ready)
		function_device_ops.kick(t.fn, &t.vq[queue]);
	poll_function();
}

/* which queue: it is taken away, or comes back */
static void op_queue(struct fuzz_input *in)
{
	unsigned int queue = fuzz_u8(in) % t.queues;

	if (t.vq[queue].ready)
		queue_stop(queue);
	else
		queue_start(queue);
}

static uint8_t *put16(uint8_t *p, uint16_t value)
{
	p[0] = value;
	p[1] = value >> 8;
	return p + 2;
}

/* A good request of class VIRTIO_NET_CTRL_MQ; returns its length. */
static size_t good_pairs(uint8_t number, unsigned int log_size, uint8_t *req)
{
	uint8_t *p = req;
	unsigned int i, n = 1u << log_size;

	if (number == VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET)
		return put16(p, PAIRS) - req;
	p = put16(put16(p, MQ_TYPES), 0);
	if (number == VIRTIO_NET_CTRL_MQ_HASH_CONFIG) {
		for (i = 0; i < 4; i++)
			p = put16(p, 0);
	} else {
		p = put16(put16(p, n - 1), PAIRS - 1);
		for (i = 0; i < n; i++)
			p = put16(p, i % PAIRS);
		p = put16(p, PAIRS);
	}
	*p++ = RX_HASH_KEY;
	return p + RX_HASH_KEY - req;
}

/* Whatever was asked for, only what a function has can be chosen. */
static void check_pairs(void)
{
	const struct mq_settings *set = &t.fn->mq.set;
	unsigned int i;

	need(set->pairs && set->pairs <= PAIRS && set->unclassified < PAIRS);
	need(set->entries <= MQ_TABLE_MAX && !(set->entries & (set->entries - 1u)));
	need(set->entries || !set->rss);
	for (i = 0; i < set->entries; i++)
		need(set->table[i] < PAIRS);
	need(!(set->types & ~MQ_TYPES));
}

/* how: which command, log2 of a table; the length differs by a signed byte; patch */
static void op_pairs(struct fuzz_input *in, uint8_t how)
{
	const bool known = t.first > FUNCTION_QUEUES;
	uint8_t *req = (uint8_t *)ptr(REQ_AT) + 2, number = how % 3, ack;
	int8_t differs = fuzz_u8(in);
	size_t len;

	memset(req, 0, REQ_MAX - 2);
	len = good_pairs(number, (how >> 2) % 8, req);
	/* A patch of each byte would be a long input. */
	fuzz_patch(in, req + (how & 128 && len > 16 ? len - 16 : 0), 16);
	if (submit(VIRTIO_NET_CTRL_MQ, number, (len + differs) % 512, 1, 0) <= 0)
		return;
	ack = *(uint8_t *)ptr(RSP_AT);
	need(ack == VIRTIO_NET_ERR || (ack == VIRTIO_NET_OK && known));
	check_pairs();
}

/* One as a good driver has it is taken. */
static void say_pairs(uint8_t number)
{
	const size_t len = good_pairs(number, 7, (uint8_t *)ptr(REQ_AT) + 2);

	need(submit(VIRTIO_NET_CTRL_MQ, number, len, 1, 0) == 1);
	need(*(uint8_t *)ptr(RSP_AT) == VIRTIO_NET_OK);
	check_pairs();
}

/* A frame of IPv4 and UDP, sent by a pair and received; how: which; patch */
static void op_frame(struct fuzz_input *in, uint8_t how)
{
	uint8_t head[SLOT_SIZE] = {}, *bytes = head + t.fn->hdr_len;
	struct iovec iov = { .iov_base = bytes };
	const unsigned int pair = how % ((t.first - 1) / 2);
	struct frame frame;
	unsigned int i;

	memcpy(bytes, "\2\0\0\0\0\1\2\0\0\0\0\2\x8\0\x45", 15);
	bytes[14 + 9] = 17;
	fuzz_patch(in, bytes, 64);
	iov.iov_len = 14 + (how >> 2);
	put_slot(2 * pair + 1, head, t.fn->hdr_len + iov.iov_len, false);
	for (i = 0; i < (t.first - 1) / 2; i++)
		put_slot(2 * i, NULL, SLOT_SIZE, true);
	poll_function();
	if (frame_init(&frame, &iov, 1, 0, iov.iov_len))
		return;
	t.fn->port.deliver(t.fn->port.arg, &frame);
	t.fn->port.flush(t.fn->port.arg);
}

/* how: memory gets less, or is all there again; the rings always are */
static void op_memory(uint8_t how)
{
	t.mem = t.guest.mem;
	if (how & 1)
		t.mem.region[0].size = DATA_AT + 4096 * (how >> 5);
	function_device_ops.mem_changed(t.fn, &t.mem);
	poll_function();
}

static void begin(uint8_t how)
{
	static const uint8_t commands[] = {
		CMD(QUERY_DEVICE), CMD(ADD_GID), CMD(CREATE_PD), CMD(CREATE_CQ),
		CMD(REG_USER_MR), CMD(CREATE_AH), CMD(CREATE_QP), CMD(MODIFY_QP),
		CMD(MODIFY_QP), CMD(MODIFY_QP),
	};
	unsigned int i;

	function_up(how);
	if (!(how & BEGIN_OBJECTS) || how & BEGIN_PLAIN)
		return;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		say(commands[i]);
	need(t.handles[QP] == 1 && t.handles[MR] == 1 && t.handles[AH] == 1);
	need(t.state[newest(QP)] == VIRTIO_IB_QPS_RTS);
}

static void operation(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in) % OPS, how = fuzz_u8(in);

	switch (what) {
	case OP_POST:
		op_post(in);
		if (!(how & 1))
			poll_function();
		break;
	case OP_RING:
		op_ring(in);
		break;
	case OP_POLL:
		poll_function();
		break;
	case OP_QUEUE:
		op_queue(in);
		break;
	case OP_MEMORY:
		op_memory(how);
		break;
	case OP_RESET:
		function_down();
		begin(how);
		break;
	case OP_PAIRS:
		op_pairs(in, how);
		break;
	case OP_FRAME:
		op_frame(in, how);
		break;
	default:
		op_command(in, what, how);
	}
}

/* After a reset nothing is left of what there was. */
static void check_all_free(void)
{
	unsigned int i;

	function_up(0);
	for (i = 0; i < PDS; i++)
		say(CMD(CREATE_PD));
	for (i = 0; i < CQS; i++)
		say(CMD(CREATE_CQ));
	for (i = 0; i < MRS; i++)
		say_long(CMD(REG_USER_MR), i % 2 ? REQ(reg_user_mr) + 8 : 0);
	for (i = 0; i < AHS; i++)
		say(CMD(CREATE_AH));
	need(t.handles[PD] == PDS && t.handles[CQ] == CQS && t.handles[MR] == MRS &&
	     t.handles[AH] == AHS);
	say(CMD(ALLOC_DOORBELL));
	for (i = 0; i < DIRECT_CQS; i++)
		say_long(CMD(CREATE_CQ), REQ(create_cq_long) + 8);
	need(t.handles[DB] == 1 && t.handles[CQ] == CQS + DIRECT_CQS);
	say_long(CMD(CREATE_QP), QP_OWN);
	need(t.handles[QP] == 1 && newest(QP) >= QPS);
	say(CMD(QUERY_QP_COUNTERS));
	say(CMD(QUERY_CLOCK));
	say(CMD(CREATE_SRQ));
	say_long(CMD(CREATE_QP), QP_SHARED);
	need(t.handles[SRQ] == 1 && t.handles[QP] == 2);
	/* The offload needs a region of all memory, in the place of one that there is. */
	say(CMD(DEREG_MR));
	say(CMD(GET_DMA_MR));
	say(CMD(SET_SRQ_NVMF));
	say(CMD(CREATE_NVME_CTRL));
	say(CMD(MAP_NSID));
	say(CMD(CREATE_NVME_CTRL));
	say(CMD(SET_QP_NVMF));
	need(t.handles[NVME] == 2);
	say(CMD(CREATE_XRCD));
	say(CMD(CREATE_XRC_SRQ));
	say_long(CMD(CREATE_QP), QP_LONG);
	need(t.handles[XRCD] == 1 && t.handles[SRQ] == 2 && t.handles[QP] == 3);
	say(CMD(DESTROY_QP));
	say_long(CMD(CREATE_QP), QP_RAW);
	say(CMD(CREATE_FLOW));
	say(CMD(CREATE_FLOW_LONG));
	say(CMD(QUERY_FLOW));
	need(t.handles[QP] == 4 && t.handles[FLOW] == 2);
	say_long(CMD(CREATE_QP), QP_WQ);
	say(CMD(CREATE_WQ_TABLE));
	need(t.handles[QP] == 5 && t.handles[TABLE] == 1);
	say(CMD(CREATE_RX_HASH_QP));
	say(CMD(CREATE_FLOW));
	need(t.handles[QP] == 6 && t.handles[FLOW] == 3);
	function_down();
	function_up(BEGIN_PAIRS);
	say_pairs(VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET);
	say_pairs(VIRTIO_NET_CTRL_MQ_RSS_CONFIG);
	need(t.fn->mq.set.rss);
	say_pairs(VIRTIO_NET_CTRL_MQ_HASH_CONFIG);
	function_down();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	static unsigned int inputs;

	if (!t.fn)
		target_init();
	memset(t.guest.host, 0, MEM_SIZE);
	begin(fuzz_u8(&in));
	while (in.size)
		operation(&in);
	function_down();
	if (++inputs % 16 == 0)
		check_all_free();
	return 0;
}
