/* The clients of the echo workloads: TCP over loopback, one thread that is no worker asks
 * over all connections. No harness and no runtime: programs in other languages link
 * this. */
#ifndef BENCH_ECHO_H
#define BENCH_ECHO_H

enum { ECHO_BYTES = 64, ECHO_CONNECTIONS = 64 /* most */ };

/* n connections. Reads of the server's ends do not block; those are the caller's. */
void echo_connect(int *ret_client, int *ret_server, int n);
/* Writes to every connection, then reads from every one and compares, until `count`, a
 * multiple of n, were answered. */
void echo_ask(const int *client, int n, int count);
void echo_hang_up(const int *client, int n);

#endif
