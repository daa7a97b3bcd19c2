/* Base64 (RFC 4648, standard alphabet, padded), for bytes in JSON. */
#ifndef VOLT_WIRE_BASE64_H
#define VOLT_WIRE_BASE64_H

#include <stddef.h>
#include <sys/types.h>

/* Characters for len bytes, without a NUL. */
#define BASE64_SIZE(len) (((len) + 2) / 3 * 4)

void base64_encode(const void *bytes, size_t len, char *ret);
/* Decodes len characters into buf, which has room for len / 4 * 3 bytes. Returns the
 * number of bytes, or -EINVAL. */
ssize_t base64_decode(const char *text, size_t len, unsigned char *buf);

#endif
