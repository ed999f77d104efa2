/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the lower module.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM virtio_net_roce

#if !defined(_VNR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _VNR_TRACE_H

#include <linux/tracepoint.h>

#include "vnr_ctrl.h"

/* "0000:00:03.0" has 12; a domain may have more digits. */
#define VNR_TRACE_DEVICE	20

TRACE_DEFINE_ENUM(VNR_QUIESCED);
TRACE_DEFINE_ENUM(VNR_STARTING);
TRACE_DEFINE_ENUM(VNR_RUNNING);
TRACE_DEFINE_ENUM(VNR_LOST);
TRACE_DEFINE_ENUM(VNR_DEAD);

#define vnr_trace_state(state)				\
	__print_symbolic(state,				\
			 { VNR_QUIESCED, "quiesced" },	\
			 { VNR_STARTING, "starting" },	\
			 { VNR_RUNNING, "running" },	\
			 { VNR_LOST, "lost" },		\
			 { VNR_DEAD, "dead" })

/* The state of a function has changed; see vnr_life.c. */
TRACE_EVENT(vnr_state,
	    TP_PROTO(struct vnr_dev *dev, u8 from, u8 to),
	    TP_ARGS(dev, from, to),
	    TP_STRUCT__entry(__array(char, device, VNR_TRACE_DEVICE)
			     __field(u8, from)
			     __field(u8, to)),
	    TP_fast_assign(strscpy(__entry->device, dev_name(vnr_device(dev)),
				   VNR_TRACE_DEVICE);
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("device=%s from=%s to=%s", __entry->device,
		      vnr_trace_state(__entry->from),
		      vnr_trace_state(__entry->to)));

/*
 * A command on the control queue was answered or has failed.  It may be of any class:
 * those of virtio_net are among them.  Ack is the device's, 255 if there is none.
 */
TRACE_EVENT(vnr_command,
	    TP_PROTO(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd,
		     int result),
	    TP_ARGS(dev, cmd, result),
	    TP_STRUCT__entry(__array(char, device, VNR_TRACE_DEVICE)
			     __field(u8, class)
			     __field(u8, command)
			     __field(u8, ack)
			     __field(u64, waited_ns)
			     __field(u64, device_ns)
			     __field(int, result)),
	    TP_fast_assign(strscpy(__entry->device, dev_name(vnr_device(dev)),
				   VNR_TRACE_DEVICE);
			   __entry->class = ((u8 *)sg_virt(cmd->sg))[0];
			   __entry->command = ((u8 *)sg_virt(cmd->sg))[1];
			   __entry->ack = result ? VNR_CTRL_NO_ACK :
					  *(u8 *)sg_virt(&cmd->sg[cmd->nout]);
			   __entry->waited_ns =
				ktime_sub(cmd->sent ?: ktime_get(),
					  cmd->submitted);
			   __entry->device_ns =
				cmd->sent ? ktime_sub(ktime_get(), cmd->sent) :
					    0;
			   __entry->result = result;),
	    TP_printk("device=%s class=%u command=%u ack=%u waited_ns=%llu device_ns=%llu result=%d",
		      __entry->device, __entry->class, __entry->command,
		      __entry->ack, __entry->waited_ns, __entry->device_ns,
		      __entry->result));

/* The device has reported an event, as it wrote it. */
TRACE_EVENT(vnr_event,
	    TP_PROTO(struct vnr_dev *dev, u16 type, u32 number),
	    TP_ARGS(dev, type, number),
	    TP_STRUCT__entry(__array(char, device, VNR_TRACE_DEVICE)
			     __field(u16, type)
			     __field(u32, number)),
	    TP_fast_assign(strscpy(__entry->device, dev_name(vnr_device(dev)),
				   VNR_TRACE_DEVICE);
			   __entry->type = type;
			   __entry->number = number;),
	    TP_printk("device=%s type=%u number=%u", __entry->device,
		      __entry->type, __entry->number));

#endif /* _VNR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vnr_trace
#include <trace/define_trace.h>
