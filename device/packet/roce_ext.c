// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCEv2: the extension headers, as bytes and back.
 */
#include "base/util.h"
#include "packet/roce_ext.h"

#define FETH_TYPE_MASK		0x0f
#define FETH_LEVEL_SHIFT	4
#define FETH_LEVEL_MASK		0x03

static void xrceth_put(uint8_t *p, const struct pkt *pkt)
{
	p[0] = 0;
	put_be24(p + 1, pkt->srqn);
}

static void xrceth_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->srqn = get_be24(p + 1);
}

static void deth_put(uint8_t *p, const struct pkt *pkt)
{
	put_be32(p, pkt->qkey);
	put_be32(p + 4, pkt->src_qpn & PSN_MASK);
}

static void deth_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->qkey = get_be32(p);
	pkt->src_qpn = get_be24(p + 5);
}

static void reth_put(uint8_t *p, const struct pkt *pkt)
{
	put_be64(p, pkt->va);
	put_be32(p + 8, pkt->rkey);
	put_be32(p + 12, pkt->dmalen);
}

static void reth_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->va = get_be64(p);
	pkt->rkey = get_be32(p + 8);
	pkt->dmalen = get_be32(p + 12);
}

/* The lower byte has the placement type, and the selectivity level above it. */
static void feth_put(uint8_t *p, const struct pkt *pkt)
{
	put_be32(p, pkt->flush_type | pkt->flush_level << FETH_LEVEL_SHIFT);
}

static void feth_get(const uint8_t *p, struct pkt *pkt)
{
	uint32_t word = get_be32(p);

	pkt->flush_type = word & FETH_TYPE_MASK;
	pkt->flush_level = word >> FETH_LEVEL_SHIFT & FETH_LEVEL_MASK;
}

static void aeth_put(uint8_t *p, const struct pkt *pkt)
{
	p[0] = pkt->syndrome;
	put_be24(p + 1, pkt->msn);
}

static void aeth_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->syndrome = p[0];
	pkt->msn = get_be24(p + 1);
}

static void atomiceth_put(uint8_t *p, const struct pkt *pkt)
{
	put_be64(p, pkt->va);
	put_be32(p + 8, pkt->rkey);
	put_be64(p + 12, pkt->swap_add);
	put_be64(p + 20, pkt->compare);
}

static void atomiceth_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->va = get_be64(p);
	pkt->rkey = get_be32(p + 8);
	pkt->swap_add = get_be64(p + 12);
	pkt->compare = get_be64(p + 20);
}

static void atomicack_put(uint8_t *p, const struct pkt *pkt)
{
	put_be64(p, pkt->orig);
}

static void atomicack_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->orig = get_be64(p);
}

static void immdt_put(uint8_t *p, const struct pkt *pkt)
{
	memcpy(p, &pkt->imm, sizeof(pkt->imm));
}

static void immdt_get(const uint8_t *p, struct pkt *pkt)
{
	memcpy(&pkt->imm, p, sizeof(pkt->imm));
}

static void ieth_put(uint8_t *p, const struct pkt *pkt)
{
	put_be32(p, pkt->inv_rkey);
}

static void ieth_get(const uint8_t *p, struct pkt *pkt)
{
	pkt->inv_rkey = get_be32(p);
}

/* A CNP ends with 16 reserved bytes. */
static void cnp_put(uint8_t *p, const struct pkt *pkt __always_unused)
{
	memset(p, 0, 16);
}

static void cnp_get(const uint8_t *p __always_unused,
		    struct pkt *pkt __always_unused)
{
}

const struct roce_ext roce_ext[] = {
	{ 4, xrceth_put, xrceth_get },
	{ 8, deth_put, deth_get },
	{ 4, feth_put, feth_get },
	{ 16, reth_put, reth_get },
	{ 28, atomiceth_put, atomiceth_get },
	{ 4, aeth_put, aeth_get },
	{ 8, atomicack_put, atomicack_get },
	{ 4, immdt_put, immdt_get },
	{ 4, ieth_put, ieth_get },
	{ 16, cnp_put, cnp_get },
};
