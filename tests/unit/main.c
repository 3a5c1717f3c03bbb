// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of a program that has no main() of its own; see unit.h.
 */
#include "unit.h"

int __attribute__((weak)) main(void)
{
	return _cmocka_run_group_tests("tests", __start_tests, __stop_tests - __start_tests,
				       NULL, NULL);
}
