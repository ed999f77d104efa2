// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A noisy neighbour: two guests play ping-pong over RC while a third one gives the
 * daemon as much work as it may.  $SANDBOXED is the path of the daemon, as shipped.
 *
 * Theory of operation
 *
 * The daemon is a process of its own; the three guests are this thread.  So there are
 * two threads that want a CPU, with the noise and without it, and what the noise costs
 * is the daemon's time, not that of a third thread.  The noisy guest needs no thread:
 * between two pings all that came back from the daemon is given to it again.
 *
 * Pings with and without noise take turns, in blocks, so that both see the same
 * machine.
 */

#include <endian.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/pingpong.h"

#define TIMES_WORSE	10

#define PAUSE_TIMEOUT_NS 20000000000ULL

/* Noise: regions that come and go, of single pages; the first one is not of them. */
#define MRS		32
#define MR_PAGES	32768u
#define BIG_REGION_LEN	(sizeof(struct virtio_rdma_cmd_reg_user_mr) + \
			 MR_PAGES * sizeof(__le64))

/* Noise: requests and frames that wait. */
#define NOISE_DEPTH	64

/* Noise: frames of as many pieces as there may be. */
#define FRAME_PIECES	1000u
#define FRAME_PIECE	64u
#define FRAME_SEG	1000

/* Noise: a WRITE of as much, in as many pieces, as a request has. */
#define BIG_PIECE	(32u << 10)

/* Noise: direct QPs with nothing to do, of which a doorbell page says the contrary. */
#define IDLE_QPS	512u

/* Noise: a datagram. */
#define DATAGRAM	4096u

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE) | \
			 BIT(VIRTIO_NET_F_CSUM) | BIT(VIRTIO_NET_F_HOST_TSO4) | \
			 BIT(VIRTIO_NET_F_MRG_RXBUF))

/**
 * struct noise - a queue of C that is always full
 * @vq:		queue
 * @n:		buffers in it
 * @step:	descriptors of each
 */
struct noise {
	struct front_vq *vq;
	unsigned int n;
	unsigned int step;
};

/**
 * struct rig - the noise
 * @noise:	what C does
 * @noises:	their number
 * @page:	doorbell page of C
 * @announced:	how often all QPs of that were announced
 */
static struct rig {
	struct noise noise[8];
	unsigned int noises;
	struct virtio_rdma_doorbell_page *page;
	unsigned long announced;
} rig;

/* ------------------------------------------------------------------------- */
/* Noise                                                                     */
/* ------------------------------------------------------------------------- */

/* Chains that begin at descriptors 0, @step, 2 * @step … of a queue, which has seen nothing. */
static void noise_add(struct front_vq *vq, unsigned int n, unsigned int step)
{
	assert_true(rig.noises < ARRAY_SIZE(rig.noise));
	rig.noise[rig.noises++] = (struct noise) { .vq = vq, .n = n, .step = step };
	vq->done = 0;
}

/* Command @i of the control queue. */
static void noise_command(struct front *c, unsigned int i, uint8_t command, uint64_t req,
			  uint32_t len)
{
	struct vring_desc *desc = &c->vq[FRONT_CTRL].gvq.desc[2 * i];
	uint8_t *p = guest_ptr(&c->guest, req);

	p[0] = VIRTIO_NET_CTRL_ROCE;
	p[1] = command;
	desc[0] = (struct vring_desc) {
		.addr = req, .len = 2 + len, .flags = VRING_DESC_F_NEXT, .next = 2 * i + 1,
	};
	desc[1] = (struct vring_desc) {
		.addr = guest_alloc(&c->guest, 64, 64),
		.len = 64,
		.flags = VRING_DESC_F_WRITE,
	};
}

/* Where a command goes, so that the request behind class and number is aligned. */
static uint64_t place_command(struct front *c, uint32_t len)
{
	return guest_alloc(&c->guest, 6 + 2 + len, 8) + 6;
}

/* A command whose request is short. */
static void *noise_short(struct front *c, unsigned int i, uint8_t command, uint32_t len)
{
	const uint64_t req = place_command(c, len);

	noise_command(c, i, command, req, len);
	return guest_ptr(&c->guest, req + 2);
}

/* No two pages of the region are neighbours, so that each is a piece of its own. */
static uint64_t big_region(struct front *c, uint32_t pdn)
{
	const uint64_t addr = place_command(c, BIG_REGION_LEN);
	struct virtio_rdma_cmd_reg_user_mr *req = guest_ptr(&c->guest, addr + 2);
	uint32_t i;

	req->pdn = htole32(pdn);
	req->access_flags = htole32(VIRTIO_IB_ACCESS_LOCAL_WRITE);
	req->virt_addr = htole64(GUEST_BASE);
	req->length = htole64((uint64_t)MR_PAGES * 4096);
	req->npages = htole32(MR_PAGES);
	for (i = 0; i < MR_PAGES; i++)
		req->pages[i] = htole64(GUEST_BASE + i * 8192 % FRONT_MEM);
	return addr;
}

/*
 * Regions come and go, as do GIDs, which makes each QP look up its peer again.  The
 * numbers of regions are given out in turn.
 */
static void noise_commands(struct front *c, uint32_t pdn)
{
	const uint64_t big = big_region(c, pdn);
	struct virtio_rdma_cmd_add_gid *add;
	struct virtio_rdma_cmd_del_gid *del;
	struct virtio_rdma_cmd_dereg_mr *dereg;
	unsigned int i, n = 0;

	for (i = 1; i < MRS; i++) {
		noise_command(c, n++, VIRTIO_NET_CTRL_ROCE_REG_USER_MR, big,
			      BIG_REGION_LEN);
		dereg = noise_short(c, n++, VIRTIO_NET_CTRL_ROCE_DEREG_MR, sizeof(*dereg));
		dereg->mrn = htole32(i);
		add = noise_short(c, n++, VIRTIO_NET_CTRL_ROCE_ADD_GID, sizeof(*add));
		add->index = htole16(1);
		front_gid(100 + i, add->gid);
		del = noise_short(c, n++, VIRTIO_NET_CTRL_ROCE_DEL_GID, sizeof(*del));
		del->index = htole16(1);
	}
	noise_add(&c->vq[FRONT_CTRL], n, 2);
}

/* A frame to all, which is to be cut for each of them. */
static uint64_t huge_frame(struct front *c)
{
	struct virtio_net_hdr_v1 hdr = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = htole16(sizeof(struct ether_header) + sizeof(struct iphdr) +
				   sizeof(struct tcphdr)),
		.gso_size = htole16(FRAME_SEG),
		.csum_start = htole16(sizeof(struct ether_header) + sizeof(struct iphdr)),
		.csum_offset = htole16(offsetof(struct tcphdr, check)),
	};
	const uint32_t len = FRAME_PIECES * FRAME_PIECE;
	const uint64_t addr = guest_alloc(&c->guest, sizeof(hdr) + len, 64);
	struct ether_header eth = {
		.ether_dhost = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		.ether_shost = { 0x52, 0x54, 0, 0, 0xce, 3 },
		.ether_type = htons(ETHERTYPE_IP),
	};
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(len - sizeof(eth)),
		.ttl = 64,
		.protocol = IPPROTO_TCP,
	};
	struct tcphdr tcp = { .doff = 5 };
	uint8_t *p = guest_ptr(&c->guest, addr);

	memcpy(p, &hdr, sizeof(hdr));
	p += sizeof(hdr);
	memcpy(p, &eth, sizeof(eth));
	p += sizeof(eth);
	memcpy(p, &ip, sizeof(ip));
	memcpy(p + sizeof(ip), &tcp, sizeof(tcp));
	return addr;
}

static void noise_frames(struct front *c)
{
	const uint64_t frame = huge_frame(c);
	const uint32_t hdr = sizeof(struct virtio_net_hdr_v1);
	const uint64_t table = guest_alloc(&c->guest, (FRAME_PIECES + 1) * 16, 16);
	struct vring_desc *desc = guest_ptr(&c->guest, table);
	struct front_vq *vq = &c->vq[FRONT_TX];
	uint32_t i;

	desc[0] = (struct vring_desc) {
		.addr = frame, .len = hdr, .flags = VRING_DESC_F_NEXT, .next = 1,
	};
	for (i = 0; i < FRAME_PIECES; i++)
		desc[i + 1] = (struct vring_desc) {
			.addr = frame + hdr + i * FRAME_PIECE,
			.len = FRAME_PIECE,
			.flags = i + 1 < FRAME_PIECES ? VRING_DESC_F_NEXT : 0,
			.next = i + 2,
		};
	for (i = 0; i < NOISE_DEPTH; i++) {
		vq->gvq.desc[i] = (struct vring_desc) {
			.addr = table,
			.len = (FRAME_PIECES + 1) * sizeof(*desc),
			.flags = VRING_DESC_F_INDIRECT,
		};
	}
	noise_add(vq, NOISE_DEPTH, 1);
}

/* A send queue full of requests of FRONT_SGE pieces. */
static void noise_requests(const struct front_qp *qp, const struct virtio_rdma_sq_req *tmpl,
			   uint64_t addr, uint32_t lkey, uint32_t piece)
{
	struct front_vq *vq = front_send_vq(qp);
	struct virtio_rdma_sq_req *req;
	unsigned int i, j;

	for (i = 0; i < NOISE_DEPTH; i++) {
		req = front_slot(vq, i);
		*req = *tmpl;
		req->num_sge = htole32(FRONT_SGE);
		for (j = 0; j < FRONT_SGE; j++)
			req->sg_list[j] = (struct virtio_rdma_sge) {
				.addr = htole64(addr + j * piece),
				.length = htole32(piece),
				.lkey = htole32(lkey),
			};
	}
	noise_add(vq, NOISE_DEPTH, 1);
}

/* Big WRITEs one way, tiny ones the other way. */
static void noise_writes(struct front *c, uint32_t pdn, uint32_t cqn, uint64_t addr,
			 uint32_t lkey)
{
	const struct virtio_rdma_sq_req write = {
		.opcode = VIRTIO_IB_WR_RDMA_WRITE,
		.rdma.remote_addr = htole64(addr + FRONT_SGE * BIG_PIECE),
		.rdma.rkey = htole32(lkey),
	};
	struct front_qp a = front_qp(c, VIRTIO_IB_QPT_RC, pdn, cqn);
	struct front_qp b = front_qp(c, VIRTIO_IB_QPT_RC, pdn, cqn);

	front_connect(&a, VIRTIO_IB_QPT_RC, &b);
	front_connect(&b, VIRTIO_IB_QPT_RC, &a);
	noise_requests(&a, &write, addr, lkey, BIG_PIECE);
	noise_requests(&b, &write, addr, lkey, 1);
}

/* Datagrams to the QP of A, which are none of its business. */
static void noise_datagrams(struct front *c, uint32_t pdn, uint32_t cqn, uint64_t addr,
			    uint32_t lkey)
{
	struct virtio_rdma_cmd_create_ah ah = {
		.pdn = htole32(pdn),
		.ah_attr.grh.hop_limit = 64,
		.ah_attr.dmac = { 0x52, 0x54, 0, 0, 0xce, 1 },
	};
	struct front_qp qp = front_qp(c, VIRTIO_IB_QPT_UD, pdn, cqn);
	struct virtio_rdma_ack_create_ah ack;
	struct virtio_rdma_sq_req send = {
		.opcode = VIRTIO_IB_WR_SEND,
		.ud.remote_qpn = htole32(pp.end[0].qpn),
	};

	front_gid(pp.guest[0].number, ah.ah_attr.grh.dgid);
	front_command(c, VIRTIO_NET_CTRL_ROCE_CREATE_AH, &ah, sizeof(ah), &ack,
		      sizeof(ack));
	send.ud.ah = ack.ah;
	front_connect(&qp, VIRTIO_IB_QPT_UD, &qp);
	noise_requests(&qp, &send, addr, lkey, DATAGRAM / FRONT_SGE);
}

static void noise_doorbells(struct front *c, uint32_t pdn)
{
	const uint64_t addr = guest_alloc(&c->guest, sizeof(*rig.page), 4096);
	const uint32_t page = front_page(c, addr), cqn = front_direct_cq(c);
	unsigned int i;

	rig.page = guest_ptr(&c->guest, addr);
	for (i = 0; i < IDLE_QPS; i++)
		front_idle_qp(c, pdn, cqn, page, i);
}

/*
 * All bits of the doorbell page are set, those without a QP, too, as soon as the daemon
 * has taken the first.
 */
static void noise_announce(void)
{
	struct front_vq *vq = &pp.guest[2].vq[FRONT_DOORBELL];

	if (rig.page->pending[0])
		return;
	memset(rig.page->pending, 0xff, sizeof(rig.page->pending));
	memset(rig.page->words, 0xff, sizeof(rig.page->words));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&rig.page->ring_me, 0, __ATOMIC_SEQ_CST))
		eventfd_write(vq->kick, 1);
	rig.announced++;
}

static void noise_begin(void)
{
	const uint64_t len = 2 * FRONT_SGE * BIG_PIECE;
	struct front *c = &pp.guest[2];
	const uint32_t pdn = pp_pd(c);
	const uint64_t addr = guest_alloc(&c->guest, len, 4096);
	const uint32_t lkey = front_reg(c, pdn, addr, len);
	const uint32_t cqn = front_cq(c);

	noise_writes(c, pdn, cqn, addr, lkey);
	noise_datagrams(c, pdn, cqn, addr, lkey);
	noise_doorbells(c, pdn);
	noise_frames(c);
	noise_commands(c, pdn);
}

static void noise_resume(void)
{
	const struct noise *noise;
	unsigned int i, j;

	for (i = 0; i < rig.noises; i++) {
		noise = &rig.noise[i];
		for (j = 0; j < noise->n; j++)
			guest_vq_add_head(&noise->vq->gvq,
					  (noise->vq->done + j) % noise->n * noise->step);
		front_kick(noise->vq);
	}
}

/* All that came back goes out again. */
static void noise_again(void)
{
	unsigned int i;

	for (i = 0; i < rig.noises; i++)
		front_again(rig.noise[i].vq);
	noise_announce();
}

/* Waits until all of it has come back. */
static void noise_pause(void)
{
	const uint64_t end = pp_now() + PAUSE_TIMEOUT_NS;
	struct front_vq *vq;
	uint32_t head, len;
	unsigned int i;

	for (i = 0; i < rig.noises; i++) {
		vq = rig.noise[i].vq;
		while (vq->gvq.last_used != vq->gvq.avail_idx) {
			vq->done += guest_vq_get(&vq->gvq, &head, &len);
			assert_true(pp_now() < end);
		}
	}
}

/* ------------------------------------------------------------------------- */
/* The test                                                                  */
/* ------------------------------------------------------------------------- */

static int setup(void **state)
{
	char mrs[8];
	char *const options[] = { (char *)"--mrs", mrs, NULL };

	snprintf(mrs, sizeof(mrs), "%u", MRS);
	pp_start(options, FEATURES);
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	noise_begin();
	return 0;
}

static int teardown(void **state)
{
	front_close(&pp.guest[2]);
	pp_stop();
	return 0;
}

static unsigned long began[ARRAY_SIZE(rig.noise) + 1];

static void noise_began(void)
{
	unsigned int i;

	for (i = 0; i < rig.noises; i++)
		began[i] = rig.noise[i].vq->done;
	began[i] = rig.announced;
}

/*
 * The buffers of each queue of noise have come back, and as many again.  How many pings that
 * takes depends on the machine.
 */
static bool noise_went_round(void)
{
	unsigned int i;

	for (i = 0; i < rig.noises; i++)
		if (rig.noise[i].vq->done - began[i] < 2 * rig.noise[i].n)
			return false;
	return rig.announced - began[i] >= 2;
}

static void test_neighbour(void **state)
{
	struct pp_worse worse = {};
	uint64_t alone;
	unsigned int i;

	pp_block(NULL, NULL);	/* not measured: caches and page tables fill */
	for (i = 0; pp_worse_more(&worse, i, TIMES_WORSE); i++) {
		alone = pp_block(NULL, NULL);
		noise_resume();
		noise_began();
		pp_worse_add(&worse, alone, pp_block(noise_again, noise_went_round));
		noise_pause();
	}
	for (i = 0; i < rig.noises; i++)
		print_message("noise %u: %lu\n", i, rig.noise[i].vq->done);
	print_message("all QPs announced: %lu\n", rig.announced);
	pp_worse_expect(&worse, "all at once", TIMES_WORSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbour),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
