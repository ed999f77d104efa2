/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A guest that connects to a node, as its kernel's connection manager does it.
 */
#ifndef DEVICE_TESTS_NODE_CALLER_H
#define DEVICE_TESTS_NODE_CALLER_H

#include "tests/lib/node_bed.h"

#define CALLER_MAD	256u
#define CALLER_ID	0x11223344u
#define CALLER_PSN	0x123456u
#define CALLER_PORT	4420u
#define TID		0x0102030405060708ull

enum { REQ = 0x10, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP };

/**
 * struct caller - a guest that connects
 * @bed:	all
 * @number:	of the guest
 * @gsi:	its QP 1
 * @ah:		of the node
 * @recvs:	receive requests posted
 * @n:		messages received, of which @msg are the first ones
 * @msg:	them
 */
struct caller {
	struct node_bed *bed;
	unsigned int number;
	struct eg_end gsi;
	uint32_t ah;
	unsigned int recvs;
	unsigned int n;
	uint8_t msg[64][CALLER_MAD];
};

/** caller() - guest @number, whom the node knows */
struct caller *caller(void **state, unsigned int number);

/** be_known() - ask the node for its MAC address, after which it knows the guest */
void be_known(struct caller *c);

/** listen() - take all messages that have come */
void listen(struct caller *c);

/** say() - send a message, and take what comes */
void say(struct caller *c, const uint8_t *msg);

/** put_message() - a message with the numbers of a connection */
void put_message(uint8_t *msg, uint16_t attr, uint32_t local, uint32_t remote);

/** put_req() - a REQ to 10.0.0.9, with 56 bytes of private data at 200 */
void put_req(const struct caller *c, uint8_t *msg, uint32_t id, uint32_t qpn);

/** heard() - message @i, which is of that kind */
const uint8_t *heard(const struct caller *c, unsigned int i, uint16_t attr);

/** call_with() - say a REQ, and take the REP to it; returns the node's number */
uint32_t call_with(struct caller *c, const uint8_t *req);

/** call() - the same with a REQ of put_req() */
uint32_t call(struct caller *c, uint32_t id, uint32_t qpn);

/** connect_qp() - take a QP to RTS, as of a REP */
struct eg_end connect_qp(struct caller *c, const struct eg_end *closed, const uint8_t *rep);

#endif /* DEVICE_TESTS_NODE_CALLER_H */
