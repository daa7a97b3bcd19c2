/* See check.h. Findings go to standard output, a line each: they are what was asked
 * for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/check.h"
#include "daemon/store/sqlite.h"

static void print(void *arg, const char *text)
{
    (void)printf("%s: %s\n", (const char *)arg, text);
}

int check_store(struct paths *p)
{
    struct volt_error err = {{0}};
    int n;

    if (access(p->state_dir, F_OK) < 0) {
        (void)fprintf(stderr, "voltd: %s: %s\n", p->state_dir, strerror(errno));
        return 1;
    }
    if (paths_claim(p, &err) < 0) { /* a running voltd writes */
        (void)fprintf(stderr, "voltd: %s\n", err.text);
        return 1;
    }
    n = store_sqlite_check(p->state_dir, print, p->state_dir);
    if (n == -ENOENT)
        (void)fprintf(stderr, "voltd: %s: there is no store\n", p->state_dir);
    else if (n < 0)
        (void)fprintf(stderr, "voltd: %s: %s\n", p->state_dir, strerror(-n));
    else if (n > 0)
        (void)printf("%s: damaged, %d findings\n", p->state_dir, n);
    else
        (void)printf("%s: sound\n", p->state_dir);
    paths_fini(p);
    return n == 0 ? 0 : 1;
}
