/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Errors and files: what both sides of the door need. Knows neither shim: include one
 * of them before this.
 */
#ifndef SIM_FILE_H
#define SIM_FILE_H

#include <stdnoreturn.h>

/* Say what is wrong and end the program with status 1. @fmt: as printf(), without newline */
noreturn __printf(1, 2) void sim_fail(const char *fmt, ...);

/* The same of a setting, with status 2. @fmt: as printf(), without newline */
noreturn __printf(1, 2) void sim_usage(const char *fmt, ...);

/*
 * A whole file. Returns its text, to be freed; ends the program when it cannot be read. @len:
 * out: bytes
 */
char *sim_file_read(const char *path, size_t *len);

struct sim_file_out;

/*
 * Begin to write a file. What is written goes to PATH.part, which takes the place of @path when
 * it is complete; what is there and no regular file is written as it is. Ends the
 * program when it cannot be written
 */
struct sim_file_out *sim_file_create(const char *path);

/* Write. Ends the program when it fails, and removes what has been written */
__printf(2, 3) void sim_file_print(struct sim_file_out *out, const char *fmt, ...);

/*
 * All is written: give the file its name, and free @out. Ends the program when it fails, and
 * removes what has been written
 */
void sim_file_finish(struct sim_file_out *out);

/*
 * Whether one of two files to be written would take the other's place. True if both lead to one
 * regular file, or would
 */
bool sim_file_same(const char *a, const char *b);

#endif /* SIM_FILE_H */
