// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The descriptors of a saved state.
 */
#include <stdlib.h>
#include <unistd.h>

#include "state/state_fds.h"

/* Room that a list begins with. */
#define FDS_ROOM	64u

bool state_fds_add(struct state_fds *fds, int fd)
{
	const uint32_t room = fds->room ? 2 * fds->room : FDS_ROOM;
	int *list;

	if (fds->n == STATE_FDS_MAX)
		return false;
	if (fds->n == fds->room) {
		list = reallocarray(fds->fd, room, sizeof(*list));
		if (!list)
			return false;
		fds->fd = list;
		fds->room = room;
	}
	fds->fd[fds->n++] = fd;
	return true;
}

void state_fds_free(struct state_fds *fds)
{
	free(fds->fd);
	*fds = (struct state_fds) {};
}

void state_fds_close(struct state_fds *fds)
{
	uint32_t i;

	for (i = 0; i < fds->n; i++)
		if (fds->fd[i] >= 0)
			close(fds->fd[i]);
	state_fds_free(fds);
}

static void state_fd_save(struct state *st, const char *field, int fd)
{
	uint32_t place = STATE_NO_FD;

	if (fd >= 0 && !st->failed) {
		place = st->fds->n;
		if (!state_fds_add(st->fds, fd))
			state_refuse(st, field, "no room for its descriptor");
	}
	state_u32(st, field, &place, UINT32_MAX);
}

void state_fd(struct state *st, const char *field, int *fd)
{
	uint32_t place = STATE_NO_FD;

	if (!st->loading) {
		state_fd_save(st, field, *fd);
		return;
	}
	*fd = -1;
	state_u32(st, field, &place, UINT32_MAX);
	if (st->failed || place == STATE_NO_FD)
		return;
	if (!st->fds || place >= st->fds->n) {
		state_refuse(st, field, "descriptor %u did not come with the state", place);
		return;
	}
	*fd = st->fds->fd[place];
	st->fds->fd[place] = -1;
	state_need(st, *fd >= 0, field, "another one has its descriptor");
}

bool state_fd_need(struct state *st, const char *field, int *fd)
{
	state_fd(st, field, fd);
	return state_need(st, *fd >= 0, field, "its descriptor is missing") && *fd >= 0;
}
