/* See last_list.h. */
#include "client/last_list.h"
#include "client/id_range.h"
#include "wire/buffer.h"
#include "wire/user_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "17-20" with two numbers of 20 digits, and the newline. */
#define LINE_MAX_BYTES 64

/* Makes a directory, and at most `above` parents. Returns 0 if it is this user's; -1. So
 * root with another user's HOME leaves no files there. */
static int make_dir(char *dir, int above)
{
    struct stat st;
    if (stat(dir, &st) == 0)
        return S_ISDIR(st.st_mode) && st.st_uid == geteuid() ? 0 : -1;
    char *slash = strrchr(dir, '/');
    if (errno != ENOENT || above == 0 || slash == dir)
        return -1;
    *slash = '\0';
    int r = make_dir(dir, above - 1);
    *slash = '/';
    return r < 0 || (mkdir(dir, 0700) < 0 && errno != EEXIST) ? -1 : 0;
}

/* Writes the path of the file; make: makes its directories. Returns 0 or negative. */
static int file_path(bool make, char path[PATH_MAX])
{
    char dir[PATH_MAX - 8];
    int r = user_state_dir(user_home(), dir, sizeof(dir), NULL);
    if (r < 0)
        return r;
    if (make && make_dir(dir, 3) < 0) /* state, .local, the home */
        return -1;
    (void)snprintf(path, PATH_MAX, "%s/last", dir);
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Writes the ids as ranges, sorted and without duplicates, as a key may have made two
 * entries one job. */
static int put_ranges(struct wire_buf *to, uint64_t *ids, size_t n)
{
    int r = 0;
    qsort(ids, n, sizeof(*ids), compare);
    for (size_t i = 0; i < n && r == 0;) {
        char line[LINE_MAX_BYTES];
        uint64_t first = ids[i], last = first;
        while (++i < n && ids[i] <= last + 1)
            last = ids[i];
        int len = snprintf(line, sizeof(line), "%" PRIu64 "-%" PRIu64 "\n", first, last);
        r = wire_buf_append(to, line, (size_t)len);
    }
    return r;
}

/* Replaces the file in one step. */
static void write_file(const char *path, const struct wire_buf *text)
{
    char fresh[PATH_MAX + 16];
    (void)snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    const size_t len = wire_buf_len(text);
    bool whole = write(fd, wire_buf_at(text), len) == (ssize_t)len;
    (void)close(fd);
    if (!whole || rename(fresh, path) < 0)
        (void)unlink(fresh);
}

void last_list_note(const struct client *c, char *const *ids, size_t n)
{
    char path[PATH_MAX];
    uint64_t *numbers = calloc(n, sizeof(*numbers));
    for (size_t i = 0; numbers && i < n; i++)
        numbers[i] = strtoull(ids[i], NULL, 10);
    const char *socket = client_socket(c);
    struct wire_buf text = {0};
    mode_t mask = umask(077); /* new directories are this user's and writable */
    if (numbers && wire_buf_append(&text, socket, strlen(socket)) == 0 &&
        wire_buf_append(&text, "\n", 1) == 0 && put_ranges(&text, numbers, n) == 0 &&
        file_path(true, path) == 0)
        write_file(path, &text);
    (void)umask(mask);
    wire_buf_fini(&text);
    free(numbers);
}

/* Opens the file if it is this user's. */
static FILE *open_own(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool own =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    FILE *in = own ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !in)
        (void)close(fd);
    return in;
}

/* Reads the next line without its end. Returns false if there is no whole one. */
static bool next_line(FILE *in, char *line, size_t size)
{
    if (!fgets(line, (int)size, in))
        return false;
    size_t len = strcspn(line, "\n");
    bool whole = line[len] == '\n';
    line[len] = '\0';
    return whole;
}

/* Returns whether the last line of the file is a range that ends with the job
 * `newest`. */
static bool ends_with(FILE *in, const char *newest)
{
    char line[LINE_MAX_BYTES] = "";
    struct id_range range;
    while (next_line(in, line, sizeof(line)))
        ;
    return id_range_parse(line, &range) == 0 && !range.with_array &&
           range.last == strtoull(newest, NULL, 10);
}

int last_list_each(const struct client *c, const char *newest,
                   int (*add)(void *arg, const char *range), void *arg)
{
    char path[PATH_MAX], socket[ADDRESS_PATH_MAX + 2], line[LINE_MAX_BYTES];
    int r = 0;
    FILE *in = file_path(false, path) == 0 ? open_own(path) : NULL;
    if (!in)
        return 0;
    if (next_line(in, socket, sizeof(socket)) && strcmp(socket, client_socket(c)) == 0) {
        long ranges = ftell(in);
        r = ends_with(in, newest) && fseek(in, ranges, SEEK_SET) == 0;
        bool is_it = r;
        while (is_it && r >= 0 && next_line(in, line, sizeof(line)))
            r = add(arg, line) < 0 ? -1 : 1;
    }
    (void)fclose(in);
    return r;
}
