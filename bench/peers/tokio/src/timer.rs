//! As bench_time.c.
use crate::harness::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{sleep, sleep_until, Sleep};

const CANCELS: usize = 1_000_000;
const CROWD: usize = 100_000;
const CALM: usize = 10_000;

/// Polls a timer once, so that it is armed.
struct Arm<'a>(Pin<&'a mut Sleep>);

impl Future for Arm<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        assert!(self.0.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    }
}

fn timer_cancel() -> [f64; 2] {
    expect(1);
    let start = Instant::now();
    rt().spawn(async {
        for i in 1..=CANCELS {
            let timer = sleep(Duration::from_secs(60));
            tokio::pin!(timer);
            Arm(timer.as_mut()).await;
            if i % 128 == 0 {
                tokio::task::yield_now().await;
            }
        }
        done();
    });
    gate_wait();
    per_op(start, CANCELS as u64)
}

/// Milliseconds that n sleepers were late, whose moments are spread over `span`, in no order.
fn sleepers(n: usize, from: Duration, span: Duration) -> Vec<f64> {
    let rt = rt();
    let late: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
    let late: &'static [AtomicU64] = late.leak();
    let begin = Instant::now() + from;
    expect(n);
    for (i, late) in late.iter().enumerate() {
        let at = begin + span * (i * 7919 % n) as u32 / n as u32;
        rt.spawn(async move {
            sleep_until(at.into()).await;
            late.store(at.elapsed().as_nanos() as u64, Relaxed);
            done();
        });
    }
    gate_wait();
    late.iter().map(|ns| ns.load(Relaxed) as f64 / 1e6).collect()
}

fn cpu_ms() -> f64 {
    let mut ns = 0.0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path().join("schedstat");
        let text = std::fs::read_to_string(path).unwrap();
        ns += text.split(' ').next().unwrap().parse::<f64>().unwrap();
    }
    ns / 1e6
}

fn timers_100k() -> [f64; 2] {
    let cpu = cpu_ms();
    let mut late = sleepers(CROWD, Duration::ZERO, Duration::from_millis(50));
    [cpu_ms() - cpu, quantile(&mut late, 0.5)]
}

fn timers_10k() -> [f64; 2] {
    let mut late = sleepers(CALM, Duration::from_millis(100), Duration::from_millis(400));
    [quantile(&mut late, 0.5), quantile(&mut late, 0.99)]
}

const fn ms(name: &'static str) -> Metric {
    Metric { name, unit: "ms", more_is_better: false }
}

pub const ALL: &[Workload] = &[
    time("timer_cancel", timer_cancel),
    Workload {
        name: "timers_100k",
        metrics: &[ms("cpu"), ms("late_p50")],
        once: false,
        run: timers_100k,
    },
    Workload {
        name: "timers_10k",
        metrics: &[ms("late_p50"), ms("late_p99")],
        once: false,
        run: timers_10k,
    },
];
