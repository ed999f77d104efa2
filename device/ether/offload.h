/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checksum and segmentation that a sender has left undone.
 */
#ifndef DEVICE_OFFLOAD_H
#define DEVICE_OFFLOAD_H

#include <net/ethernet.h>
#include <stdint.h>

#include <linux/virtio_net.h>

struct frame;

/* Work that a receiver of frames may accept undone. */
enum offload_bit {
	OFFLOAD_CSUM = 1 << 0,
	OFFLOAD_TSO4 = 1 << 1,
	OFFLOAD_TSO6 = 1 << 2,
	OFFLOAD_ECN = 1 << 3,
};

#define OFFLOAD_TAG_LEN		4

/* The longest IPv6 packet, and that with an Ethernet header and a VLAN tag. */
#define OFFLOAD_FRAME_MAX	(40 + 65535 + ETH_HLEN + OFFLOAD_TAG_LEN)

/* Ethernet, VLAN, IP and TCP, with some IPv6 extension headers. */
#define OFFLOAD_HEAD_MAX	256

/*
 * Segments that a frame may be cut into.  Linux sends no more as long as the peer's
 * segments have 256 bytes, or its window is that small.  A frame is cut in one go.
 */
#define OFFLOAD_SEGMENTS_MAX	256

/**
 * struct offload - room to finish a frame in
 * @data:	the frame as it came
 * @head:	headers of a segment
 */
struct offload {
	uint8_t data[OFFLOAD_FRAME_MAX];
	uint8_t head[OFFLOAD_HEAD_MAX];
};

/**
 * offload_init() - take what a sender says is left to be done to a frame
 * @frame:	frame of frame_init(); its @hdr and @wire_len are filled in
 * @hdr:	from the sender, not checked yet
 *
 * Return: 0, or -EINVAL if @hdr asks for what we do not do, or does not fit to
 *	   the frame.
 */
int offload_init(struct frame *frame, const struct virtio_net_hdr *hdr);

/** offload_segments() - how many frames come of a frame of offload_init() */
size_t offload_segments(const struct frame *frame);

/** offload_needs() - what a receiver must accept to take @frame as it is */
unsigned int offload_needs(const struct frame *frame);

/**
 * offload_finish() - do what is left to be done to a frame
 * @offload:	room
 * @frame:	frame of offload_init()
 * @emit:	called with each frame that comes of it, in order
 * @arg:	for @emit
 *
 * The frame is copied first: a guest may still write to it.
 *
 * Return: 0, or -EINVAL if there is no telling any more what was to be done.
 */
int offload_finish(struct offload *offload, const struct frame *frame,
		   void (*emit)(void *arg, const struct frame *frame),
		   void *arg);

#endif /* DEVICE_OFFLOAD_H */
