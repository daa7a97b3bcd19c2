/* The script that comes with a spec: keeper/script_file.h makes a file of it. */
#include "daemon/job/script_line.h"
#include "daemon/run/attempt.h"
#include "daemon/run/hook.h"
#include "daemon/run/sealed_file.h"

static int prepare(struct volt_cx *cx, const struct preparing *p)
{
    (void)cx;
    if (!p->spec->script)
        return 0;
    int fd = sealed_file("volt-script", script_name(p->spec), p->spec->script);
    if (fd < 0)
        return fd;
    p->args->script_fd = fd;
    return 0;
}

const struct hook hook_script = {.step = "script", .prepare = prepare};
