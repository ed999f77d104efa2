// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests of vhost-user: one handler each, in a table.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "vhost_user/vhost_user_priv.h"

static int vu_get_features(struct vhost_user *vu, struct vu_msg *msg)
{
	vu_msg_reply_u64(msg, vu->ops->features(vu->dev) |
			      VU_OWN_FEATURES);
	return 0;
}

/* QEMU ends the migration before it stops the guest. */
static bool vu_can_move(struct vhost_user *vu)
{
	char why[128];

	if (!vu->ops->can_move || vu->ops->can_move(vu->dev, why, sizeof(why)))
		return true;
	log_error("%s: it cannot be moved: %s", vu->name, why);
	return false;
}

static int vu_set_features(struct vhost_user *vu, struct vu_msg *msg)
{
	uint64_t features = msg->u.u64;
	bool change = vu->negotiated && (features ^ vu->features) & ~VU_F_LOG_ALL;
	int err;

	if (change && vu_any_started(vu))
		return -EBUSY;
	/* The log that was set may have been that of a daemon before this one. */
	if (features & ~vu->features & VU_F_LOG_ALL && vu_any_started(vu) && !vu->log.map)
		return -EINVAL;
	if (features & ~vu->features & VU_F_LOG_ALL && vu->log.map && !vu_can_move(vu))
		return -EOPNOTSUPP;
	if (change) {
		vu->negotiated = false;
		vu_function_reset(vu);
	}
	/* The guest may have set things by commands: they stay if all features do. */
	err = vu->negotiated ? 0 : vu->ops->negotiated(vu->dev, features & ~VU_OWN_FEATURES);
	if (err)
		return err;
	vu->features = features;
	vu->negotiated = true;
	vu_log_update(vu);
	return 0;
}

static int vu_set_owner(struct vhost_user *vu __always_unused,
			struct vu_msg *msg __always_unused)
{
	return 0;
}

static int vu_reset_device(struct vhost_user *vu,
			   struct vu_msg *msg __always_unused)
{
	struct vu_vring *vr;

	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++) {
		vr->enabled = false;
		vu_kick_close(vr);
		vu_vring_update(vr);
		vr->base = 0;
	}
	vu->negotiated = false;
	vu_function_reset(vu);
	return 0;
}

/* Once for each connection: QEMU sends the table whenever memory changes. */
static void vu_warn_unsealed(struct vhost_user *vu, const struct vu_mem *mem)
{
	if (vu->warned || vu_mem_sealed(mem))
		return;
	vu->warned = true;
	log_warn("%s: a file of its memory is not sealed against shrinking; if it shrinks, the guest loses this device",
		 vu->name);
}

static void vu_region_close_late(struct vhost_user *vu, struct vu_region *region)
{
	vu_close_late(vu, region->fd);
	region->fd = -1;
}

/* Tell the device about the new map before the old one is freed. */
static int vu_set_mem_table(struct vhost_user *vu, struct vu_msg *msg)
{
	const struct vu_memory *from = &msg->u.memory;
	struct vu_mem *mem, *old = vu->mem;
	struct vu_rings rings;
	struct vu_vring *vr;
	unsigned int i;
	int err = 0;

	if (from->n > VU_REGIONS_MAX || from->n != msg->fd_n ||
	    msg->hdr.size != offsetof(struct vu_memory, region[from->n]))
		return -EINVAL;
	mem = vu_mem_new(vu->loop, vu->dead, vu->conn.fd);
	if (!mem)
		return -ENOMEM;
	for (i = 0; !err && i < from->n; i++)
		err = vu_mem_add(mem, &from->region[i], msg->fd[i]);
	if (err) {
		vu_mem_free(mem);
		return err;
	}
	vu_warn_unsealed(vu, mem);

	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++) {
		if (!vr->started)
			continue;
		if (vu_rings_find(mem, &vr->addr, vr->num, &rings)) {
			virtq_break(&vr->vq, "its memory is gone");
			vu_vring_stop(vr);
			vr->addr_set = false;
			continue;
		}
		vr->vq.desc = rings.desc;
		vr->vq.avail = rings.avail;
		vr->vq.used = rings.used;
		vr->vq.mem = &mem->map;
	}
	vu->mem = mem;
	vu_log_update(vu);
	vu->ops->mem_changed(vu->dev, &mem->map);
	for (i = 0; old && i < old->n; i++)
		vu_region_close_late(vu, old->region[i]);
	vu_mem_free(old);
	return 0;
}

static int vu_get_max_mem_slots(struct vhost_user *vu __always_unused,
				struct vu_msg *msg)
{
	vu_msg_reply_u64(msg, GUEST_MEM_REGIONS_MAX);
	return 0;
}

/* Queues whose rings went with a region go on when these are there again. */
static int vu_add_mem_reg(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr;
	int err;

	if (msg->fd_n != 1)
		return -EINVAL;
	if (!vu->mem)
		vu->mem = vu_mem_new(vu->loop, vu->dead, vu->conn.fd);
	if (!vu->mem)
		return -ENOMEM;
	err = vu_mem_add(vu->mem, &msg->u.mem_reg.region, msg->fd[0]);
	if (err)
		return err;
	vu_warn_unsealed(vu, vu->mem);
	vu_log_update(vu);
	vu->ops->mem_changed(vu->dev, &vu->mem->map);
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		vu_vring_update(vr);
	return 0;
}

/* Does a part of a queue begin in a region?  All of the part is there then. */
static bool vu_rings_begin_in(const struct vu_vring_addr *addr, const struct vu_region *region)
{
	return addr->desc - region->user_addr < region->size ||
	       addr->avail - region->user_addr < region->size ||
	       addr->used - region->user_addr < region->size;
}

/* QEMU changes a region by taking it away and adding it again, and may send its file. */
static int vu_rem_mem_reg(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_region *region = vu_mem_take(vu->mem, &msg->u.mem_reg.region);
	struct vu_vring *vr;

	if (!region)
		return -ENOENT;
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vr->started && vu_rings_begin_in(&vr->addr, region))
			vu_vring_stop(vr);
	vu->ops->mem_changed(vu->dev, &vu->mem->map);
	vu_region_close_late(vu, region);
	vu_region_free(region);
	return 0;
}

static int vu_set_vring_num(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr = vu_vring_u32(vu, msg->u.state.index);
	uint32_t num = msg->u.state.num;

	if (!vr)
		return -ERANGE;
	if (vr->started)
		return -EBUSY;
	if (!num || num > VIRTQ_SIZE_MAX || (num & (num - 1)))
		return -EINVAL;
	vr->num = num;
	/* Whether the rings are in memory depends on it. */
	vr->addr_set = false;
	return 0;
}

static int vu_set_vring_addr(struct vhost_user *vu, struct vu_msg *msg)
{
	const struct vu_vring_addr *addr = &msg->u.addr;
	struct vu_vring *vr = vu_vring_u32(vu, addr->index);
	struct vu_rings rings;
	int err;

	if (!vr)
		return -ERANGE;
	if (!vr->num)
		return -EPROTO;
	if (addr->flags & ~VU_VRING_LOG)
		return -EINVAL;
	err = vu_rings_find(vu->mem, addr, vr->num, &rings);
	if (err)
		return err;
	/* QEMU sends the same again when it switches the log. */
	if (vr->started && addr->desc == vr->addr.desc && addr->avail == vr->addr.avail &&
	    addr->used == vr->addr.used)
		return 0;
	if (vr->started)
		vu_vring_stop(vr);
	vr->addr = *addr;
	vr->addr_set = true;
	return vu_vring_update(vr);
}

static int vu_set_vring_base(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr = vu_vring_u32(vu, msg->u.state.index);
	uint32_t base = msg->u.state.num;

	if (!vr)
		return -ERANGE;
	if (vr->started)
		return -EBUSY;
	if (base > UINT16_MAX)
		return -EINVAL;
	if (vr->stopped && vr->base != base)
		vu_function_reset(vu);
	vr->base = base;
	return 0;
}

static int vu_get_vring_base(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr = vu_vring_u32(vu, msg->u.state.index);

	if (!vr)
		return -ERANGE;
	vu_kick_close(vr);
	vu_vring_update(vr);
	msg->u.state.num = vr->base;
	msg->reply_len = sizeof(msg->u.state);
	return 0;
}

static int vu_set_vring_enable(struct vhost_user *vu, struct vu_msg *msg)
{
	uint32_t index = msg->u.state.index;
	struct vu_vring *vr;
	int err;

	if (index >= VHOST_USER_QUEUES_MAX)
		return -ERANGE;
	if (msg->u.state.num > 1)
		return -EINVAL;
	vr = &vu->vring[index];
	vu->touched = vr;
	vr->enabled = msg->u.state.num;
	err = vu_vring_update(vr);
	if (err)
		vr->enabled = false;
	return err;
}

/*
 * Queue and descriptor of SET_VRING_KICK, _CALL and _ERR; *@fd is -1 if none
 * came.  It is made non-blocking, so that neither side waits when it is used.
 */
static int vu_vring_fd(struct vhost_user *vu, struct vu_msg *msg,
		       struct vu_vring **vrp, int *fd)
{
	uint64_t value = msg->u.u64;
	bool nofd = value & VU_VRING_NOFD;
	int flags;

	if (value & ~(VU_VRING_NOFD | VU_VRING_INDEX_MASK))
		return -ERANGE;
	*vrp = vu_vring_u8(vu, value);
	if (nofd != !msg->fd_n)
		return -EINVAL;
	*fd = -1;
	if (nofd)
		return 0;

	flags = fcntl(msg->fd[0], F_GETFL);
	if (flags < 0 || fcntl(msg->fd[0], F_SETFL, flags | O_NONBLOCK))
		return -errno;
	*fd = vu_msg_fd(msg, 0);
	return 0;
}

static int vu_set_vring_kick(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr;
	int fd, err;

	err = vu_vring_fd(vu, msg, &vr, &fd);
	if (err)
		return err;
	/* Without a descriptor the queue would have to be polled all the time. */
	err = -EOPNOTSUPP;
	if (fd < 0)
		return err;
	err = -EPROTO;
	if (!vr->addr_set)
		goto err_close;

	vu_kick_close(vr);
	vr->kick.fd = fd;
	err = loop_fd_add(vu->loop, &vr->kick, EPOLLIN);
	if (err)
		goto err_forget;
	return vu_vring_update(vr);

err_forget:
	vr->kick.fd = -1;
	vu_vring_update(vr);
err_close:
	vu_close_late(vu, fd);
	return err;
}

static int vu_set_vring_call(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr;
	int fd, err;

	err = vu_vring_fd(vu, msg, &vr, &fd);
	if (err)
		return err;
	vu_close_late(vu, vr->call);
	vr->call = fd;
	vu_vring_inherited(vr);
	return 0;
}

static int vu_set_vring_err(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_vring *vr;
	int fd, err;

	err = vu_vring_fd(vu, msg, &vr, &fd);
	if (err)
		return err;
	vu_close_late(vu, vr->err);
	vr->err = fd;
	return 0;
}

static int vu_get_protocol_features(struct vhost_user *vu __always_unused,
				    struct vu_msg *msg)
{
	vu_msg_reply_u64(msg, VU_PROTOCOL_FEATURES);
	return 0;
}

static int vu_set_protocol_features(struct vhost_user *vu, struct vu_msg *msg)
{
	if (msg->u.u64 & ~VU_PROTOCOL_FEATURES)
		return -EINVAL;
	vu->protocol = msg->u.u64;
	return 0;
}

static int vu_get_queue_num(struct vhost_user *vu, struct vu_msg *msg)
{
	vu_msg_reply_u64(msg, vu->queues);
	return 0;
}

static int vu_set_backend_req_fd(struct vhost_user *vu, struct vu_msg *msg)
{
	if (!msg->fd_n)
		return -EINVAL;
	vu_close_late(vu, vu->backend);
	vu->backend = vu_msg_fd(msg, 0);
	return 0;
}

/* The size of the configuration that a request carries or asks for. */
static int vu_config_check(const struct vu_msg *msg)
{
	const struct vu_config *config = &msg->u.config;

	if (config->size > VU_CONFIG_MAX ||
	    msg->hdr.size != offsetof(struct vu_config, data) + config->size)
		return -EINVAL;
	return 0;
}

static int vu_get_config(struct vhost_user *vu, struct vu_msg *msg)
{
	struct vu_config *config = &msg->u.config;
	int err;

	err = vu_config_check(msg);
	if (err)
		return err;
	err = vu->ops->config_read(vu->dev, config->offset, config->data,
				   config->size);
	if (err)
		return err;
	msg->reply_len = msg->hdr.size;
	return 0;
}

static int vu_set_config(struct vhost_user *vu, struct vu_msg *msg)
{
	const struct vu_config *config = &msg->u.config;
	int err;

	err = vu_config_check(msg);
	if (err)
		return err;
	return vu->ops->config_write(vu->dev, config->offset, config->data,
				     config->size);
}

#define VU_EXACT(type)	.min = sizeof(type), .max = sizeof(type)

static const struct vu_request vu_requests[] = {
	[VU_GET_FEATURES] = {
		.name = "GET_FEATURES",
		.fn = vu_get_features,
		.reply = true,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_SET_FEATURES] = {
		.name = "SET_FEATURES",
		.fn = vu_set_features,
		VU_EXACT(uint64_t),
	},
	[VU_SET_OWNER] = {
		.name = "SET_OWNER",
		.fn = vu_set_owner,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_RESET_OWNER] = {
		.name = "RESET_OWNER",
		.fn = vu_set_owner,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_SET_MEM_TABLE] = {
		.name = "SET_MEM_TABLE",
		.fn = vu_set_mem_table,
		.min = offsetof(struct vu_memory, region),
		.max = sizeof(struct vu_memory),
		.fds = VU_REGIONS_MAX,
	},
	[VU_SET_LOG_BASE] = {
		.name = "SET_LOG_BASE",
		.fn = vu_set_log_base,
		VU_EXACT(struct vu_log_base),
		.fds = 1,
		.protocol = VU_PROTOCOL_F_LOG_SHMFD,
		.reply = true,
	},
	[VU_SET_VRING_NUM] = {
		.name = "SET_VRING_NUM",
		.fn = vu_set_vring_num,
		VU_EXACT(struct vu_vring_state),
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_SET_VRING_ADDR] = {
		.name = "SET_VRING_ADDR",
		.fn = vu_set_vring_addr,
		VU_EXACT(struct vu_vring_addr),
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_SET_VRING_BASE] = {
		.name = "SET_VRING_BASE",
		.fn = vu_set_vring_base,
		VU_EXACT(struct vu_vring_state),
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_GET_VRING_BASE] = {
		.name = "GET_VRING_BASE",
		.fn = vu_get_vring_base,
		VU_EXACT(struct vu_vring_state),
		.reply = true,
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_SET_VRING_KICK] = {
		.name = "SET_VRING_KICK",
		.fn = vu_set_vring_kick,
		VU_EXACT(uint64_t),
		.fds = 1,
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_SET_VRING_CALL] = {
		.name = "SET_VRING_CALL",
		.fn = vu_set_vring_call,
		VU_EXACT(uint64_t),
		.fds = 1,
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_SET_VRING_ERR] = {
		.name = "SET_VRING_ERR",
		.fn = vu_set_vring_err,
		VU_EXACT(uint64_t),
		.fds = 1,
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_GET_PROTOCOL_FEATURES] = {
		.name = "GET_PROTOCOL_FEATURES",
		.fn = vu_get_protocol_features,
		.reply = true,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_SET_PROTOCOL_FEATURES] = {
		.name = "SET_PROTOCOL_FEATURES",
		.fn = vu_set_protocol_features,
		VU_EXACT(uint64_t),
	},
	[VU_GET_QUEUE_NUM] = {
		.name = "GET_QUEUE_NUM",
		.fn = vu_get_queue_num,
		.protocol = VU_PROTOCOL_F_MQ,
		.reply = true,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_SET_VRING_ENABLE] = {
		.name = "SET_VRING_ENABLE",
		.fn = vu_set_vring_enable,
		VU_EXACT(struct vu_vring_state),
		.changes = VU_CHANGES_QUEUE,
	},
	[VU_SET_BACKEND_REQ_FD] = {
		.name = "SET_BACKEND_REQ_FD",
		.fn = vu_set_backend_req_fd,
		.fds = 1,
		.protocol = VU_PROTOCOL_F_BACKEND_REQ,
	},
	[VU_GET_CONFIG] = {
		.name = "GET_CONFIG",
		.fn = vu_get_config,
		.min = offsetof(struct vu_config, data),
		.max = sizeof(struct vu_config),
		.protocol = VU_PROTOCOL_F_CONFIG,
		.reply = true,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_SET_CONFIG] = {
		.name = "SET_CONFIG",
		.fn = vu_set_config,
		.min = offsetof(struct vu_config, data),
		.max = sizeof(struct vu_config),
		.protocol = VU_PROTOCOL_F_CONFIG,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_RESET_DEVICE] = {
		.name = "RESET_DEVICE",
		.fn = vu_reset_device,
		.protocol = VU_PROTOCOL_F_RESET_DEVICE,
	},
	[VU_GET_MAX_MEM_SLOTS] = {
		.name = "GET_MAX_MEM_SLOTS",
		.fn = vu_get_max_mem_slots,
		.protocol = VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS,
		.reply = true,
		.changes = VU_CHANGES_NOTHING,
	},
	[VU_ADD_MEM_REG] = {
		.name = "ADD_MEM_REG",
		.fn = vu_add_mem_reg,
		VU_EXACT(struct vu_mem_reg),
		.fds = 1,
		.protocol = VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS,
	},
	[VU_REM_MEM_REG] = {
		.name = "REM_MEM_REG",
		.fn = vu_rem_mem_reg,
		VU_EXACT(struct vu_mem_reg),
		.fds = 1,
		.protocol = VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS,
	},
	[VU_SET_DEVICE_STATE_FD] = {
		.name = "SET_DEVICE_STATE_FD",
		.fn = vu_set_device_state_fd,
		VU_EXACT(struct vu_device_state),
		.fds = 1,
		.protocol = VU_PROTOCOL_F_DEVICE_STATE,
		.reply = true,
	},
	[VU_CHECK_DEVICE_STATE] = {
		.name = "CHECK_DEVICE_STATE",
		.fn = vu_check_device_state,
		.protocol = VU_PROTOCOL_F_DEVICE_STATE,
		.reply = true,
	},
};

const struct vu_request *vu_request_find(uint32_t request)
{
	if (request >= ARRAY_SIZE(vu_requests) ||
	    !vu_requests[request].fn)
		return NULL;
	return &vu_requests[request];
}

int vu_request_run(struct vhost_user *vu, const struct vu_request *req,
		   struct vu_msg *msg)
{
	if (!req)
		return -ENOSYS;
	if (msg->hdr.flags & VU_FLAGS_REPLY)
		return -EPROTO;
	if (msg->hdr.size < req->min || msg->hdr.size > req->max)
		return -EMSGSIZE;
	if (msg->fd_lost || msg->fd_n > req->fds)
		return -EINVAL;
	if ((vu->protocol & req->protocol) != req->protocol)
		return -EPROTO;
	return req->fn(vu, msg);
}
