/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The descriptors of a saved state.
 *
 * They go to another process beside the state, in a list.  The state has their places in
 * it, and each place is taken once.
 */
#ifndef DEVICE_STATE_STATE_FDS_H
#define DEVICE_STATE_STATE_FDS_H

#include "state/state.h"

/** STATE_FDS_MAX - as many as 64 guests with 1024 virtqueues of three can have, and more */
#define STATE_FDS_MAX	(1u << 18)

/** STATE_NO_FD - place of a descriptor that is not there */
#define STATE_NO_FD	UINT32_MAX

/**
 * struct state_fds - descriptors
 * @fd:		when writing, they stay those of the objects.  When reading, they are the
 *		list's until an object takes one, which leaves -1
 * @n:		number of them
 * @room:	there is room for so many
 *
 * All zeroes at first.
 */
struct state_fds {
	int *fd;
	uint32_t n;
	uint32_t room;
};

/** state_fds_add() - append a descriptor; false if there is no room */
bool state_fds_add(struct state_fds *fds, int fd);

/** state_fds_close() - close those that nobody has taken, and free the list */
void state_fds_close(struct state_fds *fds);

/** state_fds_free() - free the list, whose descriptors others have */
void state_fds_free(struct state_fds *fds);

/**
 * state_fd() - a field of four bytes: the place of a descriptor
 * @st:		state with @fds
 * @field:	name
 * @fd:		descriptor, or -1.  When reading it is the caller's from now on
 */
void state_fd(struct state *st, const char *field, int *fd);

/** state_fd_need() - the same of a descriptor that must be there; false if it is not */
bool state_fd_need(struct state *st, const char *field, int *fd);

#endif /* DEVICE_STATE_STATE_FDS_H */
