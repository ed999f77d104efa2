/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * vhost-user messages: their format, and how they come over a socket.
 *
 * Numbers are in the byte order of the machine.
 */
#ifndef DEVICE_VHOST_USER_MSG_H
#define DEVICE_VHOST_USER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/util.h"

#define VU_F_LOG_ALL			BIT(26)
#define VU_F_PROTOCOL_FEATURES		BIT(30)

#define VU_PROTOCOL_F_MQ		BIT(0)
#define VU_PROTOCOL_F_LOG_SHMFD		BIT(1)
#define VU_PROTOCOL_F_REPLY_ACK		BIT(3)
#define VU_PROTOCOL_F_BACKEND_REQ	BIT(5)
#define VU_PROTOCOL_F_CONFIG		BIT(9)
#define VU_PROTOCOL_F_RESET_DEVICE	BIT(13)
#define VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS BIT(15)
#define VU_PROTOCOL_F_DEVICE_STATE	BIT(19)

enum vu_request_type {
	VU_GET_FEATURES			= 1,
	VU_SET_FEATURES			= 2,
	VU_SET_OWNER			= 3,
	VU_RESET_OWNER			= 4,
	VU_SET_MEM_TABLE		= 5,
	VU_SET_LOG_BASE			= 6,
	VU_SET_VRING_NUM		= 8,
	VU_SET_VRING_ADDR		= 9,
	VU_SET_VRING_BASE		= 10,
	VU_GET_VRING_BASE		= 11,
	VU_SET_VRING_KICK		= 12,
	VU_SET_VRING_CALL		= 13,
	VU_SET_VRING_ERR		= 14,
	VU_GET_PROTOCOL_FEATURES	= 15,
	VU_SET_PROTOCOL_FEATURES	= 16,
	VU_GET_QUEUE_NUM		= 17,
	VU_SET_VRING_ENABLE		= 18,
	VU_SET_BACKEND_REQ_FD		= 21,
	VU_GET_CONFIG			= 24,
	VU_SET_CONFIG			= 25,
	VU_RESET_DEVICE			= 34,
	VU_GET_MAX_MEM_SLOTS		= 36,
	VU_ADD_MEM_REG			= 37,
	VU_REM_MEM_REG			= 38,
	VU_SET_DEVICE_STATE_FD		= 42,
	VU_CHECK_DEVICE_STATE		= 43,
};

/* Requests that we send to QEMU, on the channel of SET_BACKEND_REQ_FD. */
#define VU_BACKEND_CONFIG_CHANGE	2

#define VU_FLAGS_VERSION_MASK		0x3
#define VU_FLAGS_VERSION		0x1
#define VU_FLAGS_REPLY			BIT(2)
#define VU_FLAGS_NEED_REPLY		BIT(3)

#define VU_VRING_INDEX_MASK		0xff
#define VU_VRING_NOFD			BIT(8)

/* Of SET_VRING_ADDR: writes to the used ring are to be logged. */
#define VU_VRING_LOG			BIT(0)

/* Of SET_DEVICE_STATE_FD: directions, and the only phase. */
#define VU_STATE_SAVE			0
#define VU_STATE_LOAD			1
#define VU_STATE_STOPPED		0

/* Of SET_MEM_TABLE; ADD_MEM_REG has one. */
#define VU_REGIONS_MAX			8
#define VU_FDS_MAX			8
#define VU_CONFIG_MAX			256

struct vu_header {
	uint32_t request;
	uint32_t flags;
	uint32_t size;
};

struct vu_vring_state {
	uint32_t index;
	uint32_t num;
};

struct vu_vring_addr {
	uint32_t index;
	uint32_t flags;
	uint64_t desc;
	uint64_t used;
	uint64_t avail;
	uint64_t log;
};

struct vu_memory_region {
	uint64_t guest_addr;
	uint64_t size;
	uint64_t user_addr;
	uint64_t offset;
};

struct vu_memory {
	uint32_t n;
	uint32_t padding;
	struct vu_memory_region region[VU_REGIONS_MAX];
};

struct vu_mem_reg {
	uint64_t padding;
	struct vu_memory_region region;
};

struct vu_log_base {
	uint64_t size;
	uint64_t offset;
};

struct vu_device_state {
	uint32_t direction;
	uint32_t phase;
};

struct vu_config {
	uint32_t offset;
	uint32_t size;
	uint32_t flags;
	uint8_t data[VU_CONFIG_MAX];
};

/* No message that we know is longer than this. */
#define VU_PAYLOAD_MAX			4096

/** vu_header_is_good() - can it be that of a message? */
bool vu_header_is_good(const struct vu_header *hdr);

/**
 * struct vu_msg - a message being received or handled
 * @got:	bytes of header and payload received
 * @hdr:	header
 * @u:		payload: request, then reply
 * @reply_len:	bytes of the reply
 * @fd_n:	descriptors that came along
 * @fd_lost:	there were more of them than any known message has
 * @fd:		the descriptors; -1 if taken out
 */
struct vu_msg {
	size_t got;
	struct vu_header hdr;
	union {
		uint64_t u64;
		struct vu_vring_state state;
		struct vu_vring_addr addr;
		struct vu_memory memory;
		struct vu_mem_reg mem_reg;
		struct vu_config config;
		struct vu_log_base log_base;
		struct vu_device_state device_state;
		uint8_t bytes[VU_PAYLOAD_MAX];
	} u;
	uint32_t reply_len;
	unsigned int fd_n;
	bool fd_lost;
	int fd[VU_FDS_MAX];
};

/* A message of the box was carried out: it is not there any more, and the answer may be due. */
#define VU_BOX_DONE		BIT(0)

/* The change of a queue is to be copied to where it belongs. */
#define VU_BOX_CHANGE		BIT(1)

/**
 * struct vu_box - a message on its way in, and the answer to it on its way out
 * @msg:	what was received, until it was carried out
 * @stage:	VU_BOX_…: how far it is
 * @tries:	processes that have begun with it after another one was killed
 * @at:		bytes of @msg when @in was used
 * @fd_at:	descriptors of it then
 * @in:		the call that receives; msg_len is 0 until something came
 * @control:	descriptors that came
 * @out:	the call that answers; msg_len is 0 until the answer is out
 * @hdr:	header of the answer; its size is that of @reply
 * @has_reply:	there is an answer
 * @reply:	payload of it
 *
 * It may be in memory that outlives the process.  Whatever the instruction was at which that was
 * killed, it tells what was received and what was answered: the kernel writes both with the
 * call that does it, because a signal ends no call that does not wait.
 */
struct vu_box {
	struct vu_msg msg;
	uint32_t stage;
	uint32_t tries;
	size_t at;
	unsigned int fd_at;
	struct mmsghdr in;
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(VU_FDS_MAX * sizeof(int))];
	} control;
	struct mmsghdr out;
	struct vu_header hdr;
	uint32_t has_reply;
	uint8_t reply[sizeof(struct vu_config)];
};

/** vu_box_init() - nothing came, nothing is to be answered */
void vu_box_init(struct vu_box *box);

/** vu_box_stage() - all stores before this one are seen by the next process if this one is */
static inline void vu_box_stage(struct vu_box *box, uint32_t stage)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	box->stage = stage;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/** vu_box_settle() - after a process that was killed: finish the step that it was at */
void vu_box_settle(struct vu_box *box);

/** vu_box_answer() - write the answer, which @msg has, or NULL if there is none */
void vu_box_answer(struct vu_box *box, const struct vu_msg *msg);

/** vu_box_forget() - the message is done; its descriptors are the caller's */
void vu_box_forget(struct vu_box *box);

/**
 * vu_box_send() - send the answer, if there is one that is not out, and be ready for a message
 * @fd:		socket
 * @box:	box, at VU_BOX_DONE
 *
 * Return: 0 or -errno.  It does not wait for the other side.
 */
int vu_box_send(int fd, struct vu_box *box);

/**
 * vu_receive() - receive what is there of a message, and nothing behind it
 * @fd:		socket
 * @box:	box, of zeroes or as an earlier call left it
 *
 * Return: 1 if the message is complete, 0 if more must come, -ECONNRESET if the
 *	   other side closed the connection, -EPROTO if what comes is not a message,
 *	   -EMFILE if there is no room in this process for its descriptors, or
 *	   another -errno.
 */
int vu_receive(int fd, struct vu_box *box);

/** vu_msg_copy() - copy a message that is complete */
void vu_msg_copy(struct vu_msg *to, const struct vu_msg *from);

/** vu_msg_done() - close what descriptors are left, get ready for the next */
void vu_msg_done(struct vu_msg *msg);

/** vu_msg_reply_u64() - make @value the reply to a message */
void vu_msg_reply_u64(struct vu_msg *msg, uint64_t value);

/** vu_msg_fd() - take descriptor @i out of a message */
int vu_msg_fd(struct vu_msg *msg, unsigned int i);

/**
 * vu_send() - send a message without descriptors
 * @fd:		socket
 * @hdr:	header
 * @payload:	as many bytes as it says
 *
 * Return: 0 or -errno.  It does not wait for the other side.
 */
int vu_send(int fd, const struct vu_header *hdr, const void *payload);

#endif /* DEVICE_VHOST_USER_MSG_H */
