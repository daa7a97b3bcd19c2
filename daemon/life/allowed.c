/* See allowed.h. A group admits the users whose primary group it is, and the members that
 * it has at the time of the lookup. */
#include "daemon/life/allowed.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/config.h"
#include "daemon/core/limit_defaults.h"
#include "daemon/core/queues.h"
#include "daemon/observe/log.h"

/* --- names -------------------------------------------------------------------------- */

/* Buffer of one entry, doubled until the entry fits. */
struct room {
    char *memory;
    size_t size;
};

static bool grow(struct room *r)
{
    char *more = realloc(r->memory, r->size ? 2 * r->size : 1024);

    if (!more)
        return false;
    r->memory = more;
    r->size = r->size ? 2 * r->size : 1024;
    return true;
}

/* Returns 0; -ENOMEM; -ENOENT: no such user, or the lookup failed. */
static int find_user(const char *name, uid_t *ret)
{
    struct passwd entry, *found = NULL;
    struct room room = {0};
    int error = ERANGE;

    while (error == ERANGE && grow(&room))
        error = getpwnam_r(name, &entry, room.memory, room.size, &found);
    if (error == 0 && found)
        *ret = entry.pw_uid;
    free(room.memory);
    return error == ERANGE || error == ENOMEM ? -ENOMEM : found ? 0 : -ENOENT;
}

static bool add(uint32_t **ids, size_t *n, uint32_t id)
{
    uint32_t *more = reallocarray(*ids, *n + 1, sizeof(**ids));

    if (!more)
        return false;
    *ids = more;
    more[(*n)++] = id;
    return true;
}

/* Returns as find_user() does. */
static int add_user(struct queue_allowed *a, const char *name)
{
    uid_t uid = 0;
    const int r = find_user(name, &uid);

    return r < 0 ? r : add(&a->uids, &a->nuids, uid) ? 0 : -ENOMEM;
}

/* Adds the group and its members. Members without an account are skipped. */
static int add_members(struct queue_allowed *a, const struct group *gr)
{
    int r = add(&a->gids, &a->ngids, gr->gr_gid) ? 0 : -ENOMEM;

    for (char **member = gr->gr_mem; r != -ENOMEM && *member; member++)
        r = add_user(a, *member);
    return r == -ENOMEM ? r : 0;
}

static int add_group(struct queue_allowed *a, const char *name)
{
    struct group entry, *found = NULL;
    struct room room = {0};
    int error = ERANGE;

    while (error == ERANGE && grow(&room))
        error = getgrnam_r(name, &entry, room.memory, room.size, &found);
    const int r = error == ERANGE || error == ENOMEM ? -ENOMEM
                  : found                            ? add_members(a, found)
                                                     : -ENOENT;
    free(room.memory);
    return r;
}

int allowed_find(struct queue_allowed *a, enum queue_list list,
                 char missing[QUEUE_NAMES_BYTES + 1])
{
    char text[QUEUE_NAMES_BYTES + 1], *rest = text, *name;
    int r = 0;

    *missing = '\0';
    memcpy(text, a->names, sizeof(text));
    while (r != -ENOMEM && (name = strsep(&rest, " ,\t"))) {
        if (!*name)
            continue;
        r = list == QUEUE_USERS ? add_user(a, name) : add_group(a, name);
        if (r == -ENOENT && !*missing)
            (void)snprintf(missing, QUEUE_NAMES_BYTES + 1, "%s", name);
    }
    return r == -ENOMEM ? r : *missing ? -ENOENT : 0;
}

/* Looks up the names of a list, and logs an unknown name, which admits no one. */
static int find_and_warn(struct queue_allowed *a, enum queue_list list, const char *queue,
                         const char *what)
{
    char missing[QUEUE_NAMES_BYTES + 1];
    const int r = allowed_find(a, list, missing);

    if (r != -ENOENT)
        return r;
    log_warning("queue %s: %s=: there is no %s %s", queue, what,
                list == QUEUE_USERS ? "user" : "group", missing);
    return 0;
}

/* --- of all queues ------------------------------------------------------------------ */

static int find_configured(struct queue_config *to, enum queue_list list,
                           const char *names, const char *key)
{
    struct queue_allowed *a = &to->allowed[list];

    memcpy(a->names, names, sizeof(a->names));
    return find_and_warn(a, list, to->name, key);
}

struct queue_config *allowed_queues(const struct config_queues *queues, uint64_t slots,
                                    size_t *ret_n)
{
    const size_t n = queues ? queues->n : 1;
    struct queue_config *all = calloc(n, sizeof(*all));
    bool good = all;

    for (size_t i = 0; good && i < n; i++) {
        queue_config_init(&all[i], queues ? queues->all[i].name : QUEUE_DEFAULT);
        if (!queues)
            continue;
        memcpy(all[i].value, queues->all[i].value, sizeof(all[i].value));
        good = find_configured(&all[i], QUEUE_USERS, queues->all[i].users,
                               "AllowUsers") == 0 &&
               find_configured(&all[i], QUEUE_GROUPS, queues->all[i].groups,
                               "AllowGroups") == 0;
    }
    if (!good) {
        allowed_free(all, n);
        return NULL;
    }
    all[0].value[QUEUE_SLOTS] = slots;
    *ret_n = n;
    return all;
}

_Static_assert(CONFIG_NOT_SAID == LIMIT_NOT_SAID, "copied as it is");

/* Adds a user by name or uid. */
static int add_named_user(struct queue_allowed *a, const char *name)
{
    char *end;
    const unsigned long uid = strtoul(name, &end, 10);

    if (*name < '0' || *name > '9' || *end || uid > UINT32_MAX)
        return add_user(a, name);
    return add(&a->uids, &a->nuids, (uid_t)uid) ? 0 : -ENOMEM;
}

/* Looks up one user or group. If the name is unknown, logs that; its limits then apply to
 * no user. Returns 0 or a negative errno. */
static int find_limited(const struct config_limits *from, struct limit_default *to)
{
    const bool user = from->of == QUEUE_USERS;
    int r;

    to->of = from->of;
    to->cgroup = from->cgroup;
    (void)snprintf(to->who.names, sizeof(to->who.names), "%s", from->name);
    r = user ? add_named_user(&to->who, from->name) : add_group(&to->who, from->name);
    if (r != -ENOENT)
        return r;
    log_warning("[Limits %s:%s]: there is no such %s", user ? "user" : "group",
                from->name, user ? "user" : "group");
    return 0;
}

struct limit_defaults *allowed_limits(const struct config *config,
                                      const struct config_queues *queues)
{
    const size_t n = queues ? queues->nlimits : 0;
    struct limit_defaults *d = limit_defaults_new(n);
    bool good = d;

    if (d)
        d->all = config->cgroup;
    for (size_t i = 0; good && i < n; i++)
        good = find_limited(&queues->limits[i], &d->some[i]) == 0;
    if (good)
        return d;
    limit_defaults_free(d);
    return NULL;
}

void allowed_limits_free(struct limit_defaults *limits)
{
    limit_defaults_free(limits);
}

void allowed_free(struct queue_config *configs, size_t n)
{
    for (size_t i = 0; configs && i < n; i++)
        for (int list = 0; list < QUEUE_LISTS; list++)
            queue_allowed_fini(&configs[i].allowed[list]);
    free(configs);
}

int allowed_find_all(struct core *core)
{
    int r = 0;

    for (struct queue *q = queues_first(core); q; q = queues_next(q))
        for (enum queue_list list = 0; list < QUEUE_LISTS && r == 0; list++)
            if (q->hand.list[list].made)
                r = find_and_warn(&q->by_hand[list], list, q->as_read.name,
                                  queue_list_names[list]);
    return r;
}
