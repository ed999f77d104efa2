// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames over a unix stream socket, as QEMU's "-netdev stream" sends them.
 *
 * Theory of operation
 *
 * Before each frame stands its length, 32 bits in network order.  An uplink of
 * this kind either listens or connects.  If it listens, each connection that it
 * accepts is a port of the switch.  If it connects, it connects again some time
 * after the connection has ended.
 *
 * Bytes are read into a buffer.  Frames that are complete are sent to the switch
 * from there, and what is left is moved to the beginning of the buffer.  A peer
 * that announces a frame longer than the longest one is disconnected, because
 * where its next frame begins is not known.
 *
 * The frames that the switch delivers are copied into a ring, and written once per burst.
 * EPOLLOUT is asked for only while the socket takes no more.  A frame that does
 * not fit into the ring is dropped: a peer that does not read hurts nobody else.
 *
 * A connection is ended by its own event only, because the callbacks of a port
 * must not remove the port.  When they meet an error they shut the socket down,
 * which causes an event.
 */

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "uplink/uplink.h"
#include "virtio/mem.h"

#define STREAM_PEERS_MAX	64
#define STREAM_PEER_SIZE	12u	/* of a state */
#define STREAM_RETRY_NS		(500 * 1000000ULL)

/* QEMU sends no longer ones. */
#define STREAM_FRAME_MAX	(4096 + 65536)
#define STREAM_RX_SIZE		(256u << 10)
#define STREAM_TX_SIZE		(2u << 20)

/* Reads of one event, before others get their turn. */
#define STREAM_READS		4

struct stream;

/**
 * struct stream_peer - a connection
 * @stream:	uplink that it belongs to
 * @entry:	of the uplink
 * @lfd:	socket
 * @port:	port of the switch
 * @blocked:	the socket takes no more, EPOLLOUT is asked for
 * @rx_len:	bytes in @rx
 * @tx_head:	first byte of @tx that is to be written
 * @tx_len:	bytes to be written; they may go round the end of @tx
 * @rx:		what was read and is not a complete frame yet
 * @tx:		what is to be written
 */
struct stream_peer {
	struct stream *stream;
	LIST_ENTRY(stream_peer) entry;
	struct loop_fd lfd;
	struct switch_port port;
	bool blocked;
	size_t rx_len;
	size_t tx_head;
	size_t tx_len;
	uint8_t rx[STREAM_RX_SIZE];
	uint8_t tx[STREAM_TX_SIZE];
};

/**
 * struct stream - an uplink over a unix socket
 * @uplink:	what all kinds have
 * @listener:	listening socket, or fd -1
 * @retry:	connects again, if we are to connect
 * @failing:	that did not work, and was reported
 * @once:	the connection was made by others, and cannot be made again
 * @limit:	of messages
 * @peers:	connections
 * @path:	name of the socket
 */
struct stream {
	struct uplink uplink;
	struct loop_fd listener;
	struct loop_timer retry;
	bool failing;
	bool once;
	struct log_limit limit;
	LIST_HEAD(, stream_peer) peers;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* ------------------------------------------------------------------------- */
/* Towards the peer                                                          */
/* ------------------------------------------------------------------------- */

/* Pieces of the ring from @off bytes behind its first one on, @len bytes. */
static unsigned int peer_tx_iov(struct stream_peer *peer, size_t off,
				size_t len, struct iovec iov[2])
{
	size_t first = (peer->tx_head + off) % STREAM_TX_SIZE;
	size_t n = STREAM_TX_SIZE - first;

	iov[0] = (struct iovec){ &peer->tx[first], len < n ? len : n };
	iov[1] = (struct iovec){ peer->tx, len < n ? 0 : len - n };
	return iov[1].iov_len ? 2 : 1;
}

static void peer_deliver(void *arg, const struct frame *frame)
{
	struct stream_peer *peer = arg;
	const uint32_t len = htobe32(frame->len);
	const size_t total = sizeof(len) + frame->len;
	struct iovec iov[2];
	unsigned int n;

	if (frame->len > STREAM_FRAME_MAX ||
	    total > STREAM_TX_SIZE - peer->tx_len) {
		peer->stream->uplink.stats.tx_dropped++;
		return;
	}
	n = peer_tx_iov(peer, peer->tx_len, total, iov);
	iov_from_buf(iov, n, 0, &len, sizeof(len));
	iov_copy(iov, n, sizeof(len), frame->iov, frame->iov_n, frame->off,
		 frame->len);
	peer->tx_len += total;
}

/* Asks for EPOLLOUT where that is needed, and only there. */
static void peer_set_blocked(struct stream_peer *peer, bool blocked)
{
	if (peer->blocked == blocked)
		return;
	peer->blocked = blocked;
	loop_fd_set(peer->stream->uplink.env.loop, &peer->lfd,
		    EPOLLIN | (blocked ? EPOLLOUT : 0));
}

static void peer_flush(void *arg)
{
	struct stream_peer *peer = arg;
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	while (peer->tx_len) {
		msg.msg_iovlen = peer_tx_iov(peer, 0, peer->tx_len, iov);
		n = sendmsg(peer->lfd.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			peer_set_blocked(peer, true);
			return;
		}
		if (n < 0) {
			peer->tx_len = 0;
			shutdown(peer->lfd.fd, SHUT_RDWR);
			break;
		}
		peer->tx_head = (peer->tx_head + n) % STREAM_TX_SIZE;
		peer->tx_len -= n;
	}
	peer_set_blocked(peer, false);
}

/* ------------------------------------------------------------------------- */
/* From the peer                                                             */
/* ------------------------------------------------------------------------- */

static void peer_frame(struct stream_peer *peer, uint8_t *data, size_t len)
{
	const struct iovec iov = { .iov_base = data, .iov_len = len };
	struct uplink *uplink = &peer->stream->uplink;
	struct frame frame;

	if (frame_init(&frame, &iov, 1, 0, len))
		uplink->stats.rx_dropped++;
	else
		switch_send(&peer->port, &frame);
}

/* Forwards complete frames; -EPROTO if it cannot be told where they begin. */
static int peer_frames(struct stream_peer *peer)
{
	size_t done = 0;
	uint32_t len;

	while (peer->rx_len - done >= sizeof(len)) {
		memcpy(&len, &peer->rx[done], sizeof(len));
		len = be32toh(len);
		if (len > STREAM_FRAME_MAX)
			return -EPROTO;
		if (peer->rx_len - done - sizeof(len) < len)
			break;
		peer_frame(peer, &peer->rx[done + sizeof(len)], len);
		done += sizeof(len) + len;
	}
	peer->rx_len -= done;
	memmove(peer->rx, &peer->rx[done], peer->rx_len);
	return 0;
}

/* There is always room, because an incomplete frame is shorter than the buffer. */
static int peer_read(struct stream_peer *peer)
{
	unsigned int i;
	size_t room;
	ssize_t n;
	int err;

	for (i = 0; i < STREAM_READS; i++) {
		room = STREAM_RX_SIZE - peer->rx_len;
		n = recv(peer->lfd.fd, &peer->rx[peer->rx_len], room,
			 MSG_DONTWAIT);
		if (!n)
			return -ECONNRESET;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		peer->rx_len += n;
		err = peer_frames(peer);
		if (err)
			return err;
		if ((size_t)n < room)
			break;
	}
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Connections                                                               */
/* ------------------------------------------------------------------------- */

static void peer_free(struct stream_peer *peer)
{
	struct uplink *uplink = &peer->stream->uplink;

	switch_port_del(uplink->env.sw, &peer->port);
	loop_fd_del(uplink->env.loop, &peer->lfd);
	close(peer->lfd.fd);
	LIST_REMOVE(peer, entry);
	uplink->stats.peers--;
	free(peer);
}

static void peer_event(void *arg, uint32_t events)
{
	struct stream_peer *peer = arg;
	struct stream *stream = peer->stream;
	int err = 0;

	if (events & EPOLLOUT)
		peer_flush(peer);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		err = peer_read(peer);
	switch_flush(stream->uplink.env.sw);
	if (!err)
		return;
	if (log_limit_ok(&stream->limit))
		log_info("%s: peer disconnected: %s", stream->path,
			 err == -ECONNRESET ? "closed" : strerror(-err));
	peer_free(peer);
	if (stream->listener.fd < 0 && !stream->once)
		loop_timer_set(stream->uplink.env.loop, &stream->retry,
			       STREAM_RETRY_NS);
}

/* Takes a connected socket over; closes it on failure. */
static int peer_new(struct stream *stream, int fd)
{
	struct uplink *uplink = &stream->uplink;
	struct stream_peer *peer = NULL;
	int err = -EUSERS;

	if (uplink->stats.peers >= STREAM_PEERS_MAX)
		goto err_close;
	err = -ENOMEM;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		goto err_close;
	peer->stream = stream;
	peer->lfd = (struct loop_fd){ .fd = fd, .fn = peer_event, .arg = peer };
	err = loop_fd_add(uplink->env.loop, &peer->lfd, EPOLLIN);
	if (err)
		goto err_free;

	peer->port.deliver = peer_deliver;
	peer->port.flush = peer_flush;
	peer->port.arg = peer;
	peer->port.network = true;
	peer->port.group = uplink->env.group;
	switch_port_add(uplink->env.sw, &peer->port);
	LIST_INSERT_HEAD(&stream->peers, peer, entry);
	uplink->stats.peers++;
	if (log_limit_ok(&stream->limit))
		log_info("%s: peer connected", stream->path);
	return 0;

err_free:
	free(peer);
err_close:
	close(fd);
	if (log_limit_ok(&stream->limit))
		log_warn("%s: peer refused: %s", stream->path, strerror(-err));
	return err;
}

static void stream_accept(void *arg, uint32_t events __always_unused)
{
	struct stream *stream = arg;
	int fd = uds_accept(stream->uplink.env.loop, &stream->listener);

	if (fd >= 0)
		peer_new(stream, fd);
}

/* Tries to connect; if that fails, again after a while. */
static void stream_connect(void *arg)
{
	struct stream *stream = arg;
	int fd = uds_connect(stream->path);

	if (fd < 0 && !stream->failing)
		log_info("%s: %s; trying again until it works", stream->path,
			 strerror(-fd));
	stream->failing = fd < 0;
	if (fd >= 0 && !peer_new(stream, fd))
		return;
	loop_timer_set(stream->uplink.env.loop, &stream->retry,
		       STREAM_RETRY_NS);
}

static struct stream *stream_new(const struct uplink_env *env, const char *path)
{
	struct stream *stream;

	if (!*path || strlen(path) >= sizeof(stream->path)) {
		log_error("--uplink: \"%s\" is not a name of a unix socket", path);
		errno = EINVAL;
		return NULL;
	}
	stream = calloc(1, sizeof(*stream));
	if (!stream) {
		log_error("--uplink: %s: %s", path, strerror(errno));
		return NULL;
	}
	stream->uplink.env = *env;
	stream->listener.fd = -1;
	stream->retry.fn = stream_connect;
	stream->retry.arg = stream;
	LIST_INIT(&stream->peers);
	strcpy(stream->path, path);
	return stream;
}

static struct uplink *stream_open_listen(const struct uplink_env *env,
					 const char *path, int fd)
{
	struct stream *stream = stream_new(env, path);
	int err = errno;

	if (!stream)
		goto err_unlink;
	stream->listener.fn = stream_accept;
	stream->listener.arg = stream;
	stream->listener.fd = fd;
	err = -loop_fd_add(env->loop, &stream->listener, EPOLLIN);
	if (!err)
		return &stream->uplink;
	log_error("--uplink: %s: %s", path, strerror(err));
	free(stream);
err_unlink:
	uds_unlink(path);
	close(fd);
	errno = err;
	return NULL;
}

/* Without a connection it connects itself, and again after each one. */
static struct uplink *stream_open_connect(const struct uplink_env *env,
					  const char *path, int fd)
{
	struct stream *stream = stream_new(env, path);
	int err = errno;

	if (!stream)
		goto err_close;
	if (fd < 0) {
		stream_connect(stream);
		return &stream->uplink;
	}
	stream->once = true;
	err = -peer_new(stream, fd);
	if (!err)
		return &stream->uplink;
	log_error("--uplink: %s: %s", path, strerror(err));
	free(stream);
	fd = -1;
err_close:
	if (fd >= 0)
		close(fd);
	errno = err;
	return NULL;
}

static void stream_free(struct uplink *uplink)
{
	struct stream *stream = (struct stream *)uplink;

	while (!LIST_EMPTY(&stream->peers))
		peer_free(LIST_FIRST(&stream->peers));
	loop_timer_cancel(uplink->env.loop, &stream->retry);
	if (stream->listener.fd >= 0) {
		loop_fd_del(uplink->env.loop, &stream->listener);
		close(stream->listener.fd);
		uds_unlink(stream->path);
	}
	free(stream);
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

static void peer_save(struct stream_peer *peer, struct state *st)
{
	uint32_t rx = peer->rx_len, tx = peer->tx_len;
	struct iovec iov[2];
	unsigned int i, n;

	state_fd(st, "connection", &peer->lfd.fd);
	state_u32(st, "received", &rx, UINT32_MAX);
	state_bytes(st, "received", peer->rx, rx);
	state_u32(st, "unsent", &tx, UINT32_MAX);
	n = peer_tx_iov(peer, 0, tx, iov);
	for (i = 0; i < n; i++)
		state_bytes(st, "unsent", iov[i].iov_base, iov[i].iov_len);
}

static void stream_save(struct uplink *uplink, struct state *st)
{
	struct stream *stream = (struct stream *)uplink;
	uint32_t peers = uplink->stats.peers;
	struct stream_peer *peer;

	state_bool(st, "once", &stream->once);
	state_u32(st, "peers", &peers, STREAM_PEERS_MAX);
	LIST_FOREACH(peer, &stream->peers, entry)
		peer_save(peer, st);
}

/* The bytes that a peer has sent are less than a frame. */
static void peer_load(struct stream *stream, struct state *st)
{
	struct stream_peer *peer;
	uint32_t n = 0;
	int fd;

	state_fd_need(st, "connection", &fd);
	state_need(st, fd >= 0 && uds_is_connected(fd), "connection", "not a connected socket");
	if (st->failed) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (peer_new(stream, fd)) {
		state_refuse(st, "connection", "refused");
		return;
	}
	peer = LIST_FIRST(&stream->peers);
	state_count(st, "received", &n, sizeof(uint32_t) + STREAM_FRAME_MAX - 1, 1);
	state_bytes(st, "received", peer->rx, n);
	peer->rx_len = n;
	state_count(st, "unsent", &n, STREAM_TX_SIZE, 1);
	state_bytes(st, "unsent", peer->tx, n);
	peer->tx_len = n;
	peer_set_blocked(peer, n);
}

static void stream_load_peers(struct stream *stream, struct state *st)
{
	const bool listens = stream->listener.fd >= 0;
	uint32_t i, peers = 0;

	state_bool(st, "once", &stream->once);
	state_count(st, "peers", &peers, listens ? STREAM_PEERS_MAX : 1, STREAM_PEER_SIZE);
	for (i = 0; i < peers && !st->failed; i++)
		peer_load(stream, st);
	if (!listens && !peers && !stream->once)
		loop_timer_set(stream->uplink.env.loop, &stream->retry, STREAM_RETRY_NS);
}

/* If it fails the name of the socket stays, because another process listens there. */
static struct uplink *stream_load(const struct uplink_env *env, const char *path, int fd,
				  struct state *st)
{
	struct stream *stream = stream_new(env, path);

	if (!stream)
		goto err_close;
	stream->listener.fn = stream_accept;
	stream->listener.arg = stream;
	stream->listener.fd = fd;
	if (fd >= 0 && loop_fd_add(env->loop, &stream->listener, EPOLLIN)) {
		free(stream);
		goto err_close;
	}
	stream_load_peers(stream, st);
	if (!st->failed)
		return &stream->uplink;
	*stream->path = 0;
	stream_free(&stream->uplink);
	return NULL;

err_close:
	if (fd >= 0)
		close(fd);
	return NULL;
}

const struct uplink_ops uplink_listen_ops = {
	.scheme = "unix",
	.needs = UPLINK_SOCKET,
	.open = stream_open_listen,
	.free = stream_free,
	.save = stream_save,
	.load = stream_load,
};

const struct uplink_ops uplink_connect_ops = {
	.scheme = "connect",
	.needs = UPLINK_SOCKET | UPLINK_CONNECTS,
	.open = stream_open_connect,
	.free = stream_free,
	.save = stream_save,
	.load = stream_load,
};
