// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Opcodes, as data.
 */
#include <stddef.h>

#include "packet/pkt.h"

#define RC	(1 << PKT_RC)
#define RC_XRC	(1 << PKT_RC | 1 << PKT_XRC)
#define CONN	(RC_XRC | 1 << PKT_UC)
#define ANY	(CONN | 1 << PKT_UD)

const struct pkt_op pkt_ops[PKT_CODES] = {
	[PKT_SEND_FIRST] = {
		.name = "SEND first", .kind = PKT_KIND_SEND,
		.first = true, .payload = true, .services = CONN,
	},
	[PKT_SEND_MIDDLE] = {
		.name = "SEND middle", .kind = PKT_KIND_SEND,
		.payload = true, .services = CONN,
	},
	[PKT_SEND_LAST] = {
		.name = "SEND last", .kind = PKT_KIND_SEND,
		.last = true, .payload = true, .services = CONN,
	},
	[PKT_SEND_LAST_IMM] = {
		.name = "SEND last with immediate", .kind = PKT_KIND_SEND,
		.last = true, .imm = true, .payload = true,
		.headers = PKT_IMMDT, .services = CONN,
	},
	[PKT_SEND_ONLY] = {
		.name = "SEND only", .kind = PKT_KIND_SEND,
		.first = true, .last = true, .payload = true, .services = ANY,
	},
	[PKT_SEND_ONLY_IMM] = {
		.name = "SEND only with immediate", .kind = PKT_KIND_SEND,
		.first = true, .last = true, .imm = true, .payload = true,
		.headers = PKT_IMMDT, .services = ANY,
	},
	[PKT_WRITE_FIRST] = {
		.name = "WRITE first", .kind = PKT_KIND_WRITE,
		.first = true, .payload = true, .headers = PKT_RETH,
		.services = CONN,
	},
	[PKT_WRITE_MIDDLE] = {
		.name = "WRITE middle", .kind = PKT_KIND_WRITE,
		.payload = true, .services = CONN,
	},
	[PKT_WRITE_LAST] = {
		.name = "WRITE last", .kind = PKT_KIND_WRITE,
		.last = true, .payload = true, .services = CONN,
	},
	[PKT_WRITE_LAST_IMM] = {
		.name = "WRITE last with immediate", .kind = PKT_KIND_WRITE,
		.last = true, .imm = true, .payload = true,
		.headers = PKT_IMMDT, .services = CONN,
	},
	[PKT_WRITE_ONLY] = {
		.name = "WRITE only", .kind = PKT_KIND_WRITE,
		.first = true, .last = true, .payload = true,
		.headers = PKT_RETH, .services = CONN,
	},
	[PKT_WRITE_ONLY_IMM] = {
		.name = "WRITE only with immediate", .kind = PKT_KIND_WRITE,
		.first = true, .last = true, .imm = true, .payload = true,
		.headers = PKT_RETH | PKT_IMMDT, .services = CONN,
	},
	[PKT_READ_REQUEST] = {
		.name = "READ request", .kind = PKT_KIND_READ,
		.first = true, .last = true, .headers = PKT_RETH,
		.services = RC_XRC,
	},
	[PKT_READ_FIRST] = {
		.name = "READ response first", .kind = PKT_KIND_READ_RESPONSE,
		.first = true, .response = true, .payload = true,
		.headers = PKT_AETH, .services = RC_XRC,
	},
	[PKT_READ_MIDDLE] = {
		.name = "READ response middle", .kind = PKT_KIND_READ_RESPONSE,
		.response = true, .payload = true, .services = RC_XRC,
	},
	[PKT_READ_LAST] = {
		.name = "READ response last", .kind = PKT_KIND_READ_RESPONSE,
		.last = true, .response = true, .payload = true,
		.headers = PKT_AETH, .services = RC_XRC,
	},
	[PKT_READ_ONLY] = {
		.name = "READ response only", .kind = PKT_KIND_READ_RESPONSE,
		.first = true, .last = true, .response = true, .payload = true,
		.headers = PKT_AETH, .services = RC_XRC,
	},
	[PKT_ACK] = {
		.name = "ACK", .kind = PKT_KIND_ACK,
		.first = true, .last = true, .response = true,
		.headers = PKT_AETH, .services = RC_XRC,
	},
	[PKT_ATOMIC_ACK] = {
		.name = "ATOMIC acknowledge", .kind = PKT_KIND_ATOMIC_ACK,
		.first = true, .last = true, .response = true,
		.headers = PKT_AETH | PKT_ATOMICACKETH, .services = RC_XRC,
	},
	[PKT_CMP_SWAP] = {
		.name = "CMP_SWAP", .kind = PKT_KIND_ATOMIC,
		.first = true, .last = true, .headers = PKT_ATOMICETH,
		.services = RC_XRC,
	},
	[PKT_FETCH_ADD] = {
		.name = "FETCH_ADD", .kind = PKT_KIND_ATOMIC,
		.first = true, .last = true, .headers = PKT_ATOMICETH,
		.services = RC_XRC,
	},
	[PKT_SEND_LAST_INV] = {
		.name = "SEND last with invalidate", .kind = PKT_KIND_SEND,
		.last = true, .inv = true, .payload = true, .headers = PKT_IETH,
		.services = RC_XRC,
	},
	[PKT_SEND_ONLY_INV] = {
		.name = "SEND only with invalidate", .kind = PKT_KIND_SEND,
		.first = true, .last = true, .inv = true, .payload = true,
		.headers = PKT_IETH, .services = RC_XRC,
	},
	[PKT_FLUSH] = {
		.name = "FLUSH", .kind = PKT_KIND_FLUSH,
		.first = true, .last = true, .headers = PKT_FETH | PKT_RETH,
		.services = RC,
	},
	[PKT_ATOMIC_WRITE] = {
		.name = "ATOMIC WRITE", .kind = PKT_KIND_ATOMIC_WRITE,
		.first = true, .last = true, .payload = true,
		.headers = PKT_RETH, .services = RC,
	},
};

const struct pkt_op pkt_cnp = {
	.name = "CNP", .kind = PKT_KIND_CNP, .first = true, .last = true,
	.headers = PKT_CNP_RESERVED, .services = 1 << PKT_CONG,
};

/* By service: what all of its requests have. */
const uint16_t pkt_service_headers[8] = {
	[PKT_UD] = PKT_DETH,
	[PKT_XRC] = PKT_XRCETH,
};

/* By place, [first][last][extra]; only a last segment has extras. */
static const uint8_t pkt_codes[][2][2][PKT_EXTRAS] = {
	[PKT_KIND_SEND] = {
		{ { PKT_SEND_MIDDLE, PKT_SEND_MIDDLE, PKT_SEND_MIDDLE },
		  { PKT_SEND_LAST, PKT_SEND_LAST_IMM, PKT_SEND_LAST_INV } },
		{ { PKT_SEND_FIRST, PKT_SEND_FIRST, PKT_SEND_FIRST },
		  { PKT_SEND_ONLY, PKT_SEND_ONLY_IMM, PKT_SEND_ONLY_INV } },
	},
	[PKT_KIND_WRITE] = {
		{ { PKT_WRITE_MIDDLE, PKT_WRITE_MIDDLE },
		  { PKT_WRITE_LAST, PKT_WRITE_LAST_IMM } },
		{ { PKT_WRITE_FIRST, PKT_WRITE_FIRST },
		  { PKT_WRITE_ONLY, PKT_WRITE_ONLY_IMM } },
	},
	[PKT_KIND_READ_RESPONSE] = {
		{ { PKT_READ_MIDDLE }, { PKT_READ_LAST } },
		{ { PKT_READ_FIRST }, { PKT_READ_ONLY } },
	},
};

uint8_t pkt_code(enum pkt_kind kind, bool first, bool last,
		 enum pkt_extra extra)
{
	return pkt_codes[kind][first][last][extra];
}

bool pkt_fits(const struct pkt_op *op, const struct pkt *pkt, uint32_t mtu)
{
	uint64_t room = (uint64_t)pkt->npsn * mtu;

	if (!op->last)
		return pkt->len == room;
	if (!pkt->len)
		return op->first && pkt->npsn == 1;
	return pkt->len <= room && pkt->len > room - mtu;
}
