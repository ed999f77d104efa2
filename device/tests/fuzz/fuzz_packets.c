// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: packets from a hostile network.
 *
 * A NIC with a QP of each type in RTS, requests under way in two of them, gets
 * whatever frames the input holds.  To get behind the ICRC, and to QPs and memory
 * that there are, it is not left to chance: as the input's first byte asks, a
 * frame that the parser takes is aimed (addresses, QPN, key) and built again.
 *
 *	input:	how, then any number of: length (two bytes), frame
 *
 * The guest must get no more completions than it has posted requests, and
 * memory beside its memory region stays as it is.
 */
#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How: bits of the first byte. */
#define AIM_QP		1	/* at a QP that there is, from its peer */
#define AIM_MEMORY	2	/* at memory that there is, by its key */
#define FIX_CHECKSUMS	4	/* of frames that are not rebuilt */
#define LET_TIME_PASS	8	/* behind each frame, until timers are due */

/* Of the golden packets, so that they are in sequence. */
#define PSN		1000

/* QPN of the peer of each QP. */
#define PEER_QPN	5

#define RECVS		4
#define RECV_SIZE	2048
#define CANARY		0xa5
#define POLLS		8
#define AIM_LEN_MAX	8192

static const uint8_t types[] = {
	VIRTIO_IB_QPT_GSI, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPT_RC,
	VIRTIO_IB_QPT_UC, VIRTIO_IB_QPT_UD,
};

#define QPS	ARRAY_SIZE(types)
#define ALL_QPS	(EG_QPS + EG_DIRECT_QPS)

/**
 * struct xrc - both ends of extended reliable connections
 * @cq:		CQ of @srq
 * @srq:	XRC SRQ
 * @ini:	XRC_INI QP
 * @tgt:	XRC_TGT QP
 * @requests:	requests posted to @ini and not completed
 * @recvs:	the same of @srq
 */
struct xrc {
	struct er_cq cq;
	struct er_srq srq;
	struct er_end ini;
	struct er_qp tgt;
	unsigned int requests;
	unsigned int recvs;
};

/**
 * struct target - what is fuzzed
 * @engine:	engine; guest 0 is the target
 * @end:	its QPs
 * @posted:	by QPN, requests posted and neither completed nor dropped
 * @stale:	by QPN, the QP may be another than at the beginning
 * @xrc:	the QPs that are not in @end
 */
static struct target {
	struct engine *engine;
	struct eg_end end[QPS];
	unsigned int posted[EG_QPS];
	bool stale[ALL_QPS];
	struct xrc xrc;
} target;

/* The content of memory beside the region. */
static uint8_t canary[EG_PAGE];

static uint8_t *target_canary(void)
{
	return eg_ptr(target.end[0].guest, EG_DATA + EG_MR_SIZE);
}

static void xrc_init(struct xrc *x, struct eg_guest *guest)
{
	const struct er_shape shape = { .no_recv = true };
	uint32_t xrcd = er_create_xrcd(guest);

	er_cq_init(&x->cq, guest, 64, 5, 0);
	assert_int_equal(er_create_cq(&x->cq), VIRTIO_NET_OK);
	er_srq_init(&x->srq, guest, target.end[0].pdn, 16);
	x->srq.xrc = true;
	x->srq.xrcd = xrcd;
	x->srq.cqn = x->cq.cqn;
	assert_int_equal(er_create_srq(&x->srq), VIRTIO_NET_OK);
	er_open(&x->ini, guest, VIRTIO_IB_QPT_XRC_INI, &shape);
	er_tgt_init(&x->tgt, guest, xrcd);
	assert_int_equal(er_create_qp(&x->tgt), VIRTIO_NET_OK);
}

static void target_init(void)
{
	void *state;
	unsigned int i;

	eg_setup_direct(&state);
	target.engine = state;
	eg_ports(target.engine);
	eg_port[0].lose = true;
	target.end[0] = eg_open(&target.engine->guest[0], types[0]);
	for (i = 1; i < QPS; i++) {
		target.end[i] = target.end[0];
		target.end[i].qpn = eg_create_qp(target.end[0].guest, types[i],
						 target.end[0].pdn,
						 target.end[0].cqn);
	}
	xrc_init(&target.xrc, target.end[0].guest);
	memset(target.stale, true, sizeof(target.stale));
	memset(canary, CANARY, sizeof(canary));
	memcpy(target_canary(), canary, sizeof(canary));
}

static void qp_to(uint32_t qpn, uint8_t type, uint8_t state)
{
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(qpn, type, state, &target.engine->guest[1], PEER_QPN);

	req.rq_psn = htole32(PSN);
	req.sq_psn = htole32(PSN);
	req.qkey = htole32(type == VIRTIO_IB_QPT_GSI ? 0x80010000 : 0x11111111);
	/* As the golden packets. */
	req.path_mtu = VIRTIO_IB_MTU_256;
	assert_int_equal(eg_modify(target.end[0].guest, &req), VIRTIO_NET_OK);
}

static void qp_restart(uint32_t qpn, uint8_t type)
{
	uint8_t state;

	for (state = VIRTIO_IB_QPS_RESET; state <= VIRTIO_IB_QPS_RTS; state++)
		qp_to(qpn, type, state);
}

static void end_post(const struct eg_end *end, uint8_t type)
{
	static const uint8_t opcodes[] = {
		VIRTIO_IB_WR_SEND, VIRTIO_IB_WR_RDMA_READ,
		VIRTIO_IB_WR_RDMA_WRITE, VIRTIO_IB_WR_FLUSH,
		VIRTIO_IB_WR_FETCH_ADD, VIRTIO_IB_WR_CMP_SWAP,
	};
	struct eg_wr wr;
	unsigned int i;

	for (i = 0; i < RECVS; i++)
		eg_recv(end, i, EG_IN + i * RECV_SIZE, RECV_SIZE);
	target.posted[end->qpn] = RECVS;
	if (type != VIRTIO_IB_QPT_RC)
		return;
	for (i = 0; i < sizeof(opcodes); i++) {
		wr = eg_send(end, i, 0, 700);
		wr.opcode = opcodes[i];
		wr.num_sge = wr.opcode != VIRTIO_IB_WR_FLUSH;
		wr.rkey = 1;
		wr.flush_type = VIRTIO_IB_FLUSH_GLOBAL;
		eg_post_send(end, &wr);
		target.posted[end->qpn]++;
	}
}

/* The SRQ goes while the QP may have one of its requests. */
static void xrc_restart(struct xrc *x)
{
	static const uint8_t opcodes[] = {
		VIRTIO_IB_WR_SEND, VIRTIO_IB_WR_RDMA_READ, VIRTIO_IB_WR_RDMA_WRITE,
		VIRTIO_IB_WR_FETCH_ADD, VIRTIO_IB_WR_CMP_SWAP,
	};
	struct eg_sge sge = { EG_VA + EG_IN, RECV_SIZE, target.end[0].lkey };
	struct eg_wr wr;
	unsigned int i;

	target.stale[x->ini.qp.qpn] = false;
	target.stale[x->tgt.qpn] = false;
	assert_int_equal(er_destroy_srq(&x->srq), VIRTIO_NET_OK);
	memset(x->srq.control, 0, VIRTIO_RDMA_CONTROL_SIZE);
	x->srq.posted = 0;
	assert_int_equal(er_create_srq(&x->srq), VIRTIO_NET_OK);
	for (i = 0; i < RECVS; i++)
		er_post_srq(&x->srq, &sge, 1, i);
	x->recvs = RECVS;
	qp_to(x->ini.qp.qpn, VIRTIO_IB_QPT_XRC_INI, VIRTIO_IB_QPS_RESET);
	memset(x->ini.qp.control, 0, VIRTIO_RDMA_CONTROL_SIZE);
	x->ini.qp.posted = 0;
	qp_restart(x->ini.qp.qpn, VIRTIO_IB_QPT_XRC_INI);
	qp_restart(x->tgt.qpn, VIRTIO_IB_QPT_XRC_TGT);
	for (i = 0; i < sizeof(opcodes); i++) {
		wr = eg_send(&x->ini.end, i, 0, 700);
		wr.opcode = opcodes[i];
		wr.rkey = 1;
		wr.srqn = 5;
		er_post_send(&x->ini.qp, &wr);
	}
	x->requests = sizeof(opcodes);
}

static void xrc_drain(struct xrc *x)
{
	struct virtio_rdma_cqe cqe;

	while (er_poll(&x->ini.cq, &cqe)) {
		assert_true(x->requests);
		x->requests--;
	}
	while (er_poll(&x->cq, &cqe)) {
		assert_true(x->recvs);
		assert_true(cqe.opcode & VIRTIO_RDMA_CQE_XRC);
		assert_int_equal(le32toh(cqe.srqn), x->srq.handle);
		x->recvs--;
	}
}

static void target_drain(void)
{
	struct eg_wc wc;

	xrc_drain(&target.xrc);
	while (eg_poll(&target.end[0], &wc)) {
		assert_true(target.posted[wc.qp_num]);
		target.posted[wc.qp_num]--;
	}
}

/* All QPs as at the beginning. */
static void target_restart(void)
{
	unsigned int i;

	target_drain();
	for (i = 0; i < QPS; i++) {
		if (!target.stale[target.end[i].qpn])
			continue;
		target.stale[target.end[i].qpn] = false;
		qp_restart(target.end[i].qpn, types[i]);
		end_post(&target.end[i], types[i]);
	}
	if (target.stale[target.xrc.ini.qp.qpn] || target.stale[target.xrc.tgt.qpn])
		xrc_restart(&target.xrc);
	rnic_poll(target.engine->guest[0].rnic);
}

static void aim_qp(struct roce_rx *rx)
{
	const uint8_t mac[] = EG_MAC, code = rx->pkt.opcode & 31;

	if (rx->pkt.opcode >> 5 != PKT_XRC)
		rx->pkt.dest_qpn = target.end[rx->pkt.dest_qpn % QPS].qpn;
	else if (code > PKT_READ_REQUEST && code <= PKT_ATOMIC_ACK)
		rx->pkt.dest_qpn = target.xrc.ini.qp.qpn;
	else
		rx->pkt.dest_qpn = target.xrc.tgt.qpn;
	rx->pkt.vlan = 0;
	rx->path.vlan = 0;
	memcpy(rx->path.dmac, mac, sizeof(mac));
	eg_gid(&target.engine->guest[0], rx->dgid);
	eg_gid(&target.engine->guest[1], rx->sgid);
}

/*
 * Also a little beside it, where it begins and where it ends.  A READ that may be
 * answered is a short one: to build packets for all of the region, over and over,
 * would be most of what the fuzzer does.
 */
static void aim_memory(struct pkt *pkt)
{
	if (pkt->dmalen <= EG_MR_SIZE)
		pkt->dmalen %= AIM_LEN_MAX;
	pkt->srqn = target.xrc.srq.handle;
	pkt->rkey = target.end[0].lkey;
	pkt->inv_rkey = target.end[0].lkey;
	pkt->va = EG_VA - 16 + pkt->va % (EG_MR_SIZE + 32);
}

static void fix_checksums(uint8_t *frame, size_t len)
{
	const uint8_t mac[] = EG_MAC;
	uint8_t *ip = frame + ETH_HLEN;
	uint32_t sum = 0;
	unsigned int i;

	if (len < ETH_HLEN + 20)
		return;
	memcpy(frame, mac, sizeof(mac));
	if (frame[12] != 0x08 || frame[13])
		return;
	ip[10] = 0;
	ip[11] = 0;
	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	ip[10] = sum >> 8;
	ip[11] = sum;
}

/* Returns the bytes of the frame as it is now; @frame is a heap block of @len. */
static size_t prepare(uint8_t how, uint8_t *frame, size_t len, uint8_t *out)
{
	struct roce_rx rx;
	uint32_t icrc;

	if (how & FIX_CHECKSUMS)
		fix_checksums(frame, len);
	if (roce_parse(&rx, frame, len) || !(how & (AIM_QP | AIM_MEMORY))) {
		memcpy(out, frame, len);
		if (how & FIX_CHECKSUMS && rx.icrc) {
			icrc = roce_icrc(frame, rx.icrc);
			memcpy(out + rx.icrc, &icrc, sizeof(icrc));
		}
		return len;
	}
	if (how & AIM_QP)
		aim_qp(&rx);
	if (how & AIM_MEMORY)
		aim_memory(&rx.pkt);
	return eg_build(out, &rx.path, &rx.pkt, frame + rx.payload);
}

static void receive(uint8_t how, const uint8_t *data, size_t len)
{
	static uint8_t out[ROCE_FRAME_MAX + UINT16_MAX];
	struct rnic *rnic = target.engine->guest[0].rnic;
	uint8_t *frame = malloc(len ? len : 1);
	struct roce_peek peek;
	unsigned int i;

	assert_non_null(frame);
	memcpy(frame, data, len);
	len = prepare(how, frame, len, out);
	free(frame);
	if (len && eg_frame(&eg_port[0], out, len)) {
		assert_true(roce_peek(&peek, out, len));
		target.stale[peek.dest_qpn] = true;
	}
	/* READs that are not aimed may go on for long. */
	for (i = 0; i < POLLS && rnic_poll(rnic); i++)
		target_drain();
	if (how & LET_TIME_PASS) {
		engine_loop_advance(target.engine->loop, 5000000);
		memset(target.stale, true, sizeof(target.stale));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t how;
	size_t len;

	if (!target.engine)
		target_init();
	if (!size)
		return 0;
	target_restart();
	how = *data++;
	size--;
	while (size > 2) {
		len = data[0] | data[1] << 8;
		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		receive(how, data, len);
		data += len;
		size -= len;
	}
	assert_memory_equal(target_canary(), canary, sizeof(canary));
	return 0;
}
