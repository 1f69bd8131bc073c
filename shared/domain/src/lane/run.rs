//! One execution of a plan.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::plan::PlanRef;
use crate::time::Timestamp;
use crate::token::Token;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Grows for the whole life of the lane.
    pub number: u64,
    pub plan: PlanRef,
    pub started: Timestamp,
    pub state: RunState,
    /// One per pipeline of the plan, in order.
    pub pipelines: Vec<PipelineState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum RunState {
    /// A job is outstanding.
    Running {
        pipeline: u32,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        cancel: Option<Cancel>,
    },
    /// The pipeline asked to be run again later.
    #[serde(rename_all = "camelCase")]
    Suspended {
        pipeline: u32,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        retry_at: Option<Timestamp>,
    },
    Failed {
        pipeline: u32,
    },
    /// A Promise's delete pipelines are done; its requests are going.
    Dependents,
    /// All pipelines are done; the stores have not answered everything.
    Writing,
    /// What the run did not produce is being removed.
    Pruning,
    Complete,
    /// Ended early: a newer plan came, or the lane was held.
    Superseded,
    Aborted,
}

/// Why the outstanding job is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cancel {
    /// Everything runs again from pipeline 0.
    Restart,
    Abort,
    /// Another object of the same name has taken the place of the one that the job is for.
    Replaced,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PipelineState {
    pub name: String,
    pub phase: PipelinePhase,
    /// Jobs started for it in this run.
    pub attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Digest of the last attempt's log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub log: Option<Digest>,
    pub since: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PipelinePhase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Suspended,
}

impl PipelinePhase {
    /// As upstream's status has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Suspended => "Suspended",
        }
    }
}

impl Run {
    pub(super) fn new(number: u64, plan: PlanRef, now: Timestamp) -> Self {
        let pipelines = plan.pipelines.iter().map(|name| PipelineState {
            name: name.clone(),
            phase: PipelinePhase::Pending,
            attempts: 0,
            message: None,
            log: None,
            since: now,
        });
        let pipelines = pipelines.collect();
        Self { number, plan, started: now, state: RunState::Writing, pipelines }
    }

    /// Token of the outstanding job.
    pub fn token(&self) -> Option<Token> {
        match self.state {
            RunState::Running { pipeline, .. } => Some(self.token_of(pipeline)),
            _ => None,
        }
    }

    /// Highest token this run has used.
    pub fn last_token(&self) -> Token {
        let started = self.pipelines.iter().rposition(|pipeline| pipeline.attempts > 0).unwrap_or(0);
        self.token_of(u32::try_from(started).unwrap_or(u32::MAX))
    }

    fn token_of(&self, pipeline: u32) -> Token {
        let attempt = self.pipeline(pipeline).map_or(0, |pipeline| pipeline.attempts);
        Token { run: self.number, pipeline, attempt }
    }

    pub fn pipeline(&self, index: u32) -> Option<&PipelineState> {
        self.pipelines.get(usize::try_from(index).ok()?)
    }

    pub(super) fn pipeline_mut(&mut self, index: u32) -> Option<&mut PipelineState> {
        self.pipelines.get_mut(usize::try_from(index).ok()?)
    }

    /// Starts the next job at this pipeline, or says that there is no such pipeline.
    pub(super) fn run_pipeline(&mut self, index: u32, now: Timestamp) -> bool {
        let Some(pipeline) = self.pipeline_mut(index) else { return false };
        pipeline.phase = PipelinePhase::Running;
        pipeline.attempts += 1;
        pipeline.message = None;
        pipeline.since = now;
        self.state = RunState::Running { pipeline: index, cancel: None };
        true
    }

    pub fn has_job(&self) -> bool {
        matches!(self.state, RunState::Running { .. })
    }

    /// The last pipeline has succeeded, and no newer plan has ended the run before.
    pub fn is_past_pipelines(&self) -> bool {
        match self.state {
            RunState::Dependents | RunState::Writing | RunState::Pruning | RunState::Complete => true,
            RunState::Running { .. }
            | RunState::Suspended { .. }
            | RunState::Failed { .. }
            | RunState::Superseded
            | RunState::Aborted => false,
        }
    }
}
