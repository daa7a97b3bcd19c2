/* Runs a fuzz target without libFuzzer: every file of a directory, then mutations of
 * them.
 *
 *     fuzz_X CORPUS FAILED [RUNS [SEED]]   mutations (20000, seed 1); an input that the
 *                                          target fails on is left in the file FAILED
 *     fuzz_X FILE                          one input, for a debugger
 *
 * The same seed gives the same inputs. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX  16384
#define INPUTS_MAX 256

struct input {
    uint8_t bytes[INPUT_MAX];
    size_t size;
};

static struct input *corpus[INPUTS_MAX];
static size_t ncorpus;
static struct input now;
static uint64_t chance;
static const char *failed_path = "/dev/null";

/* Only async-signal-safe calls: the target has just crashed or aborted. */
static void keep_input(int sig)
{
    int fd = open(failed_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t n = write(fd, now.bytes, now.size);

    (void)n;
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static uint32_t draw(uint32_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (uint32_t)((chance >> 32) * below >> 32);
}

static int load(const char *path)
{
    FILE *f = fopen(path, "re");
    struct input *in;

    if (!f || ncorpus == INPUTS_MAX)
        return -1;
    in = corpus[ncorpus++] = calloc(1, sizeof(*in));
    if (in)
        in->size = fread(in->bytes, 1, INPUT_MAX, f);
    (void)fclose(f);
    return in ? 0 : -1;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int load_all(const char *dir)
{
    struct dirent **names;
    int n = scandir(dir, &names, NULL, by_name), r = 0;

    if (n < 0)
        return errno == ENOTDIR ? load(dir) : -1;
    for (int i = 0; i < n; i++) {
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && load(path) < 0)
            r = -1;
        free(names[i]);
    }
    free(names);
    return r;
}

/* --- mutations ---------------------------------------------------------------------- */

static void insert(size_t at, const uint8_t *bytes, size_t n)
{
    if (n > INPUT_MAX - now.size)
        n = INPUT_MAX - now.size;
    memmove(now.bytes + at + n, now.bytes + at, now.size - at);
    memcpy(now.bytes + at, bytes, n);
    now.size += n;
}

static void erase(size_t at, size_t n)
{
    memmove(now.bytes + at, now.bytes + at + n, now.size - at - n);
    now.size -= n;
}

static void mutate(void)
{
    static const char tokens[] = "{}[]\",:\\\0-0199e.u=/\n#;sm%";
    const struct input *other = corpus[draw((uint32_t)ncorpus)];
    size_t at = draw((uint32_t)now.size + 1), rest = now.size - at;
    uint8_t c = (uint8_t)tokens[draw(sizeof(tokens))];

    switch (draw(7)) {
    case 0:
        if (rest)
            now.bytes[at] ^= (uint8_t)(1u << draw(8));
        break;
    case 1:
        if (rest)
            now.bytes[at] = (uint8_t)draw(256);
        break;
    case 2:
        insert(at, &c, 1);
        break;
    case 3:
        erase(at, rest ? draw((uint32_t)(rest < 64 ? rest : 64)) : 0);
        break;
    case 4: /* a piece of another input */
        if (other->size) {
            size_t from = draw((uint32_t)other->size);
            insert(at, other->bytes + from, draw((uint32_t)(other->size - from) + 1));
        }
        break;
    case 5: { /* a piece of itself, once more */
        static uint8_t piece[64];
        size_t n = rest < sizeof(piece) ? rest : sizeof(piece);
        memcpy(piece, now.bytes + at, n);
        insert(draw((uint32_t)now.size + 1), piece, n);
        break;
    }
    default:
        now.size = at; /* cut short */
    }
}

int main(int argc, char **argv)
{
    unsigned long runs = argc > 3 ? strtoul(argv[3], NULL, 10) : argc > 2 ? 20000 : 0;
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;

    if (argc < 2 || load_all(argv[1]) < 0 || ncorpus == 0) {
        (void)fprintf(stderr, "usage: %s CORPUS FAILED [RUNS [SEED]] | FILE\n", argv[0]);
        return 2;
    }
    if (argc > 2)
        failed_path = argv[2];
    (void)signal(SIGABRT, keep_input);
    (void)signal(SIGSEGV, keep_input);
    chance = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (size_t i = 0; i < ncorpus; i++) {
        now = *corpus[i];
        (void)LLVMFuzzerTestOneInput(now.bytes, now.size);
    }
    for (unsigned long i = 0; i < runs; i++) {
        now = *corpus[draw((uint32_t)ncorpus)];
        for (uint32_t n = draw(5) + 1; n > 0; n--)
            mutate();
        (void)LLVMFuzzerTestOneInput(now.bytes, now.size);
    }
    (void)printf("%zu inputs, %lu mutations, seed %llu\n", ncorpus, runs,
                 (unsigned long long)seed);
    for (size_t i = 0; i < ncorpus; i++)
        free(corpus[i]);
    return 0;
}
