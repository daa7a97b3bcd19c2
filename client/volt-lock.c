/* volt-lock: runs a command with a lock of voltd, and exits with its code. */
#include "client/lock.h"
#include "client/say.h"

int main(int argc, char **argv)
{
    struct lock_options o = {0};
    say_init();
    int code = lock_parse(&o, argc, argv);
    if (code == LOCK_GO)
        code = lock_run(&o);
    return say_finish(code, LOCK_EXIT_VOLT_FAILED);
}
