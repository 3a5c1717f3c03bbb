/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A drive made for calculating by hand, and a punctual caller: a turn is 6 ms, a
 * track has 100 sectors of 60 us, a cylinder two tracks; one cylinder away is
 * 1 ms, ten are 2 ms, a head switch is 0.3 ms, settling 0.2 ms, no skew; sector
 * 0 is under the head at instant 0.  Instants are nanoseconds since then.
 */
#ifndef MECHDISK_UNIT_HAND_H
#define MECHDISK_UNIT_HAND_H

#include "support.h"

#define US 1000ULL
#define MS (1000 * US)
#define TURN (6000 * US)
#define SECTOR (60 * US)
#define TRACK 100
#define CYLINDER 200
#define HAND_COMMANDS 512
/* Looks at a drive without a report; more mean that it spins. */
#define HAND_LOOKS 10000

#define HAND_DRIVE \
	"fbdrive 1\nperiod_ps 6000000000\nheads 2\n" \
	"zone 0 99 100 0 0 0 200\n" \
	"seek 1 1000000\nseek 11 2000000\nseek 99 10800000\n" \
	"head_switch_ns 300000\nwrite_settle_ns 200000\n" \
	MDU_QUIET

/* A drive and what it has done */
struct hand {
	struct mde_config c;	/* its description */
	struct mde e;	/* the drive */
	u64 start;	/* instant 0, ns of its clock */
	u64 now;	/* the time, ns of its clock */
	u64 looked;	/* when the caller last looked at the drive, ns of its clock */
	/*
	 * ns by which the report that was missed longest had been due before a look that came
	 * before it was first seen; a punctual caller sees 0
	 */
	u64 late;
	struct mde_slot done[HAND_COMMANDS];	/* the commands reported, by order of submission */
	u32 reported[HAND_COMMANDS];	/* how often each was */
};

/* A drive with extra records; its head is on track 0. */
static inline void hand_begin(struct hand *h, const char *extra)
{
	char text[2048];
	struct mdt_error err;

	memset(h, 0, sizeof(*h));
	snprintf(text, sizeof(text), "%s%s", HAND_DRIVE, extra);
	if (mdu_parse(text, &h->c, &err))
		fail_msg("line %u: %s", err.line, err.reason);
	h->start = 5000 * US;
	h->now = h->start;
	h->looked = h->start;
	mde_init(&h->e, &h->c, h->now);
	mde_place_head(&h->e, 0, 0, h->now, 0);
}

static inline void hand_end(struct hand *h)
{
	mdt_free(&h->c);
}

/* Take what is due. */
static inline void hand_collect(struct hand *h)
{
	int slot;

	while ((slot = mde_due(&h->e, h->now)) >= 0) {
		const struct mde_slot *s = &h->e.slot[slot];
		u64 at = mde_report_ns(&h->e, slot);

		assert_true(s->seq < HAND_COMMANDS);
		if (at < h->looked && h->looked - at > h->late)
			h->late = h->looked - at;
		h->done[s->seq] = *s;
		h->reported[s->seq]++;
		mde_release(&h->e, slot);
	}
	h->looked = h->now;
}

/* Look at the drive at its next event, if that is by @until (clock). */
static inline bool hand_look(struct hand *h, u64 until)
{
	u64 next = mde_next_event(&h->e);

	if (next == MDE_NEVER || next > until)
		return false;
	h->now = max(h->now, next);
	mde_advance(&h->e, h->now);
	while (mde_started(&h->e) >= 0)
		;
	hand_collect(h);
	return true;
}

/* Let the drive live until @at. */
static inline void hand_until(struct hand *h, u64 at)
{
	u32 looks = 0;

	while (hand_look(h, h->start + at))
		assert_true(looks++ < HAND_LOOKS);
	h->now = max(h->now, h->start + at);
	mde_advance(&h->e, h->now);
	hand_collect(h);
}

/* Hand a command in at @at; returns its number, counted from 0. */
static inline int hand_send_flags(struct hand *h, u64 at, enum mde_op op, u64 lbn,
				  u32 count, u32 flags)
{
	int slot;

	hand_until(h, at);
	slot = mde_submit(&h->e, h->now, op, lbn, count, flags);
	assert_true(slot >= 0);
	return h->e.slot[slot].seq;
}

static inline int hand_send(struct hand *h, u64 at, enum mde_op op, u64 lbn,
			    u32 count)
{
	return hand_send_flags(h, at, op, lbn, count, 0);
}

/* Picoseconds to nanoseconds; angles are good to a picosecond. */
static inline u64 hand_ns(u64 ps)
{
	return (ps + 500) / 1000;
}

/* The course of a command, once it has been reported. */
static inline const struct mde_slot *hand_done(struct hand *h, int n)
{
	u32 looks = 0;

	while (!h->reported[n]) {
		assert_true(looks++ < HAND_LOOKS);
		assert_true(hand_look(h, MDE_NEVER - 1));
	}
	return &h->done[n];
}

static inline u64 hand_report(struct hand *h, int n)
{
	return hand_ns(hand_done(h, n)->report);
}

static inline u64 hand_started(struct hand *h, int n)
{
	return hand_ns(hand_done(h, n)->started);
}

/* When a command handed in at @at is reported; nothing else comes meanwhile. */
static inline u64 hand_run(struct hand *h, u64 at, enum mde_op op, u64 lbn,
			   u32 count)
{
	return hand_report(h, hand_send(h, at, op, lbn, count));
}

/* Whether a read handed in at @at is answered by the cache. */
static inline bool hand_hits(struct hand *h, u64 at, u64 lbn, u32 count)
{
	int n = hand_send(h, at, MDE_READ, lbn, count);

	return hand_done(h, n)->kind == MDE_READ_HIT;
}

/* What a step of a course is: a command, or something that is looked at */
enum hand_what {
	HAND_NOTHING, HAND_RUN, HAND_SEND, HAND_UNTIL, HAND_REPORTED, HAND_STARTED, HAND_KIND,
	HAND_HELD, HAND_GOOD, HAND_STAT,
};

/* A command of a course, or what is expected by then */
struct hand_step {
	enum hand_what what;	/* which */
	/* when it is handed in; of HAND_RUN the next step comes when it has been reported */
	u64 at;
	enum mde_op op;	/* what to do */
	u64 lbn;	/* its first LBN */
	u32 count;	/* its LBNs */
	u32 flags;	/* MDE_FUA or 0 */
	u64 want;	/* when it is reported, or what is looked at; of a command 0: whenever */
	int hit;	/* 1 if the buffer answers, -1 if not; 0: either */
	size_t n;	/* number of the command that is looked at, or where in the statistics */
};

#define RUN(at, op, lbn, count, report) { HAND_RUN, at, op, lbn, count, 0, report, 0, 0 }
#define FUA(at, op, lbn, count, report) { HAND_RUN, at, op, lbn, count, MDE_FUA, report, 0, 0 }
#define SEND(at, op, lbn, count) { HAND_SEND, at, op, lbn, count, 0, 0, 0, 0 }
#define HIT(at, lbn, count) { HAND_RUN, at, MDE_READ, lbn, count, 0, 0, 1, 0 }
#define MISS(at, lbn, count) { HAND_RUN, at, MDE_READ, lbn, count, 0, 0, -1, 0 }
#define UNTIL(until) { .what = HAND_UNTIL, .at = until }
#define LOOK(at, number, value) { .what = HAND_##at, .n = number, .want = value }
#define REPORTED(n, at) LOOK(REPORTED, n, at)
#define STARTED(n, at) LOOK(STARTED, n, at)
#define KIND(n, kind) LOOK(KIND, n, kind)
#define HELD(n, held) LOOK(HELD, n, held)
#define GOOD(n, good) LOOK(GOOD, n, good)
#define STAT(field, value) LOOK(STAT, offsetof(struct mde_stats, field), value)

/* Commands on a fresh drive */
struct hand_course {
	const char *name;	/* what it is about */
	const char *records;	/* extra records of the drive */
	struct hand_step step[18];	/* the commands, and what comes of them */
};

static inline u64 hand_command(struct hand *h, const struct hand_step *s)
{
	int n = hand_send_flags(h, s->at, s->op, s->lbn, s->count, s->flags);
	bool hit;

	if (s->what == HAND_SEND)
		return 0;
	hit = hand_done(h, n)->kind == MDE_READ_HIT;
	return s->hit && hit != (s->hit > 0) ? ~0ULL : hand_report(h, n);
}

/* What is there in place of what is expected. */
static inline u64 hand_look_at(struct hand *h, const struct hand_step *s)
{
	switch (s->what) {
	case HAND_UNTIL:
		hand_until(h, s->at);
		return 0;
	case HAND_REPORTED:
		return hand_report(h, s->n);
	case HAND_STARTED:
		return hand_started(h, s->n);
	case HAND_KIND:
		return hand_done(h, s->n)->kind;
	case HAND_HELD:
		return hand_done(h, s->n)->held;
	case HAND_GOOD:
		return hand_done(h, s->n)->good;
	case HAND_STAT:
		return *(u64 *)((char *)&h->e.stats + s->n);
	default:
		return hand_command(h, s);
	}
}

static inline void hand_courses(const struct hand_course *course, size_t courses)
{
	const struct hand_step *s;
	struct hand h;
	size_t i;
	u64 got;

	for (i = 0; i < courses; i++) {
		hand_begin(&h, course[i].records);
		for (s = course[i].step; s->what; s++) {
			got = hand_look_at(&h, s);
			if (got != s->want && (got == ~0ULL || s->want || s->what > HAND_UNTIL))
				fail_msg("%s, '%s', step %d: %llu, not %llu", course[i].name,
					 course[i].records, (int)(s - course[i].step),
					 (unsigned long long)got, (unsigned long long)s->want);
		}
		assert_int_equal(h.late, 0);
		hand_end(&h);
	}
}

#endif /* MECHDISK_UNIT_HAND_H */
