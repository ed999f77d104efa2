// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "tests/lib/idle.h"
#include "tests/lib/qemu.h"
#include "tests/lib/vu_wire.h"

struct loop *loop;
struct device dev;
struct vhost_user *vu;
struct guest guest;
struct guest_vq gvq;
struct qemu qemu;

static unsigned int fds_before;

static uint64_t dev_features(void *arg)
{
	return FEATURES;
}

static int dev_negotiated(void *arg, uint64_t features)
{
	struct device *d = arg;

	if (features & ~FEATURES)
		return -EINVAL;
	d->features = features;
	return 0;
}

static int dev_config_read(void *arg, uint32_t off, void *buf, uint32_t len)
{
	uint8_t *p = buf;
	uint32_t i;

	if (off > 32 || len > 32 - off)
		return -EINVAL;
	for (i = 0; i < len; i++)
		p[i] = 0x40 + off + i;
	return 0;
}

static int dev_config_write(void *arg, uint32_t off, const void *buf,
			    uint32_t len)
{
	struct device *d = arg;

	if (off)
		return -EINVAL;
	d->written += len;
	return 0;
}

static void dev_queue_start(void *arg, struct virtq *vq)
{
	struct device *d = arg;

	assert_null(d->vq[vq->index]);
	assert_true(vq->ready);
	assert_ptr_equal(vq->mem, d->mem);
	d->vq[vq->index] = vq;
	d->starts++;
}

static void dev_queue_stop(void *arg, struct virtq *vq)
{
	struct device *d = arg;
	uint16_t flags;

	assert_ptr_equal(d->vq[vq->index], vq);
	/* The rings are still mapped: this does not crash. */
	assert_true(vq->ready);
	memcpy(&flags, vq->avail, sizeof(flags));
	memcpy(vq->avail, &flags, sizeof(flags));
	d->vq[vq->index] = NULL;
	d->stops++;
}

static void dev_kick(void *arg, struct virtq *vq)
{
	struct device *d = arg;

	assert_ptr_equal(d->vq[vq->index], vq);
	d->kicks[vq->index]++;
}

static void dev_mem_changed(void *arg, const struct guest_mem *mem)
{
	struct device *d = arg;

	d->mem_changes++;
	d->mem = mem;
}

static void dev_reset(void *arg)
{
	struct device *d = arg;
	unsigned int i;

	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++)
		assert_null(d->vq[i]);
	d->resets++;
	d->features = 0;
	if (d->at_reset)
		d->at_reset();
}

static int dev_save(void *arg, uint8_t **data, size_t *size)
{
	size_t i;

	*data = malloc(DEVICE_STATE_SIZE);
	*size = DEVICE_STATE_SIZE;
	for (i = 0; i < *size; i++)
		(*data)[i] = i * 7;
	return 0;
}

static int dev_load(void *arg, const uint8_t *data, size_t size, uint64_t *features)
{
	struct device *d = arg;

	if (!size || data[0])
		return -EINVAL;
	d->loads++;
	d->features = FEATURES;
	*features = FEATURES;
	return 0;
}

static bool dev_can_move(void *arg, char *why, size_t size)
{
	const struct device *d = arg;

	snprintf(why, size, "test: it stays");
	return !d->stays;
}

static const struct fe_device_ops device_ops = {
	.features = dev_features,
	.negotiated = dev_negotiated,
	.config_read = dev_config_read,
	.config_write = dev_config_write,
	.queue_start = dev_queue_start,
	.queue_stop = dev_queue_stop,
	.kick = dev_kick,
	.mem_changed = dev_mem_changed,
	.save = dev_save,
	.load = dev_load,
	.can_move = dev_can_move,
	.reset = dev_reset,
};

void run(void)
{
	run_idle(loop);
}

void qemu_send_raw(const void *data, size_t len, const int *fd,
		   unsigned int fds)
{
	assert_true(vu_wire_send(qemu.fd, data, len, fd, fds, 0));
}

void qemu_send(uint32_t request, uint32_t flags, const void *payload,
	       uint32_t len, const int *fd, unsigned int fds)
{
	struct wire_msg msg = {
		.hdr = {
			.request = request,
			.flags = VU_FLAGS_VERSION | flags,
			.size = len,
		},
	};

	memcpy(msg.payload, payload, len);
	qemu_send_raw(&msg, sizeof(msg.hdr) + len, fd, fds);
	run();
}

int qemu_reply(uint32_t request, void *payload, size_t len)
{
	struct vu_header hdr;
	ssize_t n;

	n = recv(qemu.fd, &hdr, sizeof(hdr), MSG_DONTWAIT);
	if (n <= 0)
		return -1;
	assert_int_equal(n, sizeof(hdr));
	assert_int_equal(hdr.request, request);
	assert_int_equal(hdr.flags, VU_FLAGS_VERSION | VU_FLAGS_REPLY);
	assert_true(hdr.size <= len);
	if (hdr.size)
		assert_int_equal(recv(qemu.fd, payload, hdr.size, MSG_DONTWAIT),
				 hdr.size);
	return hdr.size;
}

uint64_t qemu_ask(uint32_t request, const void *payload, uint32_t len,
		  const int *fd, unsigned int fds)
{
	uint64_t result;

	qemu_send(request, VU_FLAGS_NEED_REPLY, payload, len, fd, fds);
	assert_int_equal(qemu_reply(request, &result, sizeof(result)),
			 sizeof(result));
	return result;
}

uint64_t qemu_ask_u64(uint32_t request, uint64_t value)
{
	return qemu_ask(request, &value, sizeof(value), NULL, 0);
}

uint64_t qemu_ask_state(uint32_t request, uint32_t index, uint32_t num)
{
	struct vu_vring_state state = { .index = index, .num = num };

	return qemu_ask(request, &state, sizeof(state), NULL, 0);
}

uint64_t qemu_ask_fd(uint32_t request, uint64_t value, int fd)
{
	return qemu_ask(request, &value, sizeof(value), &fd, fd >= 0);
}

uint64_t qemu_get_u64(uint32_t request)
{
	uint64_t value;

	qemu_send(request, 0, "", 0, NULL, 0);
	assert_int_equal(qemu_reply(request, &value, sizeof(value)),
			 sizeof(value));
	return value;
}

int qemu_get_base(uint32_t index)
{
	struct vu_vring_state state = { .index = index };

	qemu_send(VU_GET_VRING_BASE, 0, &state, sizeof(state), NULL, 0);
	if (qemu_reply(VU_GET_VRING_BASE, &state, sizeof(state)) !=
	    sizeof(state))
		return -1;
	assert_int_equal(state.index, index);
	return state.num;
}

struct vu_memory qemu_memory(void)
{
	return (struct vu_memory){
		.n = 1,
		.region[0] = {
			.guest_addr = GUEST_BASE,
			.size = MEM_SIZE,
			.user_addr = USER_BASE,
		},
	};
}

uint64_t qemu_ask_memory(const struct vu_memory *memory, const int *fd,
			 unsigned int fds)
{
	return qemu_ask(VU_SET_MEM_TABLE, memory,
			offsetof(struct vu_memory, region[memory->n]), fd, fds);
}

void qemu_set_memory(void)
{
	struct vu_memory memory = qemu_memory();

	assert_int_equal(qemu_ask_memory(&memory, &guest.fd, 1), 0);
}

struct vu_vring_addr qemu_addr(uint32_t index)
{
	return (struct vu_vring_addr){
		.index = index,
		.desc = gvq.desc_addr - GUEST_BASE + USER_BASE,
		.avail = gvq.avail_addr - GUEST_BASE + USER_BASE,
		.used = gvq.used_addr - GUEST_BASE + USER_BASE,
	};
}

uint64_t qemu_ask_addr(const struct vu_vring_addr *addr)
{
	return qemu_ask(VU_SET_VRING_ADDR, addr, sizeof(*addr), NULL, 0);
}

void qemu_handshake(void)
{
	assert_true(qemu_get_u64(VU_GET_FEATURES) & VU_F_PROTOCOL_FEATURES);
	assert_int_equal(qemu_get_u64(VU_GET_PROTOCOL_FEATURES), PROTOCOL_FEATURES);
	qemu_send(VU_SET_PROTOCOL_FEATURES, 0, &(uint64_t){ PROTOCOL_FEATURES }, 8,
		  NULL, 0);
	qemu_send(VU_SET_OWNER, 0, "", 0, NULL, 0);
}

void qemu_set_features(void)
{
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES,
				      FEATURES | VU_F_PROTOCOL_FEATURES), 0);
}

void qemu_queue(uint32_t index, uint16_t base)
{
	struct vu_vring_addr addr = qemu_addr(index);

	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, index, NUM), 0);
	assert_int_equal(qemu_ask_state(VU_SET_VRING_BASE, index, base), 0);
	assert_int_equal(qemu_ask_addr(&addr), 0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_KICK, index & 0xff,
				     qemu.kick), 0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, index & 0xff,
				     qemu.call), 0);
}

void qemu_enable(uint32_t index, bool on)
{
	assert_int_equal(qemu_ask_state(VU_SET_VRING_ENABLE, index, on), 0);
}

void qemu_start(uint32_t index)
{
	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(index, 0);
	qemu_enable(index, true);
	assert_non_null(dev.vq[index]);
}

void qemu_connect(void)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv),
			 0);
	qemu.fd = sv[0];
	assert_int_equal(vhost_user_connect(vu, sv[1]), 0);
}

void qemu_disconnect(void)
{
	close(qemu.fd);
	run();
	assert_false(vhost_user_connected(vu));
}

int qemu_setup(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	fds_before = guest_fds();
	memset(&dev, 0, sizeof(dev));
	loop = loop_new(0);
	vu = vhost_user_new(loop, "test", &device_ops, &dev, QUEUES);
	log_set_level(LOG_LEVEL_ERROR);
	guest_init(&guest, MEM_SIZE);
	guest_vq_init(&gvq, &guest, NUM);
	qemu.kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	qemu.call = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	qemu_connect();
	return 0;
}

int qemu_teardown(void **state)
{
	vhost_user_free(vu);
	loop_free(loop);
	guest_fini(&guest);
	close(qemu.kick);
	close(qemu.call);
	if (qemu.fd >= 0)
		close(qemu.fd);
	assert_int_equal(guest_fds(), fds_before);
	assert_int_equal(dev.starts, dev.stops);
	return 0;
}

/* Where the front-end listens, once it was saved. */
static char path[64];

static void front_end_section(struct state *st, void *arg)
{
	vhost_user_io(st, vu, path);
}

static const struct state_section front_end[] = {
	{ "front-end", 1, 0, front_end_section },
};

void qemu_save(struct state *st, struct state_fds *fds)
{
	uint32_t i;

	snprintf(path, sizeof(path), "/tmp/test_vhost.%d", getpid());
	if (vu->listen.fd < 0)
		assert_int_equal(vhost_user_listen(vu, path), 0);
	*fds = (struct state_fds) {};
	state_write(st);
	st->fds = fds;
	assert_true(state_sections(st, front_end, 1, NULL));
	assert_true(state_written(st));
	for (i = 0; i < fds->n; i++)
		fds->fd[i] = fcntl(fds->fd[i], F_DUPFD_CLOEXEC, 0);
}

const char *qemu_load(const struct state *out, struct state_fds *fds)
{
	static struct state in;
	/* In a heap block of its size, so that reading past it is caught. */
	uint8_t *copy = malloc(out->at);

	vhost_user_free(vu);
	assert_int_equal(dev.starts, dev.stops);
	memset(&dev, 0, sizeof(dev));
	vu = vhost_user_new(loop, "test", &device_ops, &dev, QUEUES);
	memcpy(copy, out->data, out->at);
	if (state_read(&in, copy, out->at)) {
		in.fds = fds;
		in.lenient = out->lenient;
		state_sections(&in, front_end, 1, NULL);
	}
	state_fds_close(fds);
	free(copy);
	return in.why;
}

void qemu_new_front_end(void)
{
	vu = vhost_user_new(loop, "test", &device_ops, &dev, QUEUES);
}

uint64_t event_count(int fd)
{
	eventfd_t value;

	return eventfd_read(fd, &value) ? 0 : value;
}

void assert_still_serving(void)
{
	assert_true(vhost_user_connected(vu));
	assert_true(qemu_get_u64(VU_GET_FEATURES) & BIT(32));
}
