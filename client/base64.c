/* base64, the standard alphabet with padding. */
#include "client/base64.h"

#include <errno.h>
#include <stdint.h>

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
