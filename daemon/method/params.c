/* See params.h. */
#include "daemon/method/params.h"

#include "daemon/method/job_json.h"
#include "daemon/method/signal_name.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum volt_poll params_refuse(struct call *call, const struct field_error *err)
{
    if (err->code == -ENOMEM)
        return call_abort(call);
    return call_invalid_parameter(call, err->path, err->reason);
}

int params_read(struct call *call, const struct field *table, void *out)
{
    struct field_error err;
    int r = fields_read(table, call_parameters(call), 0, out, &err);

    if (r < 0)
        (void)params_refuse(call, &err);
    return r;
}

int read_job_id(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    struct job_key *key = member;

    if (!text)
        return -EINVAL;
    if (job_key_parse(text, key) < 0 || key->attempt != 0)
        return field_fail(err, "", "must be a job, such as \"17\" or \"17_3\"");
    return 0;
}

int read_signal_name(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    int n = text ? signal_from_name(text) : 0;

    if (!text)
        return -EINVAL;
    if (n < 0)
        return field_fail(err, "", "must be a signal, such as \"TERM\"");
    *(int *)member = n;
    return 0;
}

bool key_list_has(const struct key_list *list, uint64_t id, int64_t index)
{
    struct job_key key = {.id = id, .index = index};

    return bsearch(&key, list->keys, list->n, sizeof(key), job_key_compare) != NULL;
}

static void drop_repeated(struct key_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        if (kept == 0 || job_key_compare(&list->keys[i], &list->keys[kept - 1]) != 0)
            list->keys[kept++] = list->keys[i];
    list->n = kept;
}

static bool in_order(const struct key_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        if (job_key_compare(&list->keys[i - 1], &list->keys[i]) > 0)
            return false;
    return true;
}

int read_job_ids(json_t *value, void *member, struct field_error *err)
{
    struct key_list *list = member;
    json_t *item;
    size_t i;

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array of jobs");
    list->keys = calloc(json_array_size(value) + 1, sizeof(*list->keys));
    if (!list->keys)
        return field_no_memory(err);
    json_array_foreach(value, i, item)
    {
        char path[32];

        if (read_job_id(item, &list->keys[i], err) == 0)
            continue;
        (void)snprintf(path, sizeof(path), "[%zu]", i);
        field_prefix(err, path);
        return -EINVAL;
    }
    list->n = json_array_size(value);
    if (!in_order(list)) /* they mostly are: ids that were given one after the other */
        qsort(list->keys, list->n, sizeof(*list->keys), job_key_compare);
    drop_repeated(list);
    return 0;
}

/* --- filters ------------------------------------------------------------------------ */

static int read_labels(json_t *value, void *member, struct field_error *err)
{
    struct filter *f =
        (struct filter *)((char *)member - offsetof(struct filter, labels));
    const char *name;
    json_t *item;

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object of strings");
    f->labels = calloc(json_object_size(value) + 1, sizeof(*f->labels));
    if (!f->labels)
        return field_no_memory(err);
    json_object_foreach(value, name, item)
    {
        if (!field_string(item, name, err))
            return -EINVAL;
        /* The manager only reads them; its type is that of a spec, which owns them. */
        f->labels[f->nlabels++] = (struct job_label){
            (char *)(uintptr_t)name, (char *)(uintptr_t)json_string_value(item)};
    }
    return 0;
}

const struct field filter_fields[] = {
    FIELD(struct filter, ids, FIELD_CUSTOM, .read = read_job_ids),
    FIELD(struct filter, states, FIELD_SET, .names = job_state_names,
          .present = FIELD_PRESENT(struct filter, has_states)),
    /* From the second on: the first is "none yet". */
    FIELD(struct filter, results, FIELD_SET, .names = job_result_names + 1,
          .present = FIELD_PRESENT(struct filter, has_results)),
    FIELD(struct filter, name, FIELD_STRING),
    FIELD(struct filter, queue, FIELD_STRING),
    FIELD(struct filter, labels, FIELD_CUSTOM, .read = read_labels),
    FIELD(struct filter, submitted_since_usec, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct filter, submitted_until_usec, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct filter, orphans, FIELD_BOOL),
    {.name = NULL},
};

void filter_fini(struct filter *f)
{
    free(f->ids.keys);
    free(f->labels);
    *f = (struct filter){.states = 0};
}

/* An empty set becomes a bit that nothing has: 0 is everything. */
static uint32_t set_bits(bool given, uint32_t set)
{
    return given && !set ? UINT32_C(1) << 31 : set;
}

struct manager_filter filter_for_manager(const struct filter *f)
{
    return (struct manager_filter){
        .states = set_bits(f->has_states, f->states),
        .results = set_bits(f->has_results, f->results << 1),
        .name = f->name,
        .queue = f->queue,
        .labels = f->labels,
        .nlabels = f->nlabels,
        .keys = f->ids.keys,
        .nkeys = f->ids.n,
        .since_usec = f->submitted_since_usec,
        .until_usec = f->submitted_until_usec,
        .orphans = f->orphans,
    };
}

/* An array's own id stands for each of its elements. */
static bool wants_key(const struct filter *f, const struct job_key *key)
{
    return !f->ids.keys || key_list_has(&f->ids, key->id, JOB_NO_INDEX) ||
           key_list_has(&f->ids, key->id, key->index);
}

int filter_wants(const struct filter *f, struct manager *m, const struct job_owner *asker,
                 const struct job_news *ev)
{
    struct manager_filter rest = filter_for_manager(f);
    struct job_view view;
    bool wanted, ahead;

    if (!wants_key(f, &ev->key))
        return 0;
    if (rest.states && !(rest.states & UINT32_C(1) << ev->state))
        return 0;
    if (rest.results && !(rest.results & UINT32_C(1) << ev->result))
        return 0;
    if (!f->orphans && !f->name && !f->queue && !f->nlabels && !rest.since_usec &&
        !rest.until_usec)
        return 1;
    ahead = manager_log_ahead(m); /* asked first: it may enter in between */
    if (manager_get(m, asker, ev->key.id, ev->key.index, &view) < 0)
        return ahead ? -EAGAIN : 0;
    rest.states = rest.results = 0; /* those of the event count, not those of now */
    rest.orphans = f->orphans || view.orphan;
    wanted = manager_matches(&view, &rest);
    job_view_fini(&view);
    return wanted;
}

/* --- errors ------------------------------------------------------------------------- */

enum volt_poll no_such_job(struct call *call, const char *error,
                           const struct job_key *key)
{
    return call_error(call, error,
                      json_pack("{s:o}", "id", job_id_to_json(key->id, key->index)));
}

enum volt_poll no_answer(struct call *call, int error, const struct job_key *key)
{
    const char *why = error == -EBADMSG
                          ? "the store is damaged: voltd --check-store says where"
                          : "the disk of the store cannot be read";

    if (error == -ENOENT)
        return no_such_job(call, "org.voltd.jobs.NoSuchJob", key);
    if (error == -ENOMEM)
        return call_abort(call);
    return call_error(call, "org.voltd.jobs.StoreUnavailable",
                      json_pack("{s:s}", "reason", why));
}
