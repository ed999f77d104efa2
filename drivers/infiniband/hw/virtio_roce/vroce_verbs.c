// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs of the device, its port and its GID table.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "vroce_caps.h"
#include "vroce_udata.h"
#include "vroce_verbs.h"

/* Fills the attributes that exist only with a capability of the device. */
static void vroce_query_extensions(const struct vroce_dev *dev,
				   struct ib_device_attr *attr)
{
	const struct vroce_device_attr *hw = &dev->attr;
	/* As vroce_query_device() says. */
	u32 taken = dev->quotas[VROCE_GSI].max;

	if (vroce_has_direct(dev)) {
		attr->max_qp = hw->max_direct_qp;
		attr->max_cq = hw->max_direct_cq - min(hw->max_direct_cq, taken);
		attr->max_qp_wr = hw->max_direct_wr;
		attr->max_cqe = hw->max_direct_cqe;
		attr->max_res_rd_atom = min_t(u64, INT_MAX,
					      (u64)hw->max_qp_rd_atom *
					      hw->max_direct_qp);
	}
	if (vroce_has_srq(dev)) {
		attr->max_srq = hw->max_srq;
		attr->max_srq_wr = hw->max_direct_wr;
		attr->max_srq_sge = hw->max_recv_sge;
	}
	if (vroce_has_flush(dev))
		attr->device_cap_flags |= IB_DEVICE_FLUSH_GLOBAL;
	if (vroce_has_atomics(dev))
		attr->atomic_cap = IB_ATOMIC_HCA;
	if (hw->device_cap_flags & VIRTIO_IB_DEVICE_ATOMIC_WRITE)
		attr->device_cap_flags |= IB_DEVICE_ATOMIC_WRITE;
	if (vroce_has_fast_reg(dev)) {
		attr->device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
		attr->max_fast_reg_page_list_len = hw->max_fast_reg_pages /
						   VROCE_PAGES_PER_PAGE;
	}
	if (vroce_has_mw(dev)) {
		attr->device_cap_flags |= IB_DEVICE_MEM_WINDOW |
					  IB_DEVICE_MEM_WINDOW_TYPE_2B;
		attr->max_mw = hw->max_mr;
	}
	if (vroce_has_srq_resize(dev))
		attr->device_cap_flags |= IB_DEVICE_SRQ_RESIZE;
	if (vroce_has_xrc(dev))
		attr->device_cap_flags |= IB_DEVICE_XRC;
	if (vroce_has_raw_packet(dev))
		attr->max_raw_ethy_qp = hw->max_direct_qp;
	if (vroce_has_flow(dev))
		attr->device_cap_flags |= IB_DEVICE_MANAGED_FLOW_STEERING;
	if (vroce_has_rss(dev)) {
		attr->max_wq_type_rq = hw->max_direct_qp;
		attr->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
		attr->rss_caps.max_rwq_indirection_tables = hw->max_wq_tables;
		attr->rss_caps.max_rwq_indirection_table_size = hw->max_wq_table_size;
	}
	if (vroce_has_raw_csum(dev)) {
		attr->device_cap_flags |= IB_DEVICE_RAW_IP_CSUM;
		attr->raw_packet_caps |= IB_RAW_PACKET_CAP_IP_CSUM;
	}
	if (vroce_has_raw_vlan(dev))
		attr->raw_packet_caps |= IB_RAW_PACKET_CAP_CVLAN_STRIPPING;
	if (vroce_has_cq_moderate(dev)) {
		attr->cq_caps.max_cq_moderation_count = U16_MAX;
		attr->cq_caps.max_cq_moderation_period = U16_MAX;
	}
	/* Nanoseconds, in 64 bits; the rate is in kHz. */
	if (vroce_has_cq_timestamp(dev)) {
		attr->timestamp_mask = U64_MAX;
		attr->hca_core_clock = NSEC_PER_MSEC;
	}
	if (vroce_has_mcast(dev)) {
		attr->max_mcast_grp = min_t(u32, hw->max_mcast_grp, INT_MAX);
		attr->max_mcast_qp_attach = min_t(u32, hw->max_mcast_qp_attach,
						  INT_MAX);
		attr->max_total_mcast_qp_attach =
			min_t(u64, INT_MAX, (u64)hw->max_mcast_grp *
					    hw->max_mcast_qp_attach);
	}
}

/**
 * vroce_query_device() - say the limits of the device
 * @ibdev: device
 * @attr: result
 * @udata: of the user
 *
 * Return: 0 or -EINVAL.
 */
int vroce_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata)
{
	struct vroce_dev *dev = to_vdev(ibdev);
	const struct vroce_device_attr *hw = &dev->attr;
	struct device *parent = ibdev->dev.parent;
	/* ib_mad takes one of each for the GSI, so consumers cannot have these. */
	u32 taken = dev->quotas[VROCE_GSI].max;
	int err;

	err = vroce_check_udata(udata, 0);
	if (err)
		return err;

	*attr = (struct ib_device_attr) {
		.fw_ver = hw->hw_ver,
		.hw_ver = hw->hw_ver,
		.vendor_id = PCI_VENDOR_ID_REDHAT_QUMRANET,
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = hw->max_mr_size,
		.page_size_cap = hw->page_size_cap,
		/* Consumers cannot have SMI and GSI. */
		.max_qp = dev->aux->max_qps - min(dev->aux->max_qps, 2U),
		.max_cq = dev->aux->max_cqs - min(dev->aux->max_cqs, taken),
		.max_qp_wr = hw->max_qp_wr,
		.max_cqe = hw->max_cqe,
		.max_send_sge = hw->max_send_sge,
		.max_recv_sge = hw->max_recv_sge,
		.max_sge_rd = hw->max_sge_rd,
		.max_mr = hw->max_mr - min(hw->max_mr, taken),
		.max_pd = hw->max_pd - min(hw->max_pd, taken),
		.max_ah = hw->max_ah,
		.max_qp_rd_atom = hw->max_qp_rd_atom,
		.max_qp_init_rd_atom = hw->max_qp_init_rd_atom,
		.max_res_rd_atom = min_t(u64, INT_MAX,
					 (u64)hw->max_qp_rd_atom *
					 dev->aux->max_qps),
		.atomic_cap = IB_ATOMIC_NONE,
		.masked_atomic_cap = IB_ATOMIC_NONE,
		.max_pkeys = 1,
		.local_ca_ack_delay = hw->local_ca_ack_delay,
	};
	if (parent && dev_is_pci(parent))
		attr->vendor_part_id = to_pci_dev(parent)->device;
	if (hw->device_cap_flags & VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN)
		attr->device_cap_flags |= IB_DEVICE_RC_RNR_NAK_GEN;
	vroce_query_extensions(dev, attr);
	return 0;
}

/**
 * vroce_modify_device() - verb: give the node its name, as rdma-ndd does
 * @ibdev: device
 * @mask: what to change
 * @modify: new values
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int vroce_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

/**
 * vroce_port_is_active() - can the port send and receive?
 * @dev: device
 *
 * Context: any.
 * Return: true if it can.
 */
bool vroce_port_is_active(const struct vroce_dev *dev)
{
	return READ_ONCE(dev->health) == VIRTIO_NET_ROCE_RUNS &&
	       netif_running(dev->aux->netdev) &&
	       netif_carrier_ok(dev->aux->netdev);
}

/**
 * vroce_port_update() - tell clients if the port came up or went down
 * @dev: device
 *
 * The state is read under the lock, so what is told last is the newest state, no matter
 * who tells it.
 *
 * Context: any.
 */
void vroce_port_update(struct vroce_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
	};
	unsigned long flags;
	bool active;

	spin_lock_irqsave(&dev->port_lock, flags);
	active = vroce_port_is_active(dev);
	if (active != dev->port_active) {
		dev->port_active = active;
		event.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
		ib_dispatch_event(&event);
	}
	spin_unlock_irqrestore(&dev->port_lock, flags);
}

/*
 * Report the speed of the Ethernet interface, as any RoCE device does.  The interface
 * has none if the device does not tell it (VIRTIO_NET_F_SPEED_DUPLEX).  Then the core
 * would report 2.5 Gb/s, and libraries that rank by speed would prefer TCP. Usually the
 * device moves data as fast as the host copies memory, so 100 Gb/s (4X EDR) is a good
 * approximation.
 */
static int vroce_query_speed(struct ib_device *ibdev, u32 port,
			     struct ib_port_attr *attr)
{
	struct ethtool_link_ksettings settings = {};
	int err;

	rtnl_lock();
	err = __ethtool_get_link_ksettings(to_vdev(ibdev)->aux->netdev,
					   &settings);
	rtnl_unlock();
	if (err || !settings.base.speed ||
	    settings.base.speed == (u32)SPEED_UNKNOWN) {
		attr->active_speed = IB_SPEED_EDR;
		attr->active_width = IB_WIDTH_4X;
		return 0;
	}
	return ib_get_eth_speed(ibdev, port, &attr->active_speed,
				&attr->active_width);
}

/**
 * vroce_query_port() - say the attributes of the port
 * @ibdev: device
 * @port: 1
 * @attr: result, zeroed
 *
 * Return: 0 or -errno.
 */
int vroce_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr)
{
	struct vroce_dev *dev = to_vdev(ibdev);
	struct net_device *netdev = dev->aux->netdev;

	if (vroce_port_is_active(dev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = netif_running(netdev) ?
				   IB_PORT_PHYS_STATE_POLLING :
				   IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = vroce_active_mtu(dev);
	attr->phys_mtu = READ_ONCE(netdev->mtu);
	attr->gid_tbl_len = dev->port.gid_tbl_len;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = dev->port.max_msg_sz;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	return vroce_query_speed(ibdev, port, attr);
}

/**
 * vroce_get_port_immutable() - say what of the port never changes
 * @ibdev: device
 * @port: 1
 * @immutable: result
 *
 * Return: 0 or -errno.
 */
int vroce_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable)
{
	struct vroce_dev *dev = to_vdev(ibdev);

	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	if (vroce_has_raw_packet(dev))
		immutable->core_cap_flags |= RDMA_CORE_PORT_RAW_PACKET;
	immutable->gid_tbl_len = dev->port.gid_tbl_len;
	immutable->pkey_tbl_len = 1;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/**
 * vroce_get_link_layer() - say that the port is Ethernet
 * @ibdev: device
 * @port: 1
 *
 * Return: Ethernet.
 */
enum rdma_link_layer vroce_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/**
 * vroce_get_dev_fw_str() - verb: the version, as the provider prints it
 * @ibdev: device
 * @str: result
 */
void vroce_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	u32 version = to_vdev(ibdev)->attr.hw_ver;

	snprintf(str, IB_FW_VERSION_NAME_MAX, "0.%u.%u", version >> 16,
		 version & 0xffff);
}

/**
 * vroce_query_pkey() - say the P_Key of an index
 * @ibdev: device
 * @port: 1
 * @index: 0
 * @pkey: the one P_Key of RoCE
 *
 * Return: 0 or -EINVAL.
 */
int vroce_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

/**
 * vroce_add_gid() - verb: an entry of the core's GID table was filled
 * @attr: entry
 * @context: not used
 *
 * Return: 0 or -errno.
 */
int vroce_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct vroce_dev *dev = to_vdev(attr->device);
	u16 vlan = VLAN_N_VID;
	int err;

	err = rdma_read_gid_l2_fields(attr, &vlan, NULL);
	if (err)
		return err;
	/* Its packets would be sent without a tag, and so to another network. */
	if (vlan && vlan < VLAN_N_VID && !vroce_has_gid_vlan(dev)) {
		ibdev_notice_ratelimited(&dev->ibdev,
					 "no GID for VLAN %u: the device has no capability GID_VLAN\n",
					 vlan);
		return -EOPNOTSUPP;
	}
	return vroce_cmd_add_gid(dev->aux, attr->index, &attr->gid,
				 vlan < VLAN_N_VID ? vlan : 0);
}

/**
 * vroce_del_gid() - verb: an entry of the core's GID table was cleared
 * @attr: entry
 * @context: not used
 *
 * Return: 0 or -errno.
 */
int vroce_del_gid(const struct ib_gid_attr *attr, void **context)
{
	return vroce_cmd_del_gid(to_vdev(attr->device)->aux, attr->index);
}
