/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Streams of requests over the wire of engine_wire.h, as fast as its latency and bandwidth allow.
 */
#ifndef DEVICE_TESTS_LIB_ENGINE_STREAM_H
#define DEVICE_TESTS_LIB_ENGINE_STREAM_H

#include "tests/lib/engine_wire.h"

#define US	1000ull
#define MS	1000000ull
#define SECOND	1000000000ull

/**
 * struct eg_stream - an end that posts as fast as it can
 * @p:		the two ends
 * @opcode:	what is posted
 * @len:	bytes of each
 * @posted:	requests posted so far
 * @done:	requests completed
 * @mixed:	each second one is a WRITE
 */
struct eg_stream {
	struct eg_pair p;
	uint8_t opcode;
	uint32_t len;
	uint64_t posted;
	uint64_t done;
	bool mixed;
};

/**
 * struct eg_conn - attributes that differ from those of eg_modify_req()
 * @timeout:	ACK timeout
 * @retry_cnt:	retries
 * @rate:	rate limit, kbit/s, or 0
 */
struct eg_conn {
	uint8_t timeout;
	uint8_t retry_cnt;
	uint32_t rate;
};

/** eg_patient - as most programs have it */
extern const struct eg_conn eg_patient;

/** eg_stream_connect() - take QP @a to RTS, with @b as its peer */
void eg_stream_connect(struct eg_end *a, struct eg_end *b, uint8_t type, struct eg_conn conn);

/** eg_stream_pair() - two QPs of @type, connected by the wire */
struct eg_pair eg_stream_pair(void **state, uint8_t type, struct eg_conn a, struct eg_conn b);

/** eg_stream_post() - post the next request */
void eg_stream_post(struct eg_stream *s);

/** eg_stream_for() - keep the send queue half full for @ns; returns bytes completed */
uint64_t eg_stream_for(struct eg_stream *s, uint64_t ns);

/** eg_mbps() - bytes in ns as Mbit/s */
static inline uint64_t eg_mbps(uint64_t bytes, uint64_t ns)
{
	return bytes * 8000 / ns;
}

#endif /* DEVICE_TESTS_LIB_ENGINE_STREAM_H */
