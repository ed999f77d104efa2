// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A guest that connects to a node, as its kernel's connection manager does it.
 */
#include "tests/lib/node_caller.h"

#include "packet/inet.h"

#define GSI_QKEY	0x80010000u
#define GRH		40u
#define SLOT		512u
#define SLOTS		32u

static void post_recv(struct caller *c)
{
	const unsigned int i = c->recvs++;

	eg_recv(&c->gsi, i, EG_IN + i % SLOTS * SLOT, SLOT);
}

static void open_gsi(struct caller *c)
{
	struct eg_guest *guest = &c->bed->engine->guest[c->number];
	struct virtio_rdma_cmd_create_ah req = {};
	struct virtio_rdma_cmd_modify_qp modify;
	struct virtio_rdma_ack_create_ah ack;
	uint8_t state;

	c->gsi = eg_open(guest, VIRTIO_IB_QPT_GSI);
	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		modify = eg_modify_req(c->gsi.qpn, VIRTIO_IB_QPT_GSI, state, guest, 0);
		modify.qkey = htole32(GSI_QKEY);
		assert_int_equal(eg_modify(guest, &modify), VIRTIO_NET_OK);
	}
	req.pdn = htole32(c->gsi.pdn);
	req.ah_attr.grh.hop_limit = 1;
	memcpy(req.ah_attr.grh.dgid, c->bed->config.gid[0], GID_SIZE);
	memcpy(req.ah_attr.dmac, c->bed->config.mac, ETH_ALEN);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_AH, &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_OK);
	c->ah = le32toh(ack.ah);
	while (c->recvs < SLOTS)
		post_recv(c);
}

void be_known(struct caller *c)
{
	const struct bed_port *port = &c->bed->port[c->number];
	uint8_t frame[60] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, [12] = 8, 6,
		0, 1, 8, 0, 6, 4, 0, 1, [28] = 10, 0, 0, c->number + 1, [38] = 10, 0, 0, 9,
	};

	memcpy(frame + 6, port->mac, ETH_ALEN);
	memcpy(frame + 22, port->mac, ETH_ALEN);
	bed_frame(c->bed, c->number, frame, sizeof(frame));
}

struct caller *caller(void **state, unsigned int number)
{
	static struct caller callers[EG_GUESTS];
	struct caller *c = &callers[number];

	memset(c, 0, sizeof(*c));
	c->bed = *state;
	c->number = number;
	open_gsi(c);
	be_known(c);
	return c;
}

static const uint8_t *slot(const struct caller *c, unsigned int i)
{
	return eg_ptr(c->gsi.guest, EG_DATA + EG_IN + i % SLOTS * SLOT);
}

void listen(struct caller *c)
{
	struct eg_wc wc;

	while (eg_poll(&c->gsi, &wc)) {
		assert_int_equal(wc.status, 0);
		if (wc.opcode != VIRTIO_IB_WC_RECV)
			continue;
		assert_int_equal(wc.byte_len, GRH + CALLER_MAD);
		assert_int_equal(wc.src_qp, 1);
		assert_true(c->n < 64);
		memcpy(c->msg[c->n++], slot(c, wc.wr_id) + GRH, CALLER_MAD);
		post_recv(c);
	}
}

void say(struct caller *c, const uint8_t *msg)
{
	struct eg_wr wr = eg_send(&c->gsi, 99, 0, CALLER_MAD);

	memcpy(eg_ptr(c->gsi.guest, EG_DATA), msg, CALLER_MAD);
	wr.remote_qpn = 1;
	wr.remote_qkey = GSI_QKEY;
	wr.ah = c->ah;
	eg_post_send(&c->gsi, &wr);
	bed_run(c->bed);
	listen(c);
}

void put_message(uint8_t *msg, uint16_t attr, uint32_t local, uint32_t remote)
{
	static const uint8_t head[] = { 1, 7, 2, 3 };

	memset(msg, 0, CALLER_MAD);
	memcpy(msg, head, sizeof(head));
	put_be64(msg + 8, TID);
	put_be16(msg + 16, attr);
	put_be32(msg + 24, local);
	put_be32(msg + 28, remote);
}

/* As the kernel of a host that connects to 10.0.0.9. */
void put_req(const struct caller *c, uint8_t *msg, uint32_t id, uint32_t qpn)
{
	put_message(msg, REQ, id, 0);
	put_be64(msg + 32, 0x1060000 + CALLER_PORT);
	put_be24(msg + 56, qpn);
	msg[59] = 4;
	msg[67] = 20 << 3;
	put_be24(msg + 68, CALLER_PSN);
	msg[71] = 20 << 3 | 7;
	put_be16(msg + 72, 0xffff);
	msg[74] = VIRTIO_IB_MTU_4096 << 4 | 7;
	msg[75] = 15 << 4;
	msg[119] = 16 << 3;
	msg[165] = 4 << 4;
	memcpy(msg + 164 + 16, "\12\0\0", 3);
	msg[164 + 19] = c->number + 1;
	memcpy(msg + 164 + 32, "\12\0\0\11", 4);
	memcpy(msg + 200, "private", 7);
}

const uint8_t *heard(const struct caller *c, unsigned int i, uint16_t attr)
{
	static const uint8_t head[] = { 1, 7, 2, 3 };

	assert_true(i < c->n);
	assert_memory_equal(c->msg[i], head, sizeof(head));
	assert_int_equal(get_be16(c->msg[i] + 16), attr);
	return c->msg[i];
}

uint32_t call_with(struct caller *c, const uint8_t *req)
{
	const unsigned int before = c->n;
	const uint8_t *rep;

	say(c, req);
	assert_int_equal(c->n, before + 1);
	rep = heard(c, before, REP);
	assert_int_equal(get_be32(rep + 28), get_be32(req + 24));
	assert_int_equal(get_be64(rep + 8), TID);
	return get_be32(rep + 24);
}

uint32_t call(struct caller *c, uint32_t id, uint32_t qpn)
{
	uint8_t msg[CALLER_MAD];

	put_req(c, msg, id, qpn);
	return call_with(c, msg);
}

struct eg_end connect_qp(struct caller *c, const struct eg_end *closed,
				const uint8_t *rep)
{
	struct eg_end end = *closed;
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t state;

	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		req = eg_modify_req(end.qpn, VIRTIO_IB_QPT_RC, state, end.guest,
				    get_be24(rep + 36));
		memcpy(req.ah_attr.grh.dgid, c->bed->config.gid[0], GID_SIZE);
		memcpy(req.ah_attr.dmac, c->bed->config.mac, ETH_ALEN);
		req.path_mtu = VIRTIO_IB_MTU_4096;
		/* Each side tells the other one what to begin with. */
		req.rq_psn = htole32(CALLER_PSN);
		req.sq_psn = htole32(get_be24(rep + 44));
		assert_int_equal(eg_modify(end.guest, &req), VIRTIO_NET_OK);
	}
	return end;
}
