/* Reads a whole store and proves it: for the load, which stops at the first damage, and
 * for the check, which reports all damage. */
#ifndef VOLTD_STORE_SQLITE_SCAN_H
#define VOLTD_STORE_SQLITE_SCAN_H

#include "daemon/store/contents.h"
#include "daemon/store/owners.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite_db.h"

#define ROWS_AT_A_TIME  500
#define BYTES_AT_A_TIME 65536 /* of rows, plus at most one row */

struct scan {
    struct db *db;
    store_load_fn *fn;
    void *arg;
    uint64_t life;             /* number of the present life */
    struct contents *contents; /* filled with each content and its uses; NULL: not
                                * wanted */
    struct owners *owners;     /* filled with ended jobs; NULL: not wanted */
    /* Called for each damage, with its place. A non-zero value ends the scan, which
     * returns it. */
    int (*damage)(void *arg, const char *text);
    void *damage_arg;
    /* Ranges only: called outside a transaction after ROWS_AT_A_TIME rows or
     * BYTES_AT_A_TIME, so that others may read. Afterwards db may be another connection.
     * Returns 0 or -errno. NULL: not called. */
    int (*pause)(void *arg);
    void *pause_arg;
    struct store_read_counts most; /* ranges only: the most in one transaction */
};

/* Reads everything but outputs. *ret_sums: the sums of the rows found. Returns 0, the
 * non-zero value of fn or damage, or -errno of reading. */
int scan_run(struct scan *scan, struct row_sums *ret_sums);
/* Reads the outputs, which the load leaves out. Adds their sum to *sums. Returns as
 * scan_run(). */
int scan_outputs(struct scan *scan, struct row_sums *sums);
/* Reads ended jobs in a range, as store_history(). Adds to no sum. */
int scan_range(struct scan *scan, const struct store_range *range, uint64_t *ret_at);
/* Compares meta's sums with the sums found; differences are damage. */
int scan_prove_sums(struct scan *scan, const struct row_sums *want,
                    const struct row_sums *found);
/* Reads meta; missing or damaged rows are damage. */
int scan_meta(struct scan *scan, struct row_sums *ret_sums, struct db_life *ret_life,
              struct witness *ret_self);

#endif
