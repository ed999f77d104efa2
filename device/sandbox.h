/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The sandbox of the daemon: what is left to it once it has opened what it needs.
 */
#ifndef DEVICE_SANDBOX_H
#define DEVICE_SANDBOX_H

#include <stdbool.h>

#define SANDBOX_SOCKETS_MAX	96

/**
 * struct sandbox_needs - what the daemon goes on using
 * @socket:	paths of its unix sockets, and of those that it connects to
 * @sockets:	number of them
 * @connects:	it connects to unix sockets later, too
 * @handed:	it is handed descriptors that others made, and looks what they are
 * @network:	others look for its interfaces in its network namespace
 */
struct sandbox_needs {
	const char *socket[SANDBOX_SOCKETS_MAX];
	unsigned int sockets;
	bool connects;
	bool handed;
	bool network;
};

/**
 * sandbox_enter() - give up all that is not needed any more, for good
 * @needs:	what is needed
 *
 * Says what the sandbox consists of.  Namespaces are entered as far as the
 * process may; it does not go on without the rest.
 *
 * Return: 0, or -errno after an error was printed.
 */
int sandbox_enter(const struct sandbox_needs *needs);

/**
 * sandbox_storage() - the same for the storage process
 * @worker:	for itself: io_uring that exists, and eventfds; else for the process that starts it
 *
 * Return: 0, or -errno after an error was printed.
 */
int sandbox_storage(bool worker);

#endif /* DEVICE_SANDBOX_H */
