//! Gates between lanes: whether the Promises that a plan needs are complete.

use domain::lane::{GateState, Input, Lane, RunState};
use domain::plan::{Gate, Labels, WorkflowAction};
use messages::trace::TraceParent;

use crate::{Error, Scheduler};

impl Scheduler {
    /// How the gates of the waiting plan stand; none where no plan waits for one.
    pub(crate) async fn look_at_gates(&self, lane: &Lane) -> Result<Option<Input>, Error> {
        let gates = lane.awaited_gates().to_vec();
        if gates.is_empty() {
            return Ok(None);
        }
        let (mut closed, mut selector) = (None, Labels::new());
        for gate in &gates {
            let promise = self.records.load(gate.promise()).await?.lane;
            closed = closed.or_else(|| why_closed(gate, &promise));
            if let Gate::PromiseComplete { .. } = gate {
                selector = promise.workflow_selector;
            }
        }
        Ok(Some(Input::GateChanged { gates, closed, selector }))
    }

    /// The Promise may have become complete after it was looked at and before our record said that it waits.
    pub(crate) async fn look_again(&self, lane: Lane, trace: Option<TraceParent>) -> Result<Lane, Error> {
        if lane.gate == GateState::Open {
            return Ok(lane);
        }
        match self.look_at_gates(&lane).await? {
            Some(input) => self.transact(&lane.key, trace, vec![input]).await,
            None => Ok(lane),
        }
    }
}

fn why_closed(gate: &Gate, promise: &Lane) -> Option<String> {
    let name = &promise.key.0.name;
    match gate {
        Gate::PromiseComplete { work_hash, .. } if promise.has_completed(work_hash) => None,
        Gate::PromiseComplete { .. } => Some(format!("Promise {name}: {}", progress(promise))),
        Gate::PromiseInstalled { .. } => {
            let installed = promise.run.as_ref().is_some_and(|run| {
                run.plan.action == WorkflowAction::Configure && run.state == RunState::Complete
            });
            (!installed).then(|| format!("required Promise {name}: {}", progress(promise)))
        }
    }
}

fn progress(promise: &Lane) -> &'static str {
    match promise.run.as_ref().map(|run| &run.state) {
        None => "its workflow has not started",
        Some(RunState::Running { .. }) => "its workflow is running",
        Some(RunState::Suspended { .. }) => "its workflow is suspended",
        Some(RunState::Failed { .. }) => "its workflow has failed",
        Some(RunState::Aborted) => "its workflow was aborted",
        Some(RunState::Dependents) => "it is being deleted",
        Some(RunState::Writing) if promise.unplaced().next().is_some() => {
            "no Destination matches its documents"
        }
        Some(RunState::Writing | RunState::Pruning) => "its documents are being written",
        Some(RunState::Complete | RunState::Superseded) => "its newest workflow has not run yet",
    }
}
