/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The addresses that a guest may use, where the operator has named them.
 */
#ifndef DEVICE_PIN_H
#define DEVICE_PIN_H

#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/gid.h"

#define PIN_GIDS_MAX	16

/* How many bytes of a frame are checked, if it has so many. */
#define PIN_HEAD	192

/**
 * struct pin - addresses of a port
 * @has_mac:	only @mac may be used
 * @mac:	its address
 * @gids:	number of @gid; unless it is 0, no others may be used
 * @gid:	GIDs, which are IP addresses as well
 * @elsewhere:	the guest is in the network until it is moved here: see switch_set_away()
 * @copy:	a guest that comes here is a copy of one that goes on: see rnic_parted()
 *
 * With @has_mac the link-local IPv6 address that is made of @mac needs no @gid.
 */
struct pin {
	bool has_mac;
	uint8_t mac[ETH_ALEN];
	unsigned int gids;
	uint8_t gid[PIN_GIDS_MAX][GID_SIZE];
	bool elsewhere;
	bool copy;
};

/** pin_any() - is there anything to check? */
static inline bool pin_any(const struct pin *pin)
{
	return pin->has_mac || pin->gids;
}

/** pin_mac_ok() - may the port have this MAC address? */
bool pin_mac_ok(const struct pin *pin, const uint8_t *mac);

/** pin_gid_ok() - may the port have this GID, or IP address? */
bool pin_gid_ok(const struct pin *pin, const uint8_t *gid);

/**
 * pin_frame_ok() - may the port send this frame?
 * @pin:	addresses
 * @head:	the beginning of the frame, in memory that does not change
 * @len:	bytes of that, PIN_HEAD if the frame has so many
 * @sum:	where a checksum will be written after this, or 0 for nowhere
 *
 * The source MAC address is looked at; what ARP and neighbor discovery claim to
 * be the sender's addresses; and the IP address that a RoCE packet comes from.
 */
bool pin_frame_ok(const struct pin *pin, const uint8_t *head, size_t len,
		  size_t sum);

#endif /* DEVICE_PIN_H */
