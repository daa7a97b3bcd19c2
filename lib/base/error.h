/* Telling what was wrong. */
#ifndef VOLT_BASE_ERROR_H
#define VOLT_BASE_ERROR_H

#include <stdarg.h>
#include <volt/error.h>

/* Writes the sentence, cut to its room, and returns r, for `return error_set(...)`. err
 * may be NULL. */
__attribute__((format(printf, 3, 4))) int error_set(struct volt_error *err, int r,
                                                    const char *format, ...);
__attribute__((format(printf, 3, 0))) int error_vset(struct volt_error *err, int r,
                                                     const char *format, va_list ap);

#endif
