/* record-end FILE CODE: writes into a record that its job has ended with that exit code, as its
 * shim would, says so, and keeps the record open until standard input ends. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "daemon/keeper/record.h"

int main(int argc, char **argv)
{
    struct record_header header;
    struct record_exited end = {.end = RECORD_END_EXIT};
    char byte;

    if (argc != 3)
        return 2;
    end.status = atoi(argv[2]);
    int fd = open(argv[1], O_RDWR | O_CLOEXEC);
    if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        record_write_exited(fd, header.crc, &end) < 0)
        return 1;
    if (puts("written") < 0 || fflush(stdout) != 0)
        return 1;
    return read(STDIN_FILENO, &byte, 1) != 0;
}
