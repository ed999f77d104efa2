// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues of vhost-user: when the device may use them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "base/eventfd.h"
#include "base/util.h"
#include "vhost_user/vhost_user_priv.h"

/* So many descriptors of queues are closed at a time, which takes some 50 µs. */
#define VU_VRINGS_PART		96

/*
 * @fd is an eventfd, or what QEMU uses for one, or -1.  QEMU may have closed its
 * end; then nobody waits for the signal.  One that blocks is not written to again:
 * only QEMU can have made it so.
 */
void vu_signal(struct vu_vring *vr, int *fd)
{
	int err, old;

	if (*fd < 0)
		return;
	err = eventfd_send(*fd);
	if (err)
		log_debug("a signal is lost: %s", strerror(-err));
	if (err != -EINTR)
		return;
	if (log_limit_ok(&vr->vu->limit))
		log_warn("%s: queue %u: its eventfd blocks, and is closed",
			 vr->vu->name, vr->vq.index);
	old = *fd;
	*fd = -1;
	vu_keep_signals(vr);
	close(old);
}

int vu_rings_find(const struct vu_mem *mem, const struct vu_vring_addr *addr,
		  uint16_t num, struct vu_rings *rings)
{
	/* Each ring ends with an event field, used or not. */
	uint64_t avail_len = sizeof(struct vring_avail) +
			     num * sizeof(uint16_t) + sizeof(uint16_t);
	uint64_t used_len = sizeof(struct vring_used) +
			    num * sizeof(struct vring_used_elem) +
			    sizeof(uint16_t);

	rings->desc = vu_mem_user(mem, addr->desc,
				  num * sizeof(struct vring_desc));
	rings->avail = vu_mem_user(mem, addr->avail, avail_len);
	rings->used = vu_mem_user(mem, addr->used, used_len);
	if (!rings->desc || !rings->avail || !rings->used)
		return -EFAULT;
	if ((uintptr_t)rings->desc % VRING_DESC_ALIGN_SIZE ||
	    (uintptr_t)rings->avail % VRING_AVAIL_ALIGN_SIZE ||
	    (uintptr_t)rings->used % VRING_USED_ALIGN_SIZE)
		return -EINVAL;
	return 0;
}

static void vu_vring_call(struct virtq *vq)
{
	struct vu_vring *vr = vq->priv;

	vu_signal(vr, &vr->call);
}

static void vu_vring_error(struct virtq *vq, const char *why)
{
	struct vu_vring *vr = vq->priv;

	if (log_limit_ok(&vr->vu->limit))
		log_warn("%s: queue %u is broken: %s", vr->vu->name, vq->index,
			 why);
	vu_signal(vr, &vr->err);
}

void vu_vring_inherited(struct vu_vring *vr)
{
	if (vr->started && vr->vq.inherited)
		vu_signal(vr, &vr->call);
}

static int vu_vring_start(struct vu_vring *vr)
{
	struct vhost_user *vu = vr->vu;
	struct vu_rings rings;
	int err;

	err = vu_rings_find(vu->mem, &vr->addr, vr->num, &rings);
	if (err)
		return err;
	vr->vq.event_idx = vu->features & BIT(VIRTIO_RING_F_EVENT_IDX);
	vr->vq.indirect = vu->features & BIT(VIRTIO_RING_F_INDIRECT_DESC);
	vr->vq.mem = &vu->mem->map;
	err = virtq_start(&vr->vq, vr->num, vr->base, rings.desc, rings.avail,
			  rings.used);
	if (err)
		return err;
	if (vu->recovers)
		virtq_from_used(&vr->vq);
	vr->vq.inherited = vr->base && !vu->known;
	vr->started = true;
	vu->saved = false;
	vu_vring_inherited(vr);
	vu->ops->queue_start(vu->dev, &vr->vq);
	return 0;
}

void vu_vring_stop(struct vu_vring *vr)
{
	vr->vu->ops->queue_stop(vr->vu->dev, &vr->vq);
	virtq_stop(&vr->vq);
	vr->base = virtq_base(&vr->vq);
	vr->started = false;
	vr->stopped = true;
	/* QEMU starts all queues before it stops one. */
	vr->vu->known = true;
}

int vu_vring_update(struct vu_vring *vr)
{
	const struct vhost_user *vu = vr->vu;
	bool want = vu->negotiated && vr->addr_set && vr->kick.fd >= 0 &&
		    (vr->enabled || !(vu->features & VU_F_PROTOCOL_FEATURES));

	if (want == vr->started)
		return 0;
	if (want)
		return vu_vring_start(vr);
	vu_vring_stop(vr);
	return 0;
}

void vu_kick_close(struct vu_vring *vr)
{
	if (vr->kick.fd < 0)
		return;
	loop_fd_del(vr->vu->loop, &vr->kick);
	vu_close_late(vr->vu, vr->kick.fd);
	vr->kick.fd = -1;
}

/*
 * O_NONBLOCK does not keep this read from blocking: QEMU has the same open file.  It may
 * clear the flag, and read the count before this process does.
 */
static void vu_kicked(void *arg, uint32_t events __always_unused)
{
	struct vu_vring *vr = arg;
	uint64_t count;
	const struct iovec iov = { .iov_base = &count, .iov_len = sizeof(count) };
	ssize_t n;

	n = preadv2(vr->kick.fd, &iov, 1, -1, RWF_NOWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		vu_kick_close(vr);
		vu_vring_update(vr);
		vu_keep_queue(vr);
		vu_close_now(vr->vu);
		return;
	}
	if (vr->started)
		vr->vu->ops->kick(vr->vu->dev, &vr->vq);
}

static void vu_vring_init(struct vhost_user *vu, struct vu_vring *vr, unsigned int index)
{
	*vr = (struct vu_vring){
		.vq = {
			.index = index,
			.call = vu_vring_call,
			.error = vu_vring_error,
			.priv = vr,
		},
		.vu = vu,
		.kick = {
			.fd = -1,
			.fn = vu_kicked,
			.arg = vr,
		},
		.call = -1,
		.err = -1,
	};
}

int vu_vrings_new(struct vhost_user *vu)
{
	struct vu_vrings *vrings = calloc(1, sizeof(*vrings));
	unsigned int i;

	if (!vrings)
		return -ENOMEM;
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++)
		vu_vring_init(vu, &vrings->vring[i], i);
	vrings->loop = vu->loop;
	vu->vrings = vrings;
	vu->vring = vrings->vring;
	return 0;
}

/* Returns how many descriptors there were. */
static unsigned int vu_vring_close(struct loop *loop, struct vu_vring *vr)
{
	unsigned int n = (vr->kick.fd >= 0) + (vr->call >= 0) + (vr->err >= 0);

	if (vr->kick.fd >= 0)
		loop_fd_del(loop, &vr->kick);
	fd_close(&vr->kick.fd);
	fd_close(&vr->call);
	fd_close(&vr->err);
	return n;
}

static bool vu_vrings_step(struct chore *chore)
{
	struct vu_vrings *vrings = (struct vu_vrings *)((char *)chore -
				   offsetof(struct vu_vrings, chore));
	unsigned int n = 0;

	while (vrings->closed < VHOST_USER_QUEUES_MAX && n < VU_VRINGS_PART)
		n += vu_vring_close(vrings->loop, &vrings->vring[vrings->closed++]);
	if (vrings->closed < VHOST_USER_QUEUES_MAX)
		return true;
	if (vrings->vu)
		vrings->vu->ending = NULL;
	free(vrings);
	return false;
}

/* The doorbell of a queue that has ended. */
static void vu_kicked_late(void *arg, uint32_t events __always_unused)
{
	struct vu_vring *vr = arg, *first = vr - vr->vq.index;
	struct vu_vrings *vrings = (struct vu_vrings *)((char *)first -
				   offsetof(struct vu_vrings, vring));

	loop_fd_del(vrings->loop, &vr->kick);
	fd_close(&vr->kick.fd);
}

void vu_vrings_end(struct vhost_user *vu)
{
	struct vu_vrings *old = vu->vrings;
	unsigned int i;

	if (vu_vrings_new(vu)) {
		for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
			vu_vring_close(vu->loop, &vu->vring[i]);
			vu_vring_init(vu, &vu->vring[i], i);
		}
		return;
	}
	if (vu->ending)
		vu->ending->vu = NULL;
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		old->vring[i].kick.fn = vu_kicked_late;
		old->vring[i].vu = NULL;
	}
	old->vu = vu;
	vu->ending = old;
	old->chore.step = vu_vrings_step;
	if (vu_vrings_step(&old->chore))
		chore_add(vu->loop, &old->chore);
}

bool vu_any_started(struct vhost_user *vu)
{
	const struct vu_vring *vr;

	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vr->started)
			return true;
	return false;
}

void vu_function_reset(struct vhost_user *vu)
{
	struct vu_vring *vr;

	log_debug("%s: the function was reset", vu->name);
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vr->started)
			vu_vring_stop(vr);
	vu->ops->reset(vu->dev);
	vu->known = true;
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		vr->stopped = false;

	if (vu->negotiated)
		vu->negotiated = !vu->ops->negotiated(vu->dev, vu->features &
						      ~VU_OWN_FEATURES);
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		vu_vring_update(vr);
	vu->changed = true;
}

struct vu_vring *vu_vring_u32(struct vhost_user *vu, uint32_t index)
{
	if (index >= VHOST_USER_QUEUES_MAX)
		return NULL;
	vu->cursor = index;
	vu->run = false;
	vu->touched = &vu->vring[index];
	return vu->touched;
}

struct vu_vring *vu_vring_u8(struct vhost_user *vu, uint8_t low)
{
	int next = vu->cursor + 1;

	if (vu->cursor < 0 || (vu->cursor & VU_VRING_INDEX_MASK) != low) {
		if (vu->run && next < VHOST_USER_QUEUES_MAX &&
		    (next & VU_VRING_INDEX_MASK) == low)
			vu->cursor = next;
		else
			vu->cursor = low;
		vu->run = true;
	}
	vu->touched = &vu->vring[vu->cursor];
	return vu->touched;
}
