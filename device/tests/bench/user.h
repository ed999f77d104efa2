/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program on libibverbs without a kernel: queues of a guest of the engine, mapped,
 * posted to and polled by the provider's own code.
 */
#ifndef DEVICE_TESTS_BENCH_USER_H
#define DEVICE_TESTS_BENCH_USER_H

#include <infiniband/verbs.h>

struct eg_end;
struct er_end;
struct er_qp;

/**
 * struct user - an open device
 * @context:	of libibverbs
 * @rung:	how often a doorbell was rung
 */
struct user {
	struct ibv_context *context;
	unsigned int rung;
};

/**
 * struct user_end - an end of a connection, as a program has it
 * @user:	device
 * @cq:		where both queues complete
 * @qp:		its QP
 * @lkey:	of the buffer
 */
struct user_end {
	struct user *user;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint32_t lkey;
};

/** user_end_rfc() - use a QP with virtqueues, and its CQ */
void user_end_rfc(struct user_end *end, const struct eg_end *from);

/** user_end_direct() - use a direct QP and its CQ */
void user_end_direct(struct user_end *end, const struct er_end *from);

/** user_end_raw() - the same of a RAW_PACKET QP */
void user_end_raw(struct user_end *end, const struct er_end *from);

/** user_qp_direct() - use one direct QP more, which completes to @end's CQ */
struct ibv_qp *user_qp_direct(const struct user_end *end, const struct er_qp *from);

/** user_qp_free() - forget a QP, before it is destroyed */
void user_qp_free(struct ibv_qp *qp);

/** user_send() - post a signaled send of @len bytes at @addr; its wr_id is @qp */
void user_send(const struct user_end *end, struct ibv_qp *qp, uint64_t addr, uint32_t len);

/** user_rdma() - post a signaled RDMA WRITE or READ of @len bytes, likewise */
void user_rdma(const struct user_end *end, enum ibv_wr_opcode opcode, uint64_t addr,
	       uint32_t len, uint64_t remote_addr, uint32_t rkey);

/** user_recv() - post a receive request, likewise */
void user_recv(const struct user_end *end, struct ibv_qp *qp, uint64_t addr, uint32_t len);

#endif /* DEVICE_TESTS_BENCH_USER_H */
