//! What an idle lane waits for: the reason in its status and behind the exit codes.

use std::fmt;

use super::run::RunState;
use super::{GateState, Lane, Life};
use crate::footprint::StoreId;
use crate::output::{DEFAULT_DIRECTORY, Output};
use crate::time::Timestamp;

/// Nothing is being done for the lane now, and it is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A person holds it, settled or not.
    Paused,
    /// The newest plan holds fields or kinds that this version does not act on.
    Unsupported { paths: Vec<String> },
    /// The newest plan needs something of another lane.
    Gate { reason: String },
    /// A pipeline asked to be run again, at `retry_at` or when a person says so.
    Suspended { pipeline: String, message: String, retry_at: Option<Timestamp> },
    /// A pipeline has failed; a change or a person starts it again.
    Failed { pipeline: String, message: String },
    /// A person has stopped the run.
    Aborted,
    /// A deleted Promise goes after its requests.
    Dependents,
    /// The store refuses or cannot be reached; the write is repeated.
    StoreFailing { store: StoreId, message: String },
    /// No Destination takes these outputs.
    Unscheduled { outputs: Vec<Output> },
}

impl Waiting {
    /// Something went wrong, as opposed to something that is still to come.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::Aborted | Self::StoreFailing { .. } => true,
            Self::Paused
            | Self::Unsupported { .. }
            | Self::Gate { .. }
            | Self::Suspended { .. }
            | Self::Dependents
            | Self::Unscheduled { .. } => false,
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused => f.write_str("paused"),
            Self::Unsupported { paths } => write!(f, "not acted on by this version: {}", paths.join(", ")),
            Self::Gate { reason } => f.write_str(reason),
            Self::Suspended { pipeline, message, .. } => {
                write!(f, "pipeline {pipeline} is suspended: {message}")
            }
            Self::Failed { pipeline, message } => write!(f, "pipeline {pipeline} has failed: {message}"),
            Self::Aborted => f.write_str("aborted"),
            Self::Dependents => f.write_str("its requests are being deleted"),
            Self::StoreFailing { store, message } => write!(f, "store {store}: {message}"),
            Self::Unscheduled { outputs } => {
                let names: Vec<String> = outputs.iter().map(readable).collect();
                write!(f, "no Destination matches {}", names.join(", "))
            }
        }
    }
}

/// `pipeline` or `pipeline/directory`, with what its Destination must be labelled with.
fn readable(output: &Output) -> String {
    let Output { pipeline, directory, selector, .. } = output;
    let labels: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels = labels.join(",");
    if directory == DEFAULT_DIRECTORY {
        format!("{pipeline} ({labels})")
    } else {
        format!("{pipeline}/{directory} ({labels})")
    }
}

impl Lane {
    /// What the lane waits for. None: it is settled, or something is being done that needs nobody.
    pub fn waiting(&self) -> Option<Waiting> {
        if self.life != Life::Live || self.job().is_some() {
            return None;
        }
        if self.controls.paused {
            return Some(Waiting::Paused);
        }
        if self.is_held_unsupported() {
            let paths = self.unsupported.iter().map(|problem| problem.field.clone()).collect();
            return Some(Waiting::Unsupported { paths });
        }
        if let (false, GateState::Closed { reason }) = (self.queue.is_empty(), &self.gate) {
            return Some(Waiting::Gate { reason: reason.clone() });
        }
        let run = self.run.as_ref()?;
        let pipeline_at = |index: u32| {
            let pipeline = run.pipeline(index);
            pipeline.map(|p| (p.name.clone(), p.message.clone().unwrap_or_default())).unwrap_or_default()
        };
        match run.state {
            RunState::Suspended { pipeline, retry_at } => {
                let (pipeline, message) = pipeline_at(pipeline);
                Some(Waiting::Suspended { pipeline, message, retry_at })
            }
            RunState::Failed { pipeline } => {
                let (pipeline, message) = pipeline_at(pipeline);
                Some(Waiting::Failed { pipeline, message })
            }
            RunState::Aborted => Some(Waiting::Aborted),
            RunState::Dependents => Some(Waiting::Dependents),
            RunState::Writing | RunState::Pruning => self.waiting_for_stores(),
            RunState::Running { .. } | RunState::Complete | RunState::Superseded => None,
        }
    }

    fn waiting_for_stores(&self) -> Option<Waiting> {
        let failing = self.footprint.stores.iter().find_map(|(store, writes)| {
            let message = writes.failure.as_ref()?.message.clone();
            Some(Waiting::StoreFailing { store: store.clone(), message })
        });
        failing.or_else(|| {
            let outputs: Vec<Output> = self.unplaced().cloned().collect();
            (!outputs.is_empty()).then_some(Waiting::Unscheduled { outputs })
        })
    }
}
