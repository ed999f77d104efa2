/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the RDMA driver.  A device is named by its PCI function, as the
 * tracepoints of virtio_net_roce name it.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM virtio_roce

#if !defined(_VROCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _VROCE_TRACE_H

#include <linux/device.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "virtio_net_roce_aux.h"

/* "0000:00:03.0" has 12; a domain may have more digits. */
#define VROCE_TRACE_DEVICE	20
#define VROCE_TRACE_COMMAND	20

TRACE_DEFINE_ENUM(IB_QPS_RESET);
TRACE_DEFINE_ENUM(IB_QPS_INIT);
TRACE_DEFINE_ENUM(IB_QPS_RTR);
TRACE_DEFINE_ENUM(IB_QPS_RTS);
TRACE_DEFINE_ENUM(IB_QPS_SQD);
TRACE_DEFINE_ENUM(IB_QPS_SQE);
TRACE_DEFINE_ENUM(IB_QPS_ERR);
TRACE_DEFINE_ENUM(VIRTIO_NET_ROCE_RUNS);
TRACE_DEFINE_ENUM(VIRTIO_NET_ROCE_DEAD);
TRACE_DEFINE_ENUM(VIRTIO_NET_ROCE_QUIESCED);

#define vroce_trace_qp_state(state)			\
	__print_symbolic(state,				\
			 { IB_QPS_RESET, "RESET" },	\
			 { IB_QPS_INIT, "INIT" },	\
			 { IB_QPS_RTR, "RTR" },		\
			 { IB_QPS_RTS, "RTS" },		\
			 { IB_QPS_SQD, "SQD" },		\
			 { IB_QPS_SQE, "SQE" },		\
			 { IB_QPS_ERR, "ERR" })

#define vroce_trace_health(state)				\
	__print_symbolic(state,					\
			 { VIRTIO_NET_ROCE_RUNS, "running" },	\
			 { VIRTIO_NET_ROCE_DEAD, "dead" },	\
			 { VIRTIO_NET_ROCE_QUIESCED, "quiesced" })

/* A command was carried out; the time is that of the caller. */
TRACE_EVENT(vroce_command,
	    TP_PROTO(const struct virtio_net_roce_aux *aux, const char *name,
		     u8 command, u64 ns, int result),
	    TP_ARGS(aux, name, command, ns, result),
	    TP_STRUCT__entry(__array(char, device, VROCE_TRACE_DEVICE)
			     __array(char, name, VROCE_TRACE_COMMAND)
			     __field(u8, command)
			     __field(u64, ns)
			     __field(int, result)),
	    TP_fast_assign(strscpy(__entry->device,
				   dev_name(aux->adev.dev.parent),
				   VROCE_TRACE_DEVICE);
			   strscpy(__entry->name, name, VROCE_TRACE_COMMAND);
			   __entry->command = command;
			   __entry->ns = ns;
			   __entry->result = result;),
	    TP_printk("device=%s name=%s command=%u ns=%llu result=%d",
		      __entry->device, __entry->name, __entry->command,
		      __entry->ns, __entry->result));

/* A QP has another state: one that was set, or one that the device was found to have. */
TRACE_EVENT(vroce_qp_state,
	    TP_PROTO(const struct virtio_net_roce_aux *aux, u32 qpn, u8 from,
		     u8 to),
	    TP_ARGS(aux, qpn, from, to),
	    TP_STRUCT__entry(__array(char, device, VROCE_TRACE_DEVICE)
			     __field(u32, qpn)
			     __field(u8, from)
			     __field(u8, to)),
	    TP_fast_assign(strscpy(__entry->device,
				   dev_name(aux->adev.dev.parent),
				   VROCE_TRACE_DEVICE);
			   __entry->qpn = qpn;
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("device=%s qpn=%u from=%s to=%s", __entry->device,
		      __entry->qpn,
		      vroce_trace_qp_state(__entry->from),
		      vroce_trace_qp_state(__entry->to)));

/* The driver was told that the device is dead or quiesced. */
TRACE_EVENT(vroce_health,
	    TP_PROTO(const struct virtio_net_roce_aux *aux, u8 health),
	    TP_ARGS(aux, health),
	    TP_STRUCT__entry(__array(char, device, VROCE_TRACE_DEVICE)
			     __field(u8, health)),
	    TP_fast_assign(strscpy(__entry->device,
				   dev_name(aux->adev.dev.parent),
				   VROCE_TRACE_DEVICE);
			   __entry->health = health;),
	    TP_printk("device=%s health=%s", __entry->device,
		      vroce_trace_health(__entry->health)));

#endif /* _VROCE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vroce_trace
#include <trace/define_trace.h>
