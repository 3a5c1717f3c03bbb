/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a drive's text says of places and seeks, printed. Two programs are made of it: vectors_model.c asks the scheduler's model,
 * vectors_drive.c the simulated drive; they share nothing else.
 */
#ifndef VECTORS_H
#define VECTORS_H

/**
 * struct vec_place - where an LBN lives
 * @cyl: cylinder
 * @head: surface
 * @sector: physical sector on the track
 * @spt: sectors on the track
 * @angle: where the sector begins, fraction of a turn
 */
struct vec_place {
	unsigned int cyl;
	unsigned int head;
	unsigned int sector;
	unsigned int spt;
	double angle;
};

/**
 * vec_load() - read the text; ends the program with status 2 if it is refused
 * @path: its file's name
 * @text: the text
 * @len: its length
 *
 * Return: LBNs of the drive.
 */
unsigned long long vec_load(const char *path, const char *text, unsigned long len);

/**
 * vec_locate() - where an LBN lives
 * @lbn: an LBN of the drive
 * @place: result
 */
void vec_locate(unsigned long long lbn, struct vec_place *place);

/**
 * vec_move_ns() - how long a move takes
 * @cyls: cylinders
 * @other_head: the head changes, too
 * @write: a write follows
 *
 * Return: nanoseconds.
 */
double vec_move_ns(unsigned int cyls, int other_head, int write);

/**
 * vec_fail() - end the program with status 2
 * @path: file at fault
 * @line: line, 0: the file as a whole
 * @reason: why
 */
void vec_fail(const char *path, unsigned int line, const char *reason);

#endif /* VECTORS_H */
