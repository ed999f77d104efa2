/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An uplink connects the switch to something that is not a guest of the daemon's own.
 */
#ifndef DEVICE_UPLINK_H
#define DEVICE_UPLINK_H

#include <stdint.h>

#include "base/loop.h"
#include "ether/switch.h"
#include "state/state_fds.h"

struct uplink;
struct uplink_ops;

/**
 * struct uplink_env - what an uplink is connected to
 * @loop:	event loop
 * @sw:		switch
 * @group:	what the operator sees its ports as, or NULL
 */
struct uplink_env {
	struct loop *loop;
	struct l2_switch *sw;
	struct port_group *group;
};

/**
 * struct uplink_stats - what became of frames that did not get through
 * @peers:	connections that there are now; 1 for an interface
 * @tx_dropped:	frames for which the other side had no room
 * @rx_dropped:	what came from the other side and is not a frame
 */
struct uplink_stats {
	uint64_t peers;
	uint64_t tx_dropped;
	uint64_t rx_dropped;
};

/**
 * struct uplink - an uplink; the kinds embed it
 * @ops:	its kind
 * @env:	what it is connected to
 * @fd:		its descriptor, of an interface or a socket that listens, or -1
 * @stats:	counters
 */
struct uplink {
	const struct uplink_ops *ops;
	struct uplink_env env;
	int fd;
	struct uplink_stats stats;
};

/**
 * enum uplink_need - what a kind of uplink needs of the process all the time
 * @UPLINK_SOCKET:	what stands behind the colon is the name of a unix socket
 * @UPLINK_CONNECTS:	which it connects to, again and again
 * @UPLINK_NETWORK:	others look for its interface in the process's network
 *			namespace
 */
enum uplink_need {
	UPLINK_SOCKET	= 1 << 0,
	UPLINK_CONNECTS	= 1 << 1,
	UPLINK_NETWORK	= 1 << 2,
};

/**
 * struct uplink_ops - a kind of uplink
 * @scheme:	what stands before the colon of its text
 * @needs:	bits of &enum uplink_need
 * @open:	make one, by what stands behind the colon, and by a descriptor that it
 *		takes over, or -1 with %UPLINK_CONNECTS.  Returns NULL with errno set
 *		after it has said why
 * @free:	end it
 * @save:	write what there is of it beside its descriptor, or NULL
 * @load:	make one by that, likewise; @open does it without.  Returns NULL after
 *		state_refuse()
 */
struct uplink_ops {
	const char *scheme;
	unsigned int needs;
	struct uplink *(*open)(const struct uplink_env *env, const char *arg, int fd);
	void (*free)(struct uplink *uplink);
	void (*save)(struct uplink *uplink, struct state *st);
	struct uplink *(*load)(const struct uplink_env *env, const char *arg, int fd,
			       struct state *st);
};

extern const struct uplink_ops uplink_listen_ops;
extern const struct uplink_ops uplink_connect_ops;
extern const struct uplink_ops uplink_tap_ops;
extern const struct uplink_ops uplink_packet_ops;

/** uplink_needs() - bits of &enum uplink_need of an uplink */
unsigned int uplink_needs(const char *text);

/**
 * uplink_open() - make an uplink
 * @env:	copied
 * @text:	SCHEME:ARGUMENT, as on the command line
 *
 * Return: the uplink, or NULL with errno set after an error was printed.
 */
struct uplink *uplink_open(const struct uplink_env *env, const char *text);

/**
 * uplink_take() - make an uplink by a descriptor that others made
 * @env:	copied
 * @text:	as for uplink_open()
 * @fd:		from uplink_descriptor(); taken over, and closed if there is an error
 *
 * A connection that ends is not made again.
 *
 * Return: the uplink, or NULL with errno set after an error was printed.
 */
struct uplink *uplink_take(const struct uplink_env *env, const char *text, int fd);

/** UPLINK_STATE_SIZE - least bytes of an uplink in a state */
#define UPLINK_STATE_SIZE	20u

/** uplink_save() - write an uplink to a state with descriptors */
void uplink_save(struct uplink *uplink, struct state *st);

/**
 * uplink_load() - make an uplink by a state with descriptors
 * @env:	copied
 * @text:	as for uplink_open()
 * @st:		state
 *
 * Return: the uplink, or NULL after state_refuse().  Then nothing has changed for a process
 *	   that goes on with the same descriptors.
 */
struct uplink *uplink_load(const struct uplink_env *env, const char *text,
			   struct state *st);

/** uplink_free() - disconnect an uplink from the switch and end it */
void uplink_free(struct uplink *uplink);

#endif /* DEVICE_UPLINK_H */
