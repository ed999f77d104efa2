/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connections: the wire between hosts and queues of the target.
 */
#ifndef NVMFT_LINK_H
#define NVMFT_LINK_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "nvmf/nvmf.h"

struct rnic;

/**
 * struct link_counters - what the program did for I/O queues
 * @io_wakeups:	completion events of I/O queues
 * @io_completions: their completions
 * @io_capsules: their commands that came to the program, Connect included
 * @offloaded:	queues that were handed to the device
 */
struct link_counters {
	uint64_t io_wakeups;
	uint64_t io_completions;
	uint64_t io_capsules;
	uint64_t offloaded;
};

/**
 * struct links - all connections
 * @loop:	event loop
 * @rnic:	what they share
 * @hand_over:	if not NULL: an I/O queue is connected and its answer not sent: let the device
 *		have it; 0 or -errno, which ends the connection.  The queue has @size entries
 *		and this @head, or no flow control if @size is 0
 * @channel:	events of the connection manager
 * @fd:		of these
 * @completions: descriptor of completion events
 * @async:	that of events of QPs and of the device
 * @list:	connections
 * @count:	what was done
 * @broken:	the device went away
 */
struct links {
	struct loop *loop;
	struct rnic *rnic;
	int (*hand_over)(struct ibv_qp *qp, uint16_t size, uint16_t head);
	struct rdma_event_channel *channel;
	struct loop_fd fd;
	struct loop_fd completions;
	struct loop_fd async;
	LIST_HEAD(, link) list;
	struct link_counters count;
	bool broken;
};

/** links_start() - look for events of the connection manager and completions; 0 or -errno */
int links_start(struct links *links);

/** links_stop() - end all connections, and look for nothing any more */
void links_stop(struct links *links);

#endif /* NVMFT_LINK_H */
