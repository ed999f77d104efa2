// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The strict device: work requests, slots for completions, doorbells.
 */
#include "tests/strict/driver.h"

static void good_datagram(void)
{
	struct virtio_rdma_cmd_create_qp req;

	make_all();
	req = qp_req();
	req.qp_type = VIRTIO_IB_QPT_UD;
	rig.qpn = create_qp(&req);
	for (uint8_t state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		struct virtio_rdma_cmd_modify_qp to_state = modify_req(state);

		to_state.attr_mask = htole32(VIRTIO_IB_QP_STATE |
			(state == VIRTIO_IB_QPS_INIT ? VIRTIO_IB_QP_QKEY : 0) |
			(state == VIRTIO_IB_QPS_RTS ? VIRTIO_IB_QP_SQ_PSN : 0));
		modify(&to_state);
	}
	send_slot.req = (struct virtio_rdma_sq_req) {
		.opcode = VIRTIO_IB_WR_SEND,
		.ud = { htole32(5), 0, htole32(rig.ah) },
	};
	send_post();
}

static void datagram_without_handle(void)
{
	good_datagram();
	send_slot.req.ud.ah = htole32(NO_HANDLE);
	send_post();
}

/* ------------------------------------------------------------------------- */
/* Queues                                                                    */
/* ------------------------------------------------------------------------- */

#define SEND_TWIST(name, statement)					\
	static void name(void)						\
	{								\
		send_begin();						\
		statement;						\
		send_post();						\
	}

SEND_TWIST(send_opcode, send_slot.req.opcode = VIRTIO_IB_WR_FLUSH)
SEND_TWIST(send_flags, send_slot.req.send_flags = 1 << 4)
SEND_TWIST(send_padding, send_slot.req.padding = htole16(1))
SEND_TWIST(send_reserved, send_slot.req.reserved2[2] = htole32(1))
SEND_TWIST(send_operand, send_slot.req.rdma.rkey = htole32(1))
SEND_TWIST(send_write_operand, (send_slot.req.opcode = VIRTIO_IB_WR_RDMA_WRITE,
				send_slot.req.ud.ah = 0,
				send_slot.req.reserved[3] = htole64(1)))
SEND_TWIST(send_elements, send_slot.req.num_sge = htole32(SLOT_SGE + 1))
SEND_TWIST(send_inline_len, (send_slot.req.send_flags = VIRTIO_IB_SEND_INLINE,
			     send_slot.req.inline_len = htole16(33)))
SEND_TWIST(send_inline_rest, (send_slot.req.send_flags = VIRTIO_IB_SEND_INLINE,
			      send_slot.req.num_sge = htole32(1 << 16)))
SEND_TWIST(send_inline_read, (send_slot.req.opcode = VIRTIO_IB_WR_RDMA_READ,
			      send_slot.req.send_flags = VIRTIO_IB_SEND_INLINE))

static void send_unaligned(void)
{
	send_begin();
	post(sq(), send_slot.bytes, SQ_SLOT, 4);
}

static void send_short(void)
{
	send_begin();
	post(sq(), send_slot.bytes, sizeof(struct virtio_rdma_sq_req) - 8, 0);
}

static void send_short_for_elements(void)
{
	send_begin();
	send_slot.req.num_sge = htole32(1);
	post(sq(), send_slot.bytes, sizeof(struct virtio_rdma_sq_req), 0);
}

static void send_odd_length(void)
{
	send_begin();
	post(sq(), send_slot.bytes, SQ_SLOT + 8, 0);
}

static void send_in_pieces(void)
{
	struct guest_buf buf[2];

	send_begin();
	buf[0] = part(send_slot.bytes, 64, 0);
	buf[1] = part(send_slot.bytes + 64, SQ_SLOT - 64, 0);
	guest_vq_add(sq(), buf, 2);
	function_device_ops.kick(rig.fn, &rig.vq[sq() - rig.gvq]);
	run();
}

static void uc_read(void)
{
	struct virtio_rdma_cmd_modify_qp req;
	struct virtio_rdma_cmd_create_qp qp;

	make_all();
	qp = qp_req();
	qp.qp_type = VIRTIO_IB_QPT_UC;
	rig.qpn = create_qp(&qp);
	to(VIRTIO_IB_QPS_INIT);
	req = modify_req(VIRTIO_IB_QPS_RTR);
	req.attr_mask &= ~htole32(VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC |
				  VIRTIO_IB_QP_MIN_RNR_TIMER);
	modify(&req);
	req = modify_req(VIRTIO_IB_QPS_RTS);
	req.attr_mask = htole32(VIRTIO_IB_QP_STATE | VIRTIO_IB_QP_SQ_PSN);
	modify(&req);
	send_slot.req = (struct virtio_rdma_sq_req){ .opcode = VIRTIO_IB_WR_RDMA_READ };
	send_post();
}

static void recv_reserved(void)
{
	make_all();
	to_rts();
	recv_slot.req.reserved[1] = htole32(1);
	recv_post();
}

static void recv_elements(void)
{
	make_all();
	to_rts();
	recv_slot.req.num_sge = htole32(SLOT_SGE + 1);
	recv_post();
}

static void recv_short(void)
{
	make_all();
	to_rts();
	post(rq(), recv_slot.bytes, 16, 0);
	to(VIRTIO_IB_QPS_ERR);
	run();
}

/* A CQ whose slots have another form; the completion of a SEND meets one. */
static void completion_in(struct guest_buf *slots, unsigned int n)
{
	struct virtio_rdma_cmd_create_qp qp;
	struct virtio_rdma_cmd_add_gid gid = gid_req(0);

	query();
	roce(CMD(ADD_GID), &gid, sizeof(gid), NULL, 0);
	rig.pdn = create_pd();
	rig.cqn = create_cq(1, 0);
	guest_vq_add(&rig.gvq[3 + rig.cqn], slots, n);
	qp = qp_req();
	rig.qpn = create_qp(&qp);
	to_rts();
	send_slot.req = (struct virtio_rdma_sq_req){ .opcode = VIRTIO_IB_WR_SEND };
	send_post();
	to(VIRTIO_IB_QPS_ERR);
	run();
}

static void completion_short(void)
{
	struct guest_buf buf = part(NULL, 40, 0);

	completion_in(&buf, 1);
}

static void completion_unaligned(void)
{
	struct guest_buf buf = part(NULL, 48, 4);

	completion_in(&buf, 1);
}

static void completion_in_pieces(void)
{
	struct guest_buf buf[] = { part(NULL, 24, 0), part(NULL, 24, 0) };

	completion_in(buf, 2);
}

static void doorbell_of_nothing(void)
{
	query();
	/* The front-end may ring once. */
	function_device_ops.kick(rig.fn, &rig.vq[3 + CQS + 2 * 3]);
	function_device_ops.kick(rig.fn, &rig.vq[3 + CQS + 2 * 3]);
}

static void broken_ring(void)
{
	make_all();
	to_rts();
	sq()->avail->idx = htole16(NUM + 1);
	function_device_ops.kick(rig.fn, &rig.vq[sq() - rig.gvq]);
	run();
}

/* ------------------------------------------------------------------------- */

static const struct rule rules[] = {
	GOOD(good_datagram),

	BAD(send_opcode, "opcode 10 on a QP of type 2"),
	BAD(send_flags, "unknown send flags 0x10"),
	BAD(send_padding, "padding of a send request is not zero"),
	BAD(send_reserved, "reserved part of a send request is not zero"),
	BAD(send_operand, "reserved part of a send request is not zero"),
	BAD(send_write_operand, "reserved part of a send request is not zero"),
	BAD(send_elements, "3 elements, of 2 promised"),
	BAD(send_inline_len, "33 bytes inline, of 32 promised"),
	BAD(send_inline_rest, "more behind inline_len"),
	BAD(send_inline_read, "an inline READ"),
	BAD(send_unaligned, "a work request that is not aligned"),
	BAD(send_short, "a work request of 568 bytes"),
	BAD(send_short_for_elements, "1 elements in a slot of 576 bytes"),
	BAD(send_odd_length, "a work request of 616 bytes"),
	BAD(send_in_pieces, "a work request of 2 and 0 descriptors"),
	BAD(uc_read, "opcode 4 on a QP of type 3"),
	BAD(datagram_without_handle, "unknown address handle"),
	BAD(recv_reserved, "reserved part of a receive request is not zero"),
	BAD(recv_elements, "3 elements, of 2 promised"),
	BAD(recv_short, "a work request of 16 bytes"),
	BAD(completion_short, "a slot of 0 and 1 descriptors, 40 bytes"),
	BAD(completion_unaligned, "a slot that is not aligned"),
	BAD(completion_in_pieces, "a slot of 0 and 2 descriptors"),
	BAD(doorbell_of_nothing, "a doorbell of QP 3, which never was"),
	BAD(broken_ring, "is broken"),
};

int main(void)
{
	return test_rules(rules, ARRAY_SIZE(rules));
}
