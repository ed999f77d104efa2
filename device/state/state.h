/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A saved state: a header, and sections of fields.
 *
 * The same function describes a section in both directions: it names each field, and the
 * field is written, or read and checked.  So what is read is what was written.  Nothing
 * here knows any object.  Documentation/state.rst has the format.
 */
#ifndef DEVICE_STATE_STATE_H
#define DEVICE_STATE_STATE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STATE_MAGIC		"VNRSTATE"
#define STATE_MAGIC_SIZE	8u

/** STATE_VERSION - of what is written */
#define STATE_VERSION		1u

/** STATE_OLDEST - version of the oldest reader that understands what is written */
#define STATE_OLDEST		1u

#define STATE_KIND_SIZE		16u

/** STATE_SKIPPABLE - flag of a section: a reader that does not know it leaves it out */
#define STATE_SKIPPABLE		1u

/**
 * STATE_OPTIONAL - of a row: a section that has no fields is not written
 *
 * It may be missing when a state is read.  The flag itself is not written.
 */
#define STATE_OPTIONAL		0x8000u

/* Not longer ago, or farther off, than this is any time in a state: 4.9 hours. */
#define STATE_TIME_MAX		(1ull << 44)

/**
 * struct state_header - what a state begins with
 * @magic:	%STATE_MAGIC
 * @version:	of the writer
 * @oldest:	version of the oldest reader that understands it
 * @length:	bytes of all sections
 */
struct state_header {
	char magic[STATE_MAGIC_SIZE];
	uint32_t version;
	uint32_t oldest;
	uint64_t length;
};

/**
 * struct state_section_header - what a section begins with
 * @kind:	its name: small letters, digits, hyphens, and zeroes behind them
 * @version:	of its fields
 * @flags:	%STATE_SKIPPABLE
 * @reserved:	zero
 * @length:	bytes of its fields
 */
struct state_section_header {
	char kind[STATE_KIND_SIZE];
	uint16_t version;
	uint16_t flags;
	uint32_t reserved;
	uint64_t length;
};

/** STATE_OPEN - a length that is not known yet: of what is read while it is written */
#define STATE_OPEN		UINT64_MAX

_Static_assert(sizeof(struct state_header) == 24, "a header has another size");
_Static_assert(sizeof(struct state_section_header) == 32,
	       "the header of a section has another size");

struct state_fds;
struct state_pipe;

/**
 * struct state - a state that is being written or read
 * @loading:	it is read
 * @handed_over: reading: it comes from a process in whose place this one is; set by the
 *		caller.  Then the order counts in which guests claimed addresses
 * @lenient:	reading: a guest that cannot be had any more, as its memory is gone, does not
 *		refuse the state; set by the caller
 * @fds:	descriptors that belong to it, or NULL; set by the caller
 * @failed:	@why says why nothing more is written or read; fields that are read are zero
 * @pipe:	it is read while it is written (state_pipe.h), or NULL
 * @open:	pipe: the section has begun to be sent, or its end has not come yet
 * @ended:	pipe, reading: all of it has come
 * @data:	its bytes; pipe: those that were not sent, or not read yet
 * @room:	pipe, reading: how many there is room for
 * @size:	how many there are, or there is room for
 * @begin:	writing: where the section begins, unless it is @open
 * @at:		where the next field is
 * @end:	end of the bytes that may be read or written: those of the section, or of the room;
 *		@at once it has failed, so that there are none
 * @version:	of the section; when writing, that of the writer
 * @section:	its kind, or an empty text
 * @why:	section, field and reason
 */
struct state {
	bool loading;
	bool handed_over;
	bool lenient;
	struct state_fds *fds;
	bool failed;
	const struct state_pipe *pipe;
	bool open;
	bool ended;
	uint8_t *data;
	size_t room;
	size_t size;
	size_t begin;
	size_t at;
	size_t end;
	uint16_t version;
	char section[STATE_KIND_SIZE + 1];
	char why[160];
};

/**
 * struct state_section - how a section is written and read
 * @kind:	its name
 * @version:	of its fields, as they are written; all earlier ones are read
 * @flags:	%STATE_SKIPPABLE, %STATE_OPTIONAL
 * @io:		names each field, by the functions below
 */
struct state_section {
	const char *kind;
	uint16_t version;
	uint16_t flags;
	void (*io)(struct state *st, void *arg);
};

/* ------------------------------------------------------------------------- */
/* Whole states                                                              */
/* ------------------------------------------------------------------------- */

/** state_write() - begin to write; state_free() is needed in any case */
void state_write(struct state *st);

/** state_written() - all sections are written; false, with @why, if that failed */
bool state_written(struct state *st);

/** state_free() - free what was written */
void state_free(struct state *st);

/** state_put() - append what was written to a file; 0 or -errno */
int state_put(const struct state *st, int fd);

/**
 * state_extent() - bytes of the state at the beginning of @size bytes at @data
 *
 * Return: 0 if there is none.
 */
size_t state_extent(const void *data, size_t size);

/** state_memfd() - a new memfd with what was written; returns it, or -errno */
int state_memfd(const struct state *st);

/** state_read() - begin to read @size bytes at @data, which stay the caller's; false: @why */
bool state_read(struct state *st, const void *data, size_t size);

/** state_read_end() - all sections that are known were read; false if others are left */
bool state_read_end(struct state *st);

/**
 * state_sections() - write or read sections
 * @st:		state
 * @table:	them, in the order in which they stand
 * @n:		number of them
 * @arg:	for their @io
 *
 * Return: false if that failed, and @why says why.
 */
bool state_sections(struct state *st, const struct state_section *table, unsigned int n,
		    void *arg);

/**
 * state_required() - the next section that a reader must know
 * @st:		state that was written
 * @at:		where to look; 0 at first, and set for the next call
 * @kind:	set to its name
 *
 * Return: its version, or 0 if there is no other one.
 */
uint16_t state_required(const struct state *st, size_t *at, char kind[STATE_KIND_SIZE + 1]);

/** state_known() - the version of a section that a table has, or 0 if it has none */
uint16_t state_known(const struct state_section *table, unsigned int n, const char *kind);

/* ------------------------------------------------------------------------- */
/* Fields                                                                    */
/* ------------------------------------------------------------------------- */

/** state_refuse() - what is read cannot be; the first call counts */
void state_refuse(struct state *st, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** state_need() - refuse what is read, with a reason, unless @ok; returns @ok */
static inline bool state_need(struct state *st, bool ok, const char *field,
			      const char *why)
{
	if (!ok && st->loading)
		state_refuse(st, field, "%s", why);
	return ok || !st->loading;
}

/** state_room() - make room for @n bytes, or find that they are there; for state_bytes() */
bool state_room(struct state *st, const char *field, size_t n);

/*
 * Most fields are numbers, and a QP has two hundred of them: guests stand still while they are
 * handed over.  So what is done for each is here, and takes a dozen instructions; what is
 * rare is in state.c.
 */

/** state_bytes_slowly() - state_bytes() where state_place() has none */
void state_bytes_slowly(struct state *st, const char *field, void *p, size_t n);

/** state_number() - a number of @n bytes as a field where state_place() has none; returns it */
uint64_t state_number(struct state *st, const char *field, uint64_t value, size_t n);

/** state_too_large() - refuse a number that was read; returns 0 */
uint64_t state_too_large(struct state *st, const char *field, uint64_t value, uint64_t max);

/** state_too_many() - refuse a number of entries, unless more bytes can come; returns it or 0 */
uint32_t state_too_many(struct state *st, const char *field, uint32_t n);

/* The place of a field of @n bytes; NULL if its room has to be made, or is not to be had. */
static inline uint8_t *state_place(struct state *st, size_t n)
{
	const size_t at = st->at;

	if (__builtin_expect(st->end - at < n, 0))
		return NULL;
	st->at = at + n;
	return st->data + at;
}

/** state_bytes() - a field of @n bytes, of which the order does not change */
static inline void state_bytes(struct state *st, const char *field, void *p, size_t n)
{
	uint8_t *place = state_place(st, n);

	if (!place)
		state_bytes_slowly(st, field, p, n);
	else if (st->loading)
		memcpy(p, place, n);
	else
		memcpy(place, p, n);
}

static inline uint64_t state_bounded(struct state *st, const char *field, uint64_t value,
				     uint64_t max)
{
	return __builtin_expect(value <= max, 1) || !st->loading ? value :
	       state_too_large(st, field, value, max);
}

/*
 * A number of @n bytes, as many as the compiler knows, @max at most.  There are hundreds of
 * fields, which makes a compiler that sees the whole program take a call for each, and a takeover
 * twice as long.  So this and what follows up to state_u64() are always inlined.
 */
static __always_inline uint64_t state_uint(struct state *st, const char *field, uint64_t value,
					   uint64_t max, size_t n)
{
	uint8_t *place = state_place(st, n);
	uint64_t le = htole64(value);

	if (!place)
		return state_bounded(st, field, state_number(st, field, value, n), max);
	if (!st->loading) {
		memcpy(place, &le, n);
		return value;
	}
	le = 0;
	memcpy(&le, place, n);
	return state_bounded(st, field, le64toh(le), max);
}

/** state_u8() - a field of one byte, @max at most */
static __always_inline void state_u8(struct state *st, const char *field, uint8_t *value,
				     uint8_t max)
{
	*value = state_uint(st, field, *value, max, sizeof(*value));
}

/** state_bool() - a field of one byte, 0 or 1 */
static __always_inline void state_bool(struct state *st, const char *field, bool *value)
{
	*value = state_uint(st, field, *value, 1, 1);
}

/** state_u16() - a field of two bytes, @max at most */
static __always_inline void state_u16(struct state *st, const char *field, uint16_t *value,
				      uint16_t max)
{
	*value = state_uint(st, field, *value, max, sizeof(*value));
}

/** state_u32() - a field of four bytes, @max at most */
static __always_inline void state_u32(struct state *st, const char *field, uint32_t *value,
				      uint32_t max)
{
	*value = state_uint(st, field, *value, max, sizeof(*value));
}

/** state_u64() - a field of eight bytes, @max at most */
static __always_inline void state_u64(struct state *st, const char *field, uint64_t *value,
				      uint64_t max)
{
	*value = state_uint(st, field, *value, max, sizeof(*value));
}

/**
 * state_text() - a field of characters, without the zero that ends them in memory
 * @st:		state
 * @field:	name
 * @text:	characters; when reading, those of a log or a path without a control character
 * @size:	room there, with the zero
 */
void state_text(struct state *st, const char *field, char *text, size_t size);

/** state_same() - a field of four bytes, which must be as it is here */
void state_same(struct state *st, const char *field, uint32_t value);

/**
 * state_count() - a field of four bytes: how many entries follow
 * @st:		state
 * @field:	name
 * @n:		number
 * @max:	how many there may be
 * @size:	bytes of the smallest entry, not 0
 *
 * Of more than there are bytes for none is read.  In a pipe only @max bounds them.
 */
static inline void state_count(struct state *st, const char *field, uint32_t *n, uint32_t max,
			       size_t size)
{
	state_u32(st, field, n, max);
	if (st->loading && __builtin_expect(*n > (st->end - st->at) / size, 0))
		*n = state_too_many(st, field, *n);
}

/**
 * state_time() - a field of eight bytes: a time
 * @st:		state
 * @field:	name
 * @at:		time, 0 for none
 * @now:	present time
 *
 * It is kept as the difference to the present.
 */
void state_time(struct state *st, const char *field, uint64_t *at, uint64_t now);

#endif /* DEVICE_STATE_STATE_H */
