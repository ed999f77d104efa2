// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <endian.h>
#include <string.h>
#include <sys/wait.h>

#include <linux/virtio_net.h>

#include "tests/lib/stream.h"

/* Messages under way, and their size: some more than are copied in a turn. */
#define DEPTH		32u
#define MESSAGE		(128u << 10)
#define TIMEOUT_NS	20000000000ULL

/* Messages between two events of a test. */
#define SOME		(4 * DEPTH)

struct stream stream;

void stream_open(void)
{
	struct front *front;
	uint32_t pdn;
	unsigned int i;

	memset(&stream, 0, sizeof(stream));
	for (i = 0; i < 2; i++) {
		front = &pp.guest[i];
		pdn = pp_pd(front);
		stream.at[i] = guest_alloc(&front->guest, DEPTH * MESSAGE, 4096);
		stream.key[i] = front_reg(front, pdn, stream.at[i], DEPTH * MESSAGE);
		stream.qp[i] = front_qp(front, VIRTIO_IB_QPT_RC, pdn, front_cq(front));
	}
	front_connect(&stream.qp[0], VIRTIO_IB_QPT_RC, &stream.qp[1]);
	front_connect(&stream.qp[1], VIRTIO_IB_QPT_RC, &stream.qp[0]);
	stream.last = pp_now();
}

static uint64_t *number_at(unsigned int end, uint64_t number, uint32_t off)
{
	return guest_ptr(&pp.guest[end].guest, stream.at[end] + number % DEPTH * MESSAGE + off);
}

static struct virtio_rdma_sge sge(unsigned int end, uint64_t number)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(stream.at[end] + number % DEPTH * MESSAGE),
		.length = htole32(MESSAGE),
		.lkey = htole32(stream.key[end]),
	};
}

static void post_recv(void)
{
	struct front_vq *vq = front_recv_vq(&stream.qp[1]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_rq_req *req = front_slot(vq, slot);

	req->num_sge = htole32(1);
	req->sg_list[0] = sge(1, stream.posted++);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static void post_send(void)
{
	struct front_vq *vq = front_send_vq(&stream.qp[0]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_sq_req *req = front_slot(vq, slot);

	*number_at(0, stream.sent, 0) = stream.sent;
	*number_at(0, stream.sent, MESSAGE - 8) = stream.sent;
	req->opcode = VIRTIO_IB_WR_SEND;
	req->send_flags = VIRTIO_IB_SEND_SIGNALED;
	req->num_sge = htole32(1);
	req->sg_list[0] = sge(0, stream.sent++);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static bool completed(const struct front_qp *qp)
{
	uint8_t status;

	if (!front_poll(qp, &status))
		return false;
	assert_int_equal(status, VIRTIO_IB_WC_SUCCESS);
	return true;
}

/* Half of the receive requests come late, so that some messages wait for theirs. */
static void stream_step(void)
{
	uint64_t now;

	while (stream.posted - stream.got < DEPTH / 2)
		post_recv();
	while (stream.sent - stream.done < DEPTH)
		post_send();
	now = pp_now();
	while (completed(&stream.qp[0]))
		stream.done++;
	while (completed(&stream.qp[1])) {
		assert_int_equal(*number_at(1, stream.got, 0), stream.got);
		assert_int_equal(*number_at(1, stream.got, MESSAGE - 8), stream.got);
		stream.got++;
		if (now - stream.last > stream.gap)
			stream.gap = now - stream.last;
		stream.last = now;
	}
	assert_true(stream.done <= stream.got);
	if (now - stream.last >= TIMEOUT_NS)
		fail_msg("nothing completes: %lu sent, %lu done, %lu posted, %lu got",
			 stream.sent, stream.done, stream.posted, stream.got);
}

void stream_some(void)
{
	const uint64_t enough = stream.got + SOME;

	while (stream.got < enough)
		stream_step();
}

int stream_until_end(pid_t pid)
{
	int status;
	pid_t got;

	do {
		stream_step();
		got = waitpid(pid, &status, WNOHANG);
		assert_true(got >= 0);
	} while (!got);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void stream_frame(void)
{
	const struct virtio_net_hdr_v1 hdr = { .num_buffers = 0 };
	struct front_vq *tx = &pp.guest[0].vq[FRONT_TX], *rx = &pp.guest[1].vq[FRONT_RX];
	const uint64_t addr = guest_alloc(&pp.guest[0].guest, sizeof(hdr) + 64, 64);
	const struct guest_buf buf = { .addr = addr, .len = sizeof(hdr) + 64 };
	uint8_t *p = guest_ptr(&pp.guest[0].guest, addr);
	const uint64_t end = pp_now() + TIMEOUT_NS;
	uint32_t head, len;

	memcpy(p, &hdr, sizeof(hdr));
	memset(p + sizeof(hdr), 0xff, 6);
	memcpy(p + sizeof(hdr) + 6, "\x52\x54\x00\x00\xce\x01\x88\xb5", 8);
	guest_vq_add(&tx->gvq, &buf, 1);
	front_kick(tx);
	while (!guest_vq_get(&rx->gvq, &head, &len))
		assert_true(pp_now() < end);
	assert_int_equal(len, sizeof(hdr) + 64);
	while (!guest_vq_get(&tx->gvq, &head, &len))
		assert_true(pp_now() < end);
}
