/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the simulated drive admits its sectors are: READ DEFECT DATA, and the
 * translation of addresses by SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS
 * (SBC, Translate Address page 40h).
 *
 * Slipped sectors are the primary list of defects, remapped ones the grown
 * list.  A "sector" is an LBN's worth.  Bytes in, bytes out; takes no lock.
 */
#ifndef MECHDISK_DIAG_H
#define MECHDISK_DIAG_H

#include "mechdisk_pages.h"

/* Bytes of a defect's descriptor, and of a translated address. */
#define MDD_ADDRESS	8
/* Longest parameter list of SEND DIAGNOSTIC, and longest result. */
#define MDD_LIST	14
/* Header of the defect list, (10) or (12). */
#define MDD_HEADER	8

/**
 * struct mdd_list - the rest of a defect list
 * @cfg: the drive
 * @format: of its descriptors (address format of SBC)
 * @substituted: not the one asked for
 * @primary: slips are in it
 * @grown: remaps are in it
 * @slip: next slip
 * @done: sectors of that one already listed
 * @remap: next remap
 */
struct mdd_list {
	const struct mde_config *cfg;
	u8 format;
	bool substituted;
	bool primary;
	bool grown;
	u32 slip;
	u32 done;
	u32 remap;
};

/**
 * struct mdd_result - what SEND DIAGNOSTIC left for RECEIVE DIAGNOSTIC RESULTS
 * @page: the page
 * @len: its length; 0: nothing was sent
 */
struct mdd_result {
	u8 page[MDD_LIST];
	u8 len;
};

/**
 * mdd_defects() - begin READ DEFECT DATA(10) or (12)
 * @cfg: the drive
 * @cdb: the command
 * @list: set to the list of descriptors that follow the header
 * @header: filled in
 *
 * Return: length of the header.
 */
u32 mdd_defects(const struct mde_config *cfg, const u8 *cdb,
		struct mdd_list *list, u8 header[MDD_HEADER]);

/**
 * mdd_next() - next descriptor of a defect list
 * @list: the list
 * @descriptor: filled in
 *
 * Return: whether there was one.
 */
bool mdd_next(struct mdd_list *list, u8 descriptor[MDD_ADDRESS]);

/**
 * mdd_send() - carry out SEND DIAGNOSTIC
 * @cfg: the drive
 * @cdb: the command
 * @list: its parameter list
 * @len: bytes of @list, at most MDD_LIST
 * @result: set if the command is carried out
 * @err: set if it is refused
 *
 * Return: whether it was carried out.
 */
bool mdd_send(const struct mde_config *cfg, const u8 *cdb, const u8 *list,
	      u32 len, struct mdd_result *result, struct mdp_error *err);

/**
 * mdd_receive() - carry out RECEIVE DIAGNOSTIC RESULTS
 * @cfg: the drive
 * @cdb: the command
 * @last: result of the last SEND DIAGNOSTIC
 * @result: set to the page to send
 * @err: set if the command is refused
 *
 * Return: whether it was carried out.
 */
bool mdd_receive(const struct mde_config *cfg, const u8 *cdb,
		 const struct mdd_result *last, struct mdd_result *result,
		 struct mdp_error *err);

#endif /* MECHDISK_DIAG_H */
