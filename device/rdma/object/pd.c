// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains.
 */
#include <stdlib.h>

#include "rdma/object/pd.h"

int pd_table_init(struct pd_table *pds, struct rnic_ctx *ctx)
{
	pds->ctx = ctx;
	return obj_table_init(&pds->objs, ctx->limits.pds);
}

bool pd_table_reset(struct pd_table *pds, struct portion *portion)
{
	struct pd *pd;

	while (pds->objs.used && portion_next(portion, pds->objs.max)) {
		pd = obj_at(&pds->objs, portion->at++);
		if (!pd)
			continue;
		pd_destroy(pds, pd->pdn);
		portion->left -= PORTION_OBJECT;
	}
	return !pds->objs.used;
}

void pd_table_fini(struct pd_table *pds)
{
	obj_table_fini(&pds->objs);
}

const char *pd_create(struct pd_table *pds, uint32_t *pdn)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return "out of memory";
	if (obj_add(&pds->objs, pd, &pd->pdn)) {
		free(pd);
		return rnic_why(pds->ctx,
				"all %u protection domains are in use (--pds)",
				pds->ctx->limits.pds);
	}
	*pdn = pd->pdn;
	return NULL;
}

const char *pd_destroy(struct pd_table *pds, uint32_t pdn)
{
	struct pd *pd = pd_get(pds, pdn);

	if (!pd)
		return "unknown protection domain";
	if (pd->refs)
		return "protection domain in use";
	obj_del(&pds->objs, pdn);
	free(pd);
	return NULL;
}

/* Their references are those of what is loaded later. */
void pd_table_io(struct state *st, struct pd_table *pds)
{
	uint32_t i, at = 0, n = pds->objs.used;
	struct pd *pd;

	obj_table_io(st, &pds->objs);
	state_count(st, "domains", &n, pds->objs.max, sizeof(pd->pdn));
	for (i = 0; i < n && !st->failed; i++) {
		pd = st->loading ? calloc(1, sizeof(*pd)) : obj_next(&pds->objs, &at);
		if (!state_need(st, pd, "domains", "out of memory"))
			return;
		state_u32(st, "handle", &pd->pdn, UINT32_MAX);
		if (!st->loading || (!st->failed && obj_put(&pds->objs, pd->pdn, pd)))
			continue;
		free(pd);
		state_refuse(st, "handle", "it is free, or another one's");
	}
	obj_table_io_end(st, &pds->objs);
}
