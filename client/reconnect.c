/* See reconnect.h. */
#include "client/reconnect.h"
#include "wire/duration.h"
#include "client/say.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define RETRY_MSEC 200

static uint64_t time_until(uint64_t deadline)
{
    const uint64_t now = duration_now_usec();
    return now < deadline ? deadline - now : 0;
}

/* Returns 1: voltd has a place for the connection, as it answers a call; 0: it has none,
 * is gone, or does not answer; -EINTR: interrupt was readable. */
static int has_place(struct client *c, uint64_t deadline, int interrupt)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    client_set_interrupt_fd(c, interrupt);
    int r = client_send(c, "org.varlink.service.GetInfo", NULL, 0);
    if (r == 0)
        r = client_receive(c, time_until(deadline), &reply);
    const bool full = client_is_full(&reply);
    client_reply_fini(&reply);
    if (r == -EINTR)
        return r;
    return r == 1 && !full;
}

/* Connects. Returns as has_place(). */
static int open_once(struct client **c, const struct address_choice *choice,
                     enum address_endpoint which, uint64_t deadline, int interrupt)
{
    struct client_tried tried;
    int r = client_open(choice, which, c, &tried) < 0
                ? 0
                : has_place(*c, deadline, interrupt);
    if (r == 1) {
        client_set_silence(*c, say_silence);
        return r;
    }
    client_free(*c);
    *c = NULL;
    return r;
}

int reconnect(struct client **c, const struct address_choice *choice,
              enum address_endpoint which, uint64_t limit_usec, int interrupt)
{
    char limit[32];
    int r;
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
    while ((r = open_once(c, choice, which, deadline, interrupt)) == 0) {
        if (time_until(deadline) == 0) {
            say("voltd did not come back; what it runs goes on");
            return -ECONNRESET;
        }
        struct pollfd p = {.fd = interrupt, .events = POLLIN};
        if (poll(&p, 1, RETRY_MSEC) > 0)
            return -EINTR;
    }
    if (r == 1)
        say("connected again");
    return r == 1 ? 0 : r;
}
