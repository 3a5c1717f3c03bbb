/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of a program: each is written as TEST(name) { ... }, and main.c runs them all.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* what comes before and after each test, in programs that define it */
int setup(void **state) __attribute__((weak));
int teardown(void **state) __attribute__((weak));

extern const struct CMUnitTest __start_tests[] __attribute__((weak));
extern const struct CMUnitTest __stop_tests[] __attribute__((weak));

/**
 * TEST_WITH() - begin a test that has a fixture of its own
 * @name: of the test
 * @begin: what comes before it, or NULL
 * @end: what comes after it, or NULL
 */
#define TEST_WITH(name, begin, end)							\
	static void name(void **state);							\
	static const struct CMUnitTest test_of_##name					\
		__attribute__((used, section("tests"), aligned(sizeof(void *)))) =	\
		cmocka_unit_test_setup_teardown(name, begin, end);			\
	static void name(void **state)

/**
 * TEST() - begin a test
 * @name: of the test
 */
#define TEST(name) TEST_WITH(name, setup, teardown)

#endif /* UNIT_H */
