// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Get Log Page, and discovery, which is one.
 */

#include <endian.h>
#include <string.h>

#include "base/util.h"
#include "nvmf/nvmf_priv.h"

/* Of the page with a state of health: temperature in kelvin, spare in percent. */
#define NVMF_HEALTH_KELVIN	1
#define NVMF_HEALTH_SPARE	3
#define NVMF_HEALTH_THRESHOLD	4
/* Of the page about firmware: which slot is active, and the first one. */
#define NVMF_FIRMWARE_ACTIVE	0
#define NVMF_FIRMWARE_SLOT	8

/**
 * struct nvmf_window - the part of a page that the host wants
 * @buf:	where it goes, zeroes
 * @len:	bytes of it
 * @at:		where in the page it begins
 */
struct nvmf_window {
	uint8_t *buf;
	uint32_t len;
	uint64_t at;
};

/* Puts the part of a piece of the page that is in the window there. */
static void nvmf_window_put(const struct nvmf_window *window, uint64_t at, const void *piece,
			    uint32_t len)
{
	const uint64_t end = at + len, until = window->at + window->len;
	const uint64_t from = at > window->at ? at : window->at;
	const uint64_t to = end < until ? end : until;

	if (from < to)
		memcpy(window->buf + (from - window->at), (const uint8_t *)piece + (from - at),
		       to - from);
}

static void nvmf_log_nothing(const struct nvmf_ctrl *ctrl __always_unused,
			     const struct nvmf_window *window __always_unused)
{
}

static void nvmf_log_health(const struct nvmf_ctrl *ctrl __always_unused,
			    const struct nvmf_window *window)
{
	uint8_t page[NVME_HEALTH_SIZE] = { 0 };
	/* 25 degrees Celsius. */
	const __le16 kelvin = htole16(298);

	memcpy(page + NVMF_HEALTH_KELVIN, &kelvin, sizeof(kelvin));
	page[NVMF_HEALTH_SPARE] = 100;
	page[NVMF_HEALTH_THRESHOLD] = 10;
	nvmf_window_put(window, 0, page, sizeof(page));
}

static void nvmf_log_firmware(const struct nvmf_ctrl *ctrl __always_unused,
			      const struct nvmf_window *window)
{
	static const uint8_t revision[8] = { '1', ' ', ' ', ' ', ' ', ' ', ' ', ' ' };
	uint8_t page[NVME_FIRMWARE_SIZE] = { 0 };

	page[NVMF_FIRMWARE_ACTIVE] = 1;
	memcpy(page + NVMF_FIRMWARE_SLOT, revision, sizeof(revision));
	nvmf_window_put(window, 0, page, sizeof(page));
}

/* Which ones; nvmf_log_run() forgets them. */
static void nvmf_log_changed(const struct nvmf_ctrl *ctrl, const struct nvmf_window *window)
{
	__le32 list[NVMF_NAMESPACES_MAX] = { 0 };
	unsigned int i, n = 0;

	for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
		if (ctrl->changed & 1u << i)
			list[n++] = htole32(i + 1);
	nvmf_window_put(window, 0, list, sizeof(list));
}

/* Commands that Identify does not offer are not there. */
static uint32_t nvmf_io_effects(const struct nvmf_target *target, uint8_t opcode)
{
	const bool optional = opcode == NVME_IO_ZEROES || opcode == NVME_IO_DSM;

	if (!nvmf_io_op(opcode) || (optional && target->away))
		return 0;
	return NVME_EFFECTS_SUPPORTED |
	       (optional || opcode == NVME_IO_WRITE ? NVME_EFFECTS_CHANGES : 0);
}

/* Which commands there are, and which of them change data. */
static void nvmf_log_effects(const struct nvmf_ctrl *ctrl, const struct nvmf_window *window)
{
	unsigned int i;
	__le32 effects;

	for (i = 0; i <= UINT8_MAX; i++) {
		effects = htole32(nvmf_admin_op(i, false) ? NVME_EFFECTS_SUPPORTED : 0);
		nvmf_window_put(window, i * sizeof(effects), &effects, sizeof(effects));
		effects = htole32(nvmf_io_effects(ctrl->target, i));
		nvmf_window_put(window, NVME_EFFECTS_IO + i * sizeof(effects), &effects,
				sizeof(effects));
	}
}

static bool nvmf_discovers(const struct nvmf_ctrl *ctrl, const struct nvmf_target *target)
{
	return nvmf_target_allows(target, ctrl->hostnqn, ctrl->share->guest);
}

static void nvmf_log_record(const struct nvmf_target *target, const struct nvmf_window *window,
			    unsigned int n)
{
	struct nvmf_disc_entry entry = { 0 };

	entry.trtype = NVMF_TRTYPE_RDMA;
	entry.adrfam = strchr(target->traddr, ':') ? NVMF_ADRFAM_IPV6 : NVMF_ADRFAM_IPV4;
	entry.subtype = NVMF_SUBTYPE_NVM;
	entry.portid = htole16(target->portid);
	entry.cntlid = htole16(NVME_CNTLID_DYNAMIC);
	entry.asqsz = htole16(NVME_AQ_DEPTH);
	strcpy(entry.trsvcid, target->trsvcid);
	strcpy(entry.subnqn, target->nqn);
	strcpy(entry.traddr, target->traddr);
	entry.qptype = NVMF_QPTYPE_CONNECTED;
	entry.prtype = NVMF_PRTYPE_ROCEV2;
	entry.cms = NVMF_CMS_RDMA_CM;
	nvmf_window_put(window, sizeof(struct nvmf_disc_head) + n * sizeof(entry), &entry,
			sizeof(entry));
}

/* Those to which the host may connect. */
static void nvmf_log_discovery(const struct nvmf_ctrl *ctrl, const struct nvmf_window *window)
{
	const struct nvmf *nvmf = ctrl->target->nvmf;
	struct nvmf_disc_head head = { 0 };
	const struct nvmf_target *target;
	unsigned int n = 0;

	TAILQ_FOREACH(target, &nvmf->targets, entry)
		if (nvmf_discovers(ctrl, target))
			nvmf_log_record(target, window, n++);
	head.genctr = htole64(nvmf->genctr);
	head.numrec = htole64(n);
	nvmf_window_put(window, 0, &head, sizeof(head));
}

/**
 * struct nvmf_log - a log page
 * @lid:	its number
 * @discovery:	of discovery controllers
 * @size:	bytes; a host may ask for more, zeroes
 * @fill:	fill in a part
 */
struct nvmf_log {
	uint8_t lid;
	bool discovery;
	uint32_t size;
	void (*fill)(const struct nvmf_ctrl *ctrl, const struct nvmf_window *window);
};

static const struct nvmf_log nvmf_logs[] = {
	{ NVME_LOG_ERROR, false, NVME_ERROR_SIZE, nvmf_log_nothing },
	{ NVME_LOG_HEALTH, false, NVME_HEALTH_SIZE, nvmf_log_health },
	{ NVME_LOG_FIRMWARE, false, NVME_FIRMWARE_SIZE, nvmf_log_firmware },
	{ NVME_LOG_CHANGED_NS, false, NVME_PAGE, nvmf_log_changed },
	{ NVME_LOG_EFFECTS, false, NVME_EFFECTS_SIZE, nvmf_log_effects },
	{ NVME_LOG_DISCOVERY, true, UINT32_MAX, nvmf_log_discovery },
};

static const struct nvmf_log *nvmf_log_find(const struct nvmf_cmd *cmd)
{
	const uint8_t lid = le32toh(cmd->sqe.cdw10);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvmf_logs); i++)
		if (nvmf_logs[i].lid == lid &&
		    nvmf_logs[i].discovery == cmd->queue->ctrl->discovery)
			return &nvmf_logs[i];
	return NULL;
}

static uint64_t nvmf_log_at(const struct nvmf_cmd *cmd)
{
	return le32toh(cmd->sqe.cdw12) | (uint64_t)le32toh(cmd->sqe.cdw13) << 32;
}

uint16_t nvmf_log_check(struct nvmf_cmd *cmd)
{
	const uint64_t dwords = (le32toh(cmd->sqe.cdw10) >> 16 |
				 (uint64_t)(le32toh(cmd->sqe.cdw11) & 0xffff) << 16) + 1;
	const struct nvmf_log *log = nvmf_log_find(cmd);

	if (!log)
		return NVME_INVALID_LOG;
	if (dwords > NVMF_DATA_MAX / 4 || nvmf_log_at(cmd) % 4 || nvmf_log_at(cmd) >= log->size)
		return NVME_INVALID_FIELD;
	cmd->len = dwords * 4;
	return NVME_OK;
}

void nvmf_log_run(struct nvmf_cmd *cmd)
{
	const struct nvmf_log *log = nvmf_log_find(cmd);
	struct nvmf_ctrl *ctrl = cmd->queue->ctrl;
	struct nvmf_window window;

	window.buf = cmd->buf;
	window.len = cmd->len;
	window.at = nvmf_log_at(cmd);
	memset(cmd->buf, 0, cmd->len);
	log->fill(ctrl, &window);
	if (log->lid == NVME_LOG_CHANGED_NS &&
	    !(le32toh(cmd->sqe.cdw10) & NVME_LOG_RETAIN)) {
		ctrl->changed = 0;
		ctrl->told = false;
	}
	nvmf_cmd_end(cmd, NVME_OK);
}
