// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stream of TCP as frames with the same headers.
 */
#include <endian.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "packet/csum.h"
#include "packet/inet.h"
#include "packet/tso.h"

/* Sets where TCP begins, in headers that are long enough for IP without options. */
static bool tso_ip(struct tso_layout *at, const uint8_t *head)
{
	const uint8_t *ip = head + at->ip;

	if (at->v6) {
		at->l4 = at->ip + IPV6_HLEN;
		return ip[0] >> 4 == 6 && ip[IPV6_NEXT] == IPPROTO_TCP;
	}
	at->l4 = at->ip + (ip[0] & 15) * 4u;
	return ip[0] >> 4 == 4 && at->l4 >= at->ip + IPV4_HLEN &&
	       ip[IPV4_PROTOCOL] == IPPROTO_TCP &&
	       !(get_be16(ip + IPV4_FRAGMENT) & IPV4_IS_FRAGMENT);
}

bool tso_init(struct tso *tso, const uint8_t *head, size_t len)
{
	struct tso_layout *at = &tso->at;
	uint16_t type;

	*tso = (struct tso) { .at = { .len = len, .ip = ETH_HLEN } };
	if (len < ETH_HLEN + IPV4_HLEN + TCP_HLEN || len > sizeof(tso->head))
		return false;
	memcpy(tso->head, head, len);
	if (get_be16(head + ETH_HLEN - 2) == ETHERTYPE_VLAN)
		at->ip += INET_TAG_LEN;
	type = get_be16(head + at->ip - 2);
	at->v6 = type == ETHERTYPE_IPV6;
	if (!(at->v6 || type == ETHERTYPE_IP) || !tso_ip(at, tso->head) ||
	    len < at->l4 + TCP_HLEN)
		return false;
	return len == at->l4 + (head[at->l4 + TCP_DOFF] >> 4) * 4u;
}

static void tso_number_ip(uint8_t *ip, const struct tso_layout *at, unsigned int i, size_t len)
{
	if (at->v6) {
		put_be16(ip + IPV6_LEN, at->len - at->ip - IPV6_HLEN + len);
		return;
	}
	put_be16(ip + IPV4_LEN, at->len - at->ip + len);
	put_be16(ip + IPV4_ID, get_be16(ip + IPV4_ID) + i);
}

void tso_number(uint8_t *head, const struct tso_layout *at, unsigned int i, size_t off,
		size_t len, bool last)
{
	uint8_t *tcp = head + at->l4;
	uint32_t seq;

	tso_number_ip(head + at->ip, at, i, len);
	memcpy(&seq, tcp + TCP_SEQ, sizeof(seq));
	seq = htobe32(be32toh(seq) + (uint32_t)off);
	memcpy(tcp + TCP_SEQ, &seq, sizeof(seq));
	if (i)
		tcp[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
	if (!last)
		tcp[TCP_FLAGS] &= (uint8_t)~(TCP_FIN | TCP_PSH);
}

void tso_segment(const struct tso *tso, uint8_t *frame, unsigned int i, size_t off,
		 size_t len, bool last)
{
	memcpy(frame, tso->head, tso->at.len);
	tso_number(frame, &tso->at, i, off, len, last);
	csum_fill(frame, tso->at.len + len);
}
