/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages between two processes, of which one takes the place of the other.
 */
#ifndef DEVICE_HANDOVER_WIRE_H
#define DEVICE_HANDOVER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "state/state_fds.h"

/** HAND_BATCH - descriptors of a message at most; the kernel takes 253 */
#define HAND_BATCH	200u

/**
 * struct hand - a conversation
 * @sock:	connection
 * @begin:	when it began, monotonic time of this host in ns
 * @end:	when it has to be over, or 0 for never
 * @err:	why bytes of a pipe were not sent, or 0
 */
struct hand {
	int sock;
	uint64_t begin;
	uint64_t end;
	int err;
};

/** hand_new() - a conversation that begins now, and may take @ns */
struct hand hand_new(int sock, uint64_t ns);

/* Each of these returns 0, or -errno: -ETIMEDOUT when the conversation has to be over. */

/** hand_wait() - wait for POLLIN or POLLOUT; the wait may end early */
int hand_wait(const struct hand *hand, short events);

/** hand_send() - send @len bytes, one at least, and @fds descriptors, HAND_BATCH at most */
int hand_send(const struct hand *hand, const void *data, size_t len, const int *fd, uint32_t fds);

/** hand_receive() - receive @len bytes; descriptors that come are added to @fds, unless NULL */
int hand_receive(const struct hand *hand, void *data, size_t len, struct state_fds *fds);

#endif /* DEVICE_HANDOVER_WIRE_H */
