/* Calls all hooks, one after the other: hook.h. */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/run/hook.h"

static const struct hook *const hooks[] = {
#define HOOK(name) &hook_##name,
#include "daemon/run/hooks.def"
};

#define HOOKS (sizeof(hooks) / sizeof(*hooks))

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hooks_close(struct keeper_start_args *args)
{
    free(args->launch);
    args->launch = NULL;
    free(args->limits);
    args->limits = NULL;
    close_fd(&args->record_fd);
    close_fd(&args->launch_fd);
    close_fd(&args->stdin_fd);
    close_fd(&args->stdout_fd);
    close_fd(&args->stderr_fd);
    close_fd(&args->script_fd);
}

int hooks_prepare(struct volt_cx *cx, const struct preparing *p, const char **ret_step)
{
    int r = 0;

    for (size_t i = 0; i < HOOKS && r == 0; i++) {
        *ret_step = hooks[i]->step;
        r = hooks[i]->prepare ? hooks[i]->prepare(cx, p) : 0;
    }
    if (r < 0)
        hooks_close(p->args);
    return r;
}

void hooks_exited(struct volt_cx *cx, struct work *w)
{
    for (size_t i = HOOKS; w->attempt && i-- > 0;)
        if (hooks[i]->exited)
            hooks[i]->exited(cx, w);
}

void hooks_retired(struct work *w)
{
    for (size_t i = HOOKS; w->attempt && i-- > 0;)
        if (hooks[i]->retired)
            hooks[i]->retired(w);
}
