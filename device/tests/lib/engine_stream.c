// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Streams of requests over the wire of engine_wire.c.
 */
#include "tests/lib/engine_stream.h"

const struct eg_conn eg_patient = { .timeout = 14, .retry_cnt = 7 };

void eg_stream_connect(struct eg_end *a, struct eg_end *b, uint8_t type, struct eg_conn conn)
{
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t s;

	for (s = VIRTIO_IB_QPS_INIT; s <= VIRTIO_IB_QPS_RTS; s++) {
		req = eg_modify_req(a->qpn, type, s, b->guest, b->qpn);
		req.path_mtu = VIRTIO_IB_MTU_4096;
		req.max_rd_atomic = 16;
		req.max_dest_rd_atomic = 16;
		req.timeout = conn.timeout;
		req.retry_cnt = conn.retry_cnt;
		req.rnr_retry = 7;
		req.rate_limit = htole32(conn.rate);
		if (s == VIRTIO_IB_QPS_RTS && conn.rate)
			req.attr_mask |= htole32(VIRTIO_IB_QP_RATE_LIMIT);
		assert_int_equal(eg_modify(a->guest, &req), VIRTIO_NET_OK);
	}
}

struct eg_pair eg_stream_pair(void **state, uint8_t type, struct eg_conn a, struct eg_conn b)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], type),
		.b = eg_open(&engine->guest[1], type),
	};

	eg_stream_connect(&p.a, &p.b, type, a);
	eg_stream_connect(&p.b, &p.a, type, b);
	eg_wire_use(engine);
	return p;
}

void eg_stream_post(struct eg_stream *s)
{
	struct eg_wr wr = eg_send(&s->p.a, s->posted, 0, s->len);

	wr.opcode = s->mixed && s->posted % 2 ? VIRTIO_IB_WR_RDMA_WRITE : s->opcode;
	wr.remote_addr = EG_VA + EG_IN;
	wr.rkey = s->p.b.lkey;
	eg_post_send(&s->p.a, &wr);
	s->posted++;
}

uint64_t eg_stream_for(struct eg_stream *s, uint64_t ns)
{
	uint64_t end = loop_now(s->p.engine->loop) + ns, before = s->done;
	struct eg_wc wc;

	while (loop_now(s->p.engine->loop) < end) {
		while (s->posted - s->done < EG_QUEUE / 2)
			eg_stream_post(s);
		eg_wire_for(s->p.engine, 5 * US);
		while (eg_poll(&s->p.a, &wc)) {
			assert_int_equal(wc.status, VIRTIO_IB_WC_SUCCESS);
			assert_int_equal(wc.wr_id, s->done);
			s->done++;
		}
	}
	return (s->done - before) * s->len;
}
