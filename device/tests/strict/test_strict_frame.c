// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The strict device: drivers that keep all rules, and framing of commands.
 */
#include "tests/strict/driver.h"

/* ------------------------------------------------------------------------- */
/* A driver that breaks no rule                                              */
/* ------------------------------------------------------------------------- */

static void good_life(void)
{
	struct virtio_rdma_cmd_destroy_ah ah;
	struct virtio_rdma_cmd_req_notify notify;
	struct virtio_rdma_cmd_query_qp query_qp;
	struct virtio_rdma_ack_query_qp state;
	__le16 gid = 0;
	unsigned int turn;

	for (turn = 0; turn < 3; turn++) {
		send_begin();
		notify = (struct virtio_rdma_cmd_req_notify){ htole32(rig.cqn),
			htole32(VIRTIO_IB_NOTIFY_NEXT_COMPLETION) };
		roce(CMD(REQ_NOTIFY_CQ), &notify, sizeof(notify), NULL, 0);
		send_post();
		query_qp = (struct virtio_rdma_cmd_query_qp){ htole32(rig.qpn),
			htole32(VIRTIO_IB_QP_STATE) };
		roce(CMD(QUERY_QP), &query_qp, sizeof(query_qp), &state, sizeof(state));
		recv_post();
		to(VIRTIO_IB_QPS_RESET);
		to_rts();
		to(VIRTIO_IB_QPS_RESET);
		to(VIRTIO_IB_QPS_INIT);
		simple(CMD(DESTROY_QP), rig.qpn);
		simple(CMD(DESTROY_CQ), rig.cqn);
		simple(CMD(DEREG_MR), rig.mrn);
		ah = (struct virtio_rdma_cmd_destroy_ah){ htole32(rig.pdn),
							  htole32(rig.ah) };
		roce(CMD(DESTROY_AH), &ah, sizeof(ah), NULL, 0);
		simple(CMD(DESTROY_PD), rig.pdn);
		roce(CMD(DEL_GID), &gid, sizeof(gid), NULL, 0);
		for (unsigned int i = 3; i < QUEUES; i++) {
			rig.gvq[i].avail_idx = 0;
			rig.gvq[i].avail->idx = 0;
			rig.gvq[i].used->idx = 0;
		}
	}
}

static void good_ethernet(void)
{
	static const uint8_t on = 1, mac[6] = { 2, 0, 0, 0, 0, 9 }, vlan[2] = { 7, 0 };
	static const uint8_t table[8] = { 0 };

	check(!control(VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_PROMISC, &on, 1, NULL, 0));
	check(!control(VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_ADDR_SET, mac, 6, NULL,
		       0));
	check(!control(VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, table, 8,
		       NULL, 0));
	check(!control(VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_ADD, vlan, 2, NULL, 0));
}

static void good_forgotten(void)
{
	make_all();
	function_device_ops.reset(rig.fn);
	check(!function_device_ops.negotiated(rig.fn,
					      function_device_ops.features(rig.fn)));
	query();
	rig.pdn = create_pd();
}

/* ------------------------------------------------------------------------- */
/* Framing                                                                   */
/* ------------------------------------------------------------------------- */

static const uint8_t create_cq_header[] = { VIRTIO_NET_CTRL_ROCE, CMD(CREATE_CQ) };
static const __le32 four = 4;

static void header_with_request(void)
{
	static const uint8_t both[] = { VIRTIO_NET_CTRL_ROCE, CMD(CREATE_CQ), 4, 0, 0, 0 };
	const struct guest_buf buf[] = { part(both, 6, 0), part(NULL, 1, 0),
					 part(NULL, 4, 0) };

	query();
	submit(buf, 3, 1);
}

static void ack_with_response(void)
{
	const struct guest_buf buf[] = { part(create_cq_header, 2, 0), part(&four, 4, 0),
					 part(NULL, 5, 0) };

	query();
	submit(buf, 3, 2);
}

static void no_ack(void)
{
	const struct guest_buf buf[] = { part(create_cq_header, 2, 0), part(&four, 4, 0) };

	query();
	submit(buf, 2, 0);
}

static void request_in_pieces(void)
{
	const struct guest_buf buf[] = { part(create_cq_header, 2, 0), part(&four, 2, 0),
					 part(&four, 2, 0), part(NULL, 1, 0),
					 part(NULL, 4, 0) };

	query();
	submit(buf, 5, 3);
}

static void region_in_pieces(void)
{
	static const uint8_t header[] = { VIRTIO_NET_CTRL_ROCE, CMD(REG_USER_MR) };
	struct guest_buf buf[5];
	struct mr_req req;

	mr_fill(&req);
	buf[0] = part(header, 2, 0);
	buf[1] = part(&req, 40, 0);
	buf[2] = part(&req.page[1], 8, 0);
	buf[3] = part(NULL, 1, 0);
	buf[4] = part(NULL, 12, 0);
	query();
	submit(buf, 5, 3);
}

static void response_in_pieces(void)
{
	const struct guest_buf buf[] = { part(create_cq_header, 2, 0), part(&four, 4, 0),
					 part(NULL, 1, 0), part(NULL, 2, 0),
					 part(NULL, 2, 0) };

	query();
	submit(buf, 5, 2);
}

static void request_too_long(void)
{
	static const uint8_t eight[8] = { 4 };

	query();
	roce(CMD(CREATE_CQ), eight, 8, &(uint32_t){ 0 }, 4);
}

static void response_too_long(void)
{
	uint8_t rsp[8];

	query();
	roce(CMD(CREATE_CQ), &four, 4, rsp, 8);
}

static void request_where_none_is(void)
{
	query();
	roce(CMD(CREATE_PD), &four, 4, &(uint32_t){ 0 }, 4);
}

static void unaligned(unsigned int which)
{
	const struct guest_buf buf[] = { part(create_cq_header, 2, which == 0 ? 2 : 0),
					 part(&four, 4, which == 1 ? 4 : 0),
					 part(NULL, 1, which == 2 ? 1 : 0),
					 part(NULL, 4, which == 3 ? 4 : 0) };

	query();
	submit(buf, 4, 2);
}

static void unaligned_header(void)
{
	unaligned(0);
}

static void unaligned_request(void)
{
	unaligned(1);
}

static void unaligned_ack(void)
{
	unaligned(2);
}

static void unaligned_response(void)
{
	unaligned(3);
}

static void empty_part(void)
{
	const struct guest_buf buf[] = { part(create_cq_header, 2, 0), part("", 0, 0),
					 part(NULL, 1, 0) };

	submit(buf, 3, 2);
}

static void ethernet_merged(void)
{
	static const uint8_t both[] = { VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_PROMISC, 1 };
	const struct guest_buf buf[] = { part(both, 3, 0), part(NULL, 1, 0) };

	submit(buf, 2, 1);
}

static void ethernet_unaligned(void)
{
	static const uint8_t header[] = { VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_PROMISC };
	const struct guest_buf buf[] = { part(header, 2, 0), part("\1", 1, 3),
					 part(NULL, 1, 0) };

	submit(buf, 3, 2);
}

static void ethernet_too_long(void)
{
	static const uint8_t mode[2] = { 1, 0 };

	control(VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_PROMISC, mode, 2, NULL, 0);
}

static void ethernet_response(void)
{
	uint8_t rsp;

	control(VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_PROMISC, "\1", 1, &rsp, 1);
}

static void ethernet_not_offered(void)
{
	control(VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET, "\1\0", 2, NULL, 0);
}

static void table_with_rest(void)
{
	static const uint8_t table[12] = { 0 };

	control(VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, table, 12, NULL, 0);
}

static void table_cut_off(void)
{
	static const uint8_t table[8] = { 3 };

	control(VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, table, 8, NULL, 0);
}

static void extension_command(void)
{
	struct virtio_rdma_ack_query_counters ack;

	query();
	roce(CMD(QUERY_COUNTERS), NULL, 0, &ack, sizeof(ack));
}

/* ------------------------------------------------------------------------- */

static const struct rule rules[] = {
	GOOD(good_life),
	GOOD(good_ethernet),
	GOOD(good_forgotten),

	BAD(header_with_request, "header is not a descriptor of its own"),
	BAD(ack_with_response, "ack is not a descriptor of its own"),
	BAD(no_ack, "ack is not a descriptor of its own"),
	BAD(request_in_pieces, "CREATE_CQ: 2 descriptors for the request"),
	BAD(region_in_pieces, "REG_USER_MR: 2 descriptors for the request"),
	BAD(response_in_pieces, "CREATE_CQ: 2 descriptors for the response"),
	BAD(request_too_long, "8 bytes for the request, which has 4"),
	BAD(response_too_long, "8 bytes for the response, which has 4"),
	BAD(request_where_none_is, "CREATE_PD: 1 descriptors for the request"),
	BAD(unaligned_header, "descriptor 0 of a command is not aligned"),
	BAD(unaligned_request, "descriptor 1 of a command is not aligned"),
	BAD(unaligned_ack, "descriptor 2 of a command is not aligned"),
	BAD(unaligned_response, "descriptor 3 of a command is not aligned"),
	BAD(empty_part, "virtqueue 2 is broken"),
	BAD(ethernet_merged, "header is not a descriptor of its own"),
	BAD(ethernet_unaligned, "descriptor 1 of a command is not aligned"),
	BAD(ethernet_too_long, "a request of 1 descriptors, 2 bytes"),
	BAD(ethernet_response, "more than an ack to write"),
	BAD(ethernet_not_offered, "command 0 of class 4 was not offered"),
	BAD(table_with_rest, "a table with a rest behind it"),
	BAD(table_cut_off, "fewer addresses than entries"),
	BAD(extension_command, "RoCE command 40, which the RFC has not"),
};

int main(void)
{
	return test_rules(rules, ARRAY_SIZE(rules));
}
