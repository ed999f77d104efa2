// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/chore.h"
#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "ether/pcap.h"
#include "ether/switch.h"
#include "ports_image.h"
#include "tests/lib/handed.h"
#include "tests/lib/idle.h"
#include "tests/lib/need.h"
#include "tests/lib/pipe_mem.h"
#include "tests/lib/vu_wire.h"
#include "uapi/virtio_net_roce.h"
#include "vhost_user/vhost_user_msg.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_NET_F_CTRL_VQ) | \
			 BIT(VIRTIO_NET_F_ROCE))

#define MEM		(256u << 10)
#define NUM		64u
#define QUEUES		3u

/* The guest's address of its memory, and QEMU's. */
#define GUEST_BASE	0x40000000ULL
#define USER_BASE	0x7f0000000000ULL

/* Bytes of a part: less than most sections have. */
#define PART		64u

/* Rings of a queue. */
#define RINGS		4096u

struct handed handed;

/* ------------------------------------------------------------------------- */
/* The process that is saved                                                 */
/* ------------------------------------------------------------------------- */

static void options_of_all(void)
{
	static char *argv[] = {
		(char *)"", (char *)"--control", (char *)"control",
		(char *)"--pcap", (char *)"/dev/null",
		(char *)"--qps", (char *)"2", (char *)"--cqs", (char *)"2",
		(char *)"--queue-size", (char *)"64", (char *)"--cqe", (char *)"64",
		(char *)"--mrs", (char *)"4", (char *)"--pds", (char *)"4",
		(char *)"--ahs", (char *)"4", (char *)"--direct-qps", (char *)"4",
		(char *)"--direct-cqs", (char *)"4", (char *)"--event-queues", (char *)"1",
		(char *)"--doorbell-queues", (char *)"1",
		(char *)"--socket", (char *)"a", (char *)"--pcap", (char *)"/dev/null",
		(char *)"--socket", (char *)"b,mac=52:54:00:00:dd:02,gid=192.0.2.2",
		(char *)"--uplink", (char *)"unix:near", (char *)"--uplink",
		(char *)"connect:far",
	};

	need(!options_parse(&handed.options, ARRAY_SIZE(argv), argv));
}

static void run(void)
{
	run_idle(handed.ports.loop);
}

/* A message of QEMU's that wants no answer. */
static void qemu_says(int sock, uint32_t request, const void *payload, uint32_t len, int fd)
{
	struct {
		struct vu_header hdr;
		uint8_t payload[256];
	} __attribute__((packed)) msg = {
		.hdr = { .request = request, .flags = VU_FLAGS_VERSION, .size = len },
	};

	memcpy(msg.payload, payload, len);
	need(vu_wire_send(sock, &msg, sizeof(msg.hdr) + len, &fd, fd >= 0, 0));
	run();
	if (fd >= 0 && fd != handed.memory)
		close(fd);
}

static void qemu_says_u64(int sock, uint32_t request, uint64_t value, int fd)
{
	qemu_says(sock, request, &value, sizeof(value), fd);
}

static void qemu_says_state(int sock, uint32_t request, uint32_t index, uint32_t num)
{
	const struct vu_vring_state state = { .index = index, .num = num };

	qemu_says(sock, request, &state, sizeof(state), -1);
}

static int event_new(void)
{
	return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static void qemu_queue(int sock, uint32_t index)
{
	const uint64_t rings = USER_BASE + (uint64_t)index * RINGS;
	const struct vu_vring_addr addr = {
		.index = index,
		.desc = rings,
		.avail = rings + NUM * 16,
		.used = rings + RINGS / 2,
	};

	qemu_says_state(sock, VU_SET_VRING_NUM, index, NUM);
	qemu_says_state(sock, VU_SET_VRING_BASE, index, 0);
	qemu_says(sock, VU_SET_VRING_ADDR, &addr, sizeof(addr), -1);
	qemu_says_u64(sock, VU_SET_VRING_KICK, index, event_new());
	qemu_says_u64(sock, VU_SET_VRING_CALL, index, event_new());
	qemu_says_state(sock, VU_SET_VRING_ENABLE, index, 1);
}

/* A guest that runs, and half of a message; returns QEMU's end of its connection. */
static int guest_connect(void)
{
	const struct vu_header half = {
		.request = VU_SET_VRING_CALL, .flags = VU_FLAGS_VERSION, .size = 8,
	};
	const struct vu_memory memory = {
		.n = 1,
		.region[0] = {
			.guest_addr = GUEST_BASE,
			.size = MEM,
			.user_addr = USER_BASE,
		},
	};
	const int sock = uds_connect("a"), call = event_new();
	uint32_t i;

	need(sock >= 0);
	run();
	qemu_says_u64(sock, VU_SET_PROTOCOL_FEATURES, VU_PROTOCOL_F_MQ |
		      VU_PROTOCOL_F_REPLY_ACK, -1);
	qemu_says_u64(sock, VU_SET_FEATURES, FEATURES | VU_F_PROTOCOL_FEATURES, -1);
	qemu_says(sock, VU_SET_MEM_TABLE, &memory, offsetof(struct vu_memory, region[1]),
		  handed.memory);
	for (i = 0; i < QUEUES; i++)
		qemu_queue(sock, i);
	need(vu_wire_send(sock, &half, sizeof(half), &call, 1, 0));
	run();
	close(call);
	return sock;
}

/* A peer that has sent the length of a frame; returns its end. */
static int peer_connect(void)
{
	const uint8_t length[] = { 0, 0, 0, 60 };
	const int sock = uds_connect("near");

	need(sock >= 0);
	run();
	need(send(sock, length, sizeof(length), 0) == sizeof(length));
	run();
	return sock;
}

static void guest_add(void)
{
	const struct operator *op = &handed.ports.op;
	char text[128];
	int fd;

	snprintf(text, sizeof(text), "%s/c", handed.dir);
	fd = uds_listen(text, 1);
	need(fd >= 0);
	strcat(text, ",mac=52:54:00:00:dd:03,gid=192.0.2.3,gid=fd00::3");
	need(!op->changes->guest_add(op->arg, text, fd));
}

/* ------------------------------------------------------------------------- */
/* State and descriptors                                                     */
/* ------------------------------------------------------------------------- */

static uint8_t *file_read(int file, size_t *size)
{
	struct stat st;
	uint8_t *data;

	need(!fstat(file, &st));
	data = malloc(st.st_size);
	need(data && pread(file, data, st.st_size, 0) == st.st_size);
	close(file);
	*size = st.st_size;
	return data;
}

static void keep_fds(const struct state_fds *fds)
{
	uint32_t i;

	need(fds->n <= HANDED_FDS);
	handed.fds = fds->n;
	for (i = 0; i < fds->n; i++)
		handed.fd[i] = uds_is_connected(fds->fd[i]) ? -1 :
			       fcntl(fds->fd[i], F_DUPFD_CLOEXEC, 0);
}

static void peers_close(void)
{
	while (handed.peers)
		close(handed.peer[--handed.peers]);
}

/* As another process gets them. */
static void copy_fds(struct state_fds *fds)
{
	unsigned int i;
	int pair[2];

	for (i = 0; i < handed.fds; i++) {
		if (handed.fd[i] >= 0) {
			pair[0] = fcntl(handed.fd[i], F_DUPFD_CLOEXEC, 0);
		} else {
			need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
					 pair));
			handed.peer[handed.peers++] = pair[1];
		}
		need(pair[0] >= 0 && state_fds_add(fds, pair[0]));
	}
}

static struct handover nothing(void)
{
	return (struct handover) {
		.ports = &handed.ports,
		.control = handed.options.control,
		.control_fd = -1,
		.pcap_fd = -1,
	};
}

static void take_whole(struct handover *all)
{
	struct state_fds fds = {};
	const int file = handover_save(all, &fds, true);

	need(file >= 0);
	handed.data = file_read(file, &handed.size);
	handed.process = state_extent(handed.data, handed.size);
	keep_fds(&fds);
	state_fds_free(&fds);
}

static void take_piped(struct handover *all)
{
	struct state_fds fds = {};
	const int file = handover_save(all, &fds, false);
	struct pipe_mem mem;
	uint8_t *data;
	size_t size;

	need(file >= 0);
	data = file_read(file, &size);
	need(size == handed.process);
	pipe_mem_init(&mem, PART);
	need(!ports_send_functions(all->ports, &mem.pipe));
	handed.piped_size = size + mem.size;
	handed.piped = realloc(data, handed.piped_size);
	need(handed.piped);
	memcpy(handed.piped + size, mem.data, mem.size);
	pipe_mem_free(&mem);
	state_fds_free(&fds);
}

static void take_state(int control, int pcap)
{
	struct handover all = nothing();

	all.control_fd = control;
	all.pcap_fd = pcap;
	take_whole(&all);
	take_piped(&all);
}

void handed_begin(void)
{
	struct ports *ports = &handed.ports;
	int far, guest, peer, control, pcap;

	strcpy(handed.dir, "/tmp/handed.XXXXXX");
	need(mkdtemp(handed.dir) && !chdir(handed.dir));
	options_of_all();
	handed.memory = memfd_create("guest", MFD_CLOEXEC);
	need(handed.memory >= 0 && !ftruncate(handed.memory, MEM));
	far = uds_listen("far", 1);
	control = uds_listen("control", 1);
	pcap = open("/dev/null", O_RDWR | O_CLOEXEC);
	need(far >= 0 && control >= 0 && pcap >= 0);
	ports->loop = loop_new(0);
	ports->sw = switch_new(ports->loop);
	ports->fabric = fabric_new();
	ports->options = &handed.options;
	need(!ports_start(ports));
	guest_add();
	guest = guest_connect();
	peer = peer_connect();
	take_state(control, pcap);
	close(guest);
	close(peer);
	close(control);
	close(pcap);
	ports_stop(ports);
	close(far);
	unlink("far");
	unlink("control");
}

void handed_end(void)
{
	unsigned int i;

	for (i = 0; i < handed.fds; i++)
		if (handed.fd[i] >= 0)
			close(handed.fd[i]);
	free(handed.data);
	free(handed.piped);
	close(handed.memory);
	fabric_free(handed.ports.fabric);
	switch_free(handed.ports.sw);
	loop_free(handed.ports.loop);
	need(!rmdir(handed.dir));
}

/* ------------------------------------------------------------------------- */
/* The process that takes over                                               */
/* ------------------------------------------------------------------------- */

static int load(const uint8_t *data, size_t size, bool lenient, const struct state_pipe *pipe)
{
	const int file = memfd_create("state", MFD_CLOEXEC);
	struct state_fds fds = {};
	int err;

	need(file >= 0 && write(file, data, size) == (ssize_t)size);
	ports_init(&handed.ports);
	handed.all = nothing();
	handed.all.lenient = lenient;
	copy_fds(&fds);
	err = handover_load(&handed.all, file, &fds, pipe);
	state_fds_close(&fds);
	close(file);
	return err;
}

int handed_load(const uint8_t *data, size_t size, bool lenient)
{
	return load(data, size, lenient, NULL);
}

int handed_load_piped(const uint8_t *data, size_t size)
{
	const size_t n = size < handed.process ? size : handed.process;
	struct pipe_mem mem;

	pipe_mem_init(&mem, PART);
	mem.data = (uint8_t *)data + n;
	mem.size = size - n;
	return load(data, n, false, &mem.pipe);
}

void handed_go_on(void)
{
	handover_go_on(&handed.all);
	run();
}

uint8_t *handed_save(size_t *size)
{
	struct state_fds fds = {};
	const int file = handover_save(&handed.all, &fds, true);

	state_fds_free(&fds);
	need(file >= 0);
	return file_read(file, size);
}

void handed_stop(void)
{
	run();
	ports_stop(&handed.ports);
	if (handed.all.control_fd >= 0)
		close(handed.all.control_fd);
	if (handed.all.pcap_fd >= 0)
		close(handed.all.pcap_fd);
	peers_close();
	run();
	/* Its objects are freed bit by bit. */
	chores_finish(loop_chores(handed.ports.loop));
}
