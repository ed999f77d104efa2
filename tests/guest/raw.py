#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A raw packet QP: sends frames, or receives those that a rule names.

raw.py caps DEVICE                    prints the capabilities of raw packets: bits, bytes of TSO
raw.py stream DEVICE MSS LENGTH HEADER  LENGTH bytes, cut into frames, each with these headers
raw.py send DEVICE FRAME...           frames in hexadecimal; "csum:" in front of one asks for
                                      its checksums
raw.py receive DEVICE COUNT RULE...   prints "ready", and then each frame, with "ok:" in front
                                      of it if its checksums are right
raw.py strip DEVICE COUNT RULE...     likewise without tags, and with "TAG:" in front of those
                                      that had one
RULE is all, sniffer, or WHAT=VALUE[,...] with dst (MAC address), type, vlan, ip (destination),
udp and tcp (destination ports).
"""

import sys

import pyverbs.enums as e
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.flow import Flow, FlowAttr
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.spec import EthSpec, Ipv4ExtSpec, TcpUdpSpec
from pyverbs.wr import SGE, RecvWR, SendWR

SIZE = 2048
FLAGS = {"": e.IBV_SEND_SIGNALED, "csum": e.IBV_SEND_SIGNALED | e.IBV_SEND_IP_CSUM}


def specs(text):
    """The headers that a rule looks for."""
    wanted = dict(part.split("=") for part in text.split(","))
    found = []
    if {"dst", "type", "vlan"} & set(wanted):
        vlan = wanted.get("vlan")
        found.append(EthSpec(dst_mac=wanted.get("dst"),
                             ether_type=int(wanted["type"], 16) if "type" in wanted else None,
                             vlan_tag=int(vlan) if vlan else None,
                             vlan_tag_mask=0xfff if vlan else None))
    if "ip" in wanted:
        found.append(Ipv4ExtSpec(dst_ip=wanted["ip"]))
    for name, kind in (("udp", e.IBV_FLOW_SPEC_UDP), ("tcp", e.IBV_FLOW_SPEC_TCP)):
        if name in wanted:
            found.append(TcpUdpSpec(kind, dst_port=int(wanted[name])))
    return found


def rule(qp, text, priority):
    """A flow rule for a QP."""
    types = {"all": e.IBV_FLOW_ATTR_ALL_DEFAULT, "sniffer": e.IBV_FLOW_ATTR_SNIFFER}
    found = [] if text in types else specs(text)
    attr = FlowAttr(num_of_specs=len(found), priority=priority,
                    flow_type=types.get(text, e.IBV_FLOW_ATTR_NORMAL))
    for spec in found:
        attr.specs.append(spec)
    return Flow(qp, attr)


def completion(cq):
    """Length, flags and tag of the next completion."""
    while cq.start_poll(PollCqAttr()):
        pass
    try:
        assert cq.status == e.IBV_WC_SUCCESS, cq.status
        return cq.read_byte_len(), cq.read_wc_flags(), cq.read_cvlan()
    finally:
        cq.end_poll()


def stream(ctx, pd, cq, mss, length, header):
    """Sends a stream by one request."""
    attr = QPInitAttrEx(qp_type=e.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq, sq_sig_all=1, pd=pd,
                        cap=QPCap(max_send_wr=8), max_tso_header=len(header),
                        comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
                        e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                        send_ops_flags=e.IBV_QP_EX_WITH_TSO)
    with QPEx(ctx, attr, QPAttr()) as qp:
        memory = MR(pd, 65536, e.IBV_ACCESS_LOCAL_WRITE)
        memory.write(bytes(number % 251 for number in range(length)), length)
        head = MR(pd, len(header), e.IBV_ACCESS_LOCAL_WRITE)
        head.write(header, len(header))
        qp.wr_start()
        qp.wr_flags = e.IBV_SEND_SIGNALED
        qp.wr_send_tso(head.buf, len(header), mss)
        qp.wr_set_sge(SGE(memory.buf, length, memory.lkey))
        qp.wr_complete()
        completion(cq)


def main():
    """Returns the exit status."""
    what, device, *arguments = sys.argv[1:]
    strip = what == "strip"
    with Context(name=device) as ctx, PD(ctx) as pd, \
            CQEX(ctx, CqInitAttrEx(cqe=256, wc_flags=e.IBV_WC_STANDARD_FLAGS |
                                   e.IBV_WC_EX_WITH_CVLAN)) as cq:
        if what == "caps":
            attr = ctx.query_device_ex()
            print(attr.raw_packet_caps, attr.tso_caps.max_tso, attr.tso_caps.supported_qpts)
            return 0
        if what == "stream":
            stream(ctx, pd, cq, int(arguments[0]), int(arguments[1]),
                   bytes.fromhex(arguments[2]))
            return 0
        attr = QPInitAttrEx(qp_type=e.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq, sq_sig_all=1, pd=pd,
                            cap=QPCap(max_send_wr=128, max_recv_wr=128),
                            comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_CREATE_FLAGS,
                            create_flags=e.IBV_QP_CREATE_CVLAN_STRIPPING if strip else 0)
        with QP(ctx, attr, QPAttr()) as qp:
            if what == "send":
                memory = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
                for text in arguments:
                    flags, _, digits = text.rpartition(":")
                    frame = bytes.fromhex(digits)
                    memory.write(frame, len(frame))
                    qp.post_send(SendWR(num_sge=1, send_flags=FLAGS[flags],
                                        sg=[SGE(memory.buf, len(frame), memory.lkey)]))
                    completion(cq)
                return 0
            count = int(arguments[0])
            buffers = [MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE) for _ in range(count)]
            for number, memory in enumerate(buffers):
                qp.post_recv(RecvWR(wr_id=number, num_sge=1,
                                    sg=[SGE(memory.buf, SIZE, memory.lkey)]))
            rules = [rule(qp, text, number) for number, text in enumerate(arguments[1:])]
            print("ready", flush=True)
            for memory in buffers:
                length, flags, tag = completion(cq)
                print((f"{tag:x}:" if tag else "") +
                      ("ok:" if flags & e.IBV_WC_IP_CSUM_OK else "") +
                      memory.read(length, 0).hex(), flush=True)
            for found in rules:
                found.close()
    return 0


sys.exit(main())
