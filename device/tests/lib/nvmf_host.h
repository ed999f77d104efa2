/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A host of NVMe over Fabrics, its wire, a namespace in memory, and staging buffers.
 */
#ifndef DEVICE_TESTS_NVMF_HOST_H
#define DEVICE_TESTS_NVMF_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "nvmf/nvme.h"
#include "nvmf/nvmf.h"
#include "storage/ns.h"

#define NH_NQN		"nqn.2026-11.org.example:disk"
#define NH_HOSTNQN	"nqn.2014-08.org.nvmexpress:uuid:host"
#define NH_KEY		0x00c0ffee
#define NH_MEMORY	((1u << 20) + (128u << 10))
#define NH_CONNS	8
#define NH_EVENTS	512
#define NH_BLOCKS	4096u
#define NH_BLOCK	512u
/* Staging buffers have this in them before: somebody else's data. */
#define NH_SECRET	0xa5

/**
 * struct nh_event - something that the wire was asked for
 * @cmd:	command
 * @cqe:	answer, or NULL for a pull
 * @buf:	of a pull
 * @len:	likewise
 * @addr:	likewise
 */
struct nh_event {
	struct nvmf_cmd *cmd;
	const void *cqe;
	void *buf;
	uint32_t len;
	uint64_t addr;
};

/**
 * struct nh_conn - a connection
 * @host:	of whom
 * @queue:	the target's end
 * @answer:	of the connection manager
 * @capsules:	those that the target has not released
 * @ended:	the target has ended it
 * @cntlid:	its controller, of nh_admin()
 * @cqe:	the last answer
 * @answers:	number of them
 * @inv:	the key was withdrawn with the last one
 * @key:	which one
 * @event:	what the wire has not done yet
 * @events:	number of them
 */
struct nh_conn {
	struct nh *host;
	struct nvmf_queue *queue;
	struct nvmf_cm_answer answer;
	unsigned int capsules;
	bool ended;
	uint16_t cntlid;
	struct nvme_cqe cqe;
	unsigned int answers;
	bool inv;
	uint32_t key;
	struct nh_event event[NH_EVENTS];
	unsigned int events;
};

/**
 * struct nh - all
 * @loop:	loop with a clock of the test
 * @pool:	staging buffers
 * @used:	bytes of them in use
 * @left:	bytes that are still to be had
 * @nvmf:	targets
 * @target:	the first one
 * @ns:		its first namespace, of @disk
 * @null:	its second one
 * @disk:	its blocks
 * @io:		what the namespace holds back
 * @ios:	number of them
 * @hold:	it holds back all
 * @err:	its error from now on, or 0
 * @last:	what it was asked for last
 * @lazy:	the wire waits for nh_go()
 * @pull_err:	pulls fail with it
 * @memory:	of the host
 * @conn:	connections
 */
struct nh {
	struct loop *loop;
	struct nvmf_pool pool;
	uint64_t used;
	uint64_t left;
	struct nvmf *nvmf;
	struct nvmf_target *target;
	struct ns ns;
	struct ns null;
	uint8_t disk[NH_BLOCKS * NH_BLOCK];
	struct ns_io *io[NH_EVENTS];
	unsigned int ios;
	bool hold;
	int err;
	struct ns_io last;
	bool lazy;
	int pull_err;
	uint8_t memory[NH_MEMORY];
	struct nh_conn conn[NH_CONNS];
};

/** nh_new() - a target with two namespaces, and no connection */
struct nh *nh_new(void);

/** nh_config() - what nh_new() tells about the target, for others */
void nh_config(struct nh *host, struct nvmf_target_config *config);

/** nh_free() - end all connections; no staging buffer is left */
void nh_free(struct nh *host);

/** nh_open() - a connection for queue @qid of @depth entries, by a guest or NULL */
struct nh_conn *nh_open(struct nh *host, unsigned int n, struct nvmf_target *target,
			uint16_t qid, uint16_t depth, const char *guest);

/** nh_close() - the connection has ended */
void nh_close(struct nh_conn *conn);

/** nh_send() - send a capsule with @extra bytes behind the command */
void nh_send(struct nh_conn *conn, const struct nvme_sqe *sqe, const void *data, size_t extra);

/** nh_go() - the wire does what it was asked for; returns how much that was */
unsigned int nh_go(struct nh_conn *conn);

/** nh_release() - the namespace is done with what it has held back */
void nh_release(struct nh *host);

/** nh_exec() - send a command, which is answered at once; returns the status, without DNR */
uint16_t nh_exec(struct nh_conn *conn, const struct nvme_sqe *sqe);

/** nh_sqe() - a command with a keyed description of @len bytes at @addr */
struct nvme_sqe nh_sqe(uint8_t opcode, uint32_t nsid, uint64_t addr, uint32_t len);

/** nh_within() - let the data be @len bytes of the capsule instead, at @offset */
void nh_within(struct nvme_sqe *sqe, uint64_t offset, uint32_t len);

/** nh_rw() - Read, Write or Write Zeroes of @blocks blocks */
struct nvme_sqe nh_rw(uint8_t opcode, uint32_t nsid, uint64_t lba, uint32_t blocks,
		      uint64_t addr);

/** nh_connect_sqe() - the Connect command */
struct nvme_sqe nh_connect_sqe(uint16_t qid, uint16_t depth, uint32_t kato);

/** nh_connect_data() - its data, at the beginning of the host's memory */
struct nvmf_connect_data *nh_connect_data(struct nh *host, const char *subnqn,
					  const char *hostnqn, uint16_t cntlid);

/** nh_property() - Property Get or Set */
struct nvme_sqe nh_property(uint8_t fctype, uint32_t offset, bool wide, uint64_t value);

/** nh_admin() - connection @n becomes the enabled administration queue of a controller */
struct nh_conn *nh_admin(struct nh *host, unsigned int n);

/** nh_io() - connection @n becomes I/O queue @qid of the controller of @admin */
struct nh_conn *nh_io(struct nh_conn *admin, unsigned int n, uint16_t qid, uint16_t depth);

#endif /* DEVICE_TESTS_NVMF_HOST_H */
