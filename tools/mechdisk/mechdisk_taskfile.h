/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulated SATA drive answers: taskfile registers in, registers and
 * pages out (ACS-3).
 *
 * Which sectors a command wants, whether the drive knows it, its features,
 * power conditions and logs.  Moves no sectors; takes no lock, the caller
 * serialises.
 */
#ifndef MECHDISK_TASKFILE_H
#define MECHDISK_TASKFILE_H

#include "mechdisk_atalog.h"

/**
 * enum md_tf_kind - what is to be done for a command
 * @MD_TF_DONE: nothing: it has been carried out or refused
 * @MD_TF_RANGE: it wants sectors, or a flush
 * @MD_TF_REPLY: its pages are those of md_tf_reply()
 * @MD_TF_TAKE: its page goes to md_tf_take()
 * @MD_TF_TRIM: it wants a flush, and then that the sectors that its page names lose their data
 */
enum md_tf_kind { MD_TF_DONE, MD_TF_RANGE, MD_TF_REPLY, MD_TF_TAKE, MD_TF_TRIM };

/* A drive is being powered on. @t: its state. @cfg: its description, which must outlive it. */
void md_tf_init(struct md_tf *t, const struct mde_config *cfg, u64 now_ns);

/* The link has been reset. Features stay (software settings preservation). */
void md_tf_reset(struct md_tf *t);

/* Whether a command is an NCQ one. */
bool md_tf_is_queued(const struct md_tf_regs *r);

/* Whether a command is an NCQ one of high priority. */
bool md_tf_is_urgent(const struct md_tf_regs *r);

/*
 * What a command wants. Returns what to do. @range: filled in if it is one for the engine.
 * @result: set to how it ends; of a range: if all goes well.
 */
enum md_tf_kind md_tf_start(struct md_tf *t, const struct md_tf_regs *r, u64 now_ns,
			    struct mde_range *range, struct md_tf_result *result);

/* The medium is wanted: leave a power condition. Returns the condition it was in. */
enum md_tf_condition md_tf_wake(struct md_tf *t, u64 now_ns);

/* The power condition. */
enum md_tf_condition md_tf_condition_at(const struct md_tf *t, u64 now_ns);

/* A page of a command's data. Returns whether there is one. @page: filled in. */
bool md_tf_reply(struct md_tf *t, const struct md_tf_regs *r, u32 n, u8 page[MD_TF_PAGE]);

/* Take a command's page. @page: what was sent. @result: set to how it ends. */
void md_tf_take(struct md_tf *t, const struct md_tf_regs *r, const u8 page[MD_TF_PAGE],
		struct md_tf_result *result);

/*
 * Which sectors does a page of DATA SET MANAGEMENT name? Returns whether it has. @page: what was
 * sent. @n: which of its ranges, below MD_TF_TRIM_RANGES. @range: @gone_lbn and @gone set; an
 * entry of no sectors is one that is not used. @result: set to how the command ends if the drive
 * has not got these sectors.
 */
bool md_tf_trim(const struct md_tf *t, const u8 page[MD_TF_PAGE], u32 n, struct mde_range *range,
		struct md_tf_result *result);

/* How a command ends that has met a bad sector. @result: set. */
void md_tf_unreadable(enum mde_error error, u64 lba, struct md_tf_result *result);

/* An NCQ command has failed: the drive drops all others. @result: how it ended. */
void md_tf_fail_queued(struct md_tf *t, u8 tag, const struct md_tf_result *result);

#endif /* MECHDISK_TASKFILE_H */
