/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A QP whose peer is the test: it gets packets by hand, and those that it sends are kept.
 */
#ifndef DEVICE_TESTS_LONE_H
#define DEVICE_TESTS_LONE_H

#include "tests/lib/engine_guest.h"
#include "tests/lib/engine_loop.h"
#include "packet/pkt.h"
#include "rdma/rnic_priv.h"
#include "rdma/object/sg.h"

#define MTU	1024
#define PSN	0xfffffeu	/* of eg_modify_req() */
#define PEER	77

#define ACK	(AETH_ACK | AETH_UNLIMITED)
#define RNR	(AETH_RNR | 12)

/**
 * struct lone - a QP alone
 * @engine:	engine
 * @qp:		QP of guest 0, whose peer is QP PEER of guest 1
 * @sgid:	GID of the peer
 * @dgid:	that of the QP
 * @data:	payload of packets that it is given
 * @sg:		the part of it that the last one had
 */
struct lone {
	struct engine *engine;
	struct eg_end qp;
	uint8_t sgid[GID_SIZE];
	uint8_t dgid[GID_SIZE];
	uint8_t data[8 * MTU];
	struct sg sg;
};

#define LONE_SENT_MAX	(4 * RNIC_MAX_RD_ATOMIC)

/* Packets that the QP has sent, and how many of them the test has looked at. */
extern struct pkt lone_sent[LONE_SENT_MAX];
extern unsigned int lone_sent_n;
extern unsigned int lone_seen;

/* The transports that keep them: one packet for each MTU, and one of slices. */
extern const struct transport lone_capture;
extern const struct transport lone_capture_memory;

/** lone_setup() - cmocka fixture: eg_setup(), and nothing was seen */
int lone_setup(void **state);

/** lone_up() - a QP of @type in RTS */
struct lone lone_up(void **state, uint8_t type);

/** lone_give() - hand the QP a packet: @n is its PSN's distance from the first one */
void lone_give(struct lone *l, struct pkt given, uint32_t n);

/** lone_request() - the same of a request that asks for an ACK */
void lone_request(struct lone *l, uint8_t code, uint32_t n, uint32_t len);

/** lone_answer() - the same of an ACK or a NAK */
void lone_answer(struct lone *l, uint8_t syndrome, uint32_t n);

/** lone_expect_aeth() - the next packet that the QP has sent is an ACK or NAK */
void lone_expect_aeth(uint8_t syndrome, uint32_t n);

/** lone_expect() - the next packet that the QP has sent has this opcode and length */
void lone_expect(uint8_t code, uint32_t n, uint32_t len);

/** lone_expect_quiet() - it has sent no further one */
void lone_expect_quiet(void);

/** lone_counted() - a counter of its function */
uint64_t lone_counted(const struct lone *l, enum virtio_rdma_counter counter);

/** lone_state() - its state, by QUERY_QP */
uint8_t lone_state(const struct lone *l);

/**
 * lone_run_for() - poll for so long
 * @l:	QP
 * @ns:	time
 *
 * Repeated requests look like loss, so the answers to them are paced.
 */
void lone_run_for(struct lone *l, uint64_t ns);

#endif /* DEVICE_TESTS_LONE_H */
