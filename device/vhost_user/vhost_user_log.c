// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log of written pages, which QEMU shares and clears (LOG_SHMFD, VHOST_F_LOG_ALL).
 *
 * The log is on while there are memory of the guest, memory for the log, and
 * VHOST_F_LOG_ALL, which QEMU switches while queues run.  All pages are logged, used rings
 * too, by their device addresses, so that the flag and the address of SET_VRING_ADDR tell
 * nothing new.  A guest that acknowledges that bit on its own gets no log from it.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "vhost_user/vhost_user_priv.h"

/* Of a log for 2^47 bytes of memory. */
#define VU_LOG_MAX	(1ull << 32)

void vu_log_update(struct vhost_user *vu)
{
	struct vu_log *log = &vu->log;
	const bool want = log->map && vu->mem && vu->features & VU_F_LOG_ALL;

	if (want)
		log->dirty.mem = &vu->mem->map;
	if (want && !log->on)
		dirty_log_start(&log->dirty);
	else if (!want && log->on)
		dirty_log_stop(&log->dirty);
	if (want != log->on)
		log_info("%s: the log of written pages is %s", vu->name, want ? "on" : "off");
	log->on = want;
}

/* In a signal handler. */
static void vu_log_lost(void *arg)
{
	const struct vhost_user *vu = arg;

	shutdown(vu->conn.fd, SHUT_RDWR);
}

void vu_log_end(struct vhost_user *vu)
{
	struct vu_log *log = &vu->log;

	if (!log->map)
		return;
	if (log->on)
		dirty_log_stop(&log->dirty);
	mem_guard_del(&log->guard);
	munmap(log->map, log->guard.len);
	*log = (struct vu_log) {};
}

static int vu_log_map(struct vhost_user *vu, const struct vu_log_base *base, int fd)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	const uint64_t skip = base->offset % page;
	struct stat st;
	void *map;

	if (!base->size || base->size > VU_LOG_MAX || base->offset + base->size < base->offset)
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	if (base->offset + base->size > (uint64_t)st.st_size)
		return -EINVAL;
	map = mmap(NULL, skip + base->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   base->offset - skip);
	if (map == MAP_FAILED)
		return -errno;
	vu_log_end(vu);
	vu->log.map = map;
	vu->log.guard = (struct mem_guard) {
		.map = map,
		.len = skip + base->size,
		.lost = vu_log_lost,
		.arg = vu,
	};
	mem_guard_add(&vu->log.guard);
	vu->log.dirty.bits = (uint8_t *)map + skip;
	vu->log.dirty.size = base->size;
	return 0;
}

int vu_set_log_base(struct vhost_user *vu, struct vu_msg *msg)
{
	int err = msg->fd_n == 1 ? vu_log_map(vu, &msg->u.log_base, msg->fd[0]) : -EINVAL;

	vu_log_update(vu);
	if (err)
		return err;
	vu_msg_reply_u64(msg, 0);
	return 0;
}
