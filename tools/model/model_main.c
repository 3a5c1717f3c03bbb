// SPDX-License-Identifier: GPL-2.0
/*
 * freeblock-model FILE: writes the table of an .fbmodel text to standard output. The model is
 * built once here, too, so that a fault is told with its line before the kernel sees it.
 */
#include "include/fb_shim.h"
#include "core/model_table.h"
#include "tools/model/model_text.h"
#include "tools/sim/sim_file.h"

int main(int argc, char **argv)
{
	struct disk_model *model;
	struct dm_fault fault;
	void *table;
	char *text;
	size_t len;
	int err;

	if (argc != 2 || argv[1][0] == '-')
		sim_usage("usage: freeblock-model FILE.fbmodel > TABLE");
	text = sim_file_read(argv[1], &len);
	err = fb_model_text_compile(text, len, &table, &len, &fault);
	if (!err)
		err = fb_model_table_build(table, len, &model, &fault);
	if (err)
		sim_fail("%s: line %u: %s", argv[1], fault.line, fault.reason);
	dm_free(model);
	if (fwrite(table, len, 1, stdout) != 1 || fflush(stdout))
		sim_fail("standard output: %s", strerror(errno));
	fb_free(table);
	free(text);
	return 0;
}
