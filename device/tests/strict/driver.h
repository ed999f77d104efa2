/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A driver for tests of the strict device: a guest with a function, and each command
 * and request as the RFC has it.  A test changes one thing.
 *
 * Each test runs in a process of its own, because a violation ends the process.
 */
#ifndef DEVICE_TESTS_STRICT_DRIVER_H
#define DEVICE_TESTS_STRICT_DRIVER_H

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/loop.h"
#include "base/util.h"
#include "function/function.h"
#include "tests/lib/guest.h"
#include "tests/strict/strict.h"

#define NUM	16
#define QPS	4
#define CQS	2
#define QUEUES	(3 + CQS + 2 * QPS)
#define MRS	3
#define PDS	3
#define AHS	2
#define DEPTH	8
/* Nothing has this handle: it is that of entry 11, and no table has so many. */
#define NO_HANDLE	0xbad
#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define SLOT_SGE	2
#define SQ_SLOT	(sizeof(struct virtio_rdma_sq_req) + SLOT_SGE * sizeof(struct virtio_rdma_sge))
#define RQ_SLOT	(sizeof(struct virtio_rdma_rq_req) + SLOT_SGE * sizeof(struct virtio_rdma_sge))

/**
 * struct rig - a guest with a function, and what make_all() has made
 * @loop:	event loop
 * @fn:		function
 * @guest:	guest
 * @gvq:	virtqueues, the driver's side
 * @vq:		the device's side
 * @pdn:	a PD
 * @cqn:	a CQ with a slot for each completion
 * @qpn:	an RC QP
 * @ah:		an address handle
 * @mrn:	a memory region
 */
struct rig {
	struct loop *loop;
	struct function *fn;
	struct guest guest;
	struct guest_vq gvq[QUEUES];
	struct virtq vq[QUEUES];
	uint32_t pdn;
	uint32_t cqn;
	uint32_t qpn;
	uint32_t ah;
	uint32_t mrn;
};

/**
 * struct mr_req - REG_USER_MR of two pages
 * @cmd:	fixed part
 * @page:	the pages
 */
struct mr_req {
	struct virtio_rdma_cmd_reg_user_mr cmd;
	__le64 page[2];
};

/**
 * union send_slot - a slot of a send queue
 * @req:	fixed part
 * @bytes:	all of it, and more
 */
union send_slot {
	struct virtio_rdma_sq_req req;
	uint8_t bytes[SQ_SLOT + 16];
};

/**
 * union recv_slot - a slot of a receive queue
 * @req:	fixed part
 * @bytes:	all of it, and more
 */
union recv_slot {
	struct virtio_rdma_rq_req req;
	uint8_t bytes[RQ_SLOT + 16];
};

extern struct rig rig;
extern union send_slot send_slot;
extern union recv_slot recv_slot;

/** check() - as assert_true(), in a child process */
#define check(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(1);					\
		}							\
	} while (0)

/** run() - run the loop until the function has nothing left to do */
void run(void);

/**
 * part() - guest memory for a descriptor, @shift bytes past an aligned address, with
 * the bytes of @data unless it is NULL
 */
struct guest_buf part(const void *data, uint32_t len, size_t shift);

/** submit() - a command; @ack is the part with the ack, which is returned */
uint8_t submit(const struct guest_buf *buf, unsigned int n, unsigned int ack);

/** control() - a command, each part in a descriptor; returns the ack */
uint8_t control(uint8_t class, uint8_t command, const void *req, uint32_t len,
		void *rsp, uint32_t rsp_len);

/** roce() - a RoCE command that succeeds */
void roce(uint8_t command, const void *req, uint32_t len, void *rsp,
	  uint32_t rsp_len);

/** simple() - a RoCE command whose request is a handle */
void simple(uint8_t command, uint32_t handle);

/** query() - QUERY_DEVICE and QUERY_PORT */
void query(void);

/** make_all() - query(), and one object of each kind */
void make_all(void);

/* The commands, and requests that they accept. */
uint32_t create_pd(void);
uint32_t create_cq(uint32_t cqe, uint32_t slots);
struct virtio_rdma_cmd_create_qp qp_req(void);
uint32_t create_qp(const struct virtio_rdma_cmd_create_qp *req);
struct virtio_rdma_cmd_add_gid gid_req(uint16_t index);
struct virtio_rdma_cmd_create_ah ah_req(void);
uint32_t create_ah(const struct virtio_rdma_cmd_create_ah *req);
void mr_fill(struct mr_req *req);
uint32_t reg_mr(const struct mr_req *req);
struct virtio_rdma_cmd_modify_qp modify_req(uint8_t state);
void modify(const struct virtio_rdma_cmd_modify_qp *req);

/** to() - take the QP to a state from the one before it */
void to(uint8_t state);

/** to_rts() - take it from RESET to RTS */
void to_rts(void);

/** sq() - the send queue of the QP */
struct guest_vq *sq(void);

/** rq() - its receive queue */
struct guest_vq *rq(void);

/** post() - make a slot of @len bytes available, as part() has it, and ring */
void post(struct guest_vq *gvq, const void *slot, uint32_t len, size_t shift);

/** send_begin() - a QP in RTS, and in send_slot a SEND without data */
void send_begin(void);

/** send_post() - post send_slot */
void send_post(void);

/** recv_post() - post recv_slot, and flush the QP, which takes it */
void recv_post(void);

/**
 * struct rule - a driver, and what the strict device says about it
 * @name:	for cmocka
 * @fn:		the driver, run in a process of its own
 * @says:	part of the message; NULL if the driver breaks no rule
 */
struct rule {
	const char *name;
	void (*fn)(void);
	const char *says;
};

#define GOOD(fn)	{ #fn, fn, NULL }
#define BAD(fn, says)	{ #fn, fn, says }

/** test_rules() - a cmocka test for each of them; returns main()'s status */
int test_rules(const struct rule *rules, unsigned int n);

#endif /* DEVICE_TESTS_STRICT_DRIVER_H */
