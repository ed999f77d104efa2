/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The hostile device: the daemon with code between its function and its RDMA side that
 * changes what the guest gets: answers to commands, completions, rings, interrupts,
 * configuration space.  A seed selects the changes.  A file of orders tells how often.
 *
 * Completions are changed on their way to a slot of a virtqueue or to a direct ring.
 * _ID, _LENGTH and _FLAGS, which only a used ring has, do not happen to direct CQs.
 *
 * hostile_wrap.c gets there by the linker's --wrap, as the strict device does.
 * hostile_orders.c has the dice and keeps count.  hostile_answer.c changes answers,
 * hostile_queue.c completions and rings.
 *
 * Context: the event loop's thread.
 */
#ifndef DEVICE_TESTS_HOSTILE_H
#define DEVICE_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "function/function_priv.h"
#include "rdma/object/cq.h"

/* Mischief that can happen to the owner of a QP or a CQ: a process, the kernel, or its GSI. */
#define HOSTILE_QUEUE_KINDS(who)						\
	who ## _WR_ID,		/* wr_id of a completion is another one */	\
	who ## _BITS,		/* bits of the rest of it are flipped */	\
	who ## _VALUE,		/* a field of it is another one */		\
	who ## _REPEAT,		/* it comes twice */				\
	who ## _FORGED,		/* one comes without a reason */		\
	who ## _ID,		/* a used entry names another buffer */		\
	who ## _LENGTH,		/* it has another length */			\
	who ## _INDEX,		/* the used index jumps, until it is next written; */ \
				/* direct: one has the phase of another round */ \
	who ## _FLAGS		/* flags and event index of a used ring */

/**
 * enum hostile_kind - what can happen; hostile_names[] has their names, but for
 *	REFUSE_MODIFY_QP, SILENT_MODIFY_QP and so on
 */
enum hostile_kind {
	ANSWER_BITS,		/* bits of a response are flipped */
	ANSWER_VALUE,		/* a number in it is another one */
	ANSWER_ACK,		/* the ack is another one */
	ANSWER_LENGTH,		/* the used entry has another length */
	ANSWER_LATE,		/* it comes some hundred milliseconds later */
	ANSWER_LOST,		/* it never comes */
	ANSWER_ID,		/* it is for another command */
	ETH_ACK,		/* the ack of a command of Ethernet is another one */
	HOSTILE_QUEUE_KINDS(USER),
	HOSTILE_QUEUE_KINDS(KERNEL),
	HOSTILE_QUEUE_KINDS(GSI),
	CALL_SPURIOUS,		/* an interrupt without a reason */
	CALL_LOST,		/* one that is missing */
	EVENT_FORGED,		/* an event without a reason, of any CQ or QP */
	CONFIG_BITS,		/* bits of configuration space that is read are flipped */
	CONFIG_CHANGE,		/* an interrupt that says it has changed */
	/* The answer to one command alone is an error, for each command. */
	REFUSE,
	/* It never comes. */
	SILENT = REFUSE + VIRTIO_NET_CTRL_ROCE_NUM,
	HOSTILE_KINDS = SILENT + VIRTIO_NET_CTRL_ROCE_NUM,
};

/* Owners of a QP or a CQ, in the order of the kinds. */
enum hostile_owner {
	OWNER_USER,
	OWNER_KERNEL,
	OWNER_GSI,
};

#define OWNER_KINDS	(KERNEL_WR_ID - USER_WR_ID)

/* PDs of the kernel that are known. */
#define HOSTILE_PDS	1024

/* Answers that wait. */
#define HOSTILE_LATE	64

/* How often things happen that nothing leads to. */
#define HOSTILE_TICK_NS	1000000ULL

/**
 * struct hostile - a function that is hostile
 * @fn:		the function
 * @tick:	timer
 * @vq:		its queues; NULL while stopped
 * @call:	how the front-end interrupts on account of each
 * @elem:	what was taken from each last
 * @queues:	number of them
 * @pd:		PDs of the kernel
 * @pds:	number of them
 * @cq_made:	by CQN, there is one
 * @qp_made:	by QPN, there is one
 * @cq_owner:	by CQN, enum hostile_owner
 * @qp_owner:	by QPN
 * @asked:	the command that is carried out bit by bit
 * @asks:	its request, as far as it is looked at
 * @roce:	the command being answered is one of RoCE
 * @late:	answers that wait
 * @entry:	of all of them
 */
struct hostile {
	struct function *fn;
	struct loop_timer tick;
	struct virtq **vq;
	void (**call)(struct virtq *vq);
	struct virtq_elem **elem;
	unsigned int queues;
	uint32_t pd[HOSTILE_PDS];
	unsigned int pds;
	bool *cq_made;
	bool *qp_made;
	uint8_t *cq_owner;
	uint8_t *qp_owner;
	uint8_t asked;
	union hostile_request {
		struct virtio_rdma_cmd_get_dma_mr dma;
		struct virtio_rdma_cmd_destroy_pd pd;
		struct virtio_rdma_cmd_destroy_cq cq;
		struct virtio_rdma_cmd_create_qp qp;
		struct virtio_rdma_cmd_destroy_qp no_qp;
	} asks;
	bool roce;
	struct hostile_late {
		uint64_t due;
		uint16_t head;
		uint32_t len;
	} late[HOSTILE_LATE];
	TAILQ_ENTRY(hostile) entry;
};

/* ------------------------------------------------------------------------- */
/* hostile_orders.c                                                          */
/* ------------------------------------------------------------------------- */

/**
 * hostile_options() - take our options out of a command line
 * @argc:	number of arguments; made less
 * @argv:	arguments
 *
 * --seed N: where the dice begin.  --orders FILE: a file of two pages.  The first
 * has orders, "SERIAL NAME=RATE ... end": so often of a thousand times each kind
 * happens, the others never.  The second gets the serial of the last orders read
 * and a count of each kind, in the same form.
 *
 * Return: 0 or -1.
 */
int hostile_options(int *argc, char **argv);

/** hostile_orders() - read orders if there are new ones, write counts */
void hostile_orders(void);

/** hostile_roll() - does @kind happen now?  It is counted if so */
bool hostile_roll(enum hostile_kind kind);

/** hostile_random() - a number */
uint32_t hostile_random(void);

/** hostile_number() - one that is likely to be inconvenient in the place of @old */
uint32_t hostile_number(uint32_t old);

/** hostile_flip() - flip some bits of @len bytes at @p */
void hostile_flip(void *p, size_t len);

/* ------------------------------------------------------------------------- */
/* hostile_answer.c                                                          */
/* ------------------------------------------------------------------------- */

/** hostile_answer() - the device has answered a RoCE command; change that */
uint8_t hostile_answer(struct hostile *h, uint8_t ack, void *rsp, size_t rsp_size,
		       size_t *rsp_len);

/** hostile_ask() - a command came: keep what hostile_learn() looks at */
void hostile_ask(struct hostile *h, uint8_t command, const struct rnic_request *request);

/** hostile_learn() - who owns what: it was carried out */
void hostile_learn(struct hostile *h, const void *rsp);

/** hostile_forget() - the function was reset */
void hostile_forget(struct hostile *h);

/**
 * hostile_push_answer() - an answer goes to the control queue
 *
 * Return: false if it is not to go now.
 */
bool hostile_push_answer(struct hostile *h, struct virtq *vq, uint16_t *head,
			 uint32_t *len);

/** hostile_push_late() - answers that are due */
void hostile_push_late(struct hostile *h);

/* ------------------------------------------------------------------------- */
/* hostile_queue.c                                                           */
/* ------------------------------------------------------------------------- */

/** hostile_before_push() - a buffer of a RoCE queue is about to be used */
void hostile_before_push(struct hostile *h, struct virtq *vq, uint16_t *head,
			 uint32_t *len);

/** hostile_after_push() - it is */
void hostile_after_push(struct hostile *h, struct virtq *vq);

/** hostile_add() - a completion is about to be stored in a direct CQ */
void hostile_add(struct hostile *h, struct cq *cq, struct cq_user *user,
		 const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited);

/** hostile_add_from_nothing() - a direct CQ, once a tick */
void hostile_add_from_nothing(struct hostile *h, struct cq *cq);

/** hostile_event() - an event virtqueue, once a tick */
void hostile_event(struct hostile *h, struct virtq *vq);

/** hostile_out_of_nothing() - a RoCE queue, once a tick */
void hostile_out_of_nothing(struct hostile *h, struct virtq *vq);

/* ------------------------------------------------------------------------- */
/* hostile_wrap.c                                                            */
/* ------------------------------------------------------------------------- */

/** hostile_pop() - virtq_pop() as it is */
int hostile_pop(struct virtq *vq, struct virtq_elem *elem);

/** hostile_push() - virtq_push() as it is */
void hostile_push(struct virtq *vq, uint16_t head, uint32_t len);

/** hostile_cq_add() - cq_add() as it is */
void hostile_cq_add(struct cq *cq, struct cq_user *user,
		    const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited);

#endif /* DEVICE_TESTS_HOSTILE_H */
