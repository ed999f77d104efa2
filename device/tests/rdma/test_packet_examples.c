// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Annex C of Documentation/spec.rst, packets: one of each kind, ICRC included.
 *
 * Two functions exchange them by Ethernet ports.  Packets of RC are shown from the BTH on, the
 * datagram is a whole frame.  The key is the device's choice: the document's is put in its place.
 *
 * With SPEC_PRINT in the environment the test prints the packets in the form of the document,
 * and compares nothing.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/example.h"

#include <stdio.h>
#include <stdlib.h>

#define RC	VIRTIO_IB_QPT_RC
#define UD	VIRTIO_IB_QPT_UD
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

#define BTH_AT	42u
#define MAX	256
#define VLAN_7	(VIRTIO_RDMA_GID_TAGGED | 7)
#define QKEY	0x1234	/* of eg_modify_req() */

static void compare(const char *name, const uint8_t *p, size_t len)
{
	uint8_t wanted[MAX];
	size_t i;

	if (!getenv("SPEC_PRINT")) {
		assert_int_equal(example(name, wanted, sizeof(wanted)), len);
		assert_memory_equal(p, wanted, len);
		return;
	}
	for (i = 0; i < len; i++) {
		if (i % 16 == 0)
			printf("%s  %-10s %04zx ", i ? "\n" : "", name, i);
		printf(" %02x", p[i]);
	}
	printf("\n");
}

/* The last packet that a guest has sent, from the BTH on; it has a key at @key_at, if not 0. */
static void compare_sent(const char *name, unsigned int guest, size_t key_at)
{
	static const uint8_t doc_key[4] = { 0, 0, 0x15, 0x01 };
	uint8_t *frame = eg_port[guest].frame;
	size_t len = eg_port[guest].len;
	uint32_t icrc;

	if (key_at) {
		memcpy(frame + BTH_AT + key_at, doc_key, sizeof(doc_key));
		icrc = roce_icrc(frame, len - sizeof(icrc));
		memcpy(frame + len - sizeof(icrc), &icrc, sizeof(icrc));
	}
	compare(name, frame + BTH_AT, len - BTH_AT);
}

/* A request of "hello", or of its 8 bytes, to the peer's memory. */
static struct eg_wr request(const struct eg_pair *p, uint8_t opcode, uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a, 40, 0, len);

	memcpy(eg_ptr(p->a.guest, EG_DATA), "hello\0\0", 8);
	wr.opcode = opcode;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.lkey;
	return wr;
}

static void exchange(const struct eg_pair *p, const struct eg_wr *wr, const char *name,
		     const char *answer)
{
	/* Behind BTH, FETH of a FLUSH, and the address. */
	const size_t key_at = wr->opcode == VIRTIO_IB_WR_FLUSH ? 24 : 20;

	eg_post_send(&p->a, wr);
	eg_run(p->engine);
	eg_expect(&p->a, wr->wr_id, OK);
	compare_sent(name, 0, key_at);
	compare_sent(answer, 1, 0);
}

/* A WRITE, a READ of what it wrote, atomic operations on the 8 bytes behind, a FLUSH. */
static void test_requests(void **state)
{
	struct eg_pair p;
	struct eg_wr wr;

	eg_ports(*state);
	p = eg_pair_up(state, RC);
	eg_zero(p.b.guest, IN, 16);
	eg_recv(&p.b, 1, IN + 64, 64);

	wr = request(&p, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM, 5);
	wr.imm = 0x1234;
	exchange(&p, &wr, "p_write", "p_ack");
	wr = request(&p, VIRTIO_IB_WR_RDMA_READ, 5);
	exchange(&p, &wr, "p_read", "p_read_rsp");

	wr = request(&p, VIRTIO_IB_WR_FETCH_ADD, 8);
	wr.remote_addr += 8;
	wr.compare_add = 2;
	exchange(&p, &wr, "p_add", "p_added");
	wr = request(&p, VIRTIO_IB_WR_CMP_SWAP, 8);
	wr.remote_addr += 8;
	wr.compare_add = 2;
	wr.swap = 3;
	exchange(&p, &wr, "p_swap", "p_swapped");
	wr = request(&p, VIRTIO_IB_WR_ATOMIC_WRITE, 8);
	exchange(&p, &wr, "p_awrite", "p_awritten");

	wr = request(&p, VIRTIO_IB_WR_FLUSH, 0);
	wr.num_sge = 0;
	wr.flush_len = 8;
	wr.flush_type = VIRTIO_IB_FLUSH_GLOBAL;
	wr.flush_level = VIRTIO_IB_FLUSH_RANGE;
	exchange(&p, &wr, "p_flush", "p_flushed");
}

/* A message that finds no receive request. */
static void test_not_ready(void **state)
{
	struct eg_pair p;
	struct eg_wr wr;

	eg_ports(*state);
	p = eg_pair_up(state, RC);
	wr = request(&p, VIRTIO_IB_WR_SEND, 5);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	compare_sent("p_send", 0, 0);
	compare_sent("p_rnr", 1, 0);
}

/* A key of REG_USER_MR cannot be made invalid. */
static void test_refused(void **state)
{
	struct eg_pair p;
	struct eg_wr wr;

	eg_ports(*state);
	p = eg_pair_up(state, RC);
	eg_recv(&p.b, 1, IN, 64);
	wr = request(&p, VIRTIO_IB_WR_SEND_WITH_INV, 5);
	/* In the place of immediate data, but little-endian as all numbers in memory. */
	wr.imm = be32toh(htole32(p.b.lkey));
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, wr.wr_id, VIRTIO_IB_WC_REM_ACCESS_ERR);
	compare_sent("p_inv", 0, 12);
	compare_sent("p_nak", 1, 0);
}

static void add_gid_in_vlan(struct eg_guest *guest)
{
	struct virtio_rdma_cmd_add_gid req = { .vlan = htole16(VLAN_7) };

	eg_gid(guest, req.gid);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_ADD_GID, &req, sizeof(req),
				    NULL, 0), VIRTIO_NET_OK);
}

static void bring_up(struct eg_end *end)
{
	eg_to(end, UD, VIRTIO_IB_QPS_INIT, end);
	eg_to(end, UD, VIRTIO_IB_QPS_RTR, end);
	eg_to(end, UD, VIRTIO_IB_QPS_RTS, end);
}

/* A datagram in a VLAN, and what its receiver finds. */
static void test_datagram(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };
	struct eg_wr wr;

	eg_ports(engine);
	add_gid_in_vlan(&engine->guest[0]);
	add_gid_in_vlan(&engine->guest[1]);
	p.a = eg_open(&engine->guest[0], UD);
	p.b = eg_open(&engine->guest[1], UD);
	bring_up(&p.a);
	bring_up(&p.b);
	eg_recv(&p.b, 0x77, IN, 64);

	wr = request(&p, VIRTIO_IB_WR_SEND_WITH_IMM, 5);
	wr.imm = 0x1234;
	wr.remote_qpn = p.b.qpn;
	wr.remote_qkey = QKEY;
	wr.ah = eg_create_ah(p.a.guest, p.a.pdn, p.b.guest);
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	compare("p_ud", eg_port[0].frame, eg_port[0].len);
	compare("p_ud_buf", eg_ptr(p.b.guest, EG_DATA + IN), 45);
	compare("p_ud_cqe", eg_ptr(p.b.guest, p.b.guest->cq[p.b.cqn].slots), 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_requests, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_not_ready, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_refused, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_datagram, eg_setup, eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
