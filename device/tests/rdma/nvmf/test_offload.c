// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offload of NVMe over Fabrics: guest 2 is the target, guest 1 a host of it.
 */
#include "tests/lib/engine_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "nvmf/nvme.h"
#include "nvmf/nvmf.h"
#include "rdma/nvmf/subsys.h"
#include "rdma/rnic_priv.h"
#include "storage/staging.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define OK		VIRTIO_NET_OK
#define ERR		VIRTIO_NET_ERR
#define RC		VIRTIO_IB_QPT_RC
#define MS		(1000 * 1000ULL)

/* Offsets in the host's memory. */
#define CAPSULE		0u
#define DATA		(1u << 20)
#define ANSWER		EG_IN

/* Offsets in the target's memory. */
#define RECVS		EG_IN
#define STAGING		(8u << 20)
#define STAGING_LEN	(2u << 20)

#define BLOCK		512u
#define BLOCKS		2048u
#define NSID		7u
#define SRQ_DEPTH	16u
#define CAPSULE_SIZE	(64u + 4096)
#define SECRET		0xa5

/**
 * struct disk - a namespace in memory
 * @ns:		it
 * @mem:	content
 * @hold:	nothing is done before disk_go_on()
 * @held:	what waits
 * @err:	what all end with
 * @ops:	how often each was done
 */
struct disk {
	struct ns ns;
	uint8_t mem[BLOCK * BLOCKS];
	bool hold;
	TAILQ_HEAD(, ns_io) held;
	int err;
	unsigned int ops[NS_OPS];
};

/**
 * struct bed - a host and a target
 * @engine:	engine
 * @host:	QP of guest 1
 * @target:	QP of guest 2
 * @srq:	its SRQ
 * @staging:	staging memory of the daemon
 * @pool:	its buffers
 * @nvmf:	commands
 * @env:	what guests may use
 * @disk:	a namespace, "disk"
 * @ctrl:	its controller
 * @recvs:	receive requests posted to the SRQ
 * @cid:	of the last command
 * @answers:	answers that have come
 */
struct bed {
	struct engine *engine;
	struct er_end host;
	struct er_end target;
	struct er_srq srq;
	struct staging *staging;
	struct nvmf_pool pool;
	struct nvmf *nvmf;
	struct nvmf_host env;
	struct disk disk;
	uint32_t ctrl;
	uint32_t recvs;
	uint16_t cid;
	uint32_t answers;
};

/* ------------------------------------------------------------------------- */
/* Namespace                                                                 */
/* ------------------------------------------------------------------------- */

static void disk_do(struct disk *disk, struct ns_io *io)
{
	disk->ops[io->op]++;
	if (!disk->err && io->op == NS_READ)
		memcpy(io->buf, disk->mem + io->offset, io->len);
	if (!disk->err && io->op == NS_WRITE)
		memcpy(disk->mem + io->offset, io->buf, io->len);
	io->done(io, disk->err);
}

static void disk_submit(void *arg, struct ns_io *io)
{
	struct disk *disk = arg;

	if (disk->hold)
		TAILQ_INSERT_TAIL(&disk->held, io, entry);
	else
		disk_do(disk, io);
}

static void disk_go_on(struct disk *disk)
{
	struct ns_io *io;

	while ((io = TAILQ_FIRST(&disk->held))) {
		TAILQ_REMOVE(&disk->held, io, entry);
		disk_do(disk, io);
	}
}

static void disk_init(struct disk *disk)
{
	size_t i;

	TAILQ_INIT(&disk->held);
	disk->ns = (struct ns) {
		.name = "disk",
		.size = sizeof(disk->mem),
		.block = BLOCK,
		.cache = true,
		.submit = disk_submit,
		.arg = disk,
	};
	for (i = 0; i < sizeof(disk->mem); i++)
		disk->mem[i] = i * 7 + i / BLOCK;
}

static struct ns *bed_find(const void *arg, const char *name, const char *guest)
{
	const struct bed *bed = arg;

	return strcmp(name, "disk") || strcmp(guest, "guest2") ? NULL :
	       (struct ns *)&bed->disk.ns;
}

/* ------------------------------------------------------------------------- */
/* Commands of the target                                                    */
/* ------------------------------------------------------------------------- */

static struct eg_guest *target(const struct bed *bed)
{
	return bed->target.end.guest;
}

static struct virtio_rdma_cmd_set_srq_nvmf attributes(const struct bed *bed)
{
	return (struct virtio_rdma_cmd_set_srq_nvmf) {
		.srq = htole32(bed->srq.handle),
		.ops = htole32(VIRTIO_RDMA_NVMF_WRITE | VIRTIO_RDMA_NVMF_READ |
			       VIRTIO_RDMA_NVMF_FLUSH),
		.max_namespaces = htole32(4),
		.max_io_size = htole32(256 << 10),
		.capsule = htole32(CAPSULE_SIZE / 16),
		.queue_depth = htole16(64),
		.page_shift = 12,
		.staging = {
			.addr = htole64(EG_VA + STAGING),
			.length = htole64(STAGING_LEN),
			.lkey = htole32(bed->target.end.lkey),
		},
	};
}

static uint8_t set_srq(const struct bed *bed, const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	return eg_command(target(bed), CMD(SET_SRQ_NVMF), req, sizeof(*req), NULL, 0);
}

static struct virtio_rdma_cmd_create_nvme_ctrl ctrl_req(const struct bed *bed,
							const char *name)
{
	struct virtio_rdma_cmd_create_nvme_ctrl req = {
		.srq = htole32(bed->srq.handle),
		.backend = VIRTIO_RDMA_NVME_NAMESPACE,
	};

	memcpy(req.name, name, strlen(name));
	return req;
}

static uint8_t create_ctrl(const struct bed *bed,
			   const struct virtio_rdma_cmd_create_nvme_ctrl *req, uint32_t *ctrl)
{
	struct virtio_rdma_ack_create_nvme_ctrl ack = {};
	uint8_t err = eg_command(target(bed), CMD(CREATE_NVME_CTRL), req, sizeof(*req), &ack,
				 sizeof(ack));

	*ctrl = le32toh(ack.ctrl);
	return err;
}

static uint8_t destroy_ctrl(const struct bed *bed, uint32_t ctrl)
{
	const struct virtio_rdma_cmd_destroy_nvme_ctrl req = { .ctrl = htole32(ctrl) };

	return eg_command(target(bed), CMD(DESTROY_NVME_CTRL), &req, sizeof(req), NULL, 0);
}

static uint8_t map_nsid(const struct bed *bed, uint32_t ctrl, uint32_t nsid, uint32_t of,
			uint32_t lba)
{
	const struct virtio_rdma_cmd_map_nsid req = {
		.ctrl = htole32(ctrl),
		.nsid = htole32(nsid),
		.ctrl_nsid = htole32(of),
		.lba_size = htole32(lba),
	};

	return eg_command(target(bed), CMD(MAP_NSID), &req, sizeof(req), NULL, 0);
}

static uint8_t unmap_nsid(const struct bed *bed, uint32_t ctrl, uint32_t nsid)
{
	const struct virtio_rdma_cmd_unmap_nsid req = {
		.ctrl = htole32(ctrl),
		.nsid = htole32(nsid),
	};

	return eg_command(target(bed), CMD(UNMAP_NSID), &req, sizeof(req), NULL, 0);
}

static uint8_t set_qp(const struct bed *bed, uint32_t qpn, uint32_t flags, uint16_t size,
		      uint16_t head)
{
	const struct virtio_rdma_cmd_set_qp_nvmf req = {
		.qpn = htole32(qpn),
		.flags = htole32(flags),
		.sq_size = htole16(size),
		.sq_head = htole16(head),
	};

	return eg_command(target(bed), CMD(SET_QP_NVMF), &req, sizeof(req), NULL, 0);
}

static uint8_t enable(const struct bed *bed)
{
	return set_qp(bed, bed->target.qp.qpn, VIRTIO_RDMA_QP_NVMF_ENABLE, 0, 0);
}

/* ------------------------------------------------------------------------- */
/* Up and down                                                               */
/* ------------------------------------------------------------------------- */

static void post_srq(struct bed *bed, unsigned int n)
{
	struct eg_sge sge = { 0, 8192, bed->target.end.lkey };

	while (n--) {
		sge.addr = EG_VA + RECVS + 8192 * (bed->recvs % SRQ_DEPTH);
		er_post_srq(&bed->srq, &sge, 1, bed->recvs++);
	}
}

/* As eg_reg(), with the handle. */
static void reg_all(struct eg_end *end)
{
	uint64_t pages[EG_MR_SIZE / EG_PAGE];
	struct virtio_rdma_ack_mr ack;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = EG_DATA + i * EG_PAGE;
	assert_int_equal(eg_reg_mr(end->guest, end->pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE, pages,
				   ARRAY_SIZE(pages), &ack), OK);
	end->lkey = le32toh(ack.lkey);
	end->mrn = le32toh(ack.mrn);
}

static void target_up(struct bed *bed)
{
	struct er_shape shape = { .send_depth = 16, .cqe = 64, .srq = &bed->srq };
	struct eg_guest *guest = &bed->engine->guest[1];
	struct er_end *to = &bed->target;

	to->end = (struct eg_end) { .guest = guest, .pdn = eg_create_pd(guest) };
	er_srq_init(&bed->srq, guest, to->end.pdn, SRQ_DEPTH);
	assert_int_equal(er_create_srq(&bed->srq), OK);
	er_page_init(&to->page, guest, 0);
	er_cq_init(&to->cq, guest, 64, 5, 0);
	assert_int_equal(er_create_cq(&to->cq), OK);
	er_qp_init(&to->qp, &to->page, &to->cq, 5, RC, to->end.pdn, &shape);
	assert_int_equal(er_create_qp(&to->qp), OK);
	to->end.qpn = to->qp.qpn;
	reg_all(&to->end);
	er_give_events(guest, 0, 16);
}

/* A target that is not one yet. */
static struct bed *bed_bare(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	const struct er_shape shape = { .send_depth = 256, .recv_depth = 256, .cqe = 512 };

	assert_non_null(bed);
	bed->engine = *state;
	bed->staging = staging_new(16 << 20);
	assert_non_null(bed->staging);
	memset(staging_base(bed->staging), SECRET, staging_size(bed->staging));
	bed->pool = (struct nvmf_pool) {
		.alloc = staging_alloc,
		.alloc_of = staging_alloc_of,
		.free = staging_release,
		.arg = bed->staging,
		.size = staging_size(bed->staging),
	};
	bed->nvmf = nvmf_new(bed->engine->loop, &bed->pool);
	assert_non_null(bed->nvmf);
	disk_init(&bed->disk);
	bed->env = (struct nvmf_host) { .nvmf = bed->nvmf, .find = bed_find, .arg = bed };
	rnic_set_nvmf(bed->engine->guest[1].rnic, &bed->env);
	er_open(&bed->host, &bed->engine->guest[0], RC, &shape);
	target_up(bed);
	eg_connect(&bed->host.end, &bed->target.end, RC);
	post_srq(bed, 8);
	return bed;
}

/* With its offload enabled, and a namespace of number NSID. */
static struct bed *bed_up(void **state)
{
	struct bed *bed = bed_bare(state);
	const struct virtio_rdma_cmd_set_srq_nvmf attr = attributes(bed);
	const struct virtio_rdma_cmd_create_nvme_ctrl req = ctrl_req(bed, "disk");

	assert_int_equal(set_srq(bed, &attr), OK);
	assert_int_equal(create_ctrl(bed, &req, &bed->ctrl), OK);
	assert_int_equal(map_nsid(bed, bed->ctrl, NSID, 1, BLOCK), OK);
	assert_int_equal(enable(bed), OK);
	return bed;
}

/* Staging buffers are all free then, which nvmf_free() does not look at. */
static void bed_down(struct bed *bed)
{
	unsigned int i;

	eg_reset(target(bed));
	disk_go_on(&bed->disk);
	for (i = 0; i < 8; i++)
		assert_non_null(staging_alloc_of(bed->staging, bed, STAGING_BUFFER_MAX));
	rnic_set_nvmf(target(bed)->rnic, NULL);
	nvmf_free(bed->nvmf);
	staging_free(bed->staging);
	free(bed);
}

/* ------------------------------------------------------------------------- */
/* The host                                                                  */
/* ------------------------------------------------------------------------- */

static uint8_t *host_ptr(const struct bed *bed, uint32_t off)
{
	return eg_ptr(bed->host.end.guest, EG_DATA + off);
}

static struct nvme_sqe sqe_of(struct bed *bed, uint8_t opcode, uint64_t slba, uint32_t blocks)
{
	struct nvme_sqe sqe = {
		.opcode = opcode,
		.flags = NVME_FLAGS_SGL,
		.cid = htole16(++bed->cid),
		.nsid = htole32(NSID),
		.cdw10 = htole32(slba),
		.cdw11 = htole32(slba >> 32),
		.cdw12 = htole32(blocks - 1),
	};

	return sqe;
}

static void describe(struct nvme_sqe *sqe, uint8_t type, uint64_t addr, uint32_t len,
		     uint32_t key)
{
	sqe->sgl.addr = htole64(addr);
	sqe->sgl.len[0] = len;
	sqe->sgl.len[1] = len >> 8;
	sqe->sgl.len[2] = len >> 16;
	sqe->sgl.key[0] = key;
	sqe->sgl.key[1] = key >> 8;
	sqe->sgl.key[2] = key >> 16;
	sqe->sgl.key[3] = key >> 24;
	sqe->sgl.type = type;
}

/* Data of @sqe is at DATA + @off in the host's memory. */
static void keyed(const struct bed *bed, struct nvme_sqe *sqe, uint32_t off, uint32_t len)
{
	describe(sqe, NVME_SGL_KEYED, EG_VA + DATA + off, len, bed->host.end.lkey);
}

/* Sends a capsule of @len bytes, which begins with @sqe. */
static void capsule(struct bed *bed, const struct nvme_sqe *sqe, uint32_t len)
{
	const uint32_t at = CAPSULE + 8192 * (bed->cid % 64);
	struct eg_wr wr = eg_send(&bed->host.end, 0, at, len);

	memcpy(host_ptr(bed, at), sqe, sizeof(*sqe));
	wr.flags = 0;
	er_recv(&bed->host, ANSWER + 64 * (bed->host.qp.posted_recv % 256), 64);
	er_post_send(&bed->host.qp, &wr);
}

static void submit(struct bed *bed, const struct nvme_sqe *sqe)
{
	capsule(bed, sqe, sizeof(*sqe));
	eg_run(bed->engine);
}

/* The next answer, which is there. */
static struct nvme_cqe answer(struct bed *bed)
{
	const struct virtio_rdma_cqe wc = er_expect(&bed->host, true, bed->answers,
						    VIRTIO_IB_WC_SUCCESS);
	struct nvme_cqe cqe;

	assert_int_equal(le32toh(wc.byte_len), sizeof(cqe));
	memcpy(&cqe, host_ptr(bed, ANSWER + 64 * (bed->answers++ % 256)), sizeof(cqe));
	return cqe;
}

static struct nvme_cqe expect(struct bed *bed, uint16_t cid, uint16_t status)
{
	const struct nvme_cqe cqe = answer(bed);

	assert_int_equal(le16toh(cqe.cid), cid);
	assert_int_equal(le16toh(cqe.status) >> 1, status);
	assert_int_equal(le16toh(cqe.status) & 1, 0);
	return cqe;
}

static struct nvme_cqe run(struct bed *bed, const struct nvme_sqe *sqe, uint16_t status)
{
	submit(bed, sqe);
	return expect(bed, le16toh(sqe->cid), status);
}

static void software_hears_nothing(struct bed *bed)
{
	struct virtio_rdma_cqe cqe;

	assert_false(er_poll(&bed->target.cq, &cqe));
}

/* ------------------------------------------------------------------------- */
/* Commands that are carried out                                             */
/* ------------------------------------------------------------------------- */

static void test_read(void **state)
{
	struct bed *bed = bed_up(state);
	static const uint32_t lens[] = { 1, 8, 9, 64, 512 };
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		sqe = sqe_of(bed, NVME_IO_READ, 3 + i, lens[i]);
		keyed(bed, &sqe, 0, lens[i] * BLOCK);
		run(bed, &sqe, NVME_OK);
		assert_memory_equal(host_ptr(bed, DATA), bed->disk.mem + (3 + i) * BLOCK,
				    lens[i] * BLOCK);
	}
	software_hears_nothing(bed);
	bed_down(bed);
}

static void fill(struct bed *bed, uint32_t off, uint32_t len, uint8_t seed)
{
	uint8_t *p = host_ptr(bed, off);
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 13 + i / 251;
}

static void test_write(void **state)
{
	struct bed *bed = bed_up(state);
	static const uint32_t lens[] = { 1, 8, 9, 64, 512 };
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fill(bed, DATA, lens[i] * BLOCK, i);
		sqe = sqe_of(bed, NVME_IO_WRITE, 100 + i, lens[i]);
		keyed(bed, &sqe, 0, lens[i] * BLOCK);
		run(bed, &sqe, NVME_OK);
		assert_memory_equal(bed->disk.mem + (100 + i) * BLOCK, host_ptr(bed, DATA),
				    lens[i] * BLOCK);
	}
	software_hears_nothing(bed);
	bed_down(bed);
}

static void test_write_in_capsule(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe = sqe_of(bed, NVME_IO_WRITE, 50, 8);
	const uint32_t at = CAPSULE + 8192 * (bed->cid % 64);

	describe(&sqe, NVME_SGL_OFFSET, 0, 4096, 0);
	fill(bed, at + 64, 4096, 9);
	capsule(bed, &sqe, 64 + 4096);
	eg_run(bed->engine);
	expect(bed, bed->cid, NVME_OK);
	assert_memory_equal(bed->disk.mem + 50 * BLOCK, host_ptr(bed, at + 64), 4096);
	software_hears_nothing(bed);
	bed_down(bed);
}

/* Data behind the place that the attributes give. */
static void test_data_offset(void **state)
{
	struct bed *bed = bed_bare(state);
	struct virtio_rdma_cmd_set_srq_nvmf attr = attributes(bed);
	const struct virtio_rdma_cmd_create_nvme_ctrl req = ctrl_req(bed, "disk");
	struct nvme_sqe sqe;
	uint32_t at;

	attr.data_offset = htole16(2);
	assert_int_equal(set_srq(bed, &attr), OK);
	assert_int_equal(create_ctrl(bed, &req, &bed->ctrl), OK);
	assert_int_equal(map_nsid(bed, bed->ctrl, NSID, 1, BLOCK), OK);
	assert_int_equal(enable(bed), OK);
	sqe = sqe_of(bed, NVME_IO_WRITE, 50, 1);
	at = CAPSULE + 8192 * (bed->cid % 64);
	describe(&sqe, NVME_SGL_OFFSET, 16, BLOCK, 0);
	fill(bed, at + 64, 1024, 9);
	capsule(bed, &sqe, 64 + 1024);
	eg_run(bed->engine);
	expect(bed, bed->cid, NVME_OK);
	assert_memory_equal(bed->disk.mem + 50 * BLOCK, host_ptr(bed, at + 64 + 48), BLOCK);
	bed_down(bed);
}

static void test_flush(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe = sqe_of(bed, NVME_IO_FLUSH, 0, 1);

	keyed(bed, &sqe, 0, 0);
	run(bed, &sqe, NVME_OK);
	assert_int_equal(bed->disk.ops[NS_FLUSH], 1);
	software_hears_nothing(bed);
	bed_down(bed);
}

/* As many as a host may send, and twice as many as the SRQ has requests. */
static void test_many(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < 32; i++) {
		sqe = sqe_of(bed, NVME_IO_READ, i, 8);
		keyed(bed, &sqe, 4096 * i, 4096);
		capsule(bed, &sqe, sizeof(sqe));
	}
	eg_run(bed->engine);
	for (i = 0; i < 32; i++) {
		expect(bed, i + 1, NVME_OK);
		assert_memory_equal(host_ptr(bed, DATA + 4096 * i), bed->disk.mem + i * BLOCK,
				    4096);
	}
	software_hears_nothing(bed);
	bed_down(bed);
}

/* The namespace ends them later, and in any order. */
static void test_later(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe;
	unsigned int i;

	eg_cycle_off = true;
	bed->disk.hold = true;
	for (i = 0; i < 4; i++) {
		sqe = sqe_of(bed, i % 2 ? NVME_IO_READ : NVME_IO_WRITE, 8 * i, 8);
		keyed(bed, &sqe, 4096 * i, 4096);
		fill(bed, DATA + 4096 * i, 4096, i);
		submit(bed, &sqe);
	}
	er_expect_none(&bed->host);
	disk_go_on(&bed->disk);
	eg_run(bed->engine);
	for (i = 0; i < 4; i++) {
		expect(bed, i + 1, NVME_OK);
		assert_memory_equal(host_ptr(bed, DATA + 4096 * i), bed->disk.mem + 4096 * i,
				    4096);
	}
	bed_down(bed);
}

/* The head of the host's queue counts what the QP has received. */
static void test_head(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe = sqe_of(bed, NVME_IO_FLUSH, 0, 1);
	struct nvme_cqe cqe;

	keyed(bed, &sqe, 0, 0);
	cqe = run(bed, &sqe, NVME_OK);
	assert_int_equal(le16toh(cqe.sqhd), 0xffff);
	assert_int_equal(set_qp(bed, bed->target.qp.qpn, VIRTIO_RDMA_QP_NVMF_ENABLE, 4, 2), OK);
	cqe = run(bed, &sqe, NVME_OK);
	assert_int_equal(le16toh(cqe.sqhd), 3);
	cqe = run(bed, &sqe, NVME_OK);
	assert_int_equal(le16toh(cqe.sqhd), 0);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Commands that are wrong                                                   */
/* ------------------------------------------------------------------------- */

static void test_wrong(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe = sqe_of(bed, NVME_IO_READ, BLOCKS, 1);

	keyed(bed, &sqe, 0, BLOCK);
	run(bed, &sqe, NVME_LBA_RANGE | NVME_DNR);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 8);
	keyed(bed, &sqe, 0, BLOCK);
	run(bed, &sqe, NVME_SGL_LENGTH | NVME_DNR);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1024);
	keyed(bed, &sqe, 0, 1024 * BLOCK);
	run(bed, &sqe, NVME_INVALID_FIELD | NVME_DNR);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	describe(&sqe, 0x30, EG_VA, BLOCK, bed->host.end.lkey);
	run(bed, &sqe, NVME_SGL_BAD_TYPE | NVME_DNR);
	sqe = sqe_of(bed, NVME_IO_WRITE, 0, 1);
	describe(&sqe, NVME_SGL_OFFSET, 0, BLOCK, 0);
	run(bed, &sqe, NVME_SGL_BAD_OFFSET | NVME_DNR);
	bed->disk.err = -EIO;
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	keyed(bed, &sqe, 0, BLOCK);
	run(bed, &sqe, NVME_READ_ERROR | NVME_DNR);
	bed->disk.err = -EPIPE;
	run(bed, &sqe, NVME_INTERNAL);
	bed->disk.err = 0;
	run(bed, &sqe, NVME_OK);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* What goes to the program                                                  */
/* ------------------------------------------------------------------------- */

/* A message of @len bytes that begins with @sqe is received by the program. */
static void goes_to_program(struct bed *bed, const struct nvme_sqe *sqe, uint32_t len)
{
	struct virtio_rdma_cqe cqe;
	const uint8_t *at;

	capsule(bed, sqe, len);
	eg_run(bed->engine);
	assert_true(er_poll(&bed->target.cq, &cqe));
	assert_int_equal(cqe.status, VIRTIO_IB_WC_SUCCESS);
	assert_true(cqe.opcode & VIRTIO_RDMA_CQE_RECV);
	assert_int_equal(le32toh(cqe.byte_len), len);
	at = eg_ptr(target(bed), EG_DATA + RECVS + 8192 * (le32toh(cqe.wqe) % SRQ_DEPTH));
	assert_memory_equal(at, sqe, len < sizeof(*sqe) ? len : sizeof(*sqe));
	post_srq(bed, 1);
	er_expect_none(&bed->host);
}

static void test_program(void **state)
{
	struct bed *bed = bed_up(state);
	struct nvme_sqe sqe = sqe_of(bed, NVME_IO_ZEROES, 0, 1);

	goes_to_program(bed, &sqe, sizeof(sqe));
	sqe = sqe_of(bed, NVME_FABRICS, 0, 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	sqe.nsid = htole32(NSID + 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, 63);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, CAPSULE_SIZE + 1);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	sqe.flags |= 1;
	goes_to_program(bed, &sqe, sizeof(sqe));
	/* Unmapped, and not enabled. */
	assert_int_equal(unmap_nsid(bed, bed->ctrl, NSID), OK);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	assert_int_equal(map_nsid(bed, bed->ctrl, NSID, 1, BLOCK), OK);
	assert_int_equal(set_qp(bed, bed->target.qp.qpn, 0, 0, 0), OK);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	assert_int_equal(bed->disk.ops[NS_READ], 0);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Requests of the program                                                   */
/* ------------------------------------------------------------------------- */

/* The program sends on the same QP, and each of its requests completes as ever. */
static void test_shared_queue(void **state)
{
	struct bed *bed = bed_up(state);
	struct virtio_rdma_cqe cqe;
	struct nvme_sqe sqe;
	struct eg_wr wr;
	unsigned int i, recvs = 0;

	for (i = 0; i < 8; i++) {
		sqe = sqe_of(bed, NVME_IO_READ, i, 8);
		keyed(bed, &sqe, 4096 * i, 4096);
		capsule(bed, &sqe, sizeof(sqe));
		er_recv(&bed->host, ANSWER + 64 * (bed->host.qp.posted_recv % 256), 64);
		wr = eg_send(&bed->target.end, 0, 0, 32);
		er_post_send(&bed->target.qp, &wr);
	}
	eg_run(bed->engine);
	for (i = 0; i < 8; i++)
		er_expect(&bed->target, false, i, VIRTIO_IB_WC_SUCCESS);
	software_hears_nothing(bed);
	while (er_poll(&bed->host.cq, &cqe)) {
		assert_int_equal(cqe.status, VIRTIO_IB_WC_SUCCESS);
		recvs++;
	}
	assert_int_equal(recvs, 16);
	for (i = 0; i < 8; i++)
		assert_memory_equal(host_ptr(bed, DATA + 4096 * i), bed->disk.mem + i * BLOCK,
				    4096);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Remote invalidation                                                       */
/* ------------------------------------------------------------------------- */

static void test_invalidate(void **state)
{
	struct bed *bed = bed_up(state);
	const struct virtio_rdma_cmd_alloc_mw req = {
		.pdn = htole32(bed->host.end.pdn),
		.type = htole32(VIRTIO_IB_MW_TYPE_2),
	};
	struct virtio_rdma_ack_mr ack;
	struct virtio_rdma_cqe cqe;
	struct virtio_rdma_swqe wqe = { .opcode = VIRTIO_IB_WR_BIND_MW };
	struct nvme_sqe sqe;
	uint32_t key;

	assert_int_equal(eg_command(bed->host.end.guest, CMD(ALLOC_MW), &req, sizeof(req), &ack,
				    sizeof(ack)), OK);
	key = le32toh(ack.rkey) ^ 1;
	wqe.bind.addr = htole64(EG_VA + DATA);
	wqe.bind.length = htole64(BLOCK);
	wqe.bind.mr_key = htole32(eg_reg(bed->host.end.guest, bed->host.end.pdn,
					 EG_ACCESS_ALL | VIRTIO_IB_ACCESS_MW_BIND, EG_VA,
					 EG_MR_SIZE, EG_DATA));
	wqe.bind.key = htole32(key);
	wqe.bind.access = htole32(VIRTIO_IB_ACCESS_REMOTE_WRITE);
	memcpy(bed->host.qp.send + 64 * (bed->host.qp.posted % 256), &wqe, sizeof(wqe));
	bed->host.qp.posted++;
	__atomic_store_n(&bed->host.qp.control->send_producer, htole32(bed->host.qp.posted),
			 __ATOMIC_RELEASE);
	er_announce(&bed->host.qp);
	eg_run(bed->engine);
	sqe = sqe_of(bed, NVME_IO_READ, 5, 1);
	describe(&sqe, NVME_SGL_KEYED_INV, EG_VA + DATA, BLOCK, key);
	submit(bed, &sqe);
	assert_true(er_poll(&bed->host.cq, &cqe));
	assert_int_equal(cqe.status, VIRTIO_IB_WC_SUCCESS);
	assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_WITH_INVALIDATE);
	assert_int_equal(le32toh(cqe.invalidate_rkey), key);
	assert_memory_equal(host_ptr(bed, DATA), bed->disk.mem + 5 * BLOCK, BLOCK);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Ends                                                                      */
/* ------------------------------------------------------------------------- */

static void expect_event(const struct bed *bed, uint16_t type, uint32_t number)
{
	struct virtio_rdma_event event;
	unsigned int seen = 0;

	while (er_take_event(target(bed), 0, &event))
		seen += le16toh(event.type) == type && le32toh(event.number) == number;
	assert_int_equal(seen, 1);
}

/* A host that describes memory which is not there ends its connection. */
static void test_bad_key(void **state)
{
	static const uint8_t opcodes[] = { NVME_IO_READ, NVME_IO_WRITE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct bed *bed;
		struct nvme_sqe sqe;

		if (i) {
			eg_teardown(state);
			eg_setup_direct(state);
		}
		bed = bed_up(state);
		sqe = sqe_of(bed, opcodes[i], 0, 1);
		describe(&sqe, NVME_SGL_KEYED, EG_VA, BLOCK, 0xbad);
		submit(bed, &sqe);
		assert_int_equal(eg_state(target(bed), bed->target.qp.qpn),
				 VIRTIO_IB_QPS_ERR);
		expect_event(bed, VIRTIO_RDMA_EVENT_QP_FATAL, bed->target.qp.qpn);
		software_hears_nothing(bed);
		bed_down(bed);
	}
}

/* Four commands at a namespace, and one whose data is to be pulled. */
static void hold_some(struct bed *bed)
{
	struct nvme_sqe sqe;
	unsigned int i;

	eg_cycle_off = true;
	bed->disk.hold = true;
	for (i = 0; i < 4; i++) {
		sqe = sqe_of(bed, i % 2 ? NVME_IO_READ : NVME_IO_WRITE, 8 * i, 8);
		keyed(bed, &sqe, 4096 * i, 4096);
		submit(bed, &sqe);
	}
	assert_false(TAILQ_EMPTY(&bed->disk.held));
}

static void test_qp_destroyed(void **state)
{
	struct bed *bed = bed_up(state);

	hold_some(bed);
	assert_int_equal(er_destroy_qp(&bed->target.qp), OK);
	disk_go_on(&bed->disk);
	eg_run(bed->engine);
	assert_int_equal(unmap_nsid(bed, bed->ctrl, NSID), OK);
	assert_int_equal(destroy_ctrl(bed, bed->ctrl), OK);
	assert_int_equal(er_destroy_srq(&bed->srq), OK);
	bed_down(bed);
}

/* The program has asked for it, so that there is not an event. */
static void test_qp_to_err(void **state)
{
	struct bed *bed = bed_up(state);
	struct virtio_rdma_event event;

	hold_some(bed);
	eg_to(&bed->target.end, RC, VIRTIO_IB_QPS_ERR, &bed->host.end);
	eg_run(bed->engine);
	while (er_take_event(target(bed), 0, &event))
		assert_int_not_equal(le16toh(event.type), VIRTIO_RDMA_EVENT_QP_FATAL);
	/* Others have to wait for what the namespace still has. */
	assert_int_equal(enable(bed), ERR);
	disk_go_on(&bed->disk);
	assert_int_equal(enable(bed), OK);
	eg_run(bed->engine);
	bed_down(bed);
}

static void test_disabled(void **state)
{
	struct bed *bed = bed_up(state);

	hold_some(bed);
	assert_int_equal(set_qp(bed, bed->target.qp.qpn, 0, 0, 0), OK);
	disk_go_on(&bed->disk);
	eg_run(bed->engine);
	assert_int_equal(eg_state(target(bed), bed->target.qp.qpn), VIRTIO_IB_QPS_ERR);
	bed_down(bed);
}

static void test_reset(void **state)
{
	struct bed *bed = bed_up(state);

	hold_some(bed);
	eg_reset(target(bed));
	disk_go_on(&bed->disk);
	eg_run(bed->engine);
	bed_down(bed);
}

/* The data of commands goes through memory of the daemon; the regions may go. */
static void test_regions_gone(void **state)
{
	struct bed *bed = bed_up(state);

	hold_some(bed);
	er_lose_page(target(bed), EG_DATA + STAGING);
	disk_go_on(&bed->disk);
	eg_run(bed->engine);
	bed_down(bed);
}

/* Saved and loaded with commands under way: the connection ends, and the others stay. */
static void test_saved_busy(void **state)
{
	struct bed *bed = bed_up(state);
	unsigned int cycles;

	if (!getenv("EG_STATE")) {
		bed_down(bed);
		return;
	}
	hold_some(bed);
	eg_cycle_off = false;
	cycles = eg_cycles;
	while (eg_cycles == cycles)
		eg_cycle(target(bed));
	eg_cycle_off = true;
	eg_run(bed->engine);
	assert_int_equal(eg_state(target(bed), bed->target.qp.qpn), VIRTIO_IB_QPS_ERR);
	expect_event(bed, VIRTIO_RDMA_EVENT_QP_FATAL, bed->target.qp.qpn);
	software_hears_nothing(bed);
	disk_go_on(&bed->disk);
	eg_run(bed->engine);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* A controller whose queues are in memory                                   */
/* ------------------------------------------------------------------------- */

/* Offsets in the target's memory. */
#define SQ		(12u << 20)
#define CQ		(SQ + 4096)
#define SQ_DOORBELL	(SQ + 8192)
#define CQ_DOORBELL	(SQ + 8192 + 64)
#define QUEUE		64u

/**
 * struct nvme - a controller that the test plays
 * @bed:	of which target
 * @ctrl:	its handle
 * @taken:	commands that were taken
 * @head:	index of the next one
 * @tail:	index of the next completion
 * @phase:	of that
 */
struct nvme {
	struct bed *bed;
	uint32_t ctrl;
	unsigned int taken;
	uint16_t head;
	uint16_t tail;
	uint16_t phase;
};

static void *target_ptr(const struct bed *bed, uint32_t off)
{
	return eg_ptr(target(bed), EG_DATA + off);
}

static struct virtio_rdma_region region(const struct bed *bed, uint32_t off, uint32_t len)
{
	return (struct virtio_rdma_region) {
		.addr = htole64(EG_VA + off),
		.length = htole64(len),
		.lkey = htole32(bed->target.end.lkey),
	};
}

static struct virtio_rdma_cmd_create_nvme_ctrl queues_req(const struct bed *bed, uint8_t flags,
							  uint16_t timeout)
{
	return (struct virtio_rdma_cmd_create_nvme_ctrl) {
		.srq = htole32(bed->srq.handle),
		.backend = VIRTIO_RDMA_NVME_QUEUES,
		.flags = flags,
		.timeout_ms = htole16(timeout),
		.sq_initial = htole16(QUEUE - 2),
		.cq_initial = htole16(QUEUE - 1),
		.queues = {
			.sq = region(bed, SQ, 64 * QUEUE),
			.cq = region(bed, CQ, 16 * QUEUE),
			.sq_doorbell = region(bed, SQ_DOORBELL, 4),
			.cq_doorbell = region(bed, CQ_DOORBELL, 4),
		},
	};
}

static struct nvme nvme_up(struct bed *bed, uint8_t flags, uint16_t timeout)
{
	const struct virtio_rdma_cmd_set_srq_nvmf attr = attributes(bed);
	const struct virtio_rdma_cmd_create_nvme_ctrl req = queues_req(bed, flags, timeout);
	const __le32 begin = htole32(QUEUE - 2);
	struct nvme nvme = { .bed = bed, .head = QUEUE - 2, .tail = QUEUE - 1, .phase = 1 };

	unsigned int i;

	memset(target_ptr(bed, SQ), 0, 16384);
	/* Those before the first one were used already. */
	for (i = 0; i < QUEUE - 1; i++)
		((uint8_t *)target_ptr(bed, CQ + 16 * i))[14] = 1;
	memcpy(target_ptr(bed, SQ_DOORBELL), &begin, sizeof(begin));
	assert_int_equal(set_srq(bed, &attr), OK);
	assert_int_equal(create_ctrl(bed, &req, &nvme.ctrl), OK);
	assert_int_equal(map_nsid(bed, nvme.ctrl, NSID, 3, BLOCK), OK);
	assert_int_equal(enable(bed), OK);
	return nvme;
}

static uint32_t doorbell(const struct bed *bed, uint32_t off)
{
	__le32 value;

	memcpy(&value, target_ptr(bed, off), sizeof(value));
	return le32toh(value);
}

/* Takes the next command, if there is one. */
static bool nvme_take(struct nvme *nvme, uint8_t *sqe)
{
	if (doorbell(nvme->bed, SQ_DOORBELL) == nvme->head)
		return false;
	memcpy(sqe, target_ptr(nvme->bed, SQ + 64 * nvme->head), 64);
	nvme->head = (nvme->head + 1) % QUEUE;
	nvme->taken++;
	return true;
}

static void nvme_complete(struct nvme *nvme, uint16_t cid, uint16_t head, uint16_t status)
{
	const __le16 tail[4] = {
		htole16(head), 0, htole16(cid), htole16(status << 1 | nvme->phase),
	};
	uint8_t *cqe = target_ptr(nvme->bed, CQ + 16 * nvme->tail);

	memset(cqe, 0, 8);
	memcpy(cqe + 8, tail, sizeof(tail));
	nvme->tail = (nvme->tail + 1) % QUEUE;
	nvme->phase ^= !nvme->tail;
	eg_run(nvme->bed->engine);
}

static uint64_t field(const uint8_t *sqe, unsigned int off, unsigned int size)
{
	__le64 value = 0;

	memcpy(&value, sqe + off, size);
	return le64toh(value);
}

/* A page of data by its address in a command. */
static uint8_t *nvme_page(const struct nvme *nvme, uint64_t addr, uint8_t flags)
{
	return flags & VIRTIO_RDMA_NVME_REGION_ADDR ? target_ptr(nvme->bed, addr - EG_VA) :
						      eg_ptr(target(nvme->bed), addr);
}

/* Data of a command, page by page, to or from the disk. */
static void nvme_move(const struct nvme *nvme, const uint8_t *sqe, uint8_t flags)
{
	const uint64_t at = field(sqe, 40, 8) * BLOCK, len = (field(sqe, 48, 2) + 1) * BLOCK;
	uint64_t off, addr = field(sqe, 24, 8);
	uint8_t *disk = nvme->bed->disk.mem + at, *page;
	uint32_t part;

	for (off = 0; off < len; off += 4096) {
		part = len - off < 4096 ? len - off : 4096;
		if (off && len > 8192)
			addr = field(nvme_page(nvme, field(sqe, 32, 8), flags),
				     8 * (off / 4096 - 1), 8);
		else if (off)
			addr = field(sqe, 32, 8);
		page = nvme_page(nvme, addr, flags);
		if (sqe[0] == NVME_IO_READ)
			memcpy(page, disk + off, part);
		else
			memcpy(disk + off, page, part);
	}
}

static void serve(struct nvme *nvme, uint8_t opcode, uint16_t status, uint8_t flags)
{
	uint8_t sqe[64];

	assert_true(nvme_take(nvme, sqe));
	assert_int_equal(sqe[0], opcode);
	assert_int_equal(sqe[1], 0);
	assert_int_equal(field(sqe, 4, 4), 3);
	if (opcode != NVME_IO_FLUSH && !status)
		nvme_move(nvme, sqe, flags);
	nvme_complete(nvme, field(sqe, 2, 2), nvme->head, status);
	assert_int_equal(doorbell(nvme->bed, CQ_DOORBELL), nvme->tail);
}

static void queues_run(void **state, uint8_t flags)
{
	static const uint32_t lens[] = { 1, 8, 9, 16, 17, 512 };
	struct bed *bed = bed_bare(state);
	struct nvme nvme = nvme_up(bed, flags, 1000);
	struct nvme_sqe sqe;
	unsigned int i, round;

	eg_cycle_off = true;
	for (round = 0; round < 12; round++) {
		i = round % ARRAY_SIZE(lens);
		sqe = sqe_of(bed, NVME_IO_READ, 3 + i, lens[i]);
		keyed(bed, &sqe, 0, lens[i] * BLOCK);
		submit(bed, &sqe);
		serve(&nvme, NVME_IO_READ, 0, flags);
		expect(bed, bed->cid, NVME_OK);
		assert_memory_equal(host_ptr(bed, DATA), bed->disk.mem + (3 + i) * BLOCK,
				    lens[i] * BLOCK);
		fill(bed, DATA, lens[i] * BLOCK, round);
		sqe = sqe_of(bed, NVME_IO_WRITE, 600 + i, lens[i]);
		keyed(bed, &sqe, 0, lens[i] * BLOCK);
		submit(bed, &sqe);
		serve(&nvme, NVME_IO_WRITE, 0, flags);
		expect(bed, bed->cid, NVME_OK);
		assert_memory_equal(bed->disk.mem + (600 + i) * BLOCK, host_ptr(bed, DATA),
				    lens[i] * BLOCK);
		sqe = sqe_of(bed, NVME_IO_FLUSH, 0, 1);
		keyed(bed, &sqe, 0, 0);
		submit(bed, &sqe);
		serve(&nvme, NVME_IO_FLUSH, 0, flags);
		expect(bed, bed->cid, NVME_OK);
	}
	/* Its status is the host's. */
	sqe = sqe_of(bed, NVME_IO_FLUSH, 0, 1);
	keyed(bed, &sqe, 0, 0);
	submit(bed, &sqe);
	serve(&nvme, NVME_IO_FLUSH, NVME_DNR | NVME_INVALID_FIELD, flags);
	expect(bed, bed->cid, NVME_DNR | NVME_INVALID_FIELD);
	bed_down(bed);
}

static void test_queues(void **state)
{
	queues_run(state, 0);
}

static void test_queues_region(void **state)
{
	queues_run(state, VIRTIO_RDMA_NVME_REGION_ADDR);
}

/* More than the staging memory, and the queues, have room for. */
static void test_queues_full(void **state)
{
	struct bed *bed = bed_bare(state);
	struct nvme nvme = nvme_up(bed, 0, 0);
	struct nvme_sqe sqe;
	unsigned int i;

	eg_cycle_off = true;
	for (i = 0; i < 24; i++) {
		sqe = sqe_of(bed, NVME_IO_READ, i, 8);
		keyed(bed, &sqe, 4096 * i, 4096);
		submit(bed, &sqe);
	}
	for (i = 0; i < 24; i++)
		serve(&nvme, NVME_IO_READ, 0, 0);
	for (i = 0; i < 24; i++) {
		expect(bed, i + 1, NVME_OK);
		assert_memory_equal(host_ptr(bed, DATA + 4096 * i), bed->disk.mem + i * BLOCK,
				    4096);
	}
	bed_down(bed);
}

/* Fails, with one command under way; all that come are answered, and it can be destroyed. */
static void nvme_is_dead(struct nvme *nvme, uint16_t event)
{
	struct bed *bed = nvme->bed;
	struct nvme_sqe sqe;

	expect(bed, bed->cid, NVME_INTERNAL);
	expect_event(bed, event, nvme->ctrl);
	sqe = sqe_of(bed, NVME_IO_READ, 0, 8);
	keyed(bed, &sqe, 0, 4096);
	run(bed, &sqe, NVME_INTERNAL);
	assert_int_equal(unmap_nsid(bed, nvme->ctrl, NSID), OK);
	assert_int_equal(destroy_ctrl(bed, nvme->ctrl), OK);
	bed_down(bed);
}

static struct nvme nvme_busy(void **state, uint16_t timeout)
{
	struct bed *bed = bed_bare(state);
	struct nvme nvme = nvme_up(bed, 0, timeout);
	struct nvme_sqe sqe = sqe_of(bed, NVME_IO_READ, 0, 8);

	eg_cycle_off = true;
	keyed(bed, &sqe, 0, 4096);
	submit(bed, &sqe);
	return nvme;
}

static void test_queues_timeout(void **state)
{
	struct nvme nvme = nvme_busy(state, 10);

	engine_loop_advance(nvme.bed->engine->loop, 20 * MS);
	eg_run(nvme.bed->engine);
	nvme_is_dead(&nvme, VIRTIO_RDMA_EVENT_NVME_TIMEOUT);
}

static void test_queues_bad_cid(void **state)
{
	static const uint16_t cids[] = { 5, QUEUE - 1, QUEUE, 0xffff };
	struct nvme nvme;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cids); i++) {
		if (i) {
			eg_teardown(state);
			eg_setup_direct(state);
		}
		nvme = nvme_busy(state, 0);
		nvme_complete(&nvme, cids[i], nvme.head, 0);
		nvme_is_dead(&nvme, VIRTIO_RDMA_EVENT_NVME_PCI_ERR);
	}
}

static void test_queues_bad_head(void **state)
{
	struct nvme nvme = nvme_busy(state, 0);
	uint8_t sqe[64];

	assert_true(nvme_take(&nvme, sqe));
	nvme_complete(&nvme, field(sqe, 2, 2), QUEUE, 0);
	nvme_is_dead(&nvme, VIRTIO_RDMA_EVENT_NVME_PCI_ERR);
}

static void test_queues_region_gone(void **state)
{
	struct nvme nvme = nvme_busy(state, 0);
	const struct virtio_rdma_cmd_dereg_mr req = {
		.mrn = htole32(nvme.bed->target.end.mrn),
	};

	assert_int_equal(eg_command(target(nvme.bed), CMD(DEREG_MR), &req, sizeof(req), NULL, 0),
			 OK);
	eg_run(nvme.bed->engine);
	expect(nvme.bed, nvme.bed->cid, NVME_INTERNAL);
	expect_event(nvme.bed, VIRTIO_RDMA_EVENT_NVME_PCI_ERR, nvme.ctrl);
	bed_down(nvme.bed);
}

/* Destroyed, or its QP, with a command under way. */
static void test_queues_destroyed(void **state)
{
	struct nvme nvme = nvme_busy(state, 0);
	struct bed *bed = nvme.bed;

	assert_int_equal(unmap_nsid(bed, nvme.ctrl, NSID), OK);
	assert_int_equal(destroy_ctrl(bed, nvme.ctrl), OK);
	eg_run(bed->engine);
	expect(bed, bed->cid, NVME_INTERNAL);
	assert_int_equal(er_destroy_qp(&bed->target.qp), OK);
	assert_int_equal(er_destroy_srq(&bed->srq), OK);
	bed_down(bed);
}

static void test_queues_wrong(void **state)
{
	struct bed *bed = bed_bare(state);
	const struct virtio_rdma_cmd_set_srq_nvmf attr = attributes(bed);
	struct virtio_rdma_cmd_create_nvme_ctrl good = queues_req(bed, 0, 0), req;
	uint32_t ctrl;

	assert_int_equal(set_srq(bed, &attr), OK);
	req = good;
	req.flags = 2;
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.sq_initial = htole16(QUEUE);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.cq_initial = htole16(QUEUE);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.sq.length = htole64(64);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.cq.addr = htole64(EG_VA + CQ + 8);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.sq_doorbell.lkey ^= htole32(1);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.cq_doorbell.length = htole64(8);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	assert_int_equal(create_ctrl(bed, &good, &ctrl), OK);
	assert_int_equal(map_nsid(bed, ctrl, 1, 0, BLOCK), ERR);
	assert_int_equal(map_nsid(bed, ctrl, 1, UINT32_MAX, BLOCK), ERR);
	assert_int_equal(map_nsid(bed, ctrl, 1, 1, 1024), ERR);
	assert_int_equal(map_nsid(bed, ctrl, 1, 1, 512 | 4096), ERR);
	assert_int_equal(map_nsid(bed, ctrl, 1, 1, 4096), OK);
	bed_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Control commands                                                          */
/* ------------------------------------------------------------------------- */

static void test_query(void **state)
{
	struct bed *bed = bed_up(state);
	struct virtio_rdma_cmd_query_namespace req = { .name = "disk" };
	struct virtio_rdma_ack_query_device device;
	struct virtio_rdma_ack_query_namespace ns;
	struct virtio_rdma_ack_query_nvmf caps;

	assert_int_equal(eg_command(target(bed), CMD(QUERY_DEVICE), NULL, 0, &device,
				    sizeof(device)), OK);
	assert_true(le64toh(device.device_cap_flags) & VIRTIO_IB_DEVICE_NVMF);
	assert_int_equal(eg_command(target(bed), CMD(QUERY_NVMF), NULL, 0, &caps,
				    sizeof(caps)), OK);
	assert_int_equal(le32toh(caps.offload), 15);
	assert_int_equal(le32toh(caps.flags), VIRTIO_RDMA_NVMF_DOORBELL_MEMORY);
	assert_int_equal(le16toh(caps.max_qp_commands), 128);
	assert_int_equal(eg_command(target(bed), CMD(QUERY_NAMESPACE), &req, sizeof(req), &ns,
				    sizeof(ns)), OK);
	assert_int_equal(le64toh(ns.size), BLOCK * BLOCKS);
	assert_int_equal(le32toh(ns.lba_size), BLOCK);
	assert_int_equal(le32toh(ns.flags), VIRTIO_RDMA_NAMESPACE_CACHE);
	req.name[10] = 'x';
	assert_int_equal(eg_command(target(bed), CMD(QUERY_NAMESPACE), &req, sizeof(req), &ns,
				    sizeof(ns)), ERR);
	memset(req.name, 'x', sizeof(req.name));
	assert_int_equal(eg_command(target(bed), CMD(QUERY_NAMESPACE), &req, sizeof(req), &ns,
				    sizeof(ns)), ERR);
	/* The other guest was given nothing. */
	assert_int_equal(eg_command(bed->host.end.guest, CMD(QUERY_NVMF), NULL, 0, &caps,
				    sizeof(caps)), ERR);
	rnic_set_nvmf(bed->host.end.guest->rnic, &bed->env);
	req = (struct virtio_rdma_cmd_query_namespace) { .name = "disk" };
	assert_int_equal(eg_command(bed->host.end.guest, CMD(QUERY_NAMESPACE), &req,
				    sizeof(req), &ns, sizeof(ns)), ERR);
	bed_down(bed);
	rnic_set_nvmf(((struct engine *)*state)->guest[0].rnic, NULL);
}

static void refuse_attr(const struct bed *bed, size_t off, size_t size, uint64_t value)
{
	struct virtio_rdma_cmd_set_srq_nvmf req = attributes(bed);
	const __le64 le = htole64(value);

	memcpy((uint8_t *)&req + off, &le, size);
	assert_int_equal(set_srq(bed, &req), ERR);
}

#define REFUSE_ATTR(field, value)						\
	refuse_attr(bed, offsetof(struct virtio_rdma_cmd_set_srq_nvmf, field),	\
		    sizeof(((struct virtio_rdma_cmd_set_srq_nvmf *)0)->field), value)

static void test_attributes(void **state)
{
	struct bed *bed = bed_bare(state);
	const struct virtio_rdma_cmd_set_srq_nvmf good = attributes(bed);

	REFUSE_ATTR(srq, bed->srq.handle + 1);
	REFUSE_ATTR(ops, 0);
	REFUSE_ATTR(ops, 4);
	REFUSE_ATTR(ops, 5);
	REFUSE_ATTR(ops, 8);
	REFUSE_ATTR(max_namespaces, 0);
	REFUSE_ATTR(max_namespaces, 33);
	REFUSE_ATTR(max_io_size, 0);
	REFUSE_ATTR(max_io_size, 4097);
	REFUSE_ATTR(max_io_size, 2 << 20);
	REFUSE_ATTR(capsule, 3);
	REFUSE_ATTR(capsule, 261);
	REFUSE_ATTR(capsule, UINT32_MAX);
	REFUSE_ATTR(data_offset, 17);
	REFUSE_ATTR(queue_depth, 8);
	REFUSE_ATTR(queue_depth, 48);
	REFUSE_ATTR(queue_depth, 2048);
	REFUSE_ATTR(page_shift, 13);
	REFUSE_ATTR(staging.addr, EG_VA + 8);
	REFUSE_ATTR(staging.addr, EG_VA - 4096);
	REFUSE_ATTR(staging.length, 0);
	REFUSE_ATTR(staging.length, 4096);
	REFUSE_ATTR(staging.length, EG_MR_SIZE);
	REFUSE_ATTR(staging.length, 2ull << 30);
	REFUSE_ATTR(staging.lkey, bed->target.end.lkey + 1);
	assert_int_equal(enable(bed), ERR);
	assert_int_equal(set_srq(bed, &good), OK);
	assert_int_equal(set_srq(bed, &good), ERR);
	bed_down(bed);
}

static void test_objects(void **state)
{
	struct bed *bed = bed_up(state);
	struct virtio_rdma_cmd_create_nvme_ctrl req = ctrl_req(bed, "disk");
	uint32_t ctrl, i, made[15];

	assert_int_equal(map_nsid(bed, bed->ctrl, NSID, 1, BLOCK), ERR);
	assert_int_equal(map_nsid(bed, bed->ctrl, 0, 1, BLOCK), ERR);
	assert_int_equal(map_nsid(bed, bed->ctrl, UINT32_MAX, 1, BLOCK), ERR);
	assert_int_equal(map_nsid(bed, bed->ctrl, 1, 2, BLOCK), ERR);
	assert_int_equal(map_nsid(bed, bed->ctrl, 1, 1, 4096), ERR);
	assert_int_equal(map_nsid(bed, bed->ctrl + 1, 1, 1, BLOCK), ERR);
	for (i = 1; i < 4; i++)
		assert_int_equal(map_nsid(bed, bed->ctrl, i, 1, BLOCK), OK);
	assert_int_equal(map_nsid(bed, bed->ctrl, i, 1, BLOCK), ERR);
	assert_int_equal(unmap_nsid(bed, bed->ctrl, 4), ERR);
	assert_int_equal(unmap_nsid(bed, bed->ctrl, 0), ERR);
	assert_int_equal(destroy_ctrl(bed, bed->ctrl), ERR);
	assert_int_equal(destroy_ctrl(bed, bed->ctrl + 1), ERR);
	assert_int_equal(er_destroy_srq(&bed->srq), ERR);
	for (i = 0; i < 15; i++)
		assert_int_equal(create_ctrl(bed, &req, &made[i]), OK);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	assert_int_equal(unmap_nsid(bed, made[0], 1), ERR);
	for (i = 0; i < 15; i++)
		assert_int_equal(destroy_ctrl(bed, made[i]), OK);
	req.name[0] = 'x';
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = ctrl_req(bed, "disk");
	req.flags = 1;
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = ctrl_req(bed, "disk");
	req.backend = 3;
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = ctrl_req(bed, "disk");
	req.srq = htole32(bed->srq.handle + 1);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	req = ctrl_req(bed, "disk");
	memset((uint8_t *)&req + sizeof(req) - 8, 1, 8);
	assert_int_equal(create_ctrl(bed, &req, &ctrl), ERR);
	assert_int_equal(set_qp(bed, bed->target.qp.qpn, 2, 0, 0), ERR);
	assert_int_equal(set_qp(bed, bed->target.qp.qpn, 1, 4, 4), ERR);
	assert_int_equal(set_qp(bed, bed->target.qp.qpn, 1, 0, 1), ERR);
	assert_int_equal(set_qp(bed, 0xffffff, 1, 0, 0), ERR);
	bed_down(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_write, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_write_in_capsule, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_data_offset, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_flush, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_many, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_later, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_head, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_wrong, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_program, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_shared_queue, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_invalidate, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_bad_key, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_qp_destroyed, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_qp_to_err, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_disabled, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_reset, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_regions_gone, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_saved_busy, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_region, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_full, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_timeout, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_bad_cid, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_bad_head, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_region_gone, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_destroyed, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_queues_wrong, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_query, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_attributes, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_objects, eg_setup_direct, eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
