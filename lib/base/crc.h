/* CRC-32C (Castagnoli), going on from crc (0 at first). By the processor's instruction
 * where there is one. */
#ifndef VOLT_BASE_CRC_H
#define VOLT_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *buf, size_t len);

#endif
