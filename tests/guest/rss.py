#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Frames spread over work queues.

rss.py spread DEVICE WQS COUNT MAC    prints "ready", and for each frame to MAC the number of its
                                      work queue in the table, and the frame in hexadecimal
rss.py strip DEVICE WQS COUNT MAC     likewise without tags, and with "TAG:" in front of those
                                      that had one
"""

import sys

import pyverbs.enums as e
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.flow import Flow, FlowAttr
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QPEx, QPInitAttrEx
from pyverbs.spec import EthSpec
from pyverbs.wq import RwqIndTable, RwqIndTableInitAttr, RxHashConf, WQ, WQAttr, WQInitAttr
from pyverbs.wr import SGE, RecvWR

SIZE = 128
KEY = [7 * i + 3 & 0xff for i in range(40)]
FIELDS = (e.IBV_RX_HASH_SRC_IPV4 | e.IBV_RX_HASH_DST_IPV4 | e.IBV_RX_HASH_SRC_PORT_UDP
          | e.IBV_RX_HASH_DST_PORT_UDP)


def completion(cq):
    """Number, length, queue and tag of the next completion."""
    while cq.start_poll(PollCqAttr()):
        pass
    try:
        assert cq.status == e.IBV_WC_SUCCESS, cq.status
        return cq.wr_id, cq.read_byte_len(), cq.read_qp_num(), cq.read_cvlan()
    finally:
        cq.end_poll()


def work_queue(ctx, pd, cq, depth, strip):
    """A work queue that is ready."""
    attr = WQInitAttr(wq_pd=pd, wq_cq=cq, max_wr=depth, max_sge=1,
                      comp_mask=e.IBV_WQ_INIT_ATTR_FLAGS,
                      create_flags=e.IBV_WQ_FLAGS_CVLAN_STRIPPING if strip else 0)
    wq = WQ(ctx, attr)
    wq.modify(WQAttr(attr_mask=e.IBV_WQ_ATTR_STATE, wq_state=e.IBV_WQS_RDY))
    return wq


def main():
    """Returns the exit status."""
    what, device, number, count, mac = sys.argv[1:]
    number, count = int(number), int(count)
    with Context(name=device) as ctx, PD(ctx) as pd, \
            CQEX(ctx, CqInitAttrEx(cqe=number * count, wc_flags=e.IBV_WC_STANDARD_FLAGS |
                                   e.IBV_WC_EX_WITH_CVLAN)) as cq:
        memory = MR(pd, number * count * SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        wqs = []
        for i in range(number):
            wq = work_queue(ctx, pd, cq, count, what == "strip")
            for j in range(count):
                at = (i * count + j) * SIZE
                wq.post_recv(RecvWR(wr_id=at, num_sge=1,
                                    sg=[SGE(memory.buf + at, SIZE, memory.lkey)]))
            wqs.append(wq)
        places = {wq.wqn: i for i, wq in enumerate(wqs)}
        table = RwqIndTable(ctx, RwqIndTableInitAttr(number.bit_length() - 1, wqs))
        conf = RxHashConf(e.IBV_RX_HASH_FUNC_TOEPLITZ, len(KEY), KEY, FIELDS)
        mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_RX_HASH | e.IBV_QP_INIT_ATTR_IND_TABLE
        with QPEx(ctx, QPInitAttrEx(qp_type=e.IBV_QPT_RAW_PACKET, comp_mask=mask, pd=pd,
                                    hash_conf=conf, ind_table=table)) as qp:
            attr = FlowAttr(num_of_specs=1)
            attr.specs.append(EthSpec(dst_mac=mac))
            with Flow(qp, attr):
                print("ready", flush=True)
                for _ in range(count):
                    at, length, wqn, tag = completion(cq)
                    print(places[wqn], (f"{tag:x}:" if tag else "") +
                          memory.read(length, at).hex(), flush=True)
        table.close()
        for wq in wqs:
            wq.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
