/* What comes to voltd-keeper, and back: messages are taken or refused, and a launch block
 * that is taken points nowhere but into itself and encodes to the same block again. The
 * first byte chooses between the three. */
#include "daemon/keeper/protocol.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

static void inside(const char *s, const void *buf, size_t len)
{
    if (s)
        FUZZ_CHECK(s >= (const char *)buf && s + strlen(s) < (const char *)buf + len);
}

static void launch(const uint8_t *data, size_t size)
{
    struct launch l;

    if (size == 0)
        return;
    void *buf = aligned_alloc(8, (size + 7) & ~(size_t)7), *twin = malloc(size);
    FUZZ_CHECK(buf && twin);
    memcpy(buf, data, size);
    int r = launch_decode(buf, size, &l);
    FUZZ_CHECK(r == 0 || r == -EBADMSG);
    if (r == 0) {
        FUZZ_CHECK(l.argc >= 1 && !l.argv[l.argc] && !l.env[l.envc]);
        inside(l.cwd, buf, size);
        inside(l.stdin_path, buf, size);
        inside(l.stdout_path, buf, size);
        inside(l.stderr_path, buf, size);
        for (size_t i = 0; i < l.argc; i++)
            inside(l.argv[i], buf, size);
        for (size_t i = 0; i < l.envc; i++) {
            inside(l.env[i], buf, size);
            FUZZ_CHECK(launch_is_assignment(l.env[i]));
        }
        FUZZ_CHECK(launch_encode(&l, twin, size) == (long)size);
    }
    free(twin);
    free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    union keeper_message *m;

    if (size == 0)
        return 0;
    uint8_t choice = data[0];
    data++;
    size--;
    if (choice % 3 == 0) {
        launch(data, size);
        return 0;
    }
    if (size > sizeof(*m))
        return 0;
    m = calloc(1, sizeof(*m));
    FUZZ_CHECK(m);
    memcpy(m, data, size);
    if (choice % 3 == 1 ? keeper_request_is_valid(m, size, choice / 3 % 6)
                        : keeper_answer_is_valid(m, size, choice / 3 % 2))
        FUZZ_CHECK(m->head.magic == KEEPER_MAGIC && m->head.op >= KEEPER_HELLO &&
                   m->head.op <= KEEPER_WELCOME);
    free(m);
    return 0;
}
