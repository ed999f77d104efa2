/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that was handed over: its state, its descriptors, and a process that takes them.
 *
 * It has a guest that is connected, with queues and half of a message, one that is not, one
 * that an operator added and whose addresses are pinned; an uplink that listens and has a peer,
 * which has sent half of a frame, and one that connects; a control socket and a capture.
 */
#ifndef DEVICE_TESTS_HANDED_H
#define DEVICE_TESTS_HANDED_H

#include "handover.h"

#define HANDED_FDS	64

/**
 * struct handed - a process
 * @options:	its command line
 * @ports:	all ports of the one that takes over
 * @all:	what that one has
 * @memory:	file of the memory of the guest that is connected
 * @data:	the state that was saved
 * @size:	bytes of it
 * @process:	of which those of the process itself; those of its guests' functions follow
 * @piped:	the same, but what follows are parts of a pipe
 * @piped_size:	bytes of it
 * @fd:		a copy of each descriptor, or -1 of a connection, which is new each time
 * @fds:	number of these
 * @peer:	the other ends of such connections
 * @peers:	number of these
 * @dir:	directory of the sockets, in which this process is
 */
struct handed {
	struct options options;
	struct ports ports;
	struct handover all;
	int memory;
	uint8_t *data;
	size_t size;
	size_t process;
	uint8_t *piped;
	size_t piped_size;
	int fd[HANDED_FDS];
	unsigned int fds;
	int peer[HANDED_FDS];
	unsigned int peers;
	char dir[32];
};

extern struct handed handed;

/** handed_begin() - make such a process, save it, and end it */
void handed_begin(void);

/** handed_end() - free all of it */
void handed_end(void);

/**
 * handed_load() - take over, with a state that may be any
 * @data:	state
 * @size:	bytes of it
 * @lenient:	as of &struct handover
 *
 * Return: 0 or -errno; handed_stop() is to follow in any case.
 */
int handed_load(const uint8_t *data, size_t size, bool lenient);

/** handed_load_piped() - the same with @data as &handed.piped has it */
int handed_load_piped(const uint8_t *data, size_t size);

/** handed_go_on() - serve for a moment */
void handed_go_on(void);

/** handed_save() - save it again; returns the state, of which the caller frees the memory */
uint8_t *handed_save(size_t *size);

/** handed_stop() - end the process that has taken over, or tried to */
void handed_stop(void);

#endif /* DEVICE_TESTS_HANDED_H */
