/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A RoCE function without hardware, for tests of virtio_net_roce.
 *
 * It is a PCI function on a bus of its own: its configuration space is an array, and
 * its only BAR is two pages of memory.  So a register holds what was written to it
 * last, and registers that exist once per virtqueue, or once per half of a feature
 * set, are one register here.  The test, or a thread that calls a function of the
 * test, plays the device side of the control queue.
 */
#ifndef _VIRTIO_NET_ROCE_FAKE_H
#define _VIRTIO_NET_ROCE_FAKE_H

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/ethtool.h>
#include <linux/jiffies.h>
#include <linux/pci.h>
#include <linux/virtio_net.h>

#include "../drivers/net/virtio_net_roce/vnr.h"

/* Numbers of the function's queues. */
#define FAKE_CQS	3
#define FAKE_QPS	2
#define FAKE_ETH	3	/* receive, transmit, control */
#define FAKE_CTRL	(FAKE_ETH - 1)
#define FAKE_QUEUES	(FAKE_ETH + FAKE_CQS + 2 * FAKE_QPS)
#define FAKE_NUM	64	/* descriptors of a virtqueue */

/* How long to wait for what has to happen.  KUnit ends a case after 300 s. */
#define FAKE_PATIENCE_US	(120 * USEC_PER_SEC)
#define FAKE_PATIENCE		(120 * HZ)

#define FAKE_NET	(BIT_ULL(VIRTIO_F_VERSION_1) | \
			 BIT_ULL(VIRTIO_NET_F_CTRL_VQ))

/* Offsets in the BAR. */
#define FAKE_COMMON	0x0000
#define FAKE_NOTIFY	0x0200
#define FAKE_MSIX	0x0400
#define FAKE_PBA	0x0800
/* On a page of its own: a page of RAM can be mapped as registers only once. */
#define FAKE_CONFIG	0x1000
#define FAKE_BAR	0x2000

#define FAKE_VECTORS	16
/* In the configuration space. */
#define FAKE_MSIX_CAP	0x40
#define FAKE_SEGS	24

/* A restart sets the sizes of receive and transmit rings, and sets them back. */
#define FAKE_RESIZES	4

/* No doorbell was rung. */
#define FAKE_QUIET	0xffff

struct fake_seg {
	void *addr;
	u32 len;
};

/**
 * struct fake_cmd - a descriptor chain that the device took
 * @head: its first descriptor
 * @nout: length of @out
 * @nin: length of @in
 * @out: what the device may read, descriptor by descriptor
 * @in: what it may write
 */
struct fake_cmd {
	u16 head;
	unsigned int nout;
	unsigned int nin;
	struct fake_seg out[FAKE_SEGS];
	struct fake_seg in[FAKE_SEGS];
};

struct fake;

/**
 * typedef fake_serve_fn - what the thread does with a command
 * @fake: function
 * @cmd: command
 *
 * Return: used length to answer with; -1 to say nothing.
 */
typedef int fake_serve_fn(struct fake *fake, struct fake_cmd *cmd);

/**
 * struct fake - the function
 * @test: test that it belongs to
 * @sysdata: of @bus
 * @bus: root bus with nothing else on it
 * @pdev: the function
 * @cfg: its PCI configuration space
 * @gone: it was pulled out
 * @netdev: interface of its virtio driver, NULL if it has none
 * @resized: how often the driver was told to set ring sizes
 * @no_memory: which of the next times it has no memory for it; 0 for none of them
 * @recycled: buffers that it got back then
 * @master: its bus mastering cannot be turned off
 * @bar: its BAR
 * @common: in @bar
 * @config: in @bar
 * @dev: the driver's side
 * @vqs: virtqueues that the child was given
 * @avail: next entry of the control queue's available ring
 * @used: entries in its used ring
 * @awake: the doorbell was rung, and the queue has not been found empty since
 * @thread: plays the device
 * @serve: what it does with a command
 * @served: commands that it took
 */
struct fake {
	struct kunit *test;
	struct pci_sysdata sysdata;
	struct pci_bus *bus;
	struct pci_dev *pdev;
	u8 cfg[256] __aligned(4);
	bool gone;
	struct net_device *netdev;
	unsigned int resized;
	unsigned int no_memory;
	unsigned int recycled;
	bool master;
	void *bar;
	struct virtio_pci_common_cfg *common;
	u8 *config;
	struct vnr_dev *dev;
	struct virtqueue *vqs[FAKE_ETH];
	u16 avail;
	u16 used;
	bool awake;
	struct task_struct *thread;
	fake_serve_fn *serve;
	unsigned int served;
};

struct fake *fake_pci(struct kunit *test, u16 vendor, u16 device);
void fake_cap(struct fake *fake, u8 pos, u8 type, u8 bar, u32 offset, u32 len);
struct fake *fake_create(struct kunit *test);
void fake_offer(struct fake *fake, u64 features);
struct virtio_device *fake_vdev(struct fake *fake);
int fake_negotiate(struct fake *fake, u64 features);
int fake_find(struct fake *fake, vq_callback_t *ctrl_callback);
void fake_interface(struct fake *fake);

/* For an interface whose private data is the pointer to its function. */
extern const struct ethtool_ops fake_ethtool_ops;

void fake_reset(struct fake *fake);
struct fake *fake_running(struct kunit *test, u64 features);
u16 fake_command(struct fake *fake);
u16 fake_rung(struct fake *fake);

struct fake_cmd *fake_cmds(struct kunit *test, unsigned int n);
bool fake_take(struct fake *fake, struct fake_cmd *cmd);
void fake_give(struct fake *fake, const struct fake_cmd *cmd, u32 len);
void fake_interrupt(struct fake *fake);
u32 fake_len(const struct fake_seg *segs, unsigned int n);
u32 fake_gather(const struct fake_seg *segs, unsigned int n, void *buf,
		u32 size);
void fake_scatter(const struct fake_seg *segs, unsigned int n, const void *buf,
		  u32 len);
void fake_start(struct fake *fake, fake_serve_fn *serve);
void fake_stop(struct fake *fake);

/* Waits long enough that only a mistake makes it fail. */
#define fake_wait(cond) ({						\
	unsigned long __end = jiffies + FAKE_PATIENCE;			\
	bool __met;							\
									\
	while (!(__met = (cond)) && time_before(jiffies, __end))	\
		usleep_range(100, 300);					\
	__met;								\
})

#endif /* _VIRTIO_NET_ROCE_FAKE_H */
