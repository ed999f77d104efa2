/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * NVMe and NVMe over Fabrics: numbers and layouts, as far as a target uses them.
 *
 * NVM Express Base Specification 1.4, NVMe over Fabrics 1.1.  All fields are little endian.
 */
#ifndef DEVICE_NVMF_NVME_H
#define DEVICE_NVMF_NVME_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#define NVME_DISCOVERY_NQN	"nqn.2014-08.org.nvmexpress.discovery"

/* 1.4.0 */
#define NVME_VERSION		0x00010400

#define NVME_NSID_ALL		0xffffffff
#define NVME_CNTLID_MAX		0xffef
#define NVME_CNTLID_DYNAMIC	0xffff
#define NVME_AQ_DEPTH		32
#define NVME_NQN_SIZE		256
#define NVME_PAGE		4096

/* ------------------------------------------------------------------------- */
/* Commands and answers                                                      */
/* ------------------------------------------------------------------------- */

/**
 * struct nvme_sgl - where data is
 * @addr:	address, or offset within the capsule's data
 * @len:	bytes; 24 bits of it, the first ones, if there is a key
 * @key:	the other 8 bits of @len and 24 bits of the key
 * @type:	type and subtype
 */
struct nvme_sgl {
	__le64 addr;
	uint8_t len[3];
	uint8_t key[4];
	uint8_t type;
};

#define NVME_SGL_OFFSET		0x01
#define NVME_SGL_KEYED		0x40
#define NVME_SGL_KEYED_INV	0x4f
#define NVME_SGL_TYPE(type)	((type) >> 4)

/**
 * struct nvme_sqe - a command
 * @opcode:	what to do
 * @flags:	bits 0 and 1: fused; bits 6 and 7: how the data is described
 * @cid:	its identifier
 * @nsid:	namespace; of a Fabrics command: its type in the first byte
 * @cdw2:	dword 2
 * @cdw3:	dword 3
 * @mptr:	metadata
 * @sgl:	data
 * @cdw10:	dwords 10 to 15
 */
struct nvme_sqe {
	uint8_t opcode;
	uint8_t flags;
	__le16 cid;
	union {
		__le32 nsid;
		uint8_t fctype;
	};
	__le32 cdw2;
	__le32 cdw3;
	__le64 mptr;
	struct nvme_sgl sgl;
	__le32 cdw10;
	__le32 cdw11;
	__le32 cdw12;
	__le32 cdw13;
	__le32 cdw14;
	__le32 cdw15;
};

#define NVME_FLAGS_FUSED	0x03
#define NVME_FLAGS_PSDT		0xc0
#define NVME_FLAGS_SGL		0x40

/**
 * struct nvme_cqe - an answer
 * @result:	depends on the command
 * @sqhd:	head of the submission queue
 * @sqid:	reserved
 * @cid:	identifier of the command
 * @status:	bits 1 to 15
 */
struct nvme_cqe {
	__le64 result;
	__le16 sqhd;
	__le16 sqid;
	__le16 cid;
	__le16 status;
};

/* Opcodes of the administration queue. */
#define NVME_ADMIN_LOG_PAGE	0x02
#define NVME_ADMIN_IDENTIFY	0x06
#define NVME_ADMIN_ABORT	0x08
#define NVME_ADMIN_SET_FEATURES	0x09
#define NVME_ADMIN_GET_FEATURES	0x0a
#define NVME_ADMIN_EVENT	0x0c
#define NVME_ADMIN_KEEP_ALIVE	0x18

/* Opcodes of I/O queues. */
#define NVME_IO_FLUSH		0x00
#define NVME_IO_WRITE		0x01
#define NVME_IO_READ		0x02
#define NVME_IO_ZEROES		0x08
#define NVME_IO_DSM		0x09

/* Opcode of both, and types of its commands. */
#define NVME_FABRICS		0x7f
#define NVME_FABRICS_SET	0x00
#define NVME_FABRICS_CONNECT	0x01
#define NVME_FABRICS_GET	0x04

/* Opcodes, and types, tell the direction of data by their two lowest bits. */
#define NVME_DIR		0x03
#define NVME_DIR_IN		0x01
#define NVME_DIR_OUT		0x02

/* ------------------------------------------------------------------------- */
/* Statuses: type and code.  "Do not retry" is a bit of its own              */
/* ------------------------------------------------------------------------- */

#define NVME_OK			0x000
#define NVME_INVALID_OPCODE	0x001
#define NVME_INVALID_FIELD	0x002
#define NVME_TRANSFER_ERROR	0x004
#define NVME_INTERNAL		0x006
#define NVME_INVALID_NS		0x00b
#define NVME_SEQUENCE		0x00c
#define NVME_SGL_LENGTH		0x00f
#define NVME_SGL_BAD_TYPE	0x011
#define NVME_SGL_BAD_OFFSET	0x016
#define NVME_NS_PROTECTED	0x020
#define NVME_LBA_RANGE		0x080
#define NVME_CAPACITY		0x081
#define NVME_QID_INVALID	0x101
#define NVME_EVENT_LIMIT	0x105
#define NVME_INVALID_LOG	0x109
#define NVME_NOT_SAVEABLE	0x10d
#define NVME_CONNECT_FORMAT	0x180
#define NVME_CONNECT_BUSY	0x181
#define NVME_CONNECT_PARAM	0x182
#define NVME_CONNECT_HOST	0x184
#define NVME_WRITE_FAULT	0x280
#define NVME_READ_ERROR		0x281
#define NVME_DNR		0x4000

/* ------------------------------------------------------------------------- */
/* Fabrics                                                                   */
/* ------------------------------------------------------------------------- */

/**
 * struct nvmf_cm_req - private data of the connection manager's REQ
 * @recfmt:	0
 * @qid:	number of the queue
 * @hrqsize:	answers that the host can hold
 * @hsqsize:	commands that it sends at once, less 1
 * @cntlid:	of an I/O queue: its controller; it may be 0
 * @rsvd:	reserved
 */
struct nvmf_cm_req {
	__le16 recfmt;
	__le16 qid;
	__le16 hrqsize;
	__le16 hsqsize;
	__le16 cntlid;
	uint8_t rsvd[22];
};

/**
 * struct nvmf_cm_rep - private data of the REP
 * @recfmt:	0
 * @crqsize:	commands that the target can hold
 * @rsvd:	reserved
 */
struct nvmf_cm_rep {
	__le16 recfmt;
	__le16 crqsize;
	uint8_t rsvd[28];
};

/**
 * struct nvmf_cm_rej - private data of the REJ
 * @recfmt:	0
 * @status:	NVMF_CM_…
 */
struct nvmf_cm_rej {
	__le16 recfmt;
	__le16 status;
};

#define NVMF_CM_LEN		0x01
#define NVMF_CM_RECFMT		0x02
#define NVMF_CM_QID		0x03
#define NVMF_CM_HSQSIZE		0x04
#define NVMF_CM_HRQSIZE		0x05
#define NVMF_CM_RESOURCES	0x06

/**
 * struct nvmf_connect - the Connect command, from dword 10 on
 * @recfmt:	0
 * @qid:	number of the queue
 * @sqsize:	its size, less 1
 * @cattr:	attributes
 * @rsvd:	reserved
 * @kato:	keep-alive timeout in ms
 * @rsvd2:	reserved
 */
struct nvmf_connect {
	__le16 recfmt;
	__le16 qid;
	__le16 sqsize;
	uint8_t cattr;
	uint8_t rsvd;
	__le32 kato;
	uint8_t rsvd2[12];
};

/* In @cattr: the target does not tell the head of the queue. */
#define NVMF_CATTR_NO_FLOW	0x04

/**
 * struct nvmf_connect_data - data of the Connect command
 * @hostid:	identifier of the host
 * @cntlid:	controller
 * @rsvd:	reserved
 * @subnqn:	name of the subsystem
 * @hostnqn:	name of the host
 * @rsvd2:	reserved
 */
struct nvmf_connect_data {
	uint8_t hostid[16];
	__le16 cntlid;
	uint8_t rsvd[238];
	char subnqn[NVME_NQN_SIZE];
	char hostnqn[NVME_NQN_SIZE];
	uint8_t rsvd2[256];
};

/* Result of %NVME_CONNECT_PARAM: a byte of the command or, with this bit, of its data. */
#define NVMF_PARAM_DATA		(1 << 16)
#define NVMF_PARAM_CDW10	40

/**
 * struct nvmf_property - Property Get and Set, from dword 10 on
 * @attrib:	0: 4 bytes; 1: 8 bytes
 * @rsvd:	reserved
 * @offset:	which one
 * @value:	what it becomes
 * @rsvd2:	reserved
 */
struct nvmf_property {
	uint8_t attrib;
	uint8_t rsvd[3];
	__le32 offset;
	__le64 value;
	uint8_t rsvd2[8];
};

#define NVME_REG_CAP		0x00
#define NVME_REG_VS		0x08
#define NVME_REG_CC		0x14
#define NVME_REG_CSTS		0x1c

/* CAP: contiguous queues, 7.5 s to get ready, the NVM command set. */
#define NVME_CAP_CQR		(1ULL << 16)
#define NVME_CAP_TO		(15ULL << 24)
#define NVME_CAP_NVM		(1ULL << 37)

#define NVME_CC_EN		(1 << 0)
/* Command set, page size and arbitration, all of which are 0. */
#define NVME_CC_KIND		0x3ff0
#define NVME_CC_SHN		(3 << 14)
/* Sizes of entries, as powers of two: 64 and 16 bytes. */
#define NVME_CC_SIZES		(0xff << 16)
#define NVME_CC_SIZES_NVM	(0x46 << 16)

#define NVME_CSTS_RDY		(1 << 0)
#define NVME_CSTS_CFS		(1 << 1)
#define NVME_CSTS_SHUT		(2 << 2)

/* ------------------------------------------------------------------------- */
/* Identify                                                                  */
/* ------------------------------------------------------------------------- */

#define NVME_CNS_NS		0x00
#define NVME_CNS_CTRL		0x01
#define NVME_CNS_NS_LIST	0x02
#define NVME_CNS_NS_DESC	0x03
#define NVME_CNS_CS_NS		0x05
#define NVME_CNS_CS_CTRL	0x06

/** struct nvme_id_ctrl - a controller; the specification's names */
struct nvme_id_ctrl {
	__le16 vid;
	__le16 ssvid;
	char sn[20];
	char mn[40];
	char fr[8];
	uint8_t rab;
	uint8_t ieee[3];
	uint8_t cmic;
	uint8_t mdts;
	__le16 cntlid;
	__le32 ver;
	__le32 rtd3r;
	__le32 rtd3e;
	__le32 oaes;
	__le32 ctratt;
	uint8_t rsvd100[11];
	uint8_t cntrltype;
	uint8_t rsvd112[144];
	__le16 oacs;
	uint8_t acl;
	uint8_t aerl;
	uint8_t frmw;
	uint8_t lpa;
	uint8_t elpe;
	uint8_t npss;
	uint8_t rsvd264[56];
	__le16 kas;
	uint8_t rsvd322[190];
	uint8_t sqes;
	uint8_t cqes;
	__le16 maxcmd;
	__le32 nn;
	__le16 oncs;
	__le16 fuses;
	uint8_t fna;
	uint8_t vwc;
	uint8_t rsvd526[10];
	__le32 sgls;
	__le32 mnan;
	uint8_t rsvd544[224];
	char subnqn[NVME_NQN_SIZE];
	uint8_t rsvd1024[768];
	__le32 ioccsz;
	__le32 iorcsz;
	__le16 icdoff;
	uint8_t fcatt;
	uint8_t msdbd;
	uint8_t rsvd1804[2292];
};

#define NVME_CMIC_MANY		0x03
#define NVME_OAES_NS		(1 << 8)
#define NVME_CTRATT_HOSTID	(1 << 0)
#define NVME_CTRATT_TRAFFIC	(1 << 6)
#define NVME_CTRL_IO		1
#define NVME_CTRL_DISCOVERY	2
#define NVME_LPA_EFFECTS	(1 << 1)
#define NVME_LPA_EXTENDED	(1 << 2)
#define NVME_ONCS_DSM		(1 << 2)
#define NVME_ONCS_ZEROES	(1 << 3)
/* There is a cache; all namespaces at once are not flushed. */
#define NVME_VWC		0x05
/* Without alignment; keyed; within the capsule. */
#define NVME_SGLS		(1 << 0 | 1 << 2 | 1 << 20)

/** struct nvme_id_ns - a namespace; the specification's names */
struct nvme_id_ns {
	__le64 nsze;
	__le64 ncap;
	__le64 nuse;
	uint8_t nsfeat;
	uint8_t nlbaf;
	uint8_t flbas;
	uint8_t mc;
	uint8_t dpc;
	uint8_t dps;
	uint8_t nmic;
	uint8_t rescap;
	uint8_t rsvd32[67];
	uint8_t nsattr;
	uint8_t rsvd100[4];
	uint8_t nguid[16];
	uint8_t eui64[8];
	__le16 lbaf_ms;
	uint8_t lbaf_ds;
	uint8_t lbaf_rp;
	uint8_t rsvd132[3964];
};

#define NVME_NMIC_SHARED	0x01
#define NVME_NSATTR_PROTECTED	0x01

/* Descriptors of a namespace: type, length, two reserved bytes, the identifier. */
#define NVME_NID_HEAD		4
#define NVME_NID_NGUID		2
#define NVME_NID_UUID		3
#define NVME_NID_CSI		4

/* ------------------------------------------------------------------------- */
/* Features, log pages, ranges                                               */
/* ------------------------------------------------------------------------- */

#define NVME_FEAT_CACHE		0x06
#define NVME_FEAT_QUEUES	0x07
#define NVME_FEAT_EVENTS	0x0b
#define NVME_FEAT_KATO		0x0f
#define NVME_FEAT_HOSTID	0x81
#define NVME_FEAT_SAVE		0x80000000u

/* The result of an event: a notice that the list of changed namespaces tells more. */
#define NVME_EVENT_NS		(2 | NVME_LOG_CHANGED_NS << 16)

/* A host that reads a log page keeps its event. */
#define NVME_LOG_RETAIN		(1 << 15)

/* Bytes of the identifier of a host, in its long form. */
#define NVME_HOSTID_SIZE	16

#define NVME_LOG_ERROR		0x01
#define NVME_LOG_HEALTH		0x02
#define NVME_LOG_FIRMWARE	0x03
#define NVME_LOG_CHANGED_NS	0x04
#define NVME_LOG_EFFECTS	0x05
#define NVME_LOG_DISCOVERY	0x70

#define NVME_ERROR_SIZE		64
#define NVME_HEALTH_SIZE	512
#define NVME_FIRMWARE_SIZE	512
#define NVME_EFFECTS_SIZE	4096

/* Effects of commands: 4 bytes for each opcode, those of I/O queues behind the others. */
#define NVME_EFFECTS_IO		1024
#define NVME_EFFECTS_SUPPORTED	(1 << 0)
#define NVME_EFFECTS_CHANGES	(1 << 1)

/**
 * struct nvmf_disc_head - the discovery log page begins with it
 * @genctr:	changes with the page
 * @numrec:	records that follow
 * @recfmt:	0
 * @rsvd:	reserved
 */
struct nvmf_disc_head {
	__le64 genctr;
	__le64 numrec;
	__le16 recfmt;
	uint8_t rsvd[1006];
};

/** struct nvmf_disc_entry - a record of it; the specification's names */
struct nvmf_disc_entry {
	uint8_t trtype;
	uint8_t adrfam;
	uint8_t subtype;
	uint8_t treq;
	__le16 portid;
	__le16 cntlid;
	__le16 asqsz;
	uint8_t rsvd10[22];
	char trsvcid[32];
	uint8_t rsvd64[192];
	char subnqn[NVME_NQN_SIZE];
	char traddr[256];
	uint8_t qptype;
	uint8_t prtype;
	uint8_t cms;
	uint8_t rsvd771[253];
};

#define NVMF_TRTYPE_RDMA	1
#define NVMF_ADRFAM_IPV4	1
#define NVMF_ADRFAM_IPV6	2
#define NVMF_SUBTYPE_NVM	2
#define NVMF_QPTYPE_CONNECTED	1
#define NVMF_PRTYPE_ROCEV2	4
#define NVMF_CMS_RDMA_CM	1

/**
 * struct nvme_range - a range of Dataset Management
 * @cattr:	what it is used for
 * @nlb:	blocks
 * @slba:	the first one
 */
struct nvme_range {
	__le32 cattr;
	__le32 nlb;
	__le64 slba;
};

#define NVME_DSM_DEALLOCATE	(1 << 2)
#define NVME_RANGES_MAX		256

/* In dword 12 of Write, Write Zeroes. */
#define NVME_RW_FUA		(1u << 30)
#define NVME_ZEROES_DEAC	(1u << 25)

_Static_assert(sizeof(struct nvme_sgl) == 16, "SGL descriptor");
_Static_assert(sizeof(struct nvme_sqe) == 64, "submission queue entry");
_Static_assert(offsetof(struct nvme_sqe, cdw10) == NVMF_PARAM_CDW10, "dword 10");
_Static_assert(sizeof(struct nvme_cqe) == 16, "completion queue entry");
_Static_assert(sizeof(struct nvmf_cm_req) == 32, "private data of REQ");
_Static_assert(sizeof(struct nvmf_cm_rep) == 32, "private data of REP");
_Static_assert(sizeof(struct nvmf_connect) == 24, "Connect");
_Static_assert(sizeof(struct nvmf_connect_data) == 1024, "data of Connect");
_Static_assert(sizeof(struct nvmf_property) == 24, "Property Get and Set");
_Static_assert(sizeof(struct nvme_id_ctrl) == NVME_PAGE, "Identify Controller");
_Static_assert(offsetof(struct nvme_id_ctrl, cntrltype) == 111, "CNTRLTYPE");
_Static_assert(offsetof(struct nvme_id_ctrl, oacs) == 256, "OACS");
_Static_assert(offsetof(struct nvme_id_ctrl, kas) == 320, "KAS");
_Static_assert(offsetof(struct nvme_id_ctrl, sqes) == 512, "SQES");
_Static_assert(offsetof(struct nvme_id_ctrl, sgls) == 536, "SGLS");
_Static_assert(offsetof(struct nvme_id_ctrl, subnqn) == 768, "SUBNQN");
_Static_assert(offsetof(struct nvme_id_ctrl, ioccsz) == 1792, "IOCCSZ");
_Static_assert(sizeof(struct nvme_id_ns) == NVME_PAGE, "Identify Namespace");
_Static_assert(offsetof(struct nvme_id_ns, nsattr) == 99, "NSATTR");
_Static_assert(offsetof(struct nvme_id_ns, lbaf_ms) == 128, "LBAF0");
_Static_assert(sizeof(struct nvmf_disc_head) == 1024, "discovery log page");
_Static_assert(sizeof(struct nvmf_disc_entry) == 1024, "discovery log page entry");
_Static_assert(offsetof(struct nvmf_disc_entry, qptype) == 768, "TSAS");
_Static_assert(sizeof(struct nvme_range) == 16, "range");

#endif /* DEVICE_NVMF_NVME_H */
