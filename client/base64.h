/* Decoding of base64, as org.voltd.logs.Read sends bytes. */
#ifndef VOLT_CLIENT_BASE64_H
#define VOLT_CLIENT_BASE64_H

#include <stddef.h>
#include <sys/types.h>

/* Decodes text of len characters in place of buf, which has room for len / 4 * 3 bytes.
 * Returns the number of bytes, or -EINVAL. */
ssize_t base64_decode(const char *text, size_t len, unsigned char *buf);

#endif
