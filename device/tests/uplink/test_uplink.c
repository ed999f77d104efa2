// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Uplinks over unix sockets, with a peer that misbehaves.
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/uds.h"
#include "base/util.h"
#include "tests/lib/idle.h"
#include "uplink/uplink.h"
#include "virtio/mem.h"

#define LEN_MAX	(4096 + 65536)

static struct loop *loop;
static struct l2_switch *sw;
static struct uplink *uplink;
static char dir[] = "/tmp/test_uplink.XXXXXX";
static char path[64];
static char text[80];

/* A station at the switch, and what it received. */
static struct switch_port here;
static unsigned int frames;
static size_t last_len;
static uint8_t last[LEN_MAX];

static void here_deliver(void *arg, const struct frame *frame)
{
	frames++;
	last_len = frame->len;
	iov_to_buf(frame->iov, frame->iov_n, frame->off, last, frame->len);
}

static void here_flush(void *arg)
{
}

static int setup(void **state)
{
	const struct uplink_env env = {
		.loop = loop = loop_new(0),
		.sw = sw = switch_new(loop),
	};

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/up", dir);
	snprintf(text, sizeof(text), "unix:%s", path);
	uplink = uplink_open(&env, text);
	assert_non_null(uplink);
	frames = 0;
	here = (struct switch_port){
		.deliver = here_deliver,
		.flush = here_flush,
	};
	switch_port_add(sw, &here);
	return 0;
}

static int teardown(void **state)
{
	if (uplink)
		uplink_free(uplink);
	switch_port_del(sw, &here);
	switch_free(sw);
	loop_free(loop);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static bool has_peer(void *arg)
{
	const struct uplink *u = arg;

	return u->stats.peers;
}

static int join(void)
{
	int fd = uds_connect(path);

	assert_true(fd >= 0);
	run_idle(loop);
	return fd;
}

/* Sends from the station, to all. */
static void send_here(size_t len, uint32_t number)
{
	static uint8_t data[LEN_MAX + 1];
	const struct iovec iov = { .iov_base = data, .iov_len = len };
	struct frame frame;

	memset(data, 0xff, 6);
	data[6] = 2;
	memcpy(data + 14, &number, sizeof(number));
	memset(data + 18, number, len - 18);
	assert_int_equal(frame_init(&frame, &iov, 1, 0, len), 0);
	switch_send(&here, &frame);
	switch_flush(sw);
}

/* Writes a frame as the peer, in pieces of @piece bytes. */
static void peer_send(int fd, uint32_t len, size_t piece)
{
	static uint8_t data[4 + LEN_MAX];
	const uint32_t be = htobe32(len);
	size_t i, n;

	memcpy(data, &be, sizeof(be));
	for (i = 0; i < len; i++)
		data[4 + i] = i * 5;
	data[4] = 0xfe;
	data[10] = 2;
	for (i = 0; i < 4 + len; i += n) {
		n = 4 + len - i < piece ? 4 + len - i : piece;
		n = send(fd, data + i, n, MSG_NOSIGNAL);
		if ((ssize_t)n < 0) {
			assert_int_equal(errno, EAGAIN);
			n = 0;
		}
		run_idle(loop);
	}
}

static bool is_closed(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static void test_frames_in_pieces(void **state)
{
	int fd = join();
	size_t i;

	peer_send(fd, 60, 1);
	assert_int_equal(frames, 1);
	assert_int_equal(last_len, 60);
	for (i = 11; i < 60; i++)
		assert_int_equal(last[i], (i * 5) & 0xff);
	peer_send(fd, 14, 1000);
	peer_send(fd, LEN_MAX, 30000);
	assert_int_equal(frames, 3);
	assert_int_equal(last_len, LEN_MAX);
	assert_int_equal(last[LEN_MAX - 1], ((LEN_MAX - 1) * 5) & 0xff);
	close(fd);
	run_idle(loop);
	assert_int_equal(uplink->stats.peers, 0);
}

static void test_many_frames_at_once(void **state)
{
	static uint8_t data[200 * 104];
	int fd = join();
	unsigned int i;

	for (i = 0; i < 200; i++) {
		data[i * 104 + 3] = 100;
		data[i * 104 + 10] = 2;
		data[i * 104 + 4] = 0xfe;
	}
	assert_int_equal(send(fd, data, sizeof(data), 0), sizeof(data));
	run_idle(loop);
	assert_int_equal(frames, 200);
	close(fd);
}

static void test_too_short(void **state)
{
	int fd = join();

	peer_send(fd, 0, 100);
	peer_send(fd, 13, 100);
	assert_int_equal(frames, 0);
	assert_int_equal(uplink->stats.rx_dropped, 2);
	peer_send(fd, 60, 100);
	assert_int_equal(frames, 1);
	close(fd);
}

static void test_too_long(void **state)
{
	static const uint32_t lengths[] = { LEN_MAX + 1, 0x7fffffff, UINT32_MAX };
	int good = join(), bad;
	unsigned int i;
	uint32_t be;

	for (i = 0; i < 3; i++) {
		bad = join();
		be = htobe32(lengths[i]);
		assert_int_equal(send(bad, &be, sizeof(be), 0), sizeof(be));
		run_idle(loop);
		assert_true(is_closed(bad));
		close(bad);
	}
	assert_int_equal(uplink->stats.peers, 1);
	peer_send(good, 60, 100);
	assert_int_equal(frames, 1);
	close(good);
}

/* Reads the frames that have arrived from send_here(); returns their number. */
static unsigned int peer_drain(int fd, uint32_t *next)
{
	static uint8_t data[8 << 20];
	size_t len = 0, done = 0;
	unsigned int n = 0;
	uint32_t be, number;
	ssize_t got;

	for (;;) {
		got = recv(fd, data + len, sizeof(data) - len, MSG_DONTWAIT);
		if (got <= 0) {
			run_idle(loop);
			got = recv(fd, data + len, sizeof(data) - len,
				   MSG_DONTWAIT);
		}
		if (got <= 0)
			break;
		len += got;
	}
	while (done < len) {
		memcpy(&be, data + done, sizeof(be));
		assert_int_equal(be32toh(be), 1500);
		memcpy(&number, data + done + 4 + 14, sizeof(number));
		assert_true(number >= *next);
		*next = number + 1;
		assert_int_equal(data[done + 4 + 1499], number & 0xff);
		done += 4 + 1500;
		n++;
	}
	assert_int_equal(done, len);
	return n;
}

/* A peer that does not read loses whole frames, and nothing else. */
static void test_back_pressure(void **state)
{
	int lazy = join(), good = join();
	uint32_t next_lazy = 0, next_good = 0, i;
	unsigned int got = 0, lost;

	for (i = 0; i < 4000; i++) {
		send_here(1500, i);
		if (i % 100 == 0)
			got += peer_drain(good, &next_good);
	}
	got += peer_drain(good, &next_good);
	assert_int_equal(got, 4000);
	lost = uplink->stats.tx_dropped;
	assert_in_range(lost, 1000, 3000);
	assert_int_equal(peer_drain(lazy, &next_lazy), 4000 - lost);
	/* The peer reads again; by now the ring has wrapped. */
	for (i = 4000; i < 8000; i++) {
		send_here(1500, i);
		if (i % 100 == 0)
			peer_drain(lazy, &next_lazy);
		if (i % 100 == 50)
			peer_drain(good, &next_good);
	}
	peer_drain(lazy, &next_lazy);
	assert_int_equal(uplink->stats.tx_dropped, lost);
	assert_int_equal(next_lazy, 8000);
	close(lazy);
	close(good);
}

/* The peer goes while frames are on their way to it. */
static void test_peer_goes(void **state)
{
	int fd = join();
	uint32_t i;

	for (i = 0; i < 500; i++)
		send_here(1500, i);
	close(fd);
	for (i = 0; i < 500; i++)
		send_here(1500, i);
	run_idle(loop);
	assert_int_equal(uplink->stats.peers, 0);
	send_here(1500, 0);
}

static void test_bounded_connections(void **state)
{
	unsigned int i;
	int fd[70];

	for (i = 0; i < 70; i++)
		fd[i] = join();
	assert_int_equal(uplink->stats.peers, 64);
	assert_true(is_closed(fd[64]));
	assert_false(is_closed(fd[63]));
	for (i = 0; i < 70; i++)
		close(fd[i]);
	run_idle(loop);
	assert_int_equal(uplink->stats.peers, 0);
}

/* Two uplinks find each other, in either order, and again after a loss. */
static void test_connect(void **state)
{
	struct l2_switch *other = switch_new(loop);
	const struct uplink_env env = { .loop = loop, .sw = other };
	const struct uplink_env first = { .loop = loop, .sw = sw };
	struct uplink *client;
	char connect[80];

	uplink_free(uplink);
	snprintf(connect, sizeof(connect), "connect:%s", path);
	client = uplink_open(&env, connect);
	assert_non_null(client);
	run_idle(loop);
	assert_int_equal(client->stats.peers, 0);
	uplink = uplink_open(&first, text);
	assert_true(run_until(loop, has_peer, client));
	run_idle(loop);
	assert_int_equal(client->stats.peers, 1);
	assert_int_equal(uplink->stats.peers, 1);

	uplink_free(uplink);
	run_idle(loop);
	assert_int_equal(client->stats.peers, 0);
	uplink = uplink_open(&first, text);
	assert_true(run_until(loop, has_peer, client));
	run_idle(loop);
	assert_int_equal(client->stats.peers, 1);
	uplink_free(client);
	run_idle(loop);
	assert_int_equal(uplink->stats.peers, 0);
	switch_free(other);
}

static void uplink_section(struct state *st, void *arg)
{
	const struct uplink_env env = { .loop = loop, .sw = sw };

	if (st->loading)
		uplink = uplink_load(&env, arg, st);
	else
		uplink_save(uplink, st);
}

static const struct state_section uplink_table[] = { { "uplink", 1, 0, uplink_section } };

/* The descriptors are copies, as another process gets them. */
static void hand_save(struct state *st, struct state_fds *fds)
{
	uint32_t i;

	*fds = (struct state_fds) {};
	state_write(st);
	st->fds = fds;
	assert_true(state_sections(st, uplink_table, 1, text));
	assert_true(state_written(st));
	for (i = 0; i < fds->n; i++)
		fds->fd[i] = fcntl(fds->fd[i], F_DUPFD_CLOEXEC, 0);
}

/* Ends the uplink; returns why another one does not go on with its state. */
static const char *hand_load(const struct state *out, struct state_fds *fds,
			     const char *as)
{
	static struct state in;

	uplink_free(uplink);
	assert_true(state_read(&in, out->data, out->at));
	in.fds = fds;
	state_sections(&in, uplink_table, 1, (void *)as);
	state_fds_close(fds);
	return in.why;
}

/* Half of a frame has come, and frames wait that the peer has not read. */
static void test_handed_over(void **state)
{
	const uint32_t be = htobe32(60);
	uint8_t data[4 + 60] = {};
	struct state_fds fds;
	int fd = join();
	uint32_t next = 0, i;
	struct state st;
	uint64_t lost;

	memcpy(data, &be, sizeof(be));
	memset(data + 4, 0xff, 6);
	data[63] = 77;
	assert_int_equal(send(fd, data, 21, 0), 21);
	for (i = 0; i < 2000; i++)
		send_here(1500, i);
	run_idle(loop);
	lost = uplink->stats.tx_dropped;
	assert_int_not_equal(lost, 0);
	hand_save(&st, &fds);
	assert_string_equal(hand_load(&st, &fds, text), "");
	state_free(&st);

	assert_int_equal(uplink->stats.tx_dropped, lost);
	assert_int_equal(uplink->stats.peers, 1);
	assert_int_equal(send(fd, data + 21, 43, 0), 43);
	run_idle(loop);
	assert_int_equal(frames, 1);
	assert_int_equal(last[59], 77);
	assert_int_equal(peer_drain(fd, &next), 2000 - lost);
	assert_true(uds_is_listening(uplink->fd));
	close(fd);
}

static void test_handed_over_refused(void **state)
{
	char connect[80];
	struct state_fds fds;
	struct state st;
	int fd = join();

	snprintf(connect, sizeof(connect), "connect:%s", path);
	hand_save(&st, &fds);
	assert_string_equal(hand_load(&st, &fds, connect),
			    "section uplink, descriptor: of another kind");
	assert_null(uplink);
	state_free(&st);
	close(fd);
}

static void test_handed_over_bad_peer(void **state)
{
	struct state_fds fds;
	struct state st;
	int fd = join();

	/* The peer's descriptor is the listening one. */
	hand_save(&st, &fds);
	close(fds.fd[1]);
	fds.fd[1] = fcntl(fds.fd[0], F_DUPFD_CLOEXEC, 0);
	assert_string_equal(hand_load(&st, &fds, text),
			    "section uplink, connection: not a connected socket");
	assert_null(uplink);
	state_free(&st);
	close(fd);
}

static void test_bad_texts(void **state)
{
	static const char *const bad[] = {
		"", "unix", "unix:", "connect:", "UNIX:/x", "tap:", "packet:",
		"unix:/nonexistent/x", "tap:a_name_that_is_too_long",
		"packet:nonexistent0",
	};
	const struct uplink_env env = { .loop = loop, .sw = sw };
	char too_long[200] = "connect:";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(uplink_open(&env, bad[i]));
	memset(too_long + 8, 'x', sizeof(too_long) - 9);
	assert_null(uplink_open(&env, too_long));
	assert_null(uplink_open(&env, text));	/* in use */
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_frames_in_pieces),
		TEST(test_many_frames_at_once),
		TEST(test_too_short),
		TEST(test_too_long),
		TEST(test_back_pressure),
		TEST(test_peer_goes),
		TEST(test_bounded_connections),
		TEST(test_connect),
		TEST(test_handed_over),
		TEST(test_handed_over_refused),
		TEST(test_handed_over_bad_peer),
		TEST(test_bad_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
