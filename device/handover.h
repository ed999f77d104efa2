/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Handing over: another process, maybe of another version, goes on with all that this one
 * serves.
 */
#ifndef DEVICE_HANDOVER_H
#define DEVICE_HANDOVER_H

#include "ports.h"
#include "state/state_fds.h"

/**
 * struct handover - all that is handed over
 * @ports:	guests and uplinks; when loading, after ports_init()
 * @control:	name of the control socket, or NULL
 * @control_fd:	that socket, or -1; set when loading
 * @pcap_fd:	capture file of the switch, or -1; set when loading
 * @lenient:	when loading: a guest that cannot be had any more does not refuse all
 */
struct handover {
	struct ports *ports;
	const char *control;
	int control_fd;
	int pcap_fd;
	bool lenient;
};

/**
 * handover_save() - write the state of the process
 * @hand:	all
 * @fds:	empty; set to its descriptors, which stay those of the objects
 * @functions:	with the states of the functions
 *
 * Return: a file with the state, or -errno after an error was printed.
 */
int handover_save(struct handover *hand, struct state_fds *fds, bool functions);

/**
 * handover_load() - go on with the state of another process
 * @hand:	all
 * @file:	its state
 * @fds:	its descriptors, of which objects take what is theirs
 * @pipe:	where the states of the functions come from, or NULL if they are in the file
 *
 * No guest notices yet: see handover_go_on().
 *
 * Return: 0, or -errno after an error was printed.  Then the process is to end, and to leave
 *	   all as it is: another one goes on with it.
 */
int handover_load(struct handover *hand, int file, struct state_fds *fds,
		  const struct state_pipe *pipe);

/** handover_go_on() - this process serves now: look at all that the other may have missed */
void handover_go_on(struct handover *hand);

/**
 * handover_give() - give all to the process that has asked for it
 * @hand:	all, of which nothing is under way
 * @sock:	its connection, closed
 * @piped:	it has asked for the states of the functions in a pipe
 *
 * Return: true if it serves now: this process has only to end, and must not touch anything.
 *	   False if all is as before, after a warning was printed.
 */
bool handover_give(struct handover *hand, int sock, bool piped);

/**
 * handover_store() - put all into the queue of a socket, for a process that comes later
 * @hand:	all, of which nothing is under way
 * @sock:	one of a pair of sockets
 *
 * Return: 0, or -errno after an error was printed.
 */
int handover_store(struct handover *hand, int sock);

/**
 * handover_restore() - go on with what is in the queue of a socket
 * @hand:	all
 * @sock:	socket, closed
 *
 * Return: 0, -ENODATA if there is nothing, or as of handover_load().
 */
int handover_restore(struct handover *hand, int sock);

/** handover_ask() - ask the daemon at a control socket for all; a socket, or -errno: printed */
int handover_ask(const char *control);

/**
 * handover_take() - take all from the daemon that was asked
 * @hand:	all
 * @sock:	from handover_ask(), closed if it fails
 *
 * Return: as of handover_load().
 */
int handover_take(struct handover *hand, int sock);

/**
 * handover_serve() - say that this process can serve
 * @sock:	from handover_ask(), closed
 *
 * Return: 0 if all is this process's now, or -errno after an error was printed: the other
 *	   one goes on.
 */
int handover_serve(int sock);

#endif /* DEVICE_HANDOVER_H */
