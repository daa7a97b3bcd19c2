/* See error_name.h. */
#include "wire/error_name.h"

#include <stdio.h>
#include <string.h>

#define ERROR_MOST 4095 /* greatest errno of Linux */

const char *error_name(int error, char buf[ERROR_NAME_MAX])
{
    const char *known = error > 0 ? strerrorname_np(error) : NULL;

    if (known)
        (void)snprintf(buf, ERROR_NAME_MAX, "%s", known);
    else
        (void)snprintf(buf, ERROR_NAME_MAX, "%d", error);
    return buf;
}

int error_from_name(const char *name)
{
    char known[ERROR_NAME_MAX];

    for (int error = 1; error <= ERROR_MOST; error++)
        if (strcmp(error_name(error, known), name) == 0)
            return error;
    return 0;
}
