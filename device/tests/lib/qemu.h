/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * QEMU for tests of the vhost-user front-end, and a device behind the front-end
 * that remembers what it was told.
 */
#ifndef DEVICE_TESTS_QEMU_H
#define DEVICE_TESTS_QEMU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/guest.h"
#include "vhost_user/vhost_user_image.h"
#include "vhost_user/vhost_user_priv.h"

#define NUM		16
#define MEM_SIZE	(1 << 20)
/* QEMU's addresses are neither the guest's nor ours. */
#define USER_BASE	0x7f0000000000ULL

#define FEATURES	(BIT(32) | BIT(29) | BIT(28) | BIT(5))
#define PROTOCOL_FEATURES (BIT(0) | BIT(1) | BIT(3) | BIT(5) | BIT(9) | BIT(13) | BIT(15) | \
			   BIT(19))
#define QUEUES		131

/* Of the state of the device: byte n is 7 * n.  One that begins with 0 is loaded. */
#define DEVICE_STATE_SIZE	200000u

/**
 * struct device - a device
 * @vq:		queues started
 * @starts:	calls of queue_start
 * @stops:	calls of queue_stop
 * @kicks:	calls of kick, for each queue
 * @resets:	calls of reset
 * @at_reset:	called there, may be NULL
 * @mem_changes: calls of mem_changed
 * @mem:	memory map
 * @features:	negotiated
 * @loads:	states that were loaded
 * @written:	bytes of configuration written
 * @stays:	it cannot be moved
 */
struct device {
	struct virtq *vq[VHOST_USER_QUEUES_MAX];
	unsigned int starts;
	unsigned int stops;
	unsigned int kicks[VHOST_USER_QUEUES_MAX];
	unsigned int resets;
	void (*at_reset)(void);
	unsigned int mem_changes;
	const struct guest_mem *mem;
	uint64_t features;
	unsigned int loads;
	unsigned int written;
	bool stays;
};

/**
 * struct qemu - QEMU
 * @fd:		its end of the connection
 * @kick:	doorbell of the queue that qemu_queue() set up last
 * @call:	interrupt of it
 */
struct qemu {
	int fd;
	int kick;
	int call;
};

/**
 * struct wire_msg - a message as it is sent
 * @hdr:	header
 * @payload:	payload
 */
struct wire_msg {
	struct vu_header hdr;
	uint8_t payload[1000];
};

extern struct loop *loop;
extern struct device dev;
extern struct vhost_user *vu;
extern struct guest guest;
extern struct guest_vq gvq;
extern struct qemu qemu;

/** run() - let the front-end handle all that has arrived */
void run(void);

/** qemu_send_raw() - send @len bytes and @fds descriptors with the first of them */
void qemu_send_raw(const void *data, size_t len, const int *fd,
		   unsigned int fds);

/** qemu_send() - send a request */
void qemu_send(uint32_t request, uint32_t flags, const void *payload,
	       uint32_t len, const int *fd, unsigned int fds);

/**
 * qemu_reply() - take a reply
 * @request:	the request that it answers
 * @payload:	where its payload goes
 * @len:	room there
 *
 * Return: bytes of payload, or -1 if there is no reply.
 */
int qemu_reply(uint32_t request, void *payload, size_t len);

/**
 * qemu_ask() - send a request that wants an answer
 *
 * Return: the answer: 0 if it was carried out.
 */
uint64_t qemu_ask(uint32_t request, const void *payload, uint32_t len,
		  const int *fd, unsigned int fds);

/** qemu_ask_u64() - the same with a number as payload */
uint64_t qemu_ask_u64(uint32_t request, uint64_t value);

/** qemu_ask_state() - the same with a vring state as payload */
uint64_t qemu_ask_state(uint32_t request, uint32_t index, uint32_t num);

/** qemu_ask_fd() - the same with a number and, unless it is -1, a descriptor */
uint64_t qemu_ask_fd(uint32_t request, uint64_t value, int fd);

/** qemu_get_u64() - send a request without payload and return its reply */
uint64_t qemu_get_u64(uint32_t request);

/** qemu_get_base() - stop a queue; returns its base, or -1 if that failed */
int qemu_get_base(uint32_t index);

/** qemu_memory() - the memory table that qemu_set_memory() sends */
struct vu_memory qemu_memory(void);

/** qemu_ask_memory() - send a memory table */
uint64_t qemu_ask_memory(const struct vu_memory *memory, const int *fd,
			 unsigned int fds);

/** qemu_set_memory() - share the guest's memory */
void qemu_set_memory(void);

/** qemu_addr() - the addresses of the only queue, as queue @index */
struct vu_vring_addr qemu_addr(uint32_t index);

/** qemu_ask_addr() - send addresses */
uint64_t qemu_ask_addr(const struct vu_vring_addr *addr);

/** qemu_handshake() - what QEMU does when it has connected */
void qemu_handshake(void);

/** qemu_set_features() - acknowledge all features */
void qemu_set_features(void);

/** qemu_queue() - set a queue up, all but enabling it */
void qemu_queue(uint32_t index, uint16_t base);

/** qemu_enable() - enable or disable a queue */
void qemu_enable(uint32_t index, bool on);

/** qemu_start() - do all of the above, up to a running queue */
void qemu_start(uint32_t index);

/** qemu_connect() - connect */
void qemu_connect(void);

/** qemu_disconnect() - disconnect */
void qemu_disconnect(void);

/** qemu_setup() - for cmocka: a front-end, a device, QEMU connected */
int qemu_setup(void **state);

/** qemu_teardown() - for cmocka: the end of it; no descriptor may be left */
int qemu_teardown(void **state);

/**
 * qemu_save() - save the front-end
 * @st:		set to its state
 * @fds:	set to copies of its descriptors, as another process gets them
 */
void qemu_save(struct state *st, struct state_fds *fds);

/**
 * qemu_load() - end the front-end, and load a state into another one in its place
 * @out:	state
 * @fds:	its descriptors; those that are left are closed
 *
 * Return: why that failed, or an empty text.
 */
const char *qemu_load(const struct state *out, struct state_fds *fds);

/** qemu_new_front_end() - a front-end in the place of one that was freed */
void qemu_new_front_end(void);

/** event_count() - what an eventfd holds */
uint64_t event_count(int fd);

/** assert_still_serving() - the front-end still works */
void assert_still_serving(void);

#endif /* DEVICE_TESTS_QEMU_H */
