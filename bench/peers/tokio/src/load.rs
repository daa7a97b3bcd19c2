//! As bench_load.c. Fork, join and scope are the same here: tasks and their handles.
use crate::harness::*;
use std::future::Future;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinHandle, JoinSet};

const ECHOES: usize = 6400;
const ECHO_BYTES: usize = 64;
const SKEWED: usize = 20_000;
const SHORT_NS: u64 = 100;
const LONG_NS: u64 = 20_000;
const FORKED: usize = 10_000;
const FORKS: usize = 20;
const SET: usize = 1000;
const SETS: usize = 200;

/// Nanoseconds for each operation, and for each thousand both kinds of switches.
fn load(operations: usize, work: impl FnOnce()) -> Figures {
    let before = switches();
    let start = Instant::now();
    work();
    let ns = per_op(start, operations as u64)[0];
    let after = switches();
    let each = |i: usize| (after[i] - before[i]) * 1000.0 / operations as f64;
    [ns, each(0), each(1)]
}

/// n connections over loopback: the ends of the clients, and of the server.
fn connect(n: usize) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (0..n)
        .map(|_| {
            let client = TcpStream::connect(address).unwrap();
            let (server, _) = listener.accept().unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            server.set_nonblocking(true).unwrap();
            (client, server)
        })
        .unzip()
}

/// As echo_ask() of bench/echo.c.
fn ask(clients: &mut [TcpStream], count: usize) {
    let (mut question, mut answer) = ([0; ECHO_BYTES], [0; ECHO_BYTES]);
    for round in 0..(count / clients.len()) as u64 {
        question[..8].copy_from_slice(&round.to_ne_bytes());
        for client in clients.iter_mut() {
            client.write_all(&question).unwrap();
        }
        for client in clients.iter_mut() {
            client.read_exact(&mut answer).unwrap();
            assert_eq!(answer, question);
        }
    }
}

async fn answer(server: TcpStream) {
    let mut server = tokio::net::TcpStream::from_std(server).unwrap();
    let mut buf = [0; ECHO_BYTES];
    while let Ok(n @ 1..) = server.read(&mut buf).await {
        server.write_all(&buf[..n]).await.unwrap();
    }
    done();
}

fn echo(n: usize) -> Figures {
    let (mut clients, servers) = connect(n);
    expect(n);
    for server in servers {
        rt().spawn(answer(server));
    }
    ask(&mut clients, ECHOES / 10);
    let result = load(ECHOES, || ask(&mut clients, ECHOES));
    drop(clients);
    gate_wait();
    result
}

fn skew() -> Figures {
    expect(SKEWED);
    load(SKEWED, || {
        rt().spawn(async {
            for i in 0..SKEWED {
                let ns = if i % 10 == 0 { LONG_NS } else { SHORT_NS };
                tokio::spawn(async move {
                    burn(ns);
                    done();
                });
            }
        });
        gate_wait();
    })
}

/// The calls of its whole tree.
fn fib(n: usize) -> JoinHandle<usize> {
    tokio::spawn(async move {
        if n < 2 {
            return 1;
        }
        let children = [fib(n - 1), fib(n - 2)];
        let mut calls = 1;
        for child in children {
            calls += child.await.unwrap();
        }
        calls
    })
}

fn fork_join(n: usize, calls: usize) -> Figures {
    load(calls, || {
        assert_eq!(rt().block_on(async { fib(n).await.unwrap() }), calls);
    })
}

async fn forks() {
    let mut children = Vec::with_capacity(FORKED);
    for _ in 0..FORKS {
        children.extend((0..FORKED).map(|_| tokio::spawn(async {})));
        for child in children.drain(..) {
            child.await.unwrap();
        }
    }
    done();
}

async fn sets() {
    for _ in 0..SETS {
        let mut set = JoinSet::new();
        for i in 0..SET {
            set.spawn(async move { i });
        }
        let mut sum = 0;
        while let Some(i) = set.join_next().await {
            sum += i.unwrap();
        }
        assert_eq!(sum, SET * (SET - 1) / 2);
    }
    done();
}

fn parent(operations: usize, task: impl Future<Output = ()> + Send + 'static) -> Figures {
    expect(1);
    load(operations, || {
        rt().spawn(task);
        gate_wait();
    })
}

const METRICS: &[Metric] = &[
    Metric { name: "time", unit: "ns", more_is_better: false },
    Metric { name: "switches", unit: "/1000", more_is_better: false },
    Metric { name: "preempted", unit: "/1000", more_is_better: false },
];
const fn row(name: &'static str, run: fn() -> Figures) -> Workload {
    Workload { name, metrics: METRICS, once: false, run }
}

pub const ALL: &[Workload] = &[
    row("echo_1", || echo(1)),
    row("echo_4", || echo(4)),
    row("echo_64", || echo(64)),
    row("skew", skew),
    row("fork_join", || fork_join(24, 150_049)),
    row("fork_scope", || fork_join(28, 1_028_457)),
    row("fork_10k", || parent(FORKED * FORKS, forks())),
    row("join_set", || parent(SET * SETS, sets())),
];
