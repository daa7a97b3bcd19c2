/* What a voltd built with -finstrument-functions does, for tests/tools/walk; preloaded.
 *
 * Each function that begins or ends and each pthread mutex that is locked is a record in the
 * file that VOLT_WALK names, while the file's first word says so. Each thread knows its calls
 * at any time: when recording begins, its first record is preceded by those it is in. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 512

/* The same in tests/tools/walk. */
enum kind { INSIDE = 1, ENTER, LEAVE, LOCK };

struct walk_record {
    uint64_t what; /* the function; LOCK: the mutex */
    uint64_t from; /* LOCK: where */
    uint32_t thread;
    uint32_t kind;
};

struct walk {
    uint32_t turn; /* odd: recording */
    uint32_t pad;
    uint64_t n; /* records, also those for which there was no room */
    struct walk_record records[];
};

static struct walk *walk;
static uint64_t capacity;

struct calls {
    uint32_t thread, turn, depth;
    uint64_t function[DEPTH];
};

static __thread struct calls calls __attribute__((tls_model("initial-exec")));

static void stop(void)
{
    walk = NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("VOLT_WALK");
    struct stat st;

    if (!path || strcmp(program_invocation_short_name, "voltd") != 0)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        abort();
    walk = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (walk == MAP_FAILED)
        abort();
    capacity = ((uint64_t)st.st_size - sizeof(*walk)) / sizeof(walk->records[0]);
    (void)close(fd);
    (void)pthread_atfork(NULL, NULL, stop); /* the keeper, until its exec */
}

static void put(enum kind kind, uint64_t what, uint64_t from)
{
    uint64_t i = __atomic_fetch_add(&walk->n, 1, __ATOMIC_RELAXED);

    if (i < capacity)
        walk->records[i] = (struct walk_record){what, from, calls.thread, kind};
}

static bool is_recording(void)
{
    if (!walk)
        return false;
    uint32_t turn = __atomic_load_n(&walk->turn, __ATOMIC_ACQUIRE);
    if (turn % 2 == 0)
        return false;
    if (!calls.thread)
        calls.thread = (uint32_t)gettid();
    if (calls.turn != turn) {
        calls.turn = turn;
        for (uint32_t i = 0; i < calls.depth && i < DEPTH; i++)
            put(INSIDE, calls.function[i], 0);
    }
    return true;
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (is_recording())
        put(ENTER, (uint64_t)function, 0);
    if (calls.depth++ < DEPTH)
        calls.function[calls.depth - 1] = (uint64_t)function;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    calls.depth -= calls.depth > 0;
    if (is_recording())
        put(LEAVE, (uint64_t)function, 0);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    if (is_recording())
        put(LOCK, (uint64_t)mutex, (uint64_t)__builtin_return_address(0));
    return real(mutex);
}
