/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The RDMA side of a function, saved and loaded.
 */
#ifndef DEVICE_RDMA_RNIC_IMAGE_H
#define DEVICE_RDMA_RNIC_IMAGE_H

#include "rdma/rnic.h"
#include "state/state.h"

/**
 * rnic_save() - write the sections of a NIC
 * @rnic:	NIC; nothing of it is being polled.  It can go on afterwards
 * @st:		from state_write()
 *
 * Frames that were received and not looked at are not saved: they count as lost.  A command
 * that is not finished is as if it had not begun.
 *
 * Return: false if that failed.
 */
bool rnic_save(struct rnic *rnic, struct state *st);

/**
 * rnic_load() - read the sections of a NIC
 * @rnic:	NIC of the same limits without objects, with its memory map and virtqueues
 * @st:		from state_read()
 *
 * Nothing of the guest's memory is touched before all was read.  Then the NIC goes on as
 * soon as it is polled; rnic_look_at_all() is for what may have been missed.
 *
 * Return: false, and the NIC is as before, if that failed.
 */
bool rnic_load(struct rnic *rnic, struct state *st);

/** rnic_section_known() - the version of a section that rnic_load() reads, or 0 */
uint16_t rnic_section_known(const char *kind);

/** rnic_moved() - what was loaded comes from another host, and its peers are to know */
void rnic_moved(struct rnic *rnic);

/** rnic_parted() - what was loaded is a copy: its connections are those of another one */
void rnic_parted(struct rnic *rnic);

/** rnic_look_at_all() - doorbells may have got lost: look at all rings and doorbell pages */
void rnic_look_at_all(struct rnic *rnic);

#endif /* DEVICE_RDMA_RNIC_IMAGE_H */
