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
const RIVALS: usize = 2;
const SECTIONS: usize = 20_000;
const SECTION_NS: u64 = 1000;
const PERMITS: usize = 10;
const WRITES: usize = 10;
const MESSAGES: usize = 1_000_000;
const ROOM: usize = 1024;

/// So many tasks of `body`, each for so many times.
fn run<T, F>(tasks: usize, times: usize, lock: Arc<T>, body: fn(Arc<T>, usize) -> F) -> Figures
where
    T: Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let rt = rt();
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

/// Of tasks that count what they do under the mutex.
fn on_mutex<F>(tasks: usize, times: usize, body: fn(Arc<Mutex<u64>>, usize) -> F) -> Figures
where
    F: Future<Output = ()> + Send + 'static,
{
    let lock = Arc::new(Mutex::new(0));
    let result = run(tasks, times, lock.clone(), body);
    assert_eq!(*lock.blocking_lock(), (tasks * times) as u64);
    result
}

/// The same, of those that write each tenth time.
fn on_rwlock<F>(times: usize, body: fn(Arc<RwLock<u64>>, usize) -> F) -> Figures
where
    F: Future<Output = ()> + Send + 'static,
{
    let lock = Arc::new(RwLock::new(0));
    let result = run(TASKS, times, lock.clone(), body);
    assert_eq!(*lock.blocking_read(), (TASKS * times / WRITES) as u64);
    result
}

async fn mutex(lock: Arc<Mutex<u64>>, times: usize) {
    for _ in 0..times {
        *lock.lock().await += 1;
    }
}

async fn mutex_turns(lock: Arc<Mutex<u64>>, times: usize) {
    for _ in 0..times {
        *lock.lock().await += 1;
        yield_now().await;
    }
}

async fn mutex_rival(lock: Arc<Mutex<u64>>, times: usize) {
    for _ in 0..times {
        let mut inside = lock.lock().await;
        *inside += 1;
        burn(SECTION_NS);
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

async fn use_mixed(lock: &RwLock<u64>, i: usize) {
    if i % WRITES == 0 {
        *lock.write().await += 1;
    } else {
        let _inside = lock.read().await;
    }
}

async fn mixed(lock: Arc<RwLock<u64>>, times: usize) {
    for i in 0..times {
        use_mixed(&lock, i).await;
    }
}

async fn mixed_turns(lock: Arc<RwLock<u64>>, times: usize) {
    for i in 0..times {
        use_mixed(&lock, i).await;
        yield_now().await;
    }
}

fn messages(producers: usize) -> Figures {
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

fn permits() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(PERMITS))
}

pub const ALL: &[Workload] = &[
    time("mutex_uncontended", || on_mutex(1, ALONE, mutex)),
    time("rwlock_read_uncontended", || run(1, ALONE, Arc::new(RwLock::new(0)), read)),
    time("semaphore_uncontended", || run(1, ALONE, permits(), semaphore)),
    time("mutex_contended", || on_mutex(TASKS, TIMES, mutex)),
    time("mutex_turns", || on_mutex(TASKS, HANDOFFS, mutex_turns)),
    time("mutex_handoff", || on_mutex(TASKS, HANDOFFS, mutex_keep)),
    time("mutex_1us", || on_mutex(RIVALS, SECTIONS, mutex_rival)),
    time("semaphore_contended", || run(TASKS, TIMES, permits(), semaphore)),
    time("semaphore_handoff", || run(TASKS, HANDOFFS, permits(), semaphore_keep)),
    time("rwlock_mixed", || on_rwlock(TIMES, mixed)),
    time("rwlock_turns", || on_rwlock(HANDOFFS, mixed_turns)),
    time("mpsc_1", || messages(1)),
    time("mpsc_4", || messages(4)),
];
