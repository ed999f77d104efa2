/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process on the device, for tests: through /dev/infiniband/uverbs*, with the
 * commands and mappings of a provider.
 *
 * The thread of the test has an address space of its own and calls the file's operations
 * as system calls do, so to the driver it is a process.
 */
#ifndef _VIRTIO_ROCE_PROCESS_H
#define _VIRTIO_ROCE_PROCESS_H

#include <linux/fs.h>
#include <rdma/ib_user_verbs.h>

#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"

/* Memory of the process: commands in the first page, answers in the last. */
#define USER_PAGES	8
#define USER_RESP	(PAGE_SIZE * (USER_PAGES - 1))

/**
 * struct process - a process
 * @test: test
 * @mock: function
 * @mnt: devtmpfs
 * @file: the uverbs device, NULL while it is closed
 * @mem: its memory
 * @resp: offset in @mem where answers go
 * @context: what GET_CONTEXT returned
 */
struct process {
	struct kunit *test;
	struct mock *mock;
	struct vfsmount *mnt;
	struct file *file;
	unsigned long mem;
	unsigned long resp;
	struct virtio_roce_alloc_ucontext_resp context;
};

/* Answers of the core, followed by those of the driver. */
struct cq_resp {
	u32 handle;
	u32 cqe;
	struct virtio_roce_create_cq_resp drv;
};

struct qp_resp {
	u32 handle;
	u32 qpn;
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline_data;
	u32 reserved;
	struct virtio_roce_create_qp_resp drv;
};

struct resize_resp {
	u32 cqe;
	u32 reserved;
	struct virtio_roce_resize_cq_resp drv;
};

static_assert(offsetof(struct resize_resp, drv) ==
	      sizeof(struct ib_uverbs_resize_cq_resp));
/**
 * struct srq_resp - response to CREATE_SRQ
 * @core: core's part
 * @drv: driver's part
 */
struct srq_resp {
	struct ib_uverbs_create_srq_resp core;
	struct virtio_roce_create_srq_resp drv;
};

static_assert(offsetof(struct cq_resp, drv) ==
	      sizeof(struct ib_uverbs_create_cq_resp));
static_assert(offsetof(struct qp_resp, drv) ==
	      sizeof(struct ib_uverbs_create_qp_resp));

/**
 * struct program - what a program has made
 * @p: process
 * @pd: handle
 * @cq: answer
 * @qp: answer
 */
struct program {
	struct process *p;
	u32 pd;
	struct cq_resp cq;
	struct qp_resp qp;
};

struct file *process_open(struct process *p);
void process_close_file(struct process *p);
void process_reopen(struct process *p);
int process_handshake(struct process *p, const void *req, u16 inlen, u16 outlen);
int process_query_clock(struct process *p, u64 *time);
int process_get_context(struct process *p, u16 outlen);
int process_command(struct process *p, u32 command, void *req, size_t len,
		    void *resp, size_t resp_len);
unsigned long process_mmap(struct process *p, u64 offset, size_t len,
			   int prot, int flags);
struct process *process_start(struct mock *mock);
struct process *process_with_context(struct mock *mock);
int process_command_ex(struct process *p, u32 command, const void *req, size_t len,
		       const void *drv, size_t drv_len, void *resp, size_t resp_len,
		       void *drv_resp, size_t drv_resp_len);
int process_alloc_pd(struct process *p, u32 *handle);
int process_dealloc_pd(struct process *p, u32 handle);
int process_reg_mr(struct process *p, u32 pd, unsigned long start, size_t len,
		   u64 hca_va, u32 access, struct ib_uverbs_reg_mr_resp *resp);
int process_dereg_mr(struct process *p, u32 handle);
struct page *process_page(struct kunit *test, unsigned long addr);
int process_create_cq(struct process *p, u32 cqe, struct cq_resp *resp);
int process_create_cq_ex(struct process *p, u32 cqe, u32 flags, struct cq_resp *resp);
int process_resize_cq(struct process *p, u32 handle, u32 cqe,
		      struct resize_resp *resp, size_t len);
int process_destroy_cq(struct process *p, u32 handle);
int process_create_srq(struct process *p, u32 pd, u32 depth, struct srq_resp *resp);
int process_resize_srq(struct process *p, u32 handle, u32 depth, u32 room,
		       struct virtio_roce_create_srq_resp *resp);
int process_destroy_srq(struct process *p, u32 handle);
int process_create_qp(struct process *p, u32 pd, u32 cq, u8 type,
		      struct qp_resp *resp);
int process_destroy_qp(struct process *p, u32 handle);
struct program *program_start(struct mock *mock);
void program_destroy(struct program *prog);
struct process *process_direct(struct mock *mock, struct program *prog);
void process_expect_ours(struct kunit *test, struct page *page);

#endif /* _VIRTIO_ROCE_PROCESS_H */
