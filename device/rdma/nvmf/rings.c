// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Controllers whose queues are in the guest's memory.
 *
 * Theory of operation
 *
 * Each namespace that is mapped to such a controller is a struct ns like those of the host.
 * A request gets a command identifier and, if it has data, a piece of the staging memory of the
 * SRQ, or waits for them. Data is copied between that and the daemon's staging buffer, so that
 * the controller is never given memory of anybody but the guest.
 *
 * All addresses are looked up when they are used, by key. If that fails, or the controller
 * says what it cannot, it has failed for good: its requests end, those that come end at once, and
 * its pieces of staging memory are not used again as long as it exists.
 *
 * Completions are looked for in each round, and by a timer that slows down while there are none.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "nvmf/nvme.h"
#include "rdma/nvmf/rings.h"
#include "rdma/object/sg.h"
#include "virtio/write.h"

#define RINGS_NS_MAX	1024u
#define RINGS_TICK_MIN	(50ull * 1000)
#define RINGS_TICK_MAX	(5ull * 1000 * 1000)
/* Bytes that are copied for a guest in a round, of which each completion has a page at least. */
#define RINGS_ROUND	(1ll << 20)
#define RINGS_FUA	(1u << 30)
#define NS_PER_MS	(1000ull * 1000)
#define SLOT_NONE	UINT16_MAX

/**
 * struct rings_cqe - a completion of NVMe
 * @result:	of the command
 * @sqhd:	head of the submission queue
 * @sqid:	which one
 * @cid:	command identifier
 * @status:	phase and status
 */
struct rings_cqe {
	__le64 result;
	__le16 sqhd;
	__le16 sqid;
	__le16 cid;
	__le16 status;
};

/**
 * struct rings_sqe - a command of NVMe with addresses of pages
 * @opcode:	operation
 * @flags:	0
 * @cid:	command identifier
 * @nsid:	namespace
 * @reserved:	0
 * @prp:	data
 * @cdw:	operands
 */
struct rings_sqe {
	uint8_t opcode;
	uint8_t flags;
	__le16 cid;
	__le32 nsid;
	__le64 reserved[2];
	__le64 prp[2];
	__le32 cdw[6];
};

_Static_assert(sizeof(struct rings_cqe) == 16, "a completion has another size");
_Static_assert(sizeof(struct rings_sqe) == 64, "a command has another size");

/**
 * struct rings_cmd - a command under way
 * @io:		request, or NULL
 * @slot:	piece of staging memory, or %SLOT_NONE
 * @due:	when it takes too long
 * @entry:	of those under way, the oldest one first
 */
struct rings_cmd {
	struct ns_io *io;
	uint16_t slot;
	uint64_t due;
	TAILQ_ENTRY(rings_cmd) entry;
};

/**
 * struct rings_ns - a namespace
 * @entry:	of the subsystem
 * @ns:		as commands see it
 * @rings:	its controller, or NULL if that is gone
 * @nsid:	its number there
 */
struct rings_ns {
	LIST_ENTRY(rings_ns) entry;
	struct ns ns;
	struct rings *rings;
	uint32_t nsid;
};

/**
 * struct rings - a controller
 * @backend:	it
 * @sub:	subsystem
 * @depth:	entries of its queues
 * @tail:	index of the next submission
 * @head:	index of the next completion
 * @phase:	that this will have
 * @failed:	it has failed
 * @moved:	it had commands under way when it was saved
 * @place:	memory of each region that was used last
 * @tick:	timer
 * @pause:	how long until it looks again
 * @event:	events NVME_PCI_ERR and NVME_TIMEOUT
 * @under_way:	commands
 * @free:	those that are free
 * @waiting:	requests that wait
 * @cmd:	commands by identifier
 */
struct rings {
	struct backend *backend;
	struct subsys *sub;
	uint16_t depth;
	uint16_t tail;
	uint16_t head;
	bool phase;
	bool failed;
	bool moved;
	struct mr_place place[4];
	struct loop_timer tick;
	uint64_t pause;
	struct event_mark event[2];
	TAILQ_HEAD(, rings_cmd) under_way;
	TAILQ_HEAD(, rings_cmd) free;
	TAILQ_HEAD(, ns_io) waiting;
	struct rings_cmd cmd[];
};

/* ------------------------------------------------------------------------- */
/* Memory                                                                    */
/* ------------------------------------------------------------------------- */

static void *rings_at(struct rings *rings, unsigned int i, uint64_t off, uint64_t len)
{
	const struct virtio_rdma_region *region = &rings->backend->req.queues.sq + i;

	return mr_at(rings->sub->table->qps->mrs, &rings->place[i], rings->sub->srq->pd, 0,
		     le32toh(region->lkey), le64toh(region->addr) + off, len,
		     VIRTIO_IB_ACCESS_LOCAL_WRITE);
}

static uint32_t slot_size(const struct subsys *sub)
{
	return le32toh(sub->req.max_io_size) + RNIC_PAGE_SIZE;
}

static struct sge slot_sge(const struct subsys *sub, uint16_t slot, uint32_t off, uint32_t len)
{
	return (struct sge) {
		.addr = le64toh(sub->req.staging.addr) + (uint64_t)slot * slot_size(sub) + off,
		.length = len,
		.key = le32toh(sub->req.staging.lkey),
	};
}

/* Copies to or from a piece of staging memory; false if that is not there. */
static bool slot_copy(const struct subsys *sub, uint16_t slot, uint32_t off, void *buf,
		      uint32_t len, bool in)
{
	const struct sge sge = slot_sge(sub, slot, off, len);
	struct sg guest, flat;

	if (!sg_init(&guest, sub->table->qps->mrs, sub->srq->pd, VIRTIO_IB_ACCESS_LOCAL_WRITE,
		     &sge, 1, 0, len))
		return false;
	sg_init_flat(&flat, buf);
	if (in)
		sg_copy(&guest, &flat, len);
	else
		sg_copy(&flat, &guest, len);
	return true;
}

/* The device address of memory of the guest; 0 if it has none. */
static uint64_t mem_addr(const struct guest_mem *mem, const uint8_t *host)
{
	unsigned int i;

	for (i = 0; i < mem->n; i++)
		if (host >= (uint8_t *)mem->region[i].host &&
		    host < (uint8_t *)mem->region[i].host + mem->region[i].size)
			return mem->region[i].addr +
			       (host - (uint8_t *)mem->region[i].host);
	return 0;
}

/* A page of a piece as the controller has it; 0 if there is none. */
static uint64_t slot_page(const struct rings *rings, uint16_t slot, uint32_t off)
{
	const struct subsys *sub = rings->sub;
	const struct sge sge = slot_sge(sub, slot, off, RNIC_PAGE_SIZE);
	struct mr_place place = {};
	const uint8_t *host;

	if (rings->backend->req.flags & VIRTIO_RDMA_NVME_REGION_ADDR)
		return sge.addr;
	host = mr_find(sub->table->qps->mrs, &place, sub->srq->pd, 0, sge.key, sge.addr,
		       RNIC_PAGE_SIZE, VIRTIO_IB_ACCESS_LOCAL_WRITE);
	return host ? mem_addr(sub->table->ctx->mem, host) : 0;
}

/* ------------------------------------------------------------------------- */
/* Failure                                                                   */
/* ------------------------------------------------------------------------- */

static void rings_end_all(struct rings *rings)
{
	struct rings_cmd *cmd;
	struct ns_io *io;

	while ((cmd = TAILQ_FIRST(&rings->under_way))) {
		TAILQ_REMOVE(&rings->under_way, cmd, entry);
		io = cmd->io;
		cmd->io = NULL;
		io->done(io, -EPIPE);
	}
	while ((io = TAILQ_FIRST(&rings->waiting))) {
		TAILQ_REMOVE(&rings->waiting, io, entry);
		io->done(io, -EPIPE);
	}
}

static void rings_fail(struct rings *rings, enum virtio_rdma_event_type type)
{
	const struct subsys_table *table = rings->sub->table;

	if (rings->failed)
		return;
	rings->failed = true;
	rnic_warn(table->ctx, "NVMe controller %#x %s", rings->backend->handle,
		  type == VIRTIO_RDMA_EVENT_NVME_TIMEOUT ? "does not answer" : "has failed");
	event_report(table->qps->events, &rings->event[type - VIRTIO_RDMA_EVENT_NVME_PCI_ERR]);
	loop_timer_cancel(table->ctx->loop, &rings->tick);
	rings_end_all(rings);
}

/* ------------------------------------------------------------------------- */
/* Submissions                                                               */
/* ------------------------------------------------------------------------- */

static uint64_t rings_pages(struct rings *rings, uint16_t slot, uint32_t len, uint64_t *first)
{
	const struct subsys *sub = rings->sub;
	const uint32_t n = (len + RNIC_PAGE_SIZE - 1) / RNIC_PAGE_SIZE;
	const uint32_t list = le32toh(sub->req.max_io_size);
	__le64 page;
	uint32_t i;

	*first = slot_page(rings, slot, 0);
	if (n < 2)
		return 0;
	if (n == 2)
		return slot_page(rings, slot, RNIC_PAGE_SIZE);
	for (i = 1; i < n; i++) {
		page = htole64(slot_page(rings, slot, i * RNIC_PAGE_SIZE));
		if (!page || !slot_copy(sub, slot, list + (i - 1) * sizeof(page), &page,
					sizeof(page), true))
			return 0;
	}
	return slot_page(rings, slot, list);
}

static const uint8_t rings_opcodes[NS_OPS] = {
	[NS_READ] = NVME_IO_READ,
	[NS_WRITE] = NVME_IO_WRITE,
	[NS_FLUSH] = NVME_IO_FLUSH,
};

/* False if memory is not there. */
static bool rings_fill(struct rings *rings, struct rings_cmd *cmd, struct rings_sqe *sqe)
{
	const struct ns_io *io = cmd->io;
	const struct rings_ns *ns = io->ns->arg;
	uint64_t first = 0, second, at = 0;

	*sqe = (struct rings_sqe) {
		.opcode = rings_opcodes[io->op],
		.cid = htole16(cmd - rings->cmd),
		.nsid = htole32(ns->nsid),
	};
	if (io->op == NS_FLUSH)
		return true;
	if (io->op == NS_WRITE && !slot_copy(rings->sub, cmd->slot, 0, io->buf, io->len, true))
		return false;
	second = rings_pages(rings, cmd->slot, io->len, &first);
	if (!first || (io->len > RNIC_PAGE_SIZE && !second))
		return false;
	at = io->offset / io->ns->block;
	sqe->prp[0] = htole64(first);
	sqe->prp[1] = htole64(second);
	sqe->cdw[0] = htole32(at);
	sqe->cdw[1] = htole32(at >> 32);
	sqe->cdw[2] = htole32((io->len / io->ns->block - 1) |
			      (io->op == NS_WRITE && io->lasting ? RINGS_FUA : 0));
	return true;
}

static void rings_start_tick(struct rings *rings)
{
	rings->pause = RINGS_TICK_MIN;
	loop_timer_set(rings->sub->table->ctx->loop, &rings->tick, rings->pause);
}

static bool rings_put(struct rings *rings, struct rings_cmd *cmd)
{
	const uint16_t next = (rings->tail + 1) % rings->depth;
	uint32_t *doorbell = rings_at(rings, 2, 0, sizeof(*doorbell));
	struct rings_sqe sqe, *to;

	to = rings_at(rings, 0, rings->tail * sizeof(sqe), sizeof(sqe));
	if (!to || !doorbell || !rings_fill(rings, cmd, &sqe))
		return false;
	write_copy(to, &sqe, sizeof(sqe));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	write_u32(doorbell, htole32(next));
	rings->tail = next;
	return true;
}

/* Begins with a request for which there is room. */
static void rings_begin(struct rings *rings, struct ns_io *io)
{
	struct subsys *sub = rings->sub;
	struct rings_cmd *cmd = TAILQ_FIRST(&rings->free);
	const uint16_t ms = le16toh(rings->backend->req.timeout_ms);

	TAILQ_REMOVE(&rings->free, cmd, entry);
	cmd->io = io;
	cmd->slot = io->op == NS_FLUSH ? SLOT_NONE : sub->slot[--sub->slots];
	cmd->due = ms ? loop_now(sub->table->ctx->loop) + ms * NS_PER_MS : 0;
	TAILQ_INSERT_TAIL(&rings->under_way, cmd, entry);
	if (rings_put(rings, cmd))
		rings_start_tick(rings);
	else
		rings_fail(rings, VIRTIO_RDMA_EVENT_NVME_PCI_ERR);
}

static bool rings_has_room(const struct rings *rings, const struct ns_io *io)
{
	return !TAILQ_EMPTY(&rings->free) && (io->op == NS_FLUSH || rings->sub->slots);
}

static void rings_submit(void *arg, struct ns_io *io)
{
	struct rings_ns *ns = arg;
	struct rings *rings = ns->rings;

	if (!rings || rings->failed)
		io->done(io, -EPIPE);
	else if (TAILQ_EMPTY(&rings->waiting) && rings_has_room(rings, io))
		rings_begin(rings, io);
	else
		TAILQ_INSERT_TAIL(&rings->waiting, io, entry);
}

static bool rings_is_busy(const struct rings *rings)
{
	return !TAILQ_EMPTY(&rings->under_way) || !TAILQ_EMPTY(&rings->waiting);
}

/* Requests that wait, of all controllers of the subsystem: they share staging memory. */
static void rings_serve(struct subsys *sub, int64_t *left)
{
	struct backend *backend;
	struct rings *rings;
	struct ns_io *io;
	uint32_t at = 0;

	while ((backend = obj_next(&sub->table->backends, &at))) {
		rings = backend->sub == sub ? backend->rings : NULL;
		while (rings && *left > 0 && (io = TAILQ_FIRST(&rings->waiting)) &&
		       rings_has_room(rings, io)) {
			*left -= io->len + RNIC_PAGE_SIZE;
			TAILQ_REMOVE(&rings->waiting, io, entry);
			rings_begin(rings, io);
		}
	}
}

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

static void rings_give_slot(struct subsys *sub, struct rings_cmd *cmd)
{
	if (cmd->slot != SLOT_NONE)
		sub->slot[sub->slots++] = cmd->slot;
	cmd->slot = SLOT_NONE;
}

/* False if the controller has said what it cannot. */
static bool rings_complete(struct rings *rings, const struct rings_cqe *cqe, int64_t *left)
{
	const uint16_t cid = le16toh(cqe->cid), status = le16toh(cqe->status) >> 1;
	struct rings_cmd *cmd = cid < rings->depth ? &rings->cmd[cid] : NULL;
	struct ns_io *io = cmd ? cmd->io : NULL;

	if (!io || le16toh(cqe->sqhd) >= rings->depth)
		return false;
	if (!status && io->op == NS_READ &&
	    !slot_copy(rings->sub, cmd->slot, 0, io->buf, io->len, false))
		return false;
	*left -= io->len + RNIC_PAGE_SIZE;
	TAILQ_REMOVE(&rings->under_way, cmd, entry);
	cmd->io = NULL;
	rings_give_slot(rings->sub, cmd);
	TAILQ_INSERT_TAIL(&rings->free, cmd, entry);
	io->status = status;
	io->done(io, status ? -EIO : 0);
	return true;
}

static bool rings_take(struct rings *rings, int64_t *left)
{
	struct rings_cqe cqe;
	const struct rings_cqe *from = rings_at(rings, 1, rings->head * sizeof(cqe),
						sizeof(cqe));
	uint32_t *doorbell;

	if (!from) {
		rings_fail(rings, VIRTIO_RDMA_EVENT_NVME_PCI_ERR);
		return false;
	}
	if ((le16toh(__atomic_load_n(&from->status, __ATOMIC_ACQUIRE)) & 1) != rings->phase)
		return false;
	guest_mem_read_once(&cqe, from, sizeof(cqe));
	rings->head = (rings->head + 1) % rings->depth;
	if (!rings->head)
		rings->phase = !rings->phase;
	doorbell = rings_at(rings, 3, 0, sizeof(*doorbell));
	if (doorbell)
		write_u32(doorbell, htole32(rings->head));
	if (!doorbell || !rings_complete(rings, &cqe, left))
		rings_fail(rings, VIRTIO_RDMA_EVENT_NVME_PCI_ERR);
	return true;
}

static bool rings_look(struct rings *rings, int64_t *left)
{
	const uint64_t now = loop_now(rings->sub->table->ctx->loop);
	const struct rings_cmd *oldest;
	unsigned int n = 0;

	while (*left > 0 && !rings->failed && !TAILQ_EMPTY(&rings->under_way) &&
	       rings_take(rings, left))
		n++;
	oldest = TAILQ_FIRST(&rings->under_way);
	if (!n && !rings->failed && oldest && oldest->due && now >= oldest->due)
		rings_fail(rings, VIRTIO_RDMA_EVENT_NVME_TIMEOUT);
	if (*left > 0 && !TAILQ_EMPTY(&rings->waiting))
		rings_serve(rings->sub, left);
	return n;
}

static void rings_tick(void *arg)
{
	struct rings *rings = arg;
	int64_t left = RINGS_ROUND;

	if (rings_look(rings, &left))
		rings->pause = RINGS_TICK_MIN;
	else if (rings->pause < RINGS_TICK_MAX)
		rings->pause *= 2;
	if (!rings->failed && rings_is_busy(rings))
		loop_timer_set(rings->sub->table->ctx->loop, &rings->tick, rings->pause);
}

bool rings_poll(struct subsys_table *table)
{
	int64_t left = RINGS_ROUND;
	struct backend *backend;
	bool worked = false;

	while (table->rings && left > 0) {
		backend = obj_next(&table->backends, &table->at);
		if (!backend) {
			table->at = 0;
			break;
		}
		if (backend->rings && rings_is_busy(backend->rings))
			worked |= rings_look(backend->rings, &left);
	}
	return worked || left <= 0;
}

/* ------------------------------------------------------------------------- */
/* Life                                                                      */
/* ------------------------------------------------------------------------- */

struct rings *rings_new(struct backend *backend)
{
	const uint16_t depth = le16toh(backend->sub->req.queue_depth);
	struct rings *rings = calloc(1, sizeof(*rings) + depth * sizeof(rings->cmd[0]));
	unsigned int i;

	if (!rings)
		return NULL;
	rings->backend = backend;
	rings->sub = backend->sub;
	rings->depth = depth;
	rings->tail = le16toh(backend->req.sq_initial);
	rings->head = le16toh(backend->req.cq_initial);
	rings->phase = true;
	rings->tick.fn = rings_tick;
	rings->tick.arg = rings;
	TAILQ_INIT(&rings->under_way);
	TAILQ_INIT(&rings->free);
	TAILQ_INIT(&rings->waiting);
	/* One entry of a queue stays empty. */
	for (i = 0; i + 1 < depth; i++)
		TAILQ_INSERT_TAIL(&rings->free, &rings->cmd[i], entry);
	for (i = 0; i < depth; i++)
		rings->cmd[i].slot = SLOT_NONE;
	for (i = 0; i < 2; i++)
		rings->event[i] = (struct event_mark) {
			.type = VIRTIO_RDMA_EVENT_NVME_PCI_ERR + i,
			.number = backend->handle,
		};
	backend->sub->table->rings++;
	return rings;
}

void rings_free(struct rings *rings)
{
	struct subsys_table *table = rings->sub->table;
	struct rings_ns *ns;
	unsigned int i;

	rings->failed = true;
	table->rings--;
	loop_timer_cancel(table->ctx->loop, &rings->tick);
	rings_end_all(rings);
	for (i = 0; i < 2; i++)
		event_drop(table->qps->events, &rings->event[i]);
	for (i = 0; i < rings->depth; i++)
		rings_give_slot(rings->sub, &rings->cmd[i]);
	LIST_FOREACH(ns, &rings->sub->spaces, entry)
		if (ns->rings == rings)
			ns->rings = NULL;
	free(rings);
}

struct ns *rings_ns(struct rings *rings, const struct virtio_rdma_cmd_map_nsid *map)
{
	struct subsys *sub = rings->sub;
	struct rings_ns *ns;
	unsigned int n = 0;

	rings_drop_ns(sub, false);
	LIST_FOREACH(ns, &sub->spaces, entry) {
		if (ns->rings == rings && ns->nsid == le32toh(map->ctrl_nsid) &&
		    ns->ns.block == le32toh(map->lba_size))
			return &ns->ns;
		n++;
	}
	ns = n < RINGS_NS_MAX ? calloc(1, sizeof(*ns)) : NULL;
	if (!ns)
		return NULL;
	ns->rings = rings;
	ns->nsid = le32toh(map->ctrl_nsid);
	ns->ns = (struct ns) {
		.size = 1ull << 62,
		.block = le32toh(map->lba_size),
		.cache = true,
		.submit = rings_submit,
		.arg = ns,
	};
	LIST_INSERT_HEAD(&sub->spaces, ns, entry);
	return &ns->ns;
}

/* A command of a QP may still name one whose controller is gone. */
void rings_drop_ns(struct subsys *sub, bool all)
{
	struct rings_ns *ns, *next;

	if (!all && !LIST_EMPTY(&sub->conns))
		return;
	for (ns = LIST_FIRST(&sub->spaces); ns; ns = next) {
		next = LIST_NEXT(ns, entry);
		if (!all && ns->rings)
			continue;
		LIST_REMOVE(ns, entry);
		free(ns);
	}
}

/* ------------------------------------------------------------------------- */
/* Saved                                                                     */
/* ------------------------------------------------------------------------- */

void rings_io(struct state *st, struct rings *rings)
{
	bool failed = rings->failed, busy = !TAILQ_EMPTY(&rings->under_way);

	state_u16(st, "tail", &rings->tail, rings->depth - 1);
	state_u16(st, "head", &rings->head, rings->depth - 1);
	state_bool(st, "phase", &rings->phase);
	state_bool(st, "failed", &failed);
	state_bool(st, "busy", &busy);
	if (!st->loading)
		return;
	rings->failed = failed || busy;
	rings->moved = busy;
}

void rings_loaded(struct rings *rings)
{
	if (!rings->moved)
		return;
	rings->moved = false;
	event_report(rings->sub->table->qps->events, &rings->event[0]);
}
