/* Finds where the last lines of an output begin, within a limit of bytes. */
#ifndef VOLT_CLIENT_TAIL_H
#define VOLT_CLIENT_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tail {
    uint64_t lines; /* last lines; UINT64_MAX: all */
    uint64_t bytes; /* last bytes of these; UINT64_MAX: all */
};

/* Reads n bytes from `at` on into buf. Returns the bytes read, or -errno; fewer than n:
 * the output has become shorter. */
typedef ssize_t tail_read(void *source, char *buf, size_t n, off_t at);

/* Returns the offset in an output of `end` bytes, or the error of read(). *ret_cut: the
 * limit of bytes decides, so it may be in the middle of a line. */
off_t tail_begin(const struct tail *t, off_t end, tail_read *read, void *source,
                 bool *ret_cut);
/* As tail_read(); the source points to a descriptor. */
ssize_t tail_read_file(void *source, char *buf, size_t n, off_t at);

#endif
