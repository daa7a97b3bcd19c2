/* The job of the chaos suite: tells a ledger what the daemon must not invent.
 *
 *     ledger-job LEDGER KEY [USEC [GATE]]
 *
 * Appends START first and END last, each one write of 64 bytes with O_APPEND and a CRC
 * (ledger.py reads them), prints f(id) numbered lines and exits with f(id). USEC passes
 * between START and END; GATE is a FIFO that it waits to see opened for writing.
 * Static and without allocation, so that 2,000 at a time are cheap. */
#include <fcntl.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CODES  41u /* exit codes 0 to 40 */
#define BROKEN 99  /* an exit code that no job has: the ledger could not be written */

struct entry {
    char magic[4];
    uint32_t type; /* 1 START, 2 END */
    uint64_t key, id;
    int64_t index; /* -1: not an element of an array */
    uint32_t attempt;
    int32_t code; /* END: f(id); START: 1 when the shim is gone already */
    uint32_t pid, parent;
    uint64_t mono_ns;
    uint32_t zero, crc; /* CRC-32 as in zlib */
};
_Static_assert(sizeof(struct entry) == 64, "no padding");

static uint32_t crc32(const void *buf, size_t len)
{
    const uint8_t *p = buf;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void tell(const char *path, struct entry *e, uint32_t type)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    e->type = type;
    e->mono_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    e->crc = crc32(e, offsetof(struct entry, crc));
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, e, sizeof(*e)) != (ssize_t)sizeof(*e))
        _exit(BROKEN);
    (void)close(fd);
}

static uint32_t code_of(uint64_t id, int64_t index)
{
    uint32_t h = (uint32_t)id * 2654435761u + (uint32_t)(index + 1) * 40503u;
    return (h >> 8) % CODES;
}

/* Whether this process has been handed on by a shim that was killed. */
static bool is_adopted(void)
{
    char path[32], name[16] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, sizeof(name) - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    return n < 0 || strncmp(name, "volt-shim", 9) != 0;
}

static const char *need(const char *name)
{
    const char *value = getenv(name);
    if (value == NULL)
        _exit(BROKEN);
    return value;
}

/* Until there is nothing more to read, and nobody who holds a FIFO open to write to it. */
static bool wait_at(const char *gate)
{
    int fd = open(gate, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    char c;

    if (fd < 0)
        return false;
    do
        n = read(fd, &c, 1);
    while (n > 0);
    return n == 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return BROKEN;
    const char *job = need("VOLT_JOB_ID"), *element = strchr(job, '_');
    struct entry e = {
        .magic = "LEDG",
        .key = strtoull(argv[2], NULL, 10),
        .id = strtoull(job, NULL, 10),
        .index = element ? strtoll(element + 1, NULL, 10) : -1,
        .attempt = (uint32_t)strtoul(need("VOLT_ATTEMPT"), NULL, 10),
        .pid = (uint32_t)getpid(),
        .parent = (uint32_t)getppid(),
    };
    uint32_t code = code_of(e.id, e.index);
    unsigned long usec = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

    e.code = is_adopted();
    tell(argv[1], &e, 1);
    for (uint32_t n = 1; n <= code; n++) {
        char line[64];
        int len = snprintf(line, sizeof(line), "%s %u %u\n", job, e.attempt, n);
        if (write(STDOUT_FILENO, line, (size_t)len) != len)
            return BROKEN;
        if (n == (code + 1) / 2 && usec)
            (void)usleep((useconds_t)usec / 2);
    }
    if (argc > 4 && !wait_at(argv[4]))
        return BROKEN;
    if (usec)
        (void)usleep((useconds_t)usec / 2);
    e.code = (int32_t)code;
    tell(argv[1], &e, 2);
    return (int)code;
}
