// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * virtio-roce-nvmft: a target of NVMe over Fabrics that has its I/O served by the device.
 *
 * Commands, controllers and discovery are those of the daemon's own target (device/nvmf):
 * here they have a wire of librdmacm and libibverbs, and namespaces of this machine.
 */

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "file.h"
#include "link.h"
#include "offload.h"
#include "options.h"
#include "rnic.h"
#include "storage/staging.h"

#define MAIN_BACKLOG	128

/**
 * struct port - where hosts connect
 * @id:		listener
 * @target:	the target there
 */
struct port {
	struct rdma_cm_id *id;
	struct nvmf_target *target;
};

/**
 * struct program - all there is
 * @options:	what was asked for
 * @loop:	event loop
 * @signals:	signals that end us or ask for a report
 * @staging:	staging memory
 * @pool:	for the targets
 * @nvmf:	targets
 * @spaces:	number of @ns
 * @file:	namespaces of this machine
 * @host:	namespaces of the host
 * @ns:		all of them, each in @file or @host
 * @rnic:	device
 * @offload:	what the device does for us
 * @links:	connections
 * @ports:	number of @port
 * @port:	where we listen
 */
struct program {
	struct options options;
	struct loop *loop;
	struct loop_fd signals;
	struct staging *staging;
	struct nvmf_pool pool;
	struct nvmf *nvmf;
	unsigned int spaces;
	struct file file[NVMF_NAMESPACES_MAX];
	struct ns host[NVMF_NAMESPACES_MAX];
	struct ns *ns[NVMF_NAMESPACES_MAX];
	struct rnic rnic;
	struct offload offload;
	struct links links;
	unsigned int ports;
	struct port port[OPTIONS_ADDRESSES];
};

/* ------------------------------------------------------------------------- */
/* Signals                                                                   */
/* ------------------------------------------------------------------------- */

/* Of all addresses. */
static struct nvmf_counters program_sum(const struct program *p)
{
	struct nvmf_counters sum = { 0 };
	const struct nvmf_counters *count;
	unsigned int i;

	for (i = 0; i < p->ports; i++) {
		count = nvmf_target_counters(p->port[i].target);
		sum.controllers += count->controllers;
		sum.queues += count->queues;
		sum.read += count->read;
		sum.written += count->written;
		sum.other += count->other;
		sum.errors += count->errors;
	}
	return sum;
}

static void program_report(const struct program *p)
{
	const struct link_counters *links = &p->links.count;
	const struct nvmf_counters sum = program_sum(p);
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "controllers", sum.controllers },
		{ "queues", sum.queues },
		{ "read", sum.read },
		{ "written", sum.written },
		{ "other", sum.other },
		{ "errors", sum.errors },
		{ "io_wakeups", links->io_wakeups },
		{ "io_completions", links->io_completions },
		{ "io_capsules", links->io_capsules },
		{ "offloaded", links->offloaded },
		{ "queue_commands", offload_commands(&p->offload) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		printf("%s\"%s\": %llu", i ? ", " : "{", counters[i].name,
		       (unsigned long long)counters[i].value);
	printf("}\n");
	fflush(stdout);
}

static void program_signalled(void *arg, uint32_t events __always_unused)
{
	struct program *p = arg;
	struct signalfd_siginfo info;

	if (read(p->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1)
		program_report(p);
	else
		loop_stop(p->loop);
}

static int program_signals(struct program *p)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signals.fd < 0)
		return -errno;
	p->signals.fn = program_signalled;
	p->signals.arg = p;
	return loop_fd_add(p->loop, &p->signals, EPOLLIN);
}

/* ------------------------------------------------------------------------- */
/* Listening                                                                 */
/* ------------------------------------------------------------------------- */

static int port_failed(const char *address, int err)
{
	log_error("--address %s: %s", address, strerror(-err));
	return err;
}

static int port_bind(struct program *p, struct rdma_cm_id *id, const char *address)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *found;
	int err = 0;

	if (rdma_getaddrinfo(address, p->options.port, &hints, &found))
		return port_failed(address, errno ? -errno : -EINVAL);
	if (rdma_bind_addr(id, found->ai_src_addr))
		err = port_failed(address, -errno);
	rdma_freeaddrinfo(found);
	if (!err && !id->verbs)
		err = port_failed(address, -ENODEV);
	return err;
}

static struct nvmf_target *port_target(struct program *p, const char *address)
{
	struct nvmf_target_config config = {
		.nqn = p->options.nqn,
		.traddr = address,
		.trsvcid = p->options.port,
		.namespaces = p->options.spaces,
		.hosts = p->options.hosts,
		.limits = p->options.limits,
		.away = p->options.offload,
	};
	unsigned int i;

	memcpy(config.host, p->options.host, sizeof(config.host));
	for (i = 0; i < p->options.spaces; i++)
		config.space[i].ns = p->ns[i];
	return nvmf_target_new(p->nvmf, &config);
}

static int port_open(struct program *p, struct port *port, const char *address)
{
	int err;

	if (rdma_create_id(p->links.channel, &port->id, NULL, RDMA_PS_TCP))
		return port_failed(address, -errno);
	err = port_bind(p, port->id, address);
	if (err)
		goto err_id;
	if (p->rnic.context && port->id->verbs != p->rnic.context) {
		err = port_failed(address, -EXDEV);
		goto err_id;
	}
	if (!p->rnic.context)
		err = rnic_open(&p->rnic, port->id->verbs, p->staging, p->options.recvs);
	if (err)
		goto err_id;
	return 0;

err_id:
	rdma_destroy_id(port->id);
	return err;
}

static void port_close(struct port *port)
{
	rdma_destroy_id(port->id);
	if (port->target)
		nvmf_target_free(port->target);
}

static int program_ports(struct program *p)
{
	int err = 0;

	for (; p->ports < p->options.addresses && !err; p->ports += !err)
		err = port_open(p, &p->port[p->ports], p->options.address[p->ports]);
	return err;
}

static int program_listen(struct program *p)
{
	unsigned int i;

	for (i = 0; i < p->ports; i++) {
		p->port[i].target = port_target(p, p->options.address[i]);
		if (!p->port[i].target)
			return port_failed(p->options.address[i], -errno);
		p->port[i].id->context = p->port[i].target;
		if (rdma_listen(p->port[i].id, MAIN_BACKLOG))
			return port_failed(p->options.address[i], -errno);
	}
	printf("listening\n");
	fflush(stdout);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Beginning and end                                                         */
/* ------------------------------------------------------------------------- */

static int program_space(struct program *p, unsigned int i)
{
	const struct space *space = &p->options.space[i];

	if (space->kind == SPACE_HOST) {
		p->ns[i] = &p->host[i];
		return offload_namespace(p->rnic.context, space, i + 1, p->ns[i]);
	}
	p->ns[i] = &p->file[i].ns;
	return file_open(&p->file[i], space, i + 1);
}

static int program_spaces(struct program *p)
{
	int err = 0;

	for (; p->spaces < p->options.spaces && !err; p->spaces += !err)
		err = program_space(p, p->spaces);
	return err;
}

static void program_spaces_close(struct program *p)
{
	while (p->spaces)
		if (p->options.space[--p->spaces].kind != SPACE_HOST)
			file_close(&p->file[p->spaces]);
}

static int program_srq(struct program *p)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = p->rnic.recvs, .max_sge = 1 },
	};
	int err;

	if (p->options.offload) {
		p->links.hand_over = offload_qp;
		p->offload.loop = p->loop;
		err = offload_open(&p->offload, &p->rnic, &p->options, p->ns);
		return err ? err : rnic_start(&p->rnic);
	}
	p->rnic.srq = ibv_create_srq(p->rnic.pd, &attr);
	if (!p->rnic.srq) {
		err = errno;
		log_error("shared receive queue: %s", strerror(err));
		return -err;
	}
	return rnic_start(&p->rnic);
}

static int program_start(struct program *p)
{
	int err;

	p->loop = loop_new(0);
	p->staging = staging_new(p->options.staging);
	p->links.channel = rdma_create_event_channel();
	if (!p->loop || !p->staging || !p->links.channel) {
		log_error("start: %s", strerror(errno));
		return -EIO;
	}
	p->pool = (struct nvmf_pool) {
		.alloc = staging_alloc,
		.alloc_of = staging_alloc_of,
		.free = staging_release,
		.arg = p->staging,
		.size = p->options.staging,
	};
	p->nvmf = nvmf_new(p->loop, &p->pool);
	p->links.loop = p->loop;
	p->links.rnic = &p->rnic;
	err = p->nvmf ? program_ports(p) : -ENOMEM;
	if (!err)
		err = program_spaces(p);
	if (!err)
		err = program_srq(p);
	if (!err)
		err = program_signals(p);
	if (!err)
		err = links_start(&p->links);
	return err;
}

/* What was not made is NULL or 0. */
static void program_stop(struct program *p)
{
	while (p->ports)
		port_close(&p->port[--p->ports]);
	offload_stop(&p->offload);
	if (p->rnic.srq)
		ibv_destroy_srq(p->rnic.srq);
	offload_close(&p->offload);
	rnic_close(&p->rnic);
	program_spaces_close(p);
	if (p->nvmf)
		nvmf_free(p->nvmf);
	if (p->links.channel)
		rdma_destroy_event_channel(p->links.channel);
	if (p->staging)
		staging_free(p->staging);
	if (p->loop)
		loop_free(p->loop);
}

static int program_run(struct program *p)
{
	int err = program_listen(p);

	if (!err)
		err = loop_run(p->loop);
	if (p->links.broken) {
		log_error("the RDMA device is gone");
		err = -ENODEV;
	}
	links_stop(&p->links);
	return err;
}

int main(int argc, char **argv)
{
	static struct program program;
	int err;

	log_init();
	log_set_name("virtio-roce-nvmft");
	err = options_parse(&program.options, argc, argv);
	if (err)
		return err < 0 ? 2 : 0;
	err = program_start(&program);
	if (!err)
		err = program_run(&program);
	program_stop(&program);
	return err ? 1 : 0;
}
