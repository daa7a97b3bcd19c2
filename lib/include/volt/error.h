/* Errors of libvolt, and what all its headers share.
 *
 * Functions that can fail return 0 or a positive result, and a negative errno on failure;
 * outputs come last, are called ret_ and stay untouched on failure. What only memory can
 * make fail returns a pointer, NULL without memory. Mistakes of the program (unlocking
 * what is not locked) are asserted, which aborts; what comes from outside never is.
 * Otherwise libvolt does not log, exit or abort, unless VOLT_DEBUG is set, which asks it
 * to name mistakes (volt_tasks(3)). errno itself means nothing after a call.
 *
 * Words about ownership: a function borrows (looks, during the call, unless it says how
 * long), copies, takes (it is the function's from now on, also on failure if it says so),
 * or returns new (the caller ends it). */
#ifndef VOLT_ERROR_H
#define VOLT_ERROR_H

#define VOLT_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define VOLT_BEGIN_DECLS extern "C" {
#define VOLT_END_DECLS   }
#else
#define VOLT_BEGIN_DECLS
#define VOLT_END_DECLS
#endif

/* A human-readable cause. Callers own it; every function that takes one accepts NULL. */
struct volt_error {
    char text[256]; /* NUL-terminated, one sentence without a final full stop */
};

#endif
