//! The workloads of bench/bench_*.c on Tokio. What each of them does is said there.
mod harness;
mod latency;
mod load;
mod spawn;
mod sync;
mod timer;

fn main() {
    harness::main(&[spawn::ALL, sync::ALL, timer::ALL, latency::ALL, load::ALL]);
}
