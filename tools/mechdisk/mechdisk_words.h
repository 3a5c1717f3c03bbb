/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words and numbers of a .fbdrive text, and what is said about bad ones.
 */
#ifndef MECHDISK_WORDS_H
#define MECHDISK_WORDS_H

#include "mechdisk_shim.h"

/* Most words in a line: a record of 64 heads, its name and its zone. */
#define MDW_WORDS	66

/* Why a text was refused. */
struct mdt_error {
	/* number of the offending line, from 1; 0 if it is the text as a whole */
	unsigned int line;
	char reason[128];	/* what is wrong, in words */
};

/* Part of a text; need not end in NUL. */
struct mdw_word {
	const char *s;	/* first character */
	size_t len;	/* how many */
};

/*
 * Refuse a text. Returns -EINVAL. @err: where the reason goes; its line is left alone. @fmt: the
 * reason, as printf().
 */
__printf(2, 3) int mdw_fail(struct mdt_error *err, const char *fmt, ...);

/*
 * Refuse a text because of a word. Returns -EINVAL. @err: where the reason goes: the word in
 * quotes, cut if it is long, and @fmt. @w: the word; may be empty. @fmt: what is wrong with it,
 * as printf().
 */
__printf(3, 4) int mdw_blame(struct mdt_error *err, const struct mdw_word *w,
			     const char *fmt, ...);

/* Compare a word. Returns whether they are equal. @name: with what. */
bool mdw_is(const struct mdw_word *w, const char *name);

/* Whether a character separates words. @c: the character. */
static inline bool mdw_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * Split a line at blanks, up to a comment. Returns how many words, at most MDW_WORDS, or -EINVAL.
 * @err: filled in if there are too many words. @s: the line. @word: its words.
 */
int mdw_split(struct mdt_error *err, const char *s, size_t len,
	      struct mdw_word word[MDW_WORDS]);

/*
 * Split a word at its first @at. Returns whether there is one. @left: what is before it; all if
 * there is none. @right: what is behind it; empty if there is none.
 */
bool mdw_cut(const struct mdw_word *w, char at, struct mdw_word *left,
	     struct mdw_word *right);

/*
 * Read a number. Returns 0 or -EINVAL. @err: filled in if it is none or out of range. @w: decimal
 * digits. @lo: least value. @hi: largest value. @value: set to it, or left alone.
 */
int mdw_number(struct mdt_error *err, const struct mdw_word *w, u64 lo, u64 hi,
	       u64 *value);

/*
 * The same for a u32. Returns 0 or -EINVAL. @err: filled in if it is none or out of range. @w:
 * decimal digits. @lo: least value. @hi: largest value. @value: set to it, or left alone.
 */
int mdw_number32(struct mdt_error *err, const struct mdw_word *w, u32 lo,
		 u32 hi, u32 *value);

/*
 * Read a number that may be negative. Returns 0 or -EINVAL. @err: filled in if it is none or out
 * of range. @w: decimal digits, a minus sign before them or not. @limit: its absolute value is at
 * most that. @value: set to it, or left alone.
 */
int mdw_signed(struct mdt_error *err, const struct mdw_word *w, u32 limit,
	       s64 *value);

/*
 * Read part of a turn: "63/334" or "0.188622754491". Returns 0 or -EINVAL. @err: filled in if it
 * is none. @w: at least 0 and below 1; a/b below 2^32, at most 18 decimals. @turn: set to it
 * (2^64 = one revolution), or left alone.
 */
int mdw_fraction(struct mdt_error *err, const struct mdw_word *w, u64 *turn);

/*
 * Read one of several words. Returns 0 or -EINVAL. @err: filled in if it is none of them.
 * @choice: what it may be, NULL at the end. @value: set to its number in @choice, or left alone.
 */
int mdw_choice(struct mdt_error *err, const struct mdw_word *w,
	       const char *const *choice, u64 *value);

#endif /* MECHDISK_WORDS_H */
