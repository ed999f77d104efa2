// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters of flow rules.
 *
 * The kernel sums up frames and bytes of all rules that were made with the counters.  At
 * which index the application reads which of the two is known here only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "virtio_roce.h"

/* Values that an application may ask for. */
#define POINTS		32

/**
 * struct point - a value that the application reads
 * @index: where
 * @counter: &enum virtio_roce_flow_counter
 */
struct point {
	uint32_t index;
	enum virtio_roce_flow_counter counter;
};

/**
 * struct virtio_roce_counters - counters
 * @vcounters: of libibverbs
 * @mutex: guards the following
 * @flows: rules that count here
 * @num: used entries of @points
 * @points: what is read; several at one index are added up
 */
struct virtio_roce_counters {
	struct verbs_counters vcounters;
	pthread_mutex_t mutex;
	unsigned int flows;
	unsigned int num;
	struct point points[POINTS];
};

static struct virtio_roce_counters *to_vcounters(struct ibv_counters *ibcounters)
{
	return container_of(ibcounters, struct virtio_roce_counters, vcounters.counters);
}

struct ibv_counters *virtio_roce_create_counters(struct ibv_context *context,
						 struct ibv_counters_init_attr *attr)
{
	struct virtio_roce_counters *counters;
	int err;

	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;

	err = ibv_cmd_create_counters(context, attr, &counters->vcounters, NULL);
	if (err) {
		free(counters);
		errno = err;
		return NULL;
	}

	pthread_mutex_init(&counters->mutex, NULL);
	return &counters->vcounters.counters;
}

int virtio_roce_destroy_counters(struct ibv_counters *ibcounters)
{
	struct virtio_roce_counters *counters = to_vcounters(ibcounters);
	int err;

	err = ibv_cmd_destroy_counters(&counters->vcounters);
	if (err)
		return err;

	pthread_mutex_destroy(&counters->mutex);
	free(counters);
	return 0;
}

/* Context: mutex of the counters held. */
static int counters_add_point(struct virtio_roce_counters *counters,
			      const struct point *point)
{
	if (counters->flows)
		return EBUSY;
	if (counters->num == POINTS)
		return ENOMEM;
	counters->points[counters->num++] = *point;
	return 0;
}

/* Only before there are rules, as all rules count the same. */
int virtio_roce_attach_counters_point_flow(struct ibv_counters *ibcounters,
					   struct ibv_counter_attach_attr *attr,
					   struct ibv_flow *flow)
{
	struct virtio_roce_counters *counters = to_vcounters(ibcounters);
	struct point point = { .index = attr->index };
	int err;

	if (attr->comp_mask)
		return EOPNOTSUPP;
	if (flow)
		return ENOTSUP;
	switch (attr->counter_desc) {
	case IBV_COUNTER_PACKETS:
		point.counter = VIRTIO_ROCE_FLOW_PACKETS;
		break;
	case IBV_COUNTER_BYTES:
		point.counter = VIRTIO_ROCE_FLOW_BYTES;
		break;
	default:
		return ENOTSUP;
	}

	pthread_mutex_lock(&counters->mutex);
	err = counters_add_point(counters, &point);
	pthread_mutex_unlock(&counters->mutex);
	return err;
}

/* Context: mutex of the counters held. */
static int counters_fill(const struct virtio_roce_counters *counters, const uint64_t *from,
			 uint64_t *values, uint32_t num)
{
	unsigned int i;

	for (i = 0; i < counters->num; i++)
		if (counters->points[i].index >= num)
			return EINVAL;
	memset(values, 0, num * sizeof(*values));
	for (i = 0; i < counters->num; i++)
		values[counters->points[i].index] += from[counters->points[i].counter];
	return 0;
}

int virtio_roce_read_counters(struct ibv_counters *ibcounters, uint64_t *values,
			      uint32_t num, uint32_t flags)
{
	struct virtio_roce_counters *counters = to_vcounters(ibcounters);
	uint64_t sums[VIRTIO_ROCE_FLOW_COUNTERS];
	int err;

	if (!num)
		return EINVAL;
	err = ibv_cmd_read_counters(&counters->vcounters, sums, VIRTIO_ROCE_FLOW_COUNTERS,
				    flags, NULL);
	if (err)
		return err;

	pthread_mutex_lock(&counters->mutex);
	err = counters_fill(counters, sums, values, num);
	pthread_mutex_unlock(&counters->mutex);
	return err;
}

/**
 * virtio_roce_counters_use() - a rule counts, or does not any more
 * @ibcounters: counters, NULL if it has none
 * @change: 1 or -1
 */
void virtio_roce_counters_use(struct ibv_counters *ibcounters, int change)
{
	struct virtio_roce_counters *counters;

	if (!ibcounters)
		return;
	counters = to_vcounters(ibcounters);
	pthread_mutex_lock(&counters->mutex);
	counters->flows += change;
	pthread_mutex_unlock(&counters->mutex);
}
