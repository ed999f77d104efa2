// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Direct QPs with a driver that runs at the same time as the device: no request and no
 * completion is left lying, whatever the device is about to do when it is posted.
 */
#include "tests/lib/engine_ring.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define MS		(1000 * 1000ULL)
#define ROUNDS		4000u
/* Of these it is asleep at the beginning. */
#define SLEEPS		20u
/* A wait that long is for ever. */
#define TOO_LONG	(20 * CLOCK_NS_PER_S)

/**
 * struct device - what the thread of the device has
 * @p:		pair of QPs
 * @kick:	eventfd that wakes it
 * @end:	it shall end
 * @rung:	the doorbell of the event virtqueue was rung
 * @slept:	how often it slept
 * @asleep:	it sleeps
 */
struct device {
	struct er_pair *p;
	int kick;
	bool end;
	bool rung;
	unsigned int slept;
	bool asleep;
};

static bool poll_all(struct device *d)
{
	bool worked = rnic_poll(d->p->a.end.guest->rnic);

	return rnic_poll(d->p->b.end.guest->rnic) || worked;
}

static bool sleep_all(struct device *d)
{
	bool more = rnic_sleep(d->p->a.end.guest->rnic);

	return rnic_sleep(d->p->b.end.guest->rnic) || more;
}

/* As the loop does it, but that nothing else than a doorbell ends its sleep. */
static void *device_run(void *arg)
{
	struct device *d = arg;
	struct pollfd fd = { .fd = d->kick, .events = POLLIN };
	unsigned int idle = 0;
	eventfd_t value;

	while (!__atomic_load_n(&d->end, __ATOMIC_ACQUIRE)) {
		if (poll_all(d))
			continue;
		/* Sometimes all becomes cold first. */
		if (++idle % 3)
			engine_loop_advance(d->p->engine->loop, MS / 2);
		if (!sleep_all(d)) {
			d->slept++;
			__atomic_store_n(&d->asleep, true, __ATOMIC_RELEASE);
			poll(&fd, 1, -1);
			__atomic_store_n(&d->asleep, false, __ATOMIC_RELEASE);
			eventfd_read(d->kick, &value);
		}
		rnic_wake(d->p->a.end.guest->rnic);
		rnic_wake(d->p->b.end.guest->rnic);
		rnic_queue_kick(d->p->a.end.guest->rnic, RNIC_DOORBELL, 0);
		rnic_queue_kick(d->p->b.end.guest->rnic, RNIC_DOORBELL, 0);
		if (__atomic_exchange_n(&d->rung, false, __ATOMIC_ACQUIRE))
			rnic_queue_kick(d->p->b.end.guest->rnic, RNIC_EVENT, 0);
	}
	return NULL;
}

static void wait_or_fail(uint64_t since, const char *what)
{
	if (clock_ns() - since > TOO_LONG)
		fail_msg("waited for ever for %s", what);
	sched_yield();
}

static void take(struct er_end *end, const char *what)
{
	struct virtio_rdma_cqe cqe;
	uint64_t since = clock_ns();

	while (!er_poll(&end->cq, &cqe))
		wait_or_fail(since, what);
	assert_int_equal(cqe.status, 0);
}

/* Sleeps, as far as it can tell, until the CQ has something. */
static void take_by_event(struct device *d, struct er_end *end)
{
	struct virtio_rdma_event event;
	struct virtio_rdma_cqe cqe;
	uint64_t since = clock_ns();

	for (;;) {
		er_arm(&end->cq, VIRTIO_RDMA_ARM_NEXT);
		if (er_poll(&end->cq, &cqe))
			break;
		while (!er_take_event(end->end.guest, 0, &event))
			wait_or_fail(since, "an event");
		if (er_put_events(end->end.guest, 0, 1)) {
			__atomic_store_n(&d->rung, true, __ATOMIC_RELEASE);
			eventfd_write(d->kick, 1);
		}
		if (er_poll(&end->cq, &cqe))
			break;
	}
	assert_int_equal(cqe.status, 0);
}

/* Now and then it is asleep before anything is posted: else that is up to chance. */
static void wait_asleep(struct device *d)
{
	uint64_t since = clock_ns();

	while (!__atomic_load_n(&d->asleep, __ATOMIC_ACQUIRE))
		wait_or_fail(since, "the device to sleep");
}

static void play(void **state, bool events)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct device d = { .p = p, .kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	pthread_t thread;
	unsigned int i;

	er_give_events(p->b.end.guest, 0, 32);
	p->a.page.kick = d.kick;
	p->b.page.kick = d.kick;
	assert_int_equal(pthread_create(&thread, NULL, device_run, &d), 0);
	for (i = 0; i < ROUNDS; i++) {
		if (!(i % (ROUNDS / SLEEPS)))
			wait_asleep(&d);
		er_recv(&p->b, IN, 4);
		er_post_send(&p->a.qp, &wr);
		if (events)
			take_by_event(&d, &p->b);
		else
			take(&p->b, "a message");
		take(&p->a, "a completion");
	}
	__atomic_store_n(&d.end, true, __ATOMIC_RELEASE);
	eventfd_write(d.kick, 1);
	pthread_join(thread, NULL);
	assert_in_range(d.slept, SLEEPS, UINT32_MAX);
	close(d.kick);
	er_pair_free(p);
}

static void test_requests(void **state)
{
	play(state, false);
}

static void test_events(void **state)
{
	play(state, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_requests),
		TEST(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
