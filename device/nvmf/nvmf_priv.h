/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Structures and functions that the files of this layer have in common.
 */
#ifndef DEVICE_NVMF_PRIV_H
#define DEVICE_NVMF_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/loop.h"
#include "nvmf/nvme.h"
#include "nvmf/nvmf.h"
#include "storage/ns.h"

#define NVMF_DEPTH		128
#define NVMF_DEPTH_MAX		1024
#define NVMF_QUEUES		16
#define NVMF_QUEUES_MAX		64
#define NVMF_CONTROLLERS	256
#define NVMF_CONTROLLERS_MAX	4096
#define NVMF_HOST		64

/* Connections of one guest that have not said yet what they are. */
#define NVMF_LONE_MAX		32
#define NVMF_CONNECT_MS		10000

/* So long a Connect waits for commands of connections before.  Linux waits 60 s for its answer. */
#define NVMF_PARK_MS		50000

#define NS_PER_MS		1000000ULL

/* Events that a host may wait for. */
#define NVMF_EVENTS		4

/* A discovery controller whose host does not say so is ended after as long. */
#define NVMF_DISCOVERY_MS	120000
#define NVMF_KATO_MAX_MS	3600000

/**
 * struct nvmf_share - what one guest has, or all hosts that come by uplinks
 * @entry:	of the list
 * @refs:	its queues
 * @lone:	those that are not connected to a controller
 * @orphans:	commands of ended queues that namespaces still have
 * @staged:	bytes of staging buffers
 * @waiting:	commands that wait for one, the oldest one first
 * @parked:	Connect commands that wait until @orphans is 0
 * @guest:	name, or an empty one
 */
struct nvmf_share {
	TAILQ_ENTRY(nvmf_share) entry;
	unsigned int refs;
	unsigned int lone;
	unsigned int orphans;
	uint64_t staged;
	TAILQ_HEAD(, nvmf_cmd) waiting;
	TAILQ_HEAD(, nvmf_cmd) parked;
	char guest[];
};

/**
 * struct nvmf - all targets
 * @loop:	event loop
 * @pool:	staging buffers
 * @share_max:	bytes of them that a share can have
 * @targets:	targets
 * @shares:	shares; who was served last is the last one
 * @serving:	nvmf_serve() runs
 * @cntlid:	controller that was made last
 * @genctr:	changes of the list of targets
 */
struct nvmf {
	struct loop *loop;
	struct nvmf_pool *pool;
	uint64_t share_max;
	TAILQ_HEAD(, nvmf_target) targets;
	TAILQ_HEAD(, nvmf_share) shares;
	bool serving;
	uint16_t cntlid;
	uint64_t genctr;
};

/**
 * struct nvmf_target - a target
 * @entry:	of all targets
 * @nvmf:	all
 * @portid:	number of its port
 * @nqn:	name of its subsystem
 * @traddr:	address
 * @trsvcid:	port
 * @namespaces:	number of them
 * @space:	them
 * @hosts:	hosts that may connect
 * @host:	their names
 * @guests:	guests that may connect
 * @guest:	their names
 * @limits:	limits
 * @away:	Read, Write and Flush are carried out elsewhere
 * @offload:	of nvmf_offload_new(): what it does
 * @nsid:	of that: numbers of @space, 0 where there is none
 * @ctrls:	controllers
 * @count:	what it has counted
 * @log:	rate limit of messages
 */
struct nvmf_target {
	TAILQ_ENTRY(nvmf_target) entry;
	struct nvmf *nvmf;
	uint16_t portid;
	char *nqn;
	char *traddr;
	char *trsvcid;
	unsigned int namespaces;
	struct nvmf_namespace space[NVMF_NAMESPACES_MAX];
	unsigned int hosts;
	char *host[NVMF_HOSTS_MAX];
	unsigned int guests;
	char *guest[NVMF_GUESTS_MAX];
	struct nvmf_limits limits;
	bool away;
	struct nvmf_offload_config offload;
	uint32_t nsid[NVMF_NAMESPACES_MAX];
	LIST_HEAD(, nvmf_ctrl) ctrls;
	struct nvmf_counters count;
	struct log_limit log;
};

/**
 * struct nvmf_ctrl - a controller
 * @entry:	of the target
 * @target:	by which the host has come
 * @share:	of the host
 * @discovery:	it tells which targets there are, and has no namespaces
 * @cntlid:	its number
 * @hostid:	identifier of the host
 * @hostnqn:	name of the host
 * @cc:		register
 * @csts:	register
 * @kato:	keep-alive timeout in ms, or 0
 * @alive:	there was a command since the timer was set
 * @timer:	keep-alive
 * @config:	events that the host wants
 * @event:	commands that wait for events
 * @events:	number of them
 * @changed:	namespaces of another size than the host knows, as bits
 * @told:	there was an event for them, and the host has not read which they are
 * @queue:	its queues by number, NULL if not connected
 */
struct nvmf_ctrl {
	LIST_ENTRY(nvmf_ctrl) entry;
	struct nvmf_target *target;
	struct nvmf_share *share;
	bool discovery;
	uint16_t cntlid;
	uint8_t hostid[16];
	char hostnqn[NVME_NQN_SIZE];
	uint32_t cc;
	uint32_t csts;
	uint32_t kato;
	bool alive;
	struct loop_timer timer;
	uint32_t config;
	struct nvmf_cmd *event[NVMF_EVENTS];
	unsigned int events;
	uint32_t changed;
	bool told;
	struct nvmf_queue *queue[NVMF_QUEUES_MAX + 1];
};

/**
 * enum nvmf_stage - where a command is
 * @NVMF_FREE:		nowhere
 * @NVMF_WAIT:		it waits for a staging buffer
 * @NVMF_PULL:		the wire reads its data
 * @NVMF_PARKED:	Connect: it waits for commands of connections before
 * @NVMF_RUN:		a namespace works on it
 * @NVMF_HELD:		it waits for an event
 * @NVMF_ANSWER:	the wire sends its answer
 */
enum nvmf_stage {
	NVMF_FREE,
	NVMF_WAIT,
	NVMF_PULL,
	NVMF_PARKED,
	NVMF_RUN,
	NVMF_HELD,
	NVMF_ANSWER,
};

/**
 * struct nvmf_op - a command that exists
 * @opcode:	its opcode, or type
 * @check:	look whether it is right, and set its @len; returns a status
 * @run:	do it; nvmf_cmd_end() is called at the end
 */
struct nvmf_op {
	uint8_t opcode;
	uint16_t (*check)(struct nvmf_cmd *cmd);
	void (*run)(struct nvmf_cmd *cmd);
};

/**
 * struct nvmf_cmd - a command
 * @entry:	of the free ones, or of those that wait
 * @queue:	by which it has come
 * @stage:	where it is
 * @op:		what it is
 * @sqe:	itself
 * @cqe:	its answer
 * @len:	bytes of its data
 * @more:	the host may have described more than that
 * @buf:	staging buffer of so many bytes, or NULL
 * @addr:	the host's address of its data, or the place in the capsule
 * @key:	the host's key of it
 * @within:	the data is in the capsule
 * @inv:	the key is to be withdrawn
 * @capsule:	data of the capsule, or NULL if it was released
 * @capsule_len: bytes there
 * @cookie:	of the capsule
 * @ns:		namespace
 * @io:		what that does
 * @range:	of Dataset Management: the range that is next
 * @step:	what became of that range, of io.c
 * @serial:	of the queue's commands
 */
struct nvmf_cmd {
	TAILQ_ENTRY(nvmf_cmd) entry;
	struct nvmf_queue *queue;
	enum nvmf_stage stage;
	const struct nvmf_op *op;
	struct nvme_sqe sqe;
	struct nvme_cqe cqe;
	uint32_t len;
	bool more;
	void *buf;
	uint64_t addr;
	uint32_t key;
	bool within;
	bool inv;
	const uint8_t *capsule;
	size_t capsule_len;
	void *cookie;
	struct ns *ns;
	struct ns_io io;
	unsigned int range;
	int step;
	uint64_t serial;
};

/**
 * struct nvmf_held - a capsule that waits because there is no free command
 * @capsule:	it
 * @len:	bytes
 * @cookie:	its
 */
struct nvmf_held {
	const void *capsule;
	size_t len;
	void *cookie;
};

/**
 * struct nvmf_queue - a connection
 * @nvmf:	all
 * @target:	at which address; NULL when it is gone
 * @ops:	its wire
 * @conn:	for that
 * @share:	of its host
 * @qid:	its number
 * @depth:	commands that the host may have under way
 * @ctrl:	controller, or NULL
 * @flow:	the host is told @sqhd
 * @size:	entries of the host's queue, @depth at most
 * @sqhd:	commands that were answered, modulo @size; with @counted, those that have come
 * @counted:	@sqhd counts by nvmf_offload_wants()
 * @ended:	it is about to end: nothing more is done
 * @gone:	it has ended, and is freed when namespaces have let go its commands
 * @running:	commands that namespaces have
 * @serial:	commands that have come
 * @timer:	it has to be connected to a controller by then
 * @parked:	its Connect that waits, or NULL
 * @free:	commands that are free
 * @cmd:	all, two for each entry: the host may send the next one before the
 *		answer to the one before is known to have been delivered
 * @held:	capsules that wait, a ring of @depth
 * @held_at:	the first one
 * @helds:	number of them
 */
struct nvmf_queue {
	struct nvmf *nvmf;
	struct nvmf_target *target;
	const struct nvmf_wire_ops *ops;
	void *conn;
	struct nvmf_share *share;
	uint16_t qid;
	uint16_t depth;
	struct nvmf_ctrl *ctrl;
	bool flow;
	uint16_t size;
	uint16_t sqhd;
	bool counted;
	bool ended;
	bool gone;
	unsigned int running;
	uint64_t serial;
	struct loop_timer timer;
	struct nvmf_cmd *parked;
	TAILQ_HEAD(, nvmf_cmd) free;
	struct nvmf_cmd *cmd;
	struct nvmf_held *held;
	unsigned int held_at;
	unsigned int helds;
};

/* ---------------- target.c ---------------- */

/** nvmf_share_get() - the share of a guest, with one more reference; NULL without memory */
struct nvmf_share *nvmf_share_get(struct nvmf *nvmf, const char *guest);

/** nvmf_share_put() - drop a reference */
void nvmf_share_put(struct nvmf *nvmf, struct nvmf_share *share);

/** nvmf_target_allows() - may a host connect? */
bool nvmf_target_allows(const struct nvmf_target *target, const char *hostnqn,
			const char *guest);

/** nvmf_target_ns() - a namespace by its number, or NULL */
struct nvmf_namespace *nvmf_target_ns(struct nvmf_target *target, uint32_t nsid);

/* ---------------- queue.c ---------------- */

/** nvmf_queue_alloc() - memory of a queue, or NULL */
struct nvmf_queue *nvmf_queue_alloc(uint16_t depth);

/** nvmf_queue_unmake() - give it back */
void nvmf_queue_unmake(struct nvmf_queue *queue);

/** nvmf_queue_end() - have a connection ended, with all that is under way */
void nvmf_queue_end(struct nvmf_queue *queue);

/** nvmf_queue_join() - from now on it belongs to a controller */
void nvmf_queue_join(struct nvmf_queue *queue, struct nvmf_ctrl *ctrl);

/** nvmf_queue_unref() - a namespace has let go a command of a queue that is gone */
void nvmf_queue_unref(struct nvmf_queue *queue);

/* ---------------- ctrl.c ---------------- */

/** nvmf_ctrl_new() - a controller for an administration queue; NULL if there is no room */
struct nvmf_ctrl *nvmf_ctrl_new(struct nvmf_queue *queue, bool discovery,
				const struct nvmf_connect_data *data, uint32_t kato);

/** nvmf_ctrl_find() - a target's controller by its number, or NULL */
struct nvmf_ctrl *nvmf_ctrl_find(struct nvmf_target *target, uint16_t cntlid);

/** nvmf_ctrl_free() - its administration queue has ended */
void nvmf_ctrl_free(struct nvmf_ctrl *ctrl);

/** nvmf_ctrl_set_kato() - set the keep-alive timeout, in ms */
void nvmf_ctrl_set_kato(struct nvmf_ctrl *ctrl, uint32_t kato);

/** nvmf_ctrl_cap() - its register CAP */
uint64_t nvmf_ctrl_cap(const struct nvmf_ctrl *ctrl);

/** nvmf_ctrl_set_cc() - write its register CC */
void nvmf_ctrl_set_cc(struct nvmf_ctrl *ctrl, uint32_t cc);

/** nvmf_ctrl_changed() - tell the host of @changed, if it wants that, and waits for it */
void nvmf_ctrl_changed(struct nvmf_ctrl *ctrl);

/* ---------------- cmd.c ---------------- */

/** nvmf_cmd_begin() - a command has come, with its @sqe and capsule */
void nvmf_cmd_begin(struct nvmf_cmd *cmd);

/** nvmf_cmd_go_on() - its data has come: do it */
void nvmf_cmd_go_on(struct nvmf_cmd *cmd);

/** nvmf_cmd_end() - answer it, with @status and the result that is in its @cqe */
void nvmf_cmd_end(struct nvmf_cmd *cmd, uint16_t status);

/** nvmf_cmd_result() - set the result of its answer */
void nvmf_cmd_result(struct nvmf_cmd *cmd, uint64_t result);

/** nvmf_cmd_release() - its capsule's buffer is not needed any more */
void nvmf_cmd_release(struct nvmf_cmd *cmd);

/** nvmf_cmd_unstage() - give its staging buffer back, and serve those that wait */
void nvmf_cmd_unstage(struct nvmf_cmd *cmd);

/* ---------------- fabrics.c ---------------- */

/** nvmf_connect_unpark() - a Connect waits no longer; its buffer and stage are the caller's */
void nvmf_connect_unpark(struct nvmf_cmd *cmd);

/** nvmf_connect_busy() - it has waited too long: the host may try again */
void nvmf_connect_busy(struct nvmf_cmd *cmd);

/**
 * nvmf_connect_parked() - go on with those of a share, if it has no orphans any more
 * @share:	share, of which the caller has a reference
 */
void nvmf_connect_parked(struct nvmf_share *share);

/* ---------------- the tables of commands ---------------- */

/** nvmf_fabrics_op() - a Fabrics command by its type, or NULL */
const struct nvmf_op *nvmf_fabrics_op(uint8_t fctype);

/** nvmf_admin_op() - an administration command by its opcode, or NULL */
const struct nvmf_op *nvmf_admin_op(uint8_t opcode, bool discovery);

/** nvmf_io_op() - an I/O command by its opcode, or NULL */
const struct nvmf_op *nvmf_io_op(uint8_t opcode);

/** nvmf_identify_check() - Identify */
uint16_t nvmf_identify_check(struct nvmf_cmd *cmd);

/** nvmf_identify_run() - Identify */
void nvmf_identify_run(struct nvmf_cmd *cmd);

/** nvmf_log_check() - Get Log Page */
uint16_t nvmf_log_check(struct nvmf_cmd *cmd);

/** nvmf_log_run() - Get Log Page */
void nvmf_log_run(struct nvmf_cmd *cmd);

#endif /* DEVICE_NVMF_PRIV_H */
