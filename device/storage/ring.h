/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that the daemon and the storage process share: two rings.
 *
 * Each ring has one producer and one consumer, and as many entries as there are tags, so that
 * none is ever full.  The side that is about to sleep says so and looks once more; the other
 * one publishes first, looks then whether it sleeps, and wakes it.
 */
#ifndef DEVICE_STORAGE_RING_H
#define DEVICE_STORAGE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/ns.h"

/* Requests under way; a power of two. */
#define STORAGE_TAGS		1024u
#define STORAGE_FILES_MAX	32

/**
 * struct storage_request - something to do
 * @op:		enum ns_op
 * @lasting:	as struct ns_io has it
 * @keep:	likewise
 * @file:	of which file
 * @tag:	for the reply
 * @offset:	in the file
 * @len:	bytes
 * @buf:	offset in staging memory
 */
struct storage_request {
	uint8_t op;
	bool lasting;
	bool keep;
	uint32_t file;
	uint32_t tag;
	uint64_t offset;
	uint64_t len;
	uint64_t buf;
};

/**
 * struct storage_reply - it is done
 * @tag:	of the request
 * @err:	0 or a negative error
 * @size:	of %NS_SIZE: bytes
 */
struct storage_reply {
	uint32_t tag;
	int32_t err;
	uint64_t size;
};

/**
 * struct storage_shared - all that is shared
 * @epoch:	the process that serves, counted from 1
 * @ack:	the daemon has given up all that it gave to those before this one
 * @stop:	the daemon ends
 * @daemon_sleeps: it has to be woken for replies
 * @worker_sleeps: the process has to be woken for requests
 * @requests:	requests that were made, by the daemon
 * @taken:	those that were taken
 * @replies:	replies that were made, by the process
 * @request:	ring of them
 * @reply:	ring of them
 */
struct storage_shared {
	uint32_t epoch;
	uint32_t ack;
	uint32_t stop;
	uint32_t daemon_sleeps __attribute__((aligned(64)));
	uint32_t worker_sleeps __attribute__((aligned(64)));
	uint32_t requests __attribute__((aligned(64)));
	uint32_t taken __attribute__((aligned(64)));
	uint32_t replies __attribute__((aligned(64)));
	struct storage_request request[STORAGE_TAGS];
	struct storage_reply reply[STORAGE_TAGS];
};

/** storage_get() - read a word that the other side writes, before all that follows */
static inline uint32_t storage_get(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/** storage_set() - write a word that the other side reads, after all that came before */
static inline void storage_set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

#endif /* DEVICE_STORAGE_RING_H */
