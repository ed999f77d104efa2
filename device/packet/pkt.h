/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A packet between requester and responder: transport headers plus a scatter list,
 * whether or not it ever becomes bytes on a wire.
 */
#ifndef DEVICE_PACKET_PKT_H
#define DEVICE_PACKET_PKT_H

#include <linux/types.h>
#include <net/ethernet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cursor that sender and receiver know.  Here it is only passed on. */
struct sg;

/* Headers made in advance: here they are only passed on. */
struct roce_head;

/* A NIC of this process: here it only tells who is who. */
struct fabric_end;

/* The upper three bits of an opcode are the service, the others the rest. */
#define PKT_SERVICE(opcode)	((opcode) >> 5)
#define PKT_CODE(opcode)	((opcode) & 0x1f)
#define PKT_OPCODE(service, code) ((service) << 5 | (code))

enum pkt_service {
	PKT_RC			= 0,
	PKT_UC			= 1,
	PKT_UD			= 3,
	PKT_CONG		= 4,
	PKT_XRC			= 5,
	PKT_FRAME		= 7,	/* whole frames: of no packet */
};

/* Congestion notification: the opcode, whatever service the QP is of. */
#define PKT_CNP			0x81

enum pkt_code {
	PKT_SEND_FIRST		= 0x00,
	PKT_SEND_MIDDLE		= 0x01,
	PKT_SEND_LAST		= 0x02,
	PKT_SEND_LAST_IMM	= 0x03,
	PKT_SEND_ONLY		= 0x04,
	PKT_SEND_ONLY_IMM	= 0x05,
	PKT_WRITE_FIRST		= 0x06,
	PKT_WRITE_MIDDLE	= 0x07,
	PKT_WRITE_LAST		= 0x08,
	PKT_WRITE_LAST_IMM	= 0x09,
	PKT_WRITE_ONLY		= 0x0a,
	PKT_WRITE_ONLY_IMM	= 0x0b,
	PKT_READ_REQUEST	= 0x0c,
	PKT_READ_FIRST		= 0x0d,
	PKT_READ_MIDDLE		= 0x0e,
	PKT_READ_LAST		= 0x0f,
	PKT_READ_ONLY		= 0x10,
	PKT_ACK			= 0x11,
	PKT_ATOMIC_ACK		= 0x12,
	PKT_CMP_SWAP		= 0x13,
	PKT_FETCH_ADD		= 0x14,
	PKT_SEND_LAST_INV	= 0x16,
	PKT_SEND_ONLY_INV	= 0x17,
	PKT_FLUSH		= 0x1c,
	PKT_ATOMIC_WRITE	= 0x1d,
	PKT_CODES
};

enum pkt_kind {
	PKT_KIND_NONE,
	PKT_KIND_SEND,
	PKT_KIND_WRITE,
	PKT_KIND_READ,
	PKT_KIND_READ_RESPONSE,
	PKT_KIND_ACK,
	PKT_KIND_CNP,
	PKT_KIND_FLUSH,
	PKT_KIND_ATOMIC,
	PKT_KIND_ATOMIC_ACK,
	PKT_KIND_ATOMIC_WRITE,
};

/* Bytes that an atomic operation is about. */
#define PKT_ATOMIC_SIZE		8u

/** pkt_is_read() - is a request of this kind answered by a READ response? */
static inline bool pkt_is_read(uint8_t kind)
{
	return kind == PKT_KIND_READ || kind == PKT_KIND_FLUSH ||
	       kind == PKT_KIND_ATOMIC_WRITE;
}

/** pkt_is_atomic() - is a request of this kind about %PKT_ATOMIC_SIZE bytes? */
static inline bool pkt_is_atomic(uint8_t kind)
{
	return kind == PKT_KIND_ATOMIC || kind == PKT_KIND_ATOMIC_WRITE;
}

/** pkt_is_answered() - is it answered by something else than an ACK? */
static inline bool pkt_is_answered(uint8_t kind)
{
	return pkt_is_read(kind) || kind == PKT_KIND_ATOMIC;
}

/** pkt_fetches() - does what comes back hold data? */
static inline bool pkt_fetches(uint8_t kind)
{
	return kind == PKT_KIND_READ || kind == PKT_KIND_ATOMIC;
}

/* Things that the last segment of a message carries besides payload. */
enum pkt_extra {
	PKT_EXTRA_NONE,
	PKT_EXTRA_IMM,
	PKT_EXTRA_INV,
	PKT_EXTRAS
};

/* Extension headers, in the order in which they stand in a packet. */
enum pkt_header {
	PKT_XRCETH	= 1 << 0,	/* XRC SRQ */
	PKT_DETH	= 1 << 1,	/* datagram */
	PKT_FETH	= 1 << 2,	/* FLUSH */
	PKT_RETH	= 1 << 3,	/* RDMA */
	PKT_ATOMICETH	= 1 << 4,	/* atomic operation */
	PKT_AETH	= 1 << 5,	/* acknowledgment */
	PKT_ATOMICACKETH = 1 << 6,	/* answer to an atomic operation */
	PKT_IMMDT	= 1 << 7,	/* immediate data */
	PKT_IETH	= 1 << 8,	/* key to invalidate */
	PKT_CNP_RESERVED = 1 << 9,	/* reserved bytes that end a CNP */
};

/**
 * struct pkt_op - what an opcode means, without its service
 * @name:	for messages
 * @kind:	what the packet is about
 * @first:	begins a message or response
 * @last:	ends it
 * @imm:	carries immediate data
 * @inv:	carries a key to invalidate
 * @response:	goes to the requester
 * @payload:	may carry payload
 * @headers:	extension headers, bit mask of &enum pkt_header; those that
 *		all requests of a service have come on top, see pkt_headers()
 * @services:	bit mask of &enum pkt_service that know it
 */
struct pkt_op {
	const char *name;
	uint8_t kind;
	bool first;
	bool last;
	bool imm;
	bool inv;
	bool response;
	bool payload;
	uint16_t headers;
	uint8_t services;
};

/* AETH: the syndrome's upper three bits are the type. */
#define AETH_TYPE(syndrome)	((syndrome) & 0xe0)
#define AETH_VALUE(syndrome)	((syndrome) & 0x1f)

#define AETH_ACK		0x00
#define AETH_RNR		0x20
#define AETH_NAK		0x60
#define AETH_UNLIMITED		0x1f	/* credits of an ACK: not counted */

enum aeth_nak {
	AETH_NAK_PSN		= AETH_NAK | 0,
	AETH_NAK_INV_REQ	= AETH_NAK | 1,
	AETH_NAK_ACCESS		= AETH_NAK | 2,
	AETH_NAK_OP_ERR		= AETH_NAK | 3,
};

/* A wire packet of a connected QP does not tell its sender's QPN. */
#define PKT_QPN_UNKNOWN		UINT32_MAX

/* Of a VLAN: there is a tag. */
#define PKT_VLAN_TAGGED		0x8000

/**
 * struct pkt_av - what an address vector says for the network's headers
 * @dmac:	destination MAC address
 * @tclass:	traffic class: DSCP and ECN
 * @hops:	hop limit, 0 = the usual one
 * @flow:	flow label, 20 bits
 * @priority:	802.1p, of packets with a tag
 */
struct pkt_av {
	uint8_t dmac[ETH_ALEN];
	uint8_t tclass;
	uint8_t hops;
	uint32_t flow;
	uint8_t priority;
};

/**
 * struct pkt - a packet
 * @opcode:	BTH: service and &enum pkt_code
 * @ack_req:	BTH: an ACK is asked for
 * @same:	BTH, in a READ response: no other data was sent with this PSN before
 * @solicited:	BTH: solicited event
 * @psn:	BTH: PSN of the first wire packet that it stands for
 * @npsn:	number of wire packets that it stands for
 * @dest_qpn:	BTH: QPN that it is for
 * @src_qpn:	DETH, and otherwise PKT_QPN_UNKNOWN from a wire
 * @qkey:	DETH
 * @srqn:	XRCETH: number of the XRC SRQ that a request is for
 * @va:		RETH, AtomicETH: address in the responder's memory region
 * @rkey:	RETH, AtomicETH: its key
 * @dmalen:	RETH: bytes
 * @swap_add:	AtomicETH: what replaces the 8 bytes, or is added to them
 * @compare:	AtomicETH: what they are to be, for a CMP_SWAP
 * @orig:	AtomicAckETH: what they were before
 * @flush_type:	FETH: placement type
 * @flush_level: FETH: selectivity level
 * @icrc_twice:	FLUSH: the ICRC is the one of Soft-RoCE, see roce_icrc_ok()
 * @syndrome:	AETH
 * @msn:	AETH
 * @imm:	immediate data, as in the work request
 * @inv_rkey:	IETH: key to invalidate
 * @sgid:	source GID
 * @dgid:	destination GID
 * @vlan:	%PKT_VLAN_TAGGED and the VLAN's number, or 0
 * @ect:	the network may mark it where it is congested
 * @ecn:	the network has
 * @av:		address vector of the sender, for the rest of the headers; NULL
 *		from a wire
 * @head:	of a connection: its headers, which may be made; or NULL
 * @grh:	network header that it came with, as ROCE_GRH_SIZE bytes; NULL
 *		unless from a wire
 * @from:	NIC of this process whose guest it comes from, in memory or as a
 *		frame; NULL from beyond this process
 * @len:	bytes of payload
 * @payload:	cursor at the beginning of the payload, consumed by the
 *		receiver; NULL if @len is 0
 */
struct pkt {
	uint8_t opcode;
	bool ack_req;
	bool same;
	bool solicited;
	uint32_t psn;
	uint32_t npsn;
	uint32_t dest_qpn;
	uint32_t src_qpn;
	uint32_t qkey;
	uint32_t srqn;
	uint64_t va;
	uint32_t rkey;
	uint32_t dmalen;
	uint64_t swap_add;
	uint64_t compare;
	uint64_t orig;
	uint8_t flush_type;
	uint8_t flush_level;
	bool icrc_twice;
	uint8_t syndrome;
	uint32_t msn;
	__be32 imm;
	uint32_t inv_rkey;
	const uint8_t *sgid;
	const uint8_t *dgid;
	uint16_t vlan;
	bool ect;
	bool ecn;
	const struct pkt_av *av;
	struct roce_head *head;
	const uint8_t *grh;
	const struct fabric_end *from;
	uint32_t len;
	struct sg *payload;
};

extern const struct pkt_op pkt_ops[PKT_CODES];
extern const struct pkt_op pkt_cnp;
extern const uint16_t pkt_service_headers[8];

/**
 * pkt_op() - look an opcode up
 * @opcode:	opcode, from anywhere
 *
 * Return: what it means, or NULL if its service does not know it.
 */
static inline const struct pkt_op *pkt_op(uint8_t opcode)
{
	const struct pkt_op *op;

	if (opcode == PKT_CNP)
		return &pkt_cnp;
	if (PKT_CODE(opcode) >= PKT_CODES)
		return NULL;
	op = &pkt_ops[PKT_CODE(opcode)];
	return op->services & 1 << PKT_SERVICE(opcode) ? op : NULL;
}

/**
 * pkt_headers() - the extension headers of an opcode
 * @op:		what pkt_op() says of it
 * @opcode:	the opcode
 *
 * Return: bit mask of &enum pkt_header.
 */
static inline uint16_t pkt_headers(const struct pkt_op *op, uint8_t opcode)
{
	return op->headers |
	       (op->response ? 0 : pkt_service_headers[PKT_SERVICE(opcode)]);
}

/**
 * pkt_code() - the code of a segment of a SEND or WRITE, or of a READ response
 * @kind:	&enum pkt_kind
 * @first:	the segment is the first one
 * @last:	it is the last one
 * @extra:	what the message carries besides payload
 */
uint8_t pkt_code(enum pkt_kind kind, bool first, bool last,
		 enum pkt_extra extra);

/**
 * pkt_fits() - is the length of a segment one that its place allows?
 * @op:		its opcode
 * @pkt:	packet
 * @mtu:	path MTU, bytes
 *
 * All segments but the last one are full.
 */
bool pkt_fits(const struct pkt_op *op, const struct pkt *pkt, uint32_t mtu);

/** psn_count() - number of PSNs that @len bytes take */
static inline uint32_t psn_count(uint32_t len, uint32_t mtu)
{
	return len ? (uint32_t)(((uint64_t)len + mtu - 1) / mtu) : 1;
}

#define PSN_MASK		0xffffffu

/** psn_diff() - how far PSN @a lies ahead of PSN @b; negative if behind */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	uint32_t diff = (a - b) & PSN_MASK;

	return diff & 0x800000 ? (int32_t)diff - 0x1000000 : (int32_t)diff;
}

#endif /* DEVICE_PACKET_PKT_H */
