//! How fast the main job is, measured on the real programs; prints a table and the machine.
//!
//! `cargo bench -p tests --bench main_job`, after `cargo build --release`. Figures of one run vary by some 20 %.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use tests::manifests::{Promise, pipeline, thing};
use tests::programs::Process;
use tests::stage::promise_key;
use tests::{Stage, lane_settled};

/// Requests applied at a time.
const IN_FLIGHT: usize = 16;

#[tokio::main]
async fn main() -> Result<()> {
    // Numbers of requests instead of the usual run: `cargo bench -p tests --bench main_job -- 300`.
    let counts: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    println!("machine: {}", machine());
    println!("date: {}", runtime::clock::rfc3339(runtime::clock::Clock::System.now()));
    println!("| what | result | goal |\n|---|---|---|");
    for count in &counts {
        many(*count, "").await?;
    }
    if !counts.is_empty() {
        return Ok(());
    }
    single().await?;
    for (count, goal) in [(100, "3 s"), (1000, "20 s")] {
        many(count, goal).await?;
    }
    Ok(())
}

/// One shell that writes one small file and starts nothing else.
fn noop(name: &str) -> Value {
    let mut pipeline = pipeline(name, "");
    pipeline["spec"]["containers"][0]["command"] =
        json!(["sh", "-c", format!("echo x > /kratix/output/{name}.yaml")]);
    pipeline
}

async fn stage() -> Result<Stage> {
    let stage = Stage::start(1).await?;
    stage.apply_destinations().await?;
    stage.apply(&Promise::with([noop("one"), noop("two")]).manifest()).await?;
    stage.reconciled(&promise_key("things")).await?;
    Ok(stage)
}

/// One request of two pipelines, thirty times one after another: apply to everything acknowledged by the store.
async fn single() -> Result<()> {
    let stage = stage().await?;
    let mut times = Vec::new();
    for n in 0..30 {
        let start = Instant::now();
        let key = stage.apply(&thing("bench", &format!("single-{n}"), 1)).await?;
        stage.until_lane(&key, "settled", lane_settled).await?;
        times.push(start.elapsed());
    }
    row("one request of two pipelines, apply -> commit, p50", percentile(&mut times, 50), "150 ms");
    row("the same, p99", percentile(&mut times, 99), "");
    let mut hops = hops(&stage)?;
    row("hop: result of n published -> job of n+1 received, p50 (idle)", percentile(&mut hops, 50), "10 ms");
    row("the same, p99", percentile(&mut hops, 99), "");
    Ok(())
}

async fn many(count: usize, goal: &str) -> Result<()> {
    let stage = stage().await?;
    let start = Instant::now();
    let applied = futures::stream::iter(0..count).map(|n| {
        let stage = &stage;
        async move { stage.apply(&thing(&format!("bench-{}", n % 10), &format!("many-{n}"), 1)).await }
    });
    let keys: Vec<_> = applied.buffer_unordered(IN_FLIGHT).try_collect().await?;
    let accepted = start.elapsed();
    for key in &keys {
        stage.until_lane(key, "settled", lane_settled).await?;
    }
    let all = start.elapsed();
    row(&format!("{count} requests x 2 pipelines, all applied"), accepted, "");
    row(&format!("{count} requests x 2 pipelines, all in the repository"), all, goal);
    let files = stage.repository.files()?.len();
    anyhow::ensure!(files == 2 * count, "{files} files for {count} requests");
    println!("| commits for them | {} | |", stage.repository.commits()?);
    for process in stage.processes.iter().chain([&stage.server]) {
        let (cpu, memory) = usage(process)?;
        println!("| CPU and memory of {} | {:.1} s, {memory} MiB | |", process.name(), cpu.as_secs_f64());
    }
    let mut hops = hops(&stage)?;
    row(&format!("hop under that load, p50 ({} hops)", hops.len()), percentile(&mut hops, 50), "");
    row("the same, p99", percentile(&mut hops, 99), "");
    Ok(())
}

/// Processor time of a process and its ended children, and its resident memory in MiB.
fn usage(process: &Process) -> Result<(Duration, u64)> {
    let directory = format!("/proc/{}", process.pid().as_raw_nonzero());
    let stat = std::fs::read_to_string(format!("{directory}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().context("fields")?.split(' ').collect();
    // utime, stime, cutime, cstime in ticks of 10 ms; resident pages of 4 KiB.
    let ticks: u64 =
        fields.get(11..15).context("times")?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let pages: u64 = fields.get(21).context("memory")?.parse()?;
    Ok((Duration::from_millis(ticks * 10), (pages * 4096) >> 20))
}

/// From the runner's log: when it published the result of a pipeline and when it received the next one's job.
fn hops(stage: &Stage) -> Result<Vec<Duration>> {
    let log = std::fs::read_to_string(stage.logs().join("job-runner-0.log"))?;
    let mut published: HashMap<(String, u64), i128> = HashMap::new();
    let mut hops = Vec::new();
    for entry in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let (Some(message), Some(job), Some(lane)) =
            (entry["message"].as_str(), entry["job"].as_str(), entry["lane"].as_str())
        else {
            continue;
        };
        // <uid>/<incarnation>/<run>/<pipeline>/<attempt>
        let index: u64 = job.split('/').nth(3).context("a job id")?.parse()?;
        let at = nanoseconds(entry["timestamp"].as_str().context("a time")?)?;
        match message {
            "result published" => drop(published.insert((lane.to_owned(), index), at)),
            "job received" => {
                if let Some(before) =
                    index.checked_sub(1).and_then(|n| published.remove(&(lane.to_owned(), n)))
                {
                    hops.push(Duration::from_nanos(u64::try_from(at - before)?));
                }
            }
            _ => {}
        }
    }
    Ok(hops)
}

fn nanoseconds(time: &str) -> Result<i128> {
    Ok(time.parse::<jiff::Timestamp>()?.as_nanosecond())
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}

fn row(what: &str, time: Duration, goal: &str) {
    println!("| {what} | {:.1} ms | {goal} |", time.as_secs_f64() * 1e3);
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo").lines().find_map(|line| line.strip_prefix("model name")).map_or_else(
        || "unknown processor".to_owned(),
        |line| line.trim_start_matches([' ', '\t', ':']).to_owned(),
    );
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory =
        read("/proc/meminfo").lines().next().map(|line| line.replace("MemTotal:", "").trim().to_owned());
    format!(
        "{cores} x {model}, {}, Linux {}",
        memory.unwrap_or_default(),
        read("/proc/sys/kernel/osrelease").trim()
    )
}
