/* See event_texts.h. Has the newest SLOTS events, each in slot seq % SLOTS. */
#include "daemon/method/event_texts.h"

#include "base/lock.h"
#include "daemon/method/job_json.h"
#include <stdlib.h>
#include <string.h>

#define SLOTS    256
#define TEXT_MAX 384 /* longer events are encoded by each stream */

struct event_texts {
    struct slot {
        vlock lock;
        uint32_t len;
        uint64_t seq; /* 0: empty; seq only grows */
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

bool event_texts_copy(struct event_texts *t, uint64_t seq, struct wire_writer *to)
{
    struct slot *s = &t->slots[seq % SLOTS];
    char text[TEXT_MAX];
    size_t len = 0;

    vlock_lock(&s->lock);
    bool there = s->seq == seq;
    if (there)
        memcpy(text, s->text, len = s->len);
    vlock_unlock(&s->lock);
    if (there)
        wire_put_raw(to, NULL, text, len);
    return there;
}

/* Stores a text, unless the slot has a newer one. */
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

void event_texts_put(struct event_texts *t, const struct job_news *ev, const char *name,
                     struct wire_writer *to)
{
    struct wire_buf text = {0};
    struct wire_writer made = {.out = &text};

    job_event_write(&made, ev, name);
    if (made.error < 0) {
        to->error = made.error;
    } else {
        if (wire_buf_len(&text) <= TEXT_MAX)
            keep(&t->slots[ev->seq % SLOTS], ev->seq, wire_buf_at(&text),
                 wire_buf_len(&text));
        wire_put_raw(to, NULL, wire_buf_at(&text), wire_buf_len(&text));
    }
    wire_buf_fini(&text);
}
