// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The most work that a guest can cause in a round, with slots of as many pieces as there may be.
 */
#include "tests/lib/engine_guest.h"
#include "virtio/virtq.h"

#define PAIRS		3
#define PIECES		1000u

/* A round has 2048 pieces, and the last message may take more: two slots, two CQs. */
#define ROUND_PIECES	2048u
#define LAST_PIECES	(5 * VIRTQ_IOV_MAX)

/* Tables of descriptors, behind what regions are made of. */
#define TABLES		(EG_DATA + EG_MR_SIZE)
#define TABLE_SIZE	(PIECES * sizeof(struct vring_desc))

/* Cuts each slot of a ring into pieces: single bytes, and the rest. */
static void cut_slots(struct eg_ring *ring, uint64_t *table, bool write)
{
	const uint16_t flags = write ? VRING_DESC_F_WRITE : 0;
	const uint32_t pieces = ring->slot_size < PIECES ? ring->slot_size : PIECES;
	struct vring_desc *desc;
	uint32_t i, j;

	ring->vq.indirect = true;
	for (i = 0; i < EG_QUEUE; i++) {
		desc = eg_ptr(ring->guest, *table);
		for (j = 0; j < pieces; j++)
			desc[j] = (struct vring_desc) {
				.addr = htole64(ring->slots + i * ring->slot_size + j),
				.len = htole32(j + 1 < pieces ? 1 :
					       ring->slot_size - j),
				.flags = htole16(flags | (j + 1 < pieces ?
							  VRING_DESC_F_NEXT : 0)),
				.next = htole16(j + 1),
			};
		ring->vq.desc[i] = (struct vring_desc) {
			.addr = htole64(*table),
			.len = htole32(pieces * sizeof(*desc)),
			.flags = htole16(VRING_DESC_F_INDIRECT),
		};
		*table += TABLE_SIZE;
	}
}

static void test_slots_of_many_pieces(void **state)
{
	struct engine *engine = *state;
	uint64_t table[EG_GUESTS] = { TABLES, TABLES };
	struct eg_end a[PAIRS], b[PAIRS];
	uint64_t before, most = 0, sum = 0;
	struct eg_wr wr;
	unsigned int i, j;
	bool work;

	for (i = 0; i < PAIRS; i++) {
		eg_pair(engine, VIRTIO_IB_QPT_RC, &a[i], &b[i]);
		cut_slots(&a[i].guest->sq[a[i].qpn], &table[0], false);
		cut_slots(&b[i].guest->rq[b[i].qpn], &table[1], false);
		for (j = 0; j < EG_QUEUE; j++) {
			eg_recv(&b[i], j, EG_IN, 64);
			wr = eg_send(&a[i], j, 0, 64);
			eg_post_send(&a[i], &wr);
		}
	}
	do {
		work = false;
		for (i = 0; i < EG_GUESTS; i++) {
			before = virtq_work();
			work |= rnic_poll(engine->guest[i].rnic);
			before = virtq_work() - before;
			if (before > most)
				most = before;
			sum += before;
		}
	} while (work);
	for (i = 0; i < PAIRS; i++)
		for (j = 0; j < EG_QUEUE; j++)
			eg_expect(&b[i], j, VIRTIO_IB_WC_SUCCESS);
	/* All of it was done, and it was too much for a round. */
	assert_true(sum > 10 * (ROUND_PIECES + LAST_PIECES));
	assert_in_range(most, 1, ROUND_PIECES + LAST_PIECES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slots_of_many_pieces, eg_setup,
						eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
