// SPDX-License-Identifier: GPL-2.0
/*
 * Words and numbers of a .fbdrive text, and what is said about bad ones.
 */
#include "mechdisk_words.h"

int mdw_fail(struct mdt_error *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err->reason, sizeof(err->reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

/* A character of a bad word as a message has it: one line of plain ASCII. */
static char mdw_shown(char c)
{
	return c > ' ' && c <= '~' ? c : '?';
}

int mdw_blame(struct mdt_error *err, const struct mdw_word *w,
	      const char *fmt, ...)
{
	int i, len = w->len > 32 ? 32 : w->len;
	va_list args;

	/* The words of a line are never empty, but a number's may be. */
	err->reason[0] = '\'';
	for (i = 0; i < len; i++)
		err->reason[1 + i] = mdw_shown(w->s[i]);
	memcpy(err->reason + 1 + len, "' ", 3);
	va_start(args, fmt);
	vsnprintf(err->reason + len + 3, sizeof(err->reason) - len - 3, fmt,
		  args);
	va_end(args);
	return -EINVAL;
}

bool mdw_is(const struct mdw_word *w, const char *name)
{
	return strlen(name) == w->len && !memcmp(w->s, name, w->len);
}

int mdw_split(struct mdt_error *err, const char *s, size_t len,
	      struct mdw_word word[MDW_WORDS])
{
	size_t i = 0;
	int words = 0;

	while (i < len) {
		size_t start;

		if (mdw_blank(s[i])) {
			i++;
			continue;
		}
		if (s[i] == '#')
			break;
		for (start = i; i < len && !mdw_blank(s[i]) && s[i] != '#';)
			i++;
		if (words == MDW_WORDS)
			return mdw_fail(err, "more than %d words", MDW_WORDS);
		word[words].s = s + start;
		word[words++].len = i - start;
	}
	return words;
}

bool mdw_cut(const struct mdw_word *w, char at, struct mdw_word *left,
	     struct mdw_word *right)
{
	const char *cut = memchr(w->s, at, w->len);

	left->s = w->s;
	left->len = cut ? (size_t)(cut - w->s) : w->len;
	right->s = cut ? cut + 1 : w->s + w->len;
	right->len = cut ? w->len - left->len - 1 : 0;
	return cut;
}

/* Digits only; -EINVAL also if they do not fit. */
static int mdw_digits(const char *s, size_t len, u64 *value)
{
	u64 v = 0;
	size_t i;

	if (!len)
		return -EINVAL;
	for (i = 0; i < len; i++) {
		u64 d = s[i] - '0';

		if (d > 9 || v > (U64_MAX - d) / 10)
			return -EINVAL;
		v = v * 10 + d;
	}
	*value = v;
	return 0;
}

int mdw_number(struct mdt_error *err, const struct mdw_word *w, u64 lo, u64 hi,
	       u64 *value)
{
	u64 v;

	if (mdw_digits(w->s, w->len, &v))
		return mdw_blame(err, w, "is not a number");
	if (v < lo || v > hi)
		return mdw_blame(err, w, "is not within %llu to %llu",
				 (unsigned long long)lo,
				 (unsigned long long)hi);
	*value = v;
	return 0;
}

int mdw_number32(struct mdt_error *err, const struct mdw_word *w, u32 lo,
		 u32 hi, u32 *value)
{
	u64 v = 0;
	int ret = mdw_number(err, w, lo, hi, &v);

	if (!ret)
		*value = v;
	return ret;
}

int mdw_signed(struct mdt_error *err, const struct mdw_word *w, u32 limit,
	       s64 *value)
{
	bool negative = w->len && w->s[0] == '-';
	u64 v;

	if (mdw_digits(w->s + negative, w->len - negative, &v))
		return mdw_blame(err, w, "is not a number");
	if (v > limit)
		return mdw_blame(err, w, "is not within -%u to %u", limit,
				 limit);
	*value = negative ? -(s64)v : (s64)v;
	return 0;
}

/* floor(num * 2^64 / den) for num < den < 2^32. */
static u64 mdw_ratio(u64 num, u64 den)
{
	u64 hi = (num << 32) / den;
	u64 rem = (num << 32) % den;

	return hi << 32 | (rem << 32) / den;
}

/* The decimals of "0.188622754491". */
static int mdw_decimals(const char *s, size_t digits, u64 *turn)
{
	/* Nine decimals at a time: 10^9 fits the ratio's denominator. */
	size_t n = digits < 9 ? digits : 9;
	u64 num, lo = 0;

	if (mdw_digits(s, n, &num) ||
	    (digits > 9 && mdw_digits(s + 9, digits - 9, &lo)))
		return -EINVAL;
	for (; n < 9; n++)
		num *= 10;
	for (n = digits; digits > 9 && n < 18; n++)
		lo *= 10;
	*turn = mdw_ratio(num, 1000000000) +
		mdw_ratio(lo, 1000000000) / 1000000000;
	return 0;
}

int mdw_fraction(struct mdt_error *err, const struct mdw_word *w, u64 *turn)
{
	struct mdw_word a, b;
	u64 num, den;

	if (mdw_is(w, "0")) {
		*turn = 0;
		return 0;
	}
	if (mdw_cut(w, '/', &a, &b)) {
		if (!mdw_digits(a.s, a.len, &num) &&
		    !mdw_digits(b.s, b.len, &den) && den <= U32_MAX &&
		    num < den) {
			*turn = mdw_ratio(num, den);
			return 0;
		}
	} else if (w->len >= 3 && w->len <= 20 && !memcmp(w->s, "0.", 2) &&
		   !mdw_decimals(w->s + 2, w->len - 2, turn)) {
		return 0;
	}
	return mdw_blame(err, w,
			 "is not a fraction of a turn (a/b or 0.ddd, below 1)");
}

int mdw_choice(struct mdt_error *err, const struct mdw_word *w,
	       const char *const *choice, u64 *value)
{
	char all[64];
	size_t len = 0;
	u64 i;

	for (i = 0; choice[i]; i++) {
		if (mdw_is(w, choice[i])) {
			*value = i;
			return 0;
		}
		if (len < sizeof(all))
			len += snprintf(all + len, sizeof(all) - len,
					" '%s'", choice[i]);
	}
	return mdw_blame(err, w, "is none of%s", all);
}
