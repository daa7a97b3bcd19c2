/* Base64 (RFC 4648, with padding). */
#ifndef VOLTD_METHOD_BASE64_H
#define VOLTD_METHOD_BASE64_H

#include <stddef.h>

/* Characters that len bytes become, without a NUL. */
#define BASE64_SIZE(len) (((len) + 2) / 3 * 4)

void base64_encode(const void *bytes, size_t len, char *ret);

#endif
