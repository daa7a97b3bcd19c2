/* See crc.h. The table is for half a byte: the way without the instruction is rare. */
#include "base/crc.h"

#include <string.h>

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t wide = crc;

    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; len > 0; p++, len--)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *buf, size_t len)
{
    crc = ~crc;
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~by_instruction(crc, buf, len);
#endif
    return ~by_table(crc, buf, len);
}
