/* The number up to which all events of the log count in the table.
 *
 * Ends and submissions are facts first. The log reports them as soon as they are durable.
 * They count in the table later, when their tasks have been woken, in any order. So after
 * a look at the table, a reader cannot go on from the log's newest number: the look may
 * have missed events before it. The low watermark is the number to go on from.
 *
 *   append a fact                    the fact counts
 *   1. watermark_begin()             1. the table is changed
 *   2. append                        2. watermark_end()
 *
 * Facts are counted in turns. A turn ends when all facts of the turn before count. The
 * log's newest number at that moment is the mark: every fact with a number up to it was
 * appended by then. When the facts of the ended turn count too, the watermark moves to
 * the mark. So it follows the log at a distance of two commits, in O(1).
 *
 * Pure; core.lock guards it. `newest` is the log's newest number, read under that
 * lock. */
#ifndef VOLTD_LOG_WATERMARK_H
#define VOLTD_LOG_WATERMARK_H

#include <stdint.h>

struct watermark {         /* zero-initialised is ready; all private */
    uint32_t under_way[2]; /* facts that do not count yet, by turn */
    uint8_t turn;
    uint64_t low, mark;
};

/* Begins a fact that is about to be appended and counts later. Returns its ticket, never
 * 0. */
uint8_t watermark_begin(struct watermark *w, uint64_t newest);
/* Ends the fact: it counts, or will not be durable. */
void watermark_end(struct watermark *w, uint8_t ticket, uint64_t newest);
/* Returns the number up to which all events count. */
uint64_t watermark_low(const struct watermark *w, uint64_t newest);

#endif
