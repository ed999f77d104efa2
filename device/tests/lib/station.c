// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <string.h>

#include "tests/lib/idle.h"
#include "tests/lib/station.h"

struct loop *loop;
struct station st[2];
unsigned int config_changes;
bool connected;
unsigned int station_pairs = 1;

struct l2_switch *sw;
static struct fabric *fabric;

static void on_call(struct virtq *vq)
{
	((struct station *)vq->priv)->calls[vq->index]++;
}

static void on_error(struct virtq *vq, const char *why)
{
	((struct station *)vq->priv)->errors++;
}

static void on_config_changed(void *fe)
{
	assert_ptr_equal(fe, st);
	config_changes++;
}

static bool is_connected(const void *fe)
{
	assert_ptr_equal(fe, st);
	return connected;
}

static const struct fe_ops fe_ops = {
	.config_changed = on_config_changed,
	.connected = is_connected,
};

void station_start(struct station *s, uint64_t features)
{
	unsigned int i;

	assert_int_equal(function_device_ops.negotiated(s->fn, features), 0);
	function_device_ops.mem_changed(s->fn, &s->guest.mem);
	s->queues = features & (BIT(VIRTIO_NET_F_MQ) | BIT(VIRTIO_NET_F_RSS)) ?
		    2 * station_pairs + 1 : 3;
	for (i = 0; i < s->queues; i++) {
		s->vq[i].index = i;
		s->vq[i].indirect = true;
		s->vq[i].call = on_call;
		s->vq[i].error = on_error;
		s->vq[i].priv = s;
		guest_vq_init(&s->gvq[i], &s->guest, NUM);
		guest_vq_start(&s->gvq[i], &s->vq[i]);
		function_device_ops.queue_start(s->fn, &s->vq[i]);
	}
}

void station_stop(struct station *s)
{
	unsigned int i;

	for (i = 0; i < s->queues; i++)
		if (s->vq[i].ready)
			function_device_ops.queue_stop(s->fn, &s->vq[i]);
}

int station_setup(void **state)
{
	struct function_config config = {
		.mac = { 2, 0, 0, 0, 0, 0 },
		.mtu = MTU,
		.offer_mtu = true,
		.speed = SPEED,
		.pairs = station_pairs,
		.limits = { .qps = QPS, .cqs = CQS, .queue_size = NUM },
	};
	unsigned int i;

	memset(st, 0, sizeof(st));
	config_changes = 0;
	connected = false;
	loop = loop_new(0);
	sw = switch_new(loop);
	fabric = fabric_new();
	for (i = 0; i < 2; i++) {
		config.name = i ? "b" : "a";
		config.mac[5] = i + 1;
		st[i].fn = function_new(loop, sw, fabric, &config);
		function_set_frontend(st[i].fn, &fe_ops, st);
		guest_init(&st[i].guest, 4 << 20);
	}
	return 0;
}

int station_teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		station_stop(&st[i]);
		function_free(st[i].fn);
		guest_fini(&st[i].guest);
	}
	fabric_free(fabric);
	switch_free(sw);
	loop_free(loop);
	return 0;
}

void run(void)
{
	run_idle(loop);
}

uint64_t rx_buffer_to(struct station *s, unsigned int queue, uint32_t len)
{
	struct guest_buf buf = {
		.addr = guest_alloc(&s->guest, len, 1),
		.len = len,
		.write = true,
	};

	memset(guest_ptr(&s->guest, buf.addr), 0xee, len);
	guest_vq_add(&s->gvq[queue], &buf, 1);
	return buf.addr;
}

uint64_t rx_buffer(struct station *s, uint32_t len)
{
	return rx_buffer_to(s, RX, len);
}

uint8_t *tx_frame(struct station *s, uint64_t dst, uint32_t len,
		  bool split)
{
	uint64_t addr = guest_alloc(&s->guest, HDR + len, 1);
	uint8_t *frame = (uint8_t *)guest_ptr(&s->guest, addr) + HDR;
	struct guest_buf buf[] = {
		{ .addr = addr, .len = split ? HDR : HDR + len },
		{ .addr = addr + HDR, .len = len },
	};
	unsigned int i;

	for (i = 0; i < len; i++)
		frame[i] = 7 * i + 1;
	for (i = 0; i < 6 && i + 6 < len; i++) {
		frame[i] = dst >> (40 - 8 * i);
		frame[6 + i] = i ? 0 : 2;
	}
	if (len > 11)
		frame[11] = s - st + 1;
	guest_vq_add(&s->gvq[TX], buf, split ? 2 : 1);
	return frame;
}

uint64_t rx_count(unsigned int i)
{
	return function_stats(st[i].fn)->rx;
}
