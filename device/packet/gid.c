// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GIDs: what their bytes say.
 */
#include <string.h>

#include "packet/gid.h"

bool gid_equal(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, GID_SIZE);
}

bool gid_is_zero(const uint8_t *raw)
{
	static const uint8_t zero[GID_SIZE];

	return gid_equal(raw, zero);
}

bool gid_is_ipv4(const uint8_t *raw)
{
	static const uint8_t prefix[GID_IPV4] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(raw, prefix, sizeof(prefix));
}

bool gid_is_multicast(const uint8_t *raw)
{
	return gid_is_ipv4(raw) ? (raw[GID_IPV4] & 0xf0) == 0xe0 :
				  raw[0] == 0xff;
}

bool gid_is_unicast(const uint8_t *raw)
{
	if (gid_is_multicast(raw))
		return false;
	return gid_is_ipv4(raw) ? raw[GID_IPV4] : !gid_is_zero(raw);
}

void gid_from_ipv4(uint8_t *raw, const void *addr)
{
	memset(raw, 0, GID_SIZE);
	memset(raw + 10, 0xff, 2);
	memcpy(raw + GID_IPV4, addr, 4);
}
