// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * oldabi: a provider of the first version of the ABI that can grow.
 *
 *	oldabi DEVICE
 *
 * It speaks with the kernel driver by the layout of that day, which is written down here
 * and does not include uapi/virtio_roce-abi.h: whatever that file becomes, a kernel
 * driver with the same ABI version must serve this program.  Beside that, it sends
 * requests that are longer and shorter, and gives more and less room for answers.  It
 * ends with a line that tells the features that it got when it asked for all, or with 1
 * and what is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define DRIVER_ID	0x1af4
#define ABI_VERSION	2
#define QPT_RC		2
#define GUARD		0xa5
#define MORE		64

/* The layout, never to be changed. */
struct old_queue {
	uint64_t slots_offset, avail_offset, used_offset, doorbell_offset;
	uint32_t slots_len, avail_len, used_len, doorbell_len;
	uint32_t doorbell_pos, doorbell_value, num, depth, stride, flags;
	uint64_t reserved[7];
};

struct old_context_req {
	uint64_t features;
};

struct old_context {
	uint64_t features, device_caps;
	uint32_t max_inline_data, reserved;
};

_Static_assert(sizeof(struct old_queue) == 128, "layout");
_Static_assert(sizeof(struct old_context) == 24, "layout");

/* Lengths of what goes to the driver and comes from it. */
struct lens {
	uint16_t in;
	uint16_t out;
	bool dirty;	/* the last byte of the request is not zero */
	bool refused;
};

/* An answer of the core, and behind it that of the driver. */
struct answer {
	union {
		struct ib_uverbs_create_cq_resp cq;
		struct ib_uverbs_create_qp_resp qp;
		struct ib_uverbs_alloc_pd_resp pd;
		uint8_t bytes[1024];
	};
};

static char uverbs[64];

#define FAIL(...) do {						\
	fprintf(stderr, "oldabi: " __VA_ARGS__);		\
	fputc('\n', stderr);					\
	exit(1);						\
} while (0)

static long read_file(const char *dir, int number, const char *name, char *text)
{
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s%d/%s", dir, number,
		 name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, 63);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return strtol(text, NULL, 10);
}

static void find(const char *device)
{
	char text[64];
	int i;

	for (i = 0; i < 64; i++) {
		if (read_file("uverbs", i, "ibdev", text) < 0 || strcmp(text, device))
			continue;
		if (read_file("uverbs", i, "abi_version", text) != ABI_VERSION)
			FAIL("ABI version %s", text);
		snprintf(uverbs, sizeof(uverbs), "/dev/infiniband/uverbs%d", i);
		return;
	}
	FAIL("no device %s", device);
}

static void check_guard(const uint8_t *buf, size_t from, size_t size, const char *what)
{
	for (; from < size; from++)
		if (buf[from] != GUARD)
			FAIL("%s: the driver wrote byte %zu, for which there is no room",
			     what, from);
}

static void judge(const char *what, const struct lens *lens, int err)
{
	if (err != (lens->refused ? EINVAL : 0))
		FAIL("%s with %u bytes%s and room for %u: %s", what, lens->in,
		     lens->dirty ? " (the last not zero)" : "", lens->out,
		     strerror(err));
}

/* Opens the device; returns the file. */
static int open_context(const struct lens *lens, uint64_t features, struct old_context *got)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} cmd = {};
	uint8_t in[128] = {}, out[256];
	int fd = open(uverbs, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		FAIL("%s: %s", uverbs, strerror(errno));
	memset(out, GUARD, sizeof(out));
	memcpy(in, &features, sizeof(features));
	if (lens->dirty)
		in[lens->in - 1] = 1;
	cmd.hdr.object_id = UVERBS_OBJECT_DEVICE;
	cmd.hdr.method_id = UVERBS_METHOD_GET_CONTEXT;
	cmd.hdr.driver_id = DRIVER_ID;
	cmd.hdr.num_attrs = lens->in ? 2 : 1;
	cmd.hdr.length = sizeof(cmd.hdr) + cmd.hdr.num_attrs * sizeof(cmd.attr[0]);
	cmd.attr[0].attr_id = UVERBS_ATTR_UHW_OUT;
	cmd.attr[0].len = lens->out;
	cmd.attr[0].data = (uintptr_t)out;
	cmd.attr[1].attr_id = UVERBS_ATTR_UHW_IN;
	cmd.attr[1].len = lens->in;
	/* Up to eight bytes stand in the attribute itself. */
	if (lens->in <= sizeof(uint64_t))
		memcpy(&cmd.attr[1].data, in, sizeof(uint64_t));
	else
		cmd.attr[1].data = (uintptr_t)in;
	judge("alloc_context", lens, ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0);
	check_guard(out, lens->out, sizeof(out), "alloc_context");
	memcpy(got, out, sizeof(*got));
	if (!lens->refused && (got->max_inline_data < 64 || got->max_inline_data > 4096))
		FAIL("alloc_context: max_inline_data is %u", got->max_inline_data);
	if (!lens->refused && got->features & ~features)
		FAIL("alloc_context: features that were not asked for");
	return fd;
}

/* Sends a command of @len bytes, and behind it what @lens says. */
static void command(int fd, uint32_t number, const char *what, const void *req, size_t len,
		    const struct lens *lens, size_t core_out, struct answer *answer)
{
	struct ib_uverbs_cmd_hdr hdr = { .command = number };
	uint64_t response = (uintptr_t)answer;
	uint8_t buf[512] = {};
	size_t size = sizeof(hdr) + len + lens->in;

	hdr.in_words = size / 4;
	hdr.out_words = (core_out + lens->out) / 4;
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), req, len);
	memcpy(buf + sizeof(hdr), &response, sizeof(response));
	if (lens->dirty)
		buf[size - 1] = 1;
	memset(answer, GUARD, sizeof(*answer));
	judge(what, lens, write(fd, buf, size) < 0 ? errno : 0);
	check_guard(answer->bytes, core_out + lens->out, sizeof(*answer), what);
}

static void map_piece(int fd, const char *what, uint64_t offset, uint32_t len)
{
	void *addr = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, offset);

	if (addr == MAP_FAILED)
		FAIL("%s cannot be mapped: %s", what, strerror(errno));
	munmap(addr, len);
}

static void check_queue(int fd, const void *where, const char *what)
{
	struct old_queue q;

	memcpy(&q, where, sizeof(q));
	if (!q.num || q.num & (q.num - 1) || !q.depth || q.depth > q.num ||
	    (uint64_t)q.depth * q.stride > q.slots_len || q.avail_len < 2 * q.num ||
	    q.used_len < 8 * q.num)
		FAIL("%s: num %u depth %u stride %u", what, q.num, q.depth, q.stride);
	map_piece(fd, what, q.slots_offset, q.slots_len);
	map_piece(fd, what, q.avail_offset, q.avail_len);
	map_piece(fd, what, q.used_offset, q.used_len);
}

static uint32_t alloc_pd(int fd)
{
	static const struct lens lens;
	struct ib_uverbs_alloc_pd req = {};
	struct answer answer;

	command(fd, IB_USER_VERBS_CMD_ALLOC_PD, "alloc_pd", &req, sizeof(req), &lens,
		sizeof(answer.pd), &answer);
	return answer.pd.pd_handle;
}

static uint32_t create_cq(int fd, const struct lens *lens)
{
	struct ib_uverbs_create_cq req = { .cqe = 16, .comp_channel = -1 };
	struct answer answer;

	command(fd, IB_USER_VERBS_CMD_CREATE_CQ, "create_cq", &req, sizeof(req), lens,
		sizeof(answer.cq), &answer);
	if (!lens->refused)
		check_queue(fd, &answer.cq + 1, "CQ");
	return answer.cq.cq_handle;
}

static void create_qp(int fd, uint32_t pd, uint32_t cq, const struct lens *lens)
{
	struct ib_uverbs_create_qp req = {
		.pd_handle = pd, .send_cq_handle = cq, .recv_cq_handle = cq,
		.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1,
		.qp_type = QPT_RC,
	};
	struct ib_uverbs_destroy_qp destroy = {};
	static const struct lens none;
	struct answer answer;

	command(fd, IB_USER_VERBS_CMD_CREATE_QP, "create_qp", &req, sizeof(req), lens,
		sizeof(answer.qp), &answer);
	if (lens->refused)
		return;
	check_queue(fd, &answer.qp + 1, "send queue");
	check_queue(fd, (char *)(&answer.qp + 1) + sizeof(struct old_queue),
		    "receive queue");
	destroy.qp_handle = answer.qp.qp_handle;
	command(fd, IB_USER_VERBS_CMD_DESTROY_QP, "destroy_qp", &destroy, sizeof(destroy),
		&none, sizeof(struct ib_uverbs_destroy_qp_resp), &answer);
}

int main(int argc, char **argv)
{
	/* None, ours, and what newer and older ones may send and expect. */
	static const struct lens context[] = {
		{ 0, 24, false, false }, { 8, 24, false, false },
		{ 8 + MORE, 24, false, false }, { 8 + MORE, 24 + MORE, false, false },
		{ 8 + MORE, 24, true, true }, { 8, 16, false, true },
		{ 8, 0, false, true },
	};
	static const struct lens cq[] = {
		{ 0, 128, false, false }, { MORE, 128 + MORE, false, false },
		{ MORE, 128, true, true }, { 0, 120, false, true },
	};
	static const struct lens qp[] = {
		{ 0, 256, false, false }, { MORE, 256 + MORE, false, false },
		{ MORE, 256, true, true }, { 0, 248, false, true },
	};
	struct old_context got = {}, all;
	uint32_t pd, handle = 0;
	size_t i;
	int fd;

	if (argc != 2)
		FAIL("usage: oldabi DEVICE");
	find(argv[1]);
	for (i = 0; i < sizeof(context) / sizeof(context[0]); i++)
		close(open_context(&context[i], 0, &got));
	close(open_context(&context[1], ~0ull, &all));
	fd = open_context(&context[1], 0, &got);
	pd = alloc_pd(fd);
	for (i = 0; i < sizeof(cq) / sizeof(cq[0]); i++)
		handle = cq[i].refused ? create_cq(fd, &cq[i]), handle :
					 create_cq(fd, &cq[i]);
	for (i = 0; i < sizeof(qp) / sizeof(qp[0]); i++)
		create_qp(fd, pd, handle, &qp[i]);
	close(fd);
	printf("oldabi: features %#llx\n", (unsigned long long)all.features);
	return 0;
}
