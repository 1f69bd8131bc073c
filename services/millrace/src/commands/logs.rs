//! `millrace logs`: what the pipelines of an object's last run have written.

use std::fmt::Write;

use clap::Args as ClapArgs;
use domain::id::LaneKey;
use domain::lane::{Lane, PipelineState};
use domain::problem::Problem;
use messages::log::JobLog;
use runtime::Platform;
use runtime::bus::Records;

use super::kinds;
use crate::complaint::{Complaint, Subject};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{Session, Target};
use crate::targets::{Scope, one};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// KIND NAME, or KIND/NAME
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,
    /// Only of this pipeline
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    #[command(flatten)]
    scope: Scope,
}

pub(crate) async fn run(args: Args, target: &Target, console: &Console) -> Result<Exit, Failure> {
    let session = Session::reading(target).await?;
    let logs = logs(&args, &session.platform).await;
    session.close().await;
    match logs? {
        Ok(text) => console.print(&text).map(|()| Exit::Done),
        Err(complaint) => {
            console.complain(&complaint);
            Ok(Exit::Failed)
        }
    }
}

async fn logs(args: &Args, platform: &Platform) -> Result<Result<String, Complaint>, Failure> {
    let (kind, key) = one(&args.what, &kinds(platform).await?, &args.scope)?;
    let subject = Subject::of_key(&kind.name, &key);
    let lane = Records::open(&platform.bus).await?.load(&LaneKey(key)).await?.lane;
    let pipelines = match chosen(&lane, args.pipeline.as_deref()) {
        Ok(pipelines) => pipelines,
        Err(problem) => return Ok(Err(Complaint { object: Some(subject), location: None, problem })),
    };
    let mut text = String::new();
    for pipeline in &pipelines {
        if pipelines.len() > 1 {
            text += &title(&lane, pipeline);
        }
        if let Some(log) = &pipeline.log {
            text += &written(&platform.artifacts.get_json(log).await?);
        }
    }
    Ok(Ok(text))
}

/// `==> install: Succeeded (run 3, attempt 1)`.
fn title(lane: &Lane, pipeline: &PipelineState) -> String {
    let run = lane.run.as_ref().map_or(0, |run| run.number);
    let PipelineState { name, phase, attempts, .. } = pipeline;
    format!("==> {name}: {} (run {run}, attempt {attempts})\n", phase.as_str())
}

/// What each container wrote to stdout, then to stderr; their order among each other is not known.
fn written(log: &JobLog) -> String {
    let mut text = String::new();
    for container in &log.0 {
        if log.0.len() > 1 {
            let _ = writeln!(text, "--> {}", container.container);
        }
        for stream in [&container.stdout, &container.stderr] {
            text += stream;
            if !stream.is_empty() && !stream.ends_with('\n') {
                text.push('\n');
            }
        }
        if container.dropped > 0 {
            let _ = writeln!(text, "--> {} more bytes were not kept", container.dropped);
        }
    }
    text
}

/// Pipelines that have been run, or the one that is wanted.
fn chosen<'a>(lane: &'a Lane, wanted: Option<&str>) -> Result<Vec<&'a PipelineState>, Problem> {
    let all = lane.run.as_ref().map_or(&[][..], |run| &run.pipelines);
    let ran: Vec<&PipelineState> =
        all.iter().filter(|p| wanted.is_none_or(|name| p.name == name) && p.attempts > 0).collect();
    match wanted {
        _ if !ran.is_empty() => Ok(ran),
        Some(name) if !all.iter().any(|pipeline| pipeline.name == name) => {
            let names: Vec<&str> = all.iter().map(|pipeline| &*pipeline.name).collect();
            let problem = Problem::error("not-found", "", format!("its last run has no pipeline {name}"));
            Err(if names.is_empty() { problem } else { problem.help(format!("it has {}", names.join(", "))) })
        }
        _ => Err(Problem::error("not-found", "", "no pipeline has run yet")),
    }
}

#[cfg(test)]
mod tests {
    use messages::log::ContainerLog;

    use super::*;

    #[test]
    fn containers_are_told_apart_where_there_are_several() {
        let container = |name: &str, stdout: &str, stderr: &str, dropped| ContainerLog {
            container: name.into(),
            stdout: stdout.into(),
            stderr: stderr.into(),
            dropped,
            ..ContainerLog::default()
        };
        assert_eq!(written(&JobLog(vec![container("a", "out", "err\n", 0)])), "out\nerr\n");
        let two = JobLog(vec![container("a", "x\n", "", 7), container("b", "", "", 0)]);
        assert_eq!(written(&two), "--> a\nx\n--> 7 more bytes were not kept\n--> b\n");
    }
}
