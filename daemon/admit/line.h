/* A line: classes in the order in which they are tried.
 *
 *   queue -> priority -> user, by virtual time -> class, by the rank of its first waiter
 *
 * It has three levels of nodes:
 *
 *   line: a tree of lanes; a part of it belongs to one queue, slotted or not
 *     lane: an account at one priority in one line: a tree of seats
 *       seat: a class in that lane
 *
 * There are several lines: the ready line, the blocked line, and one for each resource,
 * with the classes that claim it. A class has a seat, with its lane, for each line that
 * it can be in, from its birth. So taking and leaving seats allocates nothing. All lines
 * have the same order.
 *
 * A lane is contested if virtual time orders it: in a line of several users
 * (line.shared), if another account has a lane in the same part at the same priority.
 * When the virtual time of an account changes, line_reorder() moves only its contested
 * lanes. A user may have a lane for each of 2,001 priorities, few of which other users
 * use. */
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
    struct treap lanes;  /* lanes with a taken seat */
    struct resource *of; /* its resource; NULL: the ready or the blocked line */
    bool shared;
};

struct lane {
    struct treap_weight place; /* in line.lanes. In the ready line its weight is the
                                * number of waiters of its classes, taken seats or not; in
                                * other lines it is 0 */
    struct treap_node by_line; /* in account.lanes */
    struct list_node contender; /* in account.contested */
    struct line *line;
    struct account *account;
    uint64_t time; /* its order: the account's virtual time, while contested */
    int32_t priority;
    bool slotted, contested;
    uint32_t refs;      /* seats that refer to it */
    uint64_t held;      /* amount of the line's resource that jobs of these classes
                         * hold */
    struct treap seats; /* its taken seats */
};

struct seat {
    struct treap_node node; /* in lane.seats */
    struct lane *lane;
    struct class *class;
    bool taken;
};

/* Initialises the seat of a class in a line, not taken. Returns 0 or -ENOMEM. */
int seat_init(struct seat *s, struct class *c, struct line *l);
/* Drops the seat, which is not taken. */
void seat_fini(struct seat *s);
/* Take and leave the seat. While it is taken, the rank of its class must not change. */
void seat_take(struct seat *s);
void seat_leave(struct seat *s);

/* Moves the account's contested lanes after its virtual time changed. */
void line_reorder(struct account *a);

/* Calls fn with the resource of each line of resources that the account has a lane of, in
 * no order; one may come more than once. */
void line_each_resource(const struct account *a,
                        void (*fn)(struct resource *r, void *arg), void *arg);

/* Returns how much of the line's resource jobs of the account hold. */
uint64_t line_held(const struct line *l, const struct account *a);

/* Returns the first lane of the part with this number, or of the next one; NULL: none. A
 * part is the lanes of one queue, slotted or not. A walk begins with part 0. */
#define PART_OF(number, slotted) ((uint64_t)(number) << 1 | (slotted))
struct lane *line_part(const struct line *l, uint64_t part);
uint64_t lane_part(const struct lane *t);
/* Returns whether lanes of several queues are in the line. */
bool line_has_queues(const struct line *l);
/* Returns whether the line has both slotted and slotless lanes. */
bool line_is_mixed(const struct line *l);
/* Returns the next lane of the same part; NULL: none. */
struct lane *lane_after(const struct lane *t);
/* Sets the lane's weight: the number of waiters of its classes. */
void lane_set_waiters(struct lane *t, uint64_t waiters);
/* Returns the number of waiters in lanes of its part in front of it; it need not be in
 * the line. */
uint64_t lane_waiters_before(const struct lane *t);
/* Returns the first class of a lane with a taken seat. */
struct class *lane_first(const struct lane *t);
/* Returns the class after this seat in the lane; NULL: none. */
struct class *lane_class_after(const struct lane *t, const struct seat *s);

/* Returns whether a waiter of class a with this rank goes before one of b, now. */
bool place_is_before(const struct class *a, uint64_t rank, const struct class *b,
                     uint64_t other);
/* Likewise for the first waiters of two classes. */
bool class_is_before(const struct class *a, const struct class *b);

#endif
