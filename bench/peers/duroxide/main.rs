// SPDX-License-Identifier: MIT

//! The workloads on duroxide: in process, its SQLite provider.  Its dispatchers poll, here every
//! 5 ms instead of 100; more of them than the default two only lock each other out.
//!
//!     duroxide FILE SECONDS WORKLOAD:IN_FLIGHT…
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{ObservabilityConfig, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const INPUT: &str = r#"{"name":"world","count":1,"note":"a step of a benchmark"}"#;
const OUTPUT: &str = "Hello, world, from a step of a benchmark";

fn steps(workload: &str) -> usize {
    match workload {
        "hello" => 1,
        "chain" => 10,
        "fanout" => 100,
        _ => panic!("no workload {workload}"),
    }
}

async fn bench(ctx: OrchestrationContext, workload: String) -> Result<String, String> {
    if workload == "fanout" {
        let all: Vec<_> = (0..steps(&workload)).map(|_| ctx.schedule_activity("Step", INPUT)).collect();
        for result in ctx.join(all).await {
            result?;
        }
    } else {
        for _ in 0..steps(&workload) {
            ctx.schedule_activity("Step", INPUT).await?;
        }
    }
    Ok(OUTPUT.to_string())
}

async fn one(client: &Client, id: String, workload: &str) {
    client.start_orchestration(&id, "Bench", workload).await.expect("start");
    match client.wait_for_orchestration(&id, Duration::from_secs(300)).await.expect("wait") {
        OrchestrationStatus::Completed { .. } => {}
        other => panic!("ended {other:?}"),
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds: f64 = args[2].parse().expect("seconds");
    std::fs::File::create(&args[1]).expect("file");
    let store = Arc::new(SqliteProvider::new(&format!("sqlite:{}", args[1]), None).await.expect("store"));
    let activities = ActivityRegistry::builder()
        .register("Step", |_: ActivityContext, _: String| async move { Ok(OUTPUT.to_string()) })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register("Bench", bench).build();
    let options = RuntimeOptions {
        dispatcher_min_poll_interval: Duration::from_millis(5),
        orchestration_concurrency: 2,
        worker_concurrency: 2,
        observability: ObservabilityConfig { log_level: "error".to_string(), ..Default::default() },
        ..Default::default()
    };
    let _runtime = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
    let number = Arc::new(AtomicU64::new(0));
    for plan in &args[3..] {
        let (workload, in_flight) = plan.split_once(':').expect("WORKLOAD:IN_FLIGHT");
        let begin = Instant::now();
        let end = begin + Duration::from_secs_f64(seconds);
        let mut lanes = Vec::new();
        for _ in 0..in_flight.parse::<usize>().expect("in flight") {
            let (client, number, workload) = (Client::new(store.clone()), number.clone(), workload.to_string());
            lanes.push(tokio::spawn(async move {
                let mut took = Vec::new();
                while Instant::now() < end {
                    let from = Instant::now();
                    one(&client, format!("bench-{}", number.fetch_add(1, Ordering::Relaxed)), &workload).await;
                    took.push(from.elapsed().as_micros() as u64);
                }
                took
            }));
        }
        let mut all = Vec::new();
        for lane in lanes {
            all.extend(lane.await.expect("lane"));
        }
        let rate = all.len() as f64 / begin.elapsed().as_secs_f64();
        all.sort_unstable();
        println!(
            "{{\"plan\":\"{plan}\",\"done\":{},\"per_s\":{rate:.1},\"steps_per_s\":{:.1},\"p50_us\":{},\"p99_us\":{}}}",
            all.len(),
            rate * steps(workload) as f64,
            all[all.len() / 2],
            all[all.len() * 99 / 100]
        );
    }
    std::process::exit(0);
}
