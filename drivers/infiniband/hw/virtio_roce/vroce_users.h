/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users, and what each may have at a time.
 */
#ifndef _VROCE_USERS_H
#define _VROCE_USERS_H

#include "vroce_types.h"

/**
 * struct vroce_user - a user of the device
 * @list: in &vroce_dev.users
 * @dev: device
 * @refs: contexts of the user, and threads that have a place; guarded by the lock of the
 *	list
 * @uid: who it is
 * @gate: free places for verbs
 * @lengthy: free place for a long command
 */
struct vroce_user {
	struct list_head list;
	struct vroce_dev *dev;
	unsigned int refs;
	kuid_t uid;
	struct semaphore gate;
	struct semaphore lengthy;
};

void vroce_users_init(struct vroce_dev *dev);
struct vroce_user *vroce_user_get(struct vroce_dev *dev);
void vroce_user_put(struct vroce_user *user);
struct vroce_user *vroce_long_begin(struct vroce_dev *dev, u32 npages);
void vroce_long_end(struct vroce_user *user);
int vroce_gate_init(struct vroce_ucontext *uctx);
void vroce_gate_exit(struct vroce_ucontext *uctx);
struct vroce_ucontext *vroce_gate_enter(struct vroce_ucontext *uctx);
void vroce_gate_leave(struct vroce_ucontext *uctx);

#endif /* _VROCE_USERS_H */
