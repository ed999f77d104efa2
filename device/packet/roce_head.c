// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCEv2: the headers of a connection, made once.
 *
 * All packets of a connection have the same headers from Ethernet to the BTH, but for
 * lengths, ECN and what the BTH says of the single packet.  So these are copied from a
 * template.  The ICRC covers, before the BTH, only what depends on the length, and the
 * identification of IPv4: its state there is kept for the last length with payload (as a
 * rule the path MTU), and for the last one without, both with an identification of 0.  A
 * CRC is linear: the bits of the identification change the same bits of it, whatever the
 * other bytes are, so that two look-ups add it.
 */
#include <libdeflate.h>
#include <pthread.h>

#include "packet/roce_ext.h"
#include "packet/roce_head.h"

/* From the identification to the BTH. */
#define ID_TAIL		(ROCE_IPV4_SIZE - offsetof(struct iphdr, id) + ROCE_UDP_SIZE)

/* Changes of the CRC by the first and by the second byte of an identification. */
static uint32_t id_crc[2][256];

static void id_crc_init(void)
{
	uint8_t tail[ID_TAIL] = { 0 };
	const uint32_t zero = libdeflate_crc32(0, tail, sizeof(tail));
	unsigned int i, byte;

	for (i = 0; i < ARRAY_SIZE(id_crc); i++) {
		for (byte = 0; byte < ARRAY_SIZE(id_crc[i]); byte++) {
			tail[i] = byte;
			id_crc[i][byte] = libdeflate_crc32(0, tail, sizeof(tail)) ^ zero;
		}
		tail[i] = 0;
	}
}

/* Where things stand in the template, behind the beginning of the IP header. */
static size_t head_ip_size(const struct roce_head *head)
{
	return head->ipv4 ? ROCE_IPV4_SIZE : ROCE_IPV6_SIZE;
}

static size_t head_udp(const struct roce_head *head)
{
	return head->ip + head_ip_size(head);
}

bool roce_head_init(struct roce_head *head, const struct pkt *pkt, const uint8_t *smac)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct pkt plain = {
		/* UC has none, but the same headers in front of what differs. */
		.opcode = PKT_OPCODE(PKT_RC, PKT_ACK),
		.npsn = 1,
		.dest_qpn = pkt->dest_qpn,
		.src_qpn = pkt->src_qpn,
		.sgid = pkt->sgid,
		.dgid = pkt->dgid,
		.vlan = pkt->vlan,
		.av = pkt->av,
	};
	uint8_t frame[ROCE_HEADERS_MAX];
	struct roce_path path;
	struct iphdr ip;

	pthread_once(&once, id_crc_init);
	head->size = 0;
	roce_path_init(&path, &plain, smac);
	if (!roce_build(frame, &path, &plain))
		return false;
	*head = (struct roce_head) {
		.ip = path.vlan ? ETH_HLEN + ROCE_TAG_SIZE : ETH_HLEN,
		.ipv4 = gid_is_ipv4(pkt->dgid),
		.tclass = path.tclass,
	};
	head->size = head_udp(head) + ROCE_UDP_SIZE + ROCE_BTH_SIZE;
	memcpy(head->bytes, frame, head->size);
	if (head->ipv4) {
		memcpy(&ip, frame + head->ip, sizeof(ip));
		ip.tos = 0;
		ip.tot_len = 0;
		ip.id = 0;
		ip.check = 0;
		head->sum = ipv4_sum(&ip);
	}
	return true;
}

/* All that differs in the IP header of a packet with @len bytes from the UDP header on. */
static void head_put_ip(uint8_t *p, const struct roce_head *head, size_t len, uint8_t tclass,
			uint16_t ip_id)
{
	const uint16_t tot_len = htobe16(ROCE_IPV4_SIZE + len);
	const uint16_t tos = htobe16(tclass);
	const uint16_t id = htobe16(ip_id);
	uint16_t check;

	if (!head->ipv4) {
		p[1] = tclass << 4 | (p[1] & 0x0f);
		put_be16(p + offsetof(struct ip6_hdr, ip6_plen), len);
		return;
	}
	p[1] = tclass;
	memcpy(p + offsetof(struct iphdr, tot_len), &tot_len, sizeof(tot_len));
	memcpy(p + offsetof(struct iphdr, id), &id, sizeof(id));
	check = ~sum_fold((uint64_t)head->sum + tot_len + tos + id);
	memcpy(p + offsetof(struct iphdr, check), &check, sizeof(check));
}

uint8_t *roce_head_build(uint8_t *frame, const struct roce_head *head, const struct pkt *pkt,
			 uint32_t mtu)
{
	const struct pkt_op *op = pkt_op(pkt->opcode);
	uint8_t tclass = head->tclass, *udp, *bth;
	unsigned int bits;
	size_t len;

	if (!op || pkt->len > ROCE_PAYLOAD_MAX)
		return NULL;
	bits = pkt_headers(op, pkt->opcode);
	len = ROCE_UDP_SIZE + ROCE_BTH_SIZE + roce_header_size(bits) + pkt->len +
	      roce_pad(pkt->len) + ROCE_ICRC_SIZE;
	if (head_ip_size(head) + len > mtu)
		return NULL;
	if (pkt->ect && !(tclass & ECN_MASK))
		tclass |= ECN_ECT0;
	memcpy(frame, head->bytes, sizeof(head->bytes));
	head_put_ip(frame + head->ip, head, len, tclass, pkt->psn);
	udp = frame + head_udp(head);
	put_be16(udp + offsetof(struct udphdr, uh_ulen), len);
	bth = udp + ROCE_UDP_SIZE;
	bth[0] = pkt->opcode;
	bth[1] = (pkt->solicited ? BTH_SOLICITED : 0) | BTH_MIGRATED |
		 roce_pad(pkt->len) << BTH_PAD_SHIFT;
	put_be32(bth + 8, (pkt->ack_req ? (uint32_t)BTH_ACK_REQ << 24 : 0) |
			  (pkt->same ? (uint32_t)BTH_SAME << 24 : 0) | pkt->psn);
	return roce_put_headers(bth + ROCE_BTH_SIZE, bits, pkt);
}

/* State of the ICRC in front of the BTH of a frame. */
static uint32_t head_crc(struct roce_head *head, const uint8_t *frame, bool payload)
{
	const uint8_t *ulen = frame + head_udp(head) + offsetof(struct udphdr, uh_ulen);
	const uint16_t len = get_be16(ulen);
	uint8_t masked[ICRC_HEAD_MAX];
	size_t size;

	if (head->crc_len[payload] == len)
		return head->crc[payload];
	size = roce_icrc_head(masked, frame) - ROCE_BTH_SIZE;
	if (head->ipv4)
		put_be16(masked + size - ID_TAIL, 0);
	head->crc_len[payload] = len;
	head->crc[payload] = libdeflate_crc32(0, masked, size);
	return head->crc[payload];
}

size_t roce_head_finish(uint8_t *frame, struct roce_head *head, uint8_t *payload,
			const struct pkt *pkt)
{
	uint8_t *p = payload + pkt->len, *bth = frame + head->size - ROCE_BTH_SIZE;
	uint32_t icrc = head_crc(head, frame, pkt->len);

	if (head->ipv4)
		icrc ^= id_crc[0][pkt->psn >> 8 & 0xff] ^ id_crc[1][pkt->psn & 0xff];
	memset(p, 0, roce_pad(pkt->len));
	p += roce_pad(pkt->len);
	/* All from here on is covered as it stands, but for this byte, which is 0. */
	bth[BTH_RESERVED] = 0xff;
	icrc = htole32(libdeflate_crc32(icrc, bth, p - bth));
	bth[BTH_RESERVED] = 0;
	memcpy(p, &icrc, sizeof(icrc));
	return p + sizeof(icrc) - frame;
}
