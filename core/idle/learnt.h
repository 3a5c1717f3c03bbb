/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is learnt for idle reads by measured times alone: what they have cost the foreground, how
 * long they take, and how much they best leave out. Core; the caller serialises. Times are ns.
 */
#ifndef FB_IDLE_LEARNT_H
#define FB_IDLE_LEARNT_H

#include "include/fb_shim.h"

#define FB_IDLE_KNOWN 8		/* least samples for a mean */
#define FB_IDLE_FADES 256	/* samples after which they count half */

/* A mean of times, of which old samples count less and less */
struct fb_mean {
	u32 n;				/* number of samples */
	s64 us;				/* their sum, microseconds */
};

/* Add a sample. @fades: number of samples at which they count half. */
static inline void fb_mean_add(struct fb_mean *m, s64 ns, u32 fades)
{
	m->us += div_s64(ns, NSEC_PER_USEC);
	if (++m->n < fades)
		return;
	m->n /= 2;
	m->us = div_s64(m->us, 2);
}

/* The mean; 0: there are no samples. */
static inline s64 fb_mean_ns(const struct fb_mean *m)
{
	return m->n ? div_s64(m->us * NSEC_PER_USEC, m->n) : 0;
}

/*
 * The account has two clocks: when the drive was free, and when it would have been without idle
 * reads. A request begins when it has come and the drive is free, and takes as long without idle
 * reads as it took from there; so the first one behind an idle read pays the rest of it, and the
 * next what is left of the delay (Lindley's recursion). A command that takes half a second met a
 * stall: the drive had work of its own, as drive-managed shingled disks have. The busy period tells
 * nothing then. Behind a read of ours that met one idle reads pause for as long.
 */
#define FB_IDLE_ACCOUNT_ONE 256U	/* fb_idle_account_ratio(): each waits the whole rest */

/* The account; all private */
struct fb_idle_account {
	u64 free_ns;			/* when the drive ended what it was seen to end last */
	u64 without_ns;			/* when it would have, without idle reads */
	u64 stall_ns;			/* when a stall was last seen to end */
	u64 pause_ns;			/* idle reads pause until then */
	u64 charge_us;	/* what requests of busy periods behind idle reads have waited, sum ... */
	u64 most_us;			/* ... what with the mean rest each; both fade */
};

/* An idle read took @took_ns longer than usual. True: it met a stall, and reads pause as long. */
bool fb_idle_account_read_stalled(struct fb_idle_account *a, u64 now, u64 took_ns);
/* Was there a stall since then? */
bool fb_idle_account_stalled(const struct fb_idle_account *a, u64 since_ns);

/* An idle read has ended, which has kept the drive busy for @ours_ns. */
void fb_idle_account_read(struct fb_idle_account *a, u64 now, u64 ours_ns);

/* What the drive took for a request that has just ended: since it was free and had it. */
u64 fb_idle_account_took_ns(const struct fb_idle_account *a, u64 now, u64 arrived_ns);

/*
 * A request has ended. @lost_ns: what it lost to idle reads, as far as known. Return: how much
 * later it has ended than without.
 */
s64 fb_idle_account_served(struct fb_idle_account *a, u64 now, u64 arrived_ns, s64 lost_ns);

/* A busy period behind idle reads is over, charged so much; @rest_ns: such a read's mean rest. */
void fb_idle_account_period(struct fb_idle_account *a, u64 charge_ns, u32 requests, u64 rest_ns);

/*
 * Which part of the rest of a read requests wait on the mean, of FB_IDLE_ACCOUNT_ONE: the same for
 * reads of any length.
 */
u32 fb_idle_account_ratio(const struct fb_idle_account *a);

/* ---- times ---- */

/* Reads by what they come behind */
enum fb_idle_times_class {
	FB_IDLE_TIMES_NEXT,	/* another one */
	FB_IDLE_TIMES_FIRST,	/* none in this interval, later than half a turn after its start */
	FB_IDLE_TIMES_SOON,		/* the same, sooner */
	FB_IDLE_TIMES_CLASSES,
};

/* Times of reads of one class; the counts fade */
struct fb_idle_time {
	u32 n;				/* number of reads */
	u64 us;				/* sum of their times */
	u64 sq;				/* sum of the squares */
	u32 clean;			/* those of a drive that surely had nothing to write */
	u64 clean_us;			/* sum of their times */
};

/* What the threshold is found from, and what tells a read that was late as the drive was writing */
struct fb_idle_times {
	struct fb_idle_time of[FB_IDLE_TIMES_CLASSES];
};

/* A read has ended. @ns: its time, or what is usual if the drive was writing first. */
void fb_idle_times_add(struct fb_idle_times *t, enum fb_idle_times_class class, u64 ns, bool clean);
/* What reads of a class take while the drive has nothing to write; 0: not known yet. */
u64 fb_idle_times_usual_ns(const struct fb_idle_times *t, enum fb_idle_times_class class);
/* The mean rest of one when a request comes meanwhile; 0: not known yet. */
u64 fb_idle_times_rest_ns(const struct fb_idle_times *t, enum fb_idle_times_class class);

/*
 * Places: how much a read leaves out. Where the drive does not read ahead, what follows has passed
 * the head before the next command has come, and costs a turn; a granule on, it is just in time.
 * Which of a few lengths is best is tried now and then.
 */
#define FB_IDLE_PLACE_SKIPS 4	/* lengths that are compared: 0 to 3 granules */

/* What an idle read comes behind */
enum fb_idle_place_behind {
	FB_IDLE_PLACE_ON,		/* another one */
	FB_IDLE_PLACE_READ,		/* a read of the foreground */
	FB_IDLE_PLACE_WRITE,		/* a write of the foreground that went to the medium */
	FB_IDLE_PLACE_KINDS,	/* their number; also: anything else, which teaches nothing */
};

/* What was learnt; all private */
struct fb_idle_place {
	/* times by what reads came behind, and granules left out */
	struct fb_mean arm[FB_IDLE_PLACE_KINDS][FB_IDLE_PLACE_SKIPS];
	u32 tries[FB_IDLE_PLACE_KINDS];	/* choices, by what they came behind */
	enum fb_idle_place_behind behind;	/* the read at the drive came behind this ... */
	u32 skip;			/* ... and left out so many granules */
};

/* How many granules the next read leaves out. @behind: what it comes behind. */
u32 fb_idle_place_choose(struct fb_idle_place *p, enum fb_idle_place_behind behind);
/* The read has ended, after so long. */
void fb_idle_place_ended(struct fb_idle_place *p, u64 ns);
/* Is nothing left out behind another idle read, as the drive reads ahead? */
bool fb_idle_place_ahead(const struct fb_idle_place *p);

#endif /* FB_IDLE_LEARNT_H */
