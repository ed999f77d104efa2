// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offload of NVMe over Fabrics: guest 2 is the target, guest 1 a host of it.
 */
#include "tests/lib/nvmf_bed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define OK		VIRTIO_NET_OK
#define ERR		VIRTIO_NET_ERR
#define RC		VIRTIO_IB_QPT_RC

static void software_hears_nothing(struct nvmf_bed *bed)
{
	struct virtio_rdma_cqe cqe;

	assert_false(er_poll(&bed->target.cq, &cqe));
}

/* ------------------------------------------------------------------------- */
/* Commands that are carried out                                             */
/* ------------------------------------------------------------------------- */

static void test_read(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	static const uint32_t lens[] = { 1, 8, 9, 64, 512 };
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		sqe = nb_sqe(bed, NVME_IO_READ, 3 + i, lens[i]);
		nb_keyed(bed, &sqe, 0, lens[i] * NB_BLOCK);
		nb_run(bed, &sqe, NVME_OK);
		assert_memory_equal(nb_host_ptr(bed, NB_DATA), bed->disk.mem + (3 + i) * NB_BLOCK,
				    lens[i] * NB_BLOCK);
	}
	software_hears_nothing(bed);
	nb_down(bed);
}

static void test_write(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	static const uint32_t lens[] = { 1, 8, 9, 64, 512 };
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		nb_fill(bed, NB_DATA, lens[i] * NB_BLOCK, i);
		sqe = nb_sqe(bed, NVME_IO_WRITE, 100 + i, lens[i]);
		nb_keyed(bed, &sqe, 0, lens[i] * NB_BLOCK);
		nb_run(bed, &sqe, NVME_OK);
		assert_memory_equal(bed->disk.mem + (100 + i) * NB_BLOCK, nb_host_ptr(bed, NB_DATA),
				    lens[i] * NB_BLOCK);
	}
	software_hears_nothing(bed);
	nb_down(bed);
}

static void test_write_in_capsule(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe = nb_sqe(bed, NVME_IO_WRITE, 50, 8);
	const uint32_t at = NB_CAPSULE + 8192 * (bed->cid % 64);

	nb_describe(&sqe, NVME_SGL_OFFSET, 0, 4096, 0);
	nb_fill(bed, at + 64, 4096, 9);
	nb_capsule(bed, &sqe, 64 + 4096);
	eg_run(bed->engine);
	nb_expect(bed, bed->cid, NVME_OK);
	assert_memory_equal(bed->disk.mem + 50 * NB_BLOCK, nb_host_ptr(bed, at + 64), 4096);
	software_hears_nothing(bed);
	nb_down(bed);
}

/* Data behind the place that the attributes give. */
static void test_data_offset(void **state)
{
	struct nvmf_bed *bed = nb_bare(state);
	struct virtio_rdma_cmd_set_srq_nvmf attr = nb_attributes(bed);
	const struct virtio_rdma_cmd_create_nvme_ctrl req = nb_ctrl_req(bed, "disk");
	struct nvme_sqe sqe;
	uint32_t at;

	attr.data_offset = htole16(2);
	assert_int_equal(nb_set_srq(bed, &attr), OK);
	assert_int_equal(nb_create_ctrl(bed, &req, &bed->ctrl), OK);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, NB_NSID, 1, NB_BLOCK), OK);
	assert_int_equal(nb_enable(bed), OK);
	sqe = nb_sqe(bed, NVME_IO_WRITE, 50, 1);
	at = NB_CAPSULE + 8192 * (bed->cid % 64);
	nb_describe(&sqe, NVME_SGL_OFFSET, 16, NB_BLOCK, 0);
	nb_fill(bed, at + 64, 1024, 9);
	nb_capsule(bed, &sqe, 64 + 1024);
	eg_run(bed->engine);
	nb_expect(bed, bed->cid, NVME_OK);
	assert_memory_equal(bed->disk.mem + 50 * NB_BLOCK, nb_host_ptr(bed, at + 64 + 48),
			    NB_BLOCK);
	nb_down(bed);
}

static void test_flush(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe = nb_sqe(bed, NVME_IO_FLUSH, 0, 1);

	nb_keyed(bed, &sqe, 0, 0);
	nb_run(bed, &sqe, NVME_OK);
	assert_int_equal(bed->disk.ops[NS_FLUSH], 1);
	software_hears_nothing(bed);
	nb_down(bed);
}

/* As many as a host may send, and twice as many as the SRQ has requests. */
static void test_many(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < 32; i++) {
		sqe = nb_sqe(bed, NVME_IO_READ, i, 8);
		nb_keyed(bed, &sqe, 4096 * i, 4096);
		nb_capsule(bed, &sqe, sizeof(sqe));
	}
	eg_run(bed->engine);
	for (i = 0; i < 32; i++) {
		nb_expect(bed, i + 1, NVME_OK);
		assert_memory_equal(nb_host_ptr(bed, NB_DATA + 4096 * i),
				    bed->disk.mem + i * NB_BLOCK, 4096);
	}
	software_hears_nothing(bed);
	nb_down(bed);
}

/* The namespace ends them later, and in any order. */
static void test_later(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe;
	unsigned int i;

	eg_cycle_off = true;
	bed->disk.hold = true;
	for (i = 0; i < 4; i++) {
		sqe = nb_sqe(bed, i % 2 ? NVME_IO_READ : NVME_IO_WRITE, 8 * i, 8);
		nb_keyed(bed, &sqe, 4096 * i, 4096);
		nb_fill(bed, NB_DATA + 4096 * i, 4096, i);
		nb_submit(bed, &sqe);
	}
	er_expect_none(&bed->host);
	nb_disk_go_on(&bed->disk);
	eg_run(bed->engine);
	for (i = 0; i < 4; i++) {
		nb_expect(bed, i + 1, NVME_OK);
		assert_memory_equal(nb_host_ptr(bed, NB_DATA + 4096 * i), bed->disk.mem + 4096 * i,
				    4096);
	}
	nb_down(bed);
}

/* The head of the host's queue counts what the QP has received. */
static void test_head(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe = nb_sqe(bed, NVME_IO_FLUSH, 0, 1);
	struct nvme_cqe cqe;

	nb_keyed(bed, &sqe, 0, 0);
	cqe = nb_run(bed, &sqe, NVME_OK);
	assert_int_equal(le16toh(cqe.sqhd), 0xffff);
	assert_int_equal(nb_set_qp(bed, bed->target.qp.qpn, VIRTIO_RDMA_QP_NVMF_ENABLE, 4, 2), OK);
	cqe = nb_run(bed, &sqe, NVME_OK);
	assert_int_equal(le16toh(cqe.sqhd), 3);
	cqe = nb_run(bed, &sqe, NVME_OK);
	assert_int_equal(le16toh(cqe.sqhd), 0);
	nb_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Commands that are wrong                                                   */
/* ------------------------------------------------------------------------- */

static void test_wrong(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe = nb_sqe(bed, NVME_IO_READ, NB_BLOCKS, 1);

	nb_keyed(bed, &sqe, 0, NB_BLOCK);
	nb_run(bed, &sqe, NVME_LBA_RANGE | NVME_DNR);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 8);
	nb_keyed(bed, &sqe, 0, NB_BLOCK);
	nb_run(bed, &sqe, NVME_SGL_LENGTH | NVME_DNR);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1024);
	nb_keyed(bed, &sqe, 0, 1024 * NB_BLOCK);
	nb_run(bed, &sqe, NVME_INVALID_FIELD | NVME_DNR);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	nb_describe(&sqe, 0x30, EG_VA, NB_BLOCK, bed->host.end.lkey);
	nb_run(bed, &sqe, NVME_SGL_BAD_TYPE | NVME_DNR);
	sqe = nb_sqe(bed, NVME_IO_WRITE, 0, 1);
	nb_describe(&sqe, NVME_SGL_OFFSET, 0, NB_BLOCK, 0);
	nb_run(bed, &sqe, NVME_SGL_BAD_OFFSET | NVME_DNR);
	bed->disk.err = -EIO;
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	nb_keyed(bed, &sqe, 0, NB_BLOCK);
	nb_run(bed, &sqe, NVME_READ_ERROR | NVME_DNR);
	bed->disk.err = -EPIPE;
	nb_run(bed, &sqe, NVME_INTERNAL);
	bed->disk.err = 0;
	nb_run(bed, &sqe, NVME_OK);
	nb_down(bed);
}

/* ------------------------------------------------------------------------- */
/* What goes to the program                                                  */
/* ------------------------------------------------------------------------- */

/* A message of @len bytes that begins with @sqe is received by the program. */
static void goes_to_program(struct nvmf_bed *bed, const struct nvme_sqe *sqe, uint32_t len)
{
	struct virtio_rdma_cqe cqe;
	const uint8_t *at;

	nb_capsule(bed, sqe, len);
	eg_run(bed->engine);
	assert_true(er_poll(&bed->target.cq, &cqe));
	assert_int_equal(cqe.status, VIRTIO_IB_WC_SUCCESS);
	assert_true(cqe.opcode & VIRTIO_RDMA_CQE_RECV);
	assert_int_equal(le32toh(cqe.byte_len), len);
	at = eg_ptr(nb_target(bed), EG_DATA + NB_RECVS + 8192 * (le32toh(cqe.wqe) % NB_SRQ_DEPTH));
	assert_memory_equal(at, sqe, len < sizeof(*sqe) ? len : sizeof(*sqe));
	nb_post_srq(bed, 1);
	er_expect_none(&bed->host);
}

static void test_program(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct nvme_sqe sqe = nb_sqe(bed, NVME_IO_ZEROES, 0, 1);

	goes_to_program(bed, &sqe, sizeof(sqe));
	sqe = nb_sqe(bed, NVME_FABRICS, 0, 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	sqe.nsid = htole32(NB_NSID + 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, 63);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, NB_CAPSULE_SIZE + 1);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	sqe.flags |= 1;
	goes_to_program(bed, &sqe, sizeof(sqe));
	/* Unmapped, and not enabled. */
	assert_int_equal(nb_unmap_nsid(bed, bed->ctrl, NB_NSID), OK);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, NB_NSID, 1, NB_BLOCK), OK);
	assert_int_equal(nb_set_qp(bed, bed->target.qp.qpn, 0, 0, 0), OK);
	sqe = nb_sqe(bed, NVME_IO_READ, 0, 1);
	goes_to_program(bed, &sqe, sizeof(sqe));
	assert_int_equal(bed->disk.ops[NS_READ], 0);
	nb_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Requests of the program                                                   */
/* ------------------------------------------------------------------------- */

/* The program sends on the same QP, and each of its requests completes as ever. */
static void test_shared_queue(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct virtio_rdma_cqe cqe;
	struct nvme_sqe sqe;
	struct eg_wr wr;
	unsigned int i, recvs = 0;

	for (i = 0; i < 8; i++) {
		sqe = nb_sqe(bed, NVME_IO_READ, i, 8);
		nb_keyed(bed, &sqe, 4096 * i, 4096);
		nb_capsule(bed, &sqe, sizeof(sqe));
		er_recv(&bed->host, NB_ANSWER + 64 * (bed->host.qp.posted_recv % 256), 64);
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
		assert_memory_equal(nb_host_ptr(bed, NB_DATA + 4096 * i),
				    bed->disk.mem + i * NB_BLOCK, 4096);
	nb_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Remote invalidation                                                       */
/* ------------------------------------------------------------------------- */

static void test_invalidate(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
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
	wqe.bind.addr = htole64(EG_VA + NB_DATA);
	wqe.bind.length = htole64(NB_BLOCK);
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
	sqe = nb_sqe(bed, NVME_IO_READ, 5, 1);
	nb_describe(&sqe, NVME_SGL_KEYED_INV, EG_VA + NB_DATA, NB_BLOCK, key);
	nb_submit(bed, &sqe);
	assert_true(er_poll(&bed->host.cq, &cqe));
	assert_int_equal(cqe.status, VIRTIO_IB_WC_SUCCESS);
	assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_WITH_INVALIDATE);
	assert_int_equal(le32toh(cqe.invalidate_rkey), key);
	assert_memory_equal(nb_host_ptr(bed, NB_DATA), bed->disk.mem + 5 * NB_BLOCK, NB_BLOCK);
	nb_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Ends                                                                      */
/* ------------------------------------------------------------------------- */

/* A host that describes memory which is not there ends its connection. */
static void test_bad_key(void **state)
{
	static const uint8_t opcodes[] = { NVME_IO_READ, NVME_IO_WRITE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct nvmf_bed *bed;
		struct nvme_sqe sqe;

		if (i) {
			eg_teardown(state);
			eg_setup_direct(state);
		}
		bed = nb_up(state);
		sqe = nb_sqe(bed, opcodes[i], 0, 1);
		nb_describe(&sqe, NVME_SGL_KEYED, EG_VA, NB_BLOCK, 0xbad);
		nb_submit(bed, &sqe);
		assert_int_equal(eg_state(nb_target(bed), bed->target.qp.qpn),
				 VIRTIO_IB_QPS_ERR);
		nb_expect_event(bed, VIRTIO_RDMA_EVENT_QP_FATAL, bed->target.qp.qpn);
		software_hears_nothing(bed);
		nb_down(bed);
	}
}

/* Four commands at a namespace, and one whose data is to be pulled. */
static void hold_some(struct nvmf_bed *bed)
{
	struct nvme_sqe sqe;
	unsigned int i;

	eg_cycle_off = true;
	bed->disk.hold = true;
	for (i = 0; i < 4; i++) {
		sqe = nb_sqe(bed, i % 2 ? NVME_IO_READ : NVME_IO_WRITE, 8 * i, 8);
		nb_keyed(bed, &sqe, 4096 * i, 4096);
		nb_submit(bed, &sqe);
	}
	assert_false(TAILQ_EMPTY(&bed->disk.held));
}

static void test_qp_destroyed(void **state)
{
	struct nvmf_bed *bed = nb_up(state);

	hold_some(bed);
	assert_int_equal(er_destroy_qp(&bed->target.qp), OK);
	nb_disk_go_on(&bed->disk);
	eg_run(bed->engine);
	assert_int_equal(nb_unmap_nsid(bed, bed->ctrl, NB_NSID), OK);
	assert_int_equal(nb_destroy_ctrl(bed, bed->ctrl), OK);
	assert_int_equal(er_destroy_srq(&bed->srq), OK);
	nb_down(bed);
}

/* The program has asked for it, so that there is not an event. */
static void test_qp_to_err(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct virtio_rdma_event event;

	hold_some(bed);
	eg_to(&bed->target.end, RC, VIRTIO_IB_QPS_ERR, &bed->host.end);
	eg_run(bed->engine);
	while (er_take_event(nb_target(bed), 0, &event))
		assert_int_not_equal(le16toh(event.type), VIRTIO_RDMA_EVENT_QP_FATAL);
	/* Others have to wait for what the namespace still has. */
	assert_int_equal(nb_enable(bed), ERR);
	nb_disk_go_on(&bed->disk);
	assert_int_equal(nb_enable(bed), OK);
	eg_run(bed->engine);
	nb_down(bed);
}

static void test_disabled(void **state)
{
	struct nvmf_bed *bed = nb_up(state);

	hold_some(bed);
	assert_int_equal(nb_set_qp(bed, bed->target.qp.qpn, 0, 0, 0), OK);
	nb_disk_go_on(&bed->disk);
	eg_run(bed->engine);
	assert_int_equal(eg_state(nb_target(bed), bed->target.qp.qpn), VIRTIO_IB_QPS_ERR);
	nb_down(bed);
}

static void test_reset(void **state)
{
	struct nvmf_bed *bed = nb_up(state);

	hold_some(bed);
	eg_reset(nb_target(bed));
	nb_disk_go_on(&bed->disk);
	eg_run(bed->engine);
	nb_down(bed);
}

/* The data of commands goes through memory of the daemon; the regions may go. */
static void test_regions_gone(void **state)
{
	struct nvmf_bed *bed = nb_up(state);

	hold_some(bed);
	er_lose_page(nb_target(bed), EG_DATA + NB_STAGING);
	nb_disk_go_on(&bed->disk);
	eg_run(bed->engine);
	nb_down(bed);
}

/* Saved and loaded with commands under way: the connection ends, and the others stay. */
static void test_saved_busy(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	unsigned int cycles;

	if (!getenv("EG_STATE")) {
		nb_down(bed);
		return;
	}
	hold_some(bed);
	eg_cycle_off = false;
	cycles = eg_cycles;
	while (eg_cycles == cycles)
		eg_cycle(nb_target(bed));
	eg_cycle_off = true;
	eg_run(bed->engine);
	assert_int_equal(eg_state(nb_target(bed), bed->target.qp.qpn), VIRTIO_IB_QPS_ERR);
	nb_expect_event(bed, VIRTIO_RDMA_EVENT_QP_FATAL, bed->target.qp.qpn);
	software_hears_nothing(bed);
	nb_disk_go_on(&bed->disk);
	eg_run(bed->engine);
	nb_down(bed);
}

/* ------------------------------------------------------------------------- */
/* Control commands                                                          */
/* ------------------------------------------------------------------------- */

static void test_query(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct virtio_rdma_cmd_query_namespace req = { .name = "disk" };
	struct virtio_rdma_ack_query_device device;
	struct virtio_rdma_ack_query_namespace ns;
	struct virtio_rdma_ack_query_nvmf caps;

	assert_int_equal(eg_command(nb_target(bed), CMD(QUERY_DEVICE), NULL, 0, &device,
				    sizeof(device)), OK);
	assert_true(le64toh(device.device_cap_flags) & VIRTIO_IB_DEVICE_NVMF);
	assert_int_equal(eg_command(nb_target(bed), CMD(QUERY_NVMF), NULL, 0, &caps,
				    sizeof(caps)), OK);
	assert_int_equal(le32toh(caps.offload), 15);
	assert_int_equal(le32toh(caps.flags), VIRTIO_RDMA_NVMF_DOORBELL_MEMORY);
	assert_int_equal(le16toh(caps.max_qp_commands), 128);
	assert_int_equal(eg_command(nb_target(bed), CMD(QUERY_NAMESPACE), &req, sizeof(req), &ns,
				    sizeof(ns)), OK);
	assert_int_equal(le64toh(ns.size), NB_BLOCK * NB_BLOCKS);
	assert_int_equal(le32toh(ns.lba_size), NB_BLOCK);
	assert_int_equal(le32toh(ns.flags), VIRTIO_RDMA_NAMESPACE_CACHE);
	req.name[10] = 'x';
	assert_int_equal(eg_command(nb_target(bed), CMD(QUERY_NAMESPACE), &req, sizeof(req), &ns,
				    sizeof(ns)), ERR);
	memset(req.name, 'x', sizeof(req.name));
	assert_int_equal(eg_command(nb_target(bed), CMD(QUERY_NAMESPACE), &req, sizeof(req), &ns,
				    sizeof(ns)), ERR);
	/* The other guest was given nothing. */
	assert_int_equal(eg_command(bed->host.end.guest, CMD(QUERY_NVMF), NULL, 0, &caps,
				    sizeof(caps)), ERR);
	rnic_set_nvmf(bed->host.end.guest->rnic, &bed->env);
	req = (struct virtio_rdma_cmd_query_namespace) { .name = "disk" };
	assert_int_equal(eg_command(bed->host.end.guest, CMD(QUERY_NAMESPACE), &req,
				    sizeof(req), &ns, sizeof(ns)), ERR);
	nb_down(bed);
	rnic_set_nvmf(((struct engine *)*state)->guest[0].rnic, NULL);
}

static void refuse_attr(const struct nvmf_bed *bed, size_t off, size_t size, uint64_t value)
{
	struct virtio_rdma_cmd_set_srq_nvmf req = nb_attributes(bed);
	const __le64 le = htole64(value);

	memcpy((uint8_t *)&req + off, &le, size);
	assert_int_equal(nb_set_srq(bed, &req), ERR);
}

#define REFUSE_ATTR(field, value)						\
	refuse_attr(bed, offsetof(struct virtio_rdma_cmd_set_srq_nvmf, field),	\
		    sizeof(((struct virtio_rdma_cmd_set_srq_nvmf *)0)->field), value)

static void test_attributes(void **state)
{
	struct nvmf_bed *bed = nb_bare(state);
	const struct virtio_rdma_cmd_set_srq_nvmf good = nb_attributes(bed);

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
	assert_int_equal(nb_enable(bed), ERR);
	assert_int_equal(nb_set_srq(bed, &good), OK);
	assert_int_equal(nb_set_srq(bed, &good), ERR);
	nb_down(bed);
}

static void test_objects(void **state)
{
	struct nvmf_bed *bed = nb_up(state);
	struct virtio_rdma_cmd_create_nvme_ctrl req = nb_ctrl_req(bed, "disk");
	uint32_t ctrl, i, made[15];

	assert_int_equal(nb_map_nsid(bed, bed->ctrl, NB_NSID, 1, NB_BLOCK), ERR);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, 0, 1, NB_BLOCK), ERR);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, UINT32_MAX, 1, NB_BLOCK), ERR);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, 1, 2, NB_BLOCK), ERR);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, 1, 1, 4096), ERR);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl + 1, 1, 1, NB_BLOCK), ERR);
	for (i = 1; i < 4; i++)
		assert_int_equal(nb_map_nsid(bed, bed->ctrl, i, 1, NB_BLOCK), OK);
	assert_int_equal(nb_map_nsid(bed, bed->ctrl, i, 1, NB_BLOCK), ERR);
	assert_int_equal(nb_unmap_nsid(bed, bed->ctrl, 4), ERR);
	assert_int_equal(nb_unmap_nsid(bed, bed->ctrl, 0), ERR);
	assert_int_equal(nb_destroy_ctrl(bed, bed->ctrl), ERR);
	assert_int_equal(nb_destroy_ctrl(bed, bed->ctrl + 1), ERR);
	assert_int_equal(er_destroy_srq(&bed->srq), ERR);
	for (i = 0; i < 15; i++)
		assert_int_equal(nb_create_ctrl(bed, &req, &made[i]), OK);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	assert_int_equal(nb_unmap_nsid(bed, made[0], 1), ERR);
	for (i = 0; i < 15; i++)
		assert_int_equal(nb_destroy_ctrl(bed, made[i]), OK);
	req.name[0] = 'x';
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = nb_ctrl_req(bed, "disk");
	req.flags = 1;
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = nb_ctrl_req(bed, "disk");
	req.backend = 3;
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = nb_ctrl_req(bed, "disk");
	req.srq = htole32(bed->srq.handle + 1);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	req = nb_ctrl_req(bed, "disk");
	memset((uint8_t *)&req + sizeof(req) - 8, 1, 8);
	assert_int_equal(nb_create_ctrl(bed, &req, &ctrl), ERR);
	assert_int_equal(nb_set_qp(bed, bed->target.qp.qpn, 2, 0, 0), ERR);
	assert_int_equal(nb_set_qp(bed, bed->target.qp.qpn, 1, 4, 4), ERR);
	assert_int_equal(nb_set_qp(bed, bed->target.qp.qpn, 1, 0, 1), ERR);
	assert_int_equal(nb_set_qp(bed, 0xffffff, 1, 0, 0), ERR);
	nb_down(bed);
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
		cmocka_unit_test_setup_teardown(test_query, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_attributes, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_objects, eg_setup_direct, eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
