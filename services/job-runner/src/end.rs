//! From what a job left to its outcome: outputs packed and stored, status merged, log kept.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::time::Duration;

use bytes::Bytes;
use domain::digest::Digest;
use domain::lane::JobOutcome;
use domain::output::OutputGroup;
use domain::plan::{Plan, WorkflowAction};
use domain::token::Token;
use messages::job::JobCommand;
use messages::log::{ContainerLog, JobLog};
use runtime::pack::{self, Files};
use serde_json::{Map, Value};

use crate::metadata::{self, DEFAULT_DIRECTORY, Group, Metadata, Selector};
use crate::outputs;
use crate::process::{Finished, Limits, Outcome, Report};
use crate::service::{Error, Runner};

/// A pipeline that asks to be run again at once would keep a processor busy for ever.
const SOONEST: Duration = Duration::from_secs(1);

/// None: the job did not come to an end here, and is to be run again.
pub(crate) async fn outcome(
    runner: &Runner,
    command: &JobCommand,
    plan: &Plan,
    contributed: Map<String, Value>,
    finished: Finished,
) -> Result<Option<JobOutcome>, Error> {
    let log = store_log(runner, &finished.report).await?;
    let failed = |message: String| Ok(Some(JobOutcome::Failed { message, log: log.clone() }));
    match &finished.report.outcome {
        Outcome::Succeeded => {}
        Outcome::Failed => return failed(why(&finished.report)),
        Outcome::TimedOut => {
            let limit = Limits::DEFAULT.wall.as_secs();
            return failed(format!("the pipeline was stopped after {limit} s, the time limit"));
        }
        Outcome::Refused(why) => return failed(why.clone()),
        Outcome::Cancelled => return Ok(Some(JobOutcome::Cancelled { log })),
        Outcome::RunnerSilent | Outcome::LaneBusy => return Ok(None),
        Outcome::Superseded { by } | Outcome::Fenced { highest: by } => {
            // A token of newer records means that ours are gone, and with them whoever waits for this job.
            let highest = Token { run: by.run, pipeline: by.pipeline, attempt: by.attempt };
            let ours = by.incarnation <= command.job.incarnation;
            return Ok(ours.then_some(JobOutcome::Refused { highest }));
        }
    }
    let collected = tokio::task::spawn_blocking(move || collect(&finished)).await;
    let (metadata, groups) = match collected {
        Ok(Ok(collected)) => collected,
        Ok(Err(message)) => return failed(message),
        Err(error) => return failed(format!("the output could not be read: {error}")),
    };
    let contributed = store_status(runner, contributed, metadata.status).await?;
    if let Some(control) = metadata.control.filter(metadata::Control::suspends) {
        let (message, retry_after) = (control.message, control.retry_after.map(|after| after.max(SOONEST)));
        return Ok(Some(JobOutcome::Suspended { message, retry_after, contributed, log }));
    }
    // What a delete pipeline leaves is nobody's.
    let groups = if plan.action == WorkflowAction::Delete { Vec::new() } else { groups };
    let groups = with_default_selector(groups, metadata.selectors);
    match store_groups(runner, groups).await? {
        Ok(groups) => Ok(Some(JobOutcome::Succeeded { groups, contributed, log })),
        Err(message) => failed(message),
    }
}

/// Reads what the job left, from the descriptors of its directories.
fn collect(finished: &Finished) -> Result<(Metadata, Vec<Group>), String> {
    let chain = |error: &dyn std::error::Error| runtime::telemetry::chain(error);
    let (Some(output), Some(directory)) = (&finished.output, &finished.metadata) else {
        return Err("the job left no directories".into());
    };
    let metadata = metadata::read(directory.as_fd()).map_err(|error| chain(&error))?;
    let output = outputs::collect(output.as_fd(), &Limits::DEFAULT).map_err(|error| chain(&error))?;
    let groups = metadata::groups(output, &metadata.selectors).map_err(|error| chain(&error))?;
    Ok((metadata, groups))
}

/// What a workflow says about its default group counts for others too, even when the group has no files.
fn with_default_selector(mut groups: Vec<Group>, selectors: Vec<Selector>) -> Vec<Group> {
    let default = selectors.into_iter().find(|selector| selector.directory == DEFAULT_DIRECTORY);
    if let Some(Selector { directory, match_labels }) = default
        && !groups.iter().any(|group| group.directory == directory)
    {
        groups.push(Group { directory, match_labels: Some(match_labels), files: BTreeMap::new() });
    }
    groups
}

/// The exit alone: what a command printed may hold what nobody else should see.
fn why(report: &Report) -> String {
    let Some(last) = report.containers.last() else { return "no container was started".into() };
    match (last.exit_code, last.signal) {
        (Some(code), _) => format!("container {} ended with exit code {code}", last.name),
        (None, Some(signal)) => format!("container {} was ended by signal {signal}", last.name),
        (None, None) => format!("container {} did not end by itself", last.name),
    }
}

async fn store_log(runner: &Runner, report: &Report) -> Result<Option<Digest>, Error> {
    let silent = report.containers.iter().all(|end| end.stdout.is_empty() && end.stderr.is_empty());
    if silent {
        return Ok(None);
    }
    let containers = report.containers.iter().map(|end| ContainerLog {
        container: end.name.clone(),
        exit_code: end.exit_code,
        signal: end.signal,
        stdout: end.stdout.clone(),
        stderr: end.stderr.clone(),
        dropped: end.dropped,
    });
    Ok(Some(runner.platform.artifacts.put_json(&JobLog(containers.collect())).await?))
}

/// Top-level keys replace those of before; conditions are merged by type. Nothing new: the digest stays.
async fn store_status(
    runner: &Runner,
    before: Map<String, Value>,
    new: Option<Map<String, Value>>,
) -> Result<Option<Digest>, Error> {
    let Some(new) = new.filter(|new| !new.is_empty()) else { return Ok(None) };
    let merged = merge_status(before, new);
    Ok(Some(runner.platform.artifacts.put_json(&merged).await?))
}

fn merge_status(mut status: Map<String, Value>, new: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in new {
        let merged = match (key.as_str(), status.remove(&key), value) {
            ("conditions", Some(Value::Array(old)), Value::Array(new)) => {
                let replaced = |old: &Value| new.iter().any(|new| new.get("type") == old.get("type"));
                let mut list: Vec<Value> = old.into_iter().filter(|old| !replaced(old)).collect();
                list.extend(new);
                Value::Array(list)
            }
            (_, _, value) => value,
        };
        status.insert(key, merged);
    }
    status
}

async fn store_groups(
    runner: &Runner,
    groups: Vec<Group>,
) -> Result<Result<Vec<OutputGroup>, String>, Error> {
    let mut stored = Vec::with_capacity(groups.len());
    for Group { directory, match_labels, files } in groups {
        let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
        let files: Files = files.into_iter().map(|(path, content)| (path, Bytes::from(content))).collect();
        let archive = match pack::pack(&files) {
            Ok(archive) => archive,
            Err(error) => return Ok(Err(runtime::telemetry::chain(&error))),
        };
        let digest = runner.platform.artifacts.put(archive).await?;
        stored.push(OutputGroup { directory, own_selector: match_labels, digest, files: count });
    }
    Ok(Ok(stored))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn keys_are_replaced_and_conditions_merged_by_type() {
        let before = map(&json!({"stage": "one", "deep": {"a": 1}, "conditions": [
            {"type": "A", "status": "True"}, {"type": "B", "status": "True"},
        ]}));
        let new =
            map(&json!({"stage": "two", "deep": {"b": 2}, "conditions": [{"type": "B", "status": "False"}]}));
        let expected = map(&json!({"stage": "two", "deep": {"b": 2}, "conditions": [
            {"type": "A", "status": "True"}, {"type": "B", "status": "False"},
        ]}));
        assert_eq!(merge_status(before, new), expected);
    }
}
