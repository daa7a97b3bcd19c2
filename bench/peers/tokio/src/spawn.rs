//! As bench_spawn.c.
use crate::harness::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot, Notify};

const SPAWNS: usize = 1_000_000;
const WAVE: usize = 200;
const CHAINS: usize = 300;
const DEPTH: usize = 1000;
const YIELDERS: usize = 200;
const YIELDS: usize = 1000;
const PAIRS: usize = 1000;
const PAIR_TURNS: usize = 50;
const ROUNDS: usize = 100_000;

fn remote(workers: usize) -> Figures {
    let rt = runtime(workers);
    expect(SPAWNS);
    let start = Instant::now();
    for _ in 0..SPAWNS {
        rt.spawn(async { done() });
    }
    gate_wait();
    per_op(start, SPAWNS as u64)
}

fn local(workers: usize) -> Figures {
    let rt = runtime(workers);
    expect(SPAWNS);
    let start = Instant::now();
    rt.spawn(async {
        for _ in 0..SPAWNS {
            tokio::spawn(async { done() });
        }
    });
    gate_wait();
    per_op(start, SPAWNS as u64)
}

fn local_200() -> Figures {
    let rt = rt();
    let end = Arc::new(Notify::new());
    let left = Arc::new(AtomicUsize::new(0));
    expect(1);
    let start = Instant::now();
    rt.spawn(async move {
        for _ in 0..SPAWNS / WAVE {
            left.store(WAVE, Relaxed);
            for _ in 0..WAVE {
                let (left, end) = (left.clone(), end.clone());
                tokio::spawn(async move {
                    if left.fetch_sub(1, AcqRel) == 1 {
                        end.notify_one();
                    }
                });
            }
            end.notified().await;
        }
        done();
    });
    gate_wait();
    per_op(start, SPAWNS as u64)
}

fn link(left: usize) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move { chain(left - 1) })
}

fn chain(left: usize) {
    if left > 0 {
        tokio::spawn(link(left));
    } else {
        done();
    }
}

fn chained() -> Figures {
    let rt = rt();
    let start = Instant::now();
    for _ in 0..CHAINS {
        expect(1);
        rt.spawn(async { chain(DEPTH - 1) });
        gate_wait();
    }
    per_op(start, (CHAINS * DEPTH) as u64)
}

fn yield_many() -> Figures {
    let rt = rt();
    expect(YIELDERS);
    let start = Instant::now();
    for _ in 0..YIELDERS {
        rt.spawn(async {
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
            done();
        });
    }
    gate_wait();
    per_op(start, (YIELDERS * YIELDS) as u64)
}

fn ping_pong() -> Figures {
    let rt = rt();
    let start = Instant::now();
    for _ in 0..PAIR_TURNS {
        expect(PAIRS);
        rt.spawn(async {
            for _ in 0..PAIRS {
                tokio::spawn(async {
                    let (ball, catch) = oneshot::channel::<i32>();
                    let (answer, back) = oneshot::channel::<i32>();
                    tokio::spawn(async move {
                        let value = catch.await.unwrap();
                        answer.send(value).unwrap();
                    });
                    ball.send(1).unwrap();
                    back.await.unwrap();
                    done();
                });
            }
        });
        gate_wait();
    }
    per_op(start, (PAIR_TURNS * PAIRS) as u64)
}

fn one_pair() -> Figures {
    let rt = rt();
    let turn = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    expect(2);
    let start = Instant::now();
    for i in 0..2 {
        let (mine, other) = (turn[i].clone(), turn[1 - i].clone());
        rt.spawn(async move {
            for _ in 0..ROUNDS {
                mine.notified().await;
                other.notify_one();
            }
            done();
        });
    }
    turn[0].notify_one();
    gate_wait();
    per_op(start, ROUNDS as u64)
}

fn one_pair_channel() -> Figures {
    let rt = rt();
    let (to_a, mut at_a) = mpsc::channel::<i32>(1);
    let (to_b, mut at_b) = mpsc::channel::<i32>(1);
    expect(2);
    let start = Instant::now();
    rt.spawn(async move {
        for i in 0..ROUNDS {
            to_b.send(i as i32).await.unwrap();
            at_a.recv().await.unwrap();
        }
        done();
    });
    rt.spawn(async move {
        for _ in 0..ROUNDS {
            let value = at_b.recv().await.unwrap();
            to_a.send(value).await.unwrap();
        }
        done();
    });
    gate_wait();
    per_op(start, ROUNDS as u64)
}

pub const ALL: &[Workload] = &[
    time("spawn_remote", || remote(workers())),
    time("spawn_remote_1w", || remote(1)),
    time("spawn_remote_4w", || remote(4)),
    time("spawn_remote_8w", || remote(8)),
    time("spawn_local", || local(workers())),
    time("spawn_local_1w", || local(1)),
    time("spawn_local_200", local_200),
    time("chained_spawn", chained),
    time("yield_many", yield_many),
    time("ping_pong", ping_pong),
    time("one_pair", one_pair),
    time("one_pair_channel", one_pair_channel),
];
