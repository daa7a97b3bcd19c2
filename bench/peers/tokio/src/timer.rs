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
const MILLION: usize = 1_000_000;
const MILLION_FROM: Duration = Duration::from_secs(1);
const MILLION_SPAN: Duration = Duration::from_secs(40);
const CANARY: usize = 2000;
const CANARY_SLEEP: Duration = Duration::from_millis(1);
const CANCELLED: usize = 100_000;
const CANCELLED_SLEEP: Duration = Duration::from_secs(60);

/// Polls a timer once, so that it is armed.
struct Arm<'a>(Pin<&'a mut Sleep>);

impl Future for Arm<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        assert!(self.0.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    }
}

fn timer_cancel() -> Figures {
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

fn timers_100k() -> Figures {
    let cpu = cpu_ms();
    let mut late = sleepers(CROWD, Duration::ZERO, Duration::from_millis(50));
    [cpu_ms() - cpu, quantile(&mut late, 0.5), 0.0]
}

fn timers_10k() -> Figures {
    let mut late = sleepers(CALM, Duration::from_millis(100), Duration::from_millis(400));
    [quantile(&mut late, 0.5), quantile(&mut late, 0.99), 0.0]
}

/// Polled once it is asleep, and counts as done.
async fn doze() {
    let timer = sleep(CANCELLED_SLEEP);
    tokio::pin!(timer);
    Arm(timer.as_mut()).await;
    done();
    timer.await;
}

fn cancel() -> Figures {
    expect(CANCELLED);
    let tasks: Vec<_> = (0..CANCELLED).map(|_| rt().spawn(doze())).collect();
    gate_wait();
    let start = Instant::now();
    for task in &tasks {
        task.abort();
    }
    rt().block_on(async {
        for task in tasks {
            assert!(task.await.unwrap_err().is_cancelled());
        }
    });
    per_op(start, CANCELLED as u64)
}

/// Milliseconds that each of its sleeps was late.
async fn sing() -> Vec<f64> {
    let mut late = Vec::with_capacity(CANARY);
    for _ in 0..CANARY {
        let at = Instant::now() + CANARY_SLEEP;
        sleep_until(at.into()).await;
        late.push(at.elapsed().as_nanos() as f64 / 1e6);
    }
    late
}

fn canary() -> Figures {
    let rt = rt();
    let begin = Instant::now() + MILLION_FROM;
    for i in 0..MILLION {
        let at = begin + MILLION_SPAN * (i * 7919 % MILLION) as u32 / MILLION as u32;
        rt.spawn(async move { sleep_until(at.into()).await });
    }
    let mut late = rt.block_on(rt.spawn(sing())).unwrap();
    [quantile(&mut late, 0.99), quantile(&mut late, 1.0), 0.0]
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
    time("cancel", cancel),
    Workload {
        name: "canary",
        metrics: &[ms("late_p99"), ms("late_max")],
        once: true,
        run: canary,
    },
];
