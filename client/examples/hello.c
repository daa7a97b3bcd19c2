/* Submits a job from C, waits for it, and prints its output.
 *
 *   cc -o hello hello.c $(pkg-config --cflags --libs voltclient) */
#include <stdio.h>
#include <unistd.h>
#include <volt/client.h>

int main(void)
{
    struct volt_client *c = NULL;
    struct volt_error err;
    char id[VOLT_CLIENT_ID_SIZE], text[256];
    int code, fd = -1;

    if (volt_client_open(NULL, &c, &err) == 0 &&
        volt_client_submit(c, "{\"shell\": \"echo hello; exit 7\"}", id, &err) == 0 &&
        volt_client_wait(c, id, &code, &err) == 0)
        fd = volt_client_logs(c, id, VOLT_CLIENT_STDOUT, &err);
    volt_client_close(c);
    if (fd < 0) {
        fprintf(stderr, "hello: %s\n", err.text);
        return 1;
    }
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    printf("job %s ended with %d and said: %.*s", id, code, n > 0 ? (int)n : 0, text);
    return 0;
}
