/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * XDP programs without libbpf, and the end of a program that goes on until SIGTERM.
 */
#ifndef TESTS_GUEST_XDP_H
#define TESTS_GUEST_XDP_H

#include <linux/bpf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static inline void stop(int number)
{
	(void)number;
	stopped = 1;
}

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

static inline int load_xdp(const struct bpf_insn *code, size_t n)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)code,
		.insn_cnt = n,
		.license = (uintptr_t)"GPL",
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		fail("BPF_PROG_LOAD");
	return fd;
}

/* A map of one entry with the key 0. */
static inline int create_map(uint32_t type, uint32_t value_size)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = sizeof(uint32_t),
		.value_size = value_size,
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		fail("BPF_MAP_CREATE");
	return fd;
}

/* By a link, whose descriptor is returned; or -1. */
static inline int attach(int program, unsigned int index)
{
	union bpf_attr attr = {};

	attr.link_create.prog_fd = program;
	attr.link_create.target_ifindex = index;
	attr.link_create.attach_type = BPF_XDP;
	attr.link_create.flags = 1U << 2;	/* XDP_FLAGS_DRV_MODE */
	return bpf(BPF_LINK_CREATE, &attr);
}

#endif /* TESTS_GUEST_XDP_H */
