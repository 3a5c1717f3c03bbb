/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers of the core's unit tests: seeded random numbers and disk models.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "core/idle_order.h"
#include "unit.h"

/**
 * struct rnd - a seeded generator (splitmix64): the same numbers everywhere
 * @state: seed, then state
 */
struct rnd {
	u64 state;
};

/**
 * rnd_next() - 64 random bits
 * @r: generator
 *
 * Return: them.
 */
u64 rnd_next(struct rnd *r);

/**
 * rnd_below() - a number, uniform but for a bias below 2^-32
 * @r: generator
 * @n: bound, at least 1
 *
 * Return: 0 .. @n - 1.
 */
u64 rnd_below(struct rnd *r, u64 n);

/* the order of idle reads with this name, or NULL */
fb_idle_order_fn support_order(const char *name);

/**
 * support_model_file() - the model in a file under the project's root
 * @path: relative to the root, "models/atlas10k.fbmodel"; the tests run in
 *	tests/unit, the root or where FB_ROOT says
 *
 * Return: the model; a file that is missing or refused ends the test.
 */
struct disk_model *support_model_file(const char *path);

/* CRC-32 of zlib, bit by bit */
u32 support_crc32(const char *p, size_t len);

/**
 * support_seal() - a model's text with its end record
 * @text: where it goes
 * @size: room there
 * @records: the text without
 *
 * Return: its length.
 */
size_t support_seal(char *text, size_t size, const char *records);

/**
 * support_model_text() - a model from the records of a text
 * @records: all lines but the closing "end" record, which is added
 *
 * Return: the model; a refused text ends the test and shows the reason.
 */
struct disk_model *support_model_text(const char *records);

/* moves of a map's granules for fb_for_each_run(), whose @ctx is the map */
void support_want(void *ctx, u64 first, u32 n, u32 group);
void support_unwant(void *ctx, u64 first, u32 n, u32 group);
void support_take(void *ctx, u64 first, u32 n, u32 group);
void support_untake(void *ctx, u64 first, u32 n, u32 group);
void support_done(void *ctx, u64 first, u32 n, u32 group);

/**
 * support_place() - a random place of a disk
 * @r: generator
 * @dm: model
 *
 * Return: a cylinder, head and angle, all uniform.
 */
struct dm_place support_place(struct rnd *r, const struct disk_model *dm);

#endif /* SUPPORT_H */
