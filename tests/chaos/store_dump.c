/* Loads stores as voltd does, to be told what they hold:
 *
 *     store-dump
 *
 * For each state directory on a line of standard input: a line "JOB INDEX EVENT RESULT
 * CODE ATTEMPT" per fact of its store, then "ok", or "error TEXT" when the store is
 * refused. */
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
    struct store *s = NULL;
    int r = store_sqlite_open(&o, &s, &err);

    if (r == 0)
        r = store_load(s, print, NULL, &err);
    store_free(s);
    (void)printf(r == 0 ? "ok\n" : "error %s: %s\n", strerror(-r), err.text);
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
