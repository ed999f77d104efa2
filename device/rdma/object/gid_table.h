/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The GID table of a NIC.
 */
#ifndef DEVICE_RDMA_OBJECT_GID_TABLE_H
#define DEVICE_RDMA_OBJECT_GID_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/object/fabric.h"
#include "state/state.h"

/**
 * struct gid_table - the GIDs of a NIC
 * @end:	the NIC, as the fabric sees it
 * @may:	may the guest enter a GID?  NULL: any
 * @arg:	for @may
 * @away:	the NIC is elsewhere now: none of them leads here
 * @gid:	them
 */
struct gid_table {
	struct fabric_end *end;
	bool (*may)(const void *arg, const uint8_t *gid);
	const void *arg;
	bool away;
	struct gid gid[RNIC_GIDS];
};

/** gid_table_init() - make an empty table */
void gid_table_init(struct gid_table *gids, struct fabric_end *end);

/** gid_table_reset() - clear all entries */
void gid_table_reset(struct gid_table *gids);

/**
 * gid_add() - set an entry
 * @gids:	GID table
 * @index:	entry; what it held before is replaced
 * @raw:	the GID
 * @vlan:	%VIRTIO_RDMA_GID_TAGGED and the VLAN's number, or 0
 *
 * Return: NULL, or why not.
 */
const char *gid_add(struct gid_table *gids, uint32_t index, const uint8_t *raw,
		    uint16_t vlan);

/** gid_del() - clear an entry; returns NULL, or why not */
const char *gid_del(struct gid_table *gids, uint32_t index);

/** gid_table_set_away() - from now on the entries lead nowhere, or here again */
void gid_table_set_away(struct gid_table *gids, bool away);

/** gid_get() - the entry at an index from anywhere, or NULL if it holds none */
const struct gid *gid_get(const struct gid_table *gids, uint32_t index);

/** gid_has_vlan() - is there any GID in this VLAN? */
bool gid_has_vlan(const struct gid_table *gids, uint16_t vlan);

/** gid_vlan_ok() - is this a VLAN as an entry has it? */
bool gid_vlan_ok(uint16_t vlan);

/** gid_table_io() - save or load the table */
void gid_table_io(struct state *st, struct gid_table *gids);

#endif /* DEVICE_RDMA_OBJECT_GID_TABLE_H */
