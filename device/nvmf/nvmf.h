/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * NVMe over Fabrics, the target's side: capsules in, capsules and data out.
 *
 * This layer knows the protocol and namespaces, and nothing of how bytes travel.  A wire
 * carries them: it hands over each capsule that a connection receives, and does three things
 * when it is asked to: it reads and writes memory of the initiator, and sends an answer.
 *
 * Any of the wire's functions may report the end of what it was asked for before it returns.
 */
#ifndef DEVICE_NVMF_H
#define DEVICE_NVMF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct ns;
struct nvmf;
struct nvmf_cmd;
struct nvmf_queue;
struct nvmf_target;

/* Longest name of a host or of a subsystem. */
#define NVMF_NQN_MAX		223

/* Namespaces of a target, and entries of its lists. */
#define NVMF_NAMESPACES_MAX	32
#define NVMF_HOSTS_MAX		32
#define NVMF_GUESTS_MAX		64

/* Most data of one command; also the largest staging buffer. */
#define NVMF_DATA_MAX		(1 << 20)

/* Data that a command's capsule may have behind its 64 bytes. */
#define NVMF_INLINE_MAX		4096
#define NVMF_CAPSULE_MAX	(64 + NVMF_INLINE_MAX)
#define NVMF_CQE_SIZE		16

/* Bytes of private data of the connection manager's messages. */
#define NVMF_CM_REQ_SIZE	32
#define NVMF_CM_REP_SIZE	32
#define NVMF_CM_REJ_SIZE	4

/**
 * struct nvmf_pool - where commands get staging buffers
 * @alloc:	a buffer of @len bytes, from 1 to %NVMF_DATA_MAX, at an address that is a
 *		multiple of 4096; NULL if there is none now.  Its content does not matter
 * @alloc_of:	if not NULL, instead of @alloc: likewise, but buffers of one @owner leave others
 *		alone, however they lie
 * @free:	give it back
 * @arg:	for these
 * @size:	bytes of all buffers; one guest, or all who come by uplinks, get half at most
 *
 * All buffers are memory that the wire can read and write and the storage process has, too.
 * device/storage/staging.h is such a pool.  Only struct nvmf calls the functions; a command
 * without a buffer waits until one is given back.
 */
struct nvmf_pool {
	void *(*alloc)(void *arg, uint32_t len);
	void *(*alloc_of)(void *arg, const void *owner, uint32_t len);
	void (*free)(void *arg, void *buf, uint32_t len);
	void *arg;
	uint64_t size;
};

/**
 * struct nvmf_wire_ops - what carries capsules and data
 * @pull:	read @len bytes at @addr of the initiator's key @key into staging buffer @buf;
 *		nvmf_moved() is called at the end
 * @push:	write staging buffer @buf there.  Nothing is called at the end: an answer() that
 *		follows arrives after the data, and @buf is left alone until its nvmf_sent()
 * @answer:	send the %NVMF_CQE_SIZE bytes of @cqe, and withdraw the initiator's key @key if
 *		@inv; nvmf_sent() is called at the end, and until then @cqe stays as it is
 * @release:	a capsule's buffer is free again; @cookie is that of nvmf_capsule()
 * @end:	end the connection.  nvmf_queue_free() follows, but not before @end returns
 *
 * Requests of a connection are done in the order of the calls.
 */
struct nvmf_wire_ops {
	void (*pull)(void *conn, struct nvmf_cmd *cmd, void *buf, uint32_t len, uint64_t addr,
		     uint32_t key);
	void (*push)(void *conn, struct nvmf_cmd *cmd, const void *buf, uint32_t len,
		     uint64_t addr, uint32_t key);
	void (*answer)(void *conn, struct nvmf_cmd *cmd, const void *cqe, bool inv, uint32_t key);
	void (*release)(void *conn, void *cookie);
	void (*end)(void *conn);
};

/**
 * struct nvmf_limits - of a target; 0 stands for the default
 * @queues:	I/O queues of a controller (16)
 * @depth:	entries of a queue (128)
 * @controllers: controllers of the target (256)
 * @host:	controllers of one guest, or of all hosts that come by uplinks (64)
 */
struct nvmf_limits {
	uint16_t queues;
	uint16_t depth;
	uint16_t controllers;
	uint16_t host;
};

/**
 * struct nvmf_namespace - a namespace of a target
 * @ns:		it, of the caller, which outlives the target
 * @ro:		this target's hosts must not write to it
 */
struct nvmf_namespace {
	struct ns *ns;
	bool ro;
};

/**
 * struct nvmf_target_config - what is told about a target
 * @nqn:	name of its subsystem
 * @traddr:	address by which hosts reach it, as text, for discovery
 * @trsvcid:	port, as text, "4420"
 * @namespaces:	number of them; the first one has number 1
 * @space:	them
 * @hosts:	number of names in @host; any host may connect if it is 0
 * @host:	names of hosts that may connect
 * @guests:	number of names in @guest; who comes from elsewhere may connect if it is 0
 * @guest:	names of guests that may connect, as struct nvmf_peer has them
 * @limits:	limits
 * @away:	Read, Write and Flush are carried out elsewhere, so that nothing of them is seen
 *		here: other commands of I/O queues do not exist, and they keep no host alive
 *
 * Strings are copied.  Targets of one name are ports of one subsystem.
 */
struct nvmf_target_config {
	const char *nqn;
	const char *traddr;
	const char *trsvcid;
	unsigned int namespaces;
	struct nvmf_namespace space[NVMF_NAMESPACES_MAX];
	unsigned int hosts;
	const char *host[NVMF_HOSTS_MAX];
	unsigned int guests;
	const char *guest[NVMF_GUESTS_MAX];
	struct nvmf_limits limits;
	bool away;
};

/**
 * struct nvmf_peer - who connects
 * @req:	private data of the connection manager's REQ, behind its IP header of 36 bytes
 * @len:	bytes of it, %NVMF_CM_REQ_SIZE at least if it is right
 * @guest:	name of the guest, which cannot choose it, or NULL if it comes from an uplink
 */
struct nvmf_peer {
	const void *req;
	size_t len;
	const char *guest;
};

/**
 * struct nvmf_cm_answer - what the connection manager is to answer
 * @reject:	0, or why not: the status that is also in @data
 * @data:	private data of the REP or REJ
 * @len:	bytes of it
 * @recvs:	receive buffers of %NVMF_CAPSULE_MAX bytes that the connection needs
 * @sends:	answers, and as many pushes and pulls each, that can be under way at once
 */
struct nvmf_cm_answer {
	uint16_t reject;
	uint8_t data[NVMF_CM_REP_SIZE];
	uint8_t len;
	uint16_t recvs;
	uint16_t sends;
};

/**
 * struct nvmf_counters - of a target
 * @controllers: now
 * @queues:	now, those of the administration included
 * @connects:	Connect commands that succeeded
 * @refused:	connections and Connect commands that did not
 * @read:	Read commands
 * @written:	Write commands
 * @other:	other commands of I/O queues
 * @read_bytes:	data of @read
 * @written_bytes: data of @written
 * @errors:	commands with an error, of any queue
 * @waits:	commands that had to wait for a staging buffer, and Connect commands for others
 * @expired:	controllers that ended because their keep-alive timer expired
 */
struct nvmf_counters {
	uint64_t controllers;
	uint64_t queues;
	uint64_t connects;
	uint64_t refused;
	uint64_t read;
	uint64_t written;
	uint64_t other;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t errors;
	uint64_t waits;
	uint64_t expired;
};

/**
 * nvmf_new() - all targets of a daemon, none yet
 * @loop:	for timers
 * @pool:	staging buffers; outlives this
 *
 * Return: it, or NULL without memory.
 */
struct nvmf *nvmf_new(struct loop *loop, struct nvmf_pool *pool);

/** nvmf_free() - free it; no targets are left, and namespaces have ended all they had */
void nvmf_free(struct nvmf *nvmf);

/**
 * nvmf_target_new() - add a target
 * @nvmf:	all
 * @config:	what is told about it
 *
 * Return: it, or NULL with errno set: EINVAL if a name or a number is not possible.
 */
struct nvmf_target *nvmf_target_new(struct nvmf *nvmf, const struct nvmf_target_config *config);

/** nvmf_target_free() - remove it; all its queues are freed already */
void nvmf_target_free(struct nvmf_target *target);

/** nvmf_ns_changed() - a namespace has another size: hosts that want to know are told */
void nvmf_ns_changed(struct nvmf *nvmf, const struct ns *ns);

/** nvmf_target_counters() - what it has counted */
const struct nvmf_counters *nvmf_target_counters(const struct nvmf_target *target);

/**
 * nvmf_queue_new() - a connection is asked for
 * @target:	at which address
 * @ops:	its wire
 * @conn:	for @ops
 * @peer:	who asks
 * @answer:	filled in
 *
 * Return: the queue, or NULL with a reason to reject it in @answer.
 */
struct nvmf_queue *nvmf_queue_new(struct nvmf_target *target, const struct nvmf_wire_ops *ops,
				  void *conn, const struct nvmf_peer *peer,
				  struct nvmf_cm_answer *answer);

/** nvmf_queue_is_io() - it is an I/O queue, not that of the administration */
bool nvmf_queue_is_io(const struct nvmf_queue *queue);

/**
 * nvmf_queue_flow() - the entries of an I/O queue that is connected
 * @queue:	it
 * @size:	number of entries; 0 if its host wants no flow control
 * @head:	head of it, as the answer that is sent last says
 *
 * Return: true if it belongs to a controller: its Connect command succeeded.
 */
bool nvmf_queue_flow(const struct nvmf_queue *queue, uint16_t *size, uint16_t *head);

/**
 * nvmf_queue_free() - the connection has ended
 * @queue:	it
 *
 * The wire does nothing for it any more, and calls neither nvmf_moved() nor nvmf_sent() for
 * its commands.  None of its capsules is released.  Not to be called by a function of
 * struct nvmf_wire_ops.
 *
 * The end of an administration queue ends its controller, and so calls @end of the other
 * queues of that.
 */
void nvmf_queue_free(struct nvmf_queue *queue);

/**
 * nvmf_capsule() - a capsule has come
 * @queue:	by which connection
 * @capsule:	it; the queue's until the wire's release()
 * @len:	bytes
 * @cookie:	for release()
 */
void nvmf_capsule(struct nvmf_queue *queue, const void *capsule, size_t len, void *cookie);

/**
 * struct nvmf_offload_config - a subsystem without a target, whose software is elsewhere
 * @ops:	commands that it has: bit n for opcode n
 * @max_io:	bytes of a command, up to %NVMF_DATA_MAX
 * @capsule:	bytes of a capsule, up to %NVMF_CAPSULE_MAX
 * @data_off:	where data is in a capsule, behind the command
 */
struct nvmf_offload_config {
	uint32_t ops;
	uint32_t max_io;
	uint32_t capsule;
	uint32_t data_off;
};

/**
 * nvmf_offload_new() - make a subsystem that has neither name nor administration
 * @nvmf:	all
 * @config:	what it does
 *
 * No host finds it by discovery.  Its queues are always connected.
 *
 * Return: it, or NULL without memory.
 */
struct nvmf_target *nvmf_offload_new(struct nvmf *nvmf,
				     const struct nvmf_offload_config *config);

/** nvmf_offload_free() - remove it; all its queues are freed already */
void nvmf_offload_free(struct nvmf_target *target);

/** nvmf_offload_map() - its number @nsid, not 0, stands for a namespace; false without room */
bool nvmf_offload_map(struct nvmf_target *target, uint32_t nsid, struct ns *ns);

/** nvmf_offload_unmap() - number @nsid stands for nothing any more */
void nvmf_offload_unmap(struct nvmf_target *target, uint32_t nsid);

/**
 * nvmf_offload_queue() - a connection from now on belongs to a subsystem of nvmf_offload_new()
 * @target:	it
 * @ops:	its wire
 * @conn:	for @ops
 * @guest:	whose staging buffers it uses
 * @depth:	half of the commands that can be under way
 *
 * Return: the queue, or NULL without memory, or with errno EBUSY if commands of the guest's
 *	   queues that have ended are not done yet.
 */
struct nvmf_queue *nvmf_offload_queue(struct nvmf_target *target,
				      const struct nvmf_wire_ops *ops, void *conn,
				      const char *guest, uint16_t depth);

/** nvmf_offload_flow() - the host's queue has @size entries, of which @head was told last, or 0 */
void nvmf_offload_flow(struct nvmf_queue *queue, uint16_t size, uint16_t head);

/** nvmf_offload_head() - the head that was told last */
uint16_t nvmf_offload_head(const struct nvmf_queue *queue);

/** nvmf_offload_ready() - can a command be taken now? */
bool nvmf_offload_ready(const struct nvmf_queue *queue);

/**
 * nvmf_offload_wants() - a message has come
 * @queue:	by which connection
 * @head:	its first 64 bytes, at any address
 * @len:	bytes of it
 *
 * Return: true if it is a command for nvmf_capsule().
 */
bool nvmf_offload_wants(struct nvmf_queue *queue, const void *head, size_t len);

/** nvmf_queue_is_idle() - are all commands done? */
bool nvmf_queue_is_idle(const struct nvmf_queue *queue);

/** nvmf_moved() - a pull has ended, with 0 or a negative error */
void nvmf_moved(struct nvmf_cmd *cmd, int err);

/** nvmf_sent() - an answer was delivered, or could not be, with a negative error */
void nvmf_sent(struct nvmf_cmd *cmd, int err);

#endif /* DEVICE_NVMF_H */
