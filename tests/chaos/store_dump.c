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

#include "daemon/store/sqlite.h"

static int print(void *arg, const struct store_fact *f)
{
    (void)arg;
    return printf("%" PRIu64 " %" PRId64 " %d %d %d %u\n", f->key.id, f->key.index,
                  (int)f->event->type, (int)f->event->result, (int)f->event->code,
                  f->event->attempt) < 0
               ? -EIO
               : 0;
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
