/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames that wait to be written to an interface, many of them in one go.
 *
 * RoCE packets of one connection that follow each other become segments of one
 * message: the kernel takes it as one packet (VIRTIO_NET_HDR_GSO_UDP_L4) and
 * cuts it up as late as it can.
 */
#ifndef DEVICE_UPLINK_BATCH_H
#define DEVICE_UPLINK_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/virtio_net.h>

/* Newer than the headers of Debian 12. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

struct frame;

#define BATCH_HDR_LEN	sizeof(struct virtio_net_hdr)
#define BATCH_MSGS	64
#define BATCH_SIZE	(256u << 10)

/* Linux cuts no message into more segments, and takes no longer IP packet. */
#define BATCH_SEGMENTS	64
#define BATCH_IP_MAX	65535

/* Ethernet, IPv6 and UDP. */
#define BATCH_HEAD_MAX	(14 + 40 + 8)

/**
 * struct batch_msg - what is written at once: a frame, or several as segments of one
 * @off:	of its virtio_net_hdr in the batch
 * @len:	bytes, with that header
 * @segments:	number of frames
 * @gso_size:	UDP payload of each segment but the last; 0: no other may join it
 * @head:	bytes in front of the UDP payload
 * @open:	the last segment has @gso_size bytes, another one may follow
 */
struct batch_msg {
	uint32_t off;
	uint32_t len;
	uint16_t segments;
	uint16_t gso_size;
	uint8_t head;
	bool open;
};

/**
 * struct batch - frames that wait
 * @n:		messages
 * @len:	bytes of @data that are used
 * @plain:	each frame is a message: the kernel does not cut up UDP
 * @msg:	messages, in the order of the frames
 * @data:	their bytes
 */
struct batch {
	unsigned int n;
	size_t len;
	bool plain;
	struct batch_msg msg[BATCH_MSGS];
	uint8_t data[BATCH_SIZE] __attribute__((aligned(8)));
};

/**
 * batch_add() - copy a frame to the end of the batch
 * @batch:	batch
 * @frame:	frame of at most %OFFLOAD_FRAME_MAX bytes
 *
 * Return: false if there is no room for it; an empty batch has room for any.
 */
bool batch_add(struct batch *batch, const struct frame *frame);

/** batch_close() - make the headers of messages that are to be cut up; before writing */
void batch_close(struct batch *batch);

/**
 * batch_segment() - take one frame out of a message again
 * @batch:	batch of batch_close()
 * @msg:	one of its messages
 * @i:		which of its frames
 * @out:	room for BATCH_HEAD_MAX and a payload, behind a virtio_net_hdr
 *
 * Return: its bytes, with the virtio_net_hdr.
 */
size_t batch_segment(const struct batch *batch, const struct batch_msg *msg, unsigned int i,
		     uint8_t *out);

#endif /* DEVICE_UPLINK_BATCH_H */
