/* See base64.h. */
#include "daemon/method/base64.h"

#include <stdint.h>

void base64_encode(const void *bytes, size_t len, char *ret)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = bytes;

    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16;

        if (i + 1 < len)
            v |= (uint32_t)in[i + 1] << 8;
        if (i + 2 < len)
            v |= in[i + 2];
        *ret++ = digits[v >> 18];
        *ret++ = digits[v >> 12 & 63];
        *ret++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
        *ret++ = i + 2 < len ? digits[v & 63] : '=';
    }
}
