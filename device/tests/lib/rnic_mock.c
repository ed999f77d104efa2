// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <stdlib.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "rdma/rnic_image.h"
#include "tests/lib/rnic_mock.h"
#include "uapi/virtio_net_roce.h"

struct rnic {
	int unused;
};

struct fabric {
	int unused;
};

struct rnic_mock rnic_mock = { .ack = VIRTIO_NET_ERR };

struct fabric *fabric_new(void)
{
	return calloc(1, sizeof(struct fabric));
}

void fabric_free(struct fabric *fabric)
{
	free(fabric);
}

struct rnic *rnic_new(struct loop *loop, struct fabric *fabric,
		      const struct rnic_limits *limits, const char *name)
{
	memset(&rnic_mock, 0, sizeof(rnic_mock));
	rnic_mock.ack = VIRTIO_NET_ERR;
	return calloc(1, sizeof(struct rnic));
}

void fabric_use_packets(struct fabric *fabric)
{
}

void rnic_set_nvmf(struct rnic *rnic, const struct nvmf_host *host)
{
}

void rnic_set_eth(struct rnic *rnic, const struct rnic_eth *eth, void *arg)
{
	rnic_mock.eth = eth;
	rnic_mock.eth_arg = arg;
}

const uint8_t *rnic_gid(const struct rnic *rnic, uint32_t index, uint16_t *vlan)
{
	*vlan = rnic_mock.gid_vlan[index % RNIC_MOCK_GIDS];
	return index < rnic_mock.gids ? rnic_mock.gid[index] : NULL;
}

void rnic_set_gid_policy(struct rnic *rnic,
			 bool (*may)(const void *arg, const uint8_t *gid),
			 const void *arg)
{
	rnic_mock.may = may;
	rnic_mock.may_arg = arg;
}

bool rnic_frame(struct rnic *rnic, const struct rnic *from,
		const struct iovec *iov, unsigned int iov_n, size_t off,
		size_t len)
{
	rnic_mock.frames++;
	rnic_mock.frame_from = from;
	rnic_mock.frame_len = len;
	return rnic_mock.take_frames;
}

bool rnic_steer(struct rnic *rnic, enum rule_for what, const struct iovec *iov,
		unsigned int iov_n, size_t off, size_t len, struct rule_hits *hits)
{
	rnic_mock.steered++;
	rnic_mock.steer_what = what;
	*hits = rnic_mock.hits;
	return hits->n || hits->taken;
}

void rnic_give(struct rnic *rnic, const struct rule_hits *hits, const struct iovec *iov,
	       size_t off, size_t len)
{
	rnic_mock.given++;
	rnic_mock.given_len += len;
	rnic_mock.unflushed++;
}

void rnic_flush(struct rnic *rnic)
{
	rnic_mock.unflushed = 0;
}

uint64_t rnic_fused(const struct rnic *rnic)
{
	return 0;
}

void rnic_set_packets(struct rnic *rnic, bool packets)
{
	rnic_mock.packets = packets;
}

void rnic_set_poller(struct rnic *rnic, struct loop_poller *poller)
{
	rnic_mock.poller = poller;
}

bool rnic_may_sleep(const struct rnic *rnic)
{
	return !rnic_mock.restless;
}

void rnic_set_away(struct rnic *rnic, bool away)
{
	rnic_mock.away = away;
}

const uint64_t *rnic_counters(const struct rnic *rnic)
{
	static const uint64_t counters[VIRTIO_RDMA_CNT_NUM];

	return counters;
}

bool rnic_view_next(const struct rnic *rnic, uint32_t qpn, struct qp_view *view)
{
	unsigned int i;

	for (i = 0; i < rnic_mock.qps; i++)
		if (rnic_mock.qp[i].qpn >= qpn) {
			*view = rnic_mock.qp[i];
			return true;
		}
	return false;
}

uint32_t rnic_path_mtu(const struct rnic *rnic)
{
	return rnic_mock.path_mtu;
}

void rnic_free(struct rnic *rnic)
{
	free(rnic);
}

void rnic_reset(struct rnic *rnic)
{
	rnic_mock.resets++;
}

void rnic_mem_changed(struct rnic *rnic, const struct guest_mem *mem)
{
	rnic_mock.mem = mem;
}

void rnic_queue_start(struct rnic *rnic, enum rnic_queue kind, uint32_t number,
		      struct virtq *vq)
{
	if (number < RNIC_MOCK_QUEUES)
		rnic_mock.queue[kind][number] = vq;
}

void rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	rnic_queue_start(rnic, kind, number, NULL);
}

void rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	if (number < RNIC_MOCK_QUEUES)
		rnic_mock.kicks[kind][number]++;
}

static uint8_t mock_answer(void *rsp, size_t *rsp_len)
{
	*rsp_len = 0;
	if (rnic_mock.more) {
		rnic_mock.more--;
		return RNIC_COMMAND_MORE;
	}
	if (rnic_mock.ack != VIRTIO_NET_OK ||
	    rnic_mock.rsp_len > rnic_mock.rsp_size)
		return VIRTIO_NET_ERR;
	memcpy(rsp, rnic_mock.rsp, rnic_mock.rsp_len);
	*rsp_len = rnic_mock.rsp_len;
	return VIRTIO_NET_OK;
}

uint8_t rnic_command(struct rnic *rnic, uint8_t command,
		     const struct rnic_request *req, void *rsp, size_t rsp_size,
		     size_t *rsp_len)
{
	uint8_t *copy;
	size_t i;

	rnic_mock.commands++;
	rnic_mock.command = command;
	rnic_mock.req_len = req->len;
	rnic_mock.rsp_size = rsp_size;
	if (rnic_mock.read) {
		copy = malloc(req->len + 1);
		i = iov_to_buf(req->iov, req->iov_n, req->off, copy, req->len + 1);
		rnic_mock.req_sum = i == req->len ? 0 : UINT64_MAX / 2;
		while (i)
			rnic_mock.req_sum += copy[--i];
		free(copy);
	}
	return mock_answer(rsp, rsp_len);
}

uint8_t rnic_command_more(struct rnic *rnic, void *rsp, size_t *rsp_len)
{
	return mock_answer(rsp, rsp_len);
}

void rnic_command_abort(struct rnic *rnic)
{
	rnic_mock.aborts++;
}

bool rnic_poll(struct rnic *rnic)
{
	rnic_mock.polls++;
	return false;
}

bool rnic_sleep(struct rnic *rnic)
{
	return false;
}

void rnic_wake(struct rnic *rnic)
{
}

bool rnic_save(struct rnic *rnic, struct state *st)
{
	return !st->failed;
}

bool rnic_load(struct rnic *rnic, struct state *st)
{
	return state_read_end(st);
}

uint16_t rnic_section_known(const char *kind)
{
	return !strcmp(kind, "mock");
}

void rnic_moved(struct rnic *rnic)
{
	rnic_mock.moves++;
}

void rnic_parted(struct rnic *rnic)
{
	rnic_mock.parts++;
}

void rnic_look_at_all(struct rnic *rnic)
{
}
