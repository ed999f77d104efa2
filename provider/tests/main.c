// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "util.h"

int main(void)
{
	return run_vq_tests() + run_post_tests() + run_cq_tests();
}
