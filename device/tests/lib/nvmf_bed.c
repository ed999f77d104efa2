// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A host and a target of NVMe over Fabrics, whose commands the offload carries out.
 */
#include "tests/lib/nvmf_bed.h"

#include <stdlib.h>

#include "base/util.h"
#include "storage/staging.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define OK		VIRTIO_NET_OK
#define RC		VIRTIO_IB_QPT_RC

#define STAGING_LEN	(2u << 20)
#define SECRET		0xa5

/* ------------------------------------------------------------------------- */
/* Namespace                                                                 */
/* ------------------------------------------------------------------------- */

static void disk_do(struct nb_disk *disk, struct ns_io *io)
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
	struct nb_disk *disk = arg;

	if (disk->hold)
		TAILQ_INSERT_TAIL(&disk->held, io, entry);
	else
		disk_do(disk, io);
}

void nb_disk_go_on(struct nb_disk *disk)
{
	struct ns_io *io;

	while ((io = TAILQ_FIRST(&disk->held))) {
		TAILQ_REMOVE(&disk->held, io, entry);
		disk_do(disk, io);
	}
}

static void disk_init(struct nb_disk *disk)
{
	size_t i;

	TAILQ_INIT(&disk->held);
	disk->ns = (struct ns) {
		.name = "disk",
		.size = sizeof(disk->mem),
		.block = NB_BLOCK,
		.cache = true,
		.submit = disk_submit,
		.arg = disk,
	};
	for (i = 0; i < sizeof(disk->mem); i++)
		disk->mem[i] = i * 7 + i / NB_BLOCK;
}

static struct ns *disk_find(const void *arg, const char *name, const char *guest)
{
	const struct nvmf_bed *bed = arg;

	return strcmp(name, "disk") || strcmp(guest, "guest2") ? NULL :
	       (struct ns *)&bed->disk.ns;
}

/* ------------------------------------------------------------------------- */
/* Commands of the target                                                    */
/* ------------------------------------------------------------------------- */

struct eg_guest *nb_target(const struct nvmf_bed *bed)
{
	return bed->target.end.guest;
}

struct virtio_rdma_cmd_set_srq_nvmf nb_attributes(const struct nvmf_bed *bed)
{
	return (struct virtio_rdma_cmd_set_srq_nvmf) {
		.srq = htole32(bed->srq.handle),
		.ops = htole32(VIRTIO_RDMA_NVMF_WRITE | VIRTIO_RDMA_NVMF_READ |
			       VIRTIO_RDMA_NVMF_FLUSH),
		.max_namespaces = htole32(4),
		.max_io_size = htole32(256 << 10),
		.capsule = htole32(NB_CAPSULE_SIZE / 16),
		.queue_depth = htole16(64),
		.page_shift = 12,
		.staging = {
			.addr = htole64(EG_VA + NB_STAGING),
			.length = htole64(STAGING_LEN),
			.lkey = htole32(bed->target.end.lkey),
		},
	};
}

uint8_t nb_set_srq(const struct nvmf_bed *bed, const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	return eg_command(nb_target(bed), CMD(SET_SRQ_NVMF), req, sizeof(*req), NULL, 0);
}

struct virtio_rdma_cmd_create_nvme_ctrl nb_ctrl_req(const struct nvmf_bed *bed, const char *name)
{
	struct virtio_rdma_cmd_create_nvme_ctrl req = {
		.srq = htole32(bed->srq.handle),
		.backend = VIRTIO_RDMA_NVME_NAMESPACE,
	};

	memcpy(req.name, name, strlen(name));
	return req;
}

uint8_t nb_create_ctrl(const struct nvmf_bed *bed,
		       const struct virtio_rdma_cmd_create_nvme_ctrl *req, uint32_t *ctrl)
{
	struct virtio_rdma_ack_create_nvme_ctrl ack = {};
	uint8_t err = eg_command(nb_target(bed), CMD(CREATE_NVME_CTRL), req, sizeof(*req), &ack,
				 sizeof(ack));

	*ctrl = le32toh(ack.ctrl);
	return err;
}

uint8_t nb_destroy_ctrl(const struct nvmf_bed *bed, uint32_t ctrl)
{
	const struct virtio_rdma_cmd_destroy_nvme_ctrl req = { .ctrl = htole32(ctrl) };

	return eg_command(nb_target(bed), CMD(DESTROY_NVME_CTRL), &req, sizeof(req), NULL, 0);
}

uint8_t nb_map_nsid(const struct nvmf_bed *bed, uint32_t ctrl, uint32_t nsid, uint32_t of,
		    uint32_t lba)
{
	const struct virtio_rdma_cmd_map_nsid req = {
		.ctrl = htole32(ctrl),
		.nsid = htole32(nsid),
		.ctrl_nsid = htole32(of),
		.lba_size = htole32(lba),
	};

	return eg_command(nb_target(bed), CMD(MAP_NSID), &req, sizeof(req), NULL, 0);
}

uint8_t nb_unmap_nsid(const struct nvmf_bed *bed, uint32_t ctrl, uint32_t nsid)
{
	const struct virtio_rdma_cmd_unmap_nsid req = {
		.ctrl = htole32(ctrl),
		.nsid = htole32(nsid),
	};

	return eg_command(nb_target(bed), CMD(UNMAP_NSID), &req, sizeof(req), NULL, 0);
}

uint8_t nb_set_qp(const struct nvmf_bed *bed, uint32_t qpn, uint32_t flags, uint16_t size,
		  uint16_t head)
{
	const struct virtio_rdma_cmd_set_qp_nvmf req = {
		.qpn = htole32(qpn),
		.flags = htole32(flags),
		.sq_size = htole16(size),
		.sq_head = htole16(head),
	};

	return eg_command(nb_target(bed), CMD(SET_QP_NVMF), &req, sizeof(req), NULL, 0);
}

uint8_t nb_enable(const struct nvmf_bed *bed)
{
	return nb_set_qp(bed, bed->target.qp.qpn, VIRTIO_RDMA_QP_NVMF_ENABLE, 0, 0);
}

/* ------------------------------------------------------------------------- */
/* Up and down                                                               */
/* ------------------------------------------------------------------------- */

void nb_post_srq(struct nvmf_bed *bed, unsigned int n)
{
	struct eg_sge sge = { 0, 8192, bed->target.end.lkey };

	while (n--) {
		sge.addr = EG_VA + NB_RECVS + 8192 * (bed->recvs % NB_SRQ_DEPTH);
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

static void target_up(struct nvmf_bed *bed)
{
	struct er_shape shape = { .send_depth = 16, .cqe = 64, .srq = &bed->srq };
	struct eg_guest *guest = &bed->engine->guest[1];
	struct er_end *to = &bed->target;

	to->end = (struct eg_end) { .guest = guest, .pdn = eg_create_pd(guest) };
	er_srq_init(&bed->srq, guest, to->end.pdn, NB_SRQ_DEPTH);
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

struct nvmf_bed *nb_bare(void **state)
{
	struct nvmf_bed *bed = calloc(1, sizeof(*bed));
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
	bed->env = (struct nvmf_host) { .nvmf = bed->nvmf, .find = disk_find, .arg = bed };
	rnic_set_nvmf(bed->engine->guest[1].rnic, &bed->env);
	er_open(&bed->host, &bed->engine->guest[0], RC, &shape);
	target_up(bed);
	eg_connect(&bed->host.end, &bed->target.end, RC);
	nb_post_srq(bed, 8);
	return bed;
}

struct nvmf_bed *nb_up(void **state)
{
	struct nvmf_bed *bed = nb_bare(state);
	const struct virtio_rdma_cmd_set_srq_nvmf attr = nb_attributes(bed);
	const struct virtio_rdma_cmd_create_nvme_ctrl req = nb_ctrl_req(bed, "disk");

	assert_int_equal(nb_set_srq(bed, &attr), OK);
	assert_int_equal(nb_create_ctrl(bed, &req, &bed->ctrl), OK);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, NB_NSID, 1, NB_BLOCK), OK);
	assert_int_equal(nb_enable(bed), OK);
	return bed;
}

void nb_down(struct nvmf_bed *bed)
{
	unsigned int i;

	eg_reset(nb_target(bed));
	nb_disk_go_on(&bed->disk);
	/* All buffers are free then, which nvmf_free() does not look at. */
	for (i = 0; i < 8; i++)
		assert_non_null(staging_alloc_of(bed->staging, bed, STAGING_BUFFER_MAX));
	rnic_set_nvmf(nb_target(bed)->rnic, NULL);
	nvmf_free(bed->nvmf);
	staging_free(bed->staging);
	free(bed);
}

/* ------------------------------------------------------------------------- */
/* The host                                                                  */
/* ------------------------------------------------------------------------- */

uint8_t *nb_host_ptr(const struct nvmf_bed *bed, uint32_t off)
{
	return eg_ptr(bed->host.end.guest, EG_DATA + off);
}

void nb_fill(struct nvmf_bed *bed, uint32_t off, uint32_t len, uint8_t seed)
{
	uint8_t *p = nb_host_ptr(bed, off);
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 13 + i / 251;
}

struct nvme_sqe nb_sqe(struct nvmf_bed *bed, uint8_t opcode, uint64_t slba, uint32_t blocks)
{
	struct nvme_sqe sqe = {
		.opcode = opcode,
		.flags = NVME_FLAGS_SGL,
		.cid = htole16(++bed->cid),
		.nsid = htole32(NB_NSID),
		.cdw10 = htole32(slba),
		.cdw11 = htole32(slba >> 32),
		.cdw12 = htole32(blocks - 1),
	};

	return sqe;
}

void nb_describe(struct nvme_sqe *sqe, uint8_t type, uint64_t addr, uint32_t len, uint32_t key)
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

void nb_keyed(const struct nvmf_bed *bed, struct nvme_sqe *sqe, uint32_t off, uint32_t len)
{
	nb_describe(sqe, NVME_SGL_KEYED, EG_VA + NB_DATA + off, len, bed->host.end.lkey);
}

void nb_capsule(struct nvmf_bed *bed, const struct nvme_sqe *sqe, uint32_t len)
{
	const uint32_t at = NB_CAPSULE + 8192 * (bed->cid % 64);
	struct eg_wr wr = eg_send(&bed->host.end, 0, at, len);

	memcpy(nb_host_ptr(bed, at), sqe, sizeof(*sqe));
	wr.flags = 0;
	er_recv(&bed->host, NB_ANSWER + 64 * (bed->host.qp.posted_recv % 256), 64);
	er_post_send(&bed->host.qp, &wr);
}

void nb_submit(struct nvmf_bed *bed, const struct nvme_sqe *sqe)
{
	nb_capsule(bed, sqe, sizeof(*sqe));
	eg_run(bed->engine);
}

/* The next answer, which is there. */
static struct nvme_cqe answer(struct nvmf_bed *bed)
{
	const struct virtio_rdma_cqe wc = er_expect(&bed->host, true, bed->answers,
						    VIRTIO_IB_WC_SUCCESS);
	struct nvme_cqe cqe;

	assert_int_equal(le32toh(wc.byte_len), sizeof(cqe));
	memcpy(&cqe, nb_host_ptr(bed, NB_ANSWER + 64 * (bed->answers++ % 256)), sizeof(cqe));
	return cqe;
}

struct nvme_cqe nb_expect(struct nvmf_bed *bed, uint16_t cid, uint16_t status)
{
	const struct nvme_cqe cqe = answer(bed);

	assert_int_equal(le16toh(cqe.cid), cid);
	assert_int_equal(le16toh(cqe.status) >> 1, status);
	assert_int_equal(le16toh(cqe.status) & 1, 0);
	return cqe;
}

struct nvme_cqe nb_run(struct nvmf_bed *bed, const struct nvme_sqe *sqe, uint16_t status)
{
	nb_submit(bed, sqe);
	return nb_expect(bed, le16toh(sqe->cid), status);
}

void nb_expect_event(const struct nvmf_bed *bed, uint16_t type, uint32_t number)
{
	struct virtio_rdma_event event;
	unsigned int seen = 0;

	while (er_take_event(nb_target(bed), 0, &event))
		seen += le16toh(event.type) == type && le32toh(event.number) == number;
	assert_int_equal(seen, 1);
}
