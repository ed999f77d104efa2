// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * xsk INTERFACE: an AF_XDP socket on queue 0 of an interface.
 *
 * Frames of the first ethertype for local experiments are sent back to where they came
 * from.  Beside that it sends frames of the second one to everybody, and wakes the driver
 * up, without an end.  On SIGTERM it ends.
 *
 * First it says in which mode the socket is bound.  Then it prints how many frames have
 * come, and how many it has sent, when the first number has changed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "xdp.h"

#define ECHOED		0x88b5	/* ETH_P_802_EX1 */
#define BEACON		0x88b6

#define FRAMES		128
#define FRAME_SIZE	2048
#define RING_SIZE	128	/* of each ring */
#define BEACON_SIZE	60
/* Half of the frames are for what comes, the others for beacons. */
#define RX_FRAMES	(FRAMES / 2)

/* A ring that is shared with the kernel.  @at is our own end of it. */
struct ring {
	uint32_t *producer;
	uint32_t *consumer;
	void *entries;
	uint32_t at;
};

struct socket {
	int fd;
	uint8_t *memory;
	struct ring fill;
	struct ring completion;
	struct ring rx;
	struct ring tx;
	/* Frames for beacons that the kernel does not have. */
	uint64_t free[FRAMES];
	unsigned int nfree;
	unsigned long received;
	unsigned long sent;
};

/* ----- rings ----- */

static void set(int fd, int option, const void *value, socklen_t len)
{
	if (setsockopt(fd, SOL_XDP, option, value, len))
		fail("setsockopt");
}

static struct ring map_ring(int fd, const struct xdp_ring_offset *off,
			    size_t entry, uint64_t where)
{
	struct ring ring = {};
	uint8_t *p = mmap(NULL, off->desc + RING_SIZE * entry,
			  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			  where);

	if (p == MAP_FAILED)
		fail("mmap");
	ring.producer = (void *)(p + off->producer);
	ring.consumer = (void *)(p + off->consumer);
	ring.entries = p + off->desc;
	return ring;
}

/* Entries that can be taken from a ring which the kernel fills. */
static uint32_t there(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - ring->at;
}

static void taken(struct ring *ring)
{
	__atomic_store_n(ring->consumer, ++ring->at, __ATOMIC_RELEASE);
}

static void put(struct ring *ring)
{
	__atomic_store_n(ring->producer, ++ring->at, __ATOMIC_RELEASE);
}

/* There are no more frames than entries, so none of these rings is ever full. */
static void put_fill(struct socket *s, uint64_t frame)
{
	((uint64_t *)s->fill.entries)[s->fill.at % RING_SIZE] = frame;
	put(&s->fill);
}

static void put_tx(struct socket *s, uint64_t frame, uint32_t len)
{
	((struct xdp_desc *)s->tx.entries)[s->tx.at % RING_SIZE] =
		(struct xdp_desc){ .addr = frame, .len = len };
	put(&s->tx);
	s->sent++;
}

/* ----- set-up ----- */

static void open_rings(struct socket *s)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	uint32_t size = RING_SIZE;
	struct xdp_umem_reg umem = {
		.len = FRAMES * FRAME_SIZE,
		.chunk_size = FRAME_SIZE,
	};

	s->memory = mmap(NULL, umem.len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (s->memory == MAP_FAILED)
		fail("mmap");
	umem.addr = (uintptr_t)s->memory;
	set(s->fd, XDP_UMEM_REG, &umem, sizeof(umem));
	set(s->fd, XDP_UMEM_FILL_RING, &size, sizeof(size));
	set(s->fd, XDP_UMEM_COMPLETION_RING, &size, sizeof(size));
	set(s->fd, XDP_RX_RING, &size, sizeof(size));
	set(s->fd, XDP_TX_RING, &size, sizeof(size));
	if (getsockopt(s->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		fail("XDP_MMAP_OFFSETS");
	s->fill = map_ring(s->fd, &off.fr, sizeof(uint64_t),
			   XDP_UMEM_PGOFF_FILL_RING);
	s->completion = map_ring(s->fd, &off.cr, sizeof(uint64_t),
				 XDP_UMEM_PGOFF_COMPLETION_RING);
	s->rx = map_ring(s->fd, &off.rx, sizeof(struct xdp_desc),
			 XDP_PGOFF_RX_RING);
	s->tx = map_ring(s->fd, &off.tx, sizeof(struct xdp_desc),
			 XDP_PGOFF_TX_RING);
}

static void fill_rings(struct socket *s)
{
	unsigned int i;

	for (i = 0; i < RX_FRAMES; i++)
		put_fill(s, i * FRAME_SIZE);
	for (; i < FRAMES; i++)
		s->free[s->nfree++] = i * FRAME_SIZE;
}

/* A program that hands the echoed ethertype to the socket in a map. */
static void redirect(int map, unsigned int index)
{
	const struct bpf_insn code[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_3, BPF_REG_1, 4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_2, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, ETH_HLEN),
		INSN(BPF_JMP | BPF_JGT | BPF_X, BPF_REG_4, BPF_REG_3, 8, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_H, BPF_REG_4, BPF_REG_2, 12, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_4, 0, 6, htons(ECHOED)),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 16, 0),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	if (attach(load_xdp(code, sizeof(code) / sizeof(code[0])), index) < 0)
		fail("BPF_LINK_CREATE");
}

static void enter(int map, int fd)
{
	uint32_t key = 0, value = fd;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
		fail("BPF_MAP_UPDATE_ELEM");
}

static void bind_socket(int fd, unsigned int index)
{
	struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP,
		.sxdp_ifindex = index,
		.sxdp_flags = XDP_ZEROCOPY,
	};

	if (!bind(fd, (void *)&address, sizeof(address))) {
		printf("zero copy\n");
	} else {
		printf("copy, as zero copy says: %s\n", strerror(errno));
		address.sxdp_flags = XDP_COPY;
		if (bind(fd, (void *)&address, sizeof(address)))
			fail("bind");
	}
	fflush(stdout);
}

/* ----- traffic ----- */

static void take_completions(struct socket *s)
{
	uint64_t frame;

	while (there(&s->completion)) {
		frame = ((uint64_t *)s->completion.entries)[s->completion.at %
							     RING_SIZE];
		taken(&s->completion);
		if (frame < RX_FRAMES * FRAME_SIZE)
			put_fill(s, frame);
		else
			s->free[s->nfree++] = frame;
	}
}

static void echo(struct socket *s)
{
	struct xdp_desc d;
	struct ethhdr *eth;
	uint8_t mac[ETH_ALEN];

	while (there(&s->rx)) {
		d = ((struct xdp_desc *)s->rx.entries)[s->rx.at % RING_SIZE];
		taken(&s->rx);
		s->received++;
		eth = (void *)(s->memory + d.addr);
		memcpy(mac, eth->h_source, ETH_ALEN);
		memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
		memcpy(eth->h_dest, mac, ETH_ALEN);
		/* Its frame comes back to the fill ring, whatever the headroom is. */
		put_tx(s, d.addr, d.len);
	}
}

static void beacon(struct socket *s)
{
	struct ethhdr *eth;
	uint64_t frame;

	if (!s->nfree)
		return;
	frame = s->free[--s->nfree];
	eth = (void *)(s->memory + frame);
	memset(eth, 0, BEACON_SIZE);
	memset(eth->h_dest, 0xff, ETH_ALEN);
	eth->h_source[0] = 2;
	eth->h_proto = htons(BEACON);
	put_tx(s, frame, BEACON_SIZE);
}

/* While the link is down, or the interface, the kernel says so. */
static void wake_up(int fd)
{
	if (!sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0))
		return;
	switch (errno) {
	case EAGAIN:
	case EBUSY:
	case ENETDOWN:
	case ENOBUFS:
	case ENXIO:
		return;
	}
	fail("sendto");
}

static void run(struct socket *s)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long said = -1UL;

	while (!stopped) {
		echo(s);
		beacon(s);
		wake_up(s->fd);
		take_completions(s);
		if (s->received != said) {
			printf("%lu %lu\n", s->received, s->sent);
			fflush(stdout);
		}
		said = s->received;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
	static struct socket s;
	unsigned int index;
	int map;

	if (argc != 2)
		return 2;
	index = if_nametoindex(argv[1]);
	if (!index)
		fail(argv[1]);
	sigaction(SIGTERM, &action, NULL);
	s.fd = socket(AF_XDP, SOCK_RAW, 0);
	if (s.fd < 0)
		fail("AF_XDP");
	map = create_map(BPF_MAP_TYPE_XSKMAP, sizeof(uint32_t));
	redirect(map, index);
	open_rings(&s);
	fill_rings(&s);
	bind_socket(s.fd, index);
	enter(map, s.fd);
	run(&s);
	return 0;
}
