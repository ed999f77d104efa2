/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guests for the tests of the RDMA engine: memory, rings built by hand, and the
 * driver's side of commands and work requests.
 */
#ifndef DEVICE_TESTS_ENGINE_GUEST_H
#define DEVICE_TESTS_ENGINE_GUEST_H

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/virtio_net.h>

#include "tests/lib/engine_loop.h"
#include "rdma/object/fabric.h"
#include "rdma/rnic.h"
#include "uapi/virtio_net_roce.h"

#define EG_GUESTS	2
#define EG_QPS		8
#define EG_CQS		4
#define EG_QUEUE	64
#define EG_CQE		300
#define EG_MRS		8
#define EG_PDS		4
#define EG_AHS		4
#define EG_SGE		32
#define EG_EVENT_VQS	2
#define EG_DOORBELL_VQS	2
#define EG_DIRECT_QPS	32
#define EG_DIRECT_CQS	16

/* Guest memory begins here, rings first; the rest is for data. */
#define EG_BASE		0x100000000ull
#define EG_SIZE		(64u << 20)
#define EG_DATA		(EG_BASE + (16u << 20))
#define EG_PAGE		4096u

/**
 * struct eg_ring - the driver's side of a virtqueue
 * @vq:		the device's side
 * @guest:	guest that it belongs to
 * @slots:	device address of the first slot
 * @slot_size:	bytes of one
 * @avail:	available index
 * @seen:	used index up to which completions were taken
 * @calls:	interrupts so far
 */
struct eg_ring {
	struct virtq vq;
	struct eg_guest *guest;
	uint64_t slots;
	uint32_t slot_size;
	uint16_t avail;
	uint16_t seen;
	unsigned int calls;
};

/**
 * struct eg_guest - a guest
 * @rnic:	its function
 * @number:	1, 2 …, the last byte of its GID
 * @mem:	its memory
 * @fd:		file of that
 * @map:	memory map
 * @next:	device address of the next thing to be placed
 * @cq:		completion rings
 * @sq:		send rings
 * @rq:		receive rings
 * @event:	event rings, if there are any
 * @doorbell:	doorbell rings, if there are any
 */
struct eg_guest {
	struct rnic *rnic;
	uint8_t number;
	uint8_t *mem;
	int fd;
	struct guest_mem map;
	uint64_t next;
	struct eg_ring cq[EG_CQS];
	struct eg_ring sq[EG_QPS];
	struct eg_ring rq[EG_QPS];
	struct eg_ring event[EG_EVENT_VQS];
	struct eg_ring doorbell[EG_DOORBELL_VQS];
};

/**
 * struct engine - all that a test needs
 * @loop:	time
 * @fabric:	fabric
 * @guest:	guests; GID 0 of guest n is ::ffff:10.0.0.n
 */
struct engine {
	struct loop *loop;
	struct fabric *fabric;
	struct eg_guest guest[EG_GUESTS];
};

/**
 * struct eg_end - one end of a connection
 * @guest:	guest
 * @pdn:	protection domain
 * @cqn:	CQ of both queues
 * @qpn:	QP
 * @lkey:	region of the first EG_MR_SIZE bytes at EG_DATA, all rights; its
 *		addresses are EG_VA and up
 * @mrn:	its handle
 */
struct eg_end {
	struct eg_guest *guest;
	uint32_t pdn;
	uint32_t cqn;
	uint32_t qpn;
	uint32_t lkey;
	uint32_t mrn;
};

/**
 * struct eg_pair - two ends, connected with each other
 * @engine:	engine
 * @a:		the one that sends, in guest 1
 * @b:		the one that receives, in guest 2
 */
struct eg_pair {
	struct engine *engine;
	struct eg_end a;
	struct eg_end b;
};

/* Where the receiving side keeps its buffers in tests, from EG_DATA. */
#define EG_IN		(4u << 20)

#define EG_VA		0x7f0000000000ull
#define EG_MR_SIZE	(16u << 20)
#define EG_ACCESS_ALL	(VIRTIO_IB_ACCESS_LOCAL_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_READ | \
			 VIRTIO_IB_ACCESS_FLUSH_GLOBAL | \
			 VIRTIO_IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct eg_wr - a send request
 *
 * As struct virtio_rdma_sq_req, in host order.
 */
struct eg_wr {
	uint64_t wr_id;
	uint8_t opcode;
	uint8_t flags;
	uint32_t imm;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t flush_len;
	uint8_t flush_type;
	uint8_t flush_level;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint32_t ah;
	uint32_t srqn;		/* of an XRC_INI QP */
	const void *data;	/* inline */
	uint32_t data_len;
	uint32_t num_sge;
	struct eg_sge {
		uint64_t addr;
		uint32_t length;
		uint32_t lkey;
	} sge[EG_SGE];
};

/**
 * struct eg_wc - a completion, in host order
 */
struct eg_wc {
	uint64_t wr_id;
	uint8_t status;
	uint8_t opcode;
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t flags;
	uint16_t vlan;
};

/**
 * eg_dump() - is told what guests say and hear, or NULL: tests/lib/dump.c
 * @guest:	guest
 * @kind:	"up", "reset", "command", "send", "recv", "wc", "swqe", "rwqe", "srq",
 *		"cqe", "event"
 * @number:	of the command; QPN, CQN, SRQ or event virtqueue of others; of "up", bit 0
 *		for EVENTS, bit 1 for DIRECT
 * @data:	request, slot, completion or event, of @len bytes
 * @more:	of a command, ack and response; of a direct QP's slot, the index of the
 *		request; of @more_len bytes
 */
extern void (*eg_dump)(const struct eg_guest *guest, const char *kind, uint32_t number,
		       const void *data, size_t len, const void *more, size_t more_len);

/* cmocka fixtures: *state is a struct engine with all queues started. */
int eg_setup(void **state);
/* The same for a test that has pointers to objects, which do not outlive a NIC. */
int eg_setup_pointers(void **state);
int eg_setup_event_idx(void **state);
/* The same with CQs that hold EG_CQE completions. */
int eg_setup_hold(void **state);
/* Devices that offer nothing but the RFC. */
int eg_setup_rfc(void **state);
/* Devices that offer event queues and direct rings. */
int eg_setup_direct(void **state);
/* The same, with as many direct QPs and CQs as there can be. */
int eg_setup_direct_many(void **state);
int eg_teardown(void **state);

/** eg_guest_mem() - make the memory of a guest, and its map */
void eg_guest_mem(struct eg_guest *guest);

/** eg_guest_start() - a NIC with nothing in it gets its queues and its GID */
void eg_guest_start(struct eg_guest *guest, bool event_idx);

/** eg_ptr() - pointer to guest memory */
void *eg_ptr(const struct eg_guest *guest, uint64_t addr);

/** eg_place() - take room for something in front of the data, from the next page on */
uint64_t eg_place(struct eg_guest *guest, uint64_t size);

/** eg_ring_reset() - what the driver does before it creates a QP or CQ again */
void eg_ring_reset(struct eg_ring *ring);

/** eg_deliver() - a packet arrives in memory, from the NIC with its source GID */
void eg_deliver(const struct eg_guest *guest, const struct pkt *pkt);

/**
 * eg_follow() - a pointer of the test's to a guest's NIC, to be kept up to date
 *
 * With EG_STATE in the environment a NIC is saved, freed, and loaded between the steps of a
 * test, as long as no frame waits in its port.
 */
void eg_follow(struct rnic **rnic);

/** eg_cycle() - do that now, if it is asked for */
void eg_cycle(struct eg_guest *guest);

/** eg_steps - steps of the present test, of which eg_cycle() leaves out some */
extern unsigned int eg_steps;

/** eg_cycles - how often that was done */
extern unsigned int eg_cycles;

/** eg_cycle_off - the present test has what does not outlive a NIC: do not */
extern bool eg_cycle_off;

/* A function that stays one, and is called.  clang does not know the attribute. */
#ifdef __clang__
#define EG_WHOLE	__attribute__((noinline))
#else
#define EG_WHOLE	__attribute__((noipa))
#endif

/**
 * eg_work() - rnic_poll(), in a function that stays one
 *
 * With optimisation at link time rnic_poll() may become part of others, or go on in another
 * by a jump; a tool that counts from here on does not see that.
 */
bool eg_work(struct rnic *rnic) EG_WHOLE;

/** eg_run() - poll all NICs until none has work */
void eg_run(struct engine *engine);

/* How long a QP waits for an ACK after so many retries without progress, ns. */
static inline uint64_t eg_ack_ns(unsigned int retries)
{
	return 4096ull << (10 + (retries < 2 ? retries : 2));
}


/** eg_rounds - calls that the last eg_command() took */
extern unsigned int eg_rounds;

/** eg_reset() - reset a guest's NIC, and clear all that this leaves behind */
void eg_reset(struct eg_guest *guest);

/** eg_command() - a control command, to its end; returns the ack */
uint8_t eg_command(struct eg_guest *guest, uint8_t command, const void *req,
		   size_t req_len, void *rsp, size_t rsp_len);

/* The commands, expected to succeed. */
uint32_t eg_create_pd(struct eg_guest *guest);
uint32_t eg_create_cq(struct eg_guest *guest);
uint32_t eg_create_qp(struct eg_guest *guest, uint8_t type, uint32_t pdn,
		      uint32_t cqn);
uint32_t eg_create_ah(struct eg_guest *guest, uint32_t pdn,
		      const struct eg_guest *to);
void eg_destroy_qp(struct eg_guest *guest, uint32_t qpn);

/** eg_create_qp_req() - a request that CREATE_QP accepts */
struct virtio_rdma_cmd_create_qp eg_create_qp_req(uint8_t type, uint32_t pdn,
						  uint32_t cqn);

/** eg_gid() - GID of a guest of an engine */
void eg_gid(const struct eg_guest *guest, uint8_t *gid);

/**
 * eg_reg_mr() - REG_USER_MR
 * @guest:	guest
 * @pdn:	protection domain
 * @access:	rights
 * @va:		address of the first byte
 * @length:	bytes
 * @page:	device addresses of the pages
 * @npages:	their number
 * @ack:	filled in
 *
 * Return: the ack.
 */
uint8_t eg_reg_mr(struct eg_guest *guest, uint32_t pdn, uint32_t access,
		  uint64_t va, uint64_t length, const uint64_t *page,
		  uint32_t npages, struct virtio_rdma_ack_mr *ack);

/** eg_reg() - register contiguous memory at @addr; returns the key */
uint32_t eg_reg(struct eg_guest *guest, uint32_t pdn, uint32_t access,
		uint64_t va, uint64_t length, uint64_t addr);

/**
 * eg_modify_req() - a request that takes a QP of @type to @state, with all
 * attributes that this requires; its peer is @dest_qpn of @to
 */
struct virtio_rdma_cmd_modify_qp eg_modify_req(uint32_t qpn, uint8_t type,
					       uint8_t state,
					       const struct eg_guest *to,
					       uint32_t dest_qpn);

/** eg_modify() - MODIFY_QP; returns the ack */
uint8_t eg_modify(struct eg_guest *guest,
		  const struct virtio_rdma_cmd_modify_qp *req);

/** eg_to() - take a QP to a state, from the one before it */
void eg_to(struct eg_end *end, uint8_t type, uint8_t state,
	   const struct eg_end *peer);

/** eg_state() - state of a QP, by QUERY_QP */
uint8_t eg_state(struct eg_guest *guest, uint32_t qpn);

/** eg_query() - QUERY_QP */
struct virtio_rdma_ack_query_qp eg_query(struct eg_guest *guest, uint32_t qpn);

/** eg_open() - PD, CQ, memory region and a QP in RESET */
struct eg_end eg_open(struct eg_guest *guest, uint8_t type);

/** eg_connect() - take two QPs from RESET to RTS, connected with each other */
void eg_connect(struct eg_end *a, struct eg_end *b, uint8_t type);

/** eg_connect_xrc() - the same with an XRC_INI QP and an XRC_TGT QP */
void eg_connect_xrc(struct eg_end *ini, struct eg_end *tgt);

/** eg_pair() - one end in each guest, connected with each other */
void eg_pair(struct engine *engine, uint8_t type, struct eg_end *a,
	     struct eg_end *b);

/** eg_pair_up() - the same, for an engine that a fixture has made */
struct eg_pair eg_pair_up(void **state, uint8_t type);

/**
 * eg_put_header() - write opcode, flags and operands of a send request
 *
 * They are alike in both forms: in a slot of a virtqueue, from the opcode on.
 */
void eg_put_header(struct virtio_rdma_swqe *to, const struct eg_wr *wr);

/** eg_put_sge() - write elements, as many as @room bytes hold */
void eg_put_sge(struct virtio_rdma_sge *to, const struct eg_sge *from, uint32_t n,
		size_t room);

/** eg_post_send() - write a request into its slot and make it available */
void eg_post_send(const struct eg_end *end, const struct eg_wr *wr);

/** eg_post_recv() - the same for a receive request */
void eg_post_recv(const struct eg_end *end, uint64_t wr_id,
		  const struct eg_sge *sge, uint32_t num_sge);

/** eg_slot() - the slot that is posted next */
void *eg_slot(struct eg_ring *ring);

/** eg_post_slot() - make that slot available */
void eg_post_slot(struct eg_ring *ring);

/** eg_used() - used index of a ring */
uint16_t eg_used(const struct eg_ring *ring);

/** eg_wants_kick() - would the driver ring the doorbell if it posted now? */
bool eg_wants_kick(const struct eg_ring *ring);

/** eg_wanted_kick() - and for the slot that was put last, also if the device runs beside */
bool eg_wanted_kick(const struct eg_ring *ring);

/** eg_poll() - take a completion and give its slot back; false if none */
bool eg_poll(const struct eg_end *end, struct eg_wc *wc);

/** eg_expect() - take a completion that must be there, with this outcome */
struct eg_wc eg_expect(const struct eg_end *end, uint64_t wr_id,
		       uint8_t status);

/** eg_expect_none() - no completion is there */
void eg_expect_none(const struct eg_end *end);

/** eg_expect_sent() - the completion of a SEND, all of it */
void eg_expect_sent(const struct eg_pair *p, uint64_t wr_id);

/** eg_expect_received() - the completion of a receive request, all of it */
void eg_expect_received(const struct eg_pair *p, uint64_t wr_id, uint32_t len);

/** eg_expect_states() - the states of both ends */
void eg_expect_states(const struct eg_pair *p, uint8_t a, uint8_t b);

/** eg_expect_works() - a message gets through, whole */
void eg_expect_works(const struct eg_pair *p);

/** eg_fill() - fill data memory with a pattern that depends on @seed */
void eg_fill(const struct eg_guest *guest, uint64_t off, size_t len,
	     uint32_t seed);

/** eg_check() - data memory holds the pattern, from its byte @skip on */
void eg_check(const struct eg_guest *guest, uint64_t off, size_t len,
	      uint32_t seed, size_t skip);

/** eg_zero() - clear data memory */
void eg_zero(const struct eg_guest *guest, uint64_t off, size_t len);

/** eg_check_zero() - data memory is clear */
void eg_check_zero(const struct eg_guest *guest, uint64_t off, size_t len);

/** eg_send() - a SEND, signaled, of @len bytes at offset @off */
struct eg_wr eg_send(const struct eg_end *end, uint64_t wr_id, uint64_t off,
		     uint32_t len);

/** eg_recv() - post a receive request of one element */
void eg_recv(const struct eg_end *end, uint64_t wr_id, uint64_t off,
	     uint32_t len);

#endif /* DEVICE_TESTS_ENGINE_GUEST_H */
