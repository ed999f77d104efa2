/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ports of the daemon's switch: guests and uplinks, those of the command line
 * and those that an operator adds later.
 */
#ifndef DEVICE_PORTS_H
#define DEVICE_PORTS_H

#include "operator/commands.h"
#include "options.h"
#include "targets.h"
#include "uplink/uplink.h"
#include "vhost_user/vhost_user.h"
#include "vhost_user/vhost_user_keep.h"

/**
 * struct guest - a place for a guest, connected or not
 * @fn:		its function, or NULL if there is none
 * @vu:		front-end of that
 * @mac:	MAC address of its function
 * @options:	what the operator said
 * @group:	its port
 */
struct guest {
	struct function *fn;
	struct vhost_user *vu;
	uint64_t mac;
	struct port_options options;
	struct port_group group;
};

/**
 * struct uplink_port - a place for an uplink
 * @uplink:	itself, or NULL if there is none
 * @options:	what the operator said
 * @group:	its port, or ports
 */
struct uplink_port {
	struct uplink *uplink;
	struct port_options options;
	struct port_group group;
};

/**
 * struct guest_keep - a guest in memory that outlives the process, always current
 * @used:	there is one
 * @text:	as &port_options has it
 * @pin:	likewise
 * @fn:		function
 * @vu:		front-end
 */
struct guest_keep {
	bool used;
	char text[PORT_NAME_MAX];
	struct pin pin;
	struct function_keep fn;
	struct vu_keep vu;
};

/**
 * struct ports - all of them
 * @loop:	event loop
 * @sw:		switch
 * @fabric:	RDMA between the guests
 * @options:	command line
 * @targets:	storage of the host for guests, or NULL
 * @guest:	places for guests; the number of one counts for its MAC address
 * @uplink:	places for uplinks
 * @port:	those that are taken, for @op
 * @station:	ports of stations of the daemon's own, for @op
 * @stations:	number of them
 * @op:		what an operator's commands are about
 * @keep:	a place for each guest, or NULL
 * @kept_fd:	descriptors of guests that were kept, until they have been recovered
 * @kept_fds:	number of these
 * @taker:	connection of a process that takes all over, or -1
 * @taker_piped: it takes the states of functions from a pipe
 *
 * The places do not move, because switch and functions have pointers to them.
 */
struct ports {
	struct loop *loop;
	struct l2_switch *sw;
	struct fabric *fabric;
	const struct options *options;
	const struct targets *targets;
	struct guest guest[GUESTS_MAX];
	struct uplink_port uplink[UPLINKS_MAX];
	struct operator_port port[GUESTS_MAX + UPLINKS_MAX + TARGETS_MAX];
	struct operator_port station[TARGETS_MAX];
	unsigned int stations;
	struct operator op;
	struct guest_keep *keep;
	int *kept_fd;
	size_t kept_fds;
	int taker;
	bool taker_piped;
};

/**
 * ports_start() - start those of the command line
 * @ports:	with @loop, @sw, @fabric and @options filled in, zeroes else
 *
 * Return: 0, or -errno after an error was printed, and none is left.
 */
int ports_start(struct ports *ports);

/**
 * guest_make() - make a guest's function and front-end, which does not listen yet
 * @ports:	all
 * @number:	its place, which is free
 * @options:	what is known of it
 * @pcap:	descriptor of its capture file, taken over if there is no error, or -1
 *
 * Return: 0, or -errno after an error was printed.
 */
int guest_make(struct ports *ports, unsigned int number, const struct port_options *options,
	       int pcap);

/** guest_unmake() - end a guest */
void guest_unmake(struct ports *ports, struct guest *guest);

/** guest_start() - the same, and it listens at its path, or at socket @fd, taken over */
int guest_start(struct ports *ports, unsigned int number, const struct port_options *options,
		int fd);

/** group_start() - as guest_make(), of a port's group; @number is that of all ports */
int group_start(struct port_group *group, const char *name,
		const struct port_options *options, unsigned int number, int pcap);

/** group_stop() - close its capture file */
void group_stop(struct port_group *group);

/** uplink_start() - make an uplink by its text, and by a descriptor, taken over, or -1 */
int uplink_start(struct ports *ports, unsigned int number, const struct port_options *options,
		 int fd);

/** ports_list() - list those that there are, as after each change */
void ports_list(struct ports *ports);

/** ports_have() - is there a port of that text? */
bool ports_have(const struct ports *ports, const char *text);

/** ports_guest_place() - a free place for a guest, or GUESTS_MAX after an error was printed */
unsigned int ports_guest_place(const struct ports *ports, const struct port_options *options);

/** ports_init() - there are none, but an operator may add some */
void ports_init(struct ports *ports);

/** ports_leave_nvmf() - the storage of the host is about to go */
void ports_leave_nvmf(struct ports *ports);

/** ports_stop() - end all */
void ports_stop(struct ports *ports);

/** port_pcap_start() - open capture file @path, if it is not NULL; prints an error */
int port_pcap_start(struct pcap **pcap, const char *path);

#endif /* DEVICE_PORTS_H */
