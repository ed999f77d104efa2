// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The strict device: order of commands, promises, states.
 */
#include "tests/strict/driver.h"

/* ------------------------------------------------------------------------- */
/* Order and promises                                                        */
/* ------------------------------------------------------------------------- */

static void create_before_query(void)
{
	create_pd();
}

static void create_before_port(void)
{
	struct virtio_rdma_ack_query_device device;

	roce(CMD(QUERY_DEVICE), NULL, 0, &device, sizeof(device));
	create_pd();
}

static void too_many_pds(void)
{
	query();
	for (unsigned int i = 0; i <= PDS; i++)
		create_pd();
}

static void too_many_cqs(void)
{
	query();
	for (unsigned int i = 0; i <= CQS; i++)
		create_cq(4, 4);
}

static void too_many_mrs(void)
{
	struct mr_req req;

	make_all();
	for (unsigned int i = 0; i < MRS; i++) {
		mr_fill(&req);
		reg_mr(&req);
	}
}

static void too_many_dma_mrs(void)
{
	struct virtio_rdma_ack_mr ack;
	struct virtio_rdma_cmd_get_dma_mr req;

	make_all();
	req = (struct virtio_rdma_cmd_get_dma_mr){ htole32(rig.pdn),
		htole32(VIRTIO_IB_ACCESS_LOCAL_WRITE) };
	for (unsigned int i = 0; i < MRS; i++)
		roce(CMD(GET_DMA_MR), &req, sizeof(req), &ack, sizeof(ack));
}

static void too_many_ahs(void)
{
	struct virtio_rdma_cmd_create_ah req;

	make_all();
	req = ah_req();
	for (unsigned int i = 0; i < AHS; i++)
		create_ah(&req);
}

/* Two of the numbers are SMI's and GSI's. */
static void too_many_qps(void)
{
	struct virtio_rdma_cmd_create_qp req;

	make_all();
	req = qp_req();
	for (unsigned int i = 0; i < QPS - 2; i++)
		create_qp(&req);
}

static void second_gsi(void)
{
	struct virtio_rdma_cmd_create_qp req;

	make_all();
	req = qp_req();
	req.qp_type = VIRTIO_IB_QPT_GSI;
	create_qp(&req);
	create_qp(&req);
}

static void smi(void)
{
	struct virtio_rdma_cmd_create_qp req;

	make_all();
	req = qp_req();
	req.qp_type = VIRTIO_IB_QPT_SMI;
	create_qp(&req);
}

static void cq_too_deep(void)
{
	query();
	create_cq(NUM + 1, 0);
}

static void cq_of_nothing(void)
{
	query();
	create_cq(0, 0);
}

static void cq_without_slots(void)
{
	struct virtio_rdma_cmd_create_qp req;

	query();
	rig.pdn = create_pd();
	rig.cqn = create_cq(DEPTH, DEPTH - 1);
	req = qp_req();
	create_qp(&req);
}

#define QP_TWIST(name, statement)					\
	static void name(void)						\
	{								\
		struct virtio_rdma_cmd_create_qp req;			\
									\
		make_all();						\
		req = qp_req();						\
		statement;						\
		create_qp(&req);					\
	}

QP_TWIST(qp_send_wr, req.cap.max_send_wr = htole32(NUM + 1))
QP_TWIST(qp_recv_wr, req.cap.max_recv_wr = htole32(NUM + 1))
QP_TWIST(qp_send_sge, req.cap.max_send_sge = htole32(33))
QP_TWIST(qp_recv_sge, req.cap.max_recv_sge = htole32(33))
QP_TWIST(qp_inline, req.cap.max_inline_data = htole32(513))
QP_TWIST(qp_sig_all, req.sq_sig_all = 2)
QP_TWIST(qp_flags, req.flags = VIRTIO_IB_QP_FAST_REG)
QP_TWIST(qp_cap_padding, req.cap.padding = htole32(1))
QP_TWIST(qp_reserved, req.reserved[3] = htole32(1))
QP_TWIST(qp_pd, req.pdn = htole32(NO_HANDLE))
QP_TWIST(qp_cq, req.send_cqn = htole32(1))

static void qp_stale_ring(void)
{
	struct virtio_rdma_cmd_create_qp req;

	make_all();
	rig.qpn++;
	post(rq(), recv_slot.bytes, RQ_SLOT, 0);
	req = qp_req();
	create_qp(&req);
}

#define MR_TWIST(name, statement)					\
	static void name(void)						\
	{								\
		struct mr_req req;					\
									\
		make_all();						\
		mr_fill(&req);						\
		statement;						\
		reg_mr(&req);						\
	}

MR_TWIST(mr_access, req.cmd.access_flags = htole32(1 << 3))
MR_TWIST(mr_remote_write, req.cmd.access_flags = htole32(VIRTIO_IB_ACCESS_REMOTE_WRITE))
MR_TWIST(mr_padding, req.cmd.page_shift = 21)
MR_TWIST(mr_empty, req.cmd.length = 0)
MR_TWIST(mr_too_long, req.cmd.length = htole64(1ULL << 40))
MR_TWIST(mr_npages, req.cmd.npages = htole32(1))
MR_TWIST(mr_length, (req.cmd.npages = htole32(3), req.cmd.length = htole64(12288)))
MR_TWIST(mr_page, req.page[1] |= htole64(8))
MR_TWIST(mr_pd, req.cmd.pdn = htole32(NO_HANDLE))

#define AH_TWIST(name, statement)					\
	static void name(void)						\
	{								\
		struct virtio_rdma_cmd_create_ah req;			\
									\
		make_all();						\
		req = ah_req();						\
		statement;						\
		create_ah(&req);					\
	}

AH_TWIST(ah_padding, req.padding = htole32(1))
AH_TWIST(ah_grh_padding, req.ah_attr.grh.padding = 1)
AH_TWIST(ah_reserved, req.ah_attr.reserved[8] = 1)
AH_TWIST(ah_sgid, req.ah_attr.grh.sgid_index = 5)
AH_TWIST(ah_dgid, memset(req.ah_attr.grh.dgid, 0, 16))
AH_TWIST(ah_dmac, memset(req.ah_attr.dmac, 0, 6))
AH_TWIST(ah_pd, req.pdn = htole32(NO_HANDLE))

static void gid_padding(void)
{
	struct virtio_rdma_cmd_add_gid req = gid_req(0);

	query();
	req.vlan = htole16(VIRTIO_RDMA_GID_TAGGED | 7);
	roce(CMD(ADD_GID), &req, sizeof(req), NULL, 0);
}

static void gid_beyond(void)
{
	struct virtio_rdma_cmd_add_gid req = gid_req(128);

	query();
	roce(CMD(ADD_GID), &req, sizeof(req), NULL, 0);
}

static void gid_not_there(void)
{
	__le16 index = htole16(3);

	query();
	roce(CMD(DEL_GID), &index, sizeof(index), NULL, 0);
}

static void cq_in_use(void)
{
	make_all();
	simple(CMD(DESTROY_CQ), rig.cqn);
}

static void pd_in_use(void)
{
	make_all();
	simple(CMD(DESTROY_QP), rig.qpn);
	simple(CMD(DEREG_MR), rig.mrn);
	simple(CMD(DESTROY_PD), rig.pdn);
}

static void qp_destroyed_twice(void)
{
	make_all();
	simple(CMD(DESTROY_QP), rig.qpn);
	simple(CMD(DESTROY_QP), rig.qpn);
}

static void mr_destroyed_twice(void)
{
	make_all();
	simple(CMD(DEREG_MR), rig.mrn);
	simple(CMD(DEREG_MR), rig.mrn);
}

static void ah_of_another_pd(void)
{
	struct virtio_rdma_cmd_destroy_ah req;

	make_all();
	req = (struct virtio_rdma_cmd_destroy_ah){ htole32(create_pd()),
						   htole32(rig.ah) };
	roce(CMD(DESTROY_AH), &req, sizeof(req), NULL, 0);
}

static void notify_flags(void)
{
	struct virtio_rdma_cmd_req_notify req;

	make_all();
	req = (struct virtio_rdma_cmd_req_notify){ htole32(rig.cqn), htole32(4) };
	roce(CMD(REQ_NOTIFY_CQ), &req, sizeof(req), NULL, 0);
}

static void query_unknown_attributes(void)
{
	struct virtio_rdma_cmd_query_qp req;
	struct virtio_rdma_ack_query_qp ack;

	make_all();
	req = (struct virtio_rdma_cmd_query_qp){ htole32(rig.qpn), htole32(1 << 20) };
	roce(CMD(QUERY_QP), &req, sizeof(req), &ack, sizeof(ack));
}

/* ------------------------------------------------------------------------- */
/* States                                                                    */
/* ------------------------------------------------------------------------- */

static void state_left_out(void)
{
	make_all();
	to(VIRTIO_IB_QPS_INIT);
	to(VIRTIO_IB_QPS_RTS);
}

static void attribute_missing(void)
{
	struct virtio_rdma_cmd_modify_qp req;

	make_all();
	to(VIRTIO_IB_QPS_INIT);
	req = modify_req(VIRTIO_IB_QPS_RTR);
	req.attr_mask &= ~htole32(VIRTIO_IB_QP_MIN_RNR_TIMER);
	modify(&req);
}

static void attribute_out_of_place(void)
{
	struct virtio_rdma_cmd_modify_qp req;

	make_all();
	req = modify_req(VIRTIO_IB_QPS_INIT);
	req.attr_mask |= htole32(VIRTIO_IB_QP_QKEY);
	modify(&req);
}

static void reset_without_err(void)
{
	make_all();
	to_rts();
	post(rq(), recv_slot.bytes, RQ_SLOT, 0);
	to(VIRTIO_IB_QPS_RESET);
}

static void reset_with_requests(void)
{
	make_all();
	to(VIRTIO_IB_QPS_INIT);
	post(rq(), recv_slot.bytes, RQ_SLOT, 0);
	to(VIRTIO_IB_QPS_RESET);
}

#define MODIFY_TWIST(name, statement)					\
	static void name(void)						\
	{								\
		struct virtio_rdma_cmd_modify_qp req;			\
									\
		make_all();						\
		to(VIRTIO_IB_QPS_INIT);					\
		req = modify_req(VIRTIO_IB_QPS_RTR);			\
		statement;						\
		modify(&req);						\
	}

MODIFY_TWIST(modify_padding, req.padding[6] = 1)
MODIFY_TWIST(modify_cap, req.cap.padding = htole32(1))
MODIFY_TWIST(modify_reserved, req.reserved[0] = htole32(1))
MODIFY_TWIST(modify_av_reserved, req.ah_attr.reserved[0] = 1)
MODIFY_TWIST(modify_av_dmac, memset(req.ah_attr.dmac, 0, 6))
MODIFY_TWIST(modify_mask, req.attr_mask |= htole32(1 << 17))
MODIFY_TWIST(modify_nothing, req.attr_mask = 0)
MODIFY_TWIST(modify_qpn, req.qpn = htole32(77))
MODIFY_TWIST(modify_access, (req.attr_mask |= htole32(VIRTIO_IB_QP_ACCESS_FLAGS),
			     req.qp_access_flags = htole32(1 << 3)))

/* ------------------------------------------------------------------------- */

static const struct rule rules[] = {
	BAD(create_before_query, "CREATE_PD before QUERY_DEVICE"),
	BAD(create_before_port, "CREATE_PD before QUERY_PORT"),
	BAD(too_many_pds, "one more than the 3 PDs"),
	BAD(too_many_cqs, "one more than the 2 CQs"),
	BAD(too_many_mrs, "REG_USER_MR: one more than the 3 MRs"),
	BAD(too_many_dma_mrs, "GET_DMA_MR: one more than the 3 MRs"),
	BAD(too_many_ahs, "one more than the 2 AHs"),
	BAD(too_many_qps, "one more than the 2 QPs"),
	BAD(second_gsi, "GSI is there already"),
	BAD(smi, "CREATE_QP: type 0"),
	BAD(cq_too_deep, "CREATE_CQ: cqe 17, of 16 promised"),
	BAD(cq_of_nothing, "CREATE_CQ: no cqe"),
	BAD(cq_without_slots, "fewer slots than its 8 completions"),
	BAD(qp_send_wr, "max_send_wr 17, of 16 promised"),
	BAD(qp_recv_wr, "max_recv_wr 17, of 16 promised"),
	BAD(qp_send_sge, "max_send_sge 33, of 32 promised"),
	BAD(qp_recv_sge, "max_recv_sge 33, of 32 promised"),
	BAD(qp_inline, "max_inline_data 513, of 512 promised"),
	BAD(qp_sig_all, "sq_sig_all 2"),
	BAD(qp_flags, "padding of CREATE_QP is not zero"),
	BAD(qp_cap_padding, "padding of CREATE_QP is not zero"),
	BAD(qp_reserved, "reserved part of CREATE_QP is not zero"),
	BAD(qp_pd, "PD 2989 is not there"),
	BAD(qp_cq, "CQ 1 is not there"),
	BAD(qp_stale_ring, "do not begin empty"),
	BAD(mr_access, "REG_USER_MR: access flags 0x8"),
	BAD(mr_remote_write, "REMOTE_WRITE without LOCAL_WRITE"),
	BAD(mr_padding, "padding of REG_USER_MR is not zero"),
	BAD(mr_empty, "a region of 0 bytes"),
	BAD(mr_too_long, "a region of 0x10000000000 bytes"),
	BAD(mr_npages, "1 pages do not cover the region"),
	BAD(mr_length, "48 bytes for 3 pages"),
	BAD(mr_page, "page 1 is not aligned"),
	BAD(mr_pd, "PD 2989 is not there"),
	BAD(ah_padding, "padding of CREATE_AH is not zero"),
	BAD(ah_grh_padding, "padding of an address vector is not zero"),
	BAD(ah_reserved, "reserved part of an address vector is not zero"),
	BAD(ah_sgid, "GID 5 is not there"),
	BAD(ah_dgid, "no destination GID"),
	BAD(ah_dmac, "no destination MAC address"),
	BAD(ah_pd, "PD 2989 is not there"),
	BAD(gid_padding, "padding of ADD_GID is not zero"),
	BAD(gid_beyond, "entry 128, of 128 promised"),
	BAD(gid_not_there, "GID 3 is not there"),
	BAD(cq_in_use, "DESTROY_CQ: CQ 0 is in use"),
	BAD(pd_in_use, " is in use"),
	BAD(qp_destroyed_twice, "QP 2 is not there"),
	BAD(mr_destroyed_twice, "is not there"),
	BAD(ah_of_another_pd, "is not that of AH"),
	BAD(notify_flags, "REQ_NOTIFY_CQ: flags 0x4"),
	BAD(query_unknown_attributes, "QUERY_QP: attributes 0x100000"),

	BAD(state_left_out, "the device refuses MODIFY_QP"),
	BAD(attribute_missing, "the device refuses MODIFY_QP"),
	BAD(attribute_out_of_place, "the device refuses MODIFY_QP"),
	BAD(reset_without_err, "with 0 send and 1 receive requests"),
	BAD(reset_with_requests, "with 0 send and 1 receive requests"),
	BAD(modify_padding, "padding of MODIFY_QP is not zero"),
	BAD(modify_cap, "padding of MODIFY_QP is not zero"),
	BAD(modify_reserved, "reserved part of MODIFY_QP is not zero"),
	BAD(modify_av_reserved, "reserved part of an address vector is not zero"),
	BAD(modify_av_dmac, "no destination MAC address"),
	BAD(modify_mask, "MODIFY_QP: attributes"),
	BAD(modify_nothing, "MODIFY_QP: attributes"),
	BAD(modify_qpn, "QP 77 is not there"),
	BAD(modify_access, "MODIFY_QP: access flags 0x8"),
};

int main(void)
{
	return test_rules(rules, ARRAY_SIZE(rules));
}
