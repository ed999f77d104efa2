/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ports of the daemon's switch, saved and loaded.
 */
#ifndef DEVICE_PORTS_IMAGE_H
#define DEVICE_PORTS_IMAGE_H

#include "ports.h"
#include "state/state_fds.h"
#include "state/state_pipe.h"

/**
 * ports_uplinks_io() - save or load the uplinks
 * @st:		state with descriptors
 * @ports:	all; when loading, after ports_init()
 *
 * A port of the state's command line that is not in the options, or has other addresses
 * there, refuses the state.  So it does in ports_guests_io().
 */
void ports_uplinks_io(struct state *st, struct ports *ports);

/** ports_guests_io() - save or load the guests, but for the state of their functions */
void ports_guests_io(struct state *st, struct ports *ports);

/** ports_save_functions() - append the state of each guest's function to a file; 0 or -errno */
int ports_save_functions(struct ports *ports, int fd);

/** ports_send_functions() - the same into a pipe */
int ports_send_functions(struct ports *ports, const struct state_pipe *pipe);

/**
 * ports_load_functions() - read the state of each guest's function
 * @ports:	all, of which the connections were loaded
 * @data:	the states
 * @size:	bytes of all
 * @lenient:	a guest whose state cannot be loaded loses its connection, and the others go on
 *
 * Return: 0, or -EINVAL after an error was printed.
 */
int ports_load_functions(struct ports *ports, const uint8_t *data, size_t size, bool lenient);

/**
 * ports_start_rest() - start those of the options that were not in the state
 *
 * Return: 0, or -errno after an error was printed.
 */
int ports_start_rest(struct ports *ports);

/**
 * ports_receive_functions() - the same from a pipe
 * @ports:	all, of which the connections were loaded
 * @pipe:	of ports_send_functions()
 *
 * Return: 0, or -EINVAL after an error was printed.
 */
int ports_receive_functions(struct ports *ports, const struct state_pipe *pipe);

#endif /* DEVICE_PORTS_IMAGE_H */
