// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The needs of a guest that is to be moved.
 *
 * Source and target have no connection before the guest is stopped, so that the operator
 * carries the text.  Words stand in any order.  A word that is not known is of a later
 * version, and the guest needs something that is not here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "function/function_image.h"
#include "function/function_priv.h"
#include "function/needs.h"
#include "rdma/view.h"

/* Headers of a packet with IPv6, and with all that a request may have, and the ICRC. */
#define NEEDS_HEADERS	(40u + 8 + 12 + 4 + 16 + 4 + 4)

#define NEEDS_SECTIONS	"sections"

/**
 * struct need - a number
 * @name:	the field
 * @of:		its value at a function
 * @fits:	is a guest that has @there content with @here?
 */
struct need {
	const char *name;
	uint64_t (*of)(const struct function *fn);
	bool (*fits)(uint64_t there, uint64_t here);
};

static bool fits_same(uint64_t there, uint64_t here)
{
	return there == here;
}

static bool fits_below(uint64_t there, uint64_t here)
{
	return there <= here;
}

static bool fits_bits(uint64_t there, uint64_t here)
{
	return !(there & ~here);
}

static bool fits_path(uint64_t there, uint64_t here)
{
	return !there || there + NEEDS_HEADERS <= here;
}

#define LIMIT(field)							\
	static uint64_t need_##field(const struct function *fn)	\
	{								\
		return fn->config.limits.field;				\
	}

LIMIT(qps)
LIMIT(cqs)
LIMIT(queue_size)
LIMIT(cqe)
LIMIT(mrs)
LIMIT(pds)
LIMIT(ahs)
LIMIT(event_vqs)
LIMIT(doorbell_vqs)
LIMIT(direct_qps)
LIMIT(direct_cqs)
LIMIT(rfc)

static uint64_t need_mtu(const struct function *fn)
{
	return fn->config.mtu;
}

static const struct need needs[] = {
	{ "mtu", need_mtu, fits_below },
	{ "qps", need_qps, fits_same },
	{ "cqs", need_cqs, fits_same },
	{ "queue_size", need_queue_size, fits_same },
	{ "cqe", need_cqe, fits_same },
	{ "mrs", need_mrs, fits_same },
	{ "pds", need_pds, fits_same },
	{ "ahs", need_ahs, fits_same },
	{ "event_vqs", need_event_vqs, fits_same },
	{ "doorbell_vqs", need_doorbell_vqs, fits_same },
	{ "direct_qps", need_direct_qps, fits_same },
	{ "direct_cqs", need_direct_cqs, fits_same },
	{ "rfc", need_rfc, fits_same },
};

/* ------------------------------------------------------------------------- */
/* Printing                                                                  */
/* ------------------------------------------------------------------------- */

static void gids_print(const struct function *fn, FILE *out)
{
	char text[INET6_ADDRSTRLEN];
	const uint8_t *raw;
	uint16_t vlan;
	uint32_t i;

	for (i = 0; i < RNIC_GIDS; i++) {
		raw = rnic_gid(fn->rnic, i, &vlan);
		if (raw && inet_ntop(AF_INET6, raw, text, sizeof(text)))
			fprintf(out, " gid=%s", text);
	}
}

/*
 * The state that the guest has now: the oldest reader of it, and the sections which that must know,
 * with their versions.  Without memory for it, none are told.
 */
static void state_print(struct function *fn, FILE *out)
{
	const char *before = " " NEEDS_SECTIONS "=";
	char kind[STATE_KIND_SIZE + 1];
	struct state_header header;
	struct state st;
	uint16_t version;
	size_t at = 0;

	state_write(&st);
	if (function_save(fn, &st)) {
		memcpy(&header, st.data, sizeof(header));
		fprintf(out, " state=%u", le32toh(header.oldest));
		while ((version = state_required(&st, &at, kind))) {
			fprintf(out, "%s%s.%u", before, kind, version);
			before = ",";
		}
	}
	state_free(&st);
}

void needs_print(struct function *fn, FILE *out)
{
	const uint8_t *mac = fn->filter.mac;
	unsigned int i;

	fprintf(out, NEEDS_FIRST "%#" PRIx64, fn->features);
	for (i = 0; i < ARRAY_SIZE(needs); i++)
		fprintf(out, " %s=%" PRIu64, needs[i].name, needs[i].of(fn));
	if (fn->more_on)
		fprintf(out, " queue_pairs=%u", fn->config.pairs);
	fprintf(out, " path_mtu=%u mac=%02x:%02x:%02x:%02x:%02x:%02x",
		rnic_path_mtu(fn->rnic), mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	gids_print(fn, out);
	state_print(fn, out);
	fprintf(out, "\n");
}

/* ------------------------------------------------------------------------- */
/* Checking                                                                  */
/* ------------------------------------------------------------------------- */

static bool refuse(char *why, const char *field, const char *reason)
{
	snprintf(why, NEEDS_WHY, "%.32s: %s", field, reason);
	return false;
}

static bool check_number(const char *field, const char *value, uint64_t here,
			 bool (*fits)(uint64_t there, uint64_t here), char *why)
{
	uint64_t there;
	char *end;

	errno = 0;
	there = strtoull(value, &end, 0);
	if (errno || end == value || *end || *value == '-')
		return refuse(why, field, "not a number");
	if (fits(there, here))
		return true;
	if (fits == fits_bits)
		snprintf(why, NEEDS_WHY, "%s: %#" PRIx64 ", and %#" PRIx64 " are offered here",
			 field, there, here);
	else
		snprintf(why, NEEDS_WHY, "%s: %" PRIu64 ", but %" PRIu64 " here", field, there,
			 here);
	return false;
}

static bool check_mac(const struct function *fn, const char *value, char *why)
{
	unsigned int byte[ETH_ALEN], i;
	uint8_t mac[ETH_ALEN];
	char end;

	if (sscanf(value, "%2x:%2x:%2x:%2x:%2x:%2x%c", &byte[0], &byte[1], &byte[2], &byte[3],
		   &byte[4], &byte[5], &end) != ETH_ALEN)
		return refuse(why, "mac", "not a MAC address");
	for (i = 0; i < ETH_ALEN; i++)
		mac[i] = byte[i];
	return pin_mac_ok(&fn->config.pin, mac) ||
	       refuse(why, "mac", "not the address of mac= of its --socket");
}

static bool check_gid(const struct function *fn, const char *value, char *why)
{
	uint8_t gid[GID_SIZE];

	if (inet_pton(AF_INET6, value, gid) != 1)
		return refuse(why, "gid", "not a GID");
	return pin_gid_ok(&fn->config.pin, gid) ||
	       refuse(why, "gid", "not among the addresses of gid= of its --socket");
}

/* As "qp.1,cq.1". */
static bool check_sections(char *value, char *why)
{
	char *section, *version, *end = value;
	unsigned long there;
	uint16_t here;

	while ((section = strsep(&value, ","))) {
		version = strchr(section, '.');
		there = version ? strtoul(version + 1, &end, 10) : 0;
		if (!there || *end)
			return refuse(why, NEEDS_SECTIONS, "not NAME.VERSION");
		*version = 0;
		here = function_section_known(section);
		if (there <= here)
			continue;
		if (here)
			snprintf(why, NEEDS_WHY,
				 NEEDS_SECTIONS ": %.32s of version %lu, but %u here", section,
				 there, here);
		else
			snprintf(why, NEEDS_WHY, NEEDS_SECTIONS ": %.32s, which is unknown here",
				 section);
		return false;
	}
	return true;
}

static bool check_word(const struct function *fn, const char *field, char *value, char *why)
{
	unsigned int i;

	if (!strcmp(field, "features"))
		return check_number(field, value, function_device_ops.features((void *)fn),
				    fits_bits, why);
	if (!strcmp(field, "queue_pairs"))
		return check_number(field, value, fn->config.pairs, fits_same, why);
	if (!strcmp(field, "path_mtu"))
		return check_number(field, value, fn->config.mtu, fits_path, why);
	if (!strcmp(field, "mac"))
		return check_mac(fn, value, why);
	if (!strcmp(field, "gid"))
		return check_gid(fn, value, why);
	if (!strcmp(field, "state"))
		return check_number(field, value, STATE_VERSION, fits_below, why);
	if (!strcmp(field, NEEDS_SECTIONS))
		return check_sections(value, why);
	for (i = 0; i < ARRAY_SIZE(needs); i++)
		if (!strcmp(field, needs[i].name))
			return check_number(field, value, needs[i].of(fn), needs[i].fits, why);
	return refuse(why, field, "unknown here");
}

bool needs_check(const struct function *fn, char *text, char why[NEEDS_WHY])
{
	char *word, *value, *rest = text;

	while ((word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return refuse(why, word, "no FIELD=VALUE");
		*value++ = 0;
		if (!check_word(fn, word, value, why))
			return false;
	}
	return true;
}

bool needs_portable(void *dev, char *why, size_t size)
{
	const struct function *fn = dev;
	const uint32_t mtu = rnic_path_mtu(fn->rnic);

	if (fits_path(mtu, fn->config.mtu))
		return true;
	snprintf(why, size, "path_mtu: %u, which packets of the port's MTU of %u cannot carry", mtu,
		 fn->config.mtu);
	return false;
}
