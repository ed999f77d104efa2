// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A state that another process reads while this one writes it.
 *
 * The writer sends what it has whenever its buffer is full, between any two fields.  The length
 * of the section is not known then: its header says %STATE_OPEN, and a part without bytes says
 * where the section ends.  So all bytes that come to a reader in an open section are of it, and
 * the reader waits for more only if a field is not there as a whole.
 *
 * A section that is not open was in one part with its header.
 */
#include <stdlib.h>
#include <string.h>

#include "state/state_pipe.h"

/* The room that a reader begins with. */
#define PIPE_ROOM	(64u << 10)

/* ------------------------------------------------------------------------- */
/* Writing                                                                   */
/* ------------------------------------------------------------------------- */

static bool pipe_put(struct state *st, enum state_part part, const void *data, size_t n)
{
	const struct state_part_head head = { .part = htole32(part), .length = htole32(n) };
	int err = st->pipe->put(st->pipe->arg, &head, sizeof(head));

	if (!err && n)
		err = st->pipe->put(st->pipe->arg, data, n);
	if (err)
		state_refuse(st, "pipe", "not sent: %s", strerror(-err));
	return !err;
}

/* Sends what was written, if there is any. */
static bool pipe_put_all(struct state *st)
{
	if (st->at && !pipe_put(st, STATE_BYTES, st->data, st->at))
		return false;
	st->at = 0;
	return true;
}

void state_pipe_write(struct state *st, const struct state_pipe *pipe)
{
	const size_t size = pipe->part < st->at ? st->at : pipe->part;
	const uint64_t length = htole64(STATE_OPEN);
	uint8_t *data;

	if (st->failed)
		return;
	data = realloc(st->data, size);
	if (!data) {
		state_refuse(st, "its room", "out of memory");
		return;
	}
	memcpy(data + offsetof(struct state_header, length), &length, sizeof(length));
	st->data = data;
	st->size = size;
	st->end = size;
	st->pipe = pipe;
}

bool state_pipe_flush(struct state *st)
{
	const uint64_t length = htole64(STATE_OPEN);

	if (st->section[0] && !st->open) {
		memcpy(st->data + st->begin + offsetof(struct state_section_header, length),
		       &length, sizeof(length));
		st->open = true;
	}
	return pipe_put_all(st);
}

bool state_pipe_close(struct state *st)
{
	st->open = false;
	return pipe_put_all(st) && pipe_put(st, STATE_SECTION, NULL, 0);
}

bool state_pipe_end(struct state *st)
{
	return pipe_put_all(st) && pipe_put(st, STATE_ALL, NULL, 0);
}

/* ------------------------------------------------------------------------- */
/* Reading                                                                   */
/* ------------------------------------------------------------------------- */

static bool pipe_get(struct state *st, void *data, size_t n)
{
	const int err = st->pipe->get(st->pipe->arg, data, n);

	if (err)
		state_refuse(st, "pipe", "not received: %s", strerror(-err));
	return !err;
}

static bool pipe_room(struct state *st, size_t n)
{
	size_t room = st->room ? st->room : PIPE_ROOM;
	uint8_t *data;

	while (room < n)
		room *= 2;
	if (room == st->room)
		return true;
	data = realloc(st->data, room);
	if (!data) {
		state_refuse(st, "pipe", "out of memory");
		return false;
	}
	st->data = data;
	st->room = room;
	return true;
}

static bool pipe_get_bytes(struct state *st, uint32_t n)
{
	if (!n || n > STATE_PIPE_MAX) {
		state_refuse(st, "pipe", "a part of %u bytes", n);
		return false;
	}
	if (!pipe_room(st, st->size + n) || !pipe_get(st, st->data + st->size, n))
		return false;
	st->size += n;
	return true;
}

/* Only the part that ends something is received here, which has no bytes. */
static bool pipe_get_end(struct state *st, enum state_part part)
{
	switch (part) {
	case STATE_SECTION:
		if (!st->open)
			break;
		st->open = false;
		return true;
	case STATE_ALL:
		if (st->open || st->size)
			break;
		st->ended = true;
		return true;
	default:
		break;
	}
	state_refuse(st, "pipe", "a part of a wrong kind, or in a wrong place");
	return false;
}

/* Bytes that were read are forgotten. */
static void pipe_forget(struct state *st)
{
	st->size -= st->at;
	if (st->size)
		memmove(st->data, st->data + st->at, st->size);
	st->at = 0;
}

bool state_pipe_more(struct state *st)
{
	struct state_part_head head;
	bool ok;

	if (st->failed)
		return false;
	pipe_forget(st);
	st->end = st->size;
	if (!pipe_get(st, &head, sizeof(head)))
		return false;
	head.part = le32toh(head.part);
	head.length = le32toh(head.length);
	ok = head.part == STATE_BYTES ? pipe_get_bytes(st, head.length) :
	     pipe_get_end(st, head.length ? 0 : head.part);
	if (ok)
		st->end = st->size;
	return ok;
}

void state_pipe_await(struct state *st, size_t n)
{
	while (st->pipe && !st->ended && st->size - st->at < n)
		if (!state_pipe_more(st))
			return;
}

bool state_pipe_read(struct state *st, const struct state_pipe *pipe)
{
	struct state_header header;
	struct state first = { .loading = true, .pipe = pipe };
	bool ok;

	state_pipe_await(&first, sizeof(header));
	*st = first;
	if (first.failed || first.size < sizeof(header)) {
		state_refuse(st, "", "no state: it is too short");
		return false;
	}
	memcpy(&header, first.data, sizeof(header));
	if (header.length != htole64(STATE_OPEN)) {
		state_refuse(st, "", "its length is said before it was written");
		return false;
	}
	/* state_read() looks at the bytes that are here: the rest has no length yet. */
	header.length = htole64(first.size - sizeof(header));
	memcpy(first.data, &header, sizeof(header));
	ok = state_read(st, first.data, first.size);
	st->pipe = pipe;
	st->room = first.room;
	return ok;
}
