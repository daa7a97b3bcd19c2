/* The standard input that comes with a spec. */
#include "daemon/run/attempt.h"
#include "daemon/run/hook.h"
#include "daemon/run/sealed_file.h"

static int prepare(struct volt_cx *cx, const struct preparing *p)
{
    (void)cx;
    if (!p->spec->input)
        return 0;
    int fd = sealed_file("volt-stdin", NULL, p->spec->input);
    if (fd < 0)
        return fd;
    p->args->stdin_fd = fd;
    return 0;
}

const struct hook hook_input = {.step = "stdin", .prepare = prepare};
