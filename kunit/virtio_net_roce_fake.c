// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE function without hardware; see virtio_net_roce_fake.h.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_fake.h"

/* ----- the PCI function ----- */

static struct fake *fake_from_bus(struct pci_bus *bus)
{
	return container_of(to_pci_sysdata(bus), struct fake, sysdata);
}

static int fake_cfg_read(struct pci_bus *bus, unsigned int devfn, int where,
			 int size, u32 *val)
{
	struct fake *fake = fake_from_bus(bus);

	*val = ~0;
	if (devfn || where + size > (int)sizeof(fake->cfg) || fake->gone)
		return PCIBIOS_DEVICE_NOT_FOUND;
	*val = 0;
	memcpy(val, &fake->cfg[where], size);
	return PCIBIOS_SUCCESSFUL;
}

/* The command register, MSI-X control, and the BAR when its size is asked for. */
static int fake_cfg_write(struct pci_bus *bus, unsigned int devfn, int where,
			  int size, u32 val)
{
	struct fake *fake = fake_from_bus(bus);

	if (devfn || fake->gone)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where == PCI_BASE_ADDRESS_0)
		val &= ~(FAKE_BAR - 1);
	else if (where != PCI_COMMAND && where != FAKE_MSIX_CAP + PCI_MSIX_FLAGS)
		return PCIBIOS_SUCCESSFUL;
	if (where == PCI_COMMAND && fake->master)
		val |= PCI_COMMAND_MASTER;
	memcpy(&fake->cfg[where], &val, size);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops fake_pci_ops = {
	.read = fake_cfg_read,
	.write = fake_cfg_write,
};

static void fake_put16(struct fake *fake, u8 pos, u16 val)
{
	memcpy(&fake->cfg[pos], &val, sizeof(val));
}

static void fake_put32(struct fake *fake, u8 pos, u32 val)
{
	memcpy(&fake->cfg[pos], &val, sizeof(val));
}

/* Add a capability at the head of the list. */
static void fake_link(struct fake *fake, u8 pos, u8 id)
{
	fake->cfg[pos] = id;
	fake->cfg[pos + 1] = fake->cfg[PCI_CAPABILITY_LIST];
	fake->cfg[PCI_CAPABILITY_LIST] = pos;
}

/**
 * fake_cap() - add a capability of virtio
 * @fake: function
 * @pos: where in the configuration space
 * @type: VIRTIO_PCI_CAP_...
 * @bar: BAR that it names
 * @offset: offset in the BAR
 * @len: length
 */
void fake_cap(struct fake *fake, u8 pos, u8 type, u8 bar, u32 offset, u32 len)
{
	fake_link(fake, pos, PCI_CAP_ID_VNDR);
	fake->cfg[pos + VIRTIO_PCI_CAP_LEN] = sizeof(struct virtio_pci_cap);
	fake->cfg[pos + VIRTIO_PCI_CAP_CFG_TYPE] = type;
	fake->cfg[pos + VIRTIO_PCI_CAP_BAR] = bar;
	fake_put32(fake, pos + VIRTIO_PCI_CAP_OFFSET, offset);
	fake_put32(fake, pos + VIRTIO_PCI_CAP_LENGTH, len);
}

static void fake_fill_cfg(struct fake *fake, u16 vendor, u16 device)
{
	fake_put16(fake, PCI_VENDOR_ID, vendor);
	fake_put16(fake, PCI_DEVICE_ID, device);
	fake_put16(fake, PCI_STATUS, PCI_STATUS_CAP_LIST);
	fake_put16(fake, PCI_CLASS_DEVICE, PCI_CLASS_NETWORK_ETHERNET);
	fake->cfg[PCI_REVISION_ID] = 1;
	fake_put32(fake, PCI_BASE_ADDRESS_0, virt_to_phys(fake->bar));

	fake_link(fake, FAKE_MSIX_CAP, PCI_CAP_ID_MSIX);
	fake_put16(fake, FAKE_MSIX_CAP + PCI_MSIX_FLAGS, FAKE_VECTORS - 1);
	fake_put32(fake, FAKE_MSIX_CAP + PCI_MSIX_TABLE, FAKE_MSIX);
	fake_put32(fake, FAKE_MSIX_CAP + PCI_MSIX_PBA, FAKE_PBA);
}

static void fake_free_bar(void *data)
{
	struct fake *fake = data;
	unsigned int i;

	for (i = 0; i < FAKE_BAR; i += PAGE_SIZE)
		ClearPageReserved(virt_to_page(fake->bar + i));
	free_pages((unsigned long)fake->bar, get_order(FAKE_BAR));
}

static void fake_remove_bus(void *data)
{
	struct fake *fake = data;
	struct pci_host_bridge *bridge = pci_find_host_bridge(fake->bus);

	pci_lock_rescan_remove();
	pci_stop_root_bus(fake->bus);
	pci_remove_root_bus(fake->bus);
	pci_unlock_rescan_remove();
	/* Drops the creator's reference. */
	pci_free_host_bridge(bridge);
}

/**
 * fake_pci() - make a PCI function that no driver has yet
 * @test: test
 * @vendor: vendor ID
 * @device: device ID
 *
 * pci_bus_add_devices() offers it to drivers.
 *
 * Return: the function, which is freed with the test.
 */
struct fake *fake_pci(struct kunit *test, u16 vendor, u16 device)
{
	static atomic_t domain = ATOMIC_INIT(0x10000);
	LIST_HEAD(resources);
	struct fake *fake;
	unsigned int i;

	fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->test = test;
	fake->bar = (void *)__get_free_pages(GFP_KERNEL | GFP_DMA32 | __GFP_ZERO,
					     get_order(FAKE_BAR));
	KUNIT_ASSERT_NOT_NULL(test, fake->bar);
	/* Only reserved pages may be mapped as registers. */
	for (i = 0; i < FAKE_BAR; i += PAGE_SIZE)
		SetPageReserved(virt_to_page(fake->bar + i));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, fake_free_bar,
							   fake));
	fake->common = fake->bar + FAKE_COMMON;
	fake->config = fake->bar + FAKE_CONFIG;
	fake_fill_cfg(fake, vendor, device);

	fake->sysdata.domain = atomic_inc_return(&domain);
	fake->sysdata.node = NUMA_NO_NODE;
	pci_lock_rescan_remove();
	fake->bus = pci_scan_root_bus(NULL, 0, &fake_pci_ops, &fake->sysdata,
				      &resources);
	pci_unlock_rescan_remove();
	KUNIT_ASSERT_NOT_NULL(test, fake->bus);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test,
							   fake_remove_bus,
							   fake));
	fake->pdev = list_first_entry_or_null(&fake->bus->devices,
					      struct pci_dev, bus_list);
	KUNIT_ASSERT_NOT_NULL(test, fake->pdev);
	return fake;
}

/**
 * fake_command() - the command register
 * @fake: function
 *
 * Return: PCI_COMMAND_... bits.
 */
u16 fake_command(struct fake *fake)
{
	u16 command;

	memcpy(&command, &fake->cfg[PCI_COMMAND], sizeof(command));
	return command;
}

/* ----- the driver's side ----- */

/**
 * fake_offer() - set the device's feature bits
 * @fake: function
 * @features: bits that it has to offer
 *
 * Both halves are one register: bit 1 comes with bit 33 and the other way round.
 */
void fake_offer(struct fake *fake, u64 features)
{
	fake->common->device_feature = cpu_to_le32(features | features >> 32);
}

/* virtio_has_feature() wants the feature table of the child's driver. */
static const unsigned int fake_driver_features[] = {
	VIRTIO_NET_F_CTRL_VQ,
};

static struct virtio_driver fake_driver = {
	.driver.name = "fake_net",
	.feature_table = fake_driver_features,
	.feature_table_size = ARRAY_SIZE(fake_driver_features),
};

/* Registers as a reset leaves them, and the device's place in its control queue. */
static void fake_was_reset(struct fake *fake)
{
	fake->common->queue_enable = 0;
	fake->common->queue_size = cpu_to_le16(FAKE_NUM);
	fake->avail = 0;
	fake->used = 0;
	fake->awake = false;
}

static void fake_recycle(struct virtqueue *vq, void *buf)
{
	struct fake *fake = vq->vdev->priv;

	fake->recycled++;
}

/* As that of virtio_net, with one pair of queues.  The function was reset before. */
static int fake_set_ringparam(struct net_device *netdev,
			      struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kernel_ring,
			      struct netlink_ext_ack *extack)
{
	struct fake *fake = *(struct fake **)netdev_priv(netdev);
	u32 num[2] = { ring->rx_pending, ring->tx_pending };
	unsigned int i;
	int ret = 0;

	ASSERT_RTNL();
	fake_was_reset(fake);
	WRITE_ONCE(fake->resized, fake->resized + 1);
	if (fake->no_memory && !--fake->no_memory)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(num) && !ret; i++)
		ret = virtqueue_resize(fake->vqs[i], num[i], fake_recycle, NULL);
	return ret;
}

const struct ethtool_ops fake_ethtool_ops = {
	.set_ringparam = fake_set_ringparam,
};

static const struct net_device_ops fake_netdev_ops = {};

/**
 * fake_interface() - give the function an interface, without which it is not restarted
 * @fake: function; the interface is not registered
 */
void fake_interface(struct fake *fake)
{
	struct net_device *netdev = alloc_etherdev(sizeof(fake));

	KUNIT_ASSERT_NOT_NULL(fake->test, netdev);
	netdev->netdev_ops = &fake_netdev_ops;
	netdev->ethtool_ops = &fake_ethtool_ops;
	*(struct fake **)netdev_priv(netdev) = fake;
	fake->netdev = netdev;
	fake->dev->netdev = netdev;
}

static void fake_exit(void *data)
{
	struct fake *fake = data;
	struct virtio_device *vdev;

	vnr_recover_stop(fake->dev);
	fake_stop(fake);
	vnr_rdma_stop(fake->dev);
	if (fake->dev->child) {
		vdev = fake_vdev(fake);
		/* virtio_net, if it drives the child, cleans up itself. */
		if (vdev->dev.driver == &fake_driver.driver) {
			if (fake->dev->vqs) {
				fake_reset(fake);
				vdev->config->del_vqs(vdev);
			}
			vdev->dev.driver = NULL;
		}
		vnr_child_del(fake->dev);
	}
	vnr_rdma_exit(fake->dev);
	if (fake->netdev)
		free_netdev(fake->netdev);
}

/**
 * fake_create() - make a function with its driver's state, but no child
 * @test: test
 *
 * Return: the function, which is freed with the test.
 */
struct fake *fake_create(struct kunit *test)
{
	/* No driver of the kernel takes this one. */
	struct fake *fake = fake_pci(test, PCI_VENDOR_ID_REDHAT, 0x7fff);
	struct vnr_dev *dev;

	dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	fake->dev = dev;
	/* As pci_enable_device() leaves it. */
	fake->pdev->current_state = PCI_D0;
	dev->mdev.pci_dev = fake->pdev;
	dev->mdev.common = (__force void __iomem *)fake->common;
	dev->mdev.device = (__force void __iomem *)fake->config;
	dev->mdev.device_len = VIRTIO_NET_ROCE_CONFIG_SIZE;
	dev->mdev.notify_base = (__force void __iomem *)fake->bar + FAKE_NOTIFY;
	dev->mdev.notify_len = 2;
	dev->mdev.id.vendor = fake->pdev->vendor;

	fake->common->num_queues = cpu_to_le16(FAKE_QUEUES);
	fake->common->queue_size = cpu_to_le16(FAKE_NUM);
	*(__le16 *)(fake->bar + FAKE_NOTIFY) = cpu_to_le16(FAKE_QUIET);
	*(__le32 *)(fake->config + VIRTIO_NET_ROCE_CONFIG_OFFSET) =
		cpu_to_le32(FAKE_QPS);
	*(__le32 *)(fake->config + VIRTIO_NET_ROCE_CONFIG_OFFSET + 4) =
		cpu_to_le32(FAKE_CQS);
	vnr_offer_read(&dev->mdev, &dev->offer);

	INIT_DELAYED_WORK(&dev->config_work, vnr_config_work);
	INIT_WORK(&dev->events_work, vnr_events_work);
	vnr_ctrl_init(dev);
	/* A machine that stands still does not make a device that answers late. */
	dev->ctrl.stall_ns = FAKE_PATIENCE_US * NSEC_PER_USEC;
	vnr_life_init(dev);
	/* Tests of the recovery let it go on. */
	dev->life.stopped = true;
	dev->life.ask_ms = 20;
	KUNIT_ASSERT_EQ(test, 0, vnr_rdma_init(dev));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, fake_exit,
							   fake));
	return fake;
}

struct virtio_device *fake_vdev(struct fake *fake)
{
	return &fake->dev->child->vdev;
}

/**
 * fake_negotiate() - make the child, and choose features in place of virtio_net
 * @fake: function
 * @features: what is taken
 *
 * virtio_net is in the kernel and probes the child, but refuses its features.
 *
 * Return: the result of finalize_features.
 */
int fake_negotiate(struct fake *fake, u64 features)
{
	if (!fake->dev->child) {
		fake_offer(fake, 0);
		KUNIT_ASSERT_EQ(fake->test, 0, vnr_child_add(fake->dev));
		KUNIT_ASSERT_NULL(fake->test, fake_vdev(fake)->dev.driver);
		fake_vdev(fake)->dev.driver = &fake_driver.driver;
		fake_vdev(fake)->priv = fake;
	}
	fake_vdev(fake)->features = features;
	return fake_vdev(fake)->config->finalize_features(fake_vdev(fake));
}

static void fake_callback(struct virtqueue *vq)
{
}

/**
 * fake_find() - ask for virtqueues as virtio_net does
 * @fake: function with a child
 * @ctrl_callback: for the control queue
 *
 * Return: the result of find_vqs.
 */
int fake_find(struct fake *fake, vq_callback_t *ctrl_callback)
{
	struct virtqueue_info info[FAKE_ETH] = {
		{ "input", fake_callback },
		{ "output", fake_callback },
		{ "control", ctrl_callback },
	};

	int ret;

	fake->avail = 0;
	fake->used = 0;
	fake->awake = false;
	ret = virtio_find_vqs(fake_vdev(fake), FAKE_ETH, fake->vqs, info, NULL);
	/* Its DRIVER_OK would start RDMA, too. */
	if (!ret)
		vnr_life_go_live(fake->dev);
	/* All that was taken, if it is asked again. */
	fake_offer(fake, ~0ULL);
	return ret;
}

/**
 * fake_reset() - reset the function, through the child
 * @fake: function
 */
void fake_reset(struct fake *fake)
{
	fake_vdev(fake)->config->reset(fake_vdev(fake));
	fake_was_reset(fake);
}

/**
 * fake_running() - make a function whose virtqueues are there
 * @test: test
 * @features: features that virtio_net took
 *
 * Return: the function.
 */
struct fake *fake_running(struct kunit *test, u64 features)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, features));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	return fake;
}

/* ----- the device's side ----- */

/**
 * fake_rung() - the virtqueue whose doorbell was rung last
 * @fake: function
 *
 * Return: its number, FAKE_QUIET if there was no doorbell since the last call.
 */
u16 fake_rung(struct fake *fake)
{
	return xchg((u16 *)(fake->bar + FAKE_NOTIFY), FAKE_QUIET);
}

/*
 * The ring of the control queue, or NULL.
 * Context: lock of the control queue held, where the function may be restarted meanwhile.
 */
static const struct vring *fake_vring(struct fake *fake)
{
	return fake->dev->ctrl.vq ? virtqueue_get_vring(fake->dev->ctrl.vq) : NULL;
}

static bool fake_add_seg(struct fake_cmd *cmd, const struct vring_desc *desc)
{
	bool in = le16_to_cpu((__force __le16)desc->flags) & VRING_DESC_F_WRITE;
	unsigned int *n = in ? &cmd->nin : &cmd->nout;
	struct fake_seg *seg = in ? cmd->in : cmd->out;

	/* Readable descriptors come before writable ones. */
	if (*n == FAKE_SEGS || (!in && cmd->nin))
		return false;
	seg[*n].addr = phys_to_virt(le64_to_cpu((__force __le64)desc->addr));
	seg[*n].len = le32_to_cpu((__force __le32)desc->len);
	++*n;
	return true;
}

/**
 * fake_cmds() - room for commands
 * @test: test
 * @n: how many
 *
 * Return: an array, which is freed with the test.
 */
struct fake_cmd *fake_cmds(struct kunit *test, unsigned int n)
{
	struct fake_cmd *cmds;

	cmds = kunit_kcalloc(test, n, sizeof(*cmds), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cmds);
	return cmds;
}

static bool fake_take_locked(struct fake *fake, struct fake_cmd *cmd)
{
	const struct vring_desc *table;
	const struct vring *vring;
	unsigned int num;
	u16 i, flags;

	if (fake_rung(fake) == FAKE_CTRL)
		fake->awake = true;
	vring = fake_vring(fake);
	/* While the function is restarted there is no queue. */
	if (!fake->awake || !vring)
		return false;
	table = vring->desc;
	num = vring->num;
	/* Orders the index before the entries. */
	if ((u16)smp_load_acquire((__force u16 *)&vring->avail->idx) ==
	    fake->avail) {
		fake->awake = false;
		return false;
	}
	memset(cmd, 0, sizeof(*cmd));
	i = (__force u16)vring->avail->ring[fake->avail++ % num];
	cmd->head = i;
	if ((__force u16)table[i].flags & VRING_DESC_F_INDIRECT) {
		num = (__force u32)table[i].len / sizeof(*table);
		table = phys_to_virt((__force u64)table[i].addr);
		i = 0;
	}
	do {
		if (i >= num || !fake_add_seg(cmd, &table[i]))
			return false;
		flags = (__force u16)table[i].flags;
		i = (__force u16)table[i].next;
	} while (flags & VRING_DESC_F_NEXT);
	return true;
}

/**
 * fake_take() - take the next command off the control queue
 * @fake: function
 * @cmd: filled in
 *
 * Like a device it looks at the ring only after the doorbell was rung.
 *
 * Return: false if there is none, or a bad one.
 */
bool fake_take(struct fake *fake, struct fake_cmd *cmd)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&fake->dev->ctrl.lock, flags);
	taken = fake_take_locked(fake, cmd);
	spin_unlock_irqrestore(&fake->dev->ctrl.lock, flags);
	return taken;
}

/**
 * fake_give() - put a command on the used ring
 * @fake: function
 * @cmd: command
 * @len: how much the device says it wrote
 */
void fake_give(struct fake *fake, const struct fake_cmd *cmd, u32 len)
{
	struct vring_used_elem *elem;
	const struct vring *vring;
	unsigned long flags;

	spin_lock_irqsave(&fake->dev->ctrl.lock, flags);
	vring = fake_vring(fake);
	if (vring) {
		elem = &vring->used->ring[fake->used++ % vring->num];
		elem->id = (__force __virtio32)(u32)cmd->head;
		elem->len = (__force __virtio32)len;
		/* Orders the entry before the index. */
		smp_store_release((__force u16 *)&vring->used->idx, fake->used);
	}
	spin_unlock_irqrestore(&fake->dev->ctrl.lock, flags);
}

/**
 * fake_interrupt() - interrupt for the control queue
 * @fake: function
 */
void fake_interrupt(struct fake *fake)
{
	struct virtqueue *vq;
	unsigned long flags;

	local_irq_save(flags);
	/* Not under its lock, which the handler takes. */
	vq = READ_ONCE(fake->dev->ctrl.vq);
	if (vq)
		vring_interrupt(0, vq);
	local_irq_restore(flags);
}

u32 fake_len(const struct fake_seg *segs, unsigned int n)
{
	u32 len = 0;

	while (n--)
		len += segs[n].len;
	return len;
}

/**
 * fake_gather() - read what a chain holds
 * @segs: readable descriptors
 * @n: how many
 * @buf: where to
 * @size: length of @buf
 *
 * Return: bytes that were copied.
 */
u32 fake_gather(const struct fake_seg *segs, unsigned int n, void *buf,
		u32 size)
{
	u32 len = 0, part;
	unsigned int i;

	for (i = 0; i < n && len < size; i++) {
		part = min(segs[i].len, size - len);
		memcpy(buf + len, segs[i].addr, part);
		len += part;
	}
	return len;
}

/**
 * fake_scatter() - write into a chain
 * @segs: writable descriptors
 * @n: how many
 * @buf: what to write
 * @len: how much
 */
void fake_scatter(const struct fake_seg *segs, unsigned int n, const void *buf,
		  u32 len)
{
	unsigned int i;
	u32 part;

	for (i = 0; i < n && len; i++) {
		part = min(segs[i].len, len);
		memcpy(segs[i].addr, buf, part);
		buf += part;
		len -= part;
	}
}

static int fake_thread(void *data)
{
	struct fake *fake = data;
	struct fake_cmd *cmd;
	int len;

	cmd = kmalloc(sizeof(*cmd), GFP_KERNEL);
	while (cmd && !kthread_should_stop()) {
		while (fake_take(fake, cmd)) {
			WRITE_ONCE(fake->served, fake->served + 1);
			len = fake->serve(fake, cmd);
			if (len < 0)
				continue;
			fake_give(fake, cmd, len);
			fake_interrupt(fake);
		}
		usleep_range(20, 50);
	}
	kfree(cmd);
	return 0;
}

/**
 * fake_start() - let a thread play the device
 * @fake: function whose virtqueues are there
 * @serve: what it does with a command
 */
void fake_start(struct fake *fake, fake_serve_fn *serve)
{
	struct task_struct *thread;

	fake->serve = serve;
	thread = kthread_run(fake_thread, fake, "fake-device");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(fake->test, thread);
	fake->thread = thread;
}

/**
 * fake_stop() - end the thread
 * @fake: function; may have none
 */
void fake_stop(struct fake *fake)
{
	if (fake->thread)
		kthread_stop(fake->thread);
	fake->thread = NULL;
}
