/* mark KEY USEC CODE: a job that notes "ran KEY" (of an element "ran KEY.INDEX") at the moment
 * when it begins, takes USEC, prints KEY and exits with CODE.
 *
 * The file "ledger" beside the socket of its voltd is the disk that has its state. That ends
 * with a block for such notes, behind the file system: who logs the writes of the disk has
 * the notes among them, in their order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512
#define BLOCK  4096

int main(int argc, char **argv)
{
    static _Alignas(BLOCK) char note[SECTOR];
    const char *index = getenv("VOLT_ARRAY_INDEX"), *address = getenv("VOLT_ADDRESS");
    char path[4096];

    if (argc != 4 || !address || strncmp(address, "unix:", 5) != 0)
        return 99;
    char *socket = strdup(address + 5);
    snprintf(path, sizeof(path), "%s/ledger", dirname(socket));
    snprintf(note, SECTOR, "ran %s%s%s\n", argv[1], index ? "." : "", index ? index : "");
    int ledger = open(path, O_WRONLY | O_DIRECT);
    if (pwrite(ledger, note, SECTOR, lseek(ledger, 0, SEEK_END) - BLOCK) != SECTOR)
        return 98;
    usleep((useconds_t)atol(argv[2]));
    puts(argv[1]);
    return atoi(argv[3]);
}
