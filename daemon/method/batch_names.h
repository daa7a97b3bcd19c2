/* Local names in a batch, by which its specs wait for each other, and an order in which
 * each spec comes after those that it waits for. */
#ifndef VOLTD_METHOD_BATCH_NAMES_H
#define VOLTD_METHOD_BATCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/hash_table.h"
#include "base/siphash.h"
#include "daemon/submit/submit.h"
#include "wire/fields.h"

struct batch_place;
struct job_spec;

/* Zero-initialised is empty. Private except `used`. */
struct batch_names {
    bool used; /* a spec has a local name, or waits for one */
    struct siphash_key secret;
    struct hash_table table;
    struct batch_place *places;      /* per item; NULL: not being sorted */
    struct jobs_submit_item *sorted; /* nsorted of the items */
    size_t nsorted;
    size_t first; /* all items before this one are in `sorted` */
    size_t at;    /* the current item */
};

/* Takes the local name out of an item's spec. 0; -ENOMEM; -EEXIST: an earlier item has
 * the name. */
int batch_names_take(struct batch_names *n, struct job_spec *spec, size_t item);

/* Sorts, a step at a time, and turns names in `after` into items. Charges the quota.
 *   0: more steps
 *   1: done
 *   -ENOMEM
 *   -EINVAL, with the reason, at item n->at: a name is unknown, or there is a cycle */
int batch_names_sort(struct batch_names *n, const struct jobs_submit_item *items,
                     size_t nitems, struct quota *quota, struct field_error *err);
/* Returns the sorted items, which the caller now owns; after the last step. */
struct jobs_submit_item *batch_names_sorted(struct batch_names *n);
/* Returns the place of an item after sorting; `item` if nothing was sorted. */
size_t batch_names_place(const struct batch_names *n, size_t item);
/* Frees all but the items. */
void batch_names_fini(struct batch_names *n);

#endif
