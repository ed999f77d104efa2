/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * For tests of the offload of NVMe over Fabrics: guest 2 is the target, guest 1 a host of it.
 */
#ifndef DEVICE_TESTS_NVMF_BED_H
#define DEVICE_TESTS_NVMF_BED_H

#include "nvmf/nvme.h"
#include "nvmf/nvmf.h"
#include "rdma/nvmf/subsys.h"
#include "storage/ns.h"
#include "tests/lib/engine_ring.h"

/* Offsets in the host's memory. */
#define NB_CAPSULE	0u
#define NB_DATA		(1u << 20)
#define NB_ANSWER	EG_IN

/* Offsets in the target's memory. */
#define NB_RECVS	EG_IN
#define NB_STAGING	(8u << 20)

#define NB_BLOCK	512u
#define NB_BLOCKS	2048u
#define NB_NSID		7u
#define NB_SRQ_DEPTH	16u
#define NB_CAPSULE_SIZE	(64u + 4096)

/**
 * struct nb_disk - a namespace in memory
 * @ns:		it
 * @mem:	content
 * @hold:	nothing is done before nb_disk_go_on()
 * @held:	what waits
 * @err:	what all end with
 * @ops:	how often each was done
 */
struct nb_disk {
	struct ns ns;
	uint8_t mem[NB_BLOCK * NB_BLOCKS];
	bool hold;
	TAILQ_HEAD(, ns_io) held;
	int err;
	unsigned int ops[NS_OPS];
};

/**
 * struct nvmf_bed - a host and a target
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
struct nvmf_bed {
	struct engine *engine;
	struct er_end host;
	struct er_end target;
	struct er_srq srq;
	struct staging *staging;
	struct nvmf_pool pool;
	struct nvmf *nvmf;
	struct nvmf_host env;
	struct nb_disk disk;
	uint32_t ctrl;
	uint32_t recvs;
	uint16_t cid;
	uint32_t answers;
};

/** nb_disk_go_on() - do what the namespace has held back */
void nb_disk_go_on(struct nb_disk *disk);

/** nb_target() - the target's guest */
struct eg_guest *nb_target(const struct nvmf_bed *bed);

/** nb_attributes() - a SET_SRQ_NVMF that is accepted */
struct virtio_rdma_cmd_set_srq_nvmf nb_attributes(const struct nvmf_bed *bed);

/** nb_set_srq() - SET_SRQ_NVMF; returns the ack */
uint8_t nb_set_srq(const struct nvmf_bed *bed, const struct virtio_rdma_cmd_set_srq_nvmf *req);

/** nb_ctrl_req() - CREATE_NVME_CTRL for namespace @name of the host */
struct virtio_rdma_cmd_create_nvme_ctrl nb_ctrl_req(const struct nvmf_bed *bed, const char *name);

/** nb_create_ctrl() - CREATE_NVME_CTRL; returns the ack */
uint8_t nb_create_ctrl(const struct nvmf_bed *bed,
		       const struct virtio_rdma_cmd_create_nvme_ctrl *req, uint32_t *ctrl);

/** nb_destroy_ctrl() - DESTROY_NVME_CTRL; returns the ack */
uint8_t nb_destroy_ctrl(const struct nvmf_bed *bed, uint32_t ctrl);

/** nb_map_nsid() - MAP_NSID of namespace @of of the controller; returns the ack */
uint8_t nb_map_nsid(const struct nvmf_bed *bed, uint32_t ctrl, uint32_t nsid, uint32_t of,
		    uint32_t lba);

/** nb_unmap_nsid() - UNMAP_NSID; returns the ack */
uint8_t nb_unmap_nsid(const struct nvmf_bed *bed, uint32_t ctrl, uint32_t nsid);

/** nb_set_qp() - SET_QP_NVMF; returns the ack */
uint8_t nb_set_qp(const struct nvmf_bed *bed, uint32_t qpn, uint32_t flags, uint16_t size,
		  uint16_t head);

/** nb_enable() - enable the offload of the target's QP; returns the ack */
uint8_t nb_enable(const struct nvmf_bed *bed);

/** nb_post_srq() - post @n receive requests to the SRQ */
void nb_post_srq(struct nvmf_bed *bed, unsigned int n);

/** nb_bare() - a host, and a target without offload yet; the engine is that of a fixture */
struct nvmf_bed *nb_bare(void **state);

/** nb_up() - the same with the offload enabled, and with namespace NB_NSID */
struct nvmf_bed *nb_up(void **state);

/** nb_down() - reset the target, and free all; no staging buffer is left */
void nb_down(struct nvmf_bed *bed);

/** nb_host_ptr() - where @off of the host's memory is */
uint8_t *nb_host_ptr(const struct nvmf_bed *bed, uint32_t off);

/** nb_fill() - fill @len bytes of the host's memory */
void nb_fill(struct nvmf_bed *bed, uint32_t off, uint32_t len, uint8_t seed);

/** nb_sqe() - the next command of the host, without a descriptor of its data */
struct nvme_sqe nb_sqe(struct nvmf_bed *bed, uint8_t opcode, uint64_t slba, uint32_t blocks);

/** nb_describe() - give @sqe a descriptor of its data */
void nb_describe(struct nvme_sqe *sqe, uint8_t type, uint64_t addr, uint32_t len, uint32_t key);

/** nb_keyed() - let the data of @sqe be at NB_DATA + @off in the host's memory */
void nb_keyed(const struct nvmf_bed *bed, struct nvme_sqe *sqe, uint32_t off, uint32_t len);

/** nb_capsule() - send a capsule of @len bytes, which begins with @sqe */
void nb_capsule(struct nvmf_bed *bed, const struct nvme_sqe *sqe, uint32_t len);

/** nb_submit() - send @sqe alone, and let the engine run */
void nb_submit(struct nvmf_bed *bed, const struct nvme_sqe *sqe);

/** nb_expect() - the next answer is there, and is to command @cid; returns it */
struct nvme_cqe nb_expect(struct nvmf_bed *bed, uint16_t cid, uint16_t status);

/** nb_run() - send @sqe, and expect its answer; returns it */
struct nvme_cqe nb_run(struct nvmf_bed *bed, const struct nvme_sqe *sqe, uint16_t status);

/** nb_expect_event() - take all events of the target; just one is this */
void nb_expect_event(const struct nvmf_bed *bed, uint16_t type, uint32_t number);

#endif /* DEVICE_TESTS_NVMF_BED_H */
