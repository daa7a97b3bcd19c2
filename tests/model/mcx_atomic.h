/* The cells of lib/base/atomic.h as calls into the explorer; included by it under
 * VOLT_MCX.
 *
 * A cell keeps its newest value in place, so that its size and a zeroed initial value are
 * those of the product; its history is found by its address. Each operation records the
 * source line that makes it, for replays. */
#ifndef VOLT_TESTS_MODEL_MCX_ATOMIC_H
#define VOLT_TESTS_MODEL_MCX_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mcx_order { VAT_RLX, VAT_ACQ, VAT_REL, VAT_AR, VAT_SC };
enum mcx_rmw { MCX_XCHG, MCX_ADD, MCX_SUB, MCX_OR, MCX_AND };

/* Before and after each operation. */
void mcx_here(const char *file, int line);
void mcx_wipe(void); /* nothing is left of it below the stack, to tell states apart */
void mcx_init(void *cell, unsigned size, uint64_t v);
uint64_t mcx_load(const void *cell, unsigned size, enum mcx_order o);
void mcx_store(void *cell, unsigned size, uint64_t v, enum mcx_order o);
uint64_t mcx_rmw(void *cell, unsigned size, enum mcx_rmw op, uint64_t v,
                 enum mcx_order o);
bool mcx_cas(void *cell, unsigned size, uint64_t *expected, uint64_t desired,
             enum mcx_order ok, enum mcx_order fail);
void mcx_fence(const void *cell);
void mcx_plain_read(const void *p);
void mcx_plain_write(const void *p);
void mcx_lock(uint32_t *word);
bool mcx_try_lock(uint32_t *word);
void mcx_unlock(uint32_t *word);
int mcx_futex_wait(uint32_t *word, uint32_t expected, bool may_time_out);
void mcx_futex_wake(uint32_t *word, uint32_t n);
void mcx_yield(void);

/* IDLE_MAX_WORKERS of lib/sched/idle.h: a model sets it, before it makes workers. */
extern unsigned mcx_group_size;

#define MCX_HERE mcx_here(__FILE__, __LINE__)

#define VAT_DEFINE_BASE(T, ctype, to, from)                                              \
    typedef struct {                                                                     \
        ctype v;                                                                         \
    } vat_##T;                                                                           \
    static inline void mcx_##T##_init(vat_##T *c, ctype v)                               \
    {                                                                                    \
        mcx_init(&c->v, sizeof(c->v), to v);                                             \
        mcx_wipe();                                                                      \
    }                                                                                    \
    static inline ctype mcx_##T##_load(const vat_##T *c, enum mcx_order o)               \
    {                                                                                    \
        ctype v = from mcx_load(&c->v, sizeof(c->v), o);                                 \
                                                                                         \
        mcx_wipe();                                                                      \
        return v;                                                                        \
    }                                                                                    \
    static inline void mcx_##T##_store(vat_##T *c, ctype v, enum mcx_order o)            \
    {                                                                                    \
        mcx_store(&c->v, sizeof(c->v), to v, o);                                         \
        mcx_wipe();                                                                      \
    }                                                                                    \
    static inline ctype mcx_##T##_xchg(vat_##T *c, ctype v, enum mcx_order o)            \
    {                                                                                    \
        ctype old = from mcx_rmw(&c->v, sizeof(c->v), MCX_XCHG, to v, o);                \
                                                                                         \
        mcx_wipe();                                                                      \
        return old;                                                                      \
    }                                                                                    \
    static inline bool mcx_##T##_cas(vat_##T *c, ctype *expected, ctype desired,         \
                                     enum mcx_order ok, enum mcx_order fail)             \
    {                                                                                    \
        uint64_t e = to * expected;                                                      \
        bool done = mcx_cas(&c->v, sizeof(c->v), &e, to desired, ok, fail);              \
                                                                                         \
        *expected = from e;                                                              \
        mcx_wipe();                                                                      \
        return done;                                                                     \
    }

#define VAT_DEFINE_MATH_OP(T, ctype, name, op)                                           \
    static inline ctype mcx_##T##_##name(vat_##T *c, ctype v, enum mcx_order o)          \
    {                                                                                    \
        ctype old = (ctype)mcx_rmw(&c->v, sizeof(c->v), op, v, o);                       \
                                                                                         \
        mcx_wipe();                                                                      \
        return old;                                                                      \
    }
#define VAT_DEFINE_MATH(T, ctype)                                                        \
    VAT_DEFINE_MATH_OP(T, ctype, add, MCX_ADD)                                           \
    VAT_DEFINE_MATH_OP(T, ctype, sub, MCX_SUB)                                           \
    VAT_DEFINE_MATH_OP(T, ctype, or, MCX_OR)                                             \
    VAT_DEFINE_MATH_OP(T, ctype, and, MCX_AND)

VAT_DEFINE_BASE(u32, uint32_t, (uint64_t), (uint32_t))
VAT_DEFINE_MATH(u32, uint32_t)
VAT_DEFINE_BASE(u64, uint64_t, (uint64_t), (uint64_t))
VAT_DEFINE_MATH(u64, uint64_t)
VAT_DEFINE_BASE(ptr, void *, (uint64_t)(uintptr_t), (void *)(uintptr_t))

#define vat_u32_init(c, v)             (MCX_HERE, mcx_u32_init(c, v))
#define vat_u32_load(c, o)             (MCX_HERE, mcx_u32_load(c, o))
#define vat_u32_store(c, v, o)         (MCX_HERE, mcx_u32_store(c, v, o))
#define vat_u32_xchg(c, v, o)          (MCX_HERE, mcx_u32_xchg(c, v, o))
#define vat_u32_cas(c, e, d, ok, fail) (MCX_HERE, mcx_u32_cas(c, e, d, ok, fail))
#define vat_u32_add(c, v, o)           (MCX_HERE, mcx_u32_add(c, v, o))
#define vat_u32_sub(c, v, o)           (MCX_HERE, mcx_u32_sub(c, v, o))
#define vat_u32_or(c, v, o)            (MCX_HERE, mcx_u32_or(c, v, o))
#define vat_u32_and(c, v, o)           (MCX_HERE, mcx_u32_and(c, v, o))
#define vat_u32_fence(c)               (MCX_HERE, mcx_fence(c), mcx_wipe())
#define vat_u64_init(c, v)             (MCX_HERE, mcx_u64_init(c, v))
#define vat_u64_load(c, o)             (MCX_HERE, mcx_u64_load(c, o))
#define vat_u64_store(c, v, o)         (MCX_HERE, mcx_u64_store(c, v, o))
#define vat_u64_xchg(c, v, o)          (MCX_HERE, mcx_u64_xchg(c, v, o))
#define vat_u64_cas(c, e, d, ok, fail) (MCX_HERE, mcx_u64_cas(c, e, d, ok, fail))
#define vat_u64_add(c, v, o)           (MCX_HERE, mcx_u64_add(c, v, o))
#define vat_u64_sub(c, v, o)           (MCX_HERE, mcx_u64_sub(c, v, o))
#define vat_u64_or(c, v, o)            (MCX_HERE, mcx_u64_or(c, v, o))
#define vat_u64_and(c, v, o)           (MCX_HERE, mcx_u64_and(c, v, o))
#define vat_u64_fence(c)               (MCX_HERE, mcx_fence(c), mcx_wipe())
#define vat_ptr_init(c, v)             (MCX_HERE, mcx_ptr_init(c, v))
#define vat_ptr_load(c, o)             (MCX_HERE, mcx_ptr_load(c, o))
#define vat_ptr_store(c, v, o)         (MCX_HERE, mcx_ptr_store(c, v, o))
#define vat_ptr_xchg(c, v, o)          (MCX_HERE, mcx_ptr_xchg(c, v, o))
#define vat_ptr_cas(c, e, d, ok, fail) (MCX_HERE, mcx_ptr_cas(c, e, d, ok, fail))

#define VAT_RD(p) (MCX_HERE, mcx_plain_read(p), mcx_wipe())
#define VAT_WR(p) (MCX_HERE, mcx_plain_write(p), mcx_wipe())

/* lib/base/lock.h, as one step each way: zero is unlocked, otherwise the owner's index +
 * 1. The model of the lock has the real one instead. */
#ifndef VLOCK_IN_FULL
typedef struct {
    uint32_t word;
} vlock;
#define vlock_lock(l)     (MCX_HERE, mcx_lock(&(l)->word), mcx_wipe())
#define vlock_try_lock(l) (MCX_HERE, mcx_try_lock(&(l)->word))
#define vlock_unlock(l)   (MCX_HERE, mcx_unlock(&(l)->word), mcx_wipe())
#endif

#endif
