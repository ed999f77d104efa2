// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offload of NVMe over Fabrics: controllers whose queues are in the target's memory.
 */
#include "tests/lib/nvmf_bed.h"

#include "base/util.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define OK		VIRTIO_NET_OK
#define ERR		VIRTIO_NET_ERR
#define MS		(1000 * 1000ULL)

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
	struct nvmf_bed *bed;
	uint32_t ctrl;
	unsigned int taken;
	uint16_t head;
	uint16_t tail;
	uint16_t phase;
};

static void *target_ptr(const struct nvmf_bed *bed, uint32_t off)
{
	return eg_ptr(nb_target(bed), EG_DATA + off);
}

static struct virtio_rdma_region region(const struct nvmf_bed *bed, uint32_t off, uint32_t len)
{
	return (struct virtio_rdma_region) {
		.addr = htole64(EG_VA + off),
		.length = htole64(len),
		.lkey = htole32(bed->target.end.lkey),
	};
}

static struct virtio_rdma_cmd_create_nvme_ctrl queues_req(const struct nvmf_bed *bed, uint8_t flags,
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

static struct nvme nvme_up(struct nvmf_bed *bed, uint8_t flags, uint16_t timeout)
{
	const struct virtio_rdma_cmd_set_srq_nvmf attr = nb_attributes(bed);
	const struct virtio_rdma_cmd_create_nvme_ctrl req = queues_req(bed, flags, timeout);
	const __le32 begin = htole32(QUEUE - 2);
	struct nvme nvme = { .bed = bed, .head = QUEUE - 2, .tail = QUEUE - 1, .phase = 1 };

	unsigned int i;

	memset(target_ptr(bed, SQ), 0, 16384);
	/* Those before the first one were used already. */
	for (i = 0; i < QUEUE - 1; i++)
		((uint8_t *)target_ptr(bed, CQ + 16 * i))[14] = 1;
	memcpy(target_ptr(bed, SQ_DOORBELL), &begin, sizeof(begin));
	assert_int_equal(nb_set_srq(bed, &attr), OK);
	assert_int_equal(nb_create_ctrl(bed, &req, &nvme.ctrl), OK);
	assert_int_equal(nb_map_nsid(bed, nvme.ctrl, NB_NSID, 3, NB_BLOCK), OK);
	assert_int_equal(nb_enable(bed), OK);
	return nvme;
}

static uint32_t doorbell(const struct nvmf_bed *bed, uint32_t off)
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
						      eg_ptr(nb_target(nvme->bed), addr);
}

/* Data of a command, page by page, to or from the disk. */
static void nvme_move(const struct nvme *nvme, const uint8_t *sqe, uint8_t flags)
{
	const uint64_t at = field(sqe, 40, 8) * NB_BLOCK, len = (field(sqe, 48, 2) + 1) * NB_BLOCK;
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
	struct nvmf_bed *bed = nb_bare(state);
	struct nvme nvme = nvme_up(bed, flags, 1000);
	struct nvme_sqe sqe;
	unsigned int i, round;

	eg_cycle_off = true;
	for (round = 0; round < 12; round++) {
		i = round % ARRAY_SIZE(lens);
		sqe = nb_sqe(bed, NVME_IO_READ, 3 + i, lens[i]);
		nb_keyed(bed, &sqe, 0, lens[i] * NB_BLOCK);
		nb_submit(bed, &sqe);
		serve(&nvme, NVME_IO_READ, 0, flags);
		nb_expect(bed, bed->cid, NVME_OK);
		assert_memory_equal(nb_host_ptr(bed, NB_DATA), bed->disk.mem + (3 + i) * NB_BLOCK,
				    lens[i] * NB_BLOCK);
		nb_fill(bed, NB_DATA, lens[i] * NB_BLOCK, round);
		sqe = nb_sqe(bed, NVME_IO_WRITE, 600 + i, lens[i]);
		nb_keyed(bed, &sqe, 0, lens[i] * NB_BLOCK);
		nb_submit(bed, &sqe);
		serve(&nvme, NVME_IO_WRITE, 0, flags);
		nb_expect(bed, bed->cid, NVME_OK);
		assert_memory_equal(bed->disk.mem + (600 + i) * NB_BLOCK, nb_host_ptr(bed, NB_DATA),
				    lens[i] * NB_BLOCK);
		sqe = nb_sqe(bed, NVME_IO_FLUSH, 0, 1);
		nb_keyed(bed, &sqe, 0, 0);
		nb_submit(bed, &sqe);
		serve(&nvme, NVME_IO_FLUSH, 0, flags);
		nb_expect(bed, bed->cid, NVME_OK);
	}
	/* Its status is the host's. */
	sqe = nb_sqe(bed, NVME_IO_FLUSH, 0, 1);
	nb_keyed(bed, &sqe, 0, 0);
	nb_submit(bed, &sqe);
	serve(&nvme, NVME_IO_FLUSH, NVME_DNR | NVME_INVALID_FIELD, flags);
	nb_expect(bed, bed->cid, NVME_DNR | NVME_INVALID_FIELD);
	nb_down(bed);
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
	struct nvmf_bed *bed = nb_bare(state);
	struct nvme nvme = nvme_up(bed, 0, 0);
	struct nvme_sqe sqe;
	unsigned int i;

	eg_cycle_off = true;
	for (i = 0; i < 24; i++) {
		sqe = nb_sqe(bed, NVME_IO_READ, i, 8);
		nb_keyed(bed, &sqe, 4096 * i, 4096);
		nb_submit(bed, &sqe);
	}
	for (i = 0; i < 24; i++)
		serve(&nvme, NVME_IO_READ, 0, 0);
	for (i = 0; i < 24; i++) {
		nb_expect(bed, i + 1, NVME_OK);
		assert_memory_equal(nb_host_ptr(bed, NB_DATA + 4096 * i),
				    bed->disk.mem + i * NB_BLOCK, 4096);
	}
	nb_down(bed);
}

/* Fails, with one command under way; all that come are answered, and it can be destroyed. */
static void nvme_is_dead(struct nvme *nvme, uint16_t event)
{
	struct nvmf_bed *bed = nvme->bed;
	struct nvme_sqe sqe;

	nb_expect(bed, bed->cid, NVME_INTERNAL);
	nb_expect_event(bed, event, nvme->ctrl);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 8);
	nb_keyed(bed, &sqe, 0, 4096);
	nb_run(bed, &sqe, NVME_INTERNAL);
	assert_int_equal(nb_unmap_nsid(bed, nvme->ctrl, NB_NSID), OK);
	assert_int_equal(nb_destroy_ctrl(bed, nvme->ctrl), OK);
	nb_down(bed);
}

static struct nvme nvme_busy(void **state, uint16_t timeout)
{
	struct nvmf_bed *bed = nb_bare(state);
	struct nvme nvme = nvme_up(bed, 0, timeout);
	struct nvme_sqe sqe = nb_sqe(bed, NVME_IO_READ, 0, 8);

	eg_cycle_off = true;
	nb_keyed(bed, &sqe, 0, 4096);
	nb_submit(bed, &sqe);
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

	assert_int_equal(eg_command(nb_target(nvme.bed), CMD(DEREG_MR), &req, sizeof(req), NULL, 0),
			 OK);
	eg_run(nvme.bed->engine);
	nb_expect(nvme.bed, nvme.bed->cid, NVME_INTERNAL);
	nb_expect_event(nvme.bed, VIRTIO_RDMA_EVENT_NVME_PCI_ERR, nvme.ctrl);
	nb_down(nvme.bed);
}

/* Destroyed, or its QP, with a command under way. */
static void test_queues_destroyed(void **state)
{
	struct nvme nvme = nvme_busy(state, 0);
	struct nvmf_bed *bed = nvme.bed;

	assert_int_equal(nb_unmap_nsid(bed, nvme.ctrl, NB_NSID), OK);
	assert_int_equal(nb_destroy_ctrl(bed, nvme.ctrl), OK);
	eg_run(bed->engine);
	nb_expect(bed, bed->cid, NVME_INTERNAL);
	assert_int_equal(er_destroy_qp(&bed->target.qp), OK);
	assert_int_equal(er_destroy_srq(&bed->srq), OK);
	nb_down(bed);
}

static void test_queues_wrong(void **state)
{
	struct nvmf_bed *bed = nb_bare(state);
	const struct virtio_rdma_cmd_set_srq_nvmf attr = nb_attributes(bed);
	struct virtio_rdma_cmd_create_nvme_ctrl good = queues_req(bed, 0, 0), req;
	uint32_t ctrl;

	assert_int_equal(nb_set_srq(bed, &attr), OK);
	req = good;
	req.flags = 2;
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.sq_initial = htole16(QUEUE);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.cq_initial = htole16(QUEUE);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.sq.length = htole64(64);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.cq.addr = htole64(EG_VA + CQ + 8);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.sq_doorbell.lkey ^= htole32(1);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = good;
	req.queues.cq_doorbell.length = htole64(8);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	assert_int_equal(nb_create_ctrl(bed, &good, &ctrl), OK);
	assert_int_equal(nb_map_nsid(bed, ctrl, 1, 0, NB_BLOCK), ERR);
	assert_int_equal(nb_map_nsid(bed, ctrl, 1, UINT32_MAX, NB_BLOCK), ERR);
	assert_int_equal(nb_map_nsid(bed, ctrl, 1, 1, 1024), ERR);
	assert_int_equal(nb_map_nsid(bed, ctrl, 1, 1, 512 | 4096), ERR);
	assert_int_equal(nb_map_nsid(bed, ctrl, 1, 1, 4096), OK);
	nb_down(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
