/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A guest that reads a namespace through a target at a node, by direct rings.
 */
#ifndef DEVICE_TESTS_READER_H
#define DEVICE_TESTS_READER_H

#include "nvmf/nvmf.h"
#include "tests/lib/engine_ring.h"
#include "tests/lib/node_bed.h"

#define READER_DEPTH	64u
#define READER_BYTES	4096u

struct node_target;

/**
 * struct reader - all
 * @bed:	guests, and no node
 * @nvmf:	all targets
 * @target:	with the namespace
 * @block:	bytes of its blocks
 * @admin:	connection of the administration queue
 * @io:		of the I/O queue
 * @answered:	answers taken of it
 */
struct reader {
	struct node_bed *bed;
	struct nvmf *nvmf;
	struct node_target *target;
	uint32_t block;
	struct er_end admin;
	struct er_end io;
	uint32_t answered;
};

/**
 * reader_open() - connect guest 1 to a target that has a namespace
 * @reader:	filled in
 * @state:	of bed_setup()
 * @ns:		namespace
 * @pool:	staging buffers
 * @staging:	memory of them
 */
void reader_open(struct reader *reader, void **state, struct ns *ns, struct nvmf_pool *pool,
		 void *staging);

/** reader_close() - end it; bed_teardown() follows */
void reader_close(struct reader *reader);

/** reader_read() - post a Read of 4 KiB at @offset as command @slot, which is free */
void reader_read(struct reader *reader, uint16_t slot, uint64_t offset);

/** reader_poll() - NIC and node work once */
void reader_poll(struct reader *reader);

/** reader_take() - take an answer, which is good; false if there is none, else its command */
bool reader_take(struct reader *reader, uint16_t *slot);

#endif /* DEVICE_TESTS_READER_H */
