/* The standard input that a spec brings. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/run/attempt.h"
#include "daemon/run/hook.h"

/* The input that the spec brings, if there is some, as a file that nobody can change. */
static int prepare(struct volt_cx *cx, const struct preparing *p)
{
    const struct job_input *input = p->spec->input;
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    size_t done = 0;
    int fd;

    (void)cx;
    if (!input)
        return 0;
    fd = memfd_create("volt-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    while (done < input->n) {
        ssize_t n = pwrite(fd, input->bytes + done, input->n - done, (off_t)done);

        if (n < 0) {
            int r = -errno;
            (void)close(fd);
            return r;
        }
        done += (size_t)n;
    }
    (void)fcntl(fd, F_ADD_SEALS, seals);
    p->args->stdin_fd = fd;
    return 0;
}

const struct hook hook_input = {.step = "stdin", .prepare = prepare};
