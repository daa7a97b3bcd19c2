/* See error.h. */
#include "base/error.h"

#include <stdio.h>

int error_vset(struct volt_error *err, int r, const char *format, va_list ap)
{
    if (err)
        (void)vsnprintf(err->text, sizeof(err->text), format, ap);
    return r;
}

int error_set(struct volt_error *err, int r, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)error_vset(err, r, format, ap);
    va_end(ap);
    return r;
}
