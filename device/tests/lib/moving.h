/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two daemons, which an uplink joins, and the memory of a guest that moves between them.
 *
 * Each has two guests: the first place is for the one that moves, whose address is the same in
 * both, the second one for a peer.
 */
#ifndef DEVICE_TESTS_MOVING_H
#define DEVICE_TESTS_MOVING_H

#include <sys/types.h>

#include "tests/lib/front.h"

/**
 * struct moving - the two daemons
 * @dir:	directory of their sockets
 * @socket_of:	a socket by daemon and guest
 * @control:	control socket of each
 * @daemons:	processes
 * @here:	the daemon that the guest is in
 */
struct moving {
	char dir[32];
	char socket_of[2][2][64];
	char control[2][64];
	pid_t daemons[2];
	unsigned int here;
};

/** moving_start() - start both, the second one with that MTU if it is not NULL, and wait */
void moving_start(struct moving *m, const char *mtu);

/** moving_stop() - end both, which must have nothing to complain about */
void moving_stop(struct moving *m);

/** moving_ask() - the answer of daemon @i to a command of its control socket */
void moving_ask(const struct moving *m, unsigned int i, const char *command, char *text,
		size_t room);

/** moving_ns() - time now */
uint64_t moving_ns(void);

/**
 * struct moving_copy - the memory of the guest at the target
 * @fd:		its file
 * @host:	the same, mapped
 * @log:	file of the log
 * @bits:	the same, mapped
 * @log_size:	bytes of it
 * @pages:	copied because of the log
 */
struct moving_copy {
	int fd;
	uint8_t *host;
	int log;
	uint8_t *bits;
	size_t log_size;
	unsigned long pages;
};

/** moving_copy_begin() - copy the memory, and have the daemon log what it writes */
void moving_copy_begin(struct moving_copy *copy, struct front *front);

/** moving_copy_sync() - copy what the log names */
void moving_copy_sync(struct moving_copy *copy, const struct front *front);

/** moving_copy_check() - the copy must be what the memory is */
void moving_copy_check(const struct moving_copy *copy, const struct front *front);

/** moving_copy_use() - from now on the copy is the guest's memory */
void moving_copy_use(struct moving_copy *copy, struct front *front);

/** moving_copy_end() - the copy was used, or is not needed */
void moving_copy_end(struct moving_copy *copy, const struct front *front);

#endif /* DEVICE_TESTS_MOVING_H */
