/* Put in front of every source under test (gcc -include): its memory comes from the
 * explorer, which forgets it with the execution and watches its use. */
#ifndef VOLT_TESTS_MODEL_MCX_ALLOC_H
#define VOLT_TESTS_MODEL_MCX_ALLOC_H

#include <stdlib.h>
#include <string.h>
#include "mcx.h"

static inline void *mcx_calloc(size_t n, size_t size)
{
    return mcx_malloc(n * size);
}

#define malloc(size)               mcx_malloc(size)
#define calloc(n, size)            mcx_calloc(n, size)
#define aligned_alloc(align, size) mcx_malloc(size)
#define free(p)                    mcx_free(p)

#endif
