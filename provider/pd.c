// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains, thread domains, and parent domains of both.
 *
 * A parent domain stands for the protection domain that it contains: it has its handle.
 * If it has a thread domain, too, the application promises that the objects which are
 * made in it are used by one thread at a time, and the queues of QPs and CQs have no lock.
 * That of an SRQ stays, because it is for those who poll the CQs, too.
 *
 * Memory of queues is the kernel's, so the allocators of a parent domain are never asked.
 */
#include <errno.h>
#include <stdlib.h>

#include "virtio_roce.h"

static struct virtio_roce_pd *to_vpd(struct ibv_pd *pd)
{
	return container_of(pd, struct virtio_roce_pd, pd);
}

static struct virtio_roce_td *to_vtd(struct ibv_td *td)
{
	return container_of(td, struct virtio_roce_td, td);
}

static bool in_use(const unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

/**
 * virtio_roce_single_threaded() - are objects made in a domain used by one thread?
 * @pd: protection domain or parent domain, or NULL
 */
bool virtio_roce_single_threaded(struct ibv_pd *pd)
{
	return pd && to_vpd(pd)->td;
}

struct ibv_pd *virtio_roce_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct virtio_roce_pd *pd;
	struct ibv_alloc_pd cmd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	if (ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(pd);
		return NULL;
	}

	return &pd->pd;
}

static void free_parent_domain(struct virtio_roce_pd *pd)
{
	__atomic_fetch_sub(&pd->contained->users, 1, __ATOMIC_RELEASE);
	if (pd->td)
		__atomic_fetch_sub(&pd->td->users, 1, __ATOMIC_RELEASE);
	free(pd);
}

int virtio_roce_dealloc_pd(struct ibv_pd *ibpd)
{
	struct virtio_roce_pd *pd = to_vpd(ibpd);
	int err;

	if (pd->contained) {
		free_parent_domain(pd);
		return 0;
	}
	if (in_use(&pd->users))
		return EBUSY;

	err = ibv_cmd_dealloc_pd(ibpd);
	if (err)
		return err;

	free(pd);
	return 0;
}

struct ibv_td *virtio_roce_alloc_td(struct ibv_context *context,
				    struct ibv_td_init_attr *attr)
{
	struct virtio_roce_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;

	td->td.context = context;
	return &td->td;
}

int virtio_roce_dealloc_td(struct ibv_td *ibtd)
{
	struct virtio_roce_td *td = to_vtd(ibtd);

	if (in_use(&td->users))
		return EBUSY;

	free(td);
	return 0;
}

struct ibv_pd *
virtio_roce_alloc_parent_domain(struct ibv_context *context,
				struct ibv_parent_domain_init_attr *attr)
{
	struct virtio_roce_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (attr->comp_mask & ~(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	/* It contains a protection domain, not another parent domain. */
	if (to_vpd(attr->pd)->contained) {
		errno = EINVAL;
		return NULL;
	}

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ibv_initialize_parent_domain(&pd->pd, attr->pd);
	pd->contained = to_vpd(attr->pd);
	__atomic_fetch_add(&pd->contained->users, 1, __ATOMIC_RELAXED);
	if (attr->td) {
		pd->td = to_vtd(attr->td);
		__atomic_fetch_add(&pd->td->users, 1, __ATOMIC_RELAXED);
	}
	return &pd->pd;
}

/*
 * The kernel keeps the handle, which a process got from another one with the file of the
 * context.  Whether it is that of a protection domain shows where it is used.
 */
struct ibv_pd *virtio_roce_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct virtio_roce_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	pd->pd.context = context;
	pd->pd.handle = handle;
	return &pd->pd;
}

/* The caller frees parent domains that contain it before it. */
void virtio_roce_unimport_pd(struct ibv_pd *pd)
{
	free(to_vpd(pd));
}
