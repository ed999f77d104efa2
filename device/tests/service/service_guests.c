// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * service_guests keeps|loses SOCKET SOCKET COMMAND
 *
 * Two guests of a daemon that is a service, which COMMAND, a line for the shell, restarts or
 * kills.  The guests keep all that they have, and no message is lost; or they keep Ethernet,
 * and RDMA works again when they have reset their functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/stream.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

static pid_t command(const char *line)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	execl("/bin/sh", "sh", "-c", line, NULL);
	_exit(127);
}

static uint8_t ask_port(struct front *front)
{
	struct virtio_rdma_ack_query_port ack;

	return front_ack(front, VIRTIO_NET_CTRL_ROCE_QUERY_PORT, NULL, 0, &ack, sizeof(ack));
}

static void keeps(const char *line)
{
	stream_again();
	assert_int_equal(stream_until_end(command(line)), 0);
	stream_some();
	stream_frame();
	assert_int_equal(ask_port(&pp.guest[0]), VIRTIO_NET_OK);
	printf("keeps: messages stood still for %.1f ms\n", stream.gap / 1e6);
}

static void loses(const char *line)
{
	unsigned int i;
	int status;

	assert_true(waitpid(command(line), &status, 0) > 0);
	assert_int_equal(status, 0);
	stream_frame();
	for (i = 0; i < 2; i++) {
		assert_int_equal(ask_port(&pp.guest[i]), VIRTIO_NET_ERR);
		front_reset(&pp.guest[i]);
	}
	pp_pair();
	stream_open();
	stream_some();
	stream_frame();
	printf("loses: RDMA works again\n");
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 5)
		return EXIT_FAILURE;
	for (i = 0; i < 2; i++)
		front_open(&pp.guest[i], argv[2 + i], i + 1, FEATURES);
	pp_pair();
	stream_open();
	stream_some();
	if (!strcmp(argv[1], "keeps"))
		keeps(argv[4]);
	else
		loses(argv[4]);
	for (i = 0; i < 2; i++)
		front_close(&pp.guest[i]);
	return EXIT_SUCCESS;
}
