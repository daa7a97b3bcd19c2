/* The link's messages and the launch block: every truncation and every garbage is
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/account.h"
#include "daemon/keeper/protocol.h"

static char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){""}, NULL};
static char *env[] = {(char[]){"A=1"}, (char[]){"EMPTY="}, NULL};
static const struct launch_rlimit limits[] = {{7, 0, 1024, 524288},
                                              {4, 0, 0, UINT64_MAX}};
static const struct launch sample = {
    .cwd = "/tmp",
    .stdout_path = "out",
    .argv = argv,
    .argc = 3,
    .env = env,
    .envc = 2,
    .rlimits = limits,
    .nrlimits = 2,
};

static union keeper_message start_message(void)
{
    union keeper_message m;
    memset(&m, 0, sizeof(m));
    m.start = (struct keeper_start){
        .head = {KEEPER_MAGIC, KEEPER_START, 1},
        .key = {17, -1, 1, 0},
        .fds = KEEPER_FD_STDIN | KEEPER_FD_STDERR,
        .umask = 022,
        .limits = KEEPER_NO_LIMITS,
        .launch_size = 100,
    };
    return m;
}

static void test_start_fields(void **state)
{
    (void)state;
    union keeper_message good = start_message(), m = good;
    const size_t len = sizeof(m.start);
    assert_true(keeper_request_is_valid(&m, len, 4));
    for (int nfds = 0; nfds <= KEEPER_FDS_MAX; nfds++)
        if (nfds != 4)
            assert_false(keeper_request_is_valid(&m, len, nfds));
#define REFUSED(field, value)                                                            \
    do {                                                                                 \
        m = good;                                                                        \
        m.start.field = (value);                                                         \
        assert_false(keeper_request_is_valid(&m, len, 4));                               \
    } while (0)
    REFUSED(head.magic, 1);
    REFUSED(head.op, 0);
    REFUSED(head.op, KEEPER_WELCOME);
    REFUSED(key.attempt, 0);
    REFUSED(key.index, -2);
    REFUSED(key.zero, 1);
    REFUSED(fds, 16 + 1 + 4);
    m = good;
    m.start.fds = KEEPER_FD_STDIN | KEEPER_FD_SCRIPT;
    assert_true(keeper_request_is_valid(&m, len, 4));
    REFUSED(umask, 01000);
    REFUSED(kill_mode, 2);
    REFUSED(launch_size, 0);
    REFUSED(launch_size, KEEPER_LAUNCH_MAX + 1);
    REFUSED(zero, 1);
    REFUSED(flags, 2);
    REFUSED(flags, KEEPER_START_INLINE);
}

static void test_every_length(void **state)
{
    (void)state;
    const struct {
        uint32_t op;
        size_t size;
        int nfds;
    } requests[] = {
        {KEEPER_HELLO, sizeof(struct keeper_hello), 0},
        {KEEPER_START, sizeof(struct keeper_start), 4},
        {KEEPER_SIGNAL, sizeof(struct keeper_signal), 0},
        {KEEPER_BYE, sizeof(struct keeper_bye), 0},
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        union keeper_message m = start_message();
        m.head.op = requests[i].op;
        if (m.head.op == KEEPER_SIGNAL) {
            m.signal.signal = 15;
            m.signal.scope = KEEPER_SCOPE_TREE;
        }
        if (m.head.op == KEEPER_BYE)
            m.bye.settled = m.bye.zero = 0;
        for (size_t len = 0; len <= sizeof(m); len++)
            assert_int_equal(keeper_request_is_valid(&m, len, requests[i].nfds),
                             len == requests[i].size);
        assert_false(keeper_request_is_valid(&m, requests[i].size, 5));
    }
}

/* A launch block in the message: its size and one descriptor less. */
static void test_inline(void **state)
{
    (void)state;
    union keeper_message m = start_message();
    m.start.flags = KEEPER_START_INLINE;
    for (size_t len = 0; len <= sizeof(m); len++)
        assert_int_equal(keeper_request_is_valid(&m, len, 3),
                         len == sizeof(m.start) + 100);
    assert_false(keeper_request_is_valid(&m, sizeof(m.start) + 100, 4));
    m.start.launch_size = UINT64_MAX - sizeof(m.start) + 1;
    assert_false(keeper_request_is_valid(&m, 0, 3));
    m.start.launch_size = UINT64_MAX;
    assert_false(keeper_request_is_valid(&m, sizeof(m.start) - 1, 3));
    m.start.launch_size = KEEPER_INLINE_MAX;
    assert_true(keeper_request_is_valid(&m, sizeof(m), 3));
}

static void test_signal_fields(void **state)
{
    (void)state;
    union keeper_message m = start_message();
    m.head.op = KEEPER_SIGNAL;
    for (uint32_t sig = 0; sig < 100; sig++) {
        m.signal.signal = sig;
        m.signal.scope = KEEPER_SCOPE_MAIN;
        assert_int_equal(keeper_request_is_valid(&m, sizeof(m.signal), 0),
                         sig >= 1 && sig <= 64);
    }
    m.signal.signal = 9;
    for (uint32_t scope = 0; scope < 100; scope++) {
        m.signal.scope = scope;
        assert_int_equal(keeper_request_is_valid(&m, sizeof(m.signal), 0),
                         scope <= (KEEPER_SCOPE_MAIN | KEEPER_SCOPE_WAKE));
        m.signal.signal = SIGSTOP;
        assert_int_equal(keeper_request_is_valid(&m, sizeof(m.signal), 0),
                         scope <= KEEPER_SCOPE_FREEZE);
        m.signal.signal = 9;
    }
    m.signal.scope = 0;
    assert_true(keeper_request_is_valid(&m, sizeof(m.signal), 1));
    assert_false(keeper_request_is_valid(&m, sizeof(m.signal), 2));
    m.signal.key.attempt = 0;
    assert_false(keeper_request_is_valid(&m, sizeof(m.signal), 1));
}

static void test_bye_fields(void **state)
{
    (void)state;
    union keeper_message m = {.bye = {.head = {KEEPER_MAGIC, KEEPER_BYE, 1}}};
    for (m.bye.settled = 0; m.bye.settled < 3; m.bye.settled++)
        assert_int_equal(keeper_request_is_valid(&m, sizeof(m.bye), 0),
                         m.bye.settled < 2);
    m.bye.settled = 0;
    m.bye.zero = 1;
    assert_false(keeper_request_is_valid(&m, sizeof(m.bye), 0));
}

static void test_answers(void **state)
{
    (void)state;
    union keeper_message m;
    memset(&m, 0, sizeof(m));
    m.reply =
        (struct keeper_reply){.head = {KEEPER_MAGIC, KEEPER_REPLY, 5}, .status = -17};
    for (size_t len = 0; len <= sizeof(m); len++)
        assert_int_equal(keeper_answer_is_valid(&m, len, 0), len == sizeof(m.reply));
    assert_false(keeper_answer_is_valid(&m, sizeof(m.reply), 1));
    static const int32_t wrong[] = {1, -4096, INT32_MIN, -ECONNRESET, -ECANCELED};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        m.reply.status = wrong[i];
        assert_false(keeper_answer_is_valid(&m, sizeof(m.reply), 0));
    }
    m.reply.status = -4095;
    assert_true(keeper_answer_is_valid(&m, sizeof(m.reply), 0));
    m.head.op = KEEPER_START;
    assert_false(keeper_answer_is_valid(&m, sizeof(m.start), 0));
}

static uint8_t *encode(const struct launch *l, size_t *ret_size)
{
    long size = launch_encode(l, NULL, 0);
    assert_true(size > 0);
    uint8_t *buf = malloc((size_t)size);
    assert_int_equal(launch_encode(l, buf, (size_t)size), size);
    *ret_size = (size_t)size;
    return buf;
}

static void test_launch_round_trip(void **state)
{
    (void)state;
    size_t size;
    struct launch l;
    uint8_t *buf = encode(&sample, &size);
    assert_int_equal(launch_decode(buf, size, &l), 0);
    assert_string_equal(l.cwd, "/tmp");
    assert_string_equal(l.stdout_path, "out");
    assert_null(l.stdin_path);
    assert_null(l.stderr_path);
    assert_false(l.truncate);
    assert_int_equal(l.argc, 3);
    assert_int_equal(l.envc, 2);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(l.argv[i], argv[i]);
    assert_null(l.argv[3]);
    assert_string_equal(l.env[0], "A=1");
    assert_string_equal(l.env[1], "EMPTY=");
    assert_null(l.env[2]);
    assert_int_equal(l.nrlimits, 2);
    assert_memory_equal(l.rlimits, limits, sizeof(limits));
    free(buf);
}

/* There is room for the variables of the account. */
static void test_launch_account(void **state)
{
    char *const all[] = {(char[]){"HOME=/"}, (char[]){"LOGNAME=a"},
                         (char[]){"USER=a"}, (char[]){"SHELL=/bin/b"},
                         (char[]){"LANG=c"}, NULL};
    struct launch l = sample;
    size_t size;
    (void)state;
    l.adds_account = true;
    uint8_t *buf = encode(&l, &size);
    account_init(all, 1);
    assert_int_equal(launch_decode(buf, size, &l), 0);
    assert_true(l.adds_account);
    account_add(&l);
    assert_int_equal(l.envc, 2 + LAUNCH_ACCOUNT_MAX);
    assert_string_equal(l.env[0], "HOME=/");
    assert_string_equal(l.env[LAUNCH_ACCOUNT_MAX], "A=1");
    assert_string_equal(l.env[LAUNCH_ACCOUNT_MAX + 1], "EMPTY=");
    assert_null(l.env[l.envc]);
    assert_string_equal(l.cwd, "/tmp"); /* the first string is whole */
    free(buf);
}

/* The place of a script's path is behind the program, and one of its words. */
static void test_launch_script(void **state)
{
    (void)state;
    struct launch l = sample, ret;
    struct launch_head head;
    size_t size;
    for (l.script_at = 0; l.script_at <= LAUNCH_SCRIPT_MAX; l.script_at++) {
        uint8_t *buf = encode(&l, &size);
        assert_int_equal(launch_decode(buf, size, &ret), 0);
        assert_int_equal(ret.script_at, l.script_at);
        memcpy(&head, buf, sizeof(head));
        for (head.argc = 1; head.argc <= l.script_at; head.argc++) {
            memcpy(buf, &head, sizeof(head));
            assert_int_equal(launch_decode(buf, size, &ret), -EBADMSG);
        }
        free(buf);
    }
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);
    l.script_at = 1;
    l.argc = 1;
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);
}

static void test_launch_each_truncation(void **state)
{
    (void)state;
    size_t size;
    uint8_t *buf = encode(&sample, &size);
    struct launch l;
    for (size_t len = 0; len < size; len++) {
        uint8_t *copy = malloc(len + (len == 0));
        memcpy(copy, buf, len);
        assert_int_equal(launch_decode(copy, len, &l), -EBADMSG);
        if (len >= 16) { /* also when the block claims to be that short */
            uint64_t claim = len;
            memcpy(copy, buf, len);
            memcpy(copy + 8, &claim, sizeof(claim));
            assert_int_equal(launch_decode(copy, len, &l), -EBADMSG);
        }
        free(copy);
    }
    /* nor may anything follow, even if the block says it belongs to it */
    uint64_t claim = size + 1;
    uint8_t *longer = calloc(1, claim);
    memcpy(longer, buf, size);
    memcpy(longer + 8, &claim, sizeof(claim));
    assert_int_equal(launch_decode(longer, claim, &l), -EBADMSG);
    free(longer);
    free(buf);
}

/* Heads that no encoder writes: no program, an empty one, more than there may be. */
static void test_launch_head(void **state)
{
    (void)state;
    char *one[] = {(char[]){"a"}, NULL}, *none[] = {NULL};
    const struct launch l = {.argv = one, .argc = 1, .env = none};
    struct launch_head head;
    struct launch ret;
    size_t size;
    uint8_t *buf = encode(&l, &size);
    memcpy(&head, buf, sizeof(head));
    assert_int_equal(launch_decode(buf, KEEPER_LAUNCH_MAX + 1, &ret), -EBADMSG);
    head.argc = 0;
    memcpy(buf, &head, sizeof(head));
    assert_int_equal(launch_decode(buf, size, &ret), -EBADMSG);
    head.argc = 1;
    head.size = --size;
    memcpy(buf, &head, sizeof(head));
    buf[size - 1] = '\0';
    assert_int_equal(launch_decode(buf, size, &ret), -EBADMSG);
    free(buf);
}

/* Of a resource that there is, and the soft limit not above the hard one. */
static void test_launch_limits(void **state)
{
    (void)state;
    static const struct launch_rlimit bad[] = {
        {LAUNCH_RLIMITS_MAX, 0, 0, 0}, {UINT32_MAX, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 2, 1}};
    struct launch l = sample, ret;
    size_t size;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        l.rlimits = &bad[i];
        l.nrlimits = 1;
        uint8_t *buf = encode(&l, &size);
        assert_int_equal(launch_decode(buf, size, &ret), -EBADMSG);
        free(buf);
    }
    struct launch_rlimit many[LAUNCH_RLIMITS_MAX + 1] = {{0}};
    l.rlimits = many;
    l.nrlimits = LAUNCH_RLIMITS_MAX + 1;
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);
    l.nrlimits--;
    uint8_t *buf = encode(&l, &size);
    assert_int_equal(launch_decode(buf, size, &ret), 0);
    free(buf);
}

/* Whatever the bytes are: refused, or strings that lie inside the block. */
static void test_launch_each_flipped_bit(void **state)
{
    (void)state;
    size_t size;
    uint8_t *buf = encode(&sample, &size), *copy = malloc(size);
    for (size_t bit = 0; bit < size * 8; bit++) {
        struct launch l;
        memcpy(copy, buf, size);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int r = launch_decode(copy, size, &l);
        if (bit == offsetof(struct launch_head, flags) * 8)
            assert_true(r == 0 && l.truncate && l.script_at == 0);
        else if (bit == offsetof(struct launch_head, flags) * 8 + 2 ||
                 bit == offsetof(struct launch_head, flags) * 8 + 3)
            assert_true(r == 0 && (l.script_at == 1 || l.script_at == 2));
        else if (bit < sizeof(struct launch_head) * 8)
            assert_int_equal(r, -EBADMSG); /* the head: any other change is seen */
        if (r == 0) {
            assert_true(l.argc >= 1 && l.argv[l.argc] == NULL && l.env[l.envc] == NULL);
            for (size_t i = 0; i < l.envc; i++)
                assert_non_null(strchr(l.env[i], '='));
        }
    }
    free(copy);
    free(buf);
}

static void test_launch_refuses(void **state)
{
    (void)state;
    char *no_name[] = {(char[]){"=x"}, NULL}, *no_value[] = {(char[]){"HOME"}, NULL};
    char *empty[] = {(char[]){""}, NULL};
    struct launch l = sample;
    l.env = no_name;
    l.envc = 1;
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);
    l.env = no_value;
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);
    l = sample;
    l.argc = 0;
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);
    l.argv = empty;
    l.argc = 1;
    assert_int_equal(launch_encode(&l, NULL, 0), -EINVAL);

    char *big = malloc(KEEPER_LAUNCH_MAX);
    memset(big, 'x', KEEPER_LAUNCH_MAX - 1);
    big[KEEPER_LAUNCH_MAX - 1] = '\0';
    char *big_argv[] = {big, NULL};
    l.argv = big_argv;
    assert_int_equal(launch_encode(&l, NULL, 0), -E2BIG);
    free(big);
}

static void test_launch_memfd(void **state)
{
    (void)state;
    uint64_t size;
    struct launch l;
    int fd = launch_memfd(&sample, &size);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 1), -1);
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(launch_decode(map, size, &l), 0);
    assert_string_equal(l.argv[0], "sh");
    munmap(map, size);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_fields),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_signal_fields),
        cmocka_unit_test(test_bye_fields),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_launch_round_trip),
        cmocka_unit_test(test_launch_head),
        cmocka_unit_test(test_launch_limits),
        cmocka_unit_test(test_launch_script),
        cmocka_unit_test(test_launch_account),
        cmocka_unit_test(test_launch_each_truncation),
        cmocka_unit_test(test_launch_each_flipped_bit),
        cmocka_unit_test(test_launch_refuses),
        cmocka_unit_test(test_launch_memfd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
