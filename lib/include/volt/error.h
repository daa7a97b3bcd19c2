/* Errors of libvolt: functions return 0 or a positive result, and a negative errno on
 * failure. Where a text helps a person, it goes into a caller-owned struct volt_error. */
#ifndef VOLT_ERROR_H
#define VOLT_ERROR_H

#define VOLT_API __attribute__((visibility("default")))

/* A human-readable cause. Callers own it; every function that takes one accepts NULL. */
struct volt_error {
    char text[256]; /* NUL-terminated, one sentence without a final full stop */
};

#endif
