// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * count WHAT BURSTS: work for a tool that counts the daemon's instructions.
 * count --list: what there is.
 *
 * Two guests in this process, one RC connection with direct rings.  Each burst posts
 * DEPTH requests, has the daemon's engine look at both guests once, and takes the
 * completions.  scripts/suites/counts.py runs it under callgrind, which counts eg_work() only,
 * for two numbers of bursts; the difference is the work.
 *
 * "nvmf_read_4096" has 64 Reads of 4 KiB under way, of a namespace that keeps nothing, at a
 * target of the daemon's own: counted is what NIC and target do.
 *
 * "takeover_qp" has DEPTH idle QPs with a CQ each for each burst, and saves and loads all of them
 * once: counted are count_save() and count_load().
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "ether/switch.h"
#include "rdma/rnic_image.h"
#include "storage/ns.h"
#include "storage/staging.h"
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"
#include "tests/lib/reader.h"

#define DEPTH	16u
#define IN	EG_IN

/**
 * struct work - what is counted
 * @name:	WHAT
 * @opcode:	of the requests, or -1: there are none
 * @len:	bytes of each
 * @flags:	of each
 * @recv:	each takes a receive request
 * @packets:	guests reach each other by packets
 * @mtu:	path MTU, &enum virtio_ib_mtu; 0: the usual one
 */
struct work {
	const char *name;
	int opcode;
	uint32_t len;
	uint8_t flags;
	bool recv;
	enum {
		IN_MEMORY,
		BY_CABLE,
		BY_SWITCH,
	} packets;
	uint8_t mtu;
};

static const struct work works[] = {
	{ "send_8", VIRTIO_IB_WR_SEND, 8, VIRTIO_IB_SEND_SIGNALED, true, IN_MEMORY, 0 },
	{ "send_8_inline", VIRTIO_IB_WR_SEND, 8,
	  VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_INLINE, true, IN_MEMORY, 0 },
	{ "write_8", VIRTIO_IB_WR_RDMA_WRITE, 8, VIRTIO_IB_SEND_SIGNALED, false, IN_MEMORY, 0 },
	{ "read_8", VIRTIO_IB_WR_RDMA_READ, 8, VIRTIO_IB_SEND_SIGNALED, false, IN_MEMORY, 0 },
	{ "fetch_add", VIRTIO_IB_WR_FETCH_ADD, 8, VIRTIO_IB_SEND_SIGNALED, false, IN_MEMORY, 0 },
	{ "send_4096", VIRTIO_IB_WR_SEND, 4096, VIRTIO_IB_SEND_SIGNALED, true, IN_MEMORY, 0 },
	{ "write_65536", VIRTIO_IB_WR_RDMA_WRITE, 65536, VIRTIO_IB_SEND_SIGNALED, false,
	  IN_MEMORY, 0 },
	{ "write_1m", VIRTIO_IB_WR_RDMA_WRITE, 1u << 20, VIRTIO_IB_SEND_SIGNALED, false,
	  IN_MEMORY, 0 },
	{ "packet_8", VIRTIO_IB_WR_SEND, 8, VIRTIO_IB_SEND_SIGNALED, true, BY_CABLE, 0 },
	{ "packet_1024", VIRTIO_IB_WR_SEND, 1024, VIRTIO_IB_SEND_SIGNALED, true, BY_CABLE, 0 },
	{ "switch_64", VIRTIO_IB_WR_SEND, 64, VIRTIO_IB_SEND_SIGNALED, true, BY_SWITCH,
	  VIRTIO_IB_MTU_4096 },
	{ "switch_4096", VIRTIO_IB_WR_SEND, 4096, VIRTIO_IB_SEND_SIGNALED, true, BY_SWITCH,
	  VIRTIO_IB_MTU_4096 },
	{ "switch_65536", VIRTIO_IB_WR_RDMA_WRITE, 65536, VIRTIO_IB_SEND_SIGNALED, false,
	  BY_SWITCH, VIRTIO_IB_MTU_4096 },
	{ "nothing", -1, 0, 0, false, IN_MEMORY, 0 },
};

/* ------------------------------------------------------------------------- */
/* The switch, with what function/eth.c does for a NIC                       */
/* ------------------------------------------------------------------------- */

#define PORT_MTU	9000

static struct switch_port ports[EG_GUESTS];

static bool port_send(void *arg, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct switch_port *port = arg;
	struct frame frame;

	if (frame_init(&frame, &iov, 1, 0, len))
		return false;
	frame.origin = eg_port[port - ports].rnic;
	switch_send(port, &frame);
	return true;
}

static void port_deliver(void *arg, const struct frame *frame)
{
	const struct switch_port *port = arg;

	rnic_frame(eg_port[port - ports].rnic, frame->origin, frame->iov, frame->iov_n,
		   frame->off, frame->len);
}

static void port_flush(void *arg __always_unused)
{
}

static const uint8_t *port_mac(void *arg)
{
	static const uint8_t macs[EG_GUESTS][ETH_ALEN] = {
		{ 0x52, 0x54, 0, 0, 0, 1 }, { 0x52, 0x54, 0, 0, 0, 2 },
	};

	return macs[(struct switch_port *)arg - ports];
}

static bool port_knows(void *arg __always_unused, const uint8_t *mac __always_unused)
{
	return false;
}

static uint32_t port_mtu(void *arg __always_unused)
{
	return PORT_MTU;
}

static const struct rnic_eth port_eth = {
	.send = port_send,
	.mac = port_mac,
	.hears = port_knows,
	.mtu = port_mtu,
	.behind = port_knows,
};

static void plug(struct engine *engine)
{
	struct l2_switch *sw = switch_new(engine->loop);
	unsigned int i;

	assert_non_null(sw);
	eg_ports(engine);
	for (i = 0; i < EG_GUESTS; i++) {
		ports[i] = (struct switch_port) {
			.deliver = port_deliver,
			.flush = port_flush,
			.arg = &ports[i],
		};
		switch_port_add(sw, &ports[i]);
		rnic_set_eth(eg_port[i].rnic, &port_eth, &ports[i]);
	}
}

static void connect_end(struct eg_end *end, const struct eg_end *peer, uint8_t mtu)
{
	const struct switch_port *port = &ports[peer->guest - end->guest > 0];
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t state;

	for (state = VIRTIO_IB_QPS_RESET; state <= VIRTIO_IB_QPS_RTS; state++) {
		req = eg_modify_req(end->qpn, VIRTIO_IB_QPT_RC, state, peer->guest, peer->qpn);
		memcpy(req.ah_attr.dmac, port_mac((void *)port), ETH_ALEN);
		req.path_mtu = mtu;
		assert_int_equal(eg_modify(end->guest, &req), VIRTIO_NET_OK);
	}
}

static void connect_by_switch(struct er_pair *p, uint8_t mtu)
{
	connect_end(&p->a.end, &p->b.end, mtu);
	connect_end(&p->b.end, &p->a.end, mtu);
}

/* ------------------------------------------------------------------------- */
/* Work                                                                      */
/* ------------------------------------------------------------------------- */

static void burst(struct er_pair *p, const struct work *work, uint32_t n)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, work->len);
	struct virtio_rdma_cqe cqe;
	uint64_t data = 0;
	unsigned int i;

	wr.opcode = work->opcode;
	wr.flags = work->flags;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	if (work->flags & VIRTIO_IB_SEND_INLINE) {
		wr.data = &data;
		wr.data_len = work->len;
	}
	for (i = 0; work->opcode >= 0 && i < DEPTH; i++) {
		if (work->recv)
			er_recv(&p->b, IN, work->len);
		er_post_send(&p->a.qp, &wr);
	}
	eg_work(p->a.end.guest->rnic);
	eg_work(p->b.end.guest->rnic);
	/* A request may be answered later, or take more than one turn. */
	if (work->opcode >= 0)
		eg_run(p->engine);
	for (i = 0; work->opcode >= 0 && i < DEPTH; i++) {
		assert_true(er_poll(&p->a.cq, &cqe));
		assert_int_equal(cqe.status, 0);
		assert_int_equal(le32toh(cqe.wqe), n * DEPTH + i);
		if (work->recv)
			assert_true(er_poll(&p->b.cq, &cqe));
	}
}

/* All of them have the same rings, as the guest has little memory. */
static void add_qps(struct er_end *end, uint32_t n)
{
	static const struct er_shape shape = { .send_depth = 64, .recv_depth = 64 };
	struct eg_guest *guest = end->end.guest;
	const uint64_t rings = guest->next;
	struct eg_end here = end->end;
	struct er_cq cq;
	struct er_qp qp;
	uint32_t i;

	for (i = 0; i < n; i++) {
		guest->next = rings;
		er_cq_init(&cq, guest, 128, 5, 0);
		assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
		er_qp_init(&qp, &end->page, &cq, 10 + i, VIRTIO_IB_QPT_RC, here.pdn, &shape);
		assert_int_equal(er_create_qp(&qp), VIRTIO_NET_OK);
		here.qpn = qp.qpn;
		eg_to(&here, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPS_INIT, &end->end);
		eg_to(&here, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPS_RTR, &end->end);
		eg_to(&here, VIRTIO_IB_QPT_RC, VIRTIO_IB_QPS_RTS, &end->end);
	}
}

/* The functions that are counted: as they return nothing, they do not end with a jump. */
static EG_WHOLE void count_save(struct rnic *rnic, struct state *to)
{
	assert_true(rnic_save(rnic, to));
}

static EG_WHOLE void count_load(struct rnic *rnic, struct state *from)
{
	assert_true(rnic_load(rnic, from));
}

static void take_over(uint32_t n)
{
	static const struct er_shape plain;
	struct state from, to;
	struct engine *engine;
	void *state = NULL;
	struct er_end end;

	eg_setup_direct_many(&state);
	engine = state;
	er_open(&end, &engine->guest[0], VIRTIO_IB_QPT_RC, &plain);
	add_qps(&end, n * DEPTH);
	state_write(&from);
	count_save(engine->guest[0].rnic, &from);
	assert_true(state_written(&from));
	eg_reset(&engine->guest[0]);
	assert_true(state_read(&to, from.data, from.at));
	to.handed_over = true;
	count_load(engine->guest[0].rnic, &to);
	state_free(&from);
}

static void round_of_reads(struct reader *r) EG_WHOLE;

/* The function that is counted. */
static void round_of_reads(struct reader *r)
{
	reader_poll(r);
}

static void read_namespace(uint32_t n)
{
	struct staging *staging = staging_new(STAGING_DEFAULT);
	struct nvmf_pool pool = {
		.alloc = staging_alloc,
		.alloc_of = staging_alloc_of,
		.free = staging_release,
		.arg = staging,
		.size = STAGING_DEFAULT,
	};
	uint32_t posted, taken = 0;
	struct reader r;
	void *state = NULL;
	struct ns ns;
	uint16_t slot;

	assert_int_equal(bed_setup(&state), 0);
	ns_null(&ns, "null", 1 << 30, false);
	reader_open(&r, &state, &ns, &pool, staging_base(staging));
	for (posted = 0; posted < READER_DEPTH; posted++)
		reader_read(&r, posted, posted * READER_BYTES);
	while (taken < n * DEPTH) {
		round_of_reads(&r);
		while (taken < n * DEPTH && reader_take(&r, &slot)) {
			taken++;
			reader_read(&r, slot, posted++ * READER_BYTES);
		}
	}
}

int main(int argc, char **argv)
{
	const struct work *work = works;
	struct er_pair *p;
	void *state = NULL;
	uint32_t i, n;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < ARRAY_SIZE(works); i++)
			puts(works[i].name);
		puts("takeover_qp");
		puts("nvmf_read_4096");
		return 0;
	}
	if (argc != 3)
		return 2;
	/* These two guests are the only ones with work. */
	engine_loop_awake = RNIC_GUESTS_FEW;
	n = strtoul(argv[2], NULL, 0);
	if (!strcmp(argv[1], "takeover_qp")) {
		take_over(n);
		return 0;
	}
	if (!strcmp(argv[1], "nvmf_read_4096")) {
		read_namespace(n);
		return 0;
	}
	while (work < works + ARRAY_SIZE(works) && strcmp(work->name, argv[1]))
		work++;
	if (work == works + ARRAY_SIZE(works))
		return 2;
	eg_setup_direct(&state);
	if (work->packets == BY_CABLE)
		eg_ports(state);
	else if (work->packets == BY_SWITCH)
		plug(state);
	p = er_pair_up(&state, VIRTIO_IB_QPT_RC, NULL);
	if (work->mtu)
		connect_by_switch(p, work->mtu);
	for (i = 0; i < n; i++)
		burst(p, work, i);
	er_pair_free(p);
	return 0;
}
