//! As bench_sync.c.
use crate::harness::*;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, Mutex, RwLock, Semaphore};
use tokio::task::yield_now;

const ALONE: usize = 1_000_000;
const TASKS: usize = 1000;
const TIMES: usize = 1000;
const HANDOFFS: usize = 200;
const PERMITS: usize = 10;
const WRITES: usize = 10;
const MESSAGES: usize = 1_000_000;
const ROOM: usize = 1024;

/// So many tasks of `body`, each for so many times.
fn run<T, F>(tasks: usize, times: usize, lock: T, body: fn(Arc<T>, usize) -> F) -> [f64; 2]
where
    T: Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let rt = rt();
    let lock = Arc::new(lock);
    expect(tasks);
    let start = Instant::now();
    for _ in 0..tasks {
        let work = body(lock.clone(), times);
        rt.spawn(async move {
            work.await;
            done();
        });
    }
    gate_wait();
    per_op(start, (tasks * times) as u64)
}

async fn mutex(lock: Arc<Mutex<u64>>, times: usize) {
    for _ in 0..times {
        *lock.lock().await += 1;
    }
}

async fn mutex_keep(lock: Arc<Mutex<u64>>, times: usize) {
    for _ in 0..times {
        let mut inside = lock.lock().await;
        *inside += 1;
        yield_now().await;
    }
}

async fn semaphore(lock: Arc<Semaphore>, times: usize) {
    for _ in 0..times {
        let _permit = lock.acquire().await.unwrap();
    }
}

async fn semaphore_keep(lock: Arc<Semaphore>, times: usize) {
    for _ in 0..times {
        let _permit = lock.acquire().await.unwrap();
        yield_now().await;
    }
}

async fn read(lock: Arc<RwLock<u64>>, times: usize) {
    for _ in 0..times {
        let _inside = lock.read().await;
    }
}

async fn mixed(lock: Arc<RwLock<u64>>, times: usize) {
    for i in 0..times {
        if i % WRITES == 0 {
            *lock.write().await += 1;
        } else {
            let _inside = lock.read().await;
        }
    }
}

fn messages(producers: usize) -> [f64; 2] {
    let rt = rt();
    let (to, mut from) = mpsc::channel::<usize>(ROOM);
    expect(1);
    let start = Instant::now();
    for _ in 0..producers {
        let to = to.clone();
        rt.spawn(async move {
            for i in 0..MESSAGES / producers {
                to.send(i).await.unwrap();
            }
        });
    }
    drop(to);
    rt.spawn(async move {
        while from.recv().await.is_some() {}
        done();
    });
    gate_wait();
    per_op(start, MESSAGES as u64)
}

pub const ALL: &[Workload] = &[
    time("mutex_uncontended", || run(1, ALONE, Mutex::new(0), mutex)),
    time("rwlock_read_uncontended", || run(1, ALONE, RwLock::new(0), read)),
    time("semaphore_uncontended", || run(1, ALONE, Semaphore::new(PERMITS), semaphore)),
    time("mutex_contended", || run(TASKS, TIMES, Mutex::new(0), mutex)),
    time("mutex_handoff", || run(TASKS, HANDOFFS, Mutex::new(0), mutex_keep)),
    time("semaphore_contended", || run(TASKS, TIMES, Semaphore::new(PERMITS), semaphore)),
    time("semaphore_handoff", || run(TASKS, HANDOFFS, Semaphore::new(PERMITS), semaphore_keep)),
    time("rwlock_mixed", || run(TASKS, TIMES, RwLock::new(0), mixed)),
    time("mpsc_1", || messages(1)),
    time("mpsc_4", || messages(4)),
];
