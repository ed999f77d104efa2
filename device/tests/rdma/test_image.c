// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A NIC saved and loaded: size, a golden file, states that are wrong.
 *
 * That it goes on is what all other tests of the engine show, with EG_STATE in the
 * environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rdma/rnic_image.h"
#include "rdma/rnic_priv.h"
#include "tests/lib/engine_ring.h"

#define RC	VIRTIO_IB_QPT_RC

/* Bytes for an idle RC QP with its CQ, at most. */
#define SIZE_MAX_QP	1024u

/* The tests run in device/. */
#define GOLDEN	"tests/state/golden-1.bin"

static size_t save(struct eg_guest *guest, uint8_t **data)
{
	struct state st;
	size_t size;

	state_write(&st);
	assert_true(rnic_save(guest->rnic, &st));
	assert_true(state_written(&st));
	size = st.at;
	if (data)
		*data = memcpy(malloc(size), st.data, size);
	state_free(&st);
	return size;
}

static bool handed_over;

/* Loads into a NIC without objects; returns why not, or an empty text. */
static const char *load(struct eg_guest *guest, const uint8_t *data, size_t size)
{
	static char why[200];
	uint8_t *copy = malloc(size ? size : 1);
	struct state st;

	memcpy(copy, data, size);
	if (state_read(&st, copy, size)) {
		st.handed_over = handed_over;
		rnic_load(guest->rnic, &st);
	}
	snprintf(why, sizeof(why), "%s", st.why);
	free(copy);
	return why;
}

static void expect_nothing(const struct eg_guest *guest)
{
	const struct rnic *rnic = guest->rnic;
	uint32_t i;

	assert_int_equal(rnic->pds.objs.used, 0);
	assert_int_equal(rnic->mrs.objs.used, 0);
	assert_int_equal(rnic->mrs.extents, 0);
	assert_int_equal(rnic->ctx.ring_pages, 0);
	assert_int_equal(rnic->ctx.wqes, 0);
	for (i = 0; i < rnic->qps.size; i++)
		assert_null(rnic->qps.qp[i]);
	for (i = 0; i < rnic->cqs.size; i++)
		assert_null(rnic->cqs.cq[i]);
}

/* An RC QP and its CQ of their own, connected; ring of @shape. */
static void one_more(struct engine *engine, struct er_end *end, struct er_cq *cq,
		     struct er_qp *qp, uint32_t bit)
{
	static const struct er_shape shape = { .send_depth = 64, .recv_depth = 64 };
	struct eg_guest *guest = &engine->guest[0];
	struct eg_end here = end->end;

	er_cq_init(cq, guest, 128, 5, 0);
	assert_int_equal(er_create_cq(cq), VIRTIO_NET_OK);
	er_qp_init(qp, &end->page, cq, bit, RC, end->end.pdn, &shape);
	assert_int_equal(er_create_qp(qp), VIRTIO_NET_OK);
	here.qpn = qp->qpn;
	eg_to(&here, RC, VIRTIO_IB_QPS_INIT, &end->end);
	eg_to(&here, RC, VIRTIO_IB_QPS_RTR, &end->end);
	eg_to(&here, RC, VIRTIO_IB_QPS_RTS, &end->end);
}

static void test_size(void **state)
{
	static const struct er_shape plain;
	struct engine *engine = *state;
	struct er_cq cq[8];
	struct er_qp qp[8];
	struct er_end end;
	size_t before, each;
	unsigned int i;

	er_open(&end, &engine->guest[0], RC, &plain);
	before = save(&engine->guest[0], NULL);
	for (i = 0; i < 8; i++)
		one_more(engine, &end, &cq[i], &qp[i], 10 + i);
	each = (save(&engine->guest[0], NULL) - before) / 8;
	print_message("%zu bytes for each idle RC QP with its CQ\n", each);
	assert_in_range(each, 1, SIZE_MAX_QP);
}

/*
 * As many as there can be, each with a CQ of its own.  All of them have the same rings, as
 * the guest of this test has little memory.
 */
static void test_size_of_all(void **state)
{
	static const struct er_shape plain;
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	const uint32_t n = guest->rnic->ctx.limits.direct_cqs - 1;
	uint64_t rings;
	struct er_end end;
	struct er_cq cq;
	struct er_qp qp;
	uint8_t *data, *again;
	size_t size;
	uint32_t i;

	eg_cycle_off = true;
	er_open(&end, guest, RC, &plain);
	rings = guest->next;
	for (i = 0; i + 8 < n; i++) {
		guest->next = rings;
		one_more(engine, &end, &cq, &qp, 10 + i);
	}
	size = save(guest, &data);
	print_message("%zu bytes for %u idle RC QPs with a CQ each\n", size, i + 1);
	assert_in_range(size / (i + 1), 1, SIZE_MAX_QP);
	eg_reset(guest);
	handed_over = true;
	assert_string_equal(load(guest, data, size), "");
	handed_over = false;
	assert_int_equal(save(guest, &again), size);
	assert_memory_equal(again, data, size);
	free(again);
	free(data);
}

/* Of a state with messages under way. */
static struct er_pair *busy_pair(void **state)
{
	static const struct er_shape plain;
	struct er_pair *p = er_pair_up(state, RC, &plain);
	struct eg_wr wr = eg_send(&p->a.end, 1, 0, 3000);
	unsigned int i;

	/* No receive request: the peer is not ready, and the requests wait. */
	for (i = 0; i < 3; i++)
		er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	return p;
}

/* Whatever byte is changed: loaded or refused with a reason, and then nothing is left. */
static void test_each_byte(void **state)
{
	struct er_pair *p = busy_pair(state);
	struct eg_guest *guest = p->a.end.guest;
	size_t i, n, refused = 0;
	uint8_t *data, was;

	n = save(guest, &data);
	for (i = 0; i < n; i++) {
		/* The tags of tables of thousands are all alike. */
		if (i > 4096 && i < n - 4096 && i % 97)
			continue;
		was = data[i];
		data[i] ^= i % 3 ? 0xff : 1;
		eg_reset(guest);
		if (load(guest, data, n)[0]) {
			refused++;
			expect_nothing(guest);
		}
		data[i] = was;
	}
	assert_in_range(refused, 500, n);
	eg_reset(guest);
	assert_string_equal(load(guest, data, n), "");
	free(data);
	free(p);
}

static void test_each_length(void **state)
{
	struct er_pair *p = busy_pair(state);
	struct eg_guest *guest = p->a.end.guest;
	uint64_t length;
	uint8_t *data;
	size_t i, n;

	n = save(guest, &data);
	eg_reset(guest);
	for (i = 24; i < n; i += 1 + i / 500) {
		length = htole64(i - 24);
		memcpy(data + 16, &length, sizeof(length));
		assert_string_not_equal(load(guest, data, i), "");
		expect_nothing(guest);
	}
	free(data);
	free(p);
}

static void test_other_limits(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	uint8_t *data;
	size_t n = save(guest, &data);

	eg_reset(guest);
	guest->rnic->ctx.limits.direct_qps--;
	assert_string_equal(load(guest, data, n),
			    "section limits, direct_qps: 32, but 31 here");
	free(data);
}

/* A state of @n bytes as it is, with a section behind it, as a later version has. */
static uint8_t *enlarged(const uint8_t *data, size_t *n, uint16_t flags)
{
	struct state_section_header header = {
		.kind = "of-version-2",
		.version = htole16(1),
		.flags = htole16(flags),
		.length = htole64(8),
	};
	struct state_header *first;
	uint8_t *more = calloc(1, *n + sizeof(header) + 8);

	memcpy(more, data, *n);
	memcpy(more + *n, &header, sizeof(header));
	*n += sizeof(header) + 8;
	first = (struct state_header *)more;
	first->version = htole32(STATE_VERSION + 1);
	first->length = htole64(*n - sizeof(*first));
	return more;
}

/*
 * A downgrade by one version: a section that may be skipped is, one that is required is
 * refused by its name, and a version that says that this one is too old is refused.
 */
static void test_from_a_later_version(void **state)
{
	struct er_pair *p = busy_pair(state);
	struct eg_guest *guest = p->a.end.guest;
	uint8_t *data, *more, *again;
	size_t n, size;

	size = save(guest, &data);
	eg_reset(guest);
	n = size;
	more = enlarged(data, &n, 0);
	assert_string_equal(load(guest, more, n),
			    "section of-version-2, header: unknown here, and required");
	expect_nothing(guest);
	free(more);
	n = size;
	more = enlarged(data, &n, STATE_SKIPPABLE);
	((struct state_header *)more)->oldest = htole32(STATE_VERSION + 1);
	assert_string_equal(load(guest, more, n),
			    "version 2, for readers from 2 on: this is version 1");
	((struct state_header *)more)->oldest = htole32(STATE_OLDEST);
	handed_over = true;
	assert_string_equal(load(guest, more, n), "");
	handed_over = false;
	assert_int_equal(save(guest, &again), size);
	assert_memory_equal(again, data, size);
	free(again);
	free(more);
	free(data);
	free(p);
}

/* A GID that another guest has is not taken away by a state from elsewhere. */
static void test_places(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	uint8_t raw[GID_SIZE], *data;
	size_t n = save(guest, &data);
	struct virtio_rdma_cmd_add_gid gid = { .index = 9 };
	const struct gid *owner;

	eg_gid(guest, raw);
	eg_reset(guest);
	memcpy(gid.gid, raw, GID_SIZE);
	assert_int_equal(eg_command(&engine->guest[1], VIRTIO_NET_CTRL_ROCE_ADD_GID, &gid,
				    sizeof(gid), NULL, 0), VIRTIO_NET_OK);
	assert_string_equal(load(guest, data, n), "");
	owner = fabric_find(engine->fabric, raw, 0);
	assert_ptr_equal(owner->end, &engine->guest[1].rnic->end);
	free(data);
}

/*
 * A state as version 1 wrote it, once for all.  STATE_GOLDEN in the environment writes the
 * file of the present version.
 */
static void test_golden(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	static uint8_t buf[1 << 20];
	uint8_t *data;
	FILE *file;
	size_t n;

	if (getenv("STATE_GOLDEN")) {
		struct er_pair *p = busy_pair(state);

		n = save(guest, &data);
		file = fopen(GOLDEN, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(data, 1, n, file), n);
		fclose(file);
		free(data);
		free(p);
		eg_reset(guest);
	}
	eg_reset(guest);
	file = fopen(GOLDEN, "r");
	assert_non_null(file);
	n = fread(buf, 1, sizeof(buf), file);
	fclose(file);
	handed_over = true;
	assert_string_equal(load(guest, buf, n), "");
	handed_over = false;
	assert_int_equal(guest->rnic->mrs.objs.used, 1);
	assert_int_equal(guest->rnic->qps.active_n, 1);
	/* The loaded state is saved again, byte for byte. */
	assert_int_equal(save(guest, &data), n);
	assert_memory_equal(data, buf, n);
	free(data);
}

/* Where the section @kind of a state begins; a copy of its header. */
static uint8_t *section_of(uint8_t *data, size_t n, const char *kind,
			   struct state_section_header *header)
{
	size_t at = sizeof(struct state_header);

	for (; at < n; at += sizeof(*header) + le64toh(header->length)) {
		memcpy(header, data + at, sizeof(*header));
		if (!strcmp(header->kind, kind))
			return data + at;
	}
	fail_msg("no section %s", kind);
	return NULL;
}

/* Bytes that version 2 has of each rule, behind those of version 1. */
#define RULE_COUNTS	(4u + 8 + 8)

/* Rules as version 1 of their section wrote them: no tag, and they have counted nothing. */
static void test_rules_without_counts(void **state)
{
	static const struct er_shape plain;
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct virtio_rdma_cmd_create_flow_long req = { .tag = htole32(7) };
	struct virtio_rdma_cmd_query_flow query;
	struct virtio_rdma_ack_create_flow ack;
	struct virtio_rdma_ack_query_flow counts;
	struct state_section_header header;
	uint8_t *data, *rule, *last;
	struct er_end end;
	size_t n;

	er_open(&end, guest, VIRTIO_IB_QPT_RAW_PACKET, &plain);
	req.flow.qpn = htole32(end.qp.qpn);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_FLOW_LONG, &req,
				    sizeof(req), &ack, sizeof(ack)), VIRTIO_NET_OK);
	n = save(guest, &data);
	rule = section_of(data, n, "rule", &header);
	last = rule + sizeof(header) + le64toh(header.length) - RULE_COUNTS;
	assert_int_equal(le16toh(header.version), 2);
	assert_int_equal(last[0], 7);
	header.version = htole16(1);
	header.length = htole64(le64toh(header.length) - RULE_COUNTS);
	memcpy(rule, &header, sizeof(header));
	n -= RULE_COUNTS;
	memmove(last, last + RULE_COUNTS, n - (last - data));
	((struct state_header *)data)->length = htole64(n - sizeof(struct state_header));
	eg_reset(guest);
	handed_over = true;
	assert_string_equal(load(guest, data, n), "");
	handed_over = false;
	query.flow = ack.flow;
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_QUERY_FLOW, &query,
				    sizeof(query), &counts, sizeof(counts)), VIRTIO_NET_OK);
	assert_int_equal(counts.packets | counts.bytes, 0);
	free(data);
}

/* ------------------------------------------------------------------------- */
/* Elsewhere                                                                 */
/* ------------------------------------------------------------------------- */

/* Packets are lost while a guest is elsewhere, and nobody waits for a timer. */
static void goes_and_comes(void **state, bool sender)
{
	struct eg_pair p = eg_pair_up(state, VIRTIO_IB_QPT_RC);
	struct rnic *away = (sender ? &p.a : &p.b)->guest->rnic;
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);

	eg_fill(p.a.guest, 0, 5000, 1);
	eg_recv(&p.b, 2, EG_IN, 5000);
	rnic_set_away(away, true);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	eg_expect_none(&p.b);
	rnic_set_away(away, false);
	rnic_look_at_all(away);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 2, 5000);
	eg_expect_none(&p.b);
	eg_check(p.b.guest, EG_IN, 5000, 1, 0);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

static void test_receiver_elsewhere(void **state)
{
	goes_and_comes(state, false);
}

static void test_sender_elsewhere(void **state)
{
	goes_and_comes(state, true);
}

/* A copy of a guest has no connections: its peers hear nothing, and both of its ends fail. */
static void test_copy(void **state)
{
	struct eg_pair p = eg_pair_up(state, VIRTIO_IB_QPT_RC);
	struct rnic *rnic = p.a.guest->rnic;
	struct eg_wr wr = eg_send(&p.a, 1, 0, 5000);

	eg_recv(&p.a, 2, EG_IN, 5000);
	eg_recv(&p.b, 3, EG_IN, 5000);
	rnic_set_away(rnic, true);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	rnic_parted(rnic);
	rnic_set_away(rnic, false);
	rnic_look_at_all(rnic);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_WR_FLUSH_ERR);
	eg_expect(&p.a, 2, VIRTIO_IB_WC_WR_FLUSH_ERR);
	eg_expect_none(&p.b);
	assert_int_equal(eg_query(p.a.guest, p.a.qpn).qp_state, VIRTIO_IB_QPS_ERR);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* The queues of a QP in ERR, which waits for requests to flush, are not there yet. */
static void test_error_without_queues(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct rnic *rnic = p.b.guest->rnic;
	struct virtq *rq = p.b.guest->rnic->qps.rq_vq[p.b.qpn];

	eg_to(&p.b, RC, VIRTIO_IB_QPS_ERR, &p.a);
	rnic_queue_stop(rnic, RNIC_RQ, p.b.qpn);
	assert_false(rnic_sleep(rnic));
	rnic_queue_start(rnic, RNIC_RQ, p.b.qpn, rq);
	eg_recv(&p.b, 7, EG_IN, 8);
	eg_run(p.engine);
	eg_expect(&p.b, 7, VIRTIO_IB_WC_WR_FLUSH_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_size, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_size_of_all, eg_setup_direct_many,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_each_byte, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_each_length, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_other_limits, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_from_a_later_version, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_places, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_golden, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_rules_without_counts, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_receiver_elsewhere, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_sender_elsewhere, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_copy, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_error_without_queues, eg_setup, eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
