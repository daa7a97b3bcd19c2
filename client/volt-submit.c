/* volt-submit: submits jobs to voltd, and with --wait behaves like the job itself.
 *
 * Standard output has only ids, one per line (with --json: events; with --follow: the
 * job's output). Errors of volt-submit itself have exit code 125, so that other codes are
 * the jobs', as with timeout(1) and env(1). */
#include "client/submit.h"
#include "client/say.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct submit_options o = {0};
    say_init();
    int code = submit_parse(&o, argc, argv);
    if (code == SUBMIT_GO)
        code = o.dry_run ? submit_dry_run(&o) : submit_run(&o);
    submit_options_fini(&o);
    return say_finish(code, SUBMIT_EXIT_FAILED);
}
