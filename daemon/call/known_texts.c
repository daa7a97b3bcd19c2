/* See known_texts.h. */
#include "daemon/call/known_texts.h"

#include <jansson.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/env.h"

static void *ref_env(void *what)
{
    return job_env_ref(what);
}

static void unref_env(void *what)
{
    job_env_unref(what);
}

const struct known_kind known_env = {16384, ref_env, unref_env};

static void *ref_json(void *what)
{
    return json_incref(what);
}

static void unref_json(void *what)
{
    json_decref(what);
}

const struct known_kind known_json = {1024, ref_json, unref_json};

struct known {
    void *what; /* NULL: this entry is free */
    char *text;
    size_t len;
    uid_t uid;
    uint64_t asked; /* `clock` at the latest use */
};

struct known_texts {
    const struct known_kind *kind;
    pthread_mutex_t lock; /* guards the rest */
    uint64_t clock;       /* number of look-ups and additions */
    struct known known[KNOWN_MOST];
};

struct known_texts *known_texts_new(const struct known_kind *kind)
{
    struct known_texts *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->kind = kind;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

static void forget(const struct known_texts *t, struct known *k)
{
    t->kind->unref(k->what);
    free(k->text);
}

void known_texts_free(struct known_texts *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < KNOWN_MOST; i++)
        forget(t, &t->known[i]);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* Lock held. Returns the entry of this text or NULL. */
static struct known *find(struct known_texts *t, uid_t uid, const char *text, size_t len)
{
    for (size_t i = 0; i < KNOWN_MOST; i++) {
        struct known *k = &t->known[i];

        if (k->what && k->uid == uid && k->len == len && memcmp(k->text, text, len) == 0)
            return k;
    }
    return NULL;
}

void *known_texts_find(struct known_texts *t, uid_t uid, const char *text, size_t len)
{
    void *what = NULL;

    if (!t || len > t->kind->most)
        return NULL;
    pthread_mutex_lock(&t->lock);
    struct known *k = find(t, uid, text, len);
    if (k) {
        k->asked = ++t->clock;
        what = t->kind->ref(k->what);
    }
    pthread_mutex_unlock(&t->lock);
    return what;
}

/* Lock held. Returns the entry to replace: the user's own least recently used if the user
 * has KNOWN_OF_USER, otherwise the least recently used of all (free entries come
 * first). */
static struct known *place_for(struct known_texts *t, uid_t uid)
{
    struct known *oldest = &t->known[0], *own = NULL;
    size_t n = 0;

    for (size_t i = 0; i < KNOWN_MOST; i++) {
        struct known *k = &t->known[i];

        if (k->asked < oldest->asked)
            oldest = k;
        if (!k->what || k->uid != uid)
            continue;
        n++;
        if (!own || k->asked < own->asked)
            own = k;
    }
    return n < KNOWN_OF_USER ? oldest : own;
}

void known_texts_add(struct known_texts *t, uid_t uid, char *text, size_t len, void *what)
{
    struct known old = {.text = text};

    if (!t || len > t->kind->most) {
        free(text);
        return;
    }
    pthread_mutex_lock(&t->lock);
    if (!find(t, uid, text, len)) {
        struct known *k = place_for(t, uid);

        old = *k;
        *k = (struct known){.what = t->kind->ref(what),
                            .text = text,
                            .len = len,
                            .uid = uid,
                            .asked = ++t->clock};
    }
    pthread_mutex_unlock(&t->lock);
    forget(t, &old);
}
