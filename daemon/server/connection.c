/* The task of one connection.
 *
 * One poll: take note of the server's phase, then go round reading, answering and writing
 * until nothing moves, then see to the deadlines. Every leaf that could move something
 * has been polled by then, so each of them wakes the task.
 *
 *   read      unless a call is in hand or the peer owes us reading, and READ_AHEAD bytes
 *             are waiting already
 *   answer    session_step(): everything whole that was received, before anything is
 *             written: pipelined calls cost one write
 *   write     what the session has put out, descriptors with the byte they belong to
 *
 * Who holds more than his share (share.h) begins no call, and reads no further than a
 * short one, until there is room.
 *
 * Deadlines: a message must be whole frame_timeout after its first byte, a peer with
 * something to read must read within drain_timeout, and one that does nothing at all goes
 * after idle_timeout. One timer serves all three: it is set to the earliest and, when it
 * rings, compared with how things are then; progress does not touch it.
 *
 * After the end of input the calls that came are still answered (a client may shut its
 * writing side down), but when the peer has closed altogether, the call in hand is given
 * up. */
#include "daemon/server/connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define READ_AHEAD  65536
#define SHARED_USEC UINT64_C(1000000)
#define SHORT       4096 /* what is received without asking whether there is room */

static bool partial(const struct connection *c)
{
    return frame_pending(&c->session.in) > 0;
}

/* --- moving bytes ------------------------------------------------------------------- */

static bool wants_read(const struct connection *c, enum session_state doing)
{
    if (c->eof || doing == SESSION_CLOSING || doing == SESSION_WANTS_ROOM)
        return false;
    return doing == SESSION_WANTS_INPUT || frame_pending(&c->session.in) < READ_AHEAD;
}

/* 1: read something, 0: nothing to read, negative: the connection is dead. */
static int read_some(struct volt_cx *cx, struct connection *c)
{
    size_t room;
    ssize_t n;
    int moved = 0;

    do {
        char *at;
        int r = frame_space(&c->session.in, &at, &room);

        if (r < 0)
            return r;
        if (volt_io_read_poll(cx, &c->io, at, room, &n) == VOLT_PENDING)
            break;
        if (n < 0)
            return (int)n;
        moved = 1;
        c->eof = n == 0;
        if (!partial(c))
            c->frame_since = volt_now_usec();
        frame_filled(&c->session.in, (size_t)n);
    } while ((size_t)n == room && frame_pending(&c->session.in) < READ_AHEAD);
    return moved;
}

/* Sends one piece. Returns as read_some(). */
static int write_some(struct volt_cx *cx, struct connection *c)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct output *out = &c->session.out;
    struct msghdr msg = {0};
    struct iovec iov;
    const char *at;
    size_t len;
    ssize_t n;
    int fd;

    if (!output_next(out, &at, &len, &fd))
        return 0;
    iov = (struct iovec){.iov_base = wire_buf_at(&out->bytes), .iov_len = len};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    if (fd >= 0) {
        memset(&control, 0, sizeof(control));
        msg.msg_control = &control;
        msg.msg_controllen = sizeof(control);
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
    }
    if (volt_io_sendmsg_poll(cx, &c->io, &msg, MSG_NOSIGNAL, &n) == VOLT_PENDING)
        return 0;
    if (n < 0)
        return (int)n;
    output_sent(out, (size_t)n);
    c->output_since = volt_now_usec();
    return 1;
}

/* True when the peer has closed both directions; otherwise waits for that. */
static bool peer_is_gone(struct volt_cx *cx, struct connection *c)
{
    while (volt_io_readable_poll(cx, &c->io) == VOLT_READY) {
        struct pollfd p = {.fd = c->fd};

        volt_io_clear_readable(&c->io);
        if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)))
            return true;
    }
    return false;
}

/* --- deadlines ---------------------------------------------------------------------- */

static uint64_t later(uint64_t since, uint64_t duration)
{
    return duration > UINT64_MAX - since ? UINT64_MAX : since + duration;
}

/* When the connection ends unless something moves; UINT64_MAX: never. */
static uint64_t deadline(const struct connection *c)
{
    const struct config *config = &c->session.config;

    if (wire_buf_len(&c->session.out.bytes) > 0)
        return later(c->output_since, config->drain_timeout_usec);
    if (c->session.call.method)
        return UINT64_MAX;
    if (partial(c))
        return later(c->frame_since, config->frame_timeout_usec);
    return later(c->quiet_since, config->idle_timeout_usec);
}

/* False when the time is up. */
static bool keep_time(struct volt_cx *cx, struct connection *c)
{
    uint64_t due = deadline(c);

    for (;;) {
        if (due == UINT64_MAX)
            return true; /* a timer that is still set rings for nothing, once */
        if (due <= volt_now_usec())
            return false;
        if (c->armed && c->timer.deadline_usec > due) {
            volt_sleep_fini(&c->timer);
            c->armed = false;
        }
        if (!c->armed)
            volt_sleep_init_at(&c->timer, due);
        c->armed = true;
        if (volt_sleep_poll(cx, &c->timer) == VOLT_PENDING)
            return true;
        volt_sleep_fini(&c->timer);
        c->armed = false;
    }
}

/* --- the task ----------------------------------------------------------------------- */

/* Takes a new configuration up. */
static void between_calls(struct session *s)
{
    struct connection *c =
        (struct connection *)((char *)s - offsetof(struct connection, session));
    uint64_t generation = c->generation;
    struct config config;

    (void)server_look(c->server, &generation, &config);
    if (generation == c->generation)
        return;
    c->generation = generation;
    session_configure(s, &config);
}

/* False: end now. */
static bool look_at_server(struct volt_cx *cx, struct connection *c)
{
    struct session *s = &c->session;

    while (volt_notified_poll(cx, &c->changed) == VOLT_READY) {
        volt_notified_fini(&c->changed);
        volt_notified_init(&c->changed, &c->server->changed);
        c->phase = server_look(c->server, NULL, NULL);
    }
    if (c->phase >= SERVER_DRAINING)
        s->closing = true;
    if (c->phase >= SERVER_DRAINING && s->call.more &&
        !(s->call.method->flags & METHOD_OUTLIVES))
        session_cut(s);
    return c->phase != SERVER_CUT;
}

static uint64_t limit_of(const struct connection *c)
{
    return c->session.config.max_buffers_per_user;
}

/* May it read on, or begin the call that has come? */
static bool has_room(struct volt_cx *cx, struct connection *c, enum session_state doing)
{
    bool is_short = frame_pending(&c->session.in) < SHORT;

    return (is_short && doing != SESSION_WANTS_ROOM) ||
           share_room_poll(cx, &c->share, limit_of(c)) == VOLT_READY;
}

/* Answers what can be answered. */
static enum session_state step(struct volt_cx *cx, struct connection *c)
{
    struct session *s = &c->session;
    bool nothing_to_send = wire_buf_len(&s->out.bytes) == 0;
    const struct method *in_hand = s->call.method;
    uint64_t messages = s->messages;
    enum session_state doing;

    s->no_room = !share_has_room(&c->share, limit_of(c));
    doing = session_step(cx, s);
    share_hold(&c->share, session_holds(s), limit_of(c));

    /* Whatever was done, the peer's time to do the next thing begins now. */
    if (s->messages != messages || s->call.method != in_hand)
        c->quiet_since = c->frame_since = volt_now_usec();
    if (nothing_to_send && wire_buf_len(&s->out.bytes) > 0)
        c->output_since = volt_now_usec();
    return doing;
}

/* Nothing is left to do for this peer. */
static bool finished(const struct connection *c, enum session_state doing)
{
    return wire_buf_len(&c->session.out.bytes) == 0 && !c->session.call.method &&
           (doing == SESSION_CLOSING || (c->eof && doing == SESSION_WANTS_INPUT));
}

static enum volt_poll serve(struct volt_cx *cx, struct connection *c)
{
    int moved;

    if (!look_at_server(cx, c))
        return VOLT_READY;
    do {
        enum session_state doing = step(cx, c);
        bool full = session_full(&c->session);

        moved = 0;
        for (int r; (r = write_some(cx, c)) != 0; moved = full) {
            if (r < 0)
                return VOLT_READY;
        }
        if (finished(c, doing))
            return VOLT_READY;
        if (doing == SESSION_MORE_CALLS) {
            volt_cx_wake(cx); /* others first */
            break;
        }
        if (wants_read(c, doing) && has_room(cx, c, doing)) {
            int r = read_some(cx, c);
            if (r < 0)
                return VOLT_READY;
            moved |= r;
        } else if (doing == SESSION_WANTS_ROOM) {
            moved |= has_room(cx, c, doing);
        }
    } while (moved);
    share_hold(&c->share, session_holds(&c->session), limit_of(c));
    if (c->eof && peer_is_gone(cx, c))
        return VOLT_READY;
    return keep_time(cx, c) ? VOLT_PENDING : VOLT_READY;
}

/* Have several users been busy just now? */
static bool is_shared(struct server *s, const struct holder *me)
{
    uint64_t now = volt_now_usec();

    if (vat_ptr_load(&s->served, VAT_RLX) != me) {
        vat_ptr_store(&s->served, (void *)(uintptr_t)me, VAT_RLX);
        vat_u64_store(&s->shared_at, now, VAT_RLX);
        return true;
    }
    return now < vat_u64_load(&s->shared_at, VAT_RLX) + SHARED_USEC;
}

static enum volt_poll connection_poll(struct volt_cx *cx, void *state)
{
    struct connection *c = state;
    bool queue = c->share.at != SHARE_OUTSIDE || is_shared(c->server, c->share.of);
    enum volt_poll r;

    if (queue && share_enter_poll(cx, &c->share) == VOLT_PENDING)
        return VOLT_PENDING;
    r = serve(cx, c);
    if (queue)
        share_leave(&c->share);
    return r;
}

static void connection_drop(void *state)
{
    struct connection *c = state;

    session_fini(&c->session);
    volt_notified_fini(&c->changed);
    if (c->armed)
        volt_sleep_fini(&c->timer);
    volt_io_fini(&c->io);
    (void)close(c->fd);
    if (c->share.of)
        server_delist(c->server, c);
}

static const struct volt_task_type connection_type = {
    .name = "connection",
    .size = sizeof(struct connection),
    .poll = connection_poll,
    .drop = connection_drop,
};

int connection_spawn(struct server *s, const struct interface *const *interfaces, int fd,
                     const struct job_owner *peer)
{
    struct connection *c = volt_task_new(s->service->rt, &connection_type);
    struct config config;
    int r;

    if (!c) {
        (void)close(fd);
        return -ENOMEM;
    }
    c->server = s;
    c->fd = fd;
    r = volt_io_init(&c->io, s->service->rt, fd);
    if (r == 0)
        r = server_enlist(s, c, peer->uid);
    if (r < 0) {
        volt_io_fini(&c->io);
        volt_task_discard(c);
        (void)close(fd);
        return r;
    }
    volt_notified_init(&c->changed, &s->changed); /* before the phase is looked at */
    c->phase = server_look(s, &c->generation, &config);
    session_init(&c->session, s->service, interfaces, peer, &config);
    c->session.between_calls = between_calls;
    c->quiet_since = volt_now_usec();
    return volt_task_spawn(c, NULL); /* refused, it is dropped all the same */
}
