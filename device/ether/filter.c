// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which frames a guest has asked its function to receive.
 */

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ether/filter.h"

void filter_init(struct filter *filter, const uint8_t *mac)
{
	memset(filter, 0, sizeof(*filter));
	memcpy(filter->mac, mac, ETH_ALEN);
	filter_set_mode(filter, VIRTIO_NET_CTRL_RX_PROMISC, true);
}

void filter_set_mode(struct filter *filter, uint8_t mode, bool on)
{
	if (on)
		filter->mode |= 1u << mode;
	else
		filter->mode &= ~(1u << mode);
}

static bool filter_mode(const struct filter *filter, uint8_t mode)
{
	return filter->mode & (1u << mode);
}

static bool filter_vlan(const struct filter *filter, int vid)
{
	return filter->vlan[vid / 8] & (1u << vid % 8);
}

static bool filter_has(const struct filter_macs *macs, const uint8_t *mac)
{
	uint32_t i;

	if (macs->overflow)
		return true;
	for (i = 0; i < macs->n; i++)
		if (!memcmp(macs->mac[i], mac, ETH_ALEN))
			return true;
	return false;
}

bool filter_names(const struct filter *filter, const uint8_t *mac)
{
	return !filter->uni.overflow && filter_has(&filter->uni, mac);
}

bool filter_pass(const struct filter *filter, const struct frame *frame)
{
	static const uint8_t broadcast[ETH_ALEN] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	const uint8_t *mac = frame->eth.ether_dhost;

	if (filter_mode(filter, VIRTIO_NET_CTRL_RX_PROMISC))
		return true;
	if (filter->vlan_on && frame->vlan >= 0 &&
	    !filter_vlan(filter, frame->vlan))
		return false;

	if (!memcmp(mac, broadcast, ETH_ALEN))
		return !filter_mode(filter, VIRTIO_NET_CTRL_RX_NOBCAST);
	if (mac[0] & 1) {
		if (filter_mode(filter, VIRTIO_NET_CTRL_RX_NOMULTI))
			return false;
		return filter_mode(filter, VIRTIO_NET_CTRL_RX_ALLMULTI) ||
		       filter_has(&filter->multi, mac);
	}
	if (filter_mode(filter, VIRTIO_NET_CTRL_RX_NOUNI))
		return false;
	return filter_mode(filter, VIRTIO_NET_CTRL_RX_ALLUNI) ||
	       !memcmp(mac, filter->mac, ETH_ALEN) ||
	       filter_has(&filter->uni, mac);
}

/* Takes one half of the table from @req; returns its bytes, or 0. */
static size_t filter_parse(struct filter_macs *macs, const uint8_t *req,
			   size_t len)
{
	uint32_t n;

	if (len < sizeof(n))
		return 0;
	memcpy(&n, req, sizeof(n));
	n = le32toh(n);
	if (n > (len - sizeof(n)) / ETH_ALEN)
		return 0;

	macs->overflow = n > FILTER_MACS_MAX;
	macs->n = macs->overflow ? 0 : n;
	memcpy(macs->mac, req + sizeof(n), macs->n * ETH_ALEN);
	return sizeof(n) + (size_t)n * ETH_ALEN;
}

int filter_set_macs(struct filter *filter, const uint8_t *req, size_t len)
{
	struct filter_macs uni, multi;
	size_t uni_len, multi_len;

	uni_len = filter_parse(&uni, req, len);
	if (!uni_len)
		return -EINVAL;
	multi_len = filter_parse(&multi, req + uni_len, len - uni_len);
	if (!multi_len || uni_len + multi_len != len)
		return -EINVAL;
	filter->uni = uni;
	filter->multi = multi;
	return 0;
}

int filter_set_vlan(struct filter *filter, uint16_t vid, bool on)
{
	if (vid >= FILTER_VLANS)
		return -EINVAL;
	if (on)
		filter->vlan[vid / 8] |= 1u << vid % 8;
	else
		filter->vlan[vid / 8] &= ~(1u << vid % 8);
	return 0;
}

static void filter_macs_io(struct state *st, struct filter_macs *macs)
{
	state_bool(st, "overflow", &macs->overflow);
	state_count(st, "addresses", &macs->n, FILTER_MACS_MAX, ETH_ALEN);
	state_bytes(st, "addresses", macs->mac, (size_t)macs->n * ETH_ALEN);
}

void filter_io(struct state *st, struct filter *filter)
{
	state_bytes(st, "mac", filter->mac, ETH_ALEN);
	state_u8(st, "mode", &filter->mode, UINT8_MAX);
	filter_macs_io(st, &filter->uni);
	filter_macs_io(st, &filter->multi);
	state_bytes(st, "vlans", filter->vlan, sizeof(filter->vlan));
}
