/* Reading a whole store and proving it on the way: for the load, which stops at the first
 * damage, and for the check, which names it all. */
#ifndef VOLTD_STORE_SQLITE_SCAN_H
#define VOLTD_STORE_SQLITE_SCAN_H

#include "daemon/store/contents.h"
#include "daemon/store/owners.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite_db.h"

#define ROWS_AT_A_TIME  500
#define BYTES_AT_A_TIME 65536 /* of rows, and one row more */

struct scan {
    struct db *db;
    store_load_fn *fn;
    void *arg;
    uint64_t life;             /* number of the present one */
    struct contents *contents; /* filled with every content and its uses; NULL: not */
    struct owners *owners;     /* filled with what has ended; NULL: not */
    /* Called for each damage, with its place. Non-zero ends the scan, which returns
     * it. */
    int (*damage)(void *arg, const char *text);
    void *damage_arg;
    /* Of a range: called after ROWS_AT_A_TIME rows or BYTES_AT_A_TIME, without a
     * transaction, so that others may read; db may be another connection after it. 0 or
     * -errno. NULL: nothing. */
    int (*pause)(void *arg);
    void *pause_arg;
    struct store_read_counts most; /* of a range: in one go */
};

/* 0; what fn or damage returned; -errno of reading. *ret_sums: as found in the rows. */
int scan_run(struct scan *scan, struct row_sums *ret_sums);
/* The same of what the load has no time for: outputs. *sums gets their sum. */
int scan_outputs(struct scan *scan, struct row_sums *sums);
/* Ended jobs in a range: store_history(). Nothing is added to any sum. */
int scan_range(struct scan *scan, const struct store_range *range, uint64_t *ret_at);
/* Compares what meta says with what was found; the differences are damage. */
int scan_prove_sums(struct scan *scan, const struct row_sums *want,
                    const struct row_sums *found);
/* Reads meta; what is wrong with it is damage. */
int scan_meta(struct scan *scan, struct row_sums *ret_sums, struct db_life *ret_life,
              struct witness *ret_self);

#endif
