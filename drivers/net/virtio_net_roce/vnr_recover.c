// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery of a function that died.  See vnr_life.c for the states.
 *
 * A watchdog sends a running device a cheap query every few seconds, because nothing
 * else reports that a backend is gone.  One work item takes a function from its death
 * to its restart.  Remove, suspend and resets of the PCI core stop the work item first.
 */
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"

#define VNR_WATCH_MS		5000

/* The first time is earlier, because a device that dies while it is started tells nobody. */
#define VNR_WATCH_FIRST_MS	1000

/* How long after a question its answer is looked for. */
#define VNR_LOOK_MS		200U

/* How long a device may take to answer a question before it is taken down. */
#define VNR_ASK_MS		3000

/*
 * Delay of a restart, doubled each time unless the last one lasted.  While a device that has
 * lost its RDMA objects waits, Ethernet goes on, and somebody has started its process again,
 * who does not do that without end.
 */
#define VNR_BACKOFF_MS		1000U
#define VNR_BACKOFF_MAX_MS	60000U
#define VNR_BACKOFF_LOST_MS	1000U

/* ----- questions ----- */

static void vnr_ask_finish(struct vnr_ctrl_cmd *cmd)
{
	complete(&cmd->done);
}

/* Send a cheap query.  The caller puts it.  NULL if it cannot be sent now. */
static struct vnr_ctrl_cmd *vnr_ask_send(struct vnr_dev *dev)
{
	struct virtio_net_ctrl_hdr *hdr;
	struct vnr_ctrl_cmd *cmd;

	cmd = vnr_ctrl_cmd_alloc(&dev->ctrl, 3, vnr_ask_finish, GFP_KERNEL);
	if (!cmd)
		return NULL;
	hdr = vnr_ctrl_cmd_add(cmd, false, sizeof(*hdr), GFP_KERNEL);
	if (!hdr || !vnr_ctrl_cmd_add(cmd, true, 1, GFP_KERNEL) ||
	    !vnr_ctrl_cmd_add(cmd, true,
			      sizeof(struct virtio_rdma_ack_query_port),
			      GFP_KERNEL))
		goto err_put;
	hdr->class = VIRTIO_NET_CTRL_ROCE;
	hdr->cmd = VIRTIO_NET_CTRL_ROCE_QUERY_PORT;
	/* If there is no room, other commands are waiting, with their own timeouts. */
	if (vnr_ctrl_submit(&dev->ctrl, cmd, VNR_CTRL_PROXY))
		goto err_put;
	return cmd;

err_put:
	vnr_ctrl_cmd_put(cmd);
	return NULL;
}

/*
 * A device that has answered this question before, when an RDMA device was made, and now refuses
 * to, has lost all that it knew of RDMA: its process was started again.  That may have been
 * before it could answer once after its last start.
 */
static bool vnr_ask_refused(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd)
{
	if (cmd->err)
		return false;
	if (*vnr_ctrl_cmd_ack(cmd) != VIRTIO_NET_OK)
		return READ_ONCE(dev->life.answers);
	vnr_life_answered(dev);
	return false;
}

enum vnr_answer {
	VNR_ANSWER_OK,
	VNR_ANSWER_LOST,	/* it has lost its RDMA objects */
	VNR_ANSWER_NONE,
};

/* Ask now, and wait for the answer.  A question that cannot be sent now says nothing. */
static enum vnr_answer vnr_ask(struct vnr_dev *dev)
{
	enum vnr_answer answer = VNR_ANSWER_OK;
	struct vnr_ctrl_cmd *cmd;
	bool done;

	cmd = vnr_ask_send(dev);
	if (!cmd)
		return VNR_ANSWER_OK;
	done = wait_for_completion_timeout(&cmd->done, msecs_to_jiffies(dev->life.ask_ms));
	if (!done) {
		/* Only its interrupt may be lost. */
		vnr_ctrl_reap(&dev->ctrl);
		done = completion_done(&cmd->done);
	}
	if (!done || cmd->err)
		answer = VNR_ANSWER_NONE;
	else if (vnr_ask_refused(dev, cmd))
		answer = VNR_ANSWER_LOST;
	vnr_ctrl_cmd_put(cmd);
	return answer;
}

/* Nothing is expected of it any more, not for Ethernet either. */
static void vnr_recover_give_up(struct vnr_dev *dev)
{
	vnr_life_die(dev, false);
	vnr_ctrl_abandon(dev);
}

static void vnr_recover_lost(struct vnr_dev *dev)
{
	dev_err(vnr_device(dev), "the device has lost its RDMA objects\n");
	/* Others may have found out at the same time. */
	if (!vnr_life_lose(dev) && vnr_life_state(dev) != VNR_LOST)
		vnr_recover_give_up(dev);
}

/**
 * vnr_recover_refused() - the device has refused what it must not refuse
 * @dev: function
 *
 * It is reset: at once, or when recovery does it if it has lost its RDMA objects or is silent.
 *
 * Context: may sleep, for some seconds.
 */
void vnr_recover_refused(struct vnr_dev *dev)
{
	enum vnr_answer answer = VNR_ANSWER_OK;

	if (vnr_life_state(dev) == VNR_RUNNING)
		answer = vnr_ask(dev);
	if (answer == VNR_ANSWER_LOST)
		vnr_recover_lost(dev);
	else if (answer == VNR_ANSWER_NONE)
		vnr_ctrl_kill(dev, "a question");
	else if (vnr_life_state(dev) != VNR_LOST)
		vnr_recover_give_up(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_refused);

static bool vnr_is_broken(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	unsigned long flags;
	bool broken;

	spin_lock_irqsave(&ctrl->lock, flags);
	broken = ctrl->vq && virtqueue_is_broken(ctrl->vq);
	spin_unlock_irqrestore(&ctrl->lock, flags);
	return broken;
}

/**
 * vnr_recover_answers() - does the device still answer commands?
 * @dev: function
 *
 * A question is sent only if there is an RDMA device, because its removal needs
 * commands with long timeouts.  A function that does not answer is dead.
 *
 * Context: may sleep, for some seconds.
 * Return: true if the function runs and answers.
 */
bool vnr_recover_answers(struct vnr_dev *dev)
{
	/* The caller is about to take down Ethernet, too. */
	if (vnr_life_state(dev) == VNR_LOST)
		vnr_recover_give_up(dev);
	if (!vnr_life_lives(dev))
		return false;
	/* Newer kernels break the queues of a device before they shut it down. */
	if (vnr_is_broken(dev) || !pci_device_is_present(dev->mdev.pci_dev)) {
		vnr_recover_give_up(dev);
		return false;
	}
	if (!READ_ONCE(dev->aux))
		return true;
	switch (vnr_ask(dev)) {
	case VNR_ANSWER_OK:
		return true;
	case VNR_ANSWER_LOST:
		vnr_recover_lost(dev);
		vnr_recover_give_up(dev);
		return false;
	default:
		vnr_ctrl_kill(dev, "a question");
		return false;
	}
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_answers);

static void vnr_watch_forget(struct vnr_life *life)
{
	if (life->question)
		vnr_ctrl_cmd_put(life->question);
	life->question = NULL;
}

static void vnr_watch_question(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	bool lost = false;

	/* Only the interrupt of its answer may be lost. */
	if (life->question)
		vnr_ctrl_reap(&dev->ctrl);
	if (life->question && completion_done(&life->question->done)) {
		lost = vnr_ask_refused(dev, life->question);
		vnr_watch_forget(life);
	}
	if (lost) {
		vnr_recover_lost(dev);
		return;
	}
	if (life->question) {
		if (time_after(jiffies, life->asked + dev->ctrl.timeout))
			vnr_ctrl_kill(dev, "a question");
		return;
	}
	/* Without RDMA nobody depends on the control queue but virtio_net. */
	if (!READ_ONCE(dev->aux))
		return;
	/* This may be a look for the answer, and not the time for the next question. */
	if (!READ_ONCE(life->soon) &&
	    time_before(jiffies, life->asked + msecs_to_jiffies(life->watch_ms)))
		return;
	WRITE_ONCE(life->soon, false);
	life->asked = jiffies;
	life->question = vnr_ask_send(dev);
}

/* vnr_recover_look() leaves it to this if it comes while the watchdog runs. */
static void vnr_watch_again(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	unsigned int ms = life->watch_ms;
	unsigned long flags;

	spin_lock_irqsave(&life->lock, flags);
	if (life->question)
		ms = min(ms, VNR_LOOK_MS);
	else if (life->soon && READ_ONCE(dev->aux))
		ms = 0;
	schedule_delayed_work(&life->watch, msecs_to_jiffies(ms));
	spin_unlock_irqrestore(&life->lock, flags);
}

static void vnr_watch_work(struct work_struct *work)
{
	struct vnr_life *life = container_of(to_delayed_work(work),
					     struct vnr_life, watch);
	struct vnr_dev *dev = container_of(life, struct vnr_dev, life);

	if (vnr_life_lives(dev)) {
		if (!pci_device_is_present(dev->mdev.pci_dev)) {
			dev_err(vnr_device(dev), "the device is gone\n");
			vnr_recover_give_up(dev);
		} else if (vnr_status(dev) & VIRTIO_CONFIG_S_NEEDS_RESET) {
			dev_err(vnr_device(dev), "the device asks for a reset\n");
			vnr_recover_give_up(dev);
		} else {
			vnr_watch_question(dev);
			vnr_child_remind(dev);
		}
	}
	if (vnr_life_lives(dev))
		vnr_watch_again(dev);
	else
		vnr_watch_forget(life);
}

/* ----- the link ----- */

/*
 * If the device has a status field, virtio_net reads the link from the configuration
 * space.  While the function is mute, vnr_child_get() answers such reads.
 */
static void vnr_link(struct vnr_dev *dev, bool up)
{
	struct net_device *netdev;

	if (!up)
		WRITE_ONCE(dev->life.link, false);
	/* virtio_has_feature() wants a driver to be bound. */
	if (__virtio_test_bit(&dev->child->vdev, VIRTIO_NET_F_STATUS)) {
		vnr_child_changed(dev);
		return;
	}
	spin_lock(&dev->netdev_lock);
	netdev = dev->netdev;
	if (netdev)
		dev_hold(netdev);
	spin_unlock(&dev->netdev_lock);
	if (!netdev)
		return;
	if (up)
		netif_carrier_on(netdev);
	else
		netif_carrier_off(netdev);
	dev_put(netdev);
}

/* The configuration is not read for this: a process may be gone at any time. */
static bool vnr_link_is_up(struct vnr_dev *dev)
{
	bool up;

	spin_lock(&dev->netdev_lock);
	up = dev->netdev && netif_carrier_ok(dev->netdev);
	spin_unlock(&dev->netdev_lock);
	return up;
}

/* ----- restart ----- */

/*
 * virtio_net cannot go on with this device as it is: let it start anew.  The new interface
 * has nothing of what was set on the old one, as after a hot plug.
 */
static int vnr_recover_rebind(struct vnr_dev *dev)
{
	struct device *d = &dev->child->vdev.dev;
	int ret;

	dev_warn(vnr_device(dev),
		 "cannot be restarted in place: virtio_net is bound anew, its interface is a new one, and what was set on the old one is lost\n");
	WRITE_ONCE(dev->life.mute, false);
	device_release_driver(d);
	ret = device_attach(d);
	return ret < 0 ? ret : 0;
}

/* Context: the child is locked. */
static int vnr_recover_try(struct vnr_dev *dev)
{
	int ret;

	if (!dev->child->vdev.dev.driver || !dev->vqs ||
	    vnr_life_state(dev) != VNR_QUIESCED) {
		/* A driver that is bound later may start it: there was a sign of life. */
		if (vnr_life_state(dev) == VNR_QUIESCED)
			WRITE_ONCE(dev->life.mute, false);
		return 0;
	}
	ret = vnr_restart(dev);
	vnr_link(dev, !ret);
	if (ret)
		return ret;
	dev->life.restarted = jiffies;
	dev_info(vnr_device(dev), "restarted\n");
	return 0;
}

/**
 * vnr_recover_restart() - start a quiesced function again
 * @dev: function
 *
 * The interface stays.  The RDMA device is added when the device runs.
 *
 * Context: may sleep; the RTNL lock must not be held.
 * Return: 0, also if there is nothing to start, or -errno.
 */
int vnr_recover_restart(struct vnr_dev *dev)
{
	struct virtio_device *vdev = &dev->child->vdev;
	int ret;

	/*
	 * If it fails, virtio_net is being bound or unbound, and that may wait for us.
	 */
	if (!device_trylock(&vdev->dev))
		return -EAGAIN;
	ret = vnr_recover_try(dev);
	device_unlock(&vdev->dev);
	return ret == -EOPNOTSUPP ? vnr_recover_rebind(dev) : ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_restart);

/* ----- recovery ----- */

static void vnr_recover_later(struct vnr_life *life, unsigned int ms)
{
	/* Not if recovery was stopped.  If it was queued already, this time counts. */
	if (!READ_ONCE(life->stopped))
		mod_delayed_work(system_unbound_wq, &life->recover,
				 msecs_to_jiffies(ms));
}

static unsigned int vnr_recover_backoff(struct vnr_life *life, unsigned int most)
{
	if (time_after(jiffies, life->restarted +
		       msecs_to_jiffies(VNR_BACKOFF_MAX_MS)))
		life->backoff_ms = 0;
	else
		life->backoff_ms = min(max(2 * life->backoff_ms, VNR_BACKOFF_MS), most);
	return life->backoff_ms;
}

/* Wait while Ethernet goes on.  Then the function is dead, and about to be reset. */
static void vnr_recover_wait_lost(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	/* One that has not answered since its start may be another one, which never will. */
	unsigned int ms = vnr_recover_backoff(life, READ_ONCE(life->answered) ?
					      life->lost_ms : VNR_BACKOFF_MAX_MS);

	vnr_rdma_tell(dev);
	wait_event_timeout(life->wait, READ_ONCE(life->stopped) ||
			   vnr_life_state(dev) != VNR_LOST, msecs_to_jiffies(ms));
	if (READ_ONCE(life->stopped) || vnr_life_state(dev) != VNR_LOST)
		return;
	/* Its process may have ended since.  QEMU aborts when such a device is started. */
	if (vnr_ask(dev) == VNR_ANSWER_NONE) {
		vnr_ctrl_kill(dev, "a question");
		return;
	}
	if (vnr_life_pause(dev, vnr_link_is_up(dev)))
		vnr_ctrl_abandon(dev);
}

/*
 * Quiesce a dead function and remove the RDMA device.  Returns false if it has to be
 * called again.
 */
static bool vnr_recover_quiesce(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;

	if (vnr_life_state(dev) == VNR_DEAD) {
		if (!life->link)
			vnr_link(dev, false);
		vnr_rdma_tell(dev);
		if (life->silent)
			wait_event_timeout(life->wait, life->heard ||
					   READ_ONCE(life->stopped) ||
					   vnr_life_state(dev) != VNR_DEAD,
					   msecs_to_jiffies(life->grace_ms));
		if (READ_ONCE(life->stopped))
			return true;
		if (vnr_life_state(dev) == VNR_DEAD && vnr_life_quiesce(dev))
			return false;
	}
	if (vnr_life_state(dev) == VNR_QUIESCED)
		vnr_rdma_drop(dev);
	return true;
}

static void vnr_recover_work(struct work_struct *work)
{
	struct vnr_life *life = container_of(to_delayed_work(work),
					     struct vnr_life, recover);
	struct vnr_dev *dev = container_of(life, struct vnr_dev, life);
	bool lost = false;
	int ret;

	if (!life->pending) {
		lost = vnr_life_state(dev) == VNR_LOST;
		if (lost)
			vnr_recover_wait_lost(dev);
		if (!vnr_recover_quiesce(dev)) {
			vnr_link(dev, false);
			vnr_recover_later(life, VNR_BACKOFF_MAX_MS);
			return;
		}
		if (READ_ONCE(life->stopped) ||
		    vnr_life_state(dev) != VNR_QUIESCED)
			return;
		/* A device that is gone will be removed sooner or later. */
		if (!pci_device_is_present(dev->mdev.pci_dev)) {
			vnr_link(dev, false);
			return;
		}
		if (life->silent && !life->heard) {
			dev_warn(vnr_device(dev),
				 "was reset, but is not restarted without a sign of life: unplug it (under QEMU nothing else is safe), or, if the device is back, write 1 to its file \"reset\" in sysfs\n");
			return;
		}
		life->pending = true;
		vnr_recover_later(life, lost ? 0 : vnr_recover_backoff(life, VNR_BACKOFF_MAX_MS));
		return;
	}
	ret = vnr_recover_restart(dev);
	if (ret == -EAGAIN) {
		vnr_recover_later(life, VNR_BACKOFF_MS);
	} else if (ret) {
		dev_err(vnr_device(dev), "cannot be restarted: %pe\n", ERR_PTR(ret));
		life->restarted = jiffies;
		vnr_recover_later(life, vnr_recover_backoff(life, VNR_BACKOFF_MAX_MS));
	} else {
		life->pending = false;
	}
}

/**
 * vnr_recover_begin() - start recovery of a function that died, or a restart
 * @dev: function
 *
 * Context: any.
 */
void vnr_recover_begin(struct vnr_dev *dev)
{
	vnr_recover_later(&dev->life, 0);
}

/**
 * vnr_recover_watch() - start the watchdog of a running function
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_recover_watch(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;

	WRITE_ONCE(life->soon, true);
	if (dev->roce && !READ_ONCE(life->stopped))
		schedule_delayed_work(&life->watch,
				      msecs_to_jiffies(min(life->watch_ms, life->first_ms)));
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_watch);

/**
 * vnr_recover_look() - ask the device soon
 * @dev: function, of which something has changed
 *
 * A process that was started again in the place of one that was killed says so by a change of
 * the configuration.
 *
 * Context: any.
 */
void vnr_recover_look(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;

	spin_lock_irqsave(&life->lock, flags);
	WRITE_ONCE(life->soon, true);
	/* Only if it is being watched. */
	if (!life->stopped && delayed_work_pending(&life->watch))
		mod_delayed_work(system_wq, &life->watch, 0);
	spin_unlock_irqrestore(&life->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_look);

/**
 * vnr_recover_stop() - stop watchdog and recovery of a function
 * @dev: function
 *
 * Context: may sleep; locks of the child or of the network must not be held.
 */
void vnr_recover_stop(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;
	unsigned long flags;

	/* Against vnr_recover_look(). */
	spin_lock_irqsave(&life->lock, flags);
	WRITE_ONCE(life->stopped, true);
	spin_unlock_irqrestore(&life->lock, flags);
	wake_up_all(&life->wait);
	cancel_delayed_work_sync(&life->watch);
	cancel_delayed_work_sync(&life->recover);
	vnr_watch_forget(life);
	/* Last, because until then the work item may quiesce the function. */
	WRITE_ONCE(life->leaving, true);
	wake_up_all(&life->wait);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_stop);

/**
 * vnr_recover_go_on() - undo vnr_recover_stop()
 * @dev: function
 * @restart: it was quiesced, and the caller knows that it can be restarted
 *
 * Context: may sleep.
 */
void vnr_recover_go_on(struct vnr_dev *dev, bool restart)
{
	struct vnr_life *life = &dev->life;

	life->stuck = false;
	WRITE_ONCE(life->leaving, false);
	WRITE_ONCE(life->stopped, false);
	if (restart) {
		life->heard = true;
		life->pending = true;
	}
	if (vnr_life_lives(dev))
		vnr_recover_watch(dev);
	else
		vnr_recover_begin(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_go_on);

/**
 * vnr_recover_take_down() - quiesce a function that the caller is about to reset
 * @dev: function
 *
 * The RDMA device is removed.  virtio_net only sees that the link goes down.
 *
 * Context: may sleep; locks of the child or of the network must not be held.
 * Return: as vnr_life_quiesce().
 */
int vnr_recover_take_down(struct vnr_dev *dev)
{
	int ret;

	vnr_recover_stop(dev);
	vnr_recover_give_up(dev);
	vnr_link(dev, false);
	vnr_rdma_tell(dev);
	ret = vnr_life_quiesce(dev);
	vnr_rdma_drop(dev);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_recover_take_down);

/**
 * vnr_recover_init() - prepare the work items
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_recover_init(struct vnr_dev *dev)
{
	struct vnr_life *life = &dev->life;

	INIT_DELAYED_WORK(&life->watch, vnr_watch_work);
	INIT_DELAYED_WORK(&life->recover, vnr_recover_work);
	life->watch_ms = VNR_WATCH_MS;
	life->first_ms = VNR_WATCH_FIRST_MS;
	life->lost_ms = VNR_BACKOFF_LOST_MS;
	life->ask_ms = VNR_ASK_MS;
	life->restarted = jiffies - 2 * msecs_to_jiffies(VNR_BACKOFF_MAX_MS);
}
