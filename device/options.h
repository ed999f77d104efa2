/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The command line of vhost-user-roce.
 */
#ifndef DEVICE_OPTIONS_H
#define DEVICE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/fault.h"
#include "ether/pin.h"
#include "function/function.h"
#include "rdma/rnic.h"
#include "storage/storage.h"
#include "target_options.h"

#define GUESTS_MAX	64
#define UPLINKS_MAX	16

/**
 * enum options_action - what the command line asks for
 * @OPTIONS_RUN:	serve guests
 * @OPTIONS_HELP:	print &options_usage and exit
 * @OPTIONS_VERSION:	print the version and exit
 */
enum options_action {
	OPTIONS_RUN,
	OPTIONS_HELP,
	OPTIONS_VERSION,
};

/**
 * struct port_options - what the command line says about a port of the switch
 * @text:	its socket, or its uplink
 * @pcap:	capture file of its frames, or NULL
 * @fault:	faults
 * @pin:	addresses of a guest
 * @path:	room for a @text that is not an argument
 */
struct port_options {
	const char *text;
	const char *pcap;
	struct fault_config fault;
	struct pin pin;
	char path[PORT_NAME_MAX];
};

/**
 * struct options - what the command line says
 * @action:	what to do; unless it is %OPTIONS_RUN, the rest does not count
 * @guest:	the guests
 * @guests:	number of them
 * @uplink:	the uplinks
 * @uplinks:	number of them
 * @namespace:	namespaces of the host's storage, as of storage_add()
 * @namespaces:	number of them
 * @target:	targets of NVMe over Fabrics
 * @targets:	number of them
 * @all:	faults that each port begins with, and the switch's capture file
 * @queue_pairs: of each guest's Ethernet
 * @limits:	of each guest's RDMA side
 * @poll_us:	poll window
 * @mtu:	of the Ethernet, 0 if the guests decide
 * @speed:	of the Ethernet, in Gbit/s, 0 if none is told
 * @mac_base:	address of the first guest; the others count on from there
 * @packets:	RDMA between the guests goes by packets, too
 * @verbose:	tell more
 * @no_sandbox:	keep all rights
 * @keeper:	another process keeps the descriptors, and starts a daemon again
 * @control:	socket for commands, or NULL
 * @takeover:	control socket of the daemon whose place this one takes, or NULL
 *
 * Strings are those of the argument vector.
 */
struct options {
	enum options_action action;
	struct port_options guest[GUESTS_MAX];
	unsigned int guests;
	struct port_options uplink[UPLINKS_MAX];
	unsigned int uplinks;
	const char *namespace[STORAGE_NAMESPACES_MAX];
	unsigned int namespaces;
	struct target_options target[TARGETS_MAX];
	unsigned int targets;
	struct port_options all;
	uint32_t queue_pairs;
	struct rnic_limits limits;
	uint32_t poll_us;
	uint32_t mtu;
	uint32_t speed;
	uint64_t mac_base;
	bool packets;
	bool verbose;
	bool no_sandbox;
	bool keeper;
	const char *control;
	const char *takeover;
};

/** options_mac() - MAC address of guest number @guest */
uint64_t options_mac(const struct options *options, unsigned int guest);

/**
 * options_guest() - read what says where a guest is served, and its addresses
 * @port:	filled in; its text is that of its path
 * @text:	PATH[,mac=MAC][,gid=ADDRESS]...
 * @who:	what the error messages begin with
 *
 * Return: 0, or -EINVAL after an error was printed.
 */
int options_guest(struct port_options *port, const char *text, const char *who);

/**
 * options_port_mac() - MAC address of a guest
 * @options:	where they count from
 * @port:	the guest
 * @number:	its number, if it has none of its own
 */
uint64_t options_port_mac(const struct options *options,
			  const struct port_options *port, unsigned int number);

/** options_usage - what --help prints */
extern const char options_usage[];

/**
 * options_parse() - read a command line
 * @options:	filled in; defaults for what the command line does not name
 * @argc:	number of arguments
 * @argv:	the arguments, of which the first one is not read; may be reordered
 *
 * Return: 0, or -EINVAL after an error was printed.
 */
int options_parse(struct options *options, int argc, char **argv);

#endif /* DEVICE_OPTIONS_H */
