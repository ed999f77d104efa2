/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface between a front-end and the device.
 *
 * A front-end (vhost-user, later vfio-user) brings one virtio-net function per
 * guest: queues, memory map, doorbells, interrupts, configuration space, reset.
 * The device behind it is the same for all of them and does not know which one
 * it has.
 */
#ifndef DEVICE_FRONTEND_H
#define DEVICE_FRONTEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtio/mem.h"
#include "virtio/virtq.h"

/**
 * struct fe_device_ops - what a device does for its front-end
 * @features:	feature bits that the device offers
 * @negotiated:	the driver acknowledged @features.  Return 0, or -EINVAL if it
 *		acknowledged what was not offered
 * @config_read: fill @buf from the device configuration space; return 0, or
 *		-EINVAL if [@off, @off + @len) is outside of it
 * @config_write: the driver wrote it; return 0 or -EINVAL
 * @queue_start: a virtqueue is set up and may be used from now on
 * @queue_stop:	a virtqueue is about to go: after this call the device does not
 *		touch its rings
 * @kick:	the driver rang a queue's doorbell.  May be spurious
 * @mem_changed: the memory map is another one now; pointers made from the old
 *		one are invalid
 * @save:	the state of the device, whose queues are stopped, for another daemon:
 *		@data for free() and its @size.  Return 0 or -errno, and say why.  May be
 *		NULL, like @load
 * @load:	go on as the device whose state this is, without memory and queues yet;
 *		@features are those that were negotiated.  Return likewise; then the
 *		device is as before
 * @can_move:	could the device be moved to another host, as far as is known here?  If not,
 *		@why says which field is in the way.  May be NULL: yes
 * @reset:	back to the state after creation: the guest reset the function
 *		or is gone.  All queues were stopped before
 *
 * All are called from the event loop's thread.
 */
struct fe_device_ops {
	uint64_t (*features)(void *dev);
	int (*negotiated)(void *dev, uint64_t features);
	int (*config_read)(void *dev, uint32_t off, void *buf, uint32_t len);
	int (*config_write)(void *dev, uint32_t off, const void *buf,
			    uint32_t len);
	void (*queue_start)(void *dev, struct virtq *vq);
	void (*queue_stop)(void *dev, struct virtq *vq);
	void (*kick)(void *dev, struct virtq *vq);
	void (*mem_changed)(void *dev, const struct guest_mem *mem);
	int (*save)(void *dev, uint8_t **data, size_t *size);
	int (*load)(void *dev, const uint8_t *data, size_t size, uint64_t *features);
	bool (*can_move)(void *dev, char *why, size_t size);
	void (*reset)(void *dev);
};

/**
 * struct fe_ops - what a front-end does for its device
 * @config_changed: tell the guest that the configuration space has changed
 * @connected:	is there a guest, or what runs one, at the other end?
 */
struct fe_ops {
	void (*config_changed)(void *fe);
	bool (*connected)(const void *fe);
};

#endif /* DEVICE_FRONTEND_H */
