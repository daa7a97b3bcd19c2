/* Store, blobs: output that is small enough is stored beside the end of its job (a fact
 * STORE_OUTPUT) and read here when somebody asks for it. */
#ifndef VOLTD_STORE_BLOBS_H
#define VOLTD_STORE_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/key.h"
#include "daemon/store/store.h"

#define STORE_STREAMS 2 /* standard output, standard error */

/* Bytes that a job has printed. */
struct store_piece {
    const void *bytes;
    size_t n; /* 0: none */
};

struct store_blob_ops {
    int (*output)(struct store *s, const struct job_key *key, unsigned stream, void **ret,
                  size_t *ret_n); /* store_output() */
};

/* What a job has printed: *ret is new, to be freed with free(). 0; -ENODATA: nothing, or
 * not stored; -EBADMSG: damaged; -ENOMEM; another errno of reading. Blocks on the disk;
 * any thread, no lock held. */
static inline int store_output(struct store *s, const struct job_key *key,
                               unsigned stream, void **ret, size_t *ret_n)
{
    return s->blobs->output(s, key, stream, ret, ret_n);
}

#endif
