/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Namespaces: storage of the host as blocks with numbers.
 */
#ifndef DEVICE_STORAGE_NS_H
#define DEVICE_STORAGE_NS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define NS_NAME_MAX	64
/* Bytes of the names of all guests that have one. */
#define NS_GUESTS_MAX	1024
#define NS_NULL_BLOCK	512

struct ns;
struct ns_io;

/**
 * enum ns_op - what is to be done
 * @NS_READ:	read into a buffer
 * @NS_WRITE:	write from a buffer
 * @NS_FLUSH:	make lasting what was written
 * @NS_ZERO:	write zeroes
 * @NS_DISCARD:	forget what is there, if the storage can
 * @NS_SIZE:	of storage.c: look how large it is, which @offset says then
 */
enum ns_op {
	NS_READ,
	NS_WRITE,
	NS_FLUSH,
	NS_ZERO,
	NS_DISCARD,
	NS_SIZE,
	NS_OPS,
};

/**
 * struct ns_io - something to do, the caller's until it is done
 * @op:		what
 * @lasting:	of a write: it is done when the data lasts
 * @keep:	of %NS_ZERO: do not give the space back
 * @buf:	of reads and writes: staging memory, a multiple of 4096
 * @offset:	of the namespace, in bytes; whole blocks within it
 * @len:	bytes; whole blocks
 * @done:	called once, with 0 or a negative error, also before ns_submit() returns.
 *		-EPIPE: the storage has gone, and the same may succeed later.  From then on @buf
 *		is the caller's again
 * @status:	status of NVMe, which a namespace that has one may set with an error; 0 before
 * @ns:		where, of ns_submit()
 * @tag:	of the namespace
 * @entry:	of the namespace
 */
struct ns_io {
	enum ns_op op;
	bool lasting;
	bool keep;
	void *buf;
	uint64_t offset;
	uint64_t len;
	void (*done)(struct ns_io *io, int err);
	uint16_t status;
	struct ns *ns;
	uint32_t tag;
	TAILQ_ENTRY(ns_io) entry;
};

/**
 * struct ns_counters - what a namespace was asked for, when that was done
 * @read:	reads
 * @written:	writes
 * @other:	all else
 * @read_bytes:	bytes of @read
 * @written_bytes: bytes of @written
 * @errors:	requests that failed, and count nowhere else
 */
struct ns_counters {
	uint64_t read;
	uint64_t written;
	uint64_t other;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t errors;
};

/**
 * struct ns - a namespace
 * @name:	its name
 * @size:	bytes, whole blocks
 * @block:	bytes of a block, a power of two from 512 to 4096
 * @ro:		it cannot be written to
 * @cache:	what was written lasts only after a flush
 * @submit:	begin with something that was checked
 * @arg:	for @submit
 * @file:	number of the file, of the storage process
 * @count:	what was counted
 * @guests:	guests that may use it by its name, each behind a comma; "*" is any
 */
struct ns {
	char name[NS_NAME_MAX];
	uint64_t size;
	uint32_t block;
	bool ro;
	bool cache;
	void (*submit)(void *arg, struct ns_io *io);
	void *arg;
	unsigned int file;
	struct ns_counters count;
	char guests[NS_GUESTS_MAX];
};

/**
 * ns_submit() - begin with something
 * @ns:	namespace
 * @io:	what; @op to @done filled in
 *
 * What is not possible ends at once: -EROFS, or -EINVAL for a place that is not within the
 * namespace.
 */
void ns_submit(struct ns *ns, struct ns_io *io);

/** ns_done() - for @submit: something is done, with 0 or a negative error */
void ns_done(struct ns_io *io, int err);

/** ns_null() - make @ns one of @size bytes that keeps nothing, and reads as zeroes */
void ns_null(struct ns *ns, const char *name, uint64_t size, bool ro);

#endif /* DEVICE_STORAGE_NS_H */
