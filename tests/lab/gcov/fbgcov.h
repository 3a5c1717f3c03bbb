/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FBGCOV_H
#define FBGCOV_H

/* the initcalls of kernel/gcov/base.c and fs.c, under names of tools/build/build-modules */
int fbgcov_gcov_init(void);
int fbgcov_gcov_fs_init(void);

int fbgcov_failing_init(void);

#endif /* FBGCOV_H */
