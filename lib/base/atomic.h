/* Atomics of the whole tree: typed cells, every order spelled out at the call.
 *
 * Three builds of the same source:
 *   product      C11 atomics;
 *   VOLT_TSAN    stand-alone fences become an RMW on the word they order, because
 *                ThreadSanitizer does not model fences;
 *   VOLT_MCX     every operation is a call into the model explorer (tests/model).
 *
 * Nothing else in the tree includes <stdatomic.h>. Cells are structs, so a plain
 * access to one does not compile. A new shared field needs a model and a mutant
 * (tests/model/README.md).
 *
 * Orders: VAT_RLX, VAT_ACQ, VAT_REL, VAT_AR (acq_rel), VAT_SC.
 * Operations, for T in u32, u64, ptr:
 *   vat_T_init(c, v)   not atomic; before the cell is shared
 *   vat_T_load(c, o)   vat_T_store(c, v, o)   vat_T_xchg(c, v, o)
 *   vat_T_cas(c, &expected, desired, o_success, o_failure)   strong
 *   vat_T_add/sub/or/and(c, v, o)   return the previous value (not for ptr)
 *   vat_T_fence(c)     sequentially consistent fence; orders this thread's earlier
 *                      stores before its later loads, c being the word it loads next
 * Plain fields handed from thread to thread are marked VAT_RD(p) and VAT_WR(p) before
 * the access: race detection under VOLT_MCX, nothing otherwise. */
#ifndef VOLT_BASE_ATOMIC_H
#define VOLT_BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two lines on x86-64 and arm64: the adjacent-line prefetcher pairs them. */
#define VOLT_CACHE_LINE 128

#ifdef VOLT_MCX
#include "mcx_atomic.h" /* tests/model */
#else

#include <stdatomic.h>

#define VAT_RLX memory_order_relaxed
#define VAT_ACQ memory_order_acquire
#define VAT_REL memory_order_release
#define VAT_AR  memory_order_acq_rel
#define VAT_SC  memory_order_seq_cst

#define VAT_RD(p) ((void)0)
#define VAT_WR(p) ((void)0)

#define VAT_DEFINE_BASE(T, ctype)                                                        \
    typedef struct {                                                                     \
        _Atomic(ctype) v;                                                                \
    } vat_##T;                                                                           \
    static inline void vat_##T##_init(vat_##T *c, ctype v)                               \
    {                                                                                    \
        atomic_init(&c->v, v);                                                           \
    }                                                                                    \
    static inline ctype vat_##T##_load(const vat_##T *c, memory_order o)                 \
    {                                                                                    \
        return atomic_load_explicit(&c->v, o);                                           \
    }                                                                                    \
    static inline void vat_##T##_store(vat_##T *c, ctype v, memory_order o)              \
    {                                                                                    \
        atomic_store_explicit(&c->v, v, o);                                              \
    }                                                                                    \
    static inline ctype vat_##T##_xchg(vat_##T *c, ctype v, memory_order o)              \
    {                                                                                    \
        return atomic_exchange_explicit(&c->v, v, o);                                    \
    }                                                                                    \
    static inline bool vat_##T##_cas(vat_##T *c, ctype *expected, ctype desired,         \
                                     memory_order ok, memory_order fail)                 \
    {                                                                                    \
        return atomic_compare_exchange_strong_explicit(&c->v, expected, desired, ok,     \
                                                       fail);                            \
    }

#define VAT_DEFINE_MATH(T, ctype)                                                        \
    static inline ctype vat_##T##_add(vat_##T *c, ctype v, memory_order o)               \
    {                                                                                    \
        return atomic_fetch_add_explicit(&c->v, v, o);                                   \
    }                                                                                    \
    static inline ctype vat_##T##_sub(vat_##T *c, ctype v, memory_order o)               \
    {                                                                                    \
        return atomic_fetch_sub_explicit(&c->v, v, o);                                   \
    }                                                                                    \
    static inline ctype vat_##T##_or(vat_##T *c, ctype v, memory_order o)                \
    {                                                                                    \
        return atomic_fetch_or_explicit(&c->v, v, o);                                    \
    }                                                                                    \
    static inline ctype vat_##T##_and(vat_##T *c, ctype v, memory_order o)               \
    {                                                                                    \
        return atomic_fetch_and_explicit(&c->v, v, o);                                   \
    }                                                                                    \
    static inline void vat_##T##_fence(vat_##T *c)                                       \
    {                                                                                    \
        vat_fence_word(c);                                                               \
        if (VAT_FENCE_IS_RMW)                                                            \
            (void)atomic_fetch_add_explicit(&c->v, 0, memory_order_seq_cst);             \
    }

#ifdef VOLT_TSAN
#define VAT_FENCE_IS_RMW 1
static inline void vat_fence_word(const void *c)
{
    (void)c;
}
#else
#define VAT_FENCE_IS_RMW 0
static inline void vat_fence_word(const void *c)
{
    (void)c;
#ifdef __x86_64__
    /* A locked RMW on the stack is a full barrier and eight times cheaper than mfence. */
    __asm__ __volatile__("lock; addl $0,-4(%%rsp)" ::: "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}
#endif

VAT_DEFINE_BASE(u32, uint32_t)
VAT_DEFINE_MATH(u32, uint32_t)
VAT_DEFINE_BASE(u64, uint64_t)
VAT_DEFINE_MATH(u64, uint64_t)
VAT_DEFINE_BASE(ptr, void *)

#endif /* VOLT_MCX */

/* A thread-local pointer that every spawn and wake reads: at a fixed offset, without the
 * call that a shared library would make for it. */
#define VAT_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* Busy-wait hint. */
static inline void vat_pause(void)
{
#if defined(VOLT_MCX)
    mcx_yield();
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
