/* See again.h. */
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/again.h"
#include "wire/quote.h"

/* Appends words up to NULL, each with a blank behind it. */
static int add(struct wire_buf *to, ...)
{
    const char *word;
    va_list ap;
    int r = 0;

    va_start(ap, to);
    while (r == 0 && (word = va_arg(ap, const char *)) != NULL) {
        r = wire_quote_word(to, word);
        if (r == 0)
            r = wire_buf_append(to, " ", 1);
    }
    va_end(ap);
    return r;
}

/* Appends the command that runs a program as the account of this process: by name, or by
 * numbers if the account has no name. */
static int add_account(struct wire_buf *to)
{
    const struct passwd *pw = getpwuid(geteuid());
    char uid[32], gid[32];

    if (pw)
        return add(to, "runuser", "-u", pw->pw_name, "--", NULL);
    (void)snprintf(uid, sizeof(uid), "--reuid=%u", (unsigned)geteuid());
    (void)snprintf(gid, sizeof(gid), "--regid=%u", (unsigned)getegid());
    return add(to, "setpriv", uid, gid, "--clear-groups", NULL);
}

int again_line(const struct again *a, const char *option, struct wire_buf *ret)
{
    int r = a->system && geteuid() != 0 ? add_account(ret) : 0;

    if (r == 0)
        r = add(ret, a->program, option, a->system ? "--system" : "--user", NULL);
    if (r == 0 && a->runtime_dir)
        r = add(ret, "--runtime-dir", a->runtime_dir, NULL);
    if (r == 0 && a->state_dir)
        r = add(ret, "--state-dir", a->state_dir, NULL);
    if (r == 0)
        ret->data[ret->end - 1] = '\0'; /* in place of the last blank */
    return r;
}
