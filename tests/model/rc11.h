/* RC11, the memory model of C11 as repaired (Lahav, Vafeiadis, Kang, Hur, Dreyer:
 * "Repairing Sequential Consistency in C/C++11", PLDI 2017), by its axioms: which
 * outcomes may a small program have? For the differential fuzz of the explorer; shares no
 * code with it.
 *
 * A program is a few threads, each a line of operations on atomic cells and on plain
 * fields, which begin as 0. An operation that is guarded is left out unless the value
 * that its thread has read last is not 0. An outcome is what all loads and RMWs have read
 * and what the cells hold at the end. */
#ifndef VOLT_TESTS_MODEL_RC11_H
#define VOLT_TESTS_MODEL_RC11_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "mcx_atomic.h" /* for enum mcx_order */

#define RC11_THREADS 4
#define RC11_OPS     4 /* of a thread */
#define RC11_CELLS   3
#define RC11_FIELDS  2
#define RC11_VALUES  16 /* all are smaller */

enum rc11_kind {
    RC11_LOAD,
    RC11_STORE,
    RC11_XCHG,
    RC11_ADD,
    RC11_CAS,
    RC11_FENCE, /* sequentially consistent */
    RC11_READ,  /* of a field: no value, but races */
    RC11_WRITE,
};

struct rc11_op {
    enum rc11_kind kind;
    bool guarded;
    int cell; /* or field */
    enum mcx_order order, fail;
    uint32_t value, expected; /* expected: of RC11_CAS */
};

struct rc11_program {
    int threads;
    int ops[RC11_THREADS];
    struct rc11_op op[RC11_THREADS][RC11_OPS];
};

static inline bool rc11_reads(enum rc11_kind k)
{
    return k == RC11_LOAD || k == RC11_XCHG || k == RC11_ADD || k == RC11_CAS;
}

static inline bool rc11_writes(enum rc11_kind k)
{
    return k == RC11_STORE || k == RC11_XCHG || k == RC11_ADD || k == RC11_CAS;
}

/* What is said of an outcome, or of a data race: bits. */
enum {
    /* By RC11, with the release sequences of C++20: a relaxed store by the thread that
     * made the release store is no part of one. */
    RC11_ALLOWED = 1,
    /* By RC11 as published, with those of C11: what is left of ALLOWED. */
    RC11_ALLOWED_C11 = 2,
    /* By the explorer's bounds, one after the other: what is left of ALLOWED when
     * modification order and the order of sequentially consistent operations must agree
     * with one order of execution; */
    RC11_IN_ORDER = 4,
    /* and when a sequentially consistent load reads nothing older than what a fence that
     * came before it has seen, be it by a relaxed load; */
    RC11_SC_LOADS = 8,
    /* and when a failing CAS reads the newest value. The explorer must show this, and no
     * more. */
    RC11_SHOWN = 16,
};

/* An outcome as one number: the values read, op by op, thread by thread, then those of
 * the cells. What was not read is 0. */
#define RC11_VALUE_BITS 4
typedef struct {
    uint64_t read, final;
} rc11_outcome;

static inline void rc11_outcome_read(rc11_outcome *o, int thread, int op, uint32_t value)
{
    o->read |= (uint64_t)value << (thread * RC11_OPS + op) * RC11_VALUE_BITS;
}
static inline void rc11_outcome_final(rc11_outcome *o, int cell, uint32_t value)
{
    o->final |= (uint64_t)value << cell * RC11_VALUE_BITS;
}

#define RC11_OUTCOMES 4096
struct rc11_set {
    int n;
    struct {
        rc11_outcome outcome;
        unsigned flags;
    } entry[RC11_OUTCOMES];
};

/* Adds flags to an outcome's. False: the set is full. */
bool rc11_set_add(struct rc11_set *s, rc11_outcome o, unsigned flags);

/* All outcomes, and in *ret_race the flags of executions with a data race on a field.
 * False: too many outcomes. */
bool rc11_outcomes(const struct rc11_program *p, struct rc11_set *ret,
                   unsigned *ret_race);

/* How many candidates there are to look at, about. */
double rc11_cost(const struct rc11_program *p);

#endif
