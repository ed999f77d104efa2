/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two guests with a function each, on one switch.
 */
#ifndef DEVICE_TESTS_STATION_H
#define DEVICE_TESTS_STATION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "function/function.h"
#include "tests/lib/guest.h"
#include "tests/lib/rnic_mock.h"
#include "uapi/virtio_net_roce.h"

#define NUM		128
#define HDR		12
#define QPS		4
#define CQS		3
#define MTU		1500
#define SPEED		25000

#define FEATURES_MIN	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_NET_F_CTRL_VQ))
#define FEATURES_ALL	(function_device_ops.features(st[0].fn))

#define MAC(n)		(0x020000000000ULL + (n))
#define BROADCAST	0xffffffffffffULL
#define MULTICAST	0x01005e000001ULL

/* Queues of the first pair, and the control queue of a function that has no other pair. */
enum { RX, TX, CTRL };

#define STATION_PAIRS	4u
#define STATION_QUEUES	(2 * STATION_PAIRS + 1)

/**
 * struct station - a guest with a function
 * @fn:	function
 * @guest:	guest
 * @queues:	that were started
 * @gvq:	receive, transmit, of further pairs as well, control: the driver's side
 * @vq:		the device's side
 * @calls:	interrupts of each
 * @errors:	times that a queue broke
 */
struct station {
	struct function *fn;
	struct guest guest;
	unsigned int queues;
	struct guest_vq gvq[STATION_QUEUES];
	struct virtq vq[STATION_QUEUES];
	unsigned int calls[STATION_QUEUES];
	unsigned int errors;
};

extern struct loop *loop;
extern struct l2_switch *sw;
extern struct station st[2];
extern unsigned int config_changes;
extern bool connected;

/* Pairs of Ethernet queues that functions are made with. */
extern unsigned int station_pairs;

/** station_start() - negotiate @features, start the Ethernet and control queues */
void station_start(struct station *s, uint64_t features);

/** station_stop() - stop them */
void station_stop(struct station *s);

/** station_setup() - for cmocka: two guests on a switch, nothing started */
int station_setup(void **state);

/** station_teardown() - for cmocka: end them */
int station_teardown(void **state);

/** run() - run the loop until the functions have nothing left to do */
void run(void);

/** rx_buffer_to() - as rx_buffer(), in a queue */
uint64_t rx_buffer_to(struct station *s, unsigned int queue, uint32_t len);

/**
 * rx_buffer() - give a station a receive buffer of @len bytes, filled with 0xee
 *
 * Return: its device address.
 */
uint64_t rx_buffer(struct station *s, uint32_t len);

/**
 * tx_frame() - have a station send a frame
 * @s:		station
 * @dst:	destination address
 * @len:	bytes; a pattern follows the addresses
 * @split:	the header is in a piece of its own
 *
 * Return: the frame, which the test may change before it runs.
 */
uint8_t *tx_frame(struct station *s, uint64_t dst, uint32_t len,
		  bool split);

/** rx_count() - frames that station @i has received */
uint64_t rx_count(unsigned int i);

#endif /* DEVICE_TESTS_STATION_H */
