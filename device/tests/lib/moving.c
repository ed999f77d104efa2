// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/moving.h"
#include "virtio/dirty.h"

/* ------------------------------------------------------------------------- */
/* Daemons                                                                   */
/* ------------------------------------------------------------------------- */

uint64_t moving_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static pid_t spawn(const struct moving *m, unsigned int i, const char *mtu)
{
	char guests[2][320], uplink[96];
	char *argv[] = {
		(char *)"vhost-user-roce", (char *)"--socket", guests[0],
		(char *)"--socket", guests[1], (char *)"--uplink", uplink,
		(char *)"--control", (char *)m->control[i], (char *)"--qps", (char *)"8",
		(char *)"--cqs", (char *)"4", (char *)"--queue-size", (char *)"256",
		(char *)"--cqe", (char *)"256", (char *)"--event-queues", (char *)"1",
		(char *)"--doorbell-queues", (char *)"1", (char *)(mtu ? "--mtu" : NULL),
		(char *)mtu, NULL,
	};
	pid_t pid;

	assert_non_null(getenv("SANDBOXED"));
	snprintf(guests[0], sizeof(guests[0]), "%s,mac=52:54:00:00:ce:01,gid=10.0.0.1%s",
		 m->socket_of[i][0], i ? ",elsewhere" : "");
	snprintf(guests[1], sizeof(guests[1]), "%s,mac=52:54:00:00:ce:%02x,gid=10.0.0.%u",
		 m->socket_of[i][1], 2 + i, 2 + i);
	snprintf(uplink, sizeof(uplink), "%s:%s/uplink", i ? "connect" : "unix", m->dir);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	alarm(getenv("LAB_LONG") ? 1800 : 300);
	execv(getenv("SANDBOXED"), argv);
	_exit(127);
}

void moving_ask(const struct moving *m, unsigned int i, const char *command, char *text,
		size_t room)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = 0;
	ssize_t part;

	strcpy(addr.sun_path, m->control[i]);
	while (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		usleep(1000);
	assert_int_equal(write(sock, command, strlen(command)), strlen(command));
	shutdown(sock, SHUT_WR);
	while ((part = recv(sock, text + n, room - 1 - n, 0)) > 0)
		n += part;
	text[n] = 0;
	close(sock);
}

void moving_start(struct moving *m, const char *mtu)
{
	char uplink[64], text[512];
	unsigned int i;

	signal(SIGPIPE, SIG_IGN);
	strcpy(m->dir, "/tmp/move.XXXXXX");
	assert_non_null(mkdtemp(m->dir));
	snprintf(uplink, sizeof(uplink), "%s/uplink", m->dir);
	for (i = 0; i < 2; i++) {
		snprintf(m->socket_of[i][0], sizeof(m->socket_of[i][0]), "%s/%u-mover", m->dir, i);
		snprintf(m->socket_of[i][1], sizeof(m->socket_of[i][1]), "%s/%u-peer", m->dir, i);
		snprintf(m->control[i], sizeof(m->control[i]), "%s/%u-control", m->dir, i);
		m->daemons[i] = spawn(m, i, i ? mtu : NULL);
		/* The second one connects to the first one. */
		while (access(uplink, F_OK))
			usleep(1000);
	}
	do
		moving_ask(m, 1, "ports\n", text, sizeof(text));
	while (!strstr(text, "1 peers"));
	m->here = 0;
}

void moving_stop(struct moving *m)
{
	unsigned int i;
	int status;

	for (i = 0; i < 2; i++) {
		kill(m->daemons[i], SIGTERM);
		assert_int_equal(waitpid(m->daemons[i], &status, 0), m->daemons[i]);
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	assert_int_equal(rmdir(m->dir), 0);
}

/* ------------------------------------------------------------------------- */
/* Memory                                                                    */
/* ------------------------------------------------------------------------- */

static void *map_file(int *fd, size_t size)
{
	void *map;

	*fd = memfd_create("copy", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(ftruncate(*fd, size), 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	return map;
}

void moving_copy_begin(struct moving_copy *copy, struct front *front)
{
	copy->host = map_file(&copy->fd, front->guest.size);
	copy->log_size = (GUEST_BASE + front->guest.size) / DIRTY_PAGE_SIZE / 8;
	copy->bits = map_file(&copy->log, copy->log_size);
	copy->pages = 0;
	front_log(front, copy->log, copy->log_size);
	memcpy(copy->host, front->guest.host, front->guest.size);
}

static void copy_page(struct moving_copy *copy, const struct front *front, uint64_t page)
{
	const uint64_t off = page * DIRTY_PAGE_SIZE - GUEST_BASE;

	assert_in_range(off, 0, front->guest.size - 1);
	memcpy(copy->host + off, front->guest.host + off, DIRTY_PAGE_SIZE);
	copy->pages++;
}

void moving_copy_sync(struct moving_copy *copy, const struct front *front)
{
	unsigned int bit;
	uint8_t bits;
	size_t i;

	for (i = 0; i < copy->log_size; i++) {
		if (!copy->bits[i])
			continue;
		bits = __atomic_exchange_n(&copy->bits[i], 0, __ATOMIC_SEQ_CST);
		for (bit = 0; bit < 8; bit++)
			if (bits >> bit & 1)
				copy_page(copy, front, i * 8 + bit);
	}
}

void moving_copy_check(const struct moving_copy *copy, const struct front *front)
{
	size_t off;

	for (off = 0; off < front->guest.size; off += DIRTY_PAGE_SIZE)
		if (memcmp(copy->host + off, front->guest.host + off, DIRTY_PAGE_SIZE))
			fail_msg("page %#zx differs, and is not in the log", off);
}

void moving_copy_use(struct moving_copy *copy, struct front *front)
{
	struct guest *to = &front->guest;

	assert_ptr_equal(mmap(to->host, to->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      copy->fd, 0), to->host);
	close(to->fd);
	to->fd = copy->fd;
}

void moving_copy_end(struct moving_copy *copy, const struct front *front)
{
	munmap(copy->host, front->guest.size);
	munmap(copy->bits, copy->log_size);
	close(copy->log);
}
