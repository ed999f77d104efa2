/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which frames a guest has asked its function to receive.
 */
#ifndef DEVICE_FILTER_H
#define DEVICE_FILTER_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/frame.h"
#include "state/state.h"

#define FILTER_MACS_MAX		64
#define FILTER_VLANS		4096

/**
 * struct filter_macs - one half of the table of addresses
 * @n:		number of addresses
 * @overflow:	there were too many to keep: any address passes
 * @mac:	the addresses
 */
struct filter_macs {
	uint32_t n;
	bool overflow;
	uint8_t mac[FILTER_MACS_MAX][ETH_ALEN];
};

/**
 * struct filter - what a function receives
 * @mode:	bit n is receive mode n of VIRTIO_NET_CTRL_RX
 * @vlan_on:	frames with a tag pass only if their VLAN was added
 * @mac:	the function's own address
 * @uni:	further unicast addresses
 * @multi:	multicast addresses
 * @vlan:	bit map of VLANs
 */
struct filter {
	uint8_t mode;
	bool vlan_on;
	uint8_t mac[ETH_ALEN];
	struct filter_macs uni;
	struct filter_macs multi;
	uint8_t vlan[FILTER_VLANS / 8];
};

/**
 * filter_init() - set the state after a reset of the function
 * @filter:	filter
 * @mac:	the function's own address
 *
 * The filter is promiscuous, because a driver may have no way to ask for that, and
 * does not filter by VLAN.
 */
void filter_init(struct filter *filter, const uint8_t *mac);

/** filter_pass() - does the function receive @frame? */
bool filter_pass(const struct filter *filter, const struct frame *frame);

/** filter_names() - is it one of the further unicast addresses, each of them named? */
bool filter_names(const struct filter *filter, const uint8_t *mac);

/** filter_set_mode() - turn receive mode VIRTIO_NET_CTRL_RX_… on or off */
void filter_set_mode(struct filter *filter, uint8_t mode, bool on);

/**
 * filter_set_macs() - set the table of addresses
 * @filter:	filter
 * @req:	two times: a 32-bit number and as many addresses
 * @len:	bytes of @req
 *
 * Return: 0, or -EINVAL with nothing changed if @len does not fit the numbers.
 */
int filter_set_macs(struct filter *filter, const uint8_t *req, size_t len);

/** filter_set_vlan() - add or remove VLAN @vid; 0 or -EINVAL */
int filter_set_vlan(struct filter *filter, uint16_t vid, bool on);

/** filter_io() - save or load it, without what follows from features */
void filter_io(struct state *st, struct filter *filter);

#endif /* DEVICE_FILTER_H */
