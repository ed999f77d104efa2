# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What belongs to the RDMA engine; included by Makefile.

ENGINE_SRCS := nic.c ctrl.c obj.c ah.c mr.c sg.c cq.c fabric.c pkt.c wqe.c \
	       qp.c qp_state.c qp_work.c req.c resp.c ud.c flow.c \
	       roce.c wire.c mcast.c
ENGINE_TESTS := $(patsubst %,tests/test_%.c,ctrl mr fastreg flush cq cq_hold qp \
		ring rc retry rdma ud pkt wire storm flow roce port mcast)
ENGINE_TEST_SRCS := $(patsubst %,tests/engine_%.c,guest loop wire port) \
		    tests/golden.c
