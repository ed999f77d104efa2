// SPDX-License-Identifier: GPL-2.0
/*
 * Events: the device says that something has happened to an object, by its number.
 */
#include "vroce_cq.h"
#include "vroce_event.h"
#include "vroce_kq.h"
#include "vroce_nvmf.h"
#include "vroce_qp.h"
#include "vroce_srq.h"
#include "vroce_wq.h"

/*
 * The device says that something has happened to an object, which may not exist.  A CQ
 * that is found stays until this returns: see vroce_cq_disable().
 *
 * Context: interrupts off.
 */
static void vroce_event_seen(struct virtio_net_roce_aux *aux, u16 type, u32 number)
{
	struct vroce_dev *dev = auxiliary_get_drvdata(&aux->adev);
	struct vroce_cq *cq;

	if (type == VIRTIO_RDMA_EVENT_SRQ_LIMIT)
		vroce_srq_event(dev, number, IB_EVENT_SRQ_LIMIT_REACHED);
	if (type == VIRTIO_RDMA_EVENT_SRQ_ERROR)
		vroce_srq_event(dev, number, IB_EVENT_SRQ_ERR);
	if (type == VIRTIO_RDMA_EVENT_WQ_FATAL)
		vroce_wq_event(dev, number);
	if (type == VIRTIO_RDMA_EVENT_NVME_PCI_ERR ||
	    type == VIRTIO_RDMA_EVENT_NVME_TIMEOUT)
		vroce_nvmf_event(dev, number, type);
	if (type != VIRTIO_RDMA_EVENT_COMPLETION &&
	    type != VIRTIO_RDMA_EVENT_CQ_ERROR) {
		vroce_qp_event(dev, type, number);
		return;
	}
	cq = xa_load(&dev->cqs, number);
	if (!cq)
		return;
	if (type == VIRTIO_RDMA_EVENT_COMPLETION) {
		vroce_cq_answered(cq);
		vroce_cq_notify(&cq->ibcq);
	} else {
		vroce_cq_fatal(cq);
	}
}

/**
 * vroce_events() - let events reach the objects that they are of
 * @dev: device with %VIRTIO_IB_DEVICE_EVENTS
 * @on: false to stop
 *
 * Context: may sleep.
 */
void vroce_events(struct vroce_dev *dev, bool on)
{
	dev->aux->ops->events(dev->aux, on ? vroce_event_seen : NULL);
}
