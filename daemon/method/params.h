/* Parameters that several methods share: reading them, ids, filters, the usual errors. */
#ifndef VOLTD_METHOD_PARAMS_H
#define VOLTD_METHOD_PARAMS_H

#include "daemon/server/method.h"
#include "wire/fields.h"

/* Fills *out by the table. 0; negative: the call has been answered, and the poll function
 * returns VOLT_READY. */
int params_read(struct call *call, const struct field *table, void *out);
/* The same for an error that was found elsewhere; returns VOLT_READY. */
enum volt_poll params_refuse(struct call *call, const struct field_error *err);

/* One job or element: a struct job_key, attempt 0. */
int read_job_id(json_t *value, void *member, struct field_error *err);
/* A signal: an int. */
int read_signal_name(json_t *value, void *member, struct field_error *err);

struct key_list {
    struct job_key *keys; /* in order of id and index, each once; for free() */
    size_t n;
};
int read_job_ids(json_t *value, void *member, struct field_error *err);
bool key_list_has(const struct key_list *list, uint64_t id, int64_t index);

struct filter {
    struct key_list ids;
    struct job_label *labels; /* for free(); the texts are borrowed */
    size_t nlabels;
    uint32_t states, results;     /* results: bit 0 is the first real one */
    bool has_states, has_results; /* an empty set was given, too */
    const char *name, *queue;
    uint64_t submitted_since_usec, submitted_until_usec;
    bool orphans;
};
extern const struct field filter_fields[];
void filter_fini(struct filter *f);
/* The manager's words for it; borrows from f. */
struct manager_filter filter_for_manager(const struct filter *f);
/* 1: the event is of a job that the filter wants; 0: it is not, or of one that the
 * manager does not know any more; -EAGAIN: of one that it does not know yet. */
int filter_wants(const struct filter *f, struct manager *m, const struct job_owner *asker,
                 const struct job_news *ev);

/* error NoSuchJob of an interface. */
enum volt_poll no_such_job(struct call *call, const char *error,
                           const struct job_key *key);
/* The answer to a question that manager_look() or manager_list_kept() could not
 * answer. */
enum volt_poll no_answer(struct call *call, int error, const struct job_key *key);

#endif
