/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A state that another process reads while this one writes it.
 *
 * Neither of them keeps more of it than a part, and both work at once, so guests stand still
 * for a shorter time.  Documentation/state.rst has the format.
 */
#ifndef DEVICE_STATE_STATE_PIPE_H
#define DEVICE_STATE_STATE_PIPE_H

#include "state/state.h"

/** STATE_PIPE_MAX - bytes of the largest part that is read */
#define STATE_PIPE_MAX		(64u << 20)

/**
 * enum state_part - what a part is
 * @STATE_BYTES:	bytes of the state
 * @STATE_SECTION:	no bytes: the open section has ended
 * @STATE_ALL:		no bytes: the state has ended
 */
enum state_part {
	STATE_BYTES = 1,
	STATE_SECTION,
	STATE_ALL,
};

/**
 * struct state_part_head - what a part begins with
 * @part:	enum state_part, little endian
 * @length:	its bytes, which follow, little endian
 */
struct state_part_head {
	uint32_t part;
	uint32_t length;
};

_Static_assert(sizeof(struct state_part_head) == 8, "the head of a part has another size");

/**
 * struct state_pipe - the way to the other process
 * @put:	writing: send @n bytes; 0 or -errno
 * @get:	reading: receive @n bytes, not fewer; 0 or -errno
 * @arg:	for them
 * @part:	writing: bytes of a part, if no field is larger
 *
 * How long they wait, and for how many bytes in all, is theirs to bound.
 */
struct state_pipe {
	int (*put)(void *arg, const void *data, size_t n);
	int (*get)(void *arg, void *data, size_t n);
	void *arg;
	size_t part;
};

/**
 * state_pipe_write() - send what is written
 * @st:		from state_write(), to which nothing was written yet
 * @pipe:	where to, until state_free()
 *
 * state_written() sends the last of it.
 */
void state_pipe_write(struct state *st, const struct state_pipe *pipe);

/**
 * state_pipe_read() - begin to read what comes
 * @st:		set; state_free() is needed in any case
 * @pipe:	where from, until state_free()
 *
 * Return: as of state_read(), once the beginning has come.
 */
bool state_pipe_read(struct state *st, const struct state_pipe *pipe);

/* ------------------------------------------------------------------------- */
/* For state.c                                                               */
/* ------------------------------------------------------------------------- */

/* Each of these returns false, with @why, if it failed. */

/** state_pipe_flush() - writing: send what there is; a section that has begun is open then */
bool state_pipe_flush(struct state *st);

/** state_pipe_close() - writing: the open section has ended */
bool state_pipe_close(struct state *st);

/** state_pipe_end() - writing: all sections are written */
bool state_pipe_end(struct state *st);

/** state_pipe_more() - reading: wait for a part, which comes behind what was not read yet */
bool state_pipe_more(struct state *st);

/** state_pipe_await() - reading between sections: wait for @n bytes or for the end, if in a pipe */
void state_pipe_await(struct state *st, size_t n);

#endif /* DEVICE_STATE_STATE_PIPE_H */
