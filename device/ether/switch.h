/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The learning Ethernet switch that a daemon's guests are connected to.
 */
#ifndef DEVICE_SWITCH_H
#define DEVICE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "ether/fault.h"
#include "ether/frame.h"
#include "ether/pin.h"

struct l2_switch;
struct pcap;

/* Room for a path of a unix socket behind the scheme of an uplink. */
#define PORT_NAME_MAX	120

/*
 * Maximum number of stations behind a port.  A guest is one station, or has some of its
 * own behind it.  Behind other ports there are networks.
 */
#define SWITCH_GUEST_STATIONS	64
#define SWITCH_PORT_STATIONS	1024

/**
 * struct port_stats - what went through a port
 * @in:		frames that came from it
 * @in_bytes:	their bytes
 * @out:	frames that it was given
 * @out_bytes:	their bytes
 * @cut:	frames that were dropped because the port is cut off
 * @spoofed:	frames from it with addresses that it may not use
 * @unfinished:	frames whose checksum or segmentation could not be finished
 * @fault:	what the faults did, both directions together
 */
struct port_stats {
	uint64_t in;
	uint64_t in_bytes;
	uint64_t out;
	uint64_t out_bytes;
	uint64_t cut;
	uint64_t spoofed;
	uint64_t unfinished;
	struct fault_stats fault;
};

/**
 * struct port_group - what the operator sees as one port
 * @name:	what it is called; one of guests' and uplinks' each
 * @pcap:	capture file of its frames, or NULL
 * @cut:	all frames from it and to it are dropped
 * @fault:	faults of each direction
 * @stats:	counters
 *
 * Each guest is one, and each uplink, however many connections it has.
 */
struct port_group {
	char name[PORT_NAME_MAX];
	struct pcap *pcap;
	bool cut;
	struct fault_config fault;
	struct port_stats stats;
};

/**
 * struct switch_port - what is connected to the switch
 * @deliver:	here is a frame, valid during the call.  Must not send
 * @flush:	no more frames for now
 * @arg:	for the two
 * @offloads:	what it takes undone, by &enum offload_bit; may change at any time.
 *		The rest is done before @deliver
 * @group:	what the operator sees it as, or NULL
 * @pin:	addresses that frames from it may have, and that others may not, or
 *		NULL
 * @away:	a guest that is on another host: an address that is pinned to it may be
 *		behind a port with a network; see switch_set_away()
 * @network:	a network is behind it, and not one guest
 * @quota:	stations that may be behind it, 0 for %SWITCH_PORT_STATIONS
 * @sw:		of the switch: itself
 * @station:	of the switch: stations behind it, silent ones included
 * @stations:	of the switch: number of them
 * @last:	of the switch: station that it sent to last, or NULL
 * @entry:	of the switch
 * @fresh:	of the switch: @deliver was called since the last @flush
 * @faults:	of the switch: there are any
 * @fault_in:	of the switch: faults of frames from the port
 * @fault_out:	of the switch: faults of frames to the port
 * @waits:	of the switch: ports that wait for a frame to be finished
 */
struct switch_port {
	void (*deliver)(void *arg, const struct frame *frame);
	void (*flush)(void *arg);
	void *arg;
	unsigned int offloads;
	struct port_group *group;
	const struct pin *pin;
	bool away;
	bool network;
	unsigned int quota;
	struct l2_switch *sw;
	TAILQ_HEAD(stations, station) station;
	unsigned int stations;
	struct station *last;
	LIST_ENTRY(switch_port) entry;
	bool fresh;
	bool faults;
	struct fault fault_in;
	struct fault fault_out;
	LIST_ENTRY(switch_port) waits;
};

/**
 * switch_new() - make a switch without ports
 * @loop:	event loop, for its time
 *
 * Return: the switch, or NULL with errno set.
 */
struct l2_switch *switch_new(struct loop *loop);

/** switch_free() - free a switch that has no port any more */
void switch_free(struct l2_switch *sw);

/** switch_capture() - write each frame to @pcap, or to nothing if it is NULL */
void switch_capture(struct l2_switch *sw, struct pcap *pcap);

/** switch_port_add() - connect a port, with its callbacks filled in */
void switch_port_add(struct l2_switch *sw, struct switch_port *port);

/** switch_port_del() - disconnect a port and forget who is behind it */
void switch_port_del(struct l2_switch *sw, struct switch_port *port);

/** switch_set_away() - a guest is on another host, and no station behind its port; or is here */
void switch_set_away(struct switch_port *port, bool away);

/** switch_forget() - drop the frames of @origin, which goes, that are held back */
void switch_forget(struct l2_switch *sw, const void *origin);

/**
 * switch_send() - send a frame
 * @from:	port that it comes from
 * @frame:	frame
 *
 * It goes to the port behind which its destination was seen; if that is not
 * known, or several are meant, to all ports but @from.  Nothing is allocated.
 */
void switch_send(struct switch_port *from, const struct frame *frame);

/**
 * switch_work() - how much the switch has done so far
 * @sw:		switch
 *
 * Return: bytes that were given to ports, with what a frame costs however short it
 *	   is.  The amount that a call of switch_send() adds is that frame's cost.
 */
uint64_t switch_work(const struct l2_switch *sw);

/**
 * switch_finish_for() - do what is left to be done to a frame, for its receiver
 * @port:	port whose @deliver got @frame, and has not returned
 * @frame:	frame of which something is left to be done
 * @emit:	called with each frame that comes of it, in order
 * @arg:	for @emit
 */
void switch_finish_for(struct switch_port *port, const struct frame *frame,
		       void (*emit)(void *arg, const struct frame *frame), void *arg);

/** switch_is_behind() - was the station of this address heard behind a port last? */
bool switch_is_behind(const struct switch_port *port, const uint8_t *mac);

/** switch_flush() - no more frames for now: flush the ports that got any */
void switch_flush(struct l2_switch *sw);

#endif /* DEVICE_SWITCH_H */
