// SPDX-License-Identifier: GPL-2.0
/*
 * Data exchanged between the provider and the kernel.
 *
 * Either side may be newer than the other.  virtio_roce-abi.h has the rules.
 */
#include <rdma/uverbs_ioctl.h>

#include "vroce_caps.h"
#include "vroce_udata.h"

/**
 * vroce_udata_in() - copy a request of the provider
 * @udata: of the user
 * @req: request; what the provider does not send is zero
 * @min: bytes that every provider sends
 * @len: bytes of @req
 *
 * What a newer provider sends behind @len must be zero: the driver does not know what
 * it asks for.
 *
 * Return: 0 or -errno.
 */
int vroce_udata_in(struct ib_udata *udata, void *req, size_t min, size_t len)
{
	memset(req, 0, len);
	if (udata->inlen < min)
		return -EINVAL;
	if (udata->inlen > len &&
	    !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EINVAL;
	return ib_copy_from_udata(req, udata, min_t(size_t, len, udata->inlen));
}

/**
 * vroce_udata_out() - copy a response to the provider
 * @udata: of the user; vroce_check_udata() has checked it
 * @resp: response
 * @len: bytes of @resp, of which the provider gets those that it has room for
 *
 * Return: 0 or -errno.
 */
int vroce_udata_out(struct ib_udata *udata, void *resp, size_t len)
{
	return ib_copy_to_udata(udata, resp,
				min_t(size_t, len, udata->outlen));
}

/**
 * vroce_check_udata() - check what the provider sends and expects, for a verb that
 *	has no request of the provider
 * @udata: NULL for the kernel
 * @outmin: bytes of the response that every provider has room for
 *
 * Return: 0 or -EINVAL.
 */
int vroce_check_udata(struct ib_udata *udata, size_t outmin)
{
	if (!udata)
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	if (udata->outlen < outmin)
		return -EINVAL;
	return 0;
}

/**
 * vroce_wants_direct() - which form do queues of an owner have?
 * @dev: device
 * @udata: of the user, NULL for the kernel
 *
 * Return: true if they are direct, false if they have the form of the RFC.
 */
bool vroce_wants_direct(struct vroce_dev *dev, struct ib_udata *udata)
{
	struct vroce_ucontext *uctx;

	if (!udata)
		return vroce_has_direct(dev);
	uctx = vroce_udata_context(udata);
	return uctx->features & VIRTIO_ROCE_FEATURE_DIRECT;
}
