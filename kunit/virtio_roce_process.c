// SPDX-License-Identifier: GPL-2.0
/*
 * A process on the device, for tests.
 */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_ioctl.h>

#include "virtio_roce_process.h"

/* ----- system calls ----- */

static int match_uverbs(struct device *dev, void *data)
{
	return dev->class && !strcmp(dev->class->name, "infiniband_verbs");
}

/**
 * process_open() - open the device once more
 * @p: process
 *
 * Return: file, or error pointer.
 */
struct file *process_open(struct process *p)
{
	struct path root = { .mnt = p->mnt, .dentry = p->mnt->mnt_root };
	struct device *dev;
	struct file *file;
	char name[64];

	dev = device_find_child(&p->mock->pdev->dev, NULL, match_uverbs);
	if (!dev)
		return ERR_PTR(-ENODEV);
	snprintf(name, sizeof(name), "infiniband/%s", dev_name(dev));
	put_device(dev);
	file = file_open_root(&root, name, O_RDWR | O_CLOEXEC, 0);
	return file;
}

/**
 * process_close_file() - close the device, if it is open
 * @p: process
 */
void process_close_file(struct process *p)
{
	if (!p->file)
		return;
	/* fput() of a kernel thread leaves the rest to a work item, and waits for none. */
	__fput_sync(p->file);
	p->file = NULL;
}

static void process_end(void *data)
{
	struct process *p = data;

	process_close_file(p);
	kern_unmount(p->mnt);
}

/**
 * process_reopen() - open the device anew, without a context
 * @p: process
 */
void process_reopen(struct process *p)
{
	process_close_file(p);
	p->file = process_open(p);
	if (IS_ERR(p->file)) {
		p->file = NULL;
		KUNIT_FAIL_AND_ABORT(p->test, "no uverbs device");
	}
}

/**
 * process_handshake() - make a context
 * @p: process
 * @req: request to the driver
 * @inlen: its length, 0 for none
 * @outlen: room for the driver's answer
 *
 * GET_CONTEXT, the one command that has to be an ioctl: write() would give a file
 * descriptor to a thread without files.
 *
 * Return: 0 or -errno.
 */
int process_handshake(struct process *p, const void *req, u16 inlen, u16 outlen)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} cmd = {
		.hdr = {
			.length = struct_size(&cmd.hdr, attrs, inlen ? 2 : 1),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_GET_CONTEXT,
			.num_attrs = inlen ? 2 : 1,
			.driver_id = VIRTIO_ROCE_DRIVER_ID,
		},
		.attr = {
			{
				.attr_id = UVERBS_ATTR_UHW_OUT,
				.len = outlen,
				.data = p->mem + p->resp,
			}, {
				.attr_id = UVERBS_ATTR_UHW_IN,
				.len = inlen,
				.data = p->mem + sizeof(cmd),
			},
		},
	};
	long ret;

	/* A short request stands in the attribute itself. */
	if (inlen <= sizeof(cmd.attr[1].data))
		memcpy(&cmd.attr[1].data, req, inlen);
	if (copy_to_user((void __user *)p->mem, &cmd, sizeof(cmd)) ||
	    copy_to_user((void __user *)p->mem + sizeof(cmd), req, inlen))
		return -EFAULT;
	ret = p->file->f_op->unlocked_ioctl(p->file, RDMA_VERBS_IOCTL, p->mem);
	if (ret)
		return ret;
	if (copy_from_user(&p->context, (void __user *)(p->mem + p->resp),
			   sizeof(p->context)))
		return -EFAULT;
	return 0;
}

/**
 * process_query_clock() - ask for the time of completions
 * @p: process
 * @time: result
 *
 * Return: 0 or -errno.
 */
int process_query_clock(struct process *p, u64 *time)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[1];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = VIRTIO_ROCE_METHOD_QUERY_CLOCK,
			.num_attrs = 1,
			.driver_id = VIRTIO_ROCE_DRIVER_ID,
		},
		.attr = {
			{
				.attr_id = VIRTIO_ROCE_ATTR_QUERY_CLOCK_TIME,
				.flags = UVERBS_ATTR_F_MANDATORY,
				.len = sizeof(*time),
				.data = p->mem + p->resp,
			},
		},
	};
	long ret;

	if (copy_to_user((void __user *)p->mem, &cmd, sizeof(cmd)))
		return -EFAULT;
	ret = p->file->f_op->unlocked_ioctl(p->file, RDMA_VERBS_IOCTL, p->mem);
	if (ret)
		return ret;
	return copy_from_user(time, (void __user *)(p->mem + p->resp), sizeof(*time)) ?
	       -EFAULT : 0;
}

/**
 * process_get_context() - make a context without a request to the driver
 * @p: process
 * @outlen: room for the driver's answer
 *
 * Return: 0 or -errno.
 */
int process_get_context(struct process *p, u16 outlen)
{
	return process_handshake(p, NULL, 0, outlen);
}

/**
 * process_command() - send a command as write() does
 * @p: process
 * @command: command
 * @req: request; with an answer it starts with the address for that
 * @len: its length
 * @resp: answer
 * @resp_len: its length, 0 if there is none
 *
 * Return: 0 or -errno.
 */
int process_command(struct process *p, u32 command, void *req, size_t len,
		    void *resp, size_t resp_len)
{
	struct ib_uverbs_cmd_hdr hdr = {
		.command = command,
		.in_words = (sizeof(hdr) + len) / 4,
		.out_words = resp_len / 4,
	};
	loff_t pos = 0;
	ssize_t ret;

	if (resp_len)
		*(u64 *)req = p->mem + p->resp;
	if (copy_to_user((void __user *)p->mem, &hdr, sizeof(hdr)) ||
	    copy_to_user((void __user *)p->mem + sizeof(hdr), req, len))
		return -EFAULT;
	ret = p->file->f_op->write(p->file, (const char __user *)p->mem,
				   sizeof(hdr) + len, &pos);
	if (ret < 0)
		return ret;
	if (resp_len && copy_from_user(resp, (void __user *)(p->mem + p->resp),
				       resp_len))
		return -EFAULT;
	return 0;
}

/**
 * process_command_ex() - an extended command of uverbs
 * @p: process
 * @command: command
 * @req: request
 * @len: its length, a multiple of 8, like all of the following
 * @drv: what the provider adds to it
 * @drv_len: its length
 * @resp: answer
 * @resp_len: its length
 * @drv_resp: what the driver adds to it
 * @drv_resp_len: its length
 *
 * Return: 0 or -errno.
 */
int process_command_ex(struct process *p, u32 command, const void *req, size_t len,
		       const void *drv, size_t drv_len, void *resp, size_t resp_len,
		       void *drv_resp, size_t drv_resp_len)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
	} head = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_FLAG_EXTENDED | command,
			.in_words = len / 8,
			.out_words = resp_len / 8,
		},
		.ex = {
			.provider_in_words = drv_len / 8,
			.provider_out_words = drv_resp_len / 8,
		},
	};
	unsigned long to = p->mem, from = p->mem + p->resp;
	loff_t pos = 0;
	ssize_t ret;

	if (resp_len || drv_resp_len)
		head.ex.response = from;
	if (copy_to_user((void __user *)to, &head, sizeof(head)) ||
	    copy_to_user((void __user *)(to + sizeof(head)), req, len) ||
	    copy_to_user((void __user *)(to + sizeof(head) + len), drv, drv_len))
		return -EFAULT;
	ret = p->file->f_op->write(p->file, (const char __user *)to,
				   sizeof(head) + len + drv_len, &pos);
	if (ret < 0)
		return ret;
	if (copy_from_user(resp, (void __user *)from, resp_len) ||
	    copy_from_user(drv_resp, (void __user *)(from + resp_len), drv_resp_len))
		return -EFAULT;
	return 0;
}

/**
 * process_mmap() - map a piece of the device
 * @p: process
 * @offset: offset
 * @len: length
 * @prot: PROT_*
 * @flags: MAP_*
 *
 * Return: address, or -errno.
 */
unsigned long process_mmap(struct process *p, u64 offset, size_t len,
			   int prot, int flags)
{
	return vm_mmap(p->file, 0, len, prot, flags, offset);
}

/* ----- a process with the device open ----- */

/**
 * process_start() - a process with the device open
 * @mock: function, which is published
 *
 * Return: process, never NULL.
 */
struct process *process_start(struct mock *mock)
{
	struct kunit *test = mock->test;
	struct process *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->test = test;
	p->mock = mock;
	p->resp = USER_RESP;
	mock_publish(mock);

	p->mnt = kern_mount(get_fs_type("devtmpfs"));
	KUNIT_ASSERT_FALSE(test, IS_ERR(p->mnt));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, process_end, p));
	p->mem = kunit_vm_mmap(test, NULL, 0, USER_PAGES * PAGE_SIZE,
			       PROT_READ | PROT_WRITE,
			       MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, p->mem, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(p->mem));
	p->file = process_open(p);
	if (IS_ERR(p->file)) {
		long err = PTR_ERR(p->file);

		p->file = NULL;
		KUNIT_FAIL_AND_ABORT(test, "no uverbs device: %ld", err);
	}
	return p;
}

/**
 * process_with_context() - a process with a context
 * @mock: function, which is published
 *
 * Return: process, never NULL.
 */
struct process *process_with_context(struct mock *mock)
{
	struct process *p = process_start(mock);

	KUNIT_ASSERT_EQ(p->test, 0, process_get_context(p, sizeof(p->context)));
	return p;
}

/**
 * process_alloc_pd() - ALLOC_PD
 * @p: process
 * @handle: answer
 *
 * Return: 0 or -errno, as the following.
 */
int process_alloc_pd(struct process *p, u32 *handle)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ib_uverbs_alloc_pd req = {};
	int err;

	err = process_command(p, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req),
			      &resp, sizeof(resp));
	*handle = resp.pd_handle;
	return err;
}

/**
 * process_dealloc_pd() - DEALLOC_PD
 * @p: process
 * @handle: PD
 */
int process_dealloc_pd(struct process *p, u32 handle)
{
	struct ib_uverbs_dealloc_pd req = { .pd_handle = handle };

	return process_command(p, IB_USER_VERBS_CMD_DEALLOC_PD, &req,
			       sizeof(req), NULL, 0);
}

/**
 * process_reg_mr() - REG_MR
 * @p: process
 * @pd: protection domain
 * @start: address in the process
 * @len: bytes
 * @hca_va: address that work requests use
 * @access: IB_ACCESS_* bits
 * @resp: handle and keys
 *
 * Return: 0 or -errno.
 */
int process_reg_mr(struct process *p, u32 pd, unsigned long start, size_t len,
		   u64 hca_va, u32 access, struct ib_uverbs_reg_mr_resp *resp)
{
	struct ib_uverbs_reg_mr req = {
		.start = start,
		.length = len,
		.hca_va = hca_va,
		.pd_handle = pd,
		.access_flags = access,
	};

	return process_command(p, IB_USER_VERBS_CMD_REG_MR, &req, sizeof(req),
			       resp, sizeof(*resp));
}

/**
 * process_dereg_mr() - DEREG_MR
 * @p: process
 * @handle: memory region
 *
 * Return: 0 or -errno.
 */
int process_dereg_mr(struct process *p, u32 handle)
{
	struct ib_uverbs_dereg_mr req = { .mr_handle = handle };

	return process_command(p, IB_USER_VERBS_CMD_DEREG_MR, &req, sizeof(req),
			       NULL, 0);
}

/**
 * process_page() - the page at an address of the process, not pinned
 * @test: test that runs in the process
 * @addr: address
 *
 * Return: page.
 */
struct page *process_page(struct kunit *test, unsigned long addr)
{
	struct page *page = NULL;

	KUNIT_ASSERT_EQ(test, 1, get_user_pages_fast(addr, 1, FOLL_WRITE, &page));
	put_page(page);
	return page;
}

/**
 * process_create_cq() - CREATE_CQ
 * @p: process
 * @cqe: completions
 * @resp: answer
 */
int process_create_cq(struct process *p, u32 cqe, struct cq_resp *resp)
{
	struct ib_uverbs_create_cq req = { .cqe = cqe, .comp_channel = -1 };

	return process_command(p, IB_USER_VERBS_CMD_CREATE_CQ, &req,
			       sizeof(req), resp, sizeof(*resp));
}

/**
 * process_create_cq_ex() - the extended command, which has flags
 * @p: process
 * @cqe: completions
 * @flags: &enum ib_uverbs_ex_create_cq_flags
 * @resp: answer
 */
int process_create_cq_ex(struct process *p, u32 cqe, u32 flags, struct cq_resp *resp)
{
	const struct ib_uverbs_ex_create_cq req = {
		.cqe = cqe,
		.comp_channel = -1,
		.flags = flags,
	};
	struct ib_uverbs_ex_create_cq_resp core = {};
	int err;

	err = process_command_ex(p, IB_USER_VERBS_EX_CMD_CREATE_CQ, &req, sizeof(req),
				 NULL, 0, &core, sizeof(core), &resp->drv,
				 sizeof(resp->drv));
	resp->handle = core.base.cq_handle;
	resp->cqe = core.base.cqe;
	return err;
}

/**
 * process_resize_cq() - RESIZE_CQ
 * @p: process
 * @handle: CQ
 * @cqe: completions
 * @resp: answer
 * @len: bytes of it that there is room for
 */
int process_resize_cq(struct process *p, u32 handle, u32 cqe,
		      struct resize_resp *resp, size_t len)
{
	struct ib_uverbs_resize_cq req = { .cq_handle = handle, .cqe = cqe };

	return process_command(p, IB_USER_VERBS_CMD_RESIZE_CQ, &req,
			       sizeof(req), resp, len);
}

/**
 * process_destroy_cq() - DESTROY_CQ
 * @p: process
 * @handle: CQ
 */
int process_destroy_cq(struct process *p, u32 handle)
{
	struct ib_uverbs_destroy_cq req = { .cq_handle = handle };
	struct ib_uverbs_destroy_cq_resp resp;

	return process_command(p, IB_USER_VERBS_CMD_DESTROY_CQ, &req,
			       sizeof(req), &resp, sizeof(resp));
}

/**
 * process_create_srq() - CREATE_SRQ, for requests of one element
 * @p: process
 * @pd: PD
 * @depth: requests
 * @resp: answer
 */
int process_create_srq(struct process *p, u32 pd, u32 depth, struct srq_resp *resp)
{
	struct ib_uverbs_create_srq req = {
		.pd_handle = pd,
		.max_wr = depth,
		.max_sge = 1,
	};

	return process_command(p, IB_USER_VERBS_CMD_CREATE_SRQ, &req,
			       sizeof(req), resp, sizeof(*resp));
}

/**
 * process_resize_srq() - MODIFY_SRQ, of its size
 * @p: process
 * @handle: SRQ
 * @depth: requests
 * @room: bytes that the process says it has for the answer
 * @resp: answer
 */
int process_resize_srq(struct process *p, u32 handle, u32 depth, u32 room,
		       struct virtio_roce_create_srq_resp *resp)
{
	struct {
		struct ib_uverbs_modify_srq core;
		struct virtio_roce_modify_srq_req drv;
	} req = {
		.core = {
			.srq_handle = handle,
			.attr_mask = IB_SRQ_MAX_WR,
			.max_wr = depth,
		},
		.drv = { .resp = p->mem + p->resp, .resp_len = room },
	};
	int err;

	err = process_command(p, IB_USER_VERBS_CMD_MODIFY_SRQ, &req, sizeof(req),
			      NULL, 0);
	if (!err && copy_from_user(resp, (void __user *)(p->mem + p->resp),
				   sizeof(*resp)))
		return -EFAULT;
	return err;
}

/**
 * process_destroy_srq() - DESTROY_SRQ
 * @p: process
 * @handle: SRQ
 */
int process_destroy_srq(struct process *p, u32 handle)
{
	struct ib_uverbs_destroy_srq req = { .srq_handle = handle };
	struct ib_uverbs_destroy_srq_resp resp;

	return process_command(p, IB_USER_VERBS_CMD_DESTROY_SRQ, &req,
			       sizeof(req), &resp, sizeof(resp));
}

/**
 * process_create_qp() - CREATE_QP, for 5 sends of 2 and 3 receives of 1 element
 * @p: process
 * @pd: PD
 * @cq: CQ of both queues
 * @type: &enum ib_qp_type
 * @resp: answer
 */
int process_create_qp(struct process *p, u32 pd, u32 cq, u8 type,
		      struct qp_resp *resp)
{
	struct ib_uverbs_create_qp req = {
		.pd_handle = pd,
		.send_cq_handle = cq,
		.recv_cq_handle = cq,
		.max_send_wr = 5,
		.max_recv_wr = 3,
		.max_send_sge = 2,
		.max_recv_sge = 1,
		.max_inline_data = 16,
		.qp_type = type,
	};

	return process_command(p, IB_USER_VERBS_CMD_CREATE_QP, &req,
			       sizeof(req), resp, sizeof(*resp));
}

/**
 * process_destroy_qp() - DESTROY_QP
 * @p: process
 * @handle: QP
 */
int process_destroy_qp(struct process *p, u32 handle)
{
	struct ib_uverbs_destroy_qp req = { .qp_handle = handle };
	struct ib_uverbs_destroy_qp_resp resp;

	return process_command(p, IB_USER_VERBS_CMD_DESTROY_QP, &req,
			       sizeof(req), &resp, sizeof(resp));
}

/**
 * program_start() - a process with a PD, a CQ for 6 and an RC QP
 * @mock: function, which is published
 *
 * Return: program, never NULL.
 */
struct program *program_start(struct mock *mock)
{
	struct kunit *test = mock->test;
	struct program *prog = kunit_kzalloc(test, sizeof(*prog), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, prog);
	prog->p = process_with_context(mock);
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(prog->p, &prog->pd));
	KUNIT_ASSERT_EQ(test, 0, process_create_cq(prog->p, 6, &prog->cq));
	KUNIT_ASSERT_EQ(test, 0, process_create_qp(prog->p, prog->pd,
						   prog->cq.handle, IB_QPT_RC,
						   &prog->qp));
	return prog;
}

/**
 * program_destroy() - destroy QP, CQ and PD, as a program does at its end
 * @prog: program
 */
void program_destroy(struct program *prog)
{
	struct kunit *test = prog->p->test;

	KUNIT_EXPECT_EQ(test, 0, process_destroy_qp(prog->p, prog->qp.handle));
	KUNIT_EXPECT_EQ(test, 0, process_destroy_cq(prog->p, prog->cq.handle));
	KUNIT_EXPECT_EQ(test, 0, process_dealloc_pd(prog->p, prog->pd));
}

/**
 * process_direct() - a process with direct queues
 * @mock: function, not published
 * @prog: result, but for its &program.p
 *
 * Return: process, never NULL.
 */
struct process *process_direct(struct mock *mock, struct program *prog)
{
	const struct virtio_roce_alloc_ucontext_req req = {
		.features = VIRTIO_ROCE_FEATURE_DIRECT,
	};
	struct kunit *test = mock->test;
	struct process *p;

	mock_make_direct(mock);
	p = process_start(mock);
	KUNIT_ASSERT_EQ(test, 0, process_handshake(p, &req, sizeof(req),
						   sizeof(p->context)));
	KUNIT_EXPECT_EQ(test, p->context.features, VIRTIO_ROCE_FEATURE_DIRECT);
	KUNIT_ASSERT_EQ(test, 0, process_alloc_pd(p, &prog->pd));
	KUNIT_ASSERT_EQ(test, 0, process_create_cq(p, 20, &prog->cq));
	KUNIT_ASSERT_EQ(test, 0, process_create_qp(p, prog->pd, prog->cq.handle,
						   IB_QPT_RC, &prog->qp));
	return p;
}

/**
 * process_expect_ours() - nobody but the caller has a page any more
 * @test: test
 * @page: page, of which the caller has a reference
 *
 * Who had it may give it back a little later.
 */
void process_expect_ours(struct kunit *test, struct page *page)
{
	mock_wait(page_count(page) <= 1);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
}
