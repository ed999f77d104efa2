# SPDX-License-Identifier: GPL-2.0
#
# Included by the modules' makefiles: tells virtio_net_roce_compat.h and
# virtio_roce_compat.h what the kernel's headers have.

# $(call vnr-have,NAME,HEADER,PATTERN): does a line, or it with the next, match?  Each line
# is looked at with the one after it: the hold space keeps the pair, because sed's D starts
# again with the second line of it only while there is a newline.  scripts/suites/compat-test.sh
# tests it.
vnr-have = $(if $(shell sed -n '$$!N;h;s/\n//;/$(3)/p;g;D' $(srctree)/include/$(2) 2>/dev/null),-DVNR_HAVE_$(1))

ccflags-y += $(call vnr-have,KUNIT_VISIBILITY,kunit/visibility.h,EXPORT_SYMBOL_IF_KUNIT)
ccflags-y += $(call vnr-have,KUNIT_STATIC_STUB,kunit/static_stub.h,define KUNIT_STATIC_STUB_REDIRECT)
ccflags-y += $(call vnr-have,VIRTQUEUE_INFO,linux/virtio_config.h,^struct virtqueue_info {)
ccflags-y += $(call vnr-have,CONST_FIND_CHILD,linux/device.h,device_find_child.*const void)
ccflags-y += $(call vnr-have,HRTIMER_SETUP,linux/hrtimer.h,extern void hrtimer_setup)
ccflags-y += $(call vnr-have,VIRTIO_GET_FEATURES,linux/virtio_config.h,virtio_get_features)
ccflags-y += $(call vnr-have,XDP_FEATURES,net/xdp.h,^void xdp_features_clear_redirect_target)
ccflags-y += $(call vnr-have,NETDEV_LOCK_OPS,net/netdev_lock.h,void netdev_lock_ops)
ccflags-y += $(call vnr-have,VM_FLAGS_MOD,linux/mm.h,void vm_flags_mod)
ccflags-y += $(call vnr-have,CREATE_CQ_ATTRS,rdma/ib_verbs.h,create_cq.*struct ib_cq.*uverbs_attr_bundle)
ccflags-y += $(call vnr-have,RDMA_ITER_H,rdma/iter.h,rdma)
ccflags-y += $(call vnr-have,ACCESS_FLUSH,rdma/ib_verbs.h,IB_ACCESS_FLUSH_GLOBAL =)
ccflags-y += $(call vnr-have,DMAH,rdma/ib_verbs.h,^struct ib_dmah {)
ccflags-y += $(call vnr-have,REG_DMABUF_ATTRS,rdma/ib_verbs.h,int mr_access_flags.*struct uverbs_attr_bundle)
ccflags-y += $(call vnr-have,RESIZE_USER_CQ,rdma/ib_verbs.h,resize_user_cq)
ccflags-y += $(call vnr-have,REPORT_PORT_EVENT,rdma/ib_verbs.h,report_port_event)
ccflags-y += $(call vnr-have,EVENTFD_SIGNAL_ONE,linux/eventfd.h,eventfd_signal(struct eventfd_ctx \*ctx))
ccflags-y += $(call vnr-have,COUNTER_PORT,rdma/ib_verbs.h,counter_unbind_qp.*u32 port)
ccflags-y += $(call vnr-have,COUNTER_SIZE,rdma/ib_verbs.h,DECLARE_RDMA_OBJ_SIZE.rdma_counter)
ccflags-y += $(call vnr-have,UMEM_GET_VA,rdma/ib_umem.h,ib_umem_get_va)
