/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Errors and files: what both sides of the door need. Knows neither shim: include one
 * of them before this.
 */
#ifndef SIM_FILE_H
#define SIM_FILE_H

#include <stdnoreturn.h>

/**
 * sim_fail() - say what is wrong and end the program with status 1
 * @fmt: as printf(), without newline
 */
noreturn __printf(1, 2) void sim_fail(const char *fmt, ...);

/**
 * sim_usage() - the same of a setting, with status 2
 * @fmt: as printf(), without newline
 */
noreturn __printf(1, 2) void sim_usage(const char *fmt, ...);

/**
 * sim_file_read() - a whole file
 * @path: its name
 * @len: out: bytes
 *
 * Return: its text, to be freed; ends the program when it cannot be read.
 */
char *sim_file_read(const char *path, size_t *len);

#endif /* SIM_FILE_H */
