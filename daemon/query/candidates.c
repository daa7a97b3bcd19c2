/* See candidates.h. */
#include "daemon/query/candidates.h"

#include "daemon/core/parts.h"
#include "daemon/core/users.h"

/* Ways to find candidates; behind these the first label, the second ... */
enum by { BY_STATES, BY_NAME, BY_LABELS };

/* The users whose jobs are wanted. */
struct asked {
    struct core *core;
    const struct job_filter *f;
    size_t n;
    const struct user *users[CANDIDATES_USERS];
};

/* Collects the users. False: there are too many. */
static bool find_users(struct asked *a, const struct asker *asker)
{
    struct users *all = parts_of(a->core)->users;
    const bool sees_all = auth_sees_all(asker);
    struct hash_cursor c = {0};

    if (sees_all && !a->f->of_user && all->table.count > CANDIDATES_USERS)
        return false;
    if (sees_all && !a->f->of_user) {
        for (const struct user *u; (u = users_each(all, &c));)
            a->users[a->n++] = u;
        return true;
    }
    if (a->f->of_user && !auth_sees(asker, a->f->uid))
        return true; /* no user at all */
    a->users[0] = users_find(all, a->f->of_user ? a->f->uid : asker->who.uid);
    a->n = a->users[0] != NULL;
    return true;
}

static bool wants(const struct job_filter *f, enum job_class class)
{
    static const uint32_t states[JOB_CLASSES] = {
        [JOB_CLASS_QUEUED] = 1u << JOB_QUEUED,
        [JOB_CLASS_BUSY] = JOB_BUSY_STATES,
        [JOB_CLASS_DONE] = 1u << JOB_DONE,
    };

    return !f->states || f->states & states[class];
}

static bool wants_all(const struct job_filter *f)
{
    return wants(f, JOB_CLASS_QUEUED) && wants(f, JOB_CLASS_BUSY) &&
           wants(f, JOB_CLASS_DONE);
}

static uint32_t tag_of(const struct asked *a, const struct user *u, unsigned by)
{
    return by == BY_NAME
               ? index_tag_of_name(a->core, u->uid, a->f->name)
               : index_tag_of_label(a->core, u->uid, &a->f->labels[by - BY_LABELS]);
}

static uint64_t count(const struct asked *a, unsigned by)
{
    uint64_t n = 0;

    for (size_t i = 0; i < a->n; i++) {
        const struct user *u = a->users[i];

        if (by != BY_STATES)
            n += postings_count(&parts_of(a->core)->index->keys, tag_of(a, u, by));
        for (int class = 0; class < JOB_CLASSES && by == BY_STATES; class ++)
            n += wants(a->f, (enum job_class) class) ? u->ids[class].count : 0;
    }
    return n;
}

/* Chooses the way with the fewest candidates. False: there is no way. */
static bool choose(const struct asked *a, bool states, unsigned *ret_by)
{
    const size_t labels =
        a->f->nlabels < CANDIDATES_LABELS ? a->f->nlabels : CANDIDATES_LABELS;
    uint64_t fewest = UINT64_MAX;

    for (unsigned by = states ? BY_STATES : BY_NAME; by < BY_LABELS + labels; by++) {
        if (by == BY_NAME && !a->f->name)
            continue;
        if (by >= BY_LABELS && !a->f->labels[by - BY_LABELS].value)
            continue; /* any value: not indexed */
        uint64_t n = count(a, by);
        if (n < fewest) {
            fewest = n;
            *ret_by = by;
        }
    }
    return fewest < UINT64_MAX;
}

static uint64_t behind(const struct candidates *c, const struct candidate_stream *s,
                       uint64_t id)
{
    if (s->set)
        return c->down ? idset_prev(s->set, id) : idset_next(s->set, id);
    return c->down ? postings_prev(c->keys, s->tag, id)
                   : postings_next(c->keys, s->tag, id);
}

static void add(struct candidates *c, const struct idset *set, uint32_t tag,
                uint64_t after)
{
    struct candidate_stream *s = &c->stream[c->n];

    *s = (struct candidate_stream){.set = set, .tag = tag};
    s->next = behind(c, s, after);
    c->n += s->next != 0;
}

bool candidates_begin(struct candidates *c, struct core *core, const struct asker *asker,
                      const struct job_filter *f, uint64_t after)
{
    struct asked a = {.core = core, .f = f};
    unsigned by;

    c->keys = &parts_of(core)->index->keys;
    c->down = f->newest_first;
    c->n = 0;
    if (parts_of(core)->index->missing || !find_users(&a, asker) ||
        !choose(&a, !auth_sees_all(asker) || f->of_user || !wants_all(f), &by))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        const struct user *u = a.users[i];

        if (by != BY_STATES)
            add(c, NULL, tag_of(&a, u, by), after);
        for (int class = 0; class < JOB_CLASSES && by == BY_STATES; class ++)
            if (wants(f, (enum job_class) class))
                add(c, &u->ids[class], 0, after);
    }
    return true;
}

uint64_t candidates_next(struct candidates *c)
{
    uint64_t id = 0;

    for (size_t i = 0; i < c->n; i++) {
        uint64_t next = c->stream[i].next;

        if (next && (!id || (c->down ? next > id : next < id)))
            id = next;
    }
    for (size_t i = 0; i < c->n && id; i++)
        if (c->stream[i].next == id)
            c->stream[i].next = behind(c, &c->stream[i], id);
    return id;
}
