/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A guest of a daemon that runs as a process of its own: QEMU's side of a vhost-user
 * socket, and the driver's side of the queues.  No virtual machine is needed.
 */
#ifndef DEVICE_TESTS_FRONT_H
#define DEVICE_TESTS_FRONT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/guest.h"
#include "uapi/virtio_net_roce.h"

/*
 * The limits that the daemon must be started with: --qps, --cqs, --queue-size, and one
 * --event-queues and --doorbell-queues.
 */
#define FRONT_QPS	8
#define FRONT_CQS	4
#define FRONT_NUM	256

#define FRONT_MEM	(64u << 20)
#define FRONT_SGE	32

enum {
	FRONT_RX,
	FRONT_TX,
	FRONT_CTRL,
	FRONT_CQ,
	FRONT_SQ = FRONT_CQ + FRONT_CQS,	/* and a receive queue behind each */
	FRONT_EVENT = FRONT_SQ + 2 * FRONT_QPS,
	FRONT_DOORBELL,
	FRONT_QUEUES,
};

/**
 * struct front_vq - a queue
 * @gvq:	the driver's side
 * @slots:	device address of its slots: those of a CQ, a send or a receive queue
 * @slot_size:	bytes of one
 * @kick:	doorbell
 * @done:	buffers that came back
 */
struct front_vq {
	struct guest_vq gvq;
	uint64_t slots;
	uint32_t slot_size;
	int kick;
	unsigned long done;
};

/**
 * struct front - a guest
 * @sock:	its vhost-user connection
 * @guest:	its memory
 * @number:	last byte of its GID, ::ffff:10.0.0.n
 * @features:	negotiated
 * @cmd:	device address of the command that front_command() sends
 * @vq:		queues
 */
struct front {
	int sock;
	struct guest guest;
	uint8_t number;
	uint64_t features;
	uint64_t cmd;
	struct front_vq vq[FRONT_QUEUES];
};

/**
 * struct front_qp - a QP of a guest
 * @front:	guest
 * @cqn:	CQ of both queues
 * @qpn:	QP
 */
struct front_qp {
	struct front *front;
	uint32_t cqn;
	uint32_t qpn;
};

/** front_open() - connect to the daemon, negotiate, start all queues, add the GID */
void front_open(struct front *front, const char *path, uint8_t number,
		uint64_t features);

/** front_open_mem() - the same with @mem bytes of memory, not %FRONT_MEM */
void front_open_mem(struct front *front, const char *path, uint8_t number, uint64_t features,
		    size_t mem);

/** front_remap() - send the memory table once more; front_remapped() takes the answer */
void front_remap(struct front *front);

/** front_remapped() - wait for the answer to front_remap() */
void front_remapped(struct front *front);

/** front_hang_up() - disconnect, and nothing more; front_close() is to follow */
void front_hang_up(struct front *front);

/**
 * front_log() - have the daemon log what it writes
 * @front:	guest
 * @fd:		memory of the log, or -1 for no log any more
 * @size:	bytes of it
 */
void front_log(struct front *front, int fd, uint64_t size);

/** front_pause() - stop all queues; @base is set to where each of them was */
void front_pause(struct front *front, uint16_t *base);

/** front_resume() - start all queues there, here or, after front_load(), elsewhere */
void front_resume(struct front *front, const uint16_t *base);

/** front_save() - the state of a function that is paused; its bytes, fewer than @room */
size_t front_save(struct front *front, uint8_t *data, size_t room);

/**
 * front_load() - connect to another daemon with a state
 * @front:	guest, whose old connection is the caller's now
 * @path:	socket of the daemon
 * @data:	state
 * @len:	bytes of it
 *
 * Return: false if the daemon has refused it.
 */
bool front_load(struct front *front, const char *path, const uint8_t *data, size_t len);

/** front_close() - disconnect, and free the guest */
void front_close(struct front *front);

/** front_gid() - the GID of guest @number */
void front_gid(uint8_t number, uint8_t *gid);

/** front_kick() - ring the doorbell if the device wants that */
void front_kick(struct front_vq *vq);

/** front_again() - make what came back available again, and ring; returns how much */
unsigned int front_again(struct front_vq *vq);

/** front_command() - a RoCE command that must succeed */
void front_command(struct front *front, uint8_t command, const void *req, size_t len,
		   void *rsp, size_t rsp_len);

/** front_ack() - a RoCE command; its ack, and its response if that is VIRTIO_NET_OK */
uint8_t front_ack(struct front *front, uint8_t command, const void *req, size_t len,
		  void *rsp, size_t rsp_len);

/** front_reset() - stop all queues, and start them as after a reset of the function */
void front_reset(struct front *front);

/** front_reg() - register the memory at @addr, addresses as the device's; the key */
uint32_t front_reg(struct front *front, uint32_t pdn, uint64_t addr, uint64_t length);

/** front_cq() - a CQ with a slot for each completion */
uint32_t front_cq(struct front *front);

/** front_qp() - a QP of a type */
struct front_qp front_qp(struct front *front, uint8_t type, uint32_t pdn, uint32_t cqn);

/** front_direct_cq() - a direct CQ, for QPs that are idle */
uint32_t front_direct_cq(struct front *front);

/** front_page() - a doorbell page at device address @page; its handle */
uint32_t front_page(struct front *front, uint64_t page);

/**
 * front_idle_qp() - a direct RC QP that is not connected
 * @front:	guest
 * @pdn:	protection domain
 * @cqn:	direct CQ of both queues
 * @page:	handle of the doorbell page
 * @bit:	bit in it
 */
void front_idle_qp(struct front *front, uint32_t pdn, uint32_t cqn, uint32_t page,
		   uint32_t bit);

/** front_ah() - an address handle of guest @number */
uint32_t front_ah(struct front *front, uint32_t pdn, uint8_t number);

/* Of the QPs that front_connect() connects: 4.096 us * 2^n, 1 s unless a test says more. */
extern uint8_t front_ack_timeout;

/** front_connect() - take a QP to RTS, with @peer as the peer of a connected one */
void front_connect(const struct front_qp *qp, uint8_t type, const struct front_qp *peer);

/** front_send_vq() - the send queue of a QP */
struct front_vq *front_send_vq(const struct front_qp *qp);

/** front_recv_vq() - the receive queue of a QP */
struct front_vq *front_recv_vq(const struct front_qp *qp);

/** front_slot() - slot @i of a queue */
void *front_slot(const struct front_vq *vq, unsigned int i);

/** front_poll_cq() - take a completion of a CQ and give its slot back; false if none */
bool front_poll_cq(struct front *front, uint32_t cqn, struct virtio_rdma_cq_req *wc);

/**
 * front_poll() - take a completion and give its slot back
 * @qp:		QP whose CQ it is
 * @status:	set to the completion's
 *
 * Return: false if there is none.
 */
bool front_poll(const struct front_qp *qp, uint8_t *status);

#endif /* DEVICE_TESTS_FRONT_H */
