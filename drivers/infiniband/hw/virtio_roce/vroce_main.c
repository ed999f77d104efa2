// SPDX-License-Identifier: GPL-2.0
/*
 * virtio_roce: the RDMA device of a virtio-net function that offers RoCE.
 *
 * The lower module (virtio_net_roce) owns the PCI function, its virtqueues and
 * its interrupts, and publishes an auxiliary device, to which this driver binds.
 * From the top:
 *
 *   callers    vroce_gate.c: the verbs below, for a process; vroce_event.c, vroce_watch.c,
 *              vroce_counters.c
 *   verbs      vroce_cq.c vroce_qp.c vroce_srq.c vroce_mr.c vroce_ah.c vroce_mcast.c
 *              vroce_wq.c vroce_flow.c vroce_nvmf.c vroce_clock.c vroce_domain.c
 *              vroce_user.c vroce_verbs.c;
 *              vroce_post.c and vroce_drain.c for consumers in the kernel;
 *              vroce_resize.c vroce_srq_resize.c vroce_restrack.c
 *   objects    vroce_hw_qp.c: what the device holds; vroce_flush.c: what happens to it when
 *              the device is dead
 *   queues     vroce_kq.c: what the kernel posts and polls; vroce_mmap.c: what a process maps;
 *              vroce_queue.c vroce_form.c vroce_doorbell.c vroce_mem.c vroce_list.c
 *   base       vroce_obj.c vroce_kept.c vroce_users.c vroce_udata.c
 *   commands   vroce_cmd.c: what all commands share, and those of device, port, counters,
 *              doorbells, PDs, AHs, GIDs and multicast groups; vroce_cmd_*.c: those of one
 *              kind of object
 *   wire       vroce_wire.c, uapi/virtio_net_roce.h: layout
 *
 * and below them the operations of &struct virtio_net_roce_aux.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>

#include "vroce_ah.h"
#include "vroce_caps.h"
#include "vroce_cmd_nvmf.h"
#include "vroce_counters.h"
#include "vroce_domain.h"
#include "vroce_doorbell.h"
#include "vroce_drain.h"
#include "vroce_event.h"
#include "vroce_flush.h"
#include "vroce_gate.h"
#include "vroce_hw_qp.h"
#include "vroce_kept.h"
#include "vroce_mmap.h"
#include "vroce_mr.h"
#include "vroce_obj.h"
#include "vroce_post.h"
#include "vroce_queue.h"
#include "vroce_restrack.h"
#include "vroce_srq.h"
#include "vroce_user.h"
#include "vroce_users.h"
#include "vroce_verbs.h"
#include "vroce_watch.h"

#define VROCE_NAME	"virtio_roce"

/* Number of deferred releases at a time; see vroce_users.c for the reason. */
#define VROCE_WQ_PLACES	4

static const struct ib_device_ops vroce_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)VIRTIO_ROCE_DRIVER_ID,
	.uverbs_abi_ver = VIRTIO_ROCE_ABI_VERSION,

	.add_gid = vroce_add_gid,
	.alloc_mr = vroce_alloc_mr,
	.alloc_ucontext = vroce_alloc_ucontext,
	.create_ah = vroce_create_ah,
	.dealloc_ucontext = vroce_dealloc_ucontext,
	.del_gid = vroce_del_gid,
	.disassociate_ucontext = vroce_disassociate_ucontext,
	.drain_rq = vroce_drain_rq,
	.drain_sq = vroce_drain_sq,
	.get_dev_fw_str = vroce_get_dev_fw_str,
	.get_dma_mr = vroce_get_dma_mr,
	.get_link_layer = vroce_get_link_layer,
	.get_port_immutable = vroce_get_port_immutable,
	.map_mr_sg = vroce_map_mr_sg,
	.mmap = vroce_mmap,
	.mmap_free = vroce_mmap_free,
	.modify_device = vroce_modify_device,
	.poll_cq = vroce_poll_cq,
	.post_recv = vroce_post_recv,
	.post_send = vroce_post_send,
	.query_device = vroce_query_device,
	.query_pkey = vroce_query_pkey,
	.query_port = vroce_query_port,
	.query_ucontext = vroce_query_ucontext,
	VROCE_REPORT_PORT_EVENT

	INIT_RDMA_OBJ_SIZE(ib_ah, vroce_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vroce_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, vroce_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vroce_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, vroce_ucontext, ibucontext),
};

static const struct ib_device_ops vroce_xrc_ops = {
	.alloc_xrcd = vroce_alloc_xrcd,
	.dealloc_xrcd = vroce_dealloc_xrcd,

	INIT_RDMA_OBJ_SIZE(ib_xrcd, vroce_xrcd, ibxrcd),
};

/* The depth of a queue is a power of two, and at most the size of its ring. */
static u32 vroce_depth_limit(u32 claimed, u32 ring)
{
	claimed = min(claimed, ring);
	return claimed ? rounddown_pow_of_two(claimed) : 0;
}

/* Size of the smallest ring among those of numbers 0 to @count - 1. */
static u32 vroce_min_ring(struct virtio_net_roce_aux *aux, u32 count,
			  struct virtio_net_roce_vq *(*get)
			  (struct virtio_net_roce_aux *aux, u32 number))
{
	u32 least = U32_MAX, i;

	for (i = 0; i < count; i++)
		least = min(least, get(aux, i)->vring.num);
	return least;
}

/*
 * Largest region whose pages REG_USER_MR and REREG_MR can tell, wherever in a page it
 * begins, if they have the smallest size.
 */
static u64 vroce_mr_limit(const struct vroce_dev *dev)
{
	size_t fixed = sizeof(struct virtio_rdma_cmd_rereg_mr_long);
	size_t room = dev->aux->max_req;
	u64 pages;

	if (!vroce_has_indirect(dev) && !vroce_has_page_shift(dev))
		fixed = sizeof(struct virtio_rdma_cmd_rereg_mr);
	if (room < fixed)
		return 0;
	pages = (room - fixed) / sizeof(__le64);
	if (vroce_has_indirect(dev))
		pages *= VIRTIO_RDMA_MR_LIST_PAGE;
	return pages ? (pages - 1) << VIRTIO_RDMA_MR_PAGE_SHIFT : 0;
}

/* Bytes of rings whose pages a request of @fixed bytes can list. */
static size_t vroce_ring_room(const struct vroce_dev *dev, size_t fixed)
{
	size_t room = dev->aux->max_req;

	return room < fixed ? 0 : (room - fixed) / sizeof(__le64) * VROCE_WIRE_PAGE;
}

/*
 * A queue is as long as the device says only if the control queue takes the list of its
 * pages.  Both rings of a QP begin a page.
 */
static void vroce_limit_rings(struct vroce_dev *dev)
{
	size_t room = vroce_ring_room(dev, VIRTIO_RDMA_QP_DIRECT_OFFSET +
					   sizeof(struct virtio_rdma_qp_direct));
	struct vroce_device_attr *attr = &dev->attr;
	size_t wr, cqe;

	wr = (room - min_t(size_t, room, 2 * VROCE_WIRE_PAGE)) / vroce_max_slots(dev);
	attr->max_direct_wr = vroce_depth_limit(attr->max_direct_wr,
						min_t(size_t, wr, VROCE_DIRECT_WR_MAX));
	room = vroce_ring_room(dev, max(sizeof(struct virtio_rdma_cmd_create_cq_long),
					sizeof(struct virtio_rdma_cmd_resize_cq)));
	cqe = room / sizeof(struct virtio_rdma_cqe);
	attr->max_direct_cqe = vroce_depth_limit(attr->max_direct_cqe,
						 min_t(size_t, cqe, VROCE_DIRECT_CQE_MAX));
	cqe = room / sizeof(struct virtio_rdma_cqe_timed);
	dev->max_timed_cqe = vroce_depth_limit(attr->max_direct_cqe,
					       min_t(size_t, cqe, VROCE_DIRECT_CQE_MAX));
}

/*
 * A device that has a capability without what belongs to it is taken for one without
 * the capability.
 */
static void vroce_limit_direct(struct vroce_dev *dev)
{
	struct virtio_net_roce_aux *aux = dev->aux;
	struct vroce_device_attr *attr = &dev->attr;
	u64 *caps = &attr->device_cap_flags;

	if (!aux->num_events)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_EVENTS;
	if (!vroce_has_events(dev))
		*caps &= ~(u64)(VIRTIO_IB_DEVICE_QP_EVENTS |
				VIRTIO_IB_DEVICE_CQ_MODERATE);
	attr->max_direct_qp = min_t(u32, attr->max_direct_qp, VROCE_DIRECT_MAX);
	attr->max_direct_cq = min_t(u32, attr->max_direct_cq, VROCE_DIRECT_MAX);
	vroce_limit_rings(dev);
	if (!vroce_has_events(dev) || !aux->num_doorbells ||
	    !attr->max_direct_qp || !attr->max_direct_cq ||
	    !attr->max_direct_wr || !attr->max_doorbells ||
	    attr->max_direct_cqe < VIRTIO_RDMA_DIRECT_MIN_CQE)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_DIRECT;
	if (vroce_has_direct(dev)) {
		attr->max_send_sge = min_t(u32, attr->max_send_sge,
					   VROCE_DIRECT_SEND_SGE_MAX);
		attr->max_recv_sge = min_t(u32, attr->max_recv_sge,
					   VROCE_DIRECT_RECV_SGE_MAX);
	} else {
		attr->max_direct_qp = 0;
		attr->max_direct_cq = 0;
	}
	attr->max_srq = min_t(u32, attr->max_srq, VROCE_DIRECT_MAX);
	if (!vroce_has_direct(dev) || !attr->max_srq)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_SRQ;
	if (!vroce_has_srq(dev)) {
		*caps &= ~(u64)(VIRTIO_IB_DEVICE_SRQ_RESIZE | VIRTIO_IB_DEVICE_NVMF);
		attr->max_srq = 0;
	}
	attr->max_xrcd = min_t(u32, attr->max_xrcd, VROCE_DIRECT_MAX);
	if (!vroce_has_srq(dev) || !attr->max_xrcd)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_XRC;
	if (!vroce_has_direct(dev))
		*caps &= ~(u64)(VIRTIO_IB_DEVICE_RAW_PACKET |
				VIRTIO_IB_DEVICE_CQ_TIMESTAMP);
	if (dev->max_timed_cqe < VIRTIO_RDMA_DIRECT_MIN_CQE)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_CQ_TIMESTAMP;
	if (!vroce_has_raw_packet(dev) || !attr->max_flow)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_FLOW;
	if (!vroce_has_flow(dev))
		*caps &= ~(u64)VIRTIO_IB_DEVICE_FLOW_COUNT;
	attr->max_wq_tables = min_t(u32, attr->max_wq_tables, VROCE_DIRECT_MAX);
	attr->max_wq_table_size = vroce_depth_limit(attr->max_wq_table_size,
						    BIT(VIRTIO_RDMA_WQ_TABLE_LOG_MAX));
	if (!vroce_has_flow(dev) || !attr->max_wq_tables || !attr->max_wq_table_size)
		*caps &= ~(u64)VIRTIO_IB_DEVICE_RSS;
	if (!vroce_has_raw_packet(dev))
		*caps &= ~(u64)(VIRTIO_IB_DEVICE_RAW_CSUM |
				VIRTIO_IB_DEVICE_RAW_VLAN |
				VIRTIO_IB_DEVICE_RAW_TSO);
}

static void vroce_limit_device(struct vroce_dev *dev)
{
	struct virtio_net_roce_aux *aux = dev->aux;
	struct vroce_device_attr *attr = &dev->attr;
	u32 cq = vroce_min_ring(aux, aux->max_cqs, aux->ops->cq_vq);
	u32 sq = vroce_min_ring(aux, aux->max_qps, aux->ops->sq_vq);
	u32 rq = vroce_min_ring(aux, aux->max_qps, aux->ops->rq_vq);

	dev->max_cq_slots = vroce_depth_limit(cq, cq);
	attr->max_cqe = vroce_depth_limit(attr->max_cqe, vroce_cqs_hold(dev) ?
					  INT_MAX : cq);
	attr->max_qp_wr = vroce_depth_limit(attr->max_qp_wr, min(sq, rq));
	attr->max_send_sge = min_t(u32, attr->max_send_sge, VROCE_SGE_MAX);
	attr->max_recv_sge = min_t(u32, attr->max_recv_sge, VROCE_SGE_MAX);
	vroce_limit_direct(dev);
	attr->max_sge_rd = min(attr->max_sge_rd, attr->max_send_sge);
	/* Some of these are signed in the core; others have 8 or 5 bits on the wire. */
	attr->max_mr = min_t(u32, attr->max_mr, INT_MAX);
	attr->max_pd = min_t(u32, attr->max_pd, INT_MAX);
	attr->max_ah = min_t(u32, attr->max_ah, INT_MAX);
	attr->max_qp_rd_atom = min_t(u32, attr->max_qp_rd_atom, U8_MAX);
	attr->max_qp_init_rd_atom = min_t(u32, attr->max_qp_init_rd_atom,
					  U8_MAX);
	attr->local_ca_ack_delay = min_t(u8, attr->local_ca_ack_delay, 31);
	/* REG_USER_MR must be able to list all pages of a region, aligned or not. */
	attr->max_mr_size = min(attr->max_mr_size, vroce_mr_limit(dev));
	attr->page_size_cap &= vroce_has_page_shift(dev) ?
			       GENMASK_ULL(31, VIRTIO_RDMA_MR_PAGE_SHIFT) :
			       BIT_ULL(VIRTIO_RDMA_MR_PAGE_SHIFT);
	/* The core counts pages of the kernel. */
	attr->max_fast_reg_pages = round_down(min_t(u32, VROCE_FAST_REG_MAX,
						    attr->max_fast_reg_pages),
					      VROCE_PAGES_PER_PAGE);
	if (!attr->max_fast_reg_pages)
		attr->device_cap_flags &= ~VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (!(attr->device_cap_flags & VIRTIO_IB_DEVICE_COUNTERS))
		attr->device_cap_flags &= ~(u64)VIRTIO_IB_DEVICE_QP_COUNTERS;
	if (!attr->max_mcast_grp || !attr->max_mcast_qp_attach)
		attr->device_cap_flags &= ~VIRTIO_IB_DEVICE_MCAST;
	dev->aux->cq_hold = vroce_cqs_hold(dev);
}

/*
 * Name of the first limit that is zero, which makes the device useless.  NULL if there
 * is none.
 */
static const char *vroce_zero_limit(const struct vroce_dev *dev)
{
	const struct vroce_device_attr *attr = &dev->attr;
	const struct {
		const char *name;
		u64 value;
	} limits[] = {
		{ "max_cqe", attr->max_cqe },
		{ "max_qp_wr", attr->max_qp_wr },
		{ "max_send_sge", attr->max_send_sge },
		{ "max_recv_sge", attr->max_recv_sge },
		{ "max_pd", attr->max_pd },
		{ "max_mr", attr->max_mr },
		{ "max_mr_size", attr->max_mr_size },
		{ "page_size_cap (4 KiB)",
		  attr->page_size_cap & BIT_ULL(VIRTIO_RDMA_MR_PAGE_SHIFT) },
		{ "gid_tbl_len", dev->port.gid_tbl_len },
		{ "max_msg_sz", dev->port.max_msg_sz },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		if (!limits[i].value)
			return limits[i].name;
	return NULL;
}

/* Ask what the device can do, and see whether it can be used at all. */
static int vroce_query(struct vroce_dev *dev)
{
	struct virtio_net_roce_aux *aux = dev->aux;
	const char *zero;
	int err;

	err = vroce_cmd_query_device(aux, &dev->attr);
	if (!err)
		err = vroce_cmd_query_port(aux, &dev->port);
	if (err)
		return err;

	vroce_limit_device(dev);
	if (vroce_has_nvmf(dev)) {
		err = vroce_cmd_query_nvmf(aux, &dev->nvmf);
		if (err)
			return err;
	}
	dev->port.gid_tbl_len = min_t(u32, dev->port.gid_tbl_len,
				      VROCE_GID_MAX);
	zero = vroce_zero_limit(dev);
	if (zero) {
		dev_err(&aux->adev.dev, "no RDMA: the device's limit %s is zero\n",
			zero);
		return -EPROTO;
	}
	return 0;
}

/* Clear what an earlier user left in the rings.  The device does not use them now. */
static void vroce_clear_rings(struct virtio_net_roce_aux *aux)
{
	u32 i;

	for (i = 0; i < aux->max_cqs; i++)
		vroce_vq_clear(aux->ops->cq_vq(aux, i));
	for (i = 0; i < aux->max_qps; i++) {
		vroce_vq_clear(aux->ops->sq_vq(aux, i));
		vroce_vq_clear(aux->ops->rq_vq(aux, i));
	}
}

static int vroce_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	struct vroce_dev *dev = container_of(nb, struct vroce_dev, netdev_nb);

	if (netdev_notifier_info_to_dev(ptr) != dev->aux->netdev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		vroce_port_update(dev);
		break;
	}
	return NOTIFY_DONE;
}

static int vroce_dev_init(struct vroce_dev *dev)
{
	int err;

	err = vroce_query(dev);
	if (err)
		return err;
	vroce_quotas_init(dev);
	vroce_clear_rings(dev->aux);
	vroce_counters_init(dev);
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->srqs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->nvme_ctrls, XA_FLAGS_LOCK_IRQ);
	spin_lock_init(&dev->port_lock);
	vroce_flush_init(dev);
	vroce_drain_init(dev);
	vroce_users_init(dev);
	vroce_kept_init(dev);
	vroce_doorbell_init(&dev->doorbell);
	err = vroce_numbers_init(&dev->cqns, dev->aux->max_cqs +
					     dev->attr.max_direct_cq);
	if (err)
		return err;
	err = vroce_numbers_init(&dev->qpns, dev->aux->max_qps +
					     dev->attr.max_direct_qp);
	if (err)
		goto err_cqns;
	dev->wq = alloc_workqueue(VROCE_NAME, WQ_UNBOUND, VROCE_WQ_PLACES);
	if (!dev->wq) {
		err = -ENOMEM;
		goto err_qpns;
	}
	/* While clients of the core have the device, and until they let go of it. */
	vroce_watch_start(dev);
	return 0;

err_qpns:
	vroce_numbers_destroy(&dev->qpns);
err_cqns:
	vroce_numbers_destroy(&dev->cqns);
	return err;
}

static void vroce_dev_exit(struct vroce_dev *dev)
{
	vroce_watch_stop(dev);
	/* Runs the last deferred releases. */
	destroy_workqueue(dev->wq);
	vroce_doorbell_exit(dev, &dev->doorbell);
	vroce_kept_free(dev);
	vroce_numbers_destroy(&dev->qpns);
	vroce_numbers_destroy(&dev->cqns);
	xa_destroy(&dev->cqs);
	xa_destroy(&dev->nvme_ctrls);
	xa_destroy(&dev->srqs);
	xa_destroy(&dev->qps);
	vroce_counters_fini(dev);
}

static int vroce_register(struct vroce_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	struct virtio_net_roce_aux *aux = dev->aux;
	int err;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = vroce_has_events(dev) ? aux->num_events :
							   aux->num_vectors;
	ibdev->dev.parent = aux->adev.dev.parent;
	/* The core does not enable these unless a driver asks for them. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_RECV);
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, aux->netdev->dev_addr);
	/* rdma-ndd replaces it by the host name.  The interface name could change. */
	strscpy(ibdev->node_desc, "virtio-net RoCE", sizeof(ibdev->node_desc));
	ib_set_device_ops(ibdev, &vroce_ops);
	vroce_set_gate_ops(dev);
	ibdev->driver_def = vroce_uapi_defs;
	vroce_set_counter_ops(dev);
	vroce_set_restrack_ops(dev);
	if (vroce_has_xrc(dev))
		ib_set_device_ops(ibdev, &vroce_xrc_ops);
	err = ib_device_set_netdev(ibdev, aux->netdev, 1);
	if (err)
		return err;
	return ib_register_device(ibdev, VROCE_NAME "%d", aux->dma_dev);
}

static int vroce_probe(struct auxiliary_device *adev,
		       const struct auxiliary_device_id *id)
{
	struct virtio_net_roce_aux *aux = to_virtio_net_roce_aux(adev);
	struct vroce_dev *dev;
	int err;

	dev = ib_alloc_device(vroce_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->aux = aux;
	err = vroce_dev_init(dev);
	if (err)
		goto err_dealloc;
	auxiliary_set_drvdata(adev, dev);
	if (vroce_has_events(dev))
		vroce_events(dev, true);
	err = vroce_register(dev);
	if (err)
		goto err_events;

	/* This reports at once the state that the interface already has. */
	dev->netdev_nb.notifier_call = vroce_netdev_event;
	err = register_netdevice_notifier(&dev->netdev_nb);
	if (err)
		goto err_unregister;
	vroce_flush_listen(dev, true);
	return 0;

err_unregister:
	ib_unregister_device(&dev->ibdev);
err_events:
	if (vroce_has_events(dev))
		vroce_events(dev, false);
	vroce_dev_exit(dev);
err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return err;
}

static void vroce_remove(struct auxiliary_device *adev)
{
	struct vroce_dev *dev = auxiliary_get_drvdata(adev);

	vroce_flush_wait(dev);
	unregister_netdevice_notifier(&dev->netdev_nb);
	/* This removes all mappings and all objects. */
	ib_unregister_device(&dev->ibdev);
	vroce_flush_listen(dev, false);
	if (vroce_has_events(dev))
		vroce_events(dev, false);
	vroce_dev_exit(dev);
	ib_dealloc_device(&dev->ibdev);
}

static const struct auxiliary_device_id vroce_id_table[] = {
	{ .name = VIRTIO_NET_ROCE_AUX_MODULE "." VIRTIO_NET_ROCE_AUX_NAME },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, vroce_id_table);

static struct auxiliary_driver vroce_driver = {
	.name = "rdma",
	.probe = vroce_probe,
	.remove = vroce_remove,
	.id_table = vroce_id_table,
};

static int __init vroce_init(void)
{
	return auxiliary_driver_register(&vroce_driver);
}
module_init(vroce_init);

static int vroce_is_bound(struct device *d, void *data)
{
	return 1;
}

static void __exit vroce_exit(void)
{
	bool bound = driver_for_each_device(&vroce_driver.driver, NULL, NULL,
					    vroce_is_bound);

	auxiliary_driver_unregister(&vroce_driver);
	if (bound)
		pr_notice("unloaded before virtio_net_roce, so a restart of a function loads it again; unload virtio_net_roce first\n");
}
module_exit(vroce_exit);

MODULE_DESCRIPTION("RDMA over virtio-net functions that offer RoCE");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("pre: virtio_net_roce");
