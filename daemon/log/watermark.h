/* The number up to which everything in the log counts in the table, too.
 *
 * An end and a submission are facts first: the log tells of them as soon as they are
 * durable, and they count in the table when their tasks have heard of that, in any order.
 * So the newest number of the log is no place to go on from behind a look at the table:
 * an event up to there may be missing in what was seen. The low watermark is.
 *
 *   append a fact                    it counts
 *   1. watermark_begin()             1. the table is changed
 *   2. append                        2. watermark_end()
 *
 * Facts are counted by turns. A turn ends when all facts of the turn before it count; the
 * log's newest number at that moment is the mark, as all that has a number by then was
 * appended by then. When the facts of the turn that ended count as well, the watermark is
 * the mark. So it follows the log at a distance of two commits, and O(1).
 *
 * Pure; the core's lock guards it. `newest` is the log's newest number, read with the
 * lock held. */
#ifndef VOLTD_LOG_WATERMARK_H
#define VOLTD_LOG_WATERMARK_H

#include <stdint.h>

struct watermark {         /* zero-initialised it is ready; all private */
    uint32_t under_way[2]; /* facts of this turn and of the one before */
    uint8_t turn;
    uint64_t low, mark;
};

/* A fact is about to be appended that counts later. Returns its ticket, never 0. */
uint8_t watermark_begin(struct watermark *w, uint64_t newest);
/* It counts, or will not be durable. */
void watermark_end(struct watermark *w, uint8_t ticket, uint64_t newest);
/* Every event with a number up to this one counts. */
uint64_t watermark_low(const struct watermark *w, uint64_t newest);

#endif
