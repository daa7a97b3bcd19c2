/* Store, blobs: small output, stored with the end of its job (a fact STORE_OUTPUT) and
 * read here on request. */
#ifndef VOLTD_STORE_BLOBS_H
#define VOLTD_STORE_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/key.h"
#include "daemon/store/store.h"

#define STORE_STREAMS 2 /* standard output, standard error */

/* Output of one stream of a job. */
struct store_piece {
    const void *bytes;
    size_t n; /* 0: none */
};

struct store_blob_ops {
    int (*output)(struct store *s, const struct job_key *key, unsigned stream, void **ret,
                  size_t *ret_n); /* store_output() */
};

/* Reads the stored output of one stream into *ret, new, to be freed with free(). Returns:
 *   0         success
 *   -ENODATA  no output, or none that was stored
 *   -EBADMSG  the row is damaged
 *   -ENOMEM, or another errno of reading
 * Blocks on the disk. Any thread, no lock held. */
static inline int store_output(struct store *s, const struct job_key *key,
                               unsigned stream, void **ret, size_t *ret_n)
{
    return s->blobs->output(s, key, stream, ret, ret_n);
}

#endif
