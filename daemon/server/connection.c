/* The task of one connection.
 *
 * One poll: check the server's phase, wait for a place among the connections of the user
 * (share.h) unless the connection has to end, then read, answer and write in rounds until
 * nothing moves, then check the deadlines. By then every leaf that could move something
 * has been polled and so wakes the task.
 *
 *   read      unless a call is in progress or the peer has to read first, and READ_AHEAD
 *             bytes are waiting already
 *   answer    session_step(): all whole messages, before anything is written: pipelined
 *             calls cost one write
 *   write     the session's output, descriptors with the byte they belong to
 *
 * A poll does at most one turn (turn.h); then the task wakes itself, and others run
 * first.
 *
 * While the user holds more than its share (share.h), the connection begins no call,
 * reads at most a short message and appends no reply to a stream. A connection that waits
 * for room longer than share_patience() is refused.
 *
 * Deadlines: a message must be whole frame_timeout after its first byte, a peer with
 * output to read must read within drain_timeout, and an idle peer is closed after
 * idle_timeout. One timer serves all three: it is set to the earliest and, when it fires,
 * compared with the current state; progress does not touch it. The peer does not pay for
 * delays of voltd: the socket is read before a deadline counts, and the time starts anew
 * after voltd was stopped, and after waiting for room.
 *
 * After the end of input the calls that arrived are still answered (a client may shut
 * down its writing side). When the peer has closed both sides, the current call is
 * dropped. A call of many turns delays reading the end of input: if it only reads
 * (METHOD_READS), the peer is checked between its turns. */
#include "daemon/server/connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AHEAD  65536
#define SHARED_USEC UINT64_C(1000000)
#define TOO_LATE    UINT64_C(1000000) /* us: this late, voltd itself was stopped */
#define LOOK_AGAIN  UINT64_C(10000)   /* us: until readiness is reported */

static struct turn *turn_of(struct connection *c)
{
    return &c->session.turn;
}

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

/* Returns the descriptor that came with a message, or -1. */
static int fd_of(struct msghdr *msg)
{
    int fd = -1;

    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h))
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
            memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    return fd;
}

/* Reads, and takes a descriptor if a place is free. Returns like volt_io_read_poll(). */
static enum volt_poll receive_poll(struct volt_cx *cx, struct connection *c, char *at,
                                   size_t room, ssize_t *ret, bool *ret_stdin)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = at, .iov_len = room};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct session *s = &c->session;
    const struct service *service = c->server->service;
    int fd = -1;

    *ret_stdin = false;
    if (!stdin_file_claim(&s->stdin_file, service->stdin_files,
                          s->call.caller.peer.who.uid))
        return volt_io_read_poll(cx, &c->io, at, room, ret);
    enum volt_poll r = volt_io_recvmsg_poll(cx, &c->io, &msg, MSG_CMSG_CLOEXEC, ret);
    if (r == VOLT_READY && *ret > 0)
        fd = fd_of(&msg);
    *ret_stdin = fd >= 0;
    if (fd >= 0)
        stdin_file_read(&s->stdin_file, service->rt, fd, (size_t)s->config.max_stdin);
    else
        stdin_file_end(&s->stdin_file);
    return r;
}

/* Returns 1: read something, 0: nothing to read, negative: the connection is dead. */
static int read_some(struct volt_cx *cx, struct connection *c)
{
    size_t room;
    ssize_t n;
    int moved = 0;

    do {
        char *at;
        bool got_stdin;
        int r = frame_space(&c->session.in, &at, &room);

        if (r < 0)
            return r;
        if (room > quota_bytes_left(&turn_of(c)->quota))
            room = quota_bytes_left(&turn_of(c)->quota);
        if (room == 0 || receive_poll(cx, c, at, room, &n, &got_stdin) == VOLT_PENDING)
            break;
        if (n < 0)
            return (int)n;
        moved = 1;
        c->eof = n == 0;
        if (!partial(c))
            c->frame_since = volt_now_usec();
        frame_filled(&c->session.in, (size_t)n);
        if (got_stdin)
            session_got_stdin(&c->session);
        quota_charge(&turn_of(c)->quota, 0, (size_t)n, 0);
    } while ((size_t)n == room && frame_pending(&c->session.in) < READ_AHEAD);
    return moved;
}

/* Sends one piece. Returns like read_some(). */
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
    if (wire_buf_len(&out->bytes) > 0)
        c->output_since = volt_now_usec();
    return 1;
}

/* Returns whether the peer has closed both directions. True also without memory to ask:
 * nothing would make the task ask again before the next heartbeat. */
static bool peer_has_closed(const struct connection *c)
{
    struct pollfd p = {.fd = c->fd};
    int n = TEMP_FAILURE_RETRY(poll(&p, 1, 0));

    return n < 0 || (n > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)));
}

/* Like peer_has_closed(), and wakes the task when it changes. */
static bool peer_is_gone(struct volt_cx *cx, struct connection *c)
{
    while (volt_io_readable_poll(cx, &c->io) == VOLT_READY) {
        volt_io_clear_readable(&c->io);
        if (peer_has_closed(c))
            return true;
    }
    return false;
}

/* Returns whether the current call needs another turn, only reads, and has no peer
 * left. */
static bool is_in_vain(const struct connection *c)
{
    const struct method *m = c->session.call.method;

    return m && (m->flags & METHOD_READS) && turn_is_over(&c->session.turn) &&
           peer_has_closed(c);
}

/* --- deadlines ---------------------------------------------------------------------- */

static uint64_t later(uint64_t since, uint64_t duration)
{
    return duration > UINT64_MAX - since ? UINT64_MAX : since + duration;
}

/* Returns since when the peer owes its next step, and the time it has. NULL: it owes
 * nothing, or waits for memory of its user's other connections. */
static uint64_t *peer_has_time(struct connection *c, uint64_t *ret_limit)
{
    const struct config *config = &c->session.config;

    if (wire_buf_len(&c->session.out.bytes) > 0) {
        *ret_limit = config->drain_timeout_usec;
        return &c->output_since;
    }
    if (c->session.call.method || share_patience(&c->share) != UINT64_MAX)
        return NULL;
    *ret_limit = partial(c) ? config->frame_timeout_usec : config->idle_timeout_usec;
    return partial(c) ? &c->frame_since : &c->quiet_since;
}

/* Returns whether the peer did its step and the task has not noticed yet. */
static bool peer_has_moved(const struct connection *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    if (wire_buf_len(&c->session.out.bytes) > 0)
        p.events = POLLOUT;
    return poll(&p, 1, 0) > 0 && (p.revents & p.events);
}

/* Returns when the connection ends unless something moves; UINT64_MAX: never. A check
 * that comes TOO_LATE means that voltd was stopped or had no CPU: the peer's time starts
 * anew. */
static uint64_t end_of_patience(struct connection *c, uint64_t now)
{
    uint64_t limit, *since = peer_has_time(c, &limit);

    if (!since)
        return UINT64_MAX;
    uint64_t end = later(*since, limit);
    if (end > now)
        return end;
    if (now - end >= TOO_LATE) {
        *since = now;
        return later(now, limit);
    }
    return peer_has_moved(c) ? now + LOOK_AGAIN : end;
}

/* Sets the timer. False: the time is up. */
static bool keep_time(struct volt_cx *cx, struct connection *c)
{
    uint64_t now = volt_now_usec();
    uint64_t end = end_of_patience(c, now), room = share_patience(&c->share);
    uint64_t due = end < room ? end : room;

    if (end <= now)
        return false;
    for (;;) {
        if (due == UINT64_MAX)
            return true; /* a timer still set fires once for nothing */
        if (room != UINT64_MAX && room <= volt_now_usec()) {
            volt_cx_wake(cx); /* serve() refuses it */
            return true;
        }
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
        if (end <= volt_now_usec()) {
            volt_cx_wake(cx); /* serve() reads from the peer first */
            return true;
        }
    }
}

/* --- the task ----------------------------------------------------------------------- */

static struct connection *connection_of(struct session *s)
{
    return (struct connection *)((char *)s - offsetof(struct connection, session));
}

/* Copies a new configuration. */
static void between_calls(struct session *s)
{
    struct connection *c = connection_of(s);
    uint64_t generation = c->generation;
    struct config config;

    (void)server_look(c->server, &generation, &config);
    if (generation == c->generation)
        return;
    c->generation = generation;
    session_configure(s, &config);
}

/* Checks the server's phase. False: end now. */
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

/* Returns whether it may read on. A short message needs no room. */
static bool has_room(struct volt_cx *cx, struct connection *c)
{
    const bool waited = c->share.waits;

    if (frame_pending(&c->session.in) < SESSION_SHORT || c->reserved)
        return true;
    if (share_room_poll(cx, &c->share, SHARE_LONG, limit_of(c)) == VOLT_PENDING)
        return false;
    if (waited)
        c->frame_since = volt_now_usec();
    return true;
}

/* Answers calls, and starts the peer's deadlines anew where something happened. */
static enum session_state step(struct volt_cx *cx, struct connection *c)
{
    struct session *s = &c->session;
    bool nothing_to_send = wire_buf_len(&s->out.bytes) == 0;
    const struct method *in_hand = s->call.method;
    uint64_t messages = s->messages;
    enum session_state doing;

    doing = session_step(cx, s);
    call_count(&c->session.call);

    /* After progress the peer's time for its next step begins. */
    if (s->messages != messages || s->call.method != in_hand)
        c->quiet_since = c->frame_since = volt_now_usec();
    if (nothing_to_send && wire_buf_len(&s->out.bytes) > 0)
        c->output_since = volt_now_usec();
    return doing;
}

/* Returns whether nothing is left to do for this peer. */
static bool finished(const struct connection *c, enum session_state doing)
{
    return wire_buf_len(&c->session.out.bytes) == 0 && !c->session.call.method &&
           (doing == SESSION_CLOSING || (c->eof && doing == SESSION_WANTS_INPUT));
}

/* Refuses a connection that has waited too long for room. */
static void end_waiting(struct connection *c)
{
    const uint64_t room = share_patience(&c->share);

    if (room == UINT64_MAX || room > volt_now_usec())
        return;
    session_refuse_room(&c->session);
    share_wait_no_more(&c->share, limit_of(c));
    c->output_since = volt_now_usec();
}

/* Sends the reason to a connection that is evicted, if the peer can take it at once. */
static void say_evicted(struct volt_cx *cx, struct connection *c)
{
    struct session *s = &c->session;

    if (s->call.method || wire_buf_len(&s->out.bytes) > 0)
        return;
    server_say_limit(&s->out.bytes, LIMIT_CONNECTIONS, &s->config);
    while (write_some(cx, c) > 0)
        ;
}

/* Reads, answers and writes until nothing moves. READY: the connection ends. */
static enum volt_poll go_round(struct volt_cx *cx, struct connection *c)
{
    int moved;

    do {
        enum session_state doing = step(cx, c);
        bool drains = c->session.drains;

        moved = 0;
        for (int r; (r = write_some(cx, c)) != 0; moved = drains) {
            if (r < 0)
                return VOLT_READY;
        }
        if (moved)
            call_count(&c->session.call);
        if (finished(c, doing))
            return VOLT_READY;
        if (doing == SESSION_MORE_CALLS || turn_is_over(turn_of(c))) {
            volt_cx_wake(cx); /* others first */
            break;
        }
        if (wants_read(c, doing) && has_room(cx, c)) {
            int r = read_some(cx, c);
            if (r < 0)
                return VOLT_READY;
            moved |= r;
        }
    } while (moved);
    return VOLT_PENDING;
}

/* Returns whether the connection is evicted or ends with the server: it joins no line. */
static bool has_to_go(struct volt_cx *cx, struct connection *c)
{
    if (!look_at_server(cx, c))
        return true;
    if (!vat_u32_load(&c->evicted, VAT_ACQ))
        return false;
    say_evicted(cx, c);
    return true;
}

static enum volt_poll serve(struct volt_cx *cx, struct connection *c)
{
    end_waiting(c);
    c->share.asked = false;
    if (go_round(cx, c) == VOLT_READY)
        return VOLT_READY;
    if (c->session.call.method)
        session_trim(&c->session);
    call_count(&c->session.call);
    if (!c->share.asked)
        share_wait_no_more(&c->share, limit_of(c));
    if (is_in_vain(c) || (c->eof && peer_is_gone(cx, c)))
        return VOLT_READY;
    return keep_time(cx, c) ? VOLT_PENDING : VOLT_READY;
}

/* Returns whether several users were served within SHARED_USEC. */
static bool is_shared(struct server *s, const struct holder *me)
{
    uint64_t last = vat_u64_load(&s->served, VAT_RLX), this = (uint64_t)me->uid + 1;

    if (last != this)
        vat_u64_store(&s->served, this, VAT_RLX);
    if (last && last != this) {
        vat_u64_store(&s->shared_at, volt_now_usec(), VAT_RLX);
        return true;
    }
    const uint64_t at = vat_u64_load(&s->shared_at, VAT_RLX);
    return at && volt_now_usec() < at + SHARED_USEC;
}

static enum volt_poll connection_poll(struct volt_cx *cx, void *state)
{
    struct connection *c = state;
    enum volt_poll r;

    server_can_wake(cx, c);
    if (has_to_go(cx, c))
        return VOLT_READY;
    bool others_busy = is_shared(c->server, c->share.of);
    bool queue = c->share.at != SHARE_OUTSIDE || others_busy || c->reserved ||
                 vat_u64_load(&c->share.of->crowd, VAT_RLX) > SHARE_CROWD;
    if (queue && share_enter_poll(cx, &c->share) == VOLT_PENDING)
        return VOLT_PENDING;
    *turn_of(c) = (struct turn){0};
    r = serve(cx, c);
    turn_end(turn_of(c), c->server->service->turns);
    c->share.heavy = turn_is_over(turn_of(c));
    if (queue)
        share_leave(&c->share, others_busy);
    return r;
}

static void connection_drop(void *state)
{
    struct connection *c = state;

    session_note_rest(&c->session);
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

static pid_t pid_of_peer(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 ? cred.pid : 0;
}

/* Sends the limit as the answer to whatever the peer asks. */
static void refuse(struct server *s, int fd, enum server_limit limit)
{
    struct wire_buf text = {0};
    uint64_t generation = 0;
    struct config config;

    (void)server_look(s, &generation, &config);
    server_say_limit(&text, limit, &config);
    if (wire_buf_len(&text) > 0)
        (void)send(fd, wire_buf_at(&text), wire_buf_len(&text),
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    wire_buf_fini(&text);
}

int connection_spawn(struct server *s, const struct interface *const *interfaces, int fd,
                     const struct asker *peer, bool reserved)
{
    struct connection *c = volt_task_new(s->service->rt, &connection_type);
    enum server_limit limit = LIMIT_NONE;
    struct config config;
    int r;

    if (!c) {
        (void)close(fd);
        return -ENOMEM;
    }
    c->server = s;
    c->fd = fd;
    c->reserved = reserved;
    r = volt_io_init(&c->io, s->service->rt, fd);
    if (r == 0)
        r = server_enlist(s, c, peer->who.uid, &limit);
    if (r < 0) {
        if (r == -EMFILE)
            refuse(s, fd, limit);
        volt_io_fini(&c->io);
        volt_task_discard(c);
        (void)close(fd);
        return r;
    }
    volt_notified_init(&c->changed, &s->changed); /* before the phase is read */
    c->phase = server_look(s, &c->generation, &config);
    session_init(&c->session, s->service, interfaces, peer, &config);
    c->session.call.caller.peer_pid = pid_of_peer(fd);
    c->session.call.caller.share = &c->share;
    c->session.between_calls = between_calls;
    c->quiet_since = volt_now_usec();
    return volt_task_spawn(c, NULL); /* a refused task is dropped all the same */
}
