/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A kernel driver and a device for the provider's tests.
 *
 * The uverbs commands of libibverbs are replaced: they "create" queues in a file.  The
 * provider maps the file as it maps kernel memory, and the tests see it as the device
 * does.
 */
#ifndef VIRTIO_ROCE_TEST_UTIL_H
#define VIRTIO_ROCE_TEST_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "virtio_roce.h"

#define TEST_QPN	7
#define TEST_CQE	24
#define TEST_SGES	3

/* A test with its own kernel and device. */
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

/* The same with queues in direct form. */
#define TEST_DIRECT(name) \
	cmocka_unit_test_setup_teardown(name, fake_setup_direct, fake_teardown)

/**
 * struct fake_vq - a virtqueue as the device sees it
 * @info: description that the kernel gives
 * @slots: slots
 * @avail: available ring
 * @used: used ring
 * @doorbell: doorbell register
 * @taken: available entries that the device has taken
 */
struct fake_vq {
	struct virtio_roce_queue info;
	uint8_t *slots;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t *doorbell;
	uint16_t taken;
};

/**
 * struct fake - kernel and device
 * @device: a device
 * @ctx: the device, opened
 * @pd: a protection domain
 * @mem: the file, mapped
 * @mem_used: how much of it is given out
 * @num: entries of a ring
 * @depth: slots of a queue
 * @flags: of each queue
 * @sq: send queue of the last QP
 * @rq: receive queue of the last QP
 * @cq: the last CQ
 * @break_info: lets a test make the description of a queue wrong
 * @fail: errno value that commands fail with
 * @rate_limit: the last one that was set
 * @max_burst: the last one that was set
 * @send_cmds: POST_SEND commands
 * @recv_cmds: POST_RECV commands
 * @qps: QPs that exist
 * @cqs: CQs that exist
 * @qp_control: control block of the last direct QP
 * @cq_control: control block of the last direct CQ
 * @page: doorbell page
 * @kick: doorbell register behind it
 * @bit: bit of the last QP in that page
 * @cq_tail: completions in the last direct CQ
 * @timed: its completions have their time
 * @clock: time of the last one
 * @told: number of its last event
 * @qpn: number of the next QP
 * @srqn: number of the next XRC SRQ
 * @xrcds: XRC domains that exist
 * @mtu: of the port
 * @ports_asked: QUERY_PORT commands
 * @in_group: the QP is attached to a multicast group
 * @rules: flow rules that it has
 * @rx_hash: what the last QP without queues was asked for with
 * @at_destroy: called once, by the next command that destroys an object, when it has
 *	destroyed it and waits until its events are acknowledged
 * @maps_at_destroy: mappings at the time of the last command that destroyed
 * @at_resize: called by a command that resizes a CQ or an SRQ, before and after it does so
 * @unread_less: so many fewer than there are it says are unread
 */
struct fake {
	struct ibv_device device;
	struct virtio_roce_context ctx;
	union {
		struct ibv_pd pd;
		struct virtio_roce_pd vpd;
	};
	uint8_t *mem;
	size_t mem_used;
	uint32_t num;
	uint32_t depth;
	uint32_t flags;
	struct fake_vq sq;
	struct fake_vq rq;
	struct fake_vq cq;
	void (*break_info)(struct virtio_roce_queue *info);
	int fail;
	uint32_t rate_limit;
	uint32_t max_burst;
	int send_cmds;
	int recv_cmds;
	int qps;
	int cqs;
	struct virtio_rdma_qp_control *qp_control;
	struct virtio_rdma_cq_control *cq_control;
	struct virtio_rdma_doorbell_page *page;
	uint16_t *kick;
	uint32_t bit;
	uint32_t cq_tail;
	bool timed;
	uint64_t clock;
	uint32_t told;
	uint32_t qpn;
	uint32_t srqn;
	int xrcds;
	enum ibv_mtu mtu;
	int ports_asked;
	bool in_group;
	int rules;
	struct virtio_roce_create_qp_req rx_hash;
	void (*at_destroy)(void);
	unsigned int maps_at_destroy;
	void (*at_resize)(bool done);
	uint32_t unread_less;
};

extern struct fake fake;

/**
 * struct helper - another thread
 * @thread: thread
 * @body: what it does
 * @tid: its number, 0 before it runs
 * @done: it has done it
 */
struct helper {
	pthread_t thread;
	void (*body)(void);
	pid_t tid;
	bool done;
};

void helper_start(struct helper *helper, void (*body)(void));
void helper_join(struct helper *helper);

int fake_setup(void **state);
int fake_setup_direct(void **state);
int fake_teardown(void **state);

uint8_t *fake_give(__u64 *offset, __u32 *size, size_t len);

void fake_direct_qp(struct virtio_roce_create_qp_resp *resp);

struct virtio_roce_cq *make_cq(void);
struct virtio_roce_qp *make_qp(enum ibv_qp_type type);
struct virtio_roce_qp *make_qp_on(struct virtio_roce_cq *cq,
				  enum ibv_qp_type type);
void drop_cq(struct virtio_roce_cq *cq);
void drop_qp(struct virtio_roce_qp *qp);
void drop_qp_and_cq(struct virtio_roce_qp *qp);
void drop_all(struct virtio_roce_qp *qp);

unsigned int fake_pending(const struct fake_vq *vq);
uint32_t *fake_alive(struct fake_vq *vq);
void *fake_take(struct fake_vq *vq);
void fake_use(struct fake_vq *vq, uint32_t slot);
void fake_use_next(struct fake_vq *vq);
void fake_complete(uint64_t wr_id, uint32_t qpn);
struct virtio_rdma_cq_req *fake_complete_begin(void);
void fake_complete_end(void);
void fake_share_mappings(struct fake_vq *fake_vq, struct virtio_roce_vq *vq);

unsigned int count_maps(void);
bool is_writable(const void *addr);

bool fake_direct_complete(const struct virtio_rdma_cqe *cqe);

void fake_destroyed(void);
void fake_resizing(bool done);

int run_arm_tests(void);
int run_counters_tests(void);
int run_cq_tests(void);
int run_destroy_tests(void);
int run_direct_tests(void);
int run_foreign_tests(void);
int run_poll_tests(void);
int run_post_tests(void);
int run_raw_tests(void);
int run_resize_tests(void);
int run_srq_tests(void);
int run_vq_tests(void);
int run_wq_tests(void);
int run_xrc_tests(void);

#endif /* VIRTIO_ROCE_TEST_UTIL_H */
