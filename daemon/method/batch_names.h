/* Local names in a batch: which of its specs wait for which others, by names that count
 * in this batch alone, and an order in which each comes behind those that it waits
 * for. */
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

/* Zero-initialised is empty; private but for `used`. */
struct batch_names {
    bool used; /* a spec has a name, or waits for one by it */
    struct siphash_key secret;
    struct hash_table table;
    struct batch_place *places;      /* of each item; NULL: they are not being sorted */
    struct jobs_submit_item *sorted; /* so many of the items */
    size_t nsorted;
    size_t first; /* the items before this one are in `sorted` */
    size_t at;    /* the one that is looked at */
};

/* The spec of an item has been read: its name is taken out of it. 0; -ENOMEM; -EEXIST: it
 * is that of an earlier one. */
int batch_names_take(struct batch_names *n, struct job_spec *spec, size_t item);

/* Sorts, a step at a time, and makes items of the names in `after`. 0: there is more;
 * 1: that was all; -ENOMEM; -EINVAL, with the reason: a name is unknown, or there is a
 * circle, at the item n->at. *ret_looks: what the step has looked at. */
int batch_names_sort(struct batch_names *n, const struct jobs_submit_item *items,
                     size_t nitems, size_t *ret_looks, struct field_error *err);
/* All are sorted: the items in that order, which are the caller's from now on. */
struct jobs_submit_item *batch_names_sorted(struct batch_names *n);
/* Where an item is then; before, and without names, where it was. */
size_t batch_names_place(const struct batch_names *n, size_t item);
/* Not the items. */
void batch_names_fini(struct batch_names *n);

#endif
