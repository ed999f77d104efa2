// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * count WHAT BURSTS: work for a tool that counts the daemon's instructions.
 * count --list: what there is.
 *
 * Two guests in this process, one RC connection with direct rings.  Each burst posts
 * DEPTH requests, has the daemon's engine look at both guests once, and takes the
 * completions.  scripts/suites/counts.py runs it under callgrind, which counts rnic_poll() only,
 * for two numbers of bursts; the difference is the work.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"

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
 */
struct work {
	const char *name;
	int opcode;
	uint32_t len;
	uint8_t flags;
	bool recv;
	bool packets;
};

static const struct work works[] = {
	{ "send_8", VIRTIO_IB_WR_SEND, 8, VIRTIO_IB_SEND_SIGNALED, true, false },
	{ "send_8_inline", VIRTIO_IB_WR_SEND, 8,
	  VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_INLINE, true, false },
	{ "write_8", VIRTIO_IB_WR_RDMA_WRITE, 8, VIRTIO_IB_SEND_SIGNALED, false, false },
	{ "read_8", VIRTIO_IB_WR_RDMA_READ, 8, VIRTIO_IB_SEND_SIGNALED, false, false },
	{ "fetch_add", VIRTIO_IB_WR_FETCH_ADD, 8, VIRTIO_IB_SEND_SIGNALED, false, false },
	{ "send_4096", VIRTIO_IB_WR_SEND, 4096, VIRTIO_IB_SEND_SIGNALED, true, false },
	{ "write_65536", VIRTIO_IB_WR_RDMA_WRITE, 65536, VIRTIO_IB_SEND_SIGNALED, false, false },
	{ "write_1m", VIRTIO_IB_WR_RDMA_WRITE, 1u << 20, VIRTIO_IB_SEND_SIGNALED, false, false },
	{ "packet_8", VIRTIO_IB_WR_SEND, 8, VIRTIO_IB_SEND_SIGNALED, true, true },
	{ "packet_1024", VIRTIO_IB_WR_SEND, 1024, VIRTIO_IB_SEND_SIGNALED, true, true },
	{ "nothing", -1, 0, 0, false, false },
};

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
	rnic_poll(p->a.end.guest->rnic);
	rnic_poll(p->b.end.guest->rnic);
	/* What is answered later, or is more than one turn. */
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

int main(int argc, char **argv)
{
	const struct work *work = works;
	struct er_pair *p;
	void *state = NULL;
	uint32_t i, n;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < ARRAY_SIZE(works); i++)
			puts(works[i].name);
		return 0;
	}
	if (argc != 3)
		return 2;
	while (work < works + ARRAY_SIZE(works) && strcmp(work->name, argv[1]))
		work++;
	if (work == works + ARRAY_SIZE(works))
		return 2;
	n = strtoul(argv[2], NULL, 0);
	eg_setup_direct(&state);
	if (work->packets)
		eg_ports(state);
	p = er_pair_up(&state, VIRTIO_IB_QPT_RC, NULL);
	for (i = 0; i < n; i++)
		burst(p, work, i);
	er_pair_free(p);
	return 0;
}
