// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Identify: controllers and namespaces.
 *
 * Serial numbers and identifiers of namespaces follow from names alone, so that they are the
 * same after a restart, and by each port of a subsystem.
 */

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "nvmf/nvmf_priv.h"

#define NVMF_MODEL		"virtio-net-roce target"
#define NVMF_FIRMWARE		"1"

/* As a power of two, of pages of 4 KiB. */
#define NVMF_MDTS		8
/* Keep-alive timeouts are multiples of so many times 100 ms. */
#define NVMF_KAS		1

_Static_assert((NVME_PAGE << NVMF_MDTS) == NVMF_DATA_MAX, "MDTS");

/* No secret: nothing depends on it that others cannot have the same. */
static uint64_t nvmf_number(const char *nqn, const char *name, uint8_t which)
{
	const struct hash_key key = { .bytes = { which } };
	char text[NVME_NQN_SIZE + NS_NAME_MAX + 1];
	int len = snprintf(text, sizeof(text), "%s %s", nqn, name);

	return hash_bytes(&key, text, len);
}

/* Text that is filled up with spaces. */
static void nvmf_text(char *to, size_t size, const char *from)
{
	const size_t len = strlen(from);

	memset(to, ' ', size);
	memcpy(to, from, len < size ? len : size);
}

static void nvmf_identify_names(const struct nvmf_ctrl *ctrl, struct nvme_id_ctrl *id)
{
	const char *nqn = ctrl->discovery ? NVME_DISCOVERY_NQN : ctrl->target->nqn;
	char serial[sizeof(id->sn) + 1];

	snprintf(serial, sizeof(serial), "%016llx",
		 (unsigned long long)nvmf_number(nqn, "", 0));
	nvmf_text(id->sn, sizeof(id->sn), serial);
	nvmf_text(id->mn, sizeof(id->mn), NVMF_MODEL);
	nvmf_text(id->fr, sizeof(id->fr), NVMF_FIRMWARE);
	strcpy(id->subnqn, nqn);
}

static bool nvmf_has_cache(const struct nvmf_target *target)
{
	unsigned int i;

	for (i = 0; i < target->namespaces; i++)
		if (target->space[i].ns->cache)
			return true;
	return false;
}

static void nvmf_identify_io(const struct nvmf_target *target, struct nvme_id_ctrl *id)
{
	id->cmic = NVME_CMIC_MANY;
	id->oaes = htole32(NVME_OAES_NS);
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->nn = htole32(NVMF_NAMESPACES_MAX);
	id->mnan = htole32(NVMF_NAMESPACES_MAX);
	id->oncs = htole16(target->away ? 0 : NVME_ONCS_DSM | NVME_ONCS_ZEROES);
	id->vwc = nvmf_has_cache(target) ? NVME_VWC : 0;
	id->ioccsz = htole32(NVMF_CAPSULE_MAX / 16);
	id->iorcsz = htole32(NVMF_CQE_SIZE / 16);
}

static uint16_t nvmf_identify_ctrl(struct nvmf_cmd *cmd)
{
	const struct nvmf_ctrl *ctrl = cmd->queue->ctrl;
	struct nvme_id_ctrl *id = cmd->buf;

	nvmf_identify_names(ctrl, id);
	id->mdts = NVMF_MDTS;
	id->cntlid = htole16(ctrl->cntlid);
	id->ver = htole32(NVME_VERSION);
	id->ctratt = htole32(NVME_CTRATT_HOSTID |
			     (ctrl->target->away ? 0 : NVME_CTRATT_TRAFFIC));
	id->cntrltype = ctrl->discovery ? NVME_CTRL_DISCOVERY : NVME_CTRL_IO;
	id->acl = NVMF_EVENTS - 1;
	id->aerl = NVMF_EVENTS - 1;
	id->lpa = NVME_LPA_EXTENDED | (ctrl->discovery ? 0 : NVME_LPA_EFFECTS);
	id->kas = htole16(NVMF_KAS);
	id->maxcmd = htole16(ctrl->discovery ? NVME_AQ_DEPTH : ctrl->target->limits.depth);
	id->sgls = htole32(NVME_SGLS);
	id->msdbd = 1;
	if (!ctrl->discovery)
		nvmf_identify_io(ctrl->target, id);
	return NVME_OK;
}

/* An identifier of 16 bytes: a UUID of version 8, of one's own making. */
static void nvmf_ns_id(const struct nvmf_target *target, const struct ns *ns, uint8_t id[16])
{
	const uint64_t high = htobe64(nvmf_number(target->nqn, ns->name, 1));
	const uint64_t low = htobe64(nvmf_number(target->nqn, ns->name, 2));

	memcpy(id, &high, sizeof(high));
	memcpy(id + sizeof(high), &low, sizeof(low));
	id[6] = (id[6] & 0x0f) | 0x80;
	id[8] = (id[8] & 0x3f) | 0x80;
}

static struct nvmf_namespace *nvmf_identify_which(struct nvmf_cmd *cmd)
{
	return nvmf_target_ns(cmd->queue->ctrl->target, le32toh(cmd->sqe.nsid));
}

static uint16_t nvmf_identify_ns(struct nvmf_cmd *cmd)
{
	const struct nvmf_namespace *space = nvmf_identify_which(cmd);
	struct nvme_id_ns *id = cmd->buf;
	const struct ns *ns;

	if (!space) {
		/* A number that is possible and not in use: zeroes. */
		return le32toh(cmd->sqe.nsid) - 1 < NVMF_NAMESPACES_MAX ? NVME_OK :
									  NVME_INVALID_NS;
	}
	ns = space->ns;
	id->nsze = htole64(ns->size / ns->block);
	id->ncap = id->nsze;
	id->nuse = id->nsze;
	id->nmic = NVME_NMIC_SHARED;
	id->nsattr = space->ro || ns->ro ? NVME_NSATTR_PROTECTED : 0;
	id->lbaf_ds = __builtin_ctz(ns->block);
	nvmf_ns_id(cmd->queue->ctrl->target, ns, id->nguid);
	return NVME_OK;
}

static uint16_t nvmf_identify_list(struct nvmf_cmd *cmd)
{
	const uint32_t above = le32toh(cmd->sqe.nsid);
	const struct nvmf_target *target = cmd->queue->ctrl->target;
	__le32 *list = cmd->buf;
	uint32_t nsid;

	if (above >= NVME_NSID_ALL - 1)
		return NVME_INVALID_NS;
	for (nsid = above + 1; nsid <= target->namespaces; nsid++)
		*list++ = htole32(nsid);
	return NVME_OK;
}

static uint8_t *nvmf_identify_put(uint8_t *p, uint8_t type, const void *id, uint8_t len)
{
	p[0] = type;
	p[1] = len;
	memcpy(p + NVME_NID_HEAD, id, len);
	return p + NVME_NID_HEAD + len;
}

static uint16_t nvmf_identify_desc(struct nvmf_cmd *cmd)
{
	const struct nvmf_namespace *space = nvmf_identify_which(cmd);
	const uint8_t nvm = 0;
	uint8_t *p = cmd->buf;
	uint8_t id[16];

	if (!space)
		return NVME_INVALID_NS;
	nvmf_ns_id(cmd->queue->ctrl->target, space->ns, id);
	p = nvmf_identify_put(p, NVME_NID_NGUID, id, sizeof(id));
	p = nvmf_identify_put(p, NVME_NID_UUID, id, sizeof(id));
	nvmf_identify_put(p, NVME_NID_CSI, &nvm, sizeof(nvm));
	return NVME_OK;
}

/* The NVM command set says nothing more of a namespace without protection information. */
static uint16_t nvmf_identify_cs_ns(struct nvmf_cmd *cmd)
{
	if (le32toh(cmd->sqe.cdw11) >> 24)
		return NVME_INVALID_FIELD;
	return nvmf_identify_which(cmd) ? NVME_OK : NVME_INVALID_NS;
}

/* Nor of a controller: its limits of Write Zeroes and Dataset Management are those of fields. */
static uint16_t nvmf_identify_cs_ctrl(struct nvmf_cmd *cmd)
{
	return le32toh(cmd->sqe.cdw11) >> 24 ? NVME_INVALID_FIELD : NVME_OK;
}

/**
 * struct nvmf_cns - something that can be identified
 * @cns:	its number
 * @discovery:	by discovery controllers, too
 * @fill:	fill in a page of zeroes
 */
struct nvmf_cns {
	uint8_t cns;
	bool discovery;
	uint16_t (*fill)(struct nvmf_cmd *cmd);
};

static const struct nvmf_cns nvmf_cnss[] = {
	{ NVME_CNS_NS, false, nvmf_identify_ns },
	{ NVME_CNS_CTRL, true, nvmf_identify_ctrl },
	{ NVME_CNS_NS_LIST, false, nvmf_identify_list },
	{ NVME_CNS_NS_DESC, false, nvmf_identify_desc },
	{ NVME_CNS_CS_NS, false, nvmf_identify_cs_ns },
	{ NVME_CNS_CS_CTRL, false, nvmf_identify_cs_ctrl },
};

static const struct nvmf_cns *nvmf_cns_find(const struct nvmf_cmd *cmd)
{
	const uint8_t cns = le32toh(cmd->sqe.cdw10);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvmf_cnss); i++)
		if (nvmf_cnss[i].cns == cns)
			return nvmf_cnss[i].discovery || !cmd->queue->ctrl->discovery ?
			       &nvmf_cnss[i] : NULL;
	return NULL;
}

uint16_t nvmf_identify_check(struct nvmf_cmd *cmd)
{
	cmd->len = NVME_PAGE;
	return nvmf_cns_find(cmd) ? NVME_OK : NVME_INVALID_FIELD;
}

void nvmf_identify_run(struct nvmf_cmd *cmd)
{
	uint16_t status;

	memset(cmd->buf, 0, cmd->len);
	status = nvmf_cns_find(cmd)->fill(cmd);
	nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}
