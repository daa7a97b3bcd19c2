/* A configuration file of any content: an error that says where, or values that can be
 * written down and read again. */
#include "daemon/config/config.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int load(const void *bytes, size_t size, struct config *ret)
{
    struct volt_error err = {.text = ""};
    char path[64];
    int fd = memfd_create("config", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = config_load(path, true, ret, NULL, &err);
    FUZZ_CHECK(r == 0 || err.text[0] != '\0');
    (void)close(fd);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config, twin;
    struct config_item item;
    char *text;
    size_t len;

    if (load(data, size, &config) < 0)
        return 0;
    FILE *out = open_memstream(&text, &len);
    FUZZ_CHECK(out);
    for (size_t i = 0; config_item(&config, i, &item) == 0; i++)
        (void)fprintf(out, "[%s]\n%s=%s\n", item.section, item.name, item.text);
    FUZZ_CHECK(fclose(out) == 0);
    FUZZ_CHECK(load(text, len, &twin) == 0);
    FUZZ_CHECK(memcmp(&config, &twin, sizeof(config)) == 0);
    free(text);
    return 0;
}
