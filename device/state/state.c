// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A saved state: a header, and sections of fields.
 *
 * All that is read may be hostile.  A field is read only within its section, and a section
 * only within the state.  A name that goes into a message is made of letters that harm no
 * log.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state/state.h"
#include "state/state_pipe.h"

/* The size that a buffer begins with. */
#define STATE_ROOM	4096u

/* A time that is none. */
#define STATE_NEVER	INT64_MIN

void state_refuse(struct state *st, const char *field, const char *fmt, ...)
{
	int n = 0;
	va_list ap;

	if (st->failed)
		return;
	st->failed = true;
	st->end = st->at;
	if (st->section[0])
		n = snprintf(st->why, sizeof(st->why), "section %s, %s: ", st->section,
			     field);
	if (n < 0 || (size_t)n >= sizeof(st->why))
		return;
	va_start(ap, fmt);
	vsnprintf(st->why + n, sizeof(st->why) - n, fmt, ap);
	va_end(ap);
}

/* ------------------------------------------------------------------------- */
/* Fields                                                                    */
/* ------------------------------------------------------------------------- */

static bool state_grow(struct state *st, size_t n)
{
	size_t size = st->size ? st->size : STATE_ROOM;
	uint8_t *data;

	if (st->pipe && !state_pipe_flush(st))
		return false;
	while (size - st->at < n)
		size *= 2;
	if (size == st->size)
		return true;
	data = realloc(st->data, size);
	if (!data) {
		state_refuse(st, "its room", "out of memory");
		return false;
	}
	st->data = data;
	st->size = size;
	st->end = size;
	return true;
}

bool state_room(struct state *st, const char *field, size_t n)
{
	if (st->failed)
		return false;
	if (!st->loading)
		return st->size - st->at >= n || state_grow(st, n);
	while (st->open && st->end - st->at < n)
		if (!state_pipe_more(st))
			return false;
	if (st->end - st->at >= n)
		return true;
	state_refuse(st, field, "the section ends before it");
	return false;
}

void state_bytes_slowly(struct state *st, const char *field, void *p, size_t n)
{
	if (!state_room(st, field, n)) {
		if (st->loading)
			memset(p, 0, n);
		return;
	}
	if (st->loading)
		memcpy(p, st->data + st->at, n);
	else
		memcpy(st->data + st->at, p, n);
	st->at += n;
}

uint64_t state_number(struct state *st, const char *field, uint64_t value, size_t n)
{
	uint64_t le = htole64(value);

	state_bytes(st, field, &le, n);
	return st->loading ? le64toh(le) & (UINT64_MAX >> (64 - 8 * n)) : value;
}

uint64_t state_too_large(struct state *st, const char *field, uint64_t value, uint64_t max)
{
	state_refuse(st, field, "%llu is more than %llu", (unsigned long long)value,
		     (unsigned long long)max);
	return 0;
}

uint32_t state_too_many(struct state *st, const char *field, uint32_t n)
{
	if (st->open)
		return n;
	state_refuse(st, field, "%u, of which the section holds fewer", n);
	return 0;
}

void state_text(struct state *st, const char *field, char *text, size_t size)
{
	uint32_t i, n = st->loading ? 0 : strlen(text);

	state_count(st, field, &n, size - 1, 1);
	state_bytes(st, field, text, n);
	if (!st->loading)
		return;
	text[n] = '\0';
	for (i = 0; i < n; i++)
		if ((uint8_t)text[i] < ' ' || text[i] == 0x7f)
			break;
	if (!state_need(st, i == n, field, "a character that is none of a name"))
		text[0] = '\0';
}

void state_same(struct state *st, const char *field, uint32_t value)
{
	uint32_t other = value;

	state_u32(st, field, &other, UINT32_MAX);
	if (!st->failed && other != value)
		state_refuse(st, field, "%u, but %u here", other, value);
}

void state_time(struct state *st, const char *field, uint64_t *at, uint64_t now)
{
	int64_t diff = *at ? (int64_t)(*at - now) : STATE_NEVER;
	uint64_t le;

	/* A time so long ago has no effect any more, whenever it was. */
	if (diff != STATE_NEVER && diff < -(int64_t)STATE_TIME_MAX)
		diff = -(int64_t)STATE_TIME_MAX;
	le = diff;
	state_u64(st, field, &le, UINT64_MAX);
	if (!st->loading)
		return;
	diff = le;
	*at = 0;
	if (st->failed || diff == STATE_NEVER)
		return;
	if (diff > (int64_t)STATE_TIME_MAX || diff < -(int64_t)STATE_TIME_MAX)
		state_refuse(st, field, "a time too far from the present");
	else if (diff < 0 && (uint64_t)-diff >= now)
		*at = 1;
	else
		*at = now + diff;
}

/* ------------------------------------------------------------------------- */
/* Sections                                                                  */
/* ------------------------------------------------------------------------- */

static void state_put_section(struct state *st, const struct state_section *row, void *arg)
{
	struct state_section_header header = {
		.version = htole16(row->version),
		.flags = htole16(row->flags & STATE_SKIPPABLE),
	};

	/* Before it has a name: what may be sent here is not of this section. */
	if (!state_room(st, "header", sizeof(header)))
		return;
	st->begin = st->at;
	memcpy(header.kind, row->kind, strlen(row->kind));
	snprintf(st->section, sizeof(st->section), "%s", row->kind);
	st->version = row->version;
	state_bytes(st, "header", &header, sizeof(header));
	row->io(st, arg);
	if (st->failed)
		return;
	st->section[0] = '\0';
	if (st->open) {
		state_pipe_close(st);
		return;
	}
	header.length = htole64(st->at - st->begin - sizeof(header));
	memcpy(st->data + st->begin, &header, sizeof(header));
	if (row->flags & STATE_OPTIONAL && !header.length)
		st->at = st->begin;
}

static bool state_kind_ok(const char *kind)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	char text[STATE_KIND_SIZE + 1] = {};
	size_t n;

	memcpy(text, kind, STATE_KIND_SIZE);
	n = strspn(text, letters);
	for (; n && n < STATE_KIND_SIZE; n++)
		if (text[n])
			return false;
	return n;
}

/* The header of the next section; false if there is none, or a wrong one. */
static bool state_next(struct state *st, struct state_section_header *header)
{
	state_pipe_await(st, sizeof(*header));
	if (st->failed || st->at == st->size)
		return false;
	st->section[0] = '\0';
	if (st->size - st->at < sizeof(*header)) {
		state_refuse(st, "", "it ends in the header of a section");
		return false;
	}
	memcpy(header, st->data + st->at, sizeof(*header));
	if (!state_kind_ok(header->kind)) {
		state_refuse(st, "", "a section without a name, at byte %zu", st->at);
		return false;
	}
	memcpy(st->section, header->kind, STATE_KIND_SIZE);
	header->version = le16toh(header->version);
	header->flags = le16toh(header->flags);
	header->length = le64toh(header->length);
	if (header->flags & ~STATE_SKIPPABLE || header->reserved || !header->version)
		state_refuse(st, "header", "unknown flags, or no version");
	else if (header->length > st->size - st->at - sizeof(*header) &&
		 !(st->pipe && header->length == STATE_OPEN))
		state_refuse(st, "header", "it is longer than the state");
	return !st->failed;
}

static void state_enter(struct state *st, const struct state_section_header *header)
{
	st->at += sizeof(*header);
	st->open = st->pipe && header->length == STATE_OPEN;
	st->end = st->open ? st->size : st->at + header->length;
	st->version = header->version;
}

static void state_skip(struct state *st)
{
	do
		st->at = st->end;
	while (st->open && state_pipe_more(st));
	st->at = st->end;
}

/* All fields of a section were read: is it at its end? */
static void state_leave(struct state *st)
{
	if (st->open && st->at == st->end && !state_pipe_more(st))
		return;
	if (st->open || st->at != st->end)
		state_refuse(st, "its end", "%zu bytes too many", st->end - st->at);
	else
		st->section[0] = '\0';
}

/* Go to the section of a kind, beyond those that may be skipped; false if it is not there. */
static bool state_find(struct state *st, const struct state_section *row)
{
	struct state_section_header header;

	while (state_next(st, &header)) {
		if (!strcmp(st->section, row->kind) && header.version <= row->version) {
			state_enter(st, &header);
			return true;
		}
		if (!(header.flags & STATE_SKIPPABLE))
			break;
		state_enter(st, &header);
		state_skip(st);
	}
	if (st->failed || row->flags & STATE_SKIPPABLE)
		return false;
	if (row->flags & STATE_OPTIONAL && (st->at == st->size || strcmp(st->section, row->kind)))
		return false;
	if (st->at == st->size) {
		st->section[0] = '\0';
		state_refuse(st, "", "section %s is missing", row->kind);
	} else if (!strcmp(st->section, row->kind)) {
		state_refuse(st, "header", "its version is %u, and %u is known here",
			     header.version, row->version);
	} else {
		state_refuse(st, "header",
			     "unknown here, or in a wrong place, and required; %s is next",
			     row->kind);
	}
	return false;
}

static void state_get_section(struct state *st, const struct state_section *row, void *arg)
{
	if (!state_find(st, row))
		return;
	row->io(st, arg);
	if (!st->failed)
		state_leave(st);
}

bool state_sections(struct state *st, const struct state_section *table, unsigned int n,
		    void *arg)
{
	unsigned int i;

	for (i = 0; i < n && !st->failed; i++)
		if (st->loading)
			state_get_section(st, &table[i], arg);
		else
			state_put_section(st, &table[i], arg);
	return !st->failed;
}

uint16_t state_required(const struct state *st, size_t *at, char kind[STATE_KIND_SIZE + 1])
{
	struct state_section_header header;

	if (!*at)
		*at = sizeof(struct state_header);
	while (*at < st->at) {
		memcpy(&header, st->data + *at, sizeof(header));
		*at += sizeof(header) + le64toh(header.length);
		if (le16toh(header.flags) & STATE_SKIPPABLE)
			continue;
		memcpy(kind, header.kind, STATE_KIND_SIZE);
		kind[STATE_KIND_SIZE] = '\0';
		return le16toh(header.version);
	}
	return 0;
}

uint16_t state_known(const struct state_section *table, unsigned int n, const char *kind)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(table[i].kind, kind))
			return table[i].version;
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Whole states                                                              */
/* ------------------------------------------------------------------------- */

void state_write(struct state *st)
{
	struct state_header header = {
		.version = htole32(STATE_VERSION),
		.oldest = htole32(STATE_OLDEST),
	};

	*st = (struct state) {};
	memcpy(header.magic, STATE_MAGIC, STATE_MAGIC_SIZE);
	state_bytes(st, "header", &header, sizeof(header));
}

bool state_written(struct state *st)
{
	const uint64_t length = htole64(st->at - sizeof(struct state_header));

	if (st->failed)
		return false;
	if (st->pipe)
		return state_pipe_end(st);
	memcpy(st->data + offsetof(struct state_header, length), &length, sizeof(length));
	return true;
}

void state_free(struct state *st)
{
	free(st->data);
	*st = (struct state) {};
}

int state_put(const struct state *st, int fd)
{
	size_t done = 0;
	ssize_t n;

	for (; done < st->at; done += n) {
		n = write(fd, st->data + done, st->at - done);
		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

int state_memfd(const struct state *st)
{
	int fd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	err = state_put(st, fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

size_t state_extent(const void *data, size_t size)
{
	struct state_header header;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	if (le64toh(header.length) > size - sizeof(header))
		return 0;
	return sizeof(header) + le64toh(header.length);
}

bool state_read(struct state *st, const void *data, size_t size)
{
	struct state_header header;

	*st = (struct state) {
		.loading = true,
		.data = (uint8_t *)data,
		.size = size,
		.at = sizeof(header),
		.end = sizeof(header),
	};
	if (size < sizeof(header)) {
		state_refuse(st, "", "no state: it is too short");
		return false;
	}
	memcpy(&header, data, sizeof(header));
	if (memcmp(header.magic, STATE_MAGIC, STATE_MAGIC_SIZE))
		state_refuse(st, "", "no state: it begins otherwise");
	else if (le32toh(header.oldest) > STATE_VERSION)
		state_refuse(st, "", "version %u, for readers from %u on: this is version %u",
			     le32toh(header.version), le32toh(header.oldest),
			     STATE_VERSION);
	else if (!header.oldest || le32toh(header.version) < le32toh(header.oldest))
		state_refuse(st, "", "its versions contradict each other");
	else if (le64toh(header.length) != size - sizeof(header))
		state_refuse(st, "", "its length is another one than its header says");
	return !st->failed;
}

bool state_read_end(struct state *st)
{
	struct state_section_header header;

	while (state_next(st, &header)) {
		if (!(header.flags & STATE_SKIPPABLE)) {
			state_refuse(st, "header", "unknown here, and required");
			break;
		}
		state_enter(st, &header);
		state_skip(st);
	}
	return !st->failed;
}
