// SPDX-License-Identifier: GPL-2.0
/*
 * Users of the device, and how much of it each may have at a time.
 *
 * The control queue is first in, first out.  If every thread of a process had a command
 * in it, the next process would wait for all of them.  So a context has a fixed number
 * of places, and so has a user: anybody can make as many contexts as they like.
 * vroce_gate.c keeps verbs to that.
 *
 * The device needs long for some commands, and the lower module sends a few of these at a
 * time.  A user has one such command at a time, so that others come in between.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "vroce_users.h"

/* Number of verbs of a context, and of a user, at a time. */
#define VROCE_GATE_PLACES	8
#define VROCE_USER_PLACES	16

/* A command with the list of more pages is long; see VNR_CTRL_BIG. */
#define VROCE_LONG_PAGES	((PAGE_SIZE - 256) / sizeof(__le64))

/**
 * vroce_users_init() - nobody uses the device yet
 * @dev: device
 */
void vroce_users_init(struct vroce_dev *dev)
{
	INIT_LIST_HEAD(&dev->users);
	mutex_init(&dev->users_lock);
}

/* Context: lock of the list held. */
static struct vroce_user *vroce_user_find(struct vroce_dev *dev, kuid_t uid)
{
	struct vroce_user *user;

	list_for_each_entry(user, &dev->users, list)
		if (uid_eq(user->uid, uid))
			return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->dev = dev;
	user->uid = uid;
	sema_init(&user->gate, VROCE_USER_PLACES);
	sema_init(&user->lengthy, 1);
	list_add(&user->list, &dev->users);
	return user;
}

/**
 * vroce_user_get() - the user that the calling thread belongs to
 * @dev: device
 *
 * Context: may sleep.
 * Return: user, for vroce_user_put(), or NULL if there is no memory.
 */
struct vroce_user *vroce_user_get(struct vroce_dev *dev)
{
	struct vroce_user *user;

	mutex_lock(&dev->users_lock);
	user = vroce_user_find(dev, current_uid());
	if (user)
		user->refs++;
	mutex_unlock(&dev->users_lock);
	return user;
}

/**
 * vroce_user_put() - undo vroce_user_get()
 * @user: user
 *
 * Context: may sleep.
 */
void vroce_user_put(struct vroce_user *user)
{
	struct vroce_dev *dev = user->dev;

	mutex_lock(&dev->users_lock);
	if (!--user->refs) {
		list_del(&user->list);
		kfree(user);
	}
	mutex_unlock(&dev->users_lock);
}

/**
 * vroce_long_begin() - a command of the calling thread may be a long one
 * @dev: device
 * @npages: number of pages that it lists
 *
 * This waits until no other long command of this user is on its way.
 *
 * Context: may sleep, for as long as that command takes; no lock held that users share.
 * Return: to be handed to vroce_long_end(), or -EINTR as an error pointer.
 */
struct vroce_user *vroce_long_begin(struct vroce_dev *dev, u32 npages)
{
	struct vroce_user *user;

	if (npages <= VROCE_LONG_PAGES || !current->mm)
		return NULL;
	user = vroce_user_get(dev);
	if (user && down_killable(&user->lengthy)) {
		vroce_user_put(user);
		return ERR_PTR(-EINTR);
	}
	return user;
}

/**
 * vroce_long_end() - the command has been carried out
 * @user: of vroce_long_begin(), not an error pointer
 */
void vroce_long_end(struct vroce_user *user)
{
	if (!user)
		return;
	up(&user->lengthy);
	vroce_user_put(user);
}

/**
 * vroce_gate_init() - make all places of a context free
 * @uctx: context of the calling process
 *
 * Return: 0 or -ENOMEM.
 */
int vroce_gate_init(struct vroce_ucontext *uctx)
{
	sema_init(&uctx->gate, VROCE_GATE_PLACES);
	uctx->user = vroce_user_get(to_vdev(uctx->ibucontext.device));
	return uctx->user ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_gate_init);

/**
 * vroce_gate_exit() - undo vroce_gate_init()
 * @uctx: context
 */
void vroce_gate_exit(struct vroce_ucontext *uctx)
{
	vroce_user_put(uctx->user);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_gate_exit);

/**
 * vroce_gate_enter() - a verb of a context is about to be carried out
 * @uctx: context; NULL for the kernel's
 *
 * Context: may sleep; no lock held that contexts share.
 * Return: @uctx, for vroce_gate_leave().
 */
struct vroce_ucontext *vroce_gate_enter(struct vroce_ucontext *uctx)
{
	if (uctx) {
		down(&uctx->gate);
		down(&uctx->user->gate);
	}
	return uctx;
}

/**
 * vroce_gate_leave() - undo vroce_gate_enter()
 * @uctx: context; NULL for the kernel's
 */
void vroce_gate_leave(struct vroce_ucontext *uctx)
{
	if (uctx) {
		up(&uctx->user->gate);
		up(&uctx->gate);
	}
}
