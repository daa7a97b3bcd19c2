/* See reconnect.h. */
#include "client/reconnect.h"
#include "wire/duration.h"
#include "client/say.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define RETRY_MSEC 200

int reconnect(struct client **c, const struct address_choice *choice,
              enum address_endpoint which, uint64_t limit_usec, int interrupt)
{
    struct client_tried tried;
    char limit[32];
    client_free(*c);
    *c = NULL;
    if (limit_usec == 0) {
        say_lost(-ECONNRESET);
        return -ECONNRESET;
    }
    if (limit_usec % 1000000 == 0 && limit_usec < 60 * UINT64_C(1000000))
        (void)snprintf(limit, sizeof(limit), "%u s", (unsigned)(limit_usec / 1000000));
    else
        duration_format(limit_usec, limit, sizeof(limit));
    say("the connection to voltd is lost; trying again for %s", limit);
    uint64_t deadline = duration_now_usec() + limit_usec;
    while (client_open(choice, which, c, &tried) < 0) {
        if (duration_now_usec() >= deadline) {
            say("voltd did not come back; what runs goes on");
            return -ECONNRESET;
        }
        struct pollfd p = {.fd = interrupt, .events = POLLIN};
        if (poll(&p, 1, RETRY_MSEC) > 0)
            return -EINTR;
    }
    say("connected again");
    return 0;
}
