//! As bench_latency.c.
use crate::harness::*;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const WAKES: usize = 300;
const INJECTIONS: usize = 100;
const FEW: usize = 20; // are enough where they take
const LONG: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);
const POLL_NS: u64 = 1000;
const PIECES: usize = 20_000;
const PIECE_NS: u64 = 10_000;
const PARKED: usize = 200_000;

static STAMP: Mutex<Option<Instant>> = Mutex::new(None);
static STOP: AtomicBool = AtomicBool::new(false);

fn stamp() {
    let now = Instant::now();
    *STAMP.lock().unwrap() = Some(now);
    gate_open();
}

fn since_stamp_us(start: Instant) -> f64 {
    let stamp = STAMP.lock().unwrap().unwrap();
    stamp.duration_since(start).as_nanos() as f64 / 1000.0
}

fn quantiles(us: &mut [f64]) -> Figures {
    [quantile(us, 0.5), quantile(us, 0.99), 0.0]
}

fn wake() -> Figures {
    let bell = Arc::new(Notify::new());
    let heard = bell.clone();
    rt().spawn(async move {
        for _ in 0..WAKES {
            heard.notified().await;
            stamp();
        }
    });
    let mut us = Vec::new();
    for _ in 0..WAKES {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        bell.notify_one();
        gate_wait();
        us.push(since_stamp_us(start));
    }
    quantiles(&mut us)
}

async fn busy() {
    while !STOP.load(Relaxed) {
        burn(POLL_NS);
        tokio::task::yield_now().await;
    }
    done();
}

fn inject(live: usize) -> Figures {
    let rt = rt();
    STOP.store(false, Relaxed);
    expect(live);
    for _ in 0..live {
        rt.spawn(busy());
    }
    let mut us = Vec::new();
    let begin = Instant::now();
    while us.len() < FEW || us.len() < INJECTIONS && begin.elapsed() < LONG {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        rt.spawn(async { stamp() });
        if !gate_comes() {
            let never = NEVER.as_micros() as f64;
            STOP.store(true, Relaxed);
            gate_wait(); // the injected one, or the last of the others
            gate_wait();
            return [never, never, 0.0];
        }
        us.push(since_stamp_us(start));
    }
    STOP.store(true, Relaxed);
    gate_wait();
    quantiles(&mut us)
}

fn imbalance() -> Figures {
    expect(PIECES);
    let start = Instant::now();
    rt().spawn(async {
        for _ in 0..PIECES {
            tokio::spawn(async {
                burn(PIECE_NS);
                done();
            });
        }
    });
    gate_wait();
    let ns = start.elapsed().as_nanos() as f64;
    let processors = workers().min(std::thread::available_parallelism().unwrap().get());
    [PIECES as f64 * PIECE_NS as f64 / processors as f64 / ns, 0.0, 0.0]
}

/// Times on a processor, and nanoseconds on it, of all threads but the main one.
fn other_threads() -> (f64, f64) {
    let (mut switches, mut ns) = (0.0, 0.0);
    let main = std::process::id().to_string();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let task = task.unwrap();
        if task.file_name().to_str() == Some(&main) {
            continue;
        }
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap();
        let fields: Vec<f64> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
        ns += fields[0];
        switches += fields[2];
    }
    (switches, ns)
}

fn idle() -> Figures {
    expect(1);
    rt().spawn(async { done() });
    gate_wait();
    std::thread::sleep(Duration::from_millis(900));
    let before = other_threads();
    std::thread::sleep(Duration::from_secs(1));
    let after = other_threads();
    [after.0 - before.0, (after.1 - before.1) / 1000.0, 0.0]
}

fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

fn parked_task() -> Figures {
    let rt = rt();
    let spawn = |n| {
        expect(n);
        for _ in 0..n {
            rt.spawn(async {
                done();
                pending::<()>().await
            });
        }
        gate_wait();
    };
    spawn(1);
    let before = resident();
    spawn(PARKED);
    [(resident() - before) / PARKED as f64, 0.0, 0.0]
}

const fn unit(name: &'static str, unit: &'static str) -> Metric {
    Metric { name, unit, more_is_better: false }
}
const P50_P99: &[Metric] = &[unit("p50", "us"), unit("p99", "us")];
const USED: &[Metric] = &[Metric { name: "used", unit: "part", more_is_better: true }];

pub const ALL: &[Workload] = &[
    Workload { name: "wake", metrics: P50_P99, once: false, run: wake },
    Workload { name: "inject_64", metrics: P50_P99, once: false, run: || inject(64) },
    Workload { name: "inject_1024", metrics: P50_P99, once: false, run: || inject(1024) },
    Workload { name: "imbalance", metrics: USED, once: false, run: imbalance },
    Workload {
        name: "idle",
        metrics: &[unit("switches", "/s"), unit("cpu", "us/s")],
        once: true,
        run: idle,
    },
    Workload {
        name: "parked_task",
        metrics: &[unit("memory", "B")],
        once: true,
        run: parked_task,
    },
];
