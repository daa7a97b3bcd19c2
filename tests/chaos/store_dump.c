/* Loads stores as voltd does, to be told what they hold:
 *
 *     store-dump
 *
 * For each state directory on a line of standard input: a line "JOB INDEX EVENT RESULT
 * CODE ATTEMPT" per fact of its store, then "ok FACTS", how many it has numbered, or
 * "refused TEXT" when it is not the one that its witness has seen, or "error TEXT". */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"

static int print(void *arg, const struct store_loaded *loaded)
{
    const struct store_loaded_event *e = &loaded->event;
    int r = 0;

    (void)arg;
    switch (loaded->type) {
    case STORE_LOADED_JOB:
        r = printf("%" PRIu64 " -1 %d 0 0 0\n", loaded->job.id, (int)JOB_EV_SUBMIT);
        break;
    case STORE_LOADED_EVENT:
        r = printf("%" PRIu64 " %" PRId64 " %d %d %d %u\n", e->key.id, e->key.index,
                   (int)e->event->type, (int)e->event->result, (int)e->event->code,
                   e->event->attempt);
        break;
    case STORE_LOADED_RESOURCE:
    case STORE_LOADED_QUEUE:
    case STORE_LOADED_KEY:
        break;
    }
    return r < 0 ? -EIO : 0;
}

/* After a reboot: another boot, and records of another generation. */
static void dump(const char *dir)
{
    struct store_sqlite_options o = {.dir = dir, .boot_id = {99}, .generation = {99}};
    struct volt_error err = {{0}};
    uint64_t first = 0, last = 0;
    struct store *s = NULL;
    int r = store_sqlite_open(&o, &s, &err);

    if (r == 0)
        r = store_load(s, print, NULL, &err);
    if (s)
        store_numbers(s, &first, &last);
    store_free(s);
    if (r == 0)
        (void)printf("ok %" PRIu64 "\n", last - first);
    else
        (void)printf("%s %s: %s\n", r == -STORE_NOT_WITNESSED ? "refused" : "error",
                     strerror(-r), err.text);
    (void)fflush(stdout);
}

int main(void)
{
    char line[512];

    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        dump(line);
    }
    return 0;
}
