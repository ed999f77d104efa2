// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mischief: what an unprivileged process can ask of an RDMA device, at random.
 *
 *	mischief -d DEVICE [-n CALLS] [-t SECONDS [-m CALLS]] [-s SEED] [-p PROCESSES] [-f]
 *
 * Processes of user nobody make objects of all kinds through the library, and beside it
 * send commands by write() and ioctl() with handles that are right, stale or made up,
 * map the device file at random offsets, write garbage into what they got, fork, and
 * are killed.  With -f, every second one may send and take whole frames (CAP_NET_RAW).  It
 * ends after CALLS calls, or after SECONDS if there were the CALLS of -m by then, with one
 * line of figures and status 0; with 1 and one line if it cannot do its work.  The kernel's
 * log tells the rest.
 *
 * The acts of a process follow from the seed and its number.  It may damage itself: the
 * parent starts the next one then.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY		65534
/* VIRTIO_ROCE_DRIVER_ID of uapi/virtio_roce-abi.h */
#define DRIVER_ID	0x1af4
#define OBJECTS		24
#define MAPS		16
#define SCRATCH		(1 << 16)
#define PAGE		4096
#define PROCESSES_MAX	16
/* Processes that have it open share an XRC domain. */
#define XRCD_FILE	"/tmp/mischief.xrcd"
/* A process has so many calls at most before the next one takes its place. */
#define LIFE		3000

enum kind {
	CALL_VERB,
	CALL_WRITE,
	CALL_IOCTL,
	CALL_MAP,
	CALL_GARBAGE,
	CALL_EVENT,
	CALL_FORK,
	CALL_KINDS,
};

static const char * const kind_names[CALL_KINDS] = {
	"verbs", "writes", "ioctls", "maps", "garbage", "events", "forks",
};

/* Shared by all processes. */
struct tally {
	uint64_t calls;
	uint64_t limit;
	uint64_t kinds[CALL_KINDS];
	uint64_t good[CALL_KINDS];
	uint64_t xrc;
	uint64_t frames;
	bool stop;
};

static struct tally *tally;

/* One process. */
static struct {
	uint64_t random;
	struct ibv_context *ctx;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd[OBJECTS];
	struct ibv_cq *cq[OBJECTS];
	struct ibv_qp *qp[OBJECTS];
	struct ibv_mr *mr[OBJECTS];
	struct ibv_ah *ah[OBJECTS];
	struct ibv_mw *mw[OBJECTS];
	struct ibv_srq *srq[OBJECTS];
	struct ibv_xrcd *xrcd[OBJECTS];
	struct ibv_wq *wq[OBJECTS];
	struct ibv_rwq_ind_table *table[OBJECTS];
	struct ibv_counters *counters[OBJECTS];
	struct ibv_flow *flow[OBJECTS];
	union ibv_gid gid;
	int file;
	struct {
		uint8_t *mem;
		size_t len;
		bool writable;
	} map[MAPS];
	uint8_t *scratch;
} me;

/* xorshift64* */
static uint64_t roll(void)
{
	me.random ^= me.random >> 12;
	me.random ^= me.random << 25;
	me.random ^= me.random >> 27;
	return me.random * 0x2545f4914f6cdd1d;
}

static uint32_t below(uint32_t n)
{
	return (roll() >> 33) % n;
}

/* Mostly small, at times anything. */
static uint64_t number(void)
{
	switch (below(8)) {
	case 0:
		return roll();
	case 1:
		return (uint32_t)-1 - below(2);
	case 2:
		return 1ull << below(64);
	default:
		return below(64);
	}
}

static uint64_t pointer(void)
{
	return below(12) ? (uintptr_t)me.scratch + below(SCRATCH / 2) : number();
}

static void noise(void *p, size_t len)
{
	uint8_t *to = p;

	while (len--)
		*to++ = below(3) ? 0 : roll();
}

/* ----- the library ----- */

static bool make_pd(uint32_t i)
{
	if (me.pd[i])
		return false;
	me.pd[i] = ibv_alloc_pd(me.ctx);
	return me.pd[i];
}

static bool make_cq(uint32_t i)
{
	if (me.cq[i])
		return false;
	me.cq[i] = ibv_create_cq(me.ctx, below(8) ? 1 + below(256) : number(), NULL,
				 below(2) ? me.channel : NULL, below(4));
	return me.cq[i];
}

static bool make_qp(uint32_t i)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = me.cq[below(OBJECTS)],
		.recv_cq = me.cq[below(OBJECTS)],
		.cap = {
			.max_send_wr = below(8) ? 1 + below(128) : number(),
			.max_recv_wr = below(8) ? 1 + below(128) : number(),
			.max_send_sge = below(8) ? 1 + below(8) : number(),
			.max_recv_sge = below(8) ? 1 + below(8) : number(),
			.max_inline_data = below(8) ? below(64) : number(),
		},
		.qp_type = below(8) ? IBV_QPT_RC + below(3) : number(),
		.sq_sig_all = below(2),
		.srq = below(4) ? NULL : me.srq[below(OBJECTS)],
	};
	struct ibv_pd *pd = me.pd[below(OBJECTS)];

	if (me.qp[i] || !pd || !attr.send_cq || !attr.recv_cq)
		return false;
	me.qp[i] = ibv_create_qp(pd, &attr);
	return me.qp[i];
}

static bool make_mr(uint32_t i)
{
	struct ibv_pd *pd = me.pd[below(OBJECTS)];

	if (me.mr[i] || !pd)
		return false;
	me.mr[i] = ibv_reg_mr(pd, me.scratch + below(SCRATCH / 2),
			      below(8) ? 1 + below(SCRATCH / 2) : number(),
			      below(8) ? below(16) : number());
	return me.mr[i];
}

static bool make_ah(uint32_t i)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = below(8) ? 1 : number(),
		.grh = { .dgid = me.gid, .hop_limit = 64,
			 .sgid_index = below(4) ? 0 : number() },
	};
	struct ibv_pd *pd = me.pd[below(OBJECTS)];

	if (me.ah[i] || !pd)
		return false;
	me.ah[i] = ibv_create_ah(pd, &attr);
	return me.ah[i];
}

static bool make_mw(uint32_t i)
{
	struct ibv_pd *pd = me.pd[below(OBJECTS)];

	if (me.mw[i] || !pd)
		return false;
	me.mw[i] = ibv_alloc_mw(pd, below(8) ? IBV_MW_TYPE_1 + below(2) : number());
	return me.mw[i];
}

static bool make_srq(uint32_t i)
{
	struct ibv_srq_init_attr attr = {
		.attr = {
			.max_wr = below(8) ? 1 + below(256) : number(),
			.max_sge = below(8) ? 1 + below(4) : number(),
			.srq_limit = below(8) ? 0 : number(),
		},
	};
	struct ibv_pd *pd = me.pd[below(OBJECTS)];

	if (me.srq[i] || !pd)
		return false;
	me.srq[i] = ibv_create_srq(pd, &attr);
	return me.srq[i];
}

/* Of its own, or that of all who have the file open. */
static bool make_xrcd(uint32_t i)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = below(2) ? me.file : below(8) ? -1 : (int)number(),
		.oflags = below(8) ? O_CREAT : number(),
	};

	if (me.xrcd[i])
		return false;
	me.xrcd[i] = ibv_open_xrcd(me.ctx, &attr);
	return me.xrcd[i];
}

static bool make_xrc_srq(uint32_t i)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = below(8) ? 1 + below(256) : number(), .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = me.pd[below(OBJECTS)],
		.xrcd = me.xrcd[below(OBJECTS)],
		.cq = me.cq[below(OBJECTS)],
	};

	if (me.srq[i] || !attr.pd || !attr.xrcd || !attr.cq)
		return false;
	me.srq[i] = ibv_create_srq_ex(me.ctx, &attr);
	tally->xrc += !!me.srq[i];
	return me.srq[i];
}

static bool make_xrc_send(uint32_t i)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = me.cq[below(OBJECTS)],
		.cap = { .max_send_wr = 1 + below(128), .max_send_sge = 1 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = me.pd[below(OBJECTS)],
	};

	if (me.qp[i] || !attr.pd || !attr.send_cq)
		return false;
	me.qp[i] = ibv_create_qp_ex(me.ctx, &attr);
	tally->xrc += !!me.qp[i];
	return me.qp[i];
}

/* One of its own, or what another one, which may be gone, has in the same domain. */
static bool make_xrc_recv(uint32_t i)
{
	struct ibv_qp *other = me.qp[below(OBJECTS)];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = me.xrcd[below(OBJECTS)],
	};
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = other ? other->qp_num : number(),
		.xrcd = attr.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	if (me.qp[i] || !attr.xrcd)
		return false;
	me.qp[i] = below(3) ? ibv_create_qp_ex(me.ctx, &attr) : ibv_open_qp(me.ctx, &open);
	tally->xrc += !!me.qp[i];
	return me.qp[i];
}

/* ----- whole frames ----- */

/* As plain ones, or with the times of completions. */
static bool make_cq_ex(uint32_t i)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = below(8) ? 1 + below(256) : number(),
		.channel = below(2) ? me.channel : NULL,
		.wc_flags = below(8) ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : number(),
	};
	struct ibv_cq_ex *cq;

	if (me.cq[i])
		return false;
	cq = ibv_create_cq_ex(me.ctx, &attr);
	me.cq[i] = cq ? ibv_cq_ex_to_cq(cq) : NULL;
	return cq;
}

static bool ask_clock(uint32_t i)
{
	struct ibv_values_ex values = { .comp_mask = i % 4 ? IBV_VALUES_MASK_RAW_CLOCK : number() };

	return !ibv_query_rt_values_ex(me.ctx, &values);
}

static bool make_raw(uint32_t i)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = me.cq[below(OBJECTS)],
		.recv_cq = me.cq[below(OBJECTS)],
		.cap = {
			.max_send_wr = 1 + below(128),
			.max_recv_wr = 1 + below(128),
			.max_send_sge = below(8) ? 1 + below(8) : number(),
			.max_recv_sge = 1 + below(4),
		},
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_pd *pd = me.pd[below(OBJECTS)];

	if (me.qp[i] || !pd || !attr.send_cq || !attr.recv_cq)
		return false;
	me.qp[i] = ibv_create_qp(pd, &attr);
	tally->frames += !!me.qp[i];
	return me.qp[i];
}

static bool make_wq(uint32_t i)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = below(8) ? 1 + below(128) : number(),
		.max_sge = below(8) ? 1 + below(4) : number(),
		.pd = me.pd[below(OBJECTS)],
		.cq = me.cq[below(OBJECTS)],
		.comp_mask = below(4) ? 0 : IBV_WQ_INIT_ATTR_FLAGS,
		.create_flags = below(8) ? IBV_WQ_FLAGS_CVLAN_STRIPPING : number(),
	};

	if (me.wq[i] || !attr.pd || !attr.cq)
		return false;
	me.wq[i] = ibv_create_wq(me.ctx, &attr);
	tally->frames += !!me.wq[i];
	return me.wq[i];
}

static bool change_wq(uint32_t i)
{
	struct ibv_wq_attr attr = {
		.attr_mask = below(8) ? IBV_WQ_ATTR_STATE : number(),
		.wq_state = below(2) ? IBV_WQS_RDY : below(4),
	};

	return me.wq[i] && !ibv_modify_wq(me.wq[i], &attr);
}

/* A receive request that may be wrong. */
static void make_recv(struct ibv_recv_wr *wr, struct ibv_sge *sge)
{
	struct ibv_mr *mr = me.mr[below(OBJECTS)];

	*sge = (struct ibv_sge) {
		.addr = pointer(),
		.length = below(4) ? below(4096) : number(),
		.lkey = mr ? mr->lkey : number(),
	};
	*wr = (struct ibv_recv_wr) {
		.wr_id = roll(), .sg_list = sge, .num_sge = below(2),
	};
}

static bool post_wq(uint32_t i)
{
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;

	make_recv(&wr, &sge);
	return me.wq[i] && !ibv_post_wq_recv(me.wq[i], &wr, &bad);
}

static bool make_table(uint32_t i)
{
	struct ibv_wq *wqs[8];
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = below(4),
		.ind_tbl = wqs,
	};
	unsigned int n;

	if (me.table[i])
		return false;
	for (n = 0; n < 8; n++) {
		wqs[n] = me.wq[below(OBJECTS)];
		if (!wqs[n])
			return false;
	}
	me.table[i] = ibv_create_rwq_ind_table(me.ctx, &attr);
	tally->frames += !!me.table[i];
	return me.table[i];
}

static bool make_hash(uint32_t i)
{
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = me.pd[below(OBJECTS)],
		.rwq_ind_tbl = me.table[below(OBJECTS)],
		.rx_hash_conf = {
			.rx_hash_function = below(8) ? IBV_RX_HASH_FUNC_TOEPLITZ : number(),
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			.rx_hash_fields_mask = below(8) ? below(4) : number(),
		},
	};

	if (me.qp[i] || !attr.pd || !attr.rwq_ind_tbl)
		return false;
	me.qp[i] = ibv_create_qp_ex(me.ctx, &attr);
	tally->frames += !!me.qp[i];
	return me.qp[i];
}

static bool make_counters(uint32_t i)
{
	struct ibv_counters_init_attr attr = {};

	if (me.counters[i])
		return false;
	me.counters[i] = ibv_create_counters(me.ctx, &attr);
	return me.counters[i];
}

static bool use_counters(uint32_t i)
{
	struct ibv_counter_attach_attr attr = {
		.counter_desc = below(8) ? below(2) : number(),
		.index = below(8) ? below(4) : number(),
	};
	uint64_t values[4];

	if (!me.counters[i])
		return false;
	return below(2) ? !ibv_read_counters(me.counters[i], values, below(5), 0) :
			  !ibv_attach_counters_point_flow(me.counters[i], &attr, NULL);
}

/* To addresses that nobody else has: the interface goes on to hear its own frames. */
static bool make_flow(uint32_t i)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_counter_action count;
	} rule = {
		.attr = {
			.type = IBV_FLOW_ATTR_NORMAL,
			.size = sizeof(rule),
			.priority = below(8) ? below(4) : number(),
			.num_of_specs = 2,
			.port = 1,
			.flags = below(8) ? 0 : IBV_FLOW_ATTR_FLAGS_DONT_TRAP,
		},
		.eth = {
			.type = IBV_FLOW_SPEC_ETH,
			.size = sizeof(rule.eth),
			.val = { .dst_mac = { 2, 0x6d, 0x69, 0x73, 0, below(8) } },
			.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 } },
		},
		.count = {
			.type = IBV_FLOW_SPEC_ACTION_COUNT,
			.size = sizeof(rule.count),
			.counters = me.counters[below(OBJECTS)],
		},
	};
	struct ibv_qp *qp = me.qp[below(OBJECTS)];

	if (me.flow[i] || !qp)
		return false;
	if (!rule.count.counters) {
		rule.attr.num_of_specs = 1;
		rule.attr.size -= sizeof(rule.count);
	}
	me.flow[i] = ibv_create_flow(qp, &rule.attr);
	tally->frames += !!me.flow[i];
	return me.flow[i];
}

/* Such a frame, of a request that may be wrong otherwise. */
static bool post_frame(uint32_t i)
{
	struct ibv_mr *mr = me.mr[below(OBJECTS)];
	struct ibv_sge sge = {
		.addr = mr ? (uintptr_t)mr->addr : pointer(),
		.length = below(4) ? 60 + below(1000) : number(),
		.lkey = mr ? mr->lkey : number(),
	};
	struct ibv_send_wr wr = {
		.wr_id = roll(), .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = below(2) ? IBV_SEND_SIGNALED : IBV_SEND_IP_CSUM,
	}, *bad;
	const uint8_t head[] = {
		2, 0x6d, 0x69, 0x73, 0, below(8), 2, 0x6d, 0x69, 0x73, 1, 0, 8, 0, 0x45,
	};

	if (!me.qp[i] || me.qp[i]->qp_type != IBV_QPT_RAW_PACKET)
		return false;
	if (mr && mr->length >= sizeof(head))
		memcpy(mr->addr, head, sizeof(head));
	return !ibv_post_send(me.qp[i], &wr, &bad);
}

#define DROP(object, destroy) do {				\
	if (!(object) || destroy(object))			\
		return false;					\
	(object) = NULL;					\
	return true;						\
} while (0)

static bool drop_pd(uint32_t i)
{
	DROP(me.pd[i], ibv_dealloc_pd);
}

static bool drop_cq(uint32_t i)
{
	DROP(me.cq[i], ibv_destroy_cq);
}

static bool drop_qp(uint32_t i)
{
	DROP(me.qp[i], ibv_destroy_qp);
}

static bool drop_mr(uint32_t i)
{
	DROP(me.mr[i], ibv_dereg_mr);
}

static bool drop_ah(uint32_t i)
{
	DROP(me.ah[i], ibv_destroy_ah);
}

static bool drop_mw(uint32_t i)
{
	DROP(me.mw[i], ibv_dealloc_mw);
}

static bool drop_srq(uint32_t i)
{
	DROP(me.srq[i], ibv_destroy_srq);
}

static bool drop_xrcd(uint32_t i)
{
	DROP(me.xrcd[i], ibv_close_xrcd);
}

static bool drop_wq(uint32_t i)
{
	DROP(me.wq[i], ibv_destroy_wq);
}

static bool drop_table(uint32_t i)
{
	DROP(me.table[i], ibv_destroy_rwq_ind_table);
}

static bool drop_counters(uint32_t i)
{
	DROP(me.counters[i], ibv_destroy_counters);
}

static bool drop_flow(uint32_t i)
{
	DROP(me.flow[i], ibv_destroy_flow);
}

static bool change_mr(uint32_t i)
{
	struct ibv_mr *mr = me.mr[i];

	return mr && !ibv_rereg_mr(mr, below(8) ? 1 + below(7) : number(),
				   me.pd[below(OBJECTS)],
				   me.scratch + below(SCRATCH / 2),
				   below(8) ? 1 + below(SCRATCH / 2) : number(),
				   below(8) ? below(16) : number());
}

/* A window of type 1, by the library's own request. */
static bool bind_mw(uint32_t i)
{
	struct ibv_qp *qp = me.qp[below(OBJECTS)];
	struct ibv_mw_bind bind = {
		.wr_id = roll(),
		.send_flags = below(32),
		.bind_info = {
			.mr = me.mr[below(OBJECTS)],
			.addr = pointer(),
			.length = below(4) ? below(4096) : number(),
			.mw_access_flags = below(8) ? below(32) : number(),
		},
	};

	return qp && me.mw[i] && bind.bind_info.mr && !ibv_bind_mw(qp, me.mw[i], &bind);
}

static bool change_srq(uint32_t i)
{
	struct ibv_srq_attr attr = {
		.max_wr = below(8) ? 1 + below(256) : number(),
		.srq_limit = below(8) ? below(16) : number(),
	};

	return me.srq[i] && !ibv_modify_srq(me.srq[i], &attr,
					    below(8) ? 1 + below(3) : number());
}

static bool post_srq(uint32_t i)
{
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;

	make_recv(&wr, &sge);
	return me.srq[i] && !ibv_post_srq_recv(me.srq[i], &wr, &bad);
}

/* The next state as often as not, connected to a QP of its own. */
static bool change_qp(uint32_t i)
{
	struct ibv_qp *qp = me.qp[i], *peer = me.qp[below(OBJECTS)];
	struct ibv_qp_attr attr = {
		.pkey_index = 0,
		.port_num = 1,
		.qp_access_flags = below(16),
		.qkey = 1,
		.path_mtu = 1 + below(5),
		.dest_qp_num = peer ? peer->qp_num : below(64),
		.max_rd_atomic = below(4),
		.max_dest_rd_atomic = below(4),
		.min_rnr_timer = below(32),
		.timeout = 8 + below(8),
		.retry_cnt = below(8),
		.rnr_retry = below(8),
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = me.gid, .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE;
	bool reliable;

	if (!qp)
		return false;
	reliable = qp->qp_type != IBV_QPT_UC && qp->qp_type != IBV_QPT_UD;
	attr.qp_state = below(4) ? (qp->state + 1) % 4 : below(8);
	if (!below(6)) {
		mask = number();
	} else if (qp->qp_type == IBV_QPT_RAW_PACKET) {
		mask |= attr.qp_state == IBV_QPS_INIT ? IBV_QP_PORT : 0;
	} else if (attr.qp_state == IBV_QPS_INIT) {
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY :
						     IBV_QP_ACCESS_FLAGS);
	} else if (attr.qp_state == IBV_QPS_RTR && qp->qp_type != IBV_QPT_UD) {
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
		if (reliable)
			mask |= IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER;
	} else if (attr.qp_state == IBV_QPS_RTS) {
		mask |= IBV_QP_SQ_PSN;
		if (reliable)
			mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return !ibv_modify_qp(qp, &attr, mask);
}

static bool query_qp(uint32_t i)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return me.qp[i] && !ibv_query_qp(me.qp[i], &attr, number(), &init);
}

static bool post(uint32_t i)
{
	struct ibv_mr *mr = me.mr[below(OBJECTS)];
	struct ibv_sge sge = {
		.addr = pointer(),
		.length = below(4) ? below(4096) : number(),
		.lkey = mr ? mr->lkey : number(),
	};
	struct ibv_send_wr wr = {
		.wr_id = roll(), .sg_list = &sge, .num_sge = below(2),
		.opcode = below(8), .send_flags = below(32),
	}, *bad;
	struct ibv_recv_wr recv = {
		.wr_id = roll(), .sg_list = &sge, .num_sge = below(2),
	}, *bad_recv;
	struct ibv_qp *qp = me.qp[i];

	if (!qp)
		return false;
	if (below(2))
		return !ibv_post_recv(qp, &recv, &bad_recv);
	if (qp->qp_type == IBV_QPT_UD) {
		wr.opcode = IBV_WR_SEND + below(2);
		wr.wr.ud.ah = me.ah[below(OBJECTS)];
		wr.wr.ud.remote_qpn = below(64);
		wr.wr.ud.remote_qkey = 1;
		if (!wr.wr.ud.ah)
			return false;
	} else {
		wr.wr.rdma.remote_addr = pointer();
		wr.wr.rdma.rkey = mr ? mr->rkey : number();
		wr.qp_type.xrc.remote_srqn = below(4) ? below(64) : number();
	}
	/* The library itself reads inline data, so the address must be valid. */
	if (wr.send_flags & IBV_SEND_INLINE) {
		sge.addr = (uintptr_t)me.scratch;
		sge.length %= 128;
	}
	return !ibv_post_send(qp, &wr, &bad);
}

static bool poll_cq(uint32_t i)
{
	struct ibv_wc wc[8];

	return me.cq[i] && ibv_poll_cq(me.cq[i], 8, wc) >= 0;
}

static bool arm_cq(uint32_t i)
{
	return me.cq[i] && !ibv_req_notify_cq(me.cq[i], below(2));
}

static bool resize_cq(uint32_t i)
{
	return me.cq[i] &&
	       !ibv_resize_cq(me.cq[i], below(8) ? 1 + below(256) : number());
}

static bool join(uint32_t i)
{
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = below(4) } };

	if (!me.qp[i])
		return false;
	return below(2) ? !ibv_attach_mcast(me.qp[i], &group, 0) :
			  !ibv_detach_mcast(me.qp[i], &group, 0);
}

static bool call_verb(void)
{
	static bool (* const verbs[])(uint32_t) = {
		make_pd, make_cq, make_cq, make_qp, make_qp, make_qp, make_mr,
		make_mr, make_ah, drop_pd, drop_cq, drop_qp, drop_mr, drop_ah,
		change_qp, change_qp, change_qp, change_qp, change_qp, query_qp,
		post, post, post, poll_cq, arm_cq, resize_cq, join,
		make_mw, make_srq, drop_mw, drop_srq, change_mr, bind_mw, change_srq,
		post_srq, make_xrcd, make_xrc_srq, make_xrc_send, make_xrc_recv, drop_xrcd,
		make_cq_ex, ask_clock, make_raw, make_raw, make_wq, make_wq, change_wq,
		post_wq, make_table, make_table, make_hash, make_hash, make_counters,
		use_counters, make_flow, make_flow, post_frame, post_frame, drop_wq,
		drop_table, drop_counters, drop_flow,
	};

	return verbs[below(sizeof(verbs) / sizeof(verbs[0]))](below(OBJECTS));
}

/* ----- past the library ----- */

static bool call_write(void)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t body[30];
	} cmd = {};
	uint32_t words = 2 + below(20), i;

	cmd.hdr.command = below(8) ? below(60) : number();
	/* A response first, then handles, numbers and pointers. */
	cmd.body[0] = pointer();
	for (i = 1; i < words; i++)
		cmd.body[i] = below(4) ? number() | number() << 32 : pointer();
	cmd.hdr.in_words = below(8) ? (sizeof(cmd.hdr) + words * 8) / 4 : number();
	cmd.hdr.out_words = below(8) ? below(64) : number();
	return write(me.ctx->cmd_fd, &cmd, sizeof(cmd.hdr) + words * 8) > 0;
}

/* Destroys some object by its handle, which somebody may still use. */
static bool ioctl_destroy(void)
{
	static const struct {
		uint16_t object;
		uint16_t method;
		uint16_t resp;
	} kinds[] = {
		{ UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 0 },
		{ UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, 0 },
		{ UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, 0 },
		{ UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, 0 },
		{ UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, 8 },
		{ UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, 4 },
		{ UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, 4 },
		{ UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, 0 },
		{ UVERBS_OBJECT_FLOW, UVERBS_METHOD_FLOW_DESTROY, 0 },
		{ UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_DESTROY, 4 },
		{ UVERBS_OBJECT_RWQ_IND_TBL, UVERBS_METHOD_RWQ_IND_TBL_DESTROY, 0 },
		{ UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY, 0 },
	};
	uint32_t i = below(sizeof(kinds) / sizeof(kinds[0]));
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} cmd = {
		.hdr = {
			.object_id = kinds[i].object,
			.method_id = kinds[i].method,
			.num_attrs = kinds[i].resp ? 2 : 1,
			.driver_id = DRIVER_ID,
		},
		.attr = {
			{ .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = below(100) },
			{ .attr_id = 1, .len = kinds[i].resp,
			  .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)me.scratch },
		},
	};

	cmd.hdr.length = sizeof(cmd.hdr) +
			 cmd.hdr.num_attrs * sizeof(cmd.attr[0]);
	return !ioctl(me.ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd);
}

static bool call_ioctl(void)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[12];
	} cmd = {};
	unsigned int n = below(12), i;

	if (!below(4))
		return ioctl_destroy();
	cmd.hdr.length = below(16) ? sizeof(cmd.hdr) + n * sizeof(cmd.attr[0]) :
				     number();
	cmd.hdr.object_id = below(8) ? below(20) : number();
	cmd.hdr.method_id = below(8) ? below(8) : number();
	cmd.hdr.num_attrs = below(16) ? n : number();
	cmd.hdr.driver_id = below(8) ? DRIVER_ID : number();
	for (i = 0; i < n; i++) {
		cmd.attr[i].attr_id = below(4) ? i : below(2) ? 0x1000 + below(4) :
							       number();
		cmd.attr[i].len = below(2) ? 1u << below(7) : number();
		cmd.attr[i].flags = below(2);
		cmd.attr[i].data = below(2) ? number() : pointer();
	}
	return !ioctl(me.ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd);
}

static bool call_map(void)
{
	static const int prots[] = {
		PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE,
		PROT_READ | PROT_EXEC,
	};
	uint32_t i = below(MAPS);
	int prot = prots[below(4)];
	void *p;

	if (me.map[i].mem) {
		if (!below(3))
			mprotect(me.map[i].mem, me.map[i].len, prots[below(4)]);
		munmap(me.map[i].mem, below(4) ? me.map[i].len : PAGE);
		me.map[i].mem = NULL;
		return true;
	}
	me.map[i].len = (1 + below(below(2) ? 2 : 20)) * (size_t)PAGE;
	p = mmap(NULL, me.map[i].len, prot, below(8) ? MAP_SHARED : MAP_PRIVATE,
		 me.ctx->cmd_fd, (off_t)(below(8) ? below(256) : number()) * PAGE);
	if (p == MAP_FAILED)
		return false;
	me.map[i].mem = p;
	me.map[i].writable = prot == (PROT_READ | PROT_WRITE);
	return true;
}

static bool call_garbage(void)
{
	uint32_t i = below(MAPS);

	if (!me.map[i].mem || !me.map[i].writable)
		return false;
	noise(me.map[i].mem + below(me.map[i].len - 64), 64);
	return true;
}

static bool call_event(void)
{
	uint8_t buf[64];

	return read(below(2) ? me.ctx->async_fd : me.channel->fd, buf,
		    sizeof(buf)) > 0;
}

static bool call(enum kind kind);

/* Ends this process with its parent, which may have ended before this was said. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

/* The child has the files, not the mappings, and ends in one way or another. */
static bool call_fork(void)
{
	pid_t parent = getpid(), child = fork();
	int n;

	if (child < 0)
		return false;
	if (!child) {
		end_with(parent);
		for (n = below(20); n > 0; n--)
			call(CALL_WRITE + below(3));
		if (below(2))
			_exit(0);
		pause();
	}
	usleep(below(2000));
	if (below(2))
		kill(child, SIGKILL);
	else
		usleep(below(2000));
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) == child;
}

static bool (* const calls[CALL_KINDS])(void) = {
	call_verb, call_write, call_ioctl, call_map, call_garbage, call_event,
	call_fork,
};

static bool call(enum kind kind)
{
	bool good = calls[kind]();

	__atomic_fetch_add(&tally->calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tally->kinds[kind], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tally->good[kind], good, __ATOMIC_RELAXED);
	return good;
}

/* ----- processes ----- */

/* Has this process the right to frames, and no other? */
static bool set_rights(bool frames)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (frames)
		data[0].permitted = 1 << CAP_NET_RAW;
	data[0].effective = data[0].permitted;
	return !syscall(SYS_capset, &head, data);
}

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void live(const char *name, uint64_t seed, bool frames, pid_t parent)
{
	static const enum kind mix[] = {
		CALL_VERB, CALL_VERB, CALL_VERB, CALL_VERB, CALL_VERB, CALL_VERB,
		CALL_WRITE, CALL_WRITE, CALL_WRITE, CALL_IOCTL, CALL_IOCTL,
		CALL_IOCTL, CALL_MAP, CALL_MAP, CALL_GARBAGE, CALL_EVENT,
	};
	struct rlimit files = { 512, 512 };
	struct ibv_device **list;
	int i, n = 0;

	me.random = seed * 0x9e3779b97f4a7c15 + 1;
	end_with(parent);
	/* A process that damages itself leaves no core. */
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_NOFILE, &files);
	if (!set_rights(frames && seed % 2))
		_exit(2);
	me.scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	list = ibv_get_device_list(&n);
	for (i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			me.ctx = ibv_open_device(list[i]);
	if (!me.ctx || me.scratch == MAP_FAILED)
		_exit(2);
	me.channel = ibv_create_comp_channel(me.ctx);
	if (!me.channel)
		_exit(2);
	nonblocking(me.ctx->async_fd);
	nonblocking(me.channel->fd);
	ibv_query_gid(me.ctx, 1, 0, &me.gid);
	me.file = open(XRCD_FILE, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

	n = 100 + below(LIFE);
	while (n-- && !tally->stop && tally->calls < tally->limit)
		call(below(400) ? mix[below(sizeof(mix) / sizeof(mix[0]))] :
				  CALL_FORK);
	/* In one way or another: with all that there is, or after some tidying. */
	if (below(2))
		_exit(0);
	for (i = 0; i < OBJECTS; i++) {
		drop_flow(i);
		drop_counters(i);
		drop_qp(i);
		drop_table(i);
		drop_ah(i);
		drop_mw(i);
		drop_srq(i);
		drop_xrcd(i);
	}
	exit(0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void report(double seconds, unsigned int born, unsigned int hurt)
{
	int i;

	printf("mischief: %llu calls in %.0f s, %u processes, %u of them killed or hurt;",
	       (unsigned long long)tally->calls, seconds, born, hurt);
	for (i = 0; i < CALL_KINDS; i++)
		printf(" %s %llu/%llu", kind_names[i],
		       (unsigned long long)tally->good[i],
		       (unsigned long long)tally->kinds[i]);
	printf("; %llu XRC objects, %llu for frames\n", (unsigned long long)tally->xrc,
	       (unsigned long long)tally->frames);
}

int main(int argc, char **argv)
{
	unsigned int seconds = 0, processes = 3, born = 0, hurt = 0, useless = 0, i;
	pid_t pids[PROCESSES_MAX] = {}, parent = getpid(), pid;
	uint64_t seed = 1, limit = 100000, least = 0;
	bool frames = false;
	const char *name = NULL;
	double start = now();
	int option, status;

	while ((option = getopt(argc, argv, "d:n:t:m:s:p:f")) > 0) {
		if (option == 'd')
			name = optarg;
		else if (option == 'n')
			limit = strtoull(optarg, NULL, 0);
		else if (option == 't')
			seconds = atoi(optarg);
		else if (option == 'm')
			least = strtoull(optarg, NULL, 0);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (option == 'p')
			processes = atoi(optarg);
		else if (option == 'f')
			frames = true;
		else
			return 1;
	}
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!name || processes > PROCESSES_MAX || tally == MAP_FAILED ||
	    setgroups(0, NULL) || setgid(NOBODY) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setuid(NOBODY) || !set_rights(frames)) {
		printf("mischief: cannot begin: %s\n", strerror(errno));
		return 1;
	}
	tally->limit = limit;
	me.random = seed;
	while (tally->calls < limit &&
	       (!seconds || now() - start < seconds || tally->calls < least)) {
		for (i = 0; i < processes; i++) {
			if (pids[i])
				continue;
			born++;
			pids[i] = fork();
			if (!pids[i])
				live(name, seed + born, frames, parent);
		}
		usleep(20000);
		i = below(processes);
		if (!below(50) && pids[i] > 0)
			kill(pids[i], SIGKILL);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			for (i = 0; i < processes; i++)
				if (pids[i] == pid)
					pids[i] = 0;
			hurt += WIFSIGNALED(status);
			useless += WIFEXITED(status) && WEXITSTATUS(status) == 2;
		}
		if (useless > 20) {
			printf("mischief: %s cannot be opened\n", name);
			return 1;
		}
	}
	tally->stop = true;
	for (i = 0; i < processes; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	report(now() - start, born, hurt);
	return 0;
}
