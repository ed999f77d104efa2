// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The worst that one guest can do to others: two guests play ping-pong while a third one
 * does one thing that makes the daemon walk along as much of it as there may be.
 * $SANDBOXED is the path of the daemon, as shipped.
 *
 * Noise that goes on all the time is judged by the p99 of the pings, against that of the two
 * guests alone, as struct pp_worse has it: blocks with noise and without take turns.  An
 * act that happens once is judged by the worst ping, and by the daemon's own time in it.
 * The scheduler also counts as the daemon's time what the machine's host gives to others, so
 * that an act with a long ping happens again.  A fault of the daemon shows each time, but where
 * other processes leave it and the guests little: then their waits hide it.
 */
#include <endian.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/front_direct.h"
#include "tests/lib/pingpong.h"

/*
 * By so much, in the measure of struct pp_worse, the most costly turns make pings worse;
 * others, with less to do, do less.  Each is twice to four times what was seen beside a
 * load of 20; without bounds all of this was 8 to 100 times.
 */
#define TIMES_WORSE	10
#define TIMES_SOME	4
#define TIMES_FEW	2

/*
 * The daemon may be at something that happens once for so many units (pp_unit()).  A part of
 * it takes 5 of them; all of BIG_MEM, if it is unmapped in one go, takes 300.
 */
#define ONCE_TIMES	200

/* How long C may be at what it has begun. */
#define SETTLE_NS	20000000ULL

/* How long pings go on after that. */
#define ONCE_TIME_NS	300000000ULL

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE) | \
			 BIT(VIRTIO_NET_F_CSUM) | BIT(VIRTIO_NET_F_HOST_TSO4) | \
			 BIT(VIRTIO_NET_F_MRG_RXBUF))

/* Windows of one region, and QPs that bind them. */
#define WINDOWS		8000u
#define BINDERS		4u

/* Doorbell pages, without those of A and B. */
#define PAGES		1000u

/* QPs that are there when a guest ends, and groups that they are all in. */
#define QPS		14000u
#define GROUPS		128u
#define MEMBERS		64u

/* Memory that was touched when a guest ends. */
#define BIG_MEM		(384ull << 20)
#define BIG_PART	(8u << 20)

/* Pieces of a receive buffer. */
#define RX_PIECES	1000u

static struct front *c = &pp.guest[2];

/* Until all of what C wants has been done. */
static void settle(void)
{
	const uint64_t end = pp_now() + SETTLE_NS;
	uint64_t took;

	while (pp_now() < end)
		pp_ping(&took);
}

static void expect_bearable(const char *what, unsigned int times, void (*again)(void))
{
	struct pp_worse worse = {};
	uint64_t alone;
	unsigned int i;

	for (i = 0; pp_worse_more(&worse, i, times); i++) {
		settle();
		alone = pp_block(NULL, NULL);
		again();
		if (!i)
			pp_block(again, NULL);
		pp_worse_add(&worse, alone, pp_block(again, NULL));
	}
	pp_worse_expect(&worse, what, times);
}

/* Something has just begun, and is done with some time later.  Return: no ping was long. */
static bool no_pause(const char *what)
{
	const uint64_t end = pp_now() + ONCE_TIME_NS, unit = pp_unit();
	uint64_t took, worst = 0;
	unsigned int n;

	for (n = 0; pp_now() < end || !n; n++) {
		pp_ping(&took);
		if (pp_pause(took) > worst)
			worst = pp_pause(took);
	}
	print_message("%s: the worst of %u pings waited %ju ns, unit %ju ns\n", what, n,
		      (uintmax_t)worst, (uintmax_t)unit);
	return worst <= ONCE_TIMES * unit;
}

static bool is_open;

static void c_open(uint64_t features, size_t mem)
{
	front_open_mem(c, pp.path[2], 3, features, mem);
	is_open = true;
}

/* Whatever a test came to. */
static int end_c(void **state)
{
	if (is_open)
		front_close(c);
	is_open = false;
	return 0;
}

/* @act opens C, and begins with what happens once. */
static void expect_no_pause(const char *what, void (*act)(void))
{
	unsigned int i;
	bool good = false;

	for (i = 0; i < PP_PAIRS_MOST && !good; i++) {
		act();
		good = no_pause(what);
		end_c(NULL);
	}
	assert_true(good);
}

/* ------------------------------------------------------------------------- */
/* Ethernet                                                                  */
/* ------------------------------------------------------------------------- */

/* A TCP packet of a guest, to be cut into segments of @size bytes. */
static void frame_add(struct front *from, const uint8_t *to, uint16_t size, uint32_t len)
{
	struct virtio_net_hdr_v1 hdr = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.gso_size = htole16(size),
		.csum_start = htole16(sizeof(struct ether_header) + sizeof(struct iphdr)),
		.csum_offset = htole16(offsetof(struct tcphdr, check)),
	};
	struct ether_header eth = {
		.ether_shost = { 0x52, 0x54, 0, 0, 0xce, from->number },
		.ether_type = htons(ETHERTYPE_IP),
	};
	const struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(len - sizeof(eth)),
		.protocol = IPPROTO_TCP,
	};
	const struct tcphdr tcp = { .doff = 5 };
	struct guest_buf buf = {
		.addr = guest_alloc(&from->guest, sizeof(hdr) + len, 64),
		.len = sizeof(hdr) + len,
	};
	uint8_t *p = guest_ptr(&from->guest, buf.addr);

	memcpy(eth.ether_dhost, to, sizeof(eth.ether_dhost));
	memcpy(p, &hdr, sizeof(hdr));
	memcpy(p + sizeof(hdr), &eth, sizeof(eth));
	memcpy(p + sizeof(hdr) + sizeof(eth), &ip, sizeof(ip));
	memcpy(p + sizeof(hdr) + sizeof(eth) + sizeof(ip), &tcp, sizeof(tcp));
	guest_vq_add(&from->vq[FRONT_TX].gvq, &buf, 1);
}

static void frames_again(void)
{
	front_again(&c->vq[FRONT_TX]);
}

/* Segments of one byte, and as many as a frame may become. */
static void test_segments(void **state)
{
	const uint8_t all[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	unsigned int i;

	c_open(FEATURES, FRONT_MEM);
	for (i = 0; i < 32; i++) {
		frame_add(c, all, 1, 65000);
		frame_add(c, all, 254, 65000);
	}
	front_kick(&c->vq[FRONT_TX]);
	expect_bearable("segments", 2 * TIMES_WORSE, frames_again);
}

static void receive_again(void)
{
	front_again(&pp.guest[0].vq[FRONT_TX]);
}

/* A sends to C, whose buffers are of as many pieces as there may be, and do not suffice. */
static void test_receive_pieces(void **state)
{
	const uint8_t to[] = { 0x52, 0x54, 0, 0, 0xce, 3 };
	struct front_vq *rx = &c->vq[FRONT_RX], *tx = &pp.guest[0].vq[FRONT_TX];
	struct vring_desc *desc;
	uint64_t table;
	unsigned int i;

	c_open(FEATURES | BIT(VIRTIO_NET_F_GUEST_CSUM) | BIT(VIRTIO_NET_F_GUEST_TSO4),
	       FRONT_MEM);
	table = guest_alloc(&c->guest, RX_PIECES * sizeof(*desc), 16);
	desc = guest_ptr(&c->guest, table);
	for (i = 0; i < RX_PIECES; i++)
		desc[i] = (struct vring_desc) {
			.addr = guest_alloc(&c->guest, 64, 64),
			.len = 1,
			.flags = VRING_DESC_F_WRITE |
				 (i + 1 < RX_PIECES ? VRING_DESC_F_NEXT : 0),
			.next = i + 1,
		};
	for (i = 0; i < FRONT_NUM; i++) {
		rx->gvq.desc[i] = (struct vring_desc) {
			.addr = table, .len = RX_PIECES * sizeof(*desc),
			.flags = VRING_DESC_F_INDIRECT,
		};
		guest_vq_add_head(&rx->gvq, i);
	}
	for (i = 0; i < 64; i++)
		frame_add(&pp.guest[0], to, 1000, 65000);
	front_kick(tx);
	/* A pays for what it sends: it is a frame for each ping or two. */
	expect_bearable("receive buffers", TIMES_WORSE, receive_again);
}

/* ------------------------------------------------------------------------- */
/* RDMA                                                                      */
/* ------------------------------------------------------------------------- */

static struct front_qp binder[BINDERS];
static uint32_t window[WINDOWS];
static uint32_t next_window;
static uint32_t region;
static uint64_t region_addr;

/* Each slot binds the window that was bound the longest time ago. */
static void bind_next(struct front_vq *vq, uint32_t slot)
{
	uint32_t *key = &window[next_window++ % WINDOWS];
	struct virtio_rdma_sq_req *req = front_slot(vq, slot);

	*key = (*key & ~0xffu) | ((*key + 1) & 0xff);
	req->opcode = VIRTIO_IB_WR_BIND_MW;
	req->bind.addr = htole64(region_addr);
	req->bind.length = htole64(4096);
	req->bind.mr_key = htole32(region);
	req->bind.key = htole32(*key);
	req->bind.access = htole32(VIRTIO_IB_ACCESS_REMOTE_READ);
	guest_vq_add_head(&vq->gvq, slot);
}

static void bind_again(void)
{
	struct front_vq *vq;
	uint32_t head, len;
	unsigned int i;

	for (i = 0; i < BINDERS; i++) {
		vq = front_send_vq(&binder[i]);
		while (guest_vq_get(&vq->gvq, &head, &len))
			bind_next(vq, head);
		front_kick(vq);
	}
}

static void test_windows(void **state)
{
	struct virtio_rdma_cmd_alloc_mw req = {};
	struct virtio_rdma_ack_mr ack;
	unsigned int i, j;
	uint32_t pdn, cqn;

	c_open(FEATURES, FRONT_MEM);
	pdn = pp_pd(c);
	cqn = front_cq(c);
	region_addr = guest_alloc(&c->guest, 4096, 4096);
	region = front_reg(c, pdn, region_addr, 4096);
	req.pdn = htole32(pdn);
	req.type = htole32(VIRTIO_IB_MW_TYPE_1);
	for (i = 0; i < WINDOWS; i++) {
		front_command(c, VIRTIO_NET_CTRL_ROCE_ALLOC_MW, &req, sizeof(req), &ack,
			      sizeof(ack));
		window[i] = le32toh(ack.rkey);
	}
	for (i = 0; i < BINDERS; i++)
		binder[i] = front_qp(c, VIRTIO_IB_QPT_RC, pdn, cqn);
	for (i = 0; i < BINDERS; i++) {
		front_connect(&binder[i], VIRTIO_IB_QPT_RC, &binder[i ^ 1]);
		for (j = 0; j < 64; j++)
			bind_next(front_send_vq(&binder[i]), j);
	}
	/* Until all of them are bound. */
	while (next_window < 2 * WINDOWS)
		bind_again();
	expect_bearable("windows", TIMES_SOME, bind_again);
}

/* Objects that come and go, one by each command that C has under way. */
#define CHURNERS	16u
#define CHURN_ROOM	512u
#define CHURN_ACK	384u

/**
 * struct churn - what comes and goes
 * @create:	command that makes one, and answers with its handle
 * @destroy:	command that takes the handle, and nothing else
 * @req:	request of @create
 * @len:	bytes of it
 * @differ:	makes the request of each command another one, or NULL
 * @at:		memory of the commands
 * @begun:	they are under way
 * @done:	commands that were answered
 */
static struct churn {
	uint8_t create;
	uint8_t destroy;
	uint8_t req[256];
	size_t len;
	void (*differ)(uint8_t *req, unsigned int i);
	uint64_t at;
	bool begun;
	unsigned int done;
} churn;

/* Command @i makes an object, or with a handle ends it. */
static void churn_post(unsigned int i, uint32_t handle)
{
	struct front_vq *vq = &c->vq[FRONT_CTRL];
	struct vring_desc *desc = &vq->gvq.desc[2 * i];
	const uint64_t at = churn.at + CHURN_ROOM * i;
	uint8_t *p = guest_ptr(&c->guest, at);

	p[0] = VIRTIO_NET_CTRL_ROCE;
	p[1] = handle ? churn.destroy : churn.create;
	desc[0] = (struct vring_desc) {
		.addr = at, .flags = VRING_DESC_F_NEXT, .next = 2 * i + 1,
	};
	desc[1] = (struct vring_desc) {
		.addr = at + CHURN_ACK, .len = 5, .flags = VRING_DESC_F_WRITE,
	};
	if (handle) {
		memcpy(p + 2, &(__le32) { htole32(handle) }, 4);
		desc[0].len = 2 + 4;
		desc[1].len = 1;
	} else {
		memcpy(p + 2, churn.req, churn.len);
		if (churn.differ)
			churn.differ(p + 2, i);
		desc[0].len = 2 + churn.len;
	}
	guest_vq_add_head(&vq->gvq, 2 * i);
}

static void churn_again(void)
{
	struct front_vq *vq = &c->vq[FRONT_CTRL];
	uint32_t head, len, handle;
	uint8_t *ack;

	for (head = 0; !churn.begun && head < CHURNERS; head++)
		churn_post(head, 0);
	churn.begun = true;
	while (guest_vq_get(&vq->gvq, &head, &len)) {
		ack = guest_ptr(&c->guest, churn.at + CHURN_ROOM / 2 * head + CHURN_ACK);
		assert_int_equal(ack[0], VIRTIO_NET_OK);
		memcpy(&handle, ack + 1, sizeof(handle));
		churn_post(head / 2, len == 5 ? le32toh(handle) : 0);
		churn.done++;
	}
	front_kick(vq);
}

static void churn_expect_bearable(const char *what, unsigned int times)
{
	churn.at = guest_alloc(&c->guest, CHURN_ROOM * CHURNERS, 4096);
	expect_bearable(what, times, churn_again);
	print_message("%u commands\n", churn.done);
}

/* Rules of one mask; and so many others that each have another priority. */
#define RULES		10000u
#define RULE_RANKS	48u

static void rule_differ(uint8_t *req, unsigned int i)
{
	struct virtio_rdma_cmd_create_flow flow;

	memcpy(&flow, req, sizeof(flow));
	flow.priority = htole16(RULE_RANKS + i);
	memcpy(req, &flow, sizeof(flow));
}

static void test_flow_rules(void **state)
{
	struct virtio_rdma_cmd_create_flow req = {};
	struct virtio_rdma_ack_create_flow ack;
	struct front_direct of;
	struct front_dqp qp;
	unsigned int i;
	uint32_t mac;

	c_open(FEATURES, FRONT_MEM);
	front_direct_open(&of, c, pp_pd(c));
	front_dqp_open_type(&qp, &of, VIRTIO_IB_QPT_RAW_PACKET);
	req.qpn = htole32(qp.qp.qpn);
	memset(req.mask.dst_mac, 0xff, sizeof(req.mask.dst_mac));
	for (i = 0; i < RULES; i++) {
		req.priority = htole16(i < RULE_RANKS ? i : 0);
		mac = htole32(i);
		memcpy(req.value.dst_mac + 2, &mac, sizeof(mac));
		front_command(c, VIRTIO_NET_CTRL_ROCE_CREATE_FLOW, &req, sizeof(req), &ack,
			      sizeof(ack));
	}
	churn = (struct churn) {
		.create = VIRTIO_NET_CTRL_ROCE_CREATE_FLOW,
		.destroy = VIRTIO_NET_CTRL_ROCE_DESTROY_FLOW,
		.len = sizeof(req),
		.differ = rule_differ,
	};
	memcpy(churn.req, &req, sizeof(req));
	churn_expect_bearable("flow rules", TIMES_FEW);
}

/* All QPs are of the domain of the SRQs, and none of them has a message for one. */
static void test_xrc_srqs(void **state)
{
	const struct virtio_rdma_cmd_create_qp qp = { .qp_type = VIRTIO_IB_QPT_XRC_TGT };
	struct virtio_rdma_qp_direct direct = { .form = VIRTIO_RDMA_QP_FORM_DIRECT };
	uint8_t req[VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct)];
	struct virtio_rdma_cmd_create_xrc_srq srq;
	struct virtio_rdma_ack_create_xrcd ack;
	struct virtio_rdma_ack_create_qp made;
	unsigned int i;
	uint64_t mem;

	c_open(FEATURES, FRONT_MEM);
	front_command(c, VIRTIO_NET_CTRL_ROCE_CREATE_XRCD, NULL, 0, &ack, sizeof(ack));
	direct.xrcd = ack.xrcd;
	memcpy(req, &qp, VIRTIO_RDMA_QP_DIRECT_OFFSET);
	memcpy(req + VIRTIO_RDMA_QP_DIRECT_OFFSET, &direct, sizeof(direct));
	for (i = 0; i < QPS; i++)
		front_command(c, VIRTIO_NET_CTRL_ROCE_CREATE_QP, req, sizeof(req), &made,
			      sizeof(made));
	mem = guest_alloc(&c->guest, 2 * 4096, 4096);
	srq = (struct virtio_rdma_cmd_create_xrc_srq) {
		.srq = {
			.pdn = htole32(pp_pd(c)),
			.depth = htole32(4096 >> VIRTIO_RDMA_MIN_STRIDE_SHIFT),
			.max_sge = htole32(1),
			.shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
			.control = htole64(mem + 4096),
			.npages = htole32(1),
		},
		.xrcd = ack.xrcd,
		.cqn = htole32(front_direct_cq(c)),
	};
	churn = (struct churn) {
		.create = VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ,
		.destroy = VIRTIO_NET_CTRL_ROCE_DESTROY_SRQ,
		.len = sizeof(srq) + sizeof(__le64),
	};
	memcpy(churn.req, &srq, sizeof(srq));
	memcpy(churn.req + sizeof(srq), &(__le64) { htole64(mem) }, sizeof(__le64));
	churn_expect_bearable("XRC SRQs", TIMES_FEW);
}

static struct virtio_rdma_doorbell_page *page[PAGES];

/* All bits of all pages are set as soon as some were taken. */
static void pages_again(void)
{
	bool rung = false;
	unsigned int i;

	for (i = 0; i < PAGES; i++) {
		memset(page[i]->words, 0xff, sizeof(page[i]->words));
		page[i]->pending[0] = ~0ull;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < PAGES; i++)
		rung |= __atomic_exchange_n(&page[i]->ring_me, 0, __ATOMIC_SEQ_CST);
	if (rung)
		eventfd_write(c->vq[FRONT_DOORBELL].kick, 1);
}

static void test_doorbell_pages(void **state)
{
	uint64_t addr;
	unsigned int i;

	c_open(FEATURES, FRONT_MEM);
	for (i = 0; i < PAGES; i++) {
		addr = guest_alloc(&c->guest, 4096, 4096);
		page[i] = guest_ptr(&c->guest, addr);
		front_page(c, addr);
	}
	expect_bearable("doorbell pages", TIMES_SOME, pages_again);
}

/* ------------------------------------------------------------------------- */
/* The end of a guest                                                        */
/* ------------------------------------------------------------------------- */

static void add_qp(uint32_t pdn, uint32_t cqn, uint32_t bell, uint32_t bit, uint64_t mem)
{
	const struct virtio_rdma_cmd_create_qp qp = {
		.pdn = htole32(pdn),
		.qp_type = VIRTIO_IB_QPT_UD,
		.send_cqn = htole32(cqn),
		.recv_cqn = htole32(cqn),
		.cap = { .max_send_wr = htole32(16), .max_recv_wr = htole32(16),
			 .max_send_sge = htole32(1), .max_recv_sge = htole32(1) },
	};
	const struct virtio_rdma_qp_direct direct = {
		.form = VIRTIO_RDMA_QP_FORM_DIRECT,
		.send_shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
		.recv_shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
		.send_depth = htole32(16),
		.recv_depth = htole32(16),
		.doorbell = htole32(bell),
		.bit = htole32(bit),
		.send_pages = htole32(1),
		.recv_pages = htole32(1),
		.control = htole64(mem + 8192),
	};
	const __le64 pages[] = { htole64(mem), htole64(mem + 4096) };
	uint8_t req[VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct) + sizeof(pages)];
	struct virtio_rdma_ack_create_qp ack;
	struct virtio_rdma_cmd_mcast group = { .gid = { 0xff, 0x0e } };
	unsigned int i;

	memcpy(req, &qp, VIRTIO_RDMA_QP_DIRECT_OFFSET);
	memcpy(req + VIRTIO_RDMA_QP_DIRECT_OFFSET, &direct, sizeof(direct));
	memcpy(req + VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct), pages, sizeof(pages));
	front_command(c, VIRTIO_NET_CTRL_ROCE_CREATE_QP, req, sizeof(req), &ack, sizeof(ack));
	/* The last ones are in all groups. */
	for (i = 0; bit + MEMBERS >= QPS && i < GROUPS; i++) {
		group.qpn = ack.qpn;
		group.gid[15] = i;
		front_command(c, VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST, &group, sizeof(group),
			      NULL, 0);
	}
}

/* All of them have the same rings, which nobody looks at. */
static void add_qps(void)
{
	const uint32_t pdn = pp_pd(c), cqn = front_direct_cq(c);
	const uint64_t mem = guest_alloc(&c->guest, 3 * 4096, 4096);
	const uint64_t addr = guest_alloc(&c->guest, sizeof(*page[0]), 4096);
	const uint32_t bell = front_page(c, addr);
	unsigned int i;

	for (i = 0; i < QPS; i++)
		add_qp(pdn, cqn, bell, i, mem);
}

static void many_qps_end(void)
{
	c_open(FEATURES, FRONT_MEM);
	add_qps();
	front_hang_up(c);
}

static void test_qps_end(void **state)
{
	expect_no_pause("a guest with many QPs ends", many_qps_end);
}

static void maps_again(void)
{
	static bool asked;
	uint8_t byte;

	if (asked && recv(c->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 1)
		return;
	if (asked)
		front_remapped(c);
	front_remap(c);
	asked = true;
}

/* The memory map changes all the time, and many QPs may have missed something. */
static void test_qps_remapped(void **state)
{
	c_open(FEATURES, FRONT_MEM);
	add_qps();
	expect_bearable("memory map of many QPs", TIMES_WORSE, maps_again);
}

/* The daemon touches all of C's memory: a WRITE that is as long, from a small part. */
static void touch_all(void)
{
	const uint64_t source = guest_alloc(&c->guest, BIG_PART, 4096);
	const uint64_t len = (BIG_MEM - (64u << 20)) / BIG_PART * BIG_PART;
	const uint64_t target = guest_alloc(&c->guest, len, 4096);
	const uint32_t pdn = pp_pd(c), cqn = front_cq(c);
	const uint32_t from = front_reg(c, pdn, source, BIG_PART);
	const uint32_t to = front_reg(c, pdn, target, len);
	struct front_qp a = front_qp(c, VIRTIO_IB_QPT_RC, pdn, cqn);
	struct front_qp b = front_qp(c, VIRTIO_IB_QPT_RC, pdn, cqn);
	struct front_vq *vq = front_send_vq(&a);
	struct virtio_rdma_sq_req *req;
	uint64_t off;
	unsigned int n = 0;
	uint8_t status;

	front_connect(&a, VIRTIO_IB_QPT_RC, &b);
	front_connect(&b, VIRTIO_IB_QPT_RC, &a);
	for (off = 0; off < len; off += BIG_PART, n++) {
		req = front_slot(vq, n);
		*req = (struct virtio_rdma_sq_req) {
			.opcode = VIRTIO_IB_WR_RDMA_WRITE,
			.send_flags = VIRTIO_IB_SEND_SIGNALED,
			.rdma.remote_addr = htole64(target + off),
			.rdma.rkey = htole32(to),
			.num_sge = htole32(1),
		};
		req->sg_list[0] = (struct virtio_rdma_sge) {
			.addr = htole64(source),
			.length = htole32(BIG_PART),
			.lkey = htole32(from),
		};
		guest_vq_add_head(&vq->gvq, n);
		front_kick(vq);
	}
	while (n) {
		if (!front_poll(&a, &status))
			continue;
		assert_int_equal(status, VIRTIO_IB_WC_SUCCESS);
		n--;
	}
}

static void much_memory_ends(void)
{
	c_open(FEATURES, BIG_MEM);
	touch_all();
	front_hang_up(c);
}

static void test_memory_ends(void **state)
{
	expect_no_pause("a guest with much memory ends", much_memory_ends);
}

static void much_memory_remapped(void)
{
	c_open(FEATURES, BIG_MEM);
	touch_all();
	front_remap(c);
}

static void test_memory_remapped(void **state)
{
	expect_no_pause("much memory is mapped again", much_memory_remapped);
}

/* ------------------------------------------------------------------------- */

static int setup(void **state)
{
	char *const options[] = {
		(char *)"--mrs", (char *)"16384", (char *)"--direct-qps", (char *)"16000", NULL,
	};

	pp_start(options, FEATURES);
	return 0;
}

static int teardown(void **state)
{
	pp_stop();
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, end_c)
	const struct CMUnitTest tests[] = {
		TEST(test_segments),
		TEST(test_receive_pieces),
		TEST(test_windows),
		TEST(test_xrc_srqs),
		TEST(test_flow_rules),
		TEST(test_doorbell_pages),
		TEST(test_qps_end),
		TEST(test_qps_remapped),
		TEST(test_memory_ends),
		TEST(test_memory_remapped),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
