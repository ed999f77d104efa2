// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <stdlib.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "tests/lib/rnic_mock.h"
#include "uapi/virtio_net_roce.h"

struct nic {
	int unused;
};

struct fabric {
	int unused;
};

struct nic_mock nic_mock = { .ack = VIRTIO_NET_ERR };

struct fabric *fabric_new(void)
{
	return calloc(1, sizeof(struct fabric));
}

void fabric_free(struct fabric *fabric)
{
	free(fabric);
}

struct nic *nic_new(struct loop *loop, struct fabric *fabric,
		    const struct nic_limits *limits, const char *name)
{
	(void)loop;
	(void)fabric;
	(void)limits;
	(void)name;
	memset(&nic_mock, 0, sizeof(nic_mock));
	nic_mock.ack = VIRTIO_NET_ERR;
	return calloc(1, sizeof(struct nic));
}

void fabric_use_packets(struct fabric *fabric)
{
	(void)fabric;
}

void nic_set_eth(struct nic *nic, const struct nic_eth *eth, void *arg)
{
	(void)nic;
	nic_mock.eth = eth;
	nic_mock.eth_arg = arg;
}

bool nic_frame(struct nic *nic, const struct iovec *iov, unsigned int iov_n,
	       size_t off, size_t len)
{
	(void)nic;
	(void)iov;
	(void)iov_n;
	(void)off;
	nic_mock.frames++;
	nic_mock.frame_len = len;
	return nic_mock.take_frames;
}

const uint64_t *nic_counters(const struct nic *nic)
{
	static const uint64_t counters[VIRTIO_RDMA_CNT_NUM];

	(void)nic;
	return counters;
}

void nic_free(struct nic *nic)
{
	free(nic);
}

void nic_reset(struct nic *nic)
{
	(void)nic;
	nic_mock.resets++;
}

void nic_mem_changed(struct nic *nic, const struct guest_mem *mem)
{
	(void)nic;
	nic_mock.mem = mem;
}

static void mock_set(struct virtq **queue, uint32_t n, struct virtq *vq)
{
	if (n < NIC_MOCK_QUEUES)
		queue[n] = vq;
}

void nic_cq_start(struct nic *nic, uint32_t cqn, struct virtq *vq)
{
	(void)nic;
	mock_set(nic_mock.cq, cqn, vq);
}

void nic_cq_stop(struct nic *nic, uint32_t cqn)
{
	(void)nic;
	mock_set(nic_mock.cq, cqn, NULL);
}

void nic_sq_start(struct nic *nic, uint32_t qpn, struct virtq *vq)
{
	(void)nic;
	mock_set(nic_mock.sq, qpn, vq);
}

void nic_sq_stop(struct nic *nic, uint32_t qpn)
{
	(void)nic;
	mock_set(nic_mock.sq, qpn, NULL);
}

void nic_rq_start(struct nic *nic, uint32_t qpn, struct virtq *vq)
{
	(void)nic;
	mock_set(nic_mock.rq, qpn, vq);
}

void nic_rq_stop(struct nic *nic, uint32_t qpn)
{
	(void)nic;
	mock_set(nic_mock.rq, qpn, NULL);
}

void nic_sq_kick(struct nic *nic, uint32_t qpn)
{
	(void)nic;
	if (qpn < NIC_MOCK_QUEUES)
		nic_mock.sq_kicks[qpn]++;
}

void nic_rq_kick(struct nic *nic, uint32_t qpn)
{
	(void)nic;
	if (qpn < NIC_MOCK_QUEUES)
		nic_mock.rq_kicks[qpn]++;
}

uint8_t nic_command(struct nic *nic, uint8_t command, const void *req,
		    size_t req_len, void *rsp, size_t rsp_size,
		    size_t *rsp_len)
{
	const uint8_t *byte = req;
	size_t i;

	(void)nic;
	nic_mock.commands++;
	nic_mock.command = command;
	nic_mock.req_len = req_len;
	nic_mock.req_sum = 0;
	for (i = 0; i < req_len; i++)
		nic_mock.req_sum += byte[i];
	nic_mock.rsp_size = rsp_size;

	*rsp_len = 0;
	if (nic_mock.ack != VIRTIO_NET_OK || nic_mock.rsp_len > rsp_size)
		return VIRTIO_NET_ERR;
	memcpy(rsp, nic_mock.rsp, nic_mock.rsp_len);
	*rsp_len = nic_mock.rsp_len;
	return VIRTIO_NET_OK;
}

bool nic_poll(struct nic *nic)
{
	(void)nic;
	nic_mock.polls++;
	return false;
}

bool nic_sleep(struct nic *nic)
{
	(void)nic;
	return false;
}

void nic_wake(struct nic *nic)
{
	(void)nic;
}
