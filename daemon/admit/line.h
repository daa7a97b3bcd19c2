/* A line: classes in the order in which they are asked.
 *
 *   queue -> priority -> user, by virtual time -> class, by the rank of its first waiter
 *
 * Three levels of nodes:
 *
 *   line: a tree of lanes; a part of it is one queue's, slotted or not
 *     lane: an account at one priority in one line: a tree of seats
 *       seat: a class in that lane
 *
 * There are several lines: of what may start next, and of each resource those that want
 * it. A class has a seat for each line that it can be in, from its birth, and the lane of
 * it too: so sitting down and getting up allocate nothing. All lines have one order.
 *
 * When the virtual time of an account changes, those of its lanes are ordered anew, by
 * line_reorder(), that it orders: in a line of several users (line.shared), where another
 * account has a lane in the same part and at the same priority. Such lanes are contested.
 * A user may have a lane for each of 2,001 priorities, few of which others use. */
#ifndef VOLTD_ADMIT_LINE_H
#define VOLTD_ADMIT_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/admit/treap.h"

struct account;
struct class;
struct resource;
struct job_queue;

struct line {
    struct treap lanes;  /* those with a seat that is taken */
    struct resource *of; /* whose line it is; NULL: no resource's */
    bool shared;
};

struct lane {
    struct treap_weight place; /* in line.lanes; in the line of what may start next its
                                * weight is the waiters of the classes of its seats,
                                * taken or not; in others it has none */
    struct treap_node by_line; /* in account.lanes */
    struct list_node contender; /* in account.contested */
    struct line *line;
    struct account *account;
    uint64_t time; /* that it is ordered by: the account's, while it is contested */
    int32_t priority;
    bool slotted, contested;
    uint32_t refs;      /* seats that it was made for */
    uint64_t held;      /* of the line's resource, by jobs of these classes */
    struct treap seats; /* those that are taken */
};

struct seat {
    struct treap_node node; /* in lane.seats */
    struct lane *lane;
    struct class *class;
    bool taken;
};

/* The seat of a class in a line, not taken. 0; -ENOMEM. */
int seat_init(struct seat *s, struct class *c, struct line *l);
/* Not taken. */
void seat_fini(struct seat *s);
/* While it is taken the rank of its class must not change. */
void seat_take(struct seat *s);
void seat_leave(struct seat *s);

/* The account's virtual time has changed. */
void line_reorder(struct account *a);

/* Of the line's resource: what jobs of the account hold. */
uint64_t line_held(const struct line *l, const struct account *a);

/* Parts of a line: the lanes of one queue, slotted or not. Begins with part 0; NULL:
 * there is no further one. The first lane of the part with this number or the next
 * greater one. */
#define PART_OF(number, slotted) ((uint64_t)(number) << 1 | (slotted))
struct lane *line_part(const struct line *l, uint64_t part);
uint64_t lane_part(const struct lane *t);
/* Whether lanes of several queues are in it. */
bool line_has_queues(const struct line *l);
/* Whether some lanes in it are slotted, and some are not. */
bool line_is_mixed(const struct line *l);
/* The next lane of the same part; NULL: it was the last. */
struct lane *lane_after(const struct lane *t);
/* The classes of its seats have so many waiters, which is its weight. */
void lane_set_waiters(struct lane *t, uint64_t waiters);
/* Waiters of the lanes of its part in front of it, which need not be in the line. */
uint64_t lane_waiters_before(const struct lane *t);
/* Of a lane that has a seat that is taken. */
struct class *lane_first(const struct lane *t);
/* The class behind this one in the lane; NULL: none. */
struct class *lane_class_after(const struct lane *t, const struct seat *s);

/* Whether what has this class and rank is asked before the other, now. */
bool place_is_before(const struct class *a, uint64_t rank, const struct class *b,
                     uint64_t other);
/* The same of the first waiters of two classes. */
bool class_is_before(const struct class *a, const struct class *b);

#endif
