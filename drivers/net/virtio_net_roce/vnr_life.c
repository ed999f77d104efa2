// SPDX-License-Identifier: GPL-2.0
/*
 * Life, death and recovery of a function.
 *
 * Theory of operation
 * ===================
 *
 *   quiesced ──> starting ──> running ──> dead ──> quiesced
 *                                └─> lost ─┘
 *
 * vnr_next[] has all transitions, vnr_state_set() makes them, and nothing else writes the
 * state.  A function starts (vnr_life_run()) when it has its virtqueues, and runs
 * (vnr_life_go_live()) from DRIVER_OK on.
 *
 * A function dies (vnr_life_die()) when a sent command got no answer in time, when the
 * function is gone, when it asks for a reset, or when PCI reports an error.  From then
 * on each command fails at once.  Users of RDMA are told, and the link goes down.  But
 * the device may still write to memory, so nothing that it knows about is freed.
 *
 * A function loses its RDMA objects (vnr_life_lose()) when the device's process was started
 * again: the device says so by refusing questions that it has answered before.  It serves
 * Ethernet, so virtio_net notices nothing, and users of RDMA are told.  The function is
 * reset, which RDMA needs and Ethernet suffers from, when the delay that limits how often
 * this happens is over.  Then it is dead for the short time that this takes.  That the
 * device has no RDMA objects is what it says: their memory is not freed before the reset.
 *
 * It is quiesced (vnr_life_quiesce()) when a reset was confirmed, when bus mastering is
 * off, or when the function is gone.  Then the device has forgotten everything and
 * touches no memory.  The driver answers commands that take something away from the
 * device with -ENODEV, which means the same as the device's own answer, and all memory
 * is freed.  The RDMA device is removed.  A function that dies while it is taken down,
 * for removal or suspend, is quiesced by the first command that finds it dead.
 *
 * It is restarted in place (vnr_restart.c).  virtio_net and its interface stay, and a new
 * RDMA device comes with DRIVER_OK.
 *
 * A dead function whose backend is silent gets some time before it is reset.  The
 * reason is QEMU. It stops completely when it resets a vhost-user device whose process
 * hangs.  It aborts when a device whose process is gone is started or its configuration
 * is read.  So a silent function is restarted only after a sign of life: a late answer,
 * or a slow reset, since the reset of a device without a process is fast.  Its
 * configuration space is not read before that, see vnr_child_get().
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"
#include "vnr_trace.h"

/* How long a function may take to report that it was reset. */
#define VNR_RESET_MS		10000

/* A reset that takes this long was carried out by a live backend. */
#define VNR_RESET_ALIVE_MS	3000

/* How long a dead function may stay silent before it is reset. */
#define VNR_GRACE_MS		30000

/* How long a command with memory at stake waits for the reset. */
#define VNR_SETTLE_MS		(VNR_GRACE_MS + 2 * VNR_RESET_MS)

static const char * const vnr_state_names[] = {
	[VNR_QUIESCED]	= "quiesced",
	[VNR_STARTING]	= "starting",
	[VNR_RUNNING]	= "running",
	[VNR_LOST]	= "lost",
	[VNR_DEAD]	= "dead",
};

/* Each legal transition: the states that follow on one. */
static const unsigned long vnr_next[VNR_STATES] = {
	[VNR_QUIESCED]	= BIT(VNR_STARTING),
	[VNR_STARTING]	= BIT(VNR_RUNNING) | BIT(VNR_DEAD) | BIT(VNR_QUIESCED),
	[VNR_RUNNING]	= BIT(VNR_LOST) | BIT(VNR_DEAD) | BIT(VNR_QUIESCED),
	[VNR_LOST]	= BIT(VNR_DEAD) | BIT(VNR_QUIESCED),
	[VNR_DEAD]	= BIT(VNR_QUIESCED),
};

/* Context: @life->lock held. */
static bool vnr_state_may(const struct vnr_life *life, enum vnr_state to)
{
	return vnr_next[life->state] & BIT(to);
}

/* Context: @life->lock held. */
static bool vnr_state_set(struct vnr_dev *dev, enum vnr_state to)
{
	struct vnr_life *life = &dev->life;

	if (!vnr_state_may(life, to))
		return false;
	pci_dbg(dev->mdev.pci_dev, "%s, was %s\n", vnr_state_names[to],
		vnr_state_names[life->state]);
	trace_vnr_state(dev, life->state, to);
	/* Changes that come with the state are seen before it; pairs with vnr_life_state(). */
	smp_store_release(&life->state, to);
	return true;
}

/**
 * vnr_life_change() - take a function to another state, if that may follow
 * @dev: function
 * @to: state
 *
 * Context: any.
 * Return: false if @to may not follow, and nothing has changed.
 */
bool vnr_life_change(struct vnr_dev *dev, enum vnr_state to)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&life->lock, flags);
	may = vnr_state_set(dev, to);
	spin_unlock_irqrestore(&life->lock, flags);
	wake_up_all(&life->wait);
	return may;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_change);

static const enum virtio_net_roce_event vnr_state_events[] = {
	[VNR_QUIESCED]	= VIRTIO_NET_ROCE_QUIESCED,
	[VNR_STARTING]	= VIRTIO_NET_ROCE_RUNS,
	[VNR_RUNNING]	= VIRTIO_NET_ROCE_RUNS,
	[VNR_LOST]	= VIRTIO_NET_ROCE_DEAD,
	[VNR_DEAD]	= VIRTIO_NET_ROCE_DEAD,
};

/**
 * vnr_life_event() - a function's state as an event for the RDMA driver
 * @dev: function
 *
 * Context: any.
 * Return: event.
 */
enum virtio_net_roce_event vnr_life_event(struct vnr_dev *dev)
{
	return vnr_state_events[vnr_life_state(dev)];
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_event);

/**
 * vnr_life_state() - the state of a function
 * @dev: function
 *
 * Context: any.
 * Return: state, which may change at any time.
 */
enum vnr_state vnr_life_state(struct vnr_dev *dev)
{
	/* Before what has changed with it; pairs with vnr_state_set(). */
	return smp_load_acquire(&dev->life.state);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_state);

/**
 * vnr_life_lives() - has a function its virtqueues, and does the device answer?
 * @dev: function
 *
 * Context: any.
 * Return: true if it starts or runs, which may change at any time.  One that is lost
 * answers Ethernet only.
 */
bool vnr_life_lives(struct vnr_dev *dev)
{
	enum vnr_state state = vnr_life_state(dev);

	return state == VNR_STARTING || state == VNR_RUNNING;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_lives);

/* Does it not run any more, and may still touch memory of RDMA? */
static bool vnr_life_lingers(struct vnr_dev *dev)
{
	enum vnr_state state = vnr_life_state(dev);

	return state == VNR_LOST || state == VNR_DEAD;
}

/**
 * vnr_life_run() - a function has its virtqueues, and will run
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_life_run(struct vnr_dev *dev)
{
	/* vnr_stop_dma() may have turned it off. */
	pci_set_master(dev->mdev.pci_dev);
	WRITE_ONCE(dev->life.answered, false);
	if (vnr_life_change(dev, VNR_STARTING))
		vnr_recover_watch(dev);
}

/**
 * vnr_life_go_live() - DRIVER_OK was set, so doorbells may be rung
 * @dev: function
 *
 * Context: any.
 */
void vnr_life_go_live(struct vnr_dev *dev)
{
	/* Not if it has died since, or runs already. */
	vnr_life_change(dev, VNR_RUNNING);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_go_live);

/**
 * vnr_life_unmute() - virtio_net may see what a running device says
 * @dev: function
 *
 * Context: any.
 * Return: false if it has died again.
 */
bool vnr_life_unmute(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;
	bool lives;

	spin_lock_irqsave(&life->lock, flags);
	lives = vnr_life_lives(dev);
	if (lives)
		WRITE_ONCE(life->mute, false);
	spin_unlock_irqrestore(&life->lock, flags);
	return lives;
}

/**
 * vnr_life_die() - the device is not expected to work any more
 * @dev: function
 * @silent: the only sign of its death is that the backend does not answer
 *
 * Context: any.
 */
void vnr_life_die(struct vnr_dev *dev, bool silent)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;
	bool died;

	spin_lock_irqsave(&life->lock, flags);
	died = vnr_state_may(life, VNR_DEAD);
	if (died) {
		life->silent = silent;
		life->heard = false;
		life->pending = false;
		WRITE_ONCE(life->link, false);
		WRITE_ONCE(life->mute, true);
		vnr_state_set(dev, VNR_DEAD);
	}
	spin_unlock_irqrestore(&life->lock, flags);
	if (!died)
		return;
	wake_up_all(&life->wait);
	vnr_recover_begin(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_die);

/**
 * vnr_life_lose() - the device has lost its RDMA objects, and goes on with Ethernet
 * @dev: function
 *
 * Context: any.
 * Return: false if it does not run, or is still being restarted, and nothing has changed.
 */
bool vnr_life_lose(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;
	bool lost;

	spin_lock_irqsave(&life->lock, flags);
	lost = !life->mute && vnr_state_may(life, VNR_LOST);
	if (lost) {
		life->silent = false;
		life->heard = false;
		life->pending = false;
		vnr_state_set(dev, VNR_LOST);
	}
	spin_unlock_irqrestore(&life->lock, flags);
	if (!lost)
		return false;
	wake_up_all(&life->wait);
	vnr_recover_begin(dev);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_lose);

/**
 * vnr_life_pause() - a lost function is about to be reset, and started again at once
 * @dev: function
 * @link: virtio_net's link is up
 *
 * It is dead from now on, and virtio_net does not notice: a link that goes down for a moment
 * costs addresses of neighbours, leases and routes, and so much longer.
 *
 * Context: any; recovery runs already.
 * Return: false if it is not lost any more, and nothing has changed.
 */
bool vnr_life_pause(struct vnr_dev *dev, bool link)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;
	bool lost;

	spin_lock_irqsave(&life->lock, flags);
	lost = life->state == VNR_LOST;
	if (lost) {
		WRITE_ONCE(life->link, link);
		/* Seen by all that see that it is mute; pairs with vnr_child_get_kept(). */
		smp_wmb();
		WRITE_ONCE(life->mute, true);
		vnr_state_set(dev, VNR_DEAD);
	}
	spin_unlock_irqrestore(&life->lock, flags);
	wake_up_all(&life->wait);
	return lost;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_pause);

/**
 * vnr_life_heard() - a dead device has answered after all
 * @dev: function
 *
 * Context: any.
 */
void vnr_life_heard(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;

	/* Under the lock, or vnr_life_die() could clear it again. */
	spin_lock_irqsave(&life->lock, flags);
	if (life->state == VNR_DEAD)
		WRITE_ONCE(life->heard, true);
	spin_unlock_irqrestore(&life->lock, flags);
	wake_up_all(&life->wait);
}

/**
 * vnr_life_answered() - the device has answered QUERY_PORT
 * @dev: function
 *
 * Context: any.
 */
void vnr_life_answered(struct vnr_dev *dev)
{
	WRITE_ONCE(dev->life.answers, true);
	WRITE_ONCE(dev->life.answered, true);
}

/* ----- dead -> quiesced ----- */

static int vnr_reset(struct vnr_dev *dev)
{
	unsigned int ms;

	if (!pci_device_is_present(dev->mdev.pci_dev))
		return -ENODEV;
	vp_modern_set_status(&dev->mdev, 0);
	for (ms = 0; vnr_status(dev); ms++) {
		if (!pci_device_is_present(dev->mdev.pci_dev))
			return -ENODEV;
		if (ms >= dev->life.reset_ms)
			return -ETIMEDOUT;
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
	}
	return 0;
}

/* Without bus mastering the device reaches no memory, whatever its state is. */
static int vnr_stop_dma(struct vnr_dev *dev)
{
	struct pci_dev *pdev = dev->mdev.pci_dev;
	u16 command;

	dev_err(vnr_device(dev), "reset does not end; bus mastering turned off\n");
	pci_clear_master(pdev);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	if (command == (u16)~0 || !(command & PCI_COMMAND_MASTER))
		return 0;
	dev_err(vnr_device(dev), "bus mastering cannot be turned off\n");
	return -EBUSY;
}

/* Context: @life->reset held. */
static int vnr_quiesce(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	ktime_t start = ktime_get();
	int ret;

	ret = vnr_reset(dev);
	if (!ret && ktime_ms_delta(ktime_get(), start) >= VNR_RESET_ALIVE_MS)
		life->heard = true;
	/* A device that is gone does not write to memory. */
	if (ret == -ENODEV)
		ret = 0;
	else if (ret)
		ret = vnr_stop_dma(dev);
	if (!ret) {
		/* Before the waiters are woken, because they check the state. */
		vnr_life_change(dev, VNR_QUIESCED);
		vnr_ctrl_drain(dev);
	}
	return ret;
}

/**
 * vnr_life_quiesce() - reset the device, or else cut it off from memory
 * @dev: function
 *
 * From then on the driver answers commands itself.
 *
 * Context: may sleep; several may call it at a time.
 * Return: 0, or -EBUSY if the device may still reach memory.
 */
int vnr_life_quiesce(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	int ret;

	mutex_lock(&life->reset);
	ret = vnr_quiesce(dev);
	mutex_unlock(&life->reset);
	if (!ret)
		vnr_rdma_tell(dev);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_quiesce);

/*
 * Wait until a dead or lost function is quiesced, because memory is at stake.  While the function
 * is taken down there is no recovery, so the command that finds it so quiesces it.
 * This is tried once.  The commands after it then have the same result, without delay.
 */
static void vnr_life_settle(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	bool quiesced = false;

	wait_event_timeout(life->wait, !vnr_life_lingers(dev) ||
			   READ_ONCE(life->leaving),
			   msecs_to_jiffies(life->settle_ms));
	if (!READ_ONCE(life->leaving))
		return;
	mutex_lock(&life->reset);
	if (vnr_life_lingers(dev) && !life->stuck) {
		life->stuck = vnr_quiesce(dev);
		quiesced = !life->stuck;
	}
	mutex_unlock(&life->reset);
	if (quiesced)
		vnr_rdma_tell(dev);
}

/**
 * vnr_life_wait_quiesced() - wait until a dead function reaches no memory any more
 * @dev: function that does not run
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY if the device may still reach memory.
 */
int vnr_life_wait_quiesced(struct vnr_dev *dev)
{
	vnr_life_settle(dev);
	return vnr_life_lingers(dev) ? -EBUSY : 0;
}

/**
 * vnr_life_exec() - carry out a RoCE command, or answer for a device that cannot
 * @dev: function
 * @cmd: command; see &virtio_net_roce_ops.exec
 *
 * Context: may sleep unless @cmd->atomic.
 * Return: see &virtio_net_roce_ops.exec.
 */
int vnr_life_exec(struct vnr_dev *dev, struct virtio_net_roce_cmd *cmd)
{
	int ret = -EIO;

	if (vnr_life_state(dev) != VNR_LOST)
		ret = vnr_ctrl_exec(dev, cmd);
	/* A device that is lost refuses everything, which says nothing of this command. */
	if (ret == -EREMOTEIO && vnr_life_state(dev) == VNR_LOST)
		ret = -EIO;
	/* The device has answered. */
	if (!ret || ret == -EREMOTEIO)
		return ret;
	if (cmd->settle && !cmd->atomic)
		vnr_life_settle(dev);
	return vnr_life_state(dev) == VNR_QUIESCED ? -ENODEV : ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_exec);

/**
 * vnr_life_init() - initialise the state of a function, before there is a child
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_life_init(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;

	spin_lock_init(&life->lock);
	mutex_init(&life->reset);
	init_waitqueue_head(&life->wait);
	life->state = VNR_QUIESCED;
	life->reset_ms = VNR_RESET_MS;
	life->grace_ms = VNR_GRACE_MS;
	life->settle_ms = VNR_SETTLE_MS;
	vnr_recover_init(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_life_init);
