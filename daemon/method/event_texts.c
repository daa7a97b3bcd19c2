/* See event_texts.h. The newest SLOTS events, each in the slot of its number. */
#include "daemon/method/event_texts.h"

#include "base/lock.h"
#include "daemon/method/job_json.h"
#include "wire/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS    256
#define TEXT_MAX 240 /* more than any event takes */

struct event_texts {
    struct slot {
        vlock lock;
        uint32_t len;
        uint64_t seq; /* 0: empty; numbers of the log are greater, and never used again */
        char text[TEXT_MAX];
    } slots[SLOTS];
};

struct event_texts *event_texts_new(void)
{
    return calloc(1, sizeof(struct event_texts));
}

void event_texts_free(struct event_texts *t)
{
    free(t);
}

/* 1: was there; 0: not; -ENOMEM. */
static int copy(struct slot *s, uint64_t seq, struct wire_buf *to)
{
    char text[TEXT_MAX];
    size_t len = 0;

    vlock_lock(&s->lock);
    bool there = s->seq == seq;
    if (there)
        memcpy(text, s->text, len = s->len);
    vlock_unlock(&s->lock);
    if (!there)
        return 0;
    return wire_buf_append(to, text, len) < 0 ? -ENOMEM : 1;
}

/* Who is late must not take the place of a newer one. */
static void keep(struct slot *s, uint64_t seq, const char *text, size_t len)
{
    vlock_lock(&s->lock);
    if (s->seq < seq) {
        memcpy(s->text, text, len);
        s->len = (uint32_t)len;
        s->seq = seq;
    }
    vlock_unlock(&s->lock);
}

int event_texts_append(struct event_texts *t, const struct job_news *ev,
                       struct wire_buf *to)
{
    struct slot *slot = &t->slots[ev->seq % SLOTS];
    int r = copy(slot, ev->seq, to);
    json_t *event;
    size_t len;
    char *text;

    if (r != 0)
        return r < 0 ? r : 0;
    event = job_event_to_json(ev);
    text = event ? json_dumps(event, JSON_COMPACT) : NULL;
    json_decref(event);
    if (!text)
        return -ENOMEM;
    len = strlen(text);
    if (len <= TEXT_MAX)
        keep(slot, ev->seq, text, len);
    r = wire_buf_append(to, text, len);
    free(text);
    return r;
}
