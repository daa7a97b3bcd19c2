/* See base64.h. */
#include "wire/base64.h"

#include <errno.h>
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

static int value(char ch)
{
    if (ch >= 'A' && ch <= 'Z')
        return ch - 'A';
    if (ch >= 'a' && ch <= 'z')
        return ch - 'a' + 26;
    if (ch >= '0' && ch <= '9')
        return ch - '0' + 52;
    return ch == '+' ? 62 : ch == '/' ? 63 : -1;
}

ssize_t base64_decode(const char *text, size_t len, unsigned char *buf)
{
    if (len % 4 != 0)
        return -EINVAL;
    size_t n = 0;
    for (size_t i = 0; i < len; i += 4) {
        int pad = 0;
        uint32_t word = 0;
        for (size_t j = 0; j < 4; j++) {
            int v = value(text[i + j]);
            if (text[i + j] == '=' && i + 4 == len && j >= 2) {
                pad++;
                v = 0;
            } else if (v < 0 || pad > 0) {
                return -EINVAL;
            }
            word = word << 6 | (uint32_t)v;
        }
        for (int j = 0; j < 3 - pad; j++)
            buf[n++] = (unsigned char)(word >> (16 - 8 * j));
    }
    return (ssize_t)n;
}
