// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs all tests, or those whose names match the pattern that is given.
 */
#include "util.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return run_vq_tests() + run_post_tests() + run_cq_tests() +
	       run_direct_tests() + run_foreign_tests() + run_srq_tests() +
	       run_xrc_tests() + run_destroy_tests() + run_resize_tests() +
	       run_arm_tests() + run_wq_tests() + run_raw_tests() +
	       run_counters_tests() + run_poll_tests();
}
