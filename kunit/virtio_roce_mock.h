/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A RoCE function without hardware, for tests of the RDMA driver.
 *
 * It answers commands in one of two ways.  By a script, which is a table of answers in
 * order.  Or as a device would: it keeps the objects that commands create, assigns the
 * lowest free number, and records what a driver must not do as a violation.
 */
#ifndef _VIRTIO_ROCE_MOCK_H
#define _VIRTIO_ROCE_MOCK_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>

#include "virtio_net_roce.h"
#include "virtio_net_roce_aux.h"

struct ib_device;
struct ib_pd;
struct ib_qp;
struct ib_qp_init_attr;
struct ib_udata;
struct ib_uqp_object;

/* Of ib_core; it exports this, but only core_priv.h has it. */
struct ib_qp *ib_create_qp_user(struct ib_device *dev, struct ib_pd *pd,
				struct ib_qp_init_attr *attr, struct ib_udata *udata,
				struct ib_uqp_object *uobj, const char *caller);

#define MOCK_QPS	8
#define MOCK_CQS	8
/* Direct queues have the numbers behind those of the RFC. */
#define MOCK_ALL_QPS	16
#define MOCK_ALL_CQS	16
#define MOCK_PDS	8
#define MOCK_MRS	8
#define MOCK_AHS	8
#define MOCK_GIDS	16
#define MOCK_CALLS	256
#define MOCK_REQ_MAX	192
#define MOCK_PAGES	24
#define MOCK_DOORBELLS	4
#define MOCK_SRQS	4
/* The handle of an SRQ is its index plus this. */
#define MOCK_SRQ_HANDLE	0xabc00
#define MOCK_XRCDS	2
/* The handle of an XRC domain is its index plus this. */
#define MOCK_XRCD_HANDLE	0x7100
#define MOCK_TABLES	2
#define MOCK_TABLE_MAX	8
/* The handle of an indirection table is its index plus this. */
#define MOCK_TABLE_HANDLE	0x5500
#define MOCK_FLOWS	4
/* The handle of a flow rule is its index plus this. */
#define MOCK_FLOW_HANDLE	0x6600
#define MOCK_RSP_MAX	256

/* How long to wait for what has to happen.  KUnit ends a case after 300 s. */
#define MOCK_PATIENCE	(60 * HZ)

/**
 * struct mock_answer - one line of a script
 * @command: command that must come
 * @ret: what the lower module returns for it
 * @rsp_len: length of the response
 * @rsp: response
 */
struct mock_answer {
	u8 command;
	int ret;
	size_t rsp_len;
	u8 rsp[MOCK_RSP_MAX];
};

/**
 * struct mock_call - a command that was sent
 * @command: command
 * @atomic: the caller must not sleep
 * @ret: what it was answered
 * @req: request, cut off at MOCK_REQ_MAX
 * @req_len: its length
 * @rsp_len: bytes that the response had to have
 */
struct mock_call {
	u8 command;
	bool atomic;
	int ret;
	u8 req[MOCK_REQ_MAX] __aligned(8);
	size_t req_len;
	size_t rsp_len;
};

/**
 * struct mock_vq - a virtqueue
 * @pub: what the driver sees
 * @kicks: how often its doorbell was rung
 * @used: used index, as the device counts it
 */
struct mock_vq {
	struct virtio_net_roce_vq pub;
	unsigned int kicks;
	u16 used;
};

struct mock_cq {
	bool exists;
	u32 cqe;
	int refs;
	u32 armed;
	bool arm_first;
	bool timed;
	u16 count;	/* of MODIFY_CQ, like the next one */
	u16 period;
	bool kernel;
	void (*notify)(void *data);
	void *data;
	struct virtio_rdma_cq_control *control;
	u16 event_vq;
	u64 pages[MOCK_PAGES];
	u32 tail;
	u32 told;
};

struct mock_qp {
	bool exists;
	u8 type;
	u8 flags;
	u8 state;
	u32 pdn;
	u32 scqn;
	u32 rcqn;
	unsigned int groups;
	struct virtio_rdma_qp_control *control;
	struct virtio_rdma_qp_direct direct;
	u64 pages[2 * MOCK_PAGES];
	u32 table;	/* of an RX_HASH QP */
	struct virtio_rdma_ack_query_counters counters;
};

struct mock_table {
	bool exists;
	int refs;
	u32 n;
	u32 wqn[MOCK_TABLE_MAX];
};

struct mock_flow {
	bool exists;
	u32 qpn;
	u32 tag;
	u64 packets;
	u64 bytes;
};

struct mock_srq {
	bool exists;
	int refs;
	u32 pdn;
	u32 limit;
	bool xrc;
	u32 xrcd;	/* of an XRC SRQ, like the next one */
	u32 cqn;
	struct virtio_rdma_cmd_create_srq req;
	struct virtio_rdma_srq_control *control;
	u64 pages[MOCK_PAGES];
};

struct mock_mr {
	bool exists;
	u32 pdn;
	u32 access;
	u64 virt_addr;
	u64 length;
	u32 npages;
	u8 page_shift;
	u8 levels;
	u64 first_page;
	u64 last_page;
	u64 sum;		/* of the addresses of all pages */
	u32 changed_pages;	/* of the last REREG_MR */
	u32 window;		/* type, of a memory window */
};

/**
 * struct mock - the function
 * @aux: what the driver sees
 * @test: test that it belongs to
 * @pdev: stands for the PCI device
 * @published: @aux was registered
 * @num: size of each virtqueue
 * @script: prepared answers, NULL to act as a device
 * @script_len: how many
 * @script_pos: how many were given
 * @lock: guards all that follows
 * @calls: commands that were sent
 * @ncalls: how many, also beyond MOCK_CALLS
 * @fail: errno to answer a command with, by command
 * @settled: the last command of the kind was to wait for the device's reset
 * @was_slow: the last command of the kind was said to take long
 * @next_cqn: answer the next CREATE_CQ with this CQN, unless it is negative
 * @next_qpn: answer the next CREATE_QP with this QPN, unless it is negative
 * @same_srq: CREATE_SRQ answers with the handle of the first SRQ
 * @wide_srq: CREATE_XRC_SRQ answers with a number of more than 24 bits, and makes nothing
 * @unread_more: RESIZE_CQ claims so many more unread completions than there are
 * @flush: a QP that goes to ERR marks all requests used
 * @speed: of the Ethernet interface, Mb/s
 * @slow: milliseconds that each command takes whose caller may sleep
 * @hold: the next command of the kind waits for @release until the device sees it
 * @hold_answer: the same, when the device has seen it
 * @held: completed when a command waits
 * @release: lets it go on
 * @running: commands that are carried out now and whose caller may sleep
 * @most: most that there were at a time
 * @given_up: how often it was given up
 * @never_quiet: it cannot be reset
 * @violation: first thing that a driver must not do
 * @notify: what the driver has called for events
 * @doorbell_vq: its only doorbell virtqueue
 * @doorbells: doorbell pages, NULL where there is none
 */
struct mock {
	struct virtio_net_roce_aux aux;
	struct kunit *test;
	struct platform_device *pdev;
	bool published;
	u32 num;

	const struct mock_answer *script;
	size_t script_len;
	size_t script_pos;

	spinlock_t lock;	/* state of the device */
	struct mock_call calls[MOCK_CALLS];
	unsigned int ncalls;
	int fail[VIRTIO_NET_CTRL_ROCE_NUM];
	bool settled[VIRTIO_NET_CTRL_ROCE_NUM];
	bool was_slow[VIRTIO_NET_CTRL_ROCE_NUM];
	int next_cqn;
	int next_qpn;
	bool same_srq;
	bool wide_srq;
	u32 unread_more;
	bool flush;
	u32 speed;
	unsigned int slow;
	bool hold[VIRTIO_NET_CTRL_ROCE_NUM];
	bool hold_answer[VIRTIO_NET_CTRL_ROCE_NUM];
	struct completion held;
	struct completion release;
	unsigned int running;
	unsigned int most;
	unsigned int given_up;
	bool never_quiet;
	char violation[128];
	void (*notify)(struct virtio_net_roce_aux *aux, u16 type, u32 number);
	struct mock_vq doorbell_vq;
	struct virtio_rdma_doorbell_page *doorbells[MOCK_DOORBELLS];

	struct virtio_rdma_ack_query_device query_device;
	struct virtio_rdma_ack_query_port query_port;
	struct virtio_rdma_ack_query_counters counters;
	u64 clock;
	void (*event)(struct virtio_net_roce_aux *aux,
		      enum virtio_net_roce_event event);
	struct mock_vq cq_vqs[MOCK_CQS];
	struct mock_vq sq_vqs[MOCK_QPS];
	struct mock_vq rq_vqs[MOCK_QPS];
	struct mock_cq cqs[MOCK_ALL_CQS];
	struct mock_qp qps[MOCK_ALL_QPS];
	struct mock_srq srqs[MOCK_SRQS];
	struct mock_mr mrs[MOCK_MRS];
	int pd_refs[MOCK_PDS];	/* -1 if it does not exist */
	int xrcd_refs[MOCK_XRCDS];	/* likewise */
	struct mock_table tables[MOCK_TABLES];
	struct mock_flow flows[MOCK_FLOWS];
	int ah_pdn[MOCK_AHS];	/* likewise */
	u8 gids[MOCK_GIDS][16];
};

/* Waits long enough that only a mistake makes it fail. */
#define mock_wait(cond) ({						\
	unsigned long __end = jiffies + MOCK_PATIENCE;			\
	bool __met;							\
									\
	while (!(__met = (cond)) && time_before(jiffies, __end))	\
		usleep_range(500, 1000);				\
	__met;								\
})

/* ----- virtio_roce_mock_device.c ----- */

struct mock *mock_scripted(struct kunit *test, const struct mock_answer *script,
			   size_t len);
struct mock *mock_device(struct kunit *test, u32 num);
void mock_publish(struct mock *mock);
void mock_withdraw(struct mock *mock);
struct ib_device *mock_ibdev(struct mock *mock);
struct ib_device *mock_start(struct mock *mock);
void mock_stop(struct mock *mock, struct ib_device *ibdev);
void mock_link(struct mock *mock, bool up);

/* ----- virtio_roce_mock.c ----- */

unsigned int mock_count(struct mock *mock, u8 command);
const struct mock_call *mock_last(struct mock *mock, u8 command);
unsigned int mock_objects(struct mock *mock);
void mock_expect_clean(struct mock *mock);
void mock_complete(struct mock *mock, u32 cqn,
		   const struct virtio_rdma_cq_req *req);
u16 mock_avail_idx(const struct mock_vq *vq);
void *mock_take(struct mock *mock, struct mock_vq *vq, u16 pos, u32 *len);

/* ----- virtio_roce_mock_direct.c ----- */

void mock_make_direct(struct mock *mock);
int mock_direct_create_cq(struct mock *mock, const struct kvec *req, void *rsp);
int mock_direct_create_qp(struct mock *mock, const struct kvec *req, void *rsp);
int mock_direct_resize_cq(struct mock *mock, const struct kvec *req, void *rsp);
int mock_create_srq(struct mock *mock, const struct kvec *req, void *rsp);
int mock_modify_srq(struct mock *mock, const void *r, void *rsp);
int mock_resize_srq(struct mock *mock, const struct kvec *req);
int mock_query_srq(struct mock *mock, const void *r, void *rsp);
int mock_destroy_srq(struct mock *mock, const void *r, void *rsp);
struct mock_srq *mock_qp_srq(struct mock *mock, const struct mock_qp *qp);
struct virtio_rdma_rwqe *mock_srq_slot(struct mock *mock, u32 srq, u32 index);
int mock_alloc_doorbell(struct mock *mock, const void *r, void *rsp);
int mock_free_doorbell(struct mock *mock, const void *r, void *rsp);
void mock_event(struct mock *mock, u16 type, u32 number);
void mock_direct_raise(struct mock *mock, u32 cqn, bool solicited);
void mock_direct_complete(struct mock *mock, u32 cqn,
			  const struct virtio_rdma_cqe *cqe, bool solicited);
void *mock_direct_slot(struct mock *mock, u32 qpn, bool recv, u32 index);
bool mock_direct_control_lives(struct mock *mock, u8 command);

/* ----- virtio_roce_mock_xrc.c ----- */

int mock_create_xrcd(struct mock *mock, const void *r, void *rsp);
int mock_destroy_xrcd(struct mock *mock, const void *r, void *rsp);
int mock_create_xrc_srq(struct mock *mock, const struct kvec *req, void *rsp);
void mock_xrc_srq_gone(struct mock *mock, const struct mock_srq *srq);
int mock_tgt_made(struct mock *mock, const struct kvec *req);
int mock_tgt_gone(struct mock *mock, struct mock_qp *qp);

/* ----- virtio_roce_mock_wq.c ----- */

void mock_wq_made(struct mock *mock, struct mock_qp *qp);
void mock_wq_gone(struct mock *mock, u32 qpn);
int mock_create_wq_table(struct mock *mock, const struct kvec *req, void *rsp);
int mock_destroy_wq_table(struct mock *mock, const void *r, void *rsp);
int mock_create_rx_hash_qp(struct mock *mock, const void *r, void *rsp);
int mock_rx_hash_gone(struct mock *mock, struct mock_qp *qp);
int mock_create_flow(struct mock *mock, const void *r, void *rsp);
int mock_create_flow_long(struct mock *mock, const void *r, void *rsp);
int mock_query_flow(struct mock *mock, const void *r, void *rsp);
int mock_destroy_flow(struct mock *mock, const void *r, void *rsp);

/* ----- virtio_roce_mock_mr.c ----- */

int mock_get_dma_mr(struct mock *mock, const void *r, void *rsp);
int mock_alloc_mr(struct mock *mock, const void *r, void *rsp);
int mock_reg_user_mr(struct mock *mock, const void *r, const struct kvec *pages, void *rsp);
int mock_rereg_mr(struct mock *mock, const struct virtio_net_roce_cmd *cmd);
int mock_alloc_mw(struct mock *mock, const void *r, void *rsp);
int mock_dereg_mr(struct mock *mock, const void *r, void *rsp);

/* ----- virtio_roce_mock_cmd.c ----- */

int mock_act(struct mock *mock, struct virtio_net_roce_cmd *cmd);
int mock_pd_use(struct mock *mock, u32 pdn, int change);
bool mock_cq_exists(struct mock *mock, u32 cqn);
bool mock_qp_exists(struct mock *mock, u32 qpn);

/* ----- virtio_roce_mock.c, for them ----- */

extern const struct virtio_net_roce_ops mock_ops;

void mock_violation(struct mock *mock, const char *what, u32 number);

/* ----- virtio_roce_mock_device.c, likewise ----- */

void mock_vq_init(struct mock *mock, struct mock_vq *vq, u16 index);

#endif /* _VIRTIO_ROCE_MOCK_H */
