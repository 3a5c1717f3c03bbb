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

struct sim_file_out;

/**
 * sim_file_create() - begin to write a file
 * @path: its name
 *
 * What is written goes to PATH.part, which takes the place of @path when it is complete; what is
 * there and no regular file is written as it is.
 *
 * Return: for sim_file_print() and sim_file_finish(); ends the program when it cannot be written.
 */
struct sim_file_out *sim_file_create(const char *path);

/**
 * sim_file_print() - write
 * @out: of sim_file_create()
 * @fmt: as printf()
 *
 * Ends the program when it fails, and removes what has been written.
 */
__printf(2, 3) void sim_file_print(struct sim_file_out *out, const char *fmt, ...);

/**
 * sim_file_finish() - all is written: give the file its name
 * @out: of sim_file_create(), freed
 *
 * Ends the program when it fails, and removes what has been written.
 */
void sim_file_finish(struct sim_file_out *out);

/**
 * sim_file_same() - whether one of two files to be written would take the other's place
 * @a: a name
 * @b: another
 *
 * Return: whether both lead to one regular file, or would.
 */
bool sim_file_same(const char *a, const char *b);

#endif /* SIM_FILE_H */
