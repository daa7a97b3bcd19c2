/* Fuzz targets: one program per parser that strangers can feed.
 *
 * A target is fuzz_X.c with LLVMFuzzerTestOneInput(), the entry point of libFuzzer. It
 * must not only survive every input, but check what the parser promises about it.
 *
 *   make fuzz [SECS=60]   clang and libFuzzer, with coverage; keeps what it finds new in
 *                         build/fuzz/corpus/X
 *   make check-fuzz       the corpus and seeded mutations of it, by tests/fuzz/replay.c,
 *                         with any compiler and sanitizer
 *
 * tests/fuzz/corpus/X has the seeds of target X, and each input that once failed. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 0. data is borrowed; aborts when a promise is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(c)                                                                    \
    do {                                                                                 \
        if (!(c)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c);                \
            abort();                                                                     \
        }                                                                                \
    } while (0)

#endif
