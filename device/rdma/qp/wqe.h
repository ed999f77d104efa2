/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests, copied out of their slots.
 */
#ifndef DEVICE_RDMA_QP_WQE_H
#define DEVICE_RDMA_QP_WQE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/pkt.h"
#include "rdma/object/sg.h"
#include "rdma/qp/wq.h"
#include "uapi/virtio_net_roce.h"

struct qp_post;

/**
 * enum vendor_err - why a work request failed, for the completion's vendor_err
 */
enum vendor_err {
	VENDOR_ERR_NONE,
	VENDOR_ERR_SLOT_SHORT,		/* the slot ends before the request */
	VENDOR_ERR_OPCODE,		/* unknown, or not for this QP type */
	VENDOR_ERR_FLAGS,		/* unknown, or not for this opcode */
	VENDOR_ERR_NUM_SGE,		/* more elements than the QP takes */
	VENDOR_ERR_INLINE_LEN,		/* more inline data than fits */
	VENDOR_ERR_LENGTH,		/* not as long as it may or must be */
	VENDOR_ERR_SGE,			/* key, bounds, rights of an element */
	VENDOR_ERR_NO_READS,		/* READ on a QP without resources */
	VENDOR_ERR_AH,			/* unknown address handle */
	VENDOR_ERR_RQ_SHORT,		/* message longer than the request */
	VENDOR_ERR_NO_FAST_REG,		/* the QP was not created for it */
	VENDOR_ERR_FAST_REG,		/* a registration is not possible */
	VENDOR_ERR_INVALIDATE,		/* a key that cannot be made invalid */
	VENDOR_ERR_FLUSH,		/* unknown placement type or level */
	VENDOR_ERR_BIND,		/* a window cannot be bound so */
	VENDOR_ERR_SRQN,		/* no number of an XRC SRQ */
	VENDOR_ERR_TSO,			/* headers, or their length, or that of segments */
};

/**
 * struct wqe - a send request
 * @wr_id:	of the driver
 * @remote_addr: RDMA, atomic: address in the peer's memory region
 * @rkey:	RDMA, atomic: its key
 * @flush_len:	FLUSH: bytes from @remote_addr on
 * @flush_type:	FLUSH: &enum virtio_ib_flush_type
 * @flush_level: FLUSH: &enum virtio_ib_flush_level
 * @compare:	CMP_SWAP: what is to be there
 * @swap_add:	CMP_SWAP: what replaces it; FETCH_ADD: what is added
 * @remote_qpn:	UD: receiver
 * @remote_qkey: UD: its Q_Key
 * @ah:		UD: address handle
 * @mss:	TSO: bytes of payload of a frame
 * @header_len:	TSO: bytes of wqe_header()
 * @reg:	REG_MR
 * @bind:	BIND_MW
 * @srqn:	XRC_INI: XRC SRQ that it is for
 * @imm:	immediate data
 * @inv_rkey:	SEND_WITH_INV, LOCAL_INV: key
 * @length:	bytes of payload
 * @pos:	position of its first packet, once begun
 * @npsn:	number of PSNs that it takes, once begun
 * @index:	its position in the queue
 * @head:	of its slot
 * @kind:	&enum pkt_kind; none if nothing is sent
 * @opcode:	&enum virtio_ib_wr_opcode
 * @wc_opcode:	opcode of its completion
 * @extra:	&enum pkt_extra
 * @fence:	wait for READs and atomic operations before it
 * @signaled:	leaves a completion
 * @solicited:	solicited event
 * @ip_csum:	RAW_PACKET: the checksums are to be made
 * @inlined:	payload is @data, not @sge
 * @begun:	its position is known; if nothing is sent, it was carried out
 * @reading:	one that is answered by more than an ACK, counted as outstanding
 * @status:	error that was found before it was sent, to be completed with
 *		when its turn has come
 * @vendor_err:	&enum vendor_err
 * @posted:	the device has posted it, and not the driver: it has no slot and no completion
 * @post:	who has, or NULL if nobody waits for its end
 * @flat:	if @posted: payload, plain memory
 * @num_sge:	number of @sge
 * @sge:	payload
 * @data:	payload
 */
struct wqe {
	uint64_t wr_id;
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
			union {
				struct {
					uint32_t flush_len;
					uint8_t flush_type;
					uint8_t flush_level;
				};
				struct {
					uint64_t compare;
					uint64_t swap_add;
				};
			};
		};
		struct {
			uint32_t remote_qpn;
			uint32_t remote_qkey;
			uint32_t ah;
		};
		struct {
			uint16_t mss;
			uint16_t header_len;
		};
		struct mr_fast reg;
		struct mr_bind bind;
	};
	uint32_t srqn;
	__be32 imm;
	uint32_t inv_rkey;
	uint32_t length;
	uint32_t pos;
	uint32_t npsn;
	uint32_t index;
	uint16_t head;
	uint8_t kind;
	uint8_t opcode;
	uint8_t wc_opcode;
	uint8_t extra;
	bool fence;
	bool signaled;
	bool solicited;
	bool ip_csum;
	bool inlined;
	bool begun;
	bool reading;
	uint8_t status;
	uint8_t vendor_err;
	bool posted;
	struct qp_post *post;
	uint8_t *flat;
	uint8_t num_sge;
	union {
		struct sge sge[RNIC_MAX_SGE];
		uint8_t data[VIRTIO_RDMA_INLINE_SIZE];
	};
};

/**
 * struct rwqe - a receive request
 * @wr_id:	of the driver
 * @length:	bytes that it has room for
 * @index:	its position in the queue; of an SRQ: its cookie
 * @head:	of its slot
 * @vendor_err:	&enum vendor_err; not 0 if it is malformed
 * @num_sge:	number of @sge
 * @sge:	where the message goes
 */
struct rwqe {
	uint64_t wr_id;
	uint64_t length;
	uint32_t index;
	uint16_t head;
	uint8_t vendor_err;
	uint8_t num_sge;
	struct sge sge[RNIC_MAX_SGE];
};

/** wqe_header_room() - bytes of a slot that headers of @len bytes take */
static inline size_t wqe_header_room(size_t len)
{
	return (len + 15) / 16 * 16;
}

/** wqe_header() - headers of a TSO request, behind its elements */
static inline uint8_t *wqe_header(struct wqe *wqe)
{
	return wqe->data + sizeof(wqe->data) - wqe_header_room(wqe->header_len);
}

/** flush_is_known() - are placement type and selectivity level some that exist? */
static inline bool flush_is_known(uint8_t type, uint8_t level)
{
	return type && !(type & ~(VIRTIO_IB_FLUSH_GLOBAL |
				  VIRTIO_IB_FLUSH_PERSISTENT)) &&
	       level <= VIRTIO_IB_FLUSH_MR;
}

/**
 * wqe_parse() - copy a send request out of its slot and check it
 * @slot:	slot
 * @type:	&enum virtio_ib_qp_type
 * @max_sge:	elements that the QP takes
 * @wqe:	filled in; if it is malformed, with @status and @vendor_err, and
 *		with @wr_id if that much is there
 */
void wqe_parse(const struct wr_slot *slot, uint8_t type, uint32_t max_sge,
	       struct wqe *wqe);

/** wqe_refuse_extension() - fail a request whose opcode is not in the RFC */
void wqe_refuse_extension(struct wqe *wqe);

/**
 * wqe_set_opcode() - fill in what follows from the opcode
 * @wqe:	request with @opcode and @inlined
 * @type:	&enum virtio_ib_qp_type
 *
 * Return: false if that type of QP has no such request.
 */
bool wqe_set_opcode(struct wqe *wqe, uint8_t type);

/**
 * rwqe_parse() - copy a receive request out of its slot and check it
 * @slot:	slot
 * @max_sge:	elements that the QP takes
 * @rwqe:	filled in
 */
void rwqe_parse(const struct wr_slot *slot, uint32_t max_sge, struct rwqe *rwqe);

#endif /* DEVICE_RDMA_QP_WQE_H */
