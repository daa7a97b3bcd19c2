/* See ctl.h: operands that name jobs (ids, ranges, @last, names, keys). */
#include "client/after.h"
#include "client/id_range.h"
#include "client/index_list.h"
#include "client/job_view.h"
#include "client/last_list.h"
#include "client/say.h"
#include "client/voltctl/ctl.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST "@last"

static int wrong(struct ctl *ctl, const char *word, int error)
{
    ctl->code =
        error == -E2BIG
            ? ctl_usage(ctl, "%s: more than %d jobs", word, ID_RANGE_MOST)
            : ctl_usage(
                  ctl,
                  "%s is not a job id, such as 17, 17_3, 17_[1-3,7], 12-40, @last or @last_3",
                  *word ? word : "an empty word");
    return -1;
}

static int no_memory(struct ctl *ctl)
{
    say("out of memory");
    ctl->code = CTL_EXIT_FAILED;
    return -1;
}

int ctl_ids_add(struct ctl *ctl, const char *id)
{
    if (ctl->nids == ctl->ids_room) {
        size_t room = ctl->ids_room ? ctl->ids_room * 2 : 64;
        char **ids = realloc(ctl->ids, room * sizeof(*ids));
        if (!ids)
            return no_memory(ctl);
        ctl->ids = ids;
        ctl->ids_room = room;
    }
    char *copy = strdup(id);
    if (!copy)
        return no_memory(ctl);
    ctl->ids[ctl->nids++] = copy;
    return 0;
}

struct newest {
    char *buf;
    size_t size;
};

static int take_newest(void *arg, json_t *job)
{
    const struct newest *n = arg;
    (void)snprintf(n->buf, n->size, "%s", job_view_string(job, "id"));
    return -ECANCELED; /* no other one counts */
}

/* Finds the newest job of this user, with this name unless NULL. Root also sees jobs of
 * others, which are skipped. Returns 0; 1: none; -1: see ctl->code. */
static int find_newest(struct ctl *ctl, const char *name, char *buf, size_t size)
{
    char user[32];
    (void)snprintf(user, sizeof(user), "%u", (unsigned)getuid());
    if (!ctl->client)
        ctl->code = ctl_open(ctl, ADDRESS_JOBS);
    buf[0] = '\0';
    if (ctl->code == CTL_EXIT_OK)
        ctl->code =
            ctl_each_job(ctl,
                         json_pack("{s:{s:s, s:s*}, s:b, s:i}", "filter", "user", user,
                                   "name", name, "newest_first", 1, "limit", 1),
                         take_newest, &(struct newest){buf, size});
    return ctl->code != CTL_EXIT_OK ? -1 : !*buf;
}

/* Finds the job of this user that has the key: the answer to a submission with it names
 * that job. What would keep a new job out counts only where no job has the key. Returns
 * as find_newest(). */
static int find_key(struct ctl *ctl, const char *key, char *buf, size_t size)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *spec =
        json_pack("{s:s, s:s, s:s}", "kind", "noop", "key", key, "on_exists", "reject");
    if (!ctl->client)
        ctl->code = ctl_open(ctl, ADDRESS_JOBS);
    buf[0] = '\0';
    if (ctl->code == CTL_EXIT_OK)
        ctl->code = ctl_send(ctl, "org.voltd.jobs.Submit",
                             json_pack("{s:O, s:b}", "spec", spec, "dry_run", 1), 0);
    if (ctl->code == CTL_EXIT_OK)
        ctl->code = ctl_answer(ctl, NULL, &reply);
    if (client_error_is(&reply, "KeyTaken"))
        (void)snprintf(buf, size, "%s", job_view_string(reply.parameters, "job"));
    else if (reply.error && !client_error_is(&reply, "TooManyJobs") &&
             !client_error_is(&reply, "Refused"))
        ctl->code = ctl_refused(&reply);
    client_reply_fini(&reply);
    json_decref(spec);
    return ctl->code != CTL_EXIT_OK ? -1 : !*buf;
}

static int find_last(struct ctl *ctl, char *buf, size_t size)
{
    int r = find_newest(ctl, NULL, buf, size);
    if (r == 1) {
        say("%s: you have no job", LAST);
        ctl->code = CTL_EXIT_NO_SUCH_JOB;
    }
    return r == 0 ? 0 : -1;
}

/* Returns whether the word is a name, or says that it is one or a key. */
static bool is_name(const char *word)
{
    return isalpha((unsigned char)*word) && mbstowcs(NULL, word, 0) != (size_t)-1;
}

/* Adds an id that is named by itself. */
static int add_single(struct ctl *ctl, const char *id)
{
    if (!ctl->single && !(ctl->single = json_object()))
        return no_memory(ctl);
    (void)json_object_set_new(ctl->single, id, json_true());
    return ctl_ids_add(ctl, id);
}

/* Adds the ids of a range; word: as written. */
static int add_range(struct ctl *ctl, const struct id_range *range, const char *word)
{
    char id[64];
    int r = 0;
    ctl->ranged = true;
    if (ctl->nids + (range->last - range->first) >= ID_RANGE_MOST)
        return wrong(ctl, word, -E2BIG);
    for (uint64_t i = 0; r == 0 && i <= range->last - range->first; i++) {
        id_range_text(range, i, id, sizeof(id));
        r = ctl_ids_add(ctl, id);
    }
    return r;
}

/* Adds the elements with these indexes; array: the text of its id, n bytes. */
static int add_indexes(struct ctl *ctl, const struct index_list *l, const char *array,
                       int n, const char *word)
{
    struct id_range range;
    char id[64];
    int r = 0;
    ctl->ranged |= l->count > 1;
    if (l->count > ID_RANGE_MOST - ctl->nids)
        return wrong(ctl, word, -E2BIG);
    for (size_t i = 0; i < l->n && r == 0; i++)
        for (uint64_t at = l->ranges[i].first; at <= l->ranges[i].last && r == 0;
             at += l->ranges[i].step) {
            (void)snprintf(id, sizeof(id), "%.*s_%" PRIu64, n, array, at);
            r = id_range_parse(id, &range) < 0 ? wrong(ctl, word, -EINVAL)
                : l->count > 1                 ? ctl_ids_add(ctl, id)
                                               : add_single(ctl, id);
        }
    return r;
}

/* Adds 17_[1-3,7]; list: from the bracket on. */
static int add_list(struct ctl *ctl, const char *text, const char *list, const char *word)
{
    const size_t len = strlen(list);
    struct index_list l = {0};
    char *indexes = strndup(list + 1, len > 2 ? len - 2 : 0);
    int r = !indexes ? -ENOMEM : list[len - 1] != ']' ? -EINVAL : 0;
    if (r == 0)
        r = index_list_parse(indexes, &l);
    if (r == 0 && l.at_once)
        r = -EINVAL;
    free(indexes);
    if (r == 0)
        r = add_indexes(ctl, &l, text, (int)(list - text) - 1, word);
    else if (r == -ENOMEM)
        r = no_memory(ctl);
    else if (r == -E2BIG)
        r = wrong(ctl, word, r);
    else {
        ctl->code =
            ctl_usage(ctl, "%s: %s is not a list of indexes, such as [1-3,7] or [1-9:2]",
                      word, list);
        r = -1;
    }
    index_list_fini(&l);
    return r;
}

static int add_text(struct ctl *ctl, const char *text, const char *word)
{
    const char *list = strstr(text, "_[");
    struct id_range range;
    char id[64];
    if (list)
        return add_list(ctl, text, list + 1, word);
    int r = id_range_parse(text, &range);
    if (r < 0)
        return wrong(ctl, word, r);
    id_range_text(&range, 0, id, sizeof(id)); /* text may be 17-17 */
    return range.last > range.first ? add_range(ctl, &range, word) : add_single(ctl, id);
}

static void say_no_job(struct ctl *ctl, const char *prefix, const char *word)
{
    const char *verb = ctl->verb->name;
    if (*prefix)
        say("%s: %s%s: you have no such job", verb, prefix, word);
    else if ((strcmp(verb, "pause") == 0 || strcmp(verb, "resume") == 0) &&
             ctl_find_queue(ctl, word) == 1)
        say("%s: no job of yours is called %s; of the queue: `voltctl queue %s %s`", verb,
            word, verb, word);
    else
        say("%s: %s is not a job id, such as 17, 17_3, 12-40 or @last, nor the name of a "
            "job of yours",
            verb, word);
    ctl->code = CTL_EXIT_NO_SUCH_JOB;
}

/* Returns the elements behind a name, as _3, _3-7 or _[1-3]; NULL: none. */
static const char *elements_behind(const char *word)
{
    const char *list = strstr(word, "_["), *last = strrchr(word, '_');
    if (list)
        return list;
    return last && last[1] && !last[1 + strspn(last + 1, "0123456789-")] ? last : NULL;
}

typedef int find_fn(struct ctl *ctl, const char *name, char *buf, size_t size);

/* Adds the job of this user that `find` finds by the word, or elements of it. A job whose
 * whole name ends in _3 is meant before an element. prefix: as it was written. */
static int add_named(struct ctl *ctl, const char *prefix, const char *word, find_fn *find)
{
    const char *elements = elements_behind(word);
    char id[64], *name = NULL, *text = NULL;
    int r = find(ctl, word, id, sizeof(id));
    if (r == 0)
        elements = NULL;
    if (r == 1 && elements) {
        name = strndup(word, (size_t)(elements - word));
        r = name ? find(ctl, name, id, sizeof(id)) : no_memory(ctl);
    }
    if (r == 1)
        say_no_job(ctl, prefix, word);
    if (r == 0)
        say("%s%s: job %s", prefix, name ? name : word, id);
    if (r == 0 && asprintf(&text, "%s%s", id, elements ? elements : "") < 0) {
        text = NULL;
        r = no_memory(ctl);
    }
    if (r == 0)
        r = elements ? add_text(ctl, text, word) : add_single(ctl, id);
    free(name);
    free(text);
    return r == 0 ? 0 : -1;
}

/* Adds jobs of the list submitted last. Some may have been purged, as in a range. */
static int add_listed(void *arg, const char *text)
{
    struct id_range range;
    int r = id_range_parse(text, &range);
    return r < 0 ? wrong(arg, LAST, r) : add_range(arg, &range, LAST);
}

/* Adds the newest job, or all jobs of the list submitted last; with elements, those of
 * the newest job. */
static int add_last(struct ctl *ctl, const char *word)
{
    const char *elements = word + strlen(LAST);
    char id[64], *text;
    if (find_last(ctl, id, sizeof(id)) < 0)
        return -1;
    int r = *elements ? 0 : last_list_each(ctl->client, id, add_listed, ctl);
    if (r != 0)
        return r < 0 ? -1 : 0;
    if (asprintf(&text, "%s%s", id, elements) < 0)
        return no_memory(ctl);
    r = add_text(ctl, text, word);
    free(text);
    return r;
}

static int add_word(struct ctl *ctl, const char *word)
{
    const size_t len = strlen(LAST);
    const char *name = after_behind(word, AFTER_NAME);
    const char *key = after_behind(word, AFTER_KEY);
    bool last = strncmp(word, LAST, len) == 0 && (!word[len] || word[len] == '_');
    if (last)
        return add_last(ctl, word);
    if (!is_name(word))
        return add_text(ctl, word, word);
    return name  ? add_named(ctl, AFTER_NAME, name, find_newest)
           : key ? add_named(ctl, AFTER_KEY, key, find_key)
                 : add_named(ctl, "", word, find_newest);
}

/* Returns the length up to the next comma outside of brackets. */
static size_t word_length(const char *words)
{
    size_t n = strcspn(words, ",[");
    if (words[n] == '[')
        n += strcspn(words + n, "]");
    return n + strcspn(words + n, ",");
}

/* Adds words separated by commas. A word after an element must be an element, as 3 after
 * 17_1 may mean 17_3. */
static int add_words(struct ctl *ctl, const char *words)
{
    bool element = false;
    int r = 0;
    for (bool more = true; more && r == 0;) {
        const size_t len = word_length(words);
        char *word = strndup(words, len);
        if (!word)
            return no_memory(ctl);
        if (element && !strchr(word, '_') && !is_name(word)) {
            ctl->code = ctl_usage(ctl,
                                  "%s behind an element: with a blank before it, it is a "
                                  "job; elements are written 17_3,17_5 or 17_[3,5]",
                                  word);
            r = -1;
        } else {
            r = add_word(ctl, word);
        }
        element = strchr(word, '_') && !is_name(word);
        more = words[len] == ',';
        words += len + more;
        free(word);
    }
    return r;
}

int ctl_ids(struct ctl *ctl, int least, char ***ret)
{
    int n = ctl->argc - optind;
    if (n < least) {
        ctl->code =
            ctl_usage(ctl, "an id is needed, or @last (see `voltctl list --all`)");
        return -1;
    }
    for (int i = 0; i < n; i++)
        if (add_words(ctl, ctl->argv[optind + i]) < 0)
            return -1;
    *ret = ctl->ids;
    return (int)ctl->nids;
}

static int compare(const void *a, const void *b)
{
    struct id_range x = {0}, y = {0};
    (void)id_range_parse(*(char *const *)a, &x);
    (void)id_range_parse(*(char *const *)b, &y);
    uint64_t left = x.with_array ? x.array : x.first;
    uint64_t right = y.with_array ? y.array : y.first;
    if (left != right)
        return left < right ? -1 : 1;
    if (x.with_array != y.with_array)
        return x.with_array - y.with_array;
    return x.first < y.first ? -1 : x.first > y.first;
}

static int take_new(void *arg, json_t *job)
{
    return ctl_ids_add(arg, job_view_string(job, "id")) < 0 ? -ECANCELED : 0;
}

static int note_id(void *ids, json_t *job)
{
    return json_object_set_new(ids, job_view_string(job, "id"), json_true());
}

int ctl_ids_find(struct ctl *ctl, const json_t *filter)
{
    return ctl_each_job(ctl, json_pack("{s:O, s:[]}", "filter", filter, "fields"),
                        take_new, ctl);
}

int ctl_ids_check(struct ctl *ctl, char *const *ids, size_t n)
{
    int code = CTL_EXIT_OK;
    for (size_t at = 0, some; at < n && code == CTL_EXIT_OK; at += some) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        some = id_portion(ids + at, n - at);
        json_t *params = json_pack("{s:o}", "ids", id_list(ids + at, some));
        code = ctl_call(ctl, "org.voltd.jobs.Wait", params, &reply);
        client_reply_fini(&reply);
    }
    return code;
}

/* Adds those of the ids that are of jobs that match to a set; filter NULL: of any job. */
static int find_matching(struct ctl *ctl, const json_t *filter, json_t *set)
{
    int code = CTL_EXIT_OK;
    for (size_t at = 0, some; at < ctl->nids && code == CTL_EXIT_OK; at += some) {
        json_t *of_these = filter ? json_deep_copy(filter) : json_object();
        some = id_portion(ctl->ids + at, ctl->nids - at);
        (void)json_object_set_new(of_these, "ids", id_list(ctl->ids + at, some));
        code = ctl_each_job(ctl, json_pack("{s:o, s:[]}", "filter", of_these, "fields"),
                            note_id, set);
    }
    return code;
}

/* Removes ids that are not in the set, in order. Those named by themselves stay unless
 * they are in `other`; NULL: all of them stay. Returns how many were removed. */
static size_t keep(struct ctl *ctl, const json_t *set, const json_t *other)
{
    const size_t n = ctl->nids;
    ctl->nids = 0;
    for (size_t i = 0; i < n; i++) {
        const char *id = ctl->ids[i];
        const bool stays =
            json_object_get(ctl->single, id) && !json_object_get(other, id);
        if (stays || json_object_get(set, id))
            ctl->ids[ctl->nids++] = ctl->ids[i];
        else
            free(ctl->ids[i]);
    }
    return n - ctl->nids;
}

int ctl_ids_keep(struct ctl *ctl, const json_t *filter, size_t *ret_removed)
{
    json_t *match = json_object();
    int code = find_matching(ctl, filter, match);
    *ret_removed = code == CTL_EXIT_OK ? keep(ctl, match, NULL) : 0;
    json_decref(match);
    return code;
}

/* Removes ids of ranges that are of no job, and says so. Gaps in a range are normal, as
 * each volt-lock takes an id. An id named by itself stays: the verb refuses it. */
static int leave_gaps_out(struct ctl *ctl, const json_t *jobs)
{
    size_t ranged = 0;
    for (size_t i = 0; i < ctl->nids; i++)
        ranged += !json_object_get(ctl->single, ctl->ids[i]);
    const size_t gaps = keep(ctl, jobs, NULL);
    if (ctl->nids == 0)
        say("none of these %zu is a job", ranged);
    else if (gaps > 0)
        say("note: %zu of the %zu ids are no jobs", gaps, ranged);
    return ctl->nids == 0 ? CTL_EXIT_NO_SUCH_JOB : CTL_EXIT_OK;
}

/* Reduces the ids to jobs that match; filter NULL: any. */
static int choose_ids(struct ctl *ctl, const json_t *filter)
{
    json_t *jobs = json_object(), *match = json_object();
    int code = find_matching(ctl, NULL, jobs);
    if (code == CTL_EXIT_OK)
        code = leave_gaps_out(ctl, jobs);
    if (code == CTL_EXIT_OK && filter) {
        code = find_matching(ctl, filter, match);
        (void)keep(ctl, match, jobs);
    }
    json_decref(jobs);
    json_decref(match);
    return code;
}

int ctl_choose(struct ctl *ctl, const json_t *filter)
{
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code != CTL_EXIT_OK || (!filter && !ctl->ranged))
        return code;
    code = ctl->nids > 0 ? choose_ids(ctl, filter) : ctl_ids_find(ctl, filter);
    if (code == CTL_EXIT_OK && ctl->nids == 0)
        say("no job matches%s", ctl_none_text(ctl, filter));
    return code;
}

int ctl_each_chosen(struct ctl *ctl, const json_t *filter, ctl_one_fn *one, void *arg)
{
    char **ids;
    if (ctl_ids(ctl, filter ? 0 : 1, &ids) < 0)
        return ctl->code;
    int code = ctl_choose(ctl, filter);
    return code == CTL_EXIT_OK ? ctl_each(ctl, ctl->ids, (int)ctl->nids, one, arg) : code;
}

size_t ctl_ids_unique(struct ctl *ctl)
{
    size_t kept = 0;
    if (ctl->nids > 0)
        qsort(ctl->ids, ctl->nids, sizeof(*ctl->ids), compare);
    for (size_t i = 0; i < ctl->nids; i++) {
        if (kept > 0 && strcmp(ctl->ids[i], ctl->ids[kept - 1]) == 0)
            free(ctl->ids[i]);
        else
            ctl->ids[kept++] = ctl->ids[i];
    }
    return ctl->nids = kept;
}

void ctl_ids_free(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->nids; i++)
        free(ctl->ids[i]);
    free(ctl->ids);
    json_decref(ctl->single);
    ctl->ids = NULL;
    ctl->nids = 0;
}
