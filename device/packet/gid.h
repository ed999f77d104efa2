/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * GIDs: what their bytes say.
 */
#ifndef DEVICE_PACKET_GID_H
#define DEVICE_PACKET_GID_H

#include <stdbool.h>
#include <stdint.h>

#define GID_SIZE	16

/* Where the IPv4 address stands in a GID that holds one. */
#define GID_IPV4	12

/** gid_equal() - are two GIDs the same? */
bool gid_equal(const uint8_t *a, const uint8_t *b);

/** gid_is_ipv4() - is it an IPv4 address mapped into IPv6? */
bool gid_is_ipv4(const uint8_t *raw);

/** gid_is_multicast() - is it the address of a group? */
bool gid_is_multicast(const uint8_t *raw);

/** gid_is_unicast() - is it the address of one port? */
bool gid_is_unicast(const uint8_t *raw);

/** gid_is_zero() - is there no GID at all? */
bool gid_is_zero(const uint8_t *raw);

/** gid_from_ipv4() - the GID of an IPv4 address, which has 4 bytes at @addr */
void gid_from_ipv4(uint8_t *raw, const void *addr);

#endif /* DEVICE_PACKET_GID_H */
