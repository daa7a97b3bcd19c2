/* Where the end of an output begins: its last lines, as far as a limit of bytes
 * allows. */
#ifndef VOLT_CLIENT_TAIL_H
#define VOLT_CLIENT_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tail {
    uint64_t lines; /* the last so many; UINT64_MAX: all */
    uint64_t bytes; /* of them the last so many; UINT64_MAX: all */
};

/* Fills buf with the n bytes from `at` on. The bytes read, or -errno; fewer than n: the
 * output has become shorter. */
typedef ssize_t tail_read(void *source, char *buf, size_t n, off_t at);

/* The offset in an output of `end` bytes, or what read() failed with. *ret_cut: it is the
 * bytes that decide, and not a beginning of a line. */
off_t tail_begin(const struct tail *t, off_t end, tail_read *read, void *source,
                 bool *ret_cut);
/* As tail_read(); the source is a pointer to a descriptor. */
ssize_t tail_read_file(void *source, char *buf, size_t n, off_t at);

#endif
