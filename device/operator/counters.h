/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The counters of ports, by name.
 */
#ifndef DEVICE_OPERATOR_COUNTERS_H
#define DEVICE_OPERATOR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "operator/commands.h"

/**
 * struct counter_set - counters that lie in one structure
 * @counter:	they, to the one without a name
 * @of:		where they are of a port, or NULL if it has none
 */
struct counter_set {
	const struct counter *counter;
	const void *(*of)(const struct operator_port *port);
};

/**
 * struct counter - a counter of a port
 * @name:	its name
 * @offset:	of it in the structure that has it
 * @gauge:	it may fall, too
 */
struct counter {
	const char *name;
	size_t offset;
	bool gauge;
};

/* All of them, in the order in which they are shown; the last one has no counters. */
extern const struct counter_set counter_sets[];

/** counter_value() - value of a counter in the structure at @values */
uint64_t counter_value(const struct counter *counter, const void *values);

/** counter_rdma_name() - name of a &enum virtio_rdma_counter */
const char *counter_rdma_name(unsigned int i);

#endif /* DEVICE_OPERATOR_COUNTERS_H */
