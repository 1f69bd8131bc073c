//! From a plan's pipeline to a job of the process side.

use std::time::Duration;

use domain::plan::{Container, Plan};
use messages::job::JobCommand;
use serde_json::{Map, Value};

use crate::expand::{expand, lookup, variables};
use crate::process::{self, FenceToken, Job, Limits};
use crate::service::{Error, Runner};

const LOCK_WAIT: Duration = Duration::from_millis(100);

/// The job, or why it can never run.
pub(crate) fn job(
    runner: &Runner,
    command: &JobCommand,
    plan: &Plan,
    contributed: &Map<String, Value>,
) -> Result<Result<(Job, FenceToken), String>, Error> {
    let token = command.job.token;
    let index = usize::try_from(token.pipeline).unwrap_or(usize::MAX);
    let Some(pipeline) = plan.pipelines.get(index) else {
        return Ok(Err(format!("the plan has no pipeline {index}")));
    };
    let containers: Result<Vec<_>, String> =
        pipeline.containers.iter().map(|container| self::container(runner, container)).collect();
    let containers = match containers {
        Ok(containers) => containers,
        Err(message) => return Ok(Err(message)),
    };
    let input = serde_saphyr::to_string(&input(plan, contributed))
        .map_err(|source| Error::Input { lane: command.lane.to_string(), source })?;
    let fence = FenceToken {
        incarnation: command.job.incarnation,
        run: token.run,
        pipeline: token.pipeline,
        attempt: token.attempt,
    };
    let lock = runner.locks.join(command.lane.to_string());
    // Not waiting long for the lane's lock means that the record is read again before another try.
    let limits = Limits { lock_wait: LOCK_WAIT, ..Limits::DEFAULT };
    let job = Job { isolation: runner.isolation, limits, ..Job::new(lock, containers, input) };
    Ok(Ok((job, fence)))
}

/// What the plan froze, with the status that earlier pipelines contributed.
fn input(plan: &Plan, contributed: &Map<String, Value>) -> Value {
    let mut input = plan.input.clone();
    if let Some(fields) = input.as_object_mut()
        && !contributed.is_empty()
    {
        fields.insert("status".into(), Value::Object(contributed.clone()));
    }
    input
}

fn container(runner: &Runner, container: &Container) -> Result<process::Container, String> {
    let named = |error: crate::images::Error| format!("container {}: {error}", container.name);
    let image = runner.images.resolve(&container.image).map_err(named)?;
    let env = variables(&container.env);
    let expanded =
        |words: &[String]| words.iter().map(|word| expand(word, |name| lookup(&env, name))).collect();
    let (command, args) = (expanded(&container.command), expanded(&container.args));
    Ok(process::Container { args, env, ..process::Container::new(&container.name, image, command) })
}
