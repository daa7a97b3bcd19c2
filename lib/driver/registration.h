/* A registered descriptor: its readiness, the tasks that wait for it, and its life.
 *
 * Readiness, one word per direction (edge-triggered, so the word remembers the edge):
 *   bit          meaning               set by                  cleared by
 *   0 READY      an event said so      loop's holder           readiness_clear
 *   1 TRY        nobody has tried yet  birth                   readiness_clear
 *   2 FAILED     error is valid        loop's holder, shutdown nobody
 *   3 ENDED      the stream has ended  loop's holder           nobody
 *   8..63        tick: number of events
 *
 * A poll that answers "ready" remembers the word; clearing compares with what it
 * remembered, so an event between the EAGAIN and the clear is never wiped out. The
 * helpers that do the operation themselves go by READY or TRY (the first read needs no
 * turn of the loop); the bare polls only by READY: a connecting socket is not writable
 * because nobody has looked.
 *
 * A short read or write on TCP proves that the next one would block, so it clears as well
 * (readiness_clear_short) and saves the call that says EAGAIN. It proves that the queue
 * was empty, or full, after it had begun:
 *   data that came later, room that was made later
 *                        a new edge: the tick moves, and the clearing fails or is undone
 *   an end of the stream, an error or an urgent mark, behind the data and before the read
 *                        ENDED in the word that the reader remembers: nothing is cleared
 *   the same, not yet reported when the reader looked
 *                        an event that is still to come: the tick moves
 * Other files prove nothing: a Unix socket's read ends at a message with descriptors.
 *
 * Waiters: one task per direction, set and taken under the lock. "Not ready" is decided
 * only under it. A task that dies waiting forgets itself first, so the pointer is always
 * to a live task, and none ever lies in the kernel.
 *
 * Life: NEW (queued for the loop) -> ADDED or FAILED -> GONE (queued again) -> freed; or
 * NEW -> GONE. Only the holder of the driver's turn adds, removes and frees. It adds
 * under the lock, and _retire takes the lock: so the descriptor is still its owner's
 * while it is added. After retiring the owner may close it; its number may come back in a
 * new registration, whose addition is queued behind this one's removal. A file that has
 * other descriptors stays known to the kernel after the number is closed: its events find
 * no registration, or are a spurious readiness for the number's next user. */
#ifndef VOLT_DRIVER_REGISTRATION_H
#define VOLT_DRIVER_REGISTRATION_H

#include "base/lock.h"
#include "task/task.h"
#include <volt/time.h>

enum direction {
    DIR_READ = 0,
    DIR_WRITE = 1,
};

struct readiness {
    vat_u64 word;             /* acq to read; rel to set, rlx to clear */
    uint64_t seen;            /* word at the last "ready"; the waiting task's */
    struct volt_task *waiter; /* under the registration's lock */
    /* Task of a watched runtime that has waited and not seen the end; the task's own. */
    struct volt_task *watched;
};

/* Bits of an event of the loop. */
enum {
    EVENT_READABLE = 1,
    EVENT_WRITABLE = 2,
    EVENT_ENDED = 4, /* ended by either side or by an error, or has an urgent mark */
};

enum registration_state {
    REG_NEW,
    REG_ADDED,
    REG_FAILED,
    REG_GONE,
};

struct registration {
    vlock lock; /* protects state and the waiters */
    int fd;
    vat_u32 state;          /* enum registration_state; written under the lock */
    vat_u32 error;          /* positive errno; written before FAILED is set */
    bool in_loop;           /* holder of the turn */
    bool is_socket, is_tcp; /* written by the owner */
    struct driver *driver;
    struct registration *next_change; /* the driver's queue of changes */
    struct readiness dir[2];
    struct volt_sleep backoff; /* pause of an accepting task without descriptors */
};

void registration_init(struct registration *r, struct driver *d, int fd);

/* The poll of a task. Returns true if ready (or failed); otherwise the next event wakes
 * `task`. tries: the caller tries the operation itself. */
bool readiness_poll(struct registration *r, enum direction dir, struct volt_task *task,
                    bool tries);
/* Clears readiness; for the waiting task, after EAGAIN. */
void readiness_clear(struct registration *r, enum direction dir);
/* Does the same after an operation on TCP that did less than asked. */
void readiness_clear_short(struct registration *r, enum direction dir);
/* Forgets the waiter, which no event wakes any more; for the waiting task or its drop. */
void readiness_forget(struct registration *r, enum direction dir);
/* Returns 0, or -errno if the registration will never report anything. */
int readiness_error(const struct registration *r);

/* Reports an event; for the loop, inside a turn. what: EVENT_ bits. */
void registration_event(struct registration *r, unsigned what, struct task_chain *chain);
/* Any thread, while r lives. Makes both directions ready for ever, with the answer
 * -error. */
void registration_fail(struct registration *r, int error, struct task_chain *chain);

/* Forgets the waiters; for the owner. Returns true if r must be queued for removal; false
 * if r is still queued since its registration, and the drain will free it. */
bool registration_retire(struct registration *r);

#endif
