// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/module.h>

MODULE_DESCRIPTION("Tests of virtio_roce");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
