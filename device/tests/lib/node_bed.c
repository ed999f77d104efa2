// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A node and the guests of an engine, on one switch.
 */
#include "tests/lib/node_bed.h"

#include <stdlib.h>

#include "base/chore.h"

#define BED_MTU		4200u

static void bed_deliver(void *arg, const struct frame *frame)
{
	struct bed_port *port = arg;

	port->unflushed++;
	if (rnic_frame(port->rnic, frame->origin, frame->iov, frame->iov_n, frame->off,
		       frame->len))
		return;
	if (port->n < BED_FRAMES)
		port->len[port->n] = iov_to_buf(frame->iov, frame->iov_n, frame->off,
						port->frame[port->n],
						frame->len < BED_FRAME ? frame->len :
									 BED_FRAME);
	port->n++;
}

static void bed_flush(void *arg)
{
	struct bed_port *port = arg;

	port->unflushed = 0;
}

static bool bed_send(void *arg, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct bed_port *port = arg;
	struct frame frame;

	assert_int_equal(frame_init(&frame, &iov, 1, 0, len), 0);
	frame.origin = port->rnic;
	switch_send(&port->port, &frame);
	return true;
}

static const uint8_t *bed_mac(void *arg)
{
	const struct bed_port *port = arg;

	return port->mac;
}

static bool bed_hears(void *arg, const uint8_t *mac)
{
	return false;
}

static uint32_t bed_mtu(void *arg)
{
	return BED_MTU;
}

static uint64_t bed_work(void *arg)
{
	const struct bed_port *port = arg;

	return switch_work(port->sw);
}

static bool bed_behind(void *arg, const uint8_t *mac)
{
	const struct bed_port *port = arg;

	return switch_is_behind(&port->port, mac);
}

static const struct rnic_eth bed_eth = {
	.send = bed_send,
	.mac = bed_mac,
	.hears = bed_hears,
	.mtu = bed_mtu,
	.work = bed_work,
	.behind = bed_behind,
};

static void bed_plug(struct node_bed *bed, unsigned int i)
{
	struct bed_port *port = &bed->port[i];

	*port = (struct bed_port) {
		.rnic = bed->engine->guest[i].rnic,
		.sw = bed->sw,
		.mac = { 0x52, 0x54, 0, 0, 0, bed->engine->guest[i].number },
		.port = {
			.deliver = bed_deliver,
			.flush = bed_flush,
			.arg = port,
		},
	};
	switch_port_add(bed->sw, &port->port);
	rnic_set_eth(port->rnic, &bed_eth, port);
}

int bed_setup(void **state)
{
	struct node_bed *bed = calloc(1, sizeof(*bed));
	unsigned int i;

	assert_non_null(bed);
	assert_int_equal(eg_setup_direct(state), 0);
	bed->engine = *state;
	/* A switch and a port have pointers to NICs. */
	eg_cycle_off = true;
	bed->sw = switch_new(bed->engine->loop);
	assert_non_null(bed->sw);
	for (i = 0; i < EG_GUESTS; i++)
		bed_plug(bed, i);
	bed->config = (struct node_config) {
		.name = "node",
		.mac = { 0x52, 0x54, 0, 0, 0, 9 },
		.gids = 2,
		.gid = {
			{ [10] = 0xff, 0xff, 10, 0, 0, 9 },
			{ 0xfd, [15] = 9 },
		},
		.mtu = BED_MTU,
	};
	bed->node = node_new(bed->engine->loop, bed->sw, bed->engine->fabric, &bed->config);
	assert_non_null(bed->node);
	*state = bed;
	return 0;
}

int bed_teardown(void **state)
{
	struct node_bed *bed = *state;
	void *engine = bed->engine;
	unsigned int i;

	if (bed->node)
		node_free(bed->node);
	for (i = 0; i < EG_GUESTS; i++) {
		rnic_set_eth(bed->port[i].rnic, NULL, NULL);
		switch_port_del(bed->sw, &bed->port[i].port);
	}
	/* The rest of a NIC is a chore of the loop's. */
	chores_finish(loop_chores(bed->engine->loop));
	switch_free(bed->sw);
	free(bed);
	return eg_teardown(&engine);
}

void bed_run(struct node_bed *bed)
{
	unsigned int i, round;
	bool work = true;

	for (round = 0; work && round < 100000; round++) {
		work = engine_loop_poll(bed->engine->loop);
		for (i = 0; i < EG_GUESTS; i++)
			work |= rnic_poll(bed->engine->guest[i].rnic);
	}
	assert_false(work);
}

void bed_advance(struct node_bed *bed, uint64_t ns, uint64_t step)
{
	for (; ns >= step; ns -= step) {
		engine_loop_advance(bed->engine->loop, step);
		bed_run(bed);
	}
}

void bed_frame(struct node_bed *bed, unsigned int i, void *frame, size_t len)
{
	bed_send(&bed->port[i], frame, len);
	bed_run(bed);
}

void bed_packets(struct node_bed *bed)
{
	fabric_use_packets(bed->engine->fabric);
}
