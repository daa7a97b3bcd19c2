/* Writes the slots of exit records; reads the ids of boot and record directory:
 * record.h. */
#include "daemon/keeper/record.h"
#include "base/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define GENERATION "generation"

static int write_exactly(int fd, const void *buf, size_t len, off_t at)
{
    ssize_t n = pwrite(fd, buf, len, at);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

int record_write_started(int fd, uint32_t seed, struct record_started *s)
{
    s->crc = crc32c(seed + 1, s, offsetof(struct record_started, crc));
    return write_exactly(fd, s, sizeof(*s), RECORD_STARTED_AT);
}

int record_write_exited(int fd, uint32_t seed, struct record_exited *s)
{
    s->crc = crc32c(seed + 2, s, offsetof(struct record_exited, crc));
    return write_exactly(fd, s, sizeof(*s), RECORD_EXITED_AT);
}

/* Parses 32 hexadecimal digits; ignores dashes between them. */
static int parse_id(const char *text, size_t len, uint8_t ret[RECORD_ID_SIZE])
{
    static const char hex[16] = "0123456789abcdef";
    uint8_t id[RECORD_ID_SIZE] = {0};
    size_t digits = 0;
    for (size_t i = 0; i < len && text[i] != '\n'; i++) {
        const char *digit = memchr(hex, text[i], sizeof(hex));
        if (text[i] == '-')
            continue;
        if (digit == NULL || digits == 2 * sizeof(id))
            return -EBADMSG;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | (digit - hex));
        digits++;
    }
    if (digits != 2 * sizeof(id))
        return -EBADMSG;
    memcpy(ret, id, sizeof(id));
    return 0;
}

static int read_id(int dir_fd, const char *path, uint8_t ret[RECORD_ID_SIZE])
{
    char text[64];
    int fd = file_open_regular(dir_fd, path, O_RDONLY | O_NOFOLLOW, 0, NULL);
    if (fd < 0)
        return fd;
    ssize_t n = TEMP_FAILURE_RETRY(read(fd, text, sizeof(text)));
    int r = n < 0 ? -errno : parse_id(text, (size_t)n, ret);
    (void)close(fd);
    return r;
}

int record_boot_id(uint8_t ret[RECORD_ID_SIZE])
{
    return read_id(AT_FDCWD, "/proc/sys/kernel/random/boot_id", ret);
}

int record_generation_read(int dir_fd, uint8_t ret[RECORD_ID_SIZE])
{
    return read_id(dir_fd, GENERATION, ret);
}
