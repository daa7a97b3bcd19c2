/* See keeper_links.h. */
#include "daemon/link/keeper_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/lock.h"
#include "base/siphash.h"

#define REST_USEC UINT64_C(600000000)
/* 1 more than fits, so that connect() refuses it. */
#define PATH_BYTES (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1)

struct entry {
    struct hash_node node;
    uid_t uid;
    struct keeper_link *link;
    void *task; /* of the link, until it is spawned */
};

struct keeper_links {
    struct keeper_link *all; /* NULL: one link for each user */
    char *dir;               /* directory of their sockets */
    int record_fd;           /* as in struct keeper_link_options, with the next */
    struct volt_runtime *rt;
    struct keeper_callbacks callbacks;
    struct siphash_key secret;
    vlock lock;              /* guards the table */
    struct hash_table table; /* of entries */
};

static struct entry *entry_of(struct hash_node *n)
{
    return (struct entry *)(void *)n; /* first member */
}

static struct entry *find_locked(const struct keeper_links *links, uid_t uid,
                                 uint64_t hash)
{
    struct hash_node *n = hash_table_first(&links->table, hash);

    while (n && entry_of(n)->uid != uid)
        n = hash_node_next(n);
    return n ? entry_of(n) : NULL;
}

static void entry_free(struct entry *e, bool settled)
{
    volt_task_discard(e->task);
    keeper_link_free(e->link, settled);
    free(e);
}

int keeper_links_open(const char *dir, const struct keeper_link_options *opt,
                      struct volt_error *err, struct keeper_links **ret)
{
    struct keeper_links *links = calloc(1, sizeof(*links));
    int r = links ? siphash_key_random(&links->secret) : -ENOMEM;

    if (r == 0)
        links->record_fd = opt->record_fd;
    if (r == 0 && dir && !(links->dir = strdup(dir)))
        r = -ENOMEM;
    if (r < 0)
        (void)error_set(err, r, "%s", strerror(-r));
    else if (!dir)
        r = keeper_link_open(opt, err, &links->all);
    if (r < 0) {
        keeper_links_free(links, false);
        return r;
    }
    *ret = links;
    return 0;
}

int keeper_links_start(struct keeper_links *links, struct volt_runtime *rt,
                       const struct keeper_callbacks *callbacks)
{
    links->rt = rt;
    links->callbacks = *callbacks;
    return links->all ? keeper_link_start(links->all, rt) : 0;
}

void keeper_links_free(struct keeper_links *links, bool settled)
{
    struct hash_cursor at = {0};
    struct hash_node *n;

    if (!links)
        return;
    keeper_link_free(links->all, settled);
    while ((n = hash_table_each(&links->table, &at)))
        entry_free(entry_of(n), settled);
    hash_table_fini(&links->table);
    free(links->dir);
    free(links);
}

bool keeper_links_are_many(const struct keeper_links *links)
{
    return links->all == NULL;
}

/* Writes the socket's path. A path that is too long stays so, and connect() refuses
 * it. */
static void path_of(const struct keeper_links *links, uid_t uid,
                    char ret[static PATH_BYTES])
{
    (void)snprintf(ret, PATH_BYTES, "%s/%u", links->dir, (unsigned)uid);
}

/* Returns a new entry, with a link and its task. NULL: no memory. */
static struct entry *entry_new(const struct keeper_links *links, uid_t uid)
{
    char path[PATH_BYTES];
    const struct keeper_link_options opt = {.socket_path = path,
                                            .rest_usec = REST_USEC,
                                            .uid = uid,
                                            .callbacks = &links->callbacks,
                                            .record_fd = links->record_fd};
    struct entry *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    path_of(links, uid, path);
    e->uid = uid;
    if (keeper_link_open(&opt, NULL, &e->link) == 0 &&
        keeper_link_task(e->link, links->rt, &e->task) == 0)
        return e;
    entry_free(e, false);
    return NULL;
}

/* Adds an entry for a user without one, and spawns its task. Returns the user's entry,
 * which another thread may have added; NULL: no memory. */
static struct entry *add(struct keeper_links *links, uid_t uid, uint64_t hash)
{
    struct entry *made = entry_new(links, uid);

    if (!made)
        return NULL;
    void *task = made->task;
    vlock_lock(&links->lock);
    struct entry *e = find_locked(links, uid, hash);
    if (!e && hash_table_reserve(&links->table) == 0) {
        e = made;
        e->task = NULL;
        hash_table_add(&links->table, &e->node, hash);
    }
    vlock_unlock(&links->lock);
    if (e == made)
        (void)volt_task_spawn(task, NULL);
    else
        entry_free(made, false);
    return e;
}

struct keeper_link *keeper_links_of(struct keeper_links *links, uid_t uid)
{
    if (links->all || uid == KEEPER_OF_NOBODY)
        return links->all;
    const uint64_t hash = siphash64_number(&links->secret, uid);

    vlock_lock(&links->lock);
    const struct entry *e = find_locked(links, uid, hash);
    vlock_unlock(&links->lock);
    if (!e)
        e = add(links, uid, hash);
    return e ? e->link : NULL;
}

uint64_t keeper_links_away_usec(struct keeper_links *links, uid_t uid)
{
    struct keeper_link *link = links->all;

    if (!link) {
        vlock_lock(&links->lock);
        const struct entry *e =
            find_locked(links, uid, siphash64_number(&links->secret, uid));
        link = e ? e->link : NULL;
        vlock_unlock(&links->lock);
    }
    return link ? keeper_link_away_usec(link) : 0;
}

int keeper_links_check(const struct keeper_links *links, uid_t uid)
{
    char path[PATH_BYTES];
    struct stat st;

    if (links->all)
        return 0;
    if (uid == 0)
        return -EPERM;
    path_of(links, uid, path);
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISSOCK(st.st_mode) ? 0 : -ENOENT;
}
