//! Runners: they ask the record before they start, may die, answer late, or answer twice and differently.

use std::time::Duration;

use domain::digest::Digest;
use domain::lane::{JobOutcome, RunState};
use domain::output::OutputGroup;
use domain::token::{JobId, Token};

use super::{Message, World};
use crate::story::{group, group_for};

/// Selectors that outputs come with.
const SELECTORS: [&[(&str, &str)]; 4] =
    [&[("env", "dev")], &[("env", "prod")], &[("env", "dev"), ("zone", "a")], &[("env", "nowhere")]];

impl World {
    /// A runner gets a job and asks the record whether it is still to be run.
    pub(crate) fn run_job(&mut self, job: JobId) {
        if self.lane.job().as_ref() != Some(&job) {
            return;
        }
        if self.cancels() {
            self.bus.push(Message::Result(job, JobOutcome::Cancelled { log: None }));
        } else {
            self.runners.push(job);
        }
    }

    fn cancels(&self) -> bool {
        let state = self.lane.run.as_ref().map(|run| &run.state);
        matches!(state, Some(RunState::Running { cancel: Some(_), .. }))
    }

    /// A runner hears that its job is to end.
    pub(crate) fn cancel_job(&mut self, job: &JobId) {
        let before = self.runners.len();
        self.runners.retain(|running| running != job);
        if before > self.runners.len() {
            self.bus.push(Message::Result(job.clone(), JobOutcome::Cancelled { log: None }));
        }
    }

    /// One of the running jobs ends in some way.
    pub(crate) fn finish(&mut self, index: usize, how: u8) {
        if !self.runners.is_empty() {
            let job = self.runners.remove(index % self.runners.len());
            let outcome = self.outcome(&job, how);
            self.bus.push(Message::Result(job, outcome));
        }
    }

    /// A runner dies; nobody hears of its job.
    pub(crate) fn kill(&mut self, index: usize) {
        if !self.runners.is_empty() {
            self.runners.remove(index % self.runners.len());
        }
    }

    /// All running jobs succeed.
    pub(crate) fn finish_all(&mut self) {
        for job in std::mem::take(&mut self.runners) {
            let groups = vec![self.files(&job, ".")];
            self.bus.push(Message::Result(job, succeeded(groups)));
        }
    }

    fn outcome(&self, job: &JobId, how: u8) -> JobOutcome {
        let message = "so it ended".to_owned();
        let selector = SELECTORS[usize::from(how >> 4) % SELECTORS.len()];
        match how % 12 {
            0..4 => succeeded(vec![self.files(job, ".")]),
            4 => succeeded(vec![self.files(job, "."), group_for("x", &how.to_string(), selector)]),
            5 => succeeded(vec![group_for(".", &how.to_string(), selector)]),
            6 => succeeded(vec![group_for("x", "always the same", selector), group_for("y", "y", selector)]),
            7 => succeeded(Vec::new()),
            8 => JobOutcome::Failed { message, log: None },
            9 => JobOutcome::Cancelled { log: None },
            10 => JobOutcome::Refused { highest: Token { run: u64::from(how % 5), pipeline: 9, attempt: 9 } },
            _ => {
                let retry_after = (how < 128).then(|| Duration::from_secs(30));
                JobOutcome::Suspended { message, retry_after, contributed: None, log: None }
            }
        }
    }

    /// Files that follow from the spec and the pipeline.
    fn files(&self, job: &JobId, directory: &str) -> OutputGroup {
        let run = self.lane.run.as_ref();
        let hash = run.map(|run| run.plan.work_hash.clone());
        group(directory, Digest::of_json(&(&job.uid, job.token.pipeline, hash)).as_str())
    }
}

fn succeeded(groups: Vec<OutputGroup>) -> JobOutcome {
    JobOutcome::Succeeded { groups, contributed: None, log: None }
}
