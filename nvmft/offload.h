/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The offload: what the program tells the device by direct verbs.
 */
#ifndef NVMFT_OFFLOAD_H
#define NVMFT_OFFLOAD_H

#include <stdint.h>

#include <infiniband/virtio_rocedv.h>

#include "base/loop.h"
#include "ctrl.h"
#include "options.h"
#include "storage/ns.h"

struct rnic;

/**
 * struct offload - of the subsystem
 * @loop:	event loop
 * @context:	device
 * @caps:	what it can do
 * @buf:	staging memory of the device
 * @size:	bytes of it
 * @mr:		its region
 * @srq:	SRQ with attributes
 * @ctrls:	number of @ctrl
 * @ctrl:	a controller for each namespace
 * @mapped:	is the namespace mapped?
 * @soft:	those of software, whose namespaces are the program's
 * @events:	of controllers
 * @failed:	controllers that have failed
 */
struct offload {
	struct loop *loop;
	struct ibv_context *context;
	struct virtio_rocedv_nvmf_caps caps;
	void *buf;
	uint64_t size;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	unsigned int ctrls;
	struct virtio_rocedv_nvme_ctrl *ctrl[NVMF_NAMESPACES_MAX];
	bool mapped[NVMF_NAMESPACES_MAX];
	struct ctrl *soft[NVMF_NAMESPACES_MAX];
	struct loop_fd events;
	unsigned int failed;
};

/**
 * offload_namespace() - make @ns what a namespace of the host is; the program cannot serve it
 * @context:	device
 * @space:	of kind %SPACE_HOST
 * @nsid:	number of the namespace
 * @ns:		result
 *
 * Return: 0 or -errno, with a message printed.
 */
int offload_namespace(struct ibv_context *context, const struct space *space, unsigned int nsid,
		      struct ns *ns);

/**
 * offload_open() - make an SRQ with attributes, and controllers with their namespaces
 * @offload:	result; @loop filled in, zeroes else
 * @rnic:	device; it gets the SRQ
 * @options:	namespaces
 * @ns:		them, of offload_namespace() or file_open().  Threads of controllers submit to the
 *		latter until offload_stop()
 *
 * Return: 0 or -errno, with a message printed.
 */
int offload_open(struct offload *offload, struct rnic *rnic, const struct options *options,
		 struct ns *const *ns);

/** offload_commands() - how many commands controllers of software have carried out */
uint64_t offload_commands(const struct offload *offload);

/** offload_qp() - as &links.hand_over */
int offload_qp(struct ibv_qp *qp, uint16_t size, uint16_t head);

/** offload_stop() - undo what needs the SRQ, whatever of it was done; no QPs are left */
void offload_stop(struct offload *offload);

/** offload_close() - undo the rest, once the SRQ is destroyed */
void offload_close(struct offload *offload);

#endif /* NVMFT_OFFLOAD_H */
