/* mark KEY USEC CODE: a job that notes "ran KEY" (of an element "ran KEY.INDEX") at the moment
 * when it begins, takes USEC, prints KEY and exits with CODE.
 *
 * It notes that in the ledger beside the socket of its voltd. This is a file to which it
 * appends, or the disk itself, which ends with a block for such notes behind the file system:
 * who logs the writes of that disk has the notes among them, in their order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512
#define BLOCK  4096

int main(int argc, char **argv)
{
    static _Alignas(BLOCK) char note[SECTOR];
    const char *index = getenv("VOLT_ARRAY_INDEX"), *address = getenv("VOLT_ADDRESS");
    if (argc != 4 || !address || strncmp(address, "unix:", 5) != 0)
        return 99;
    char *path = strdup(address + 5), ledger[4096];
    snprintf(ledger, sizeof(ledger), "%s/ledger", dirname(path));
    int len = snprintf(note, SECTOR, "ran %s%s%s\n", argv[1], index ? "." : "",
                       index ? index : "");
    struct stat st;
    if (stat(ledger, &st) != 0)
        return 98;
    ssize_t n;
    if (S_ISBLK(st.st_mode)) {
        int fd = open(ledger, O_WRONLY | O_DIRECT);
        n = pwrite(fd, note, SECTOR, lseek(fd, 0, SEEK_END) - BLOCK) == SECTOR ? len : -1;
    } else {
        n = write(open(ledger, O_WRONLY | O_APPEND), note, (size_t)len);
    }
    if (n != len)
        return 97;
    usleep((useconds_t)atol(argv[2]));
    puts(argv[1]);
    return atoi(argv[3]);
}
