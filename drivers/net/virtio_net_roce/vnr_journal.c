// SPDX-License-Identifier: GPL-2.0
/*
 * The journal: what virtio_net has told the device.
 *
 * A device that was reset has forgotten everything, and virtio_net does not know that it
 * was reset.  So the driver keeps the last command of each kind that the device has
 * acknowledged, and sends all of them again.  Commands that ask for something, and those
 * that confirm an event, are not kept.
 *
 * virtio_net does not look at the result of some commands, and never repeats them.  Such
 * a command is kept even if it failed, since it can only fail because the device does not
 * run.
 *
 * To put back another command, add a row to vnr_journal_kinds[].  vnr_restart_mac() sets the
 * MAC address again, which virtio_net may only have read.  The MTU stays in the interface.
 */
#include <linux/kmemleak.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"

/**
 * struct vnr_journal_kind - commands that set something
 * @class: their class
 * @first: first of them
 * @last: last of them
 * @blind: virtio_net does not look at the result
 * @numbered: there is one for each value of the 16 bits after the header, and the last
 *	of the commands undoes the first
 */
struct vnr_journal_kind {
	u8 class;
	u8 first;
	u8 last;
	bool blind;
	bool numbered;
};

static const struct vnr_journal_kind vnr_journal_kinds[] = {
	{ VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_PROMISC,
	  VIRTIO_NET_CTRL_RX_NOBCAST, .blind = true },
	{ VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET,
	  VIRTIO_NET_CTRL_MAC_TABLE_SET, .blind = true },
	{ VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_ADDR_SET,
	  VIRTIO_NET_CTRL_MAC_ADDR_SET },
	{ VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_ADD,
	  VIRTIO_NET_CTRL_VLAN_DEL, .blind = true, .numbered = true },
	/* VQ_PAIRS_SET and RSS_CONFIG both set the number of pairs, so their order is kept. */
	{ VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
	  VIRTIO_NET_CTRL_MQ_HASH_CONFIG },
	/* Blind when an XDP program comes or goes. */
	{ VIRTIO_NET_CTRL_GUEST_OFFLOADS, VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
	  VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET, .blind = true },
};

/* The object that a command is about. */
struct vnr_journal_key {
	struct virtio_net_ctrl_hdr hdr;
	__le16 number;
} __packed;

static struct vnr_journal_key vnr_journal_key(struct vnr_ctrl_cmd *cmd)
{
	struct vnr_journal_key key = {};

	sg_copy_to_buffer(cmd->sg, cmd->nout, &key, sizeof(key));
	return key;
}

static const struct vnr_journal_kind *
vnr_journal_find(const struct vnr_journal_key *key)
{
	const struct vnr_journal_kind *kind = vnr_journal_kinds;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vnr_journal_kinds); i++, kind++)
		if (key->hdr.class == kind->class &&
		    key->hdr.cmd >= kind->first && key->hdr.cmd <= kind->last)
			return kind;
	return NULL;
}

/* Are both about the same? */
static bool vnr_journal_same(const struct vnr_journal_kind *kind,
			     const struct vnr_journal_key *a,
			     const struct vnr_journal_key *b)
{
	if (a->hdr.class != b->hdr.class)
		return false;
	return kind->numbered ? a->number == b->number :
				a->hdr.cmd == b->hdr.cmd;
}

/* Does the command only undo another one? */
static bool vnr_journal_undoes(struct vnr_ctrl_cmd *cmd)
{
	struct vnr_journal_key key = vnr_journal_key(cmd);
	const struct vnr_journal_kind *kind = vnr_journal_find(&key);

	return kind->numbered && key.hdr.cmd == kind->last;
}

/* Context: shadow_lock held. */
static void vnr_journal_drop(struct vnr_ctrl_cmd *cmd)
{
	list_del_init(&cmd->entry);
	vnr_ctrl_cmd_put(cmd);
}

/* A scatter list has no addresses, so kmemleak does not see who has these buffers. */
static void vnr_journal_keep(struct vnr_ctrl_cmd *cmd)
{
	unsigned int i;

	for (i = 0; i < cmd->nout + cmd->nin; i++)
		kmemleak_not_leak(sg_virt(&cmd->sg[i]));
}

/**
 * vnr_journal_note() - a command of virtio_net has its answer
 * @cmd: command of the shadow
 * @told: the device has acknowledged it; else it did not reach the device
 *
 * Context: shadow_lock held.
 */
void vnr_journal_note(struct vnr_ctrl_cmd *cmd, bool told)
{
	struct vnr_journal_key key = vnr_journal_key(cmd), other;
	const struct vnr_journal_kind *kind = vnr_journal_find(&key);
	struct vnr_ctrl *ctrl = cmd->ctrl;
	struct vnr_ctrl_cmd *old, *next;

	if (!kind || !(told || kind->blind))
		return;
	list_for_each_entry_safe(old, next, &ctrl->journal, entry) {
		other = vnr_journal_key(old);
		if (vnr_journal_same(kind, &key, &other))
			vnr_journal_drop(old);
	}
	/* The device has nothing to forget, unless it is being told just now. */
	if (vnr_journal_undoes(cmd) && !ctrl->replaying)
		return;
	kref_get(&cmd->ref);
	cmd->again = true;
	list_add_tail(&cmd->entry, &ctrl->journal);
	vnr_journal_keep(cmd);
}

/**
 * vnr_journal_forget() - virtio_net is gone
 * @ctrl: control queue without a shadow
 *
 * Context: may sleep.
 */
void vnr_journal_forget(struct vnr_ctrl *ctrl)
{
	struct vnr_ctrl_cmd *cmd, *next;

	spin_lock_irq(&ctrl->shadow_lock);
	list_for_each_entry_safe(cmd, next, &ctrl->journal, entry)
		vnr_journal_drop(cmd);
	spin_unlock_irq(&ctrl->shadow_lock);
}

/* Everything is to be sent, but for what undoes something. */
static void vnr_journal_begin(struct vnr_ctrl *ctrl)
{
	struct vnr_ctrl_cmd *cmd, *next;

	spin_lock_irq(&ctrl->shadow_lock);
	ctrl->replaying = true;
	list_for_each_entry_safe(cmd, next, &ctrl->journal, entry) {
		cmd->again = true;
		if (vnr_journal_undoes(cmd))
			vnr_journal_drop(cmd);
	}
	spin_unlock_irq(&ctrl->shadow_lock);
}

/* The next command to be sent, with a reference; NULL at the end of the replay. */
static struct vnr_ctrl_cmd *vnr_journal_next(struct vnr_ctrl *ctrl)
{
	struct vnr_ctrl_cmd *cmd, *found = NULL;

	spin_lock_irq(&ctrl->shadow_lock);
	list_for_each_entry(cmd, &ctrl->journal, entry) {
		if (!cmd->again)
			continue;
		cmd->again = false;
		kref_get(&cmd->ref);
		found = cmd;
		break;
	}
	if (!found)
		ctrl->replaying = false;
	spin_unlock_irq(&ctrl->shadow_lock);
	return found;
}

static void vnr_journal_finish(struct vnr_ctrl_cmd *cmd)
{
	complete(&cmd->done);
}

/* The command was answered before, or did not reach the device: it can be sent again. */
static int vnr_journal_send(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd)
{
	struct vnr_journal_key key = vnr_journal_key(cmd);
	int ret;

	*vnr_ctrl_cmd_ack(cmd) = VNR_CTRL_NO_ACK;
	reinit_completion(&cmd->done);
	cmd->finish = vnr_journal_finish;
	ret = vnr_ctrl_run(dev, cmd, false);
	if (!ret && *vnr_ctrl_cmd_ack(cmd) != VIRTIO_NET_OK)
		dev_warn(vnr_device(dev),
			 "the device does not take command %u of class %u again\n",
			 key.hdr.cmd, key.hdr.class);
	return ret;
}

/**
 * vnr_journal_replay() - tell the device again what virtio_net has told it
 * @dev: function that was restarted
 *
 * If virtio_net sends a command meanwhile, the device may get it before an older one that
 * is sent again.  So it is sent once more, after all others.
 *
 * Context: may sleep.
 * Return: 0, or -errno if the device does not answer.
 */
int vnr_journal_replay(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	struct vnr_ctrl_cmd *cmd;
	int ret = 0;

	vnr_journal_begin(ctrl);
	while (!ret && (cmd = vnr_journal_next(ctrl))) {
		ret = vnr_journal_send(dev, cmd);
		vnr_ctrl_cmd_put(cmd);
	}
	if (ret) {
		spin_lock_irq(&ctrl->shadow_lock);
		ctrl->replaying = false;
		spin_unlock_irq(&ctrl->shadow_lock);
	}
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_journal_replay);
