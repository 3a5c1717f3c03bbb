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

/**
 * md_tf_init() - a drive is being powered on
 * @t: its state
 * @cfg: its description, which must outlive it
 * @now_ns: the time
 */
void md_tf_init(struct md_tf *t, const struct mde_config *cfg, u64 now_ns);

/**
 * md_tf_reset() - the link has been reset
 * @t: the drive
 *
 * Features stay (software settings preservation).
 */
void md_tf_reset(struct md_tf *t);

/**
 * md_tf_is_queued() - whether a command is an NCQ one
 * @r: the command
 */
bool md_tf_is_queued(const struct md_tf_regs *r);

/**
 * md_tf_is_urgent() - whether a command is an NCQ one of high priority
 * @r: the command
 */
bool md_tf_is_urgent(const struct md_tf_regs *r);

/**
 * md_tf_start() - what a command wants
 * @t: the drive
 * @r: the command
 * @now_ns: the time
 * @range: filled in if it is one for the engine
 * @result: set to how it ends; of a range: if all goes well
 *
 * Return: what to do.
 */
enum md_tf_kind md_tf_start(struct md_tf *t, const struct md_tf_regs *r, u64 now_ns,
			    struct mde_range *range, struct md_tf_result *result);

/**
 * md_tf_wake() - the medium is wanted: leave a power condition
 * @t: the drive
 * @now_ns: the time
 *
 * Return: the condition it was in.
 */
enum md_tf_condition md_tf_wake(struct md_tf *t, u64 now_ns);

/**
 * md_tf_condition_at() - the power condition
 * @t: the drive
 * @now_ns: the time
 */
enum md_tf_condition md_tf_condition_at(const struct md_tf *t, u64 now_ns);

/**
 * md_tf_reply() - a page of a command's data
 * @t: the drive
 * @r: the command
 * @n: which, from 0
 * @page: filled in
 *
 * Return: whether there is one.
 */
bool md_tf_reply(struct md_tf *t, const struct md_tf_regs *r, u32 n, u8 page[MD_TF_PAGE]);

/**
 * md_tf_take() - take a command's page
 * @t: the drive
 * @r: the command
 * @page: what was sent
 * @result: set to how it ends
 */
void md_tf_take(struct md_tf *t, const struct md_tf_regs *r, const u8 page[MD_TF_PAGE],
		struct md_tf_result *result);

/**
 * md_tf_trim() - which sectors does a page of DATA SET MANAGEMENT name?
 * @t: the drive
 * @page: what was sent
 * @n: which of its ranges, below MD_TF_TRIM_RANGES
 * @range: @gone_lbn and @gone set; an entry of no sectors is one that is not used
 * @result: set to how the command ends if the drive has not got these sectors
 *
 * Return: whether it has.
 */
bool md_tf_trim(const struct md_tf *t, const u8 page[MD_TF_PAGE], u32 n, struct mde_range *range,
		struct md_tf_result *result);

/**
 * md_tf_unreadable() - how a command ends that has met a bad sector
 * @error: enum mde_error
 * @lba: the sector
 * @result: set
 */
void md_tf_unreadable(enum mde_error error, u64 lba, struct md_tf_result *result);

/**
 * md_tf_fail_queued() - an NCQ command has failed: the drive drops all others
 * @t: the drive
 * @tag: its tag
 * @result: how it ended
 */
void md_tf_fail_queued(struct md_tf *t, u8 tag, const struct md_tf_result *result);

#endif /* MECHDISK_TASKFILE_H */
