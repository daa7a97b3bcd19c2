//! The harness of bench/harness.h once more: the same arguments, the same lines.
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub more_is_better: bool,
}

/// One for each metric of a workload; the rest is not looked at.
pub type Figures = [f64; 3];

pub const TIME: &[Metric] = &[Metric { name: "time", unit: "ns", more_is_better: false }];

pub struct Workload {
    pub name: &'static str,
    pub metrics: &'static [Metric],
    pub once: bool,
    pub run: fn() -> Figures,
}

/// A workload of one metric, in nanoseconds per operation.
pub const fn time(name: &'static str, run: fn() -> Figures) -> Workload {
    Workload { name, metrics: TIME, once: false, run }
}

static WORKERS: AtomicUsize = AtomicUsize::new(2);
static RUNTIMES: Mutex<Vec<(usize, &'static Runtime)>> = Mutex::new(Vec::new());

pub fn workers() -> usize {
    WORKERS.load(Relaxed)
}

/// The runtime with so many workers, made at its first use, never ended.
pub fn runtime(workers: usize) -> &'static Runtime {
    let mut all = RUNTIMES.lock().unwrap();
    if let Some((_, rt)) = all.iter().find(|(n, _)| *n == workers) {
        return rt;
    }
    let rt = Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
    let rt: &'static Runtime = Box::leak(Box::new(rt));
    all.push((workers, rt));
    rt
}

pub fn rt() -> &'static Runtime {
    runtime(workers())
}

pub fn per_op(start: Instant, operations: u64) -> Figures {
    [start.elapsed().as_nanos() as f64 / operations as f64, 0.0, 0.0]
}

pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[((q * values.len() as f64) as usize).min(values.len() - 1)]
}

/// Uses the processor for so many nanoseconds of wall time.
pub fn burn(ns: u64) {
    let end = Instant::now() + Duration::from_nanos(ns);
    while Instant::now() < end {}
}

/// Switches of threads so far, of this whole process: all, and those that the system forced.
pub fn switches() -> [f64; 2] {
    let (mut all, mut forced) = (0.0, 0.0);
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        for line in text.lines().filter(|line| line.contains("ctxt_switches")) {
            let n = line.split_whitespace().last().unwrap().parse::<f64>().unwrap();
            all += n;
            if line.starts_with("nonvoluntary") {
                forced += n;
            }
        }
    }
    [all, forced]
}

static GATE: Mutex<u32> = Mutex::new(0);
static OPENED: Condvar = Condvar::new();

pub fn gate_open() {
    *GATE.lock().unwrap() += 1;
    OPENED.notify_one();
}

/// False: nobody has opened it for so long that the answer is "never".
pub fn gate_comes() -> bool {
    let opened = GATE.lock().unwrap();
    let (mut opened, timeout) =
        OPENED.wait_timeout_while(opened, NEVER, |n| *n == 0).unwrap();
    if timeout.timed_out() {
        return false;
    }
    *opened -= 1;
    true
}
pub const NEVER: Duration = Duration::from_secs(3);

pub fn gate_wait() {
    let mut opened = OPENED.wait_while(GATE.lock().unwrap(), |n| *n == 0).unwrap();
    *opened -= 1;
}

#[repr(align(128))]
struct Count(AtomicUsize);
static LEFT: Count = Count(AtomicUsize::new(0));

/// Counts the tasks of a workload down; the last one opens the gate.
pub fn expect(n: usize) {
    LEFT.0.store(n, Release);
}

pub fn done() {
    if LEFT.0.fetch_sub(1, AcqRel) == 1 {
        gate_open();
    }
}

fn print(w: &Workload, m: &Metric, samples: &[f64]) {
    let mut sorted = samples.to_vec();
    let median = quantile(&mut sorted, 0.5);
    let list: Vec<String> = samples.iter().map(|x| x.to_string()).collect();
    println!(
        "{{\"workload\": \"{}\", \"metric\": \"{}\", \"unit\": \"{}\", \"who\": \"tokio\", \
         \"workers\": {}, \"median\": {}, \"min\": {}, \"max\": {}{}, \"samples\": [{}]}}",
        w.name, m.name, m.unit, workers(), median, sorted[0], sorted[sorted.len() - 1],
        if m.more_is_better { ", \"more_is_better\": true" } else { "" },
        list.join(", ")
    );
}

pub fn main(all: &[&[Workload]]) {
    let (mut runs, mut seconds, mut list, mut names) = (7, f64::INFINITY, false, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => list = true,
            "--runs" => runs = args.next().unwrap().parse().unwrap(),
            "--seconds" => seconds = args.next().unwrap().parse().unwrap(),
            "--workers" => WORKERS.store(args.next().unwrap().parse().unwrap(), Relaxed),
            _ => names.push(arg),
        }
    }
    for w in all.iter().flat_map(|part| part.iter()) {
        if !names.is_empty() && !names.iter().any(|n| n == w.name) {
            continue;
        }
        if list {
            println!("{}", w.name);
            continue;
        }
        let start = Instant::now();
        if !w.once {
            (w.run)();
        }
        let mut results = vec![(w.run)()];
        while !w.once && results.len() < runs && start.elapsed().as_secs_f64() < seconds {
            results.push((w.run)());
        }
        for (i, m) in w.metrics.iter().enumerate() {
            let samples: Vec<f64> = results.iter().map(|r| r[i]).collect();
            print(w, m, &samples);
        }
    }
}
