//! Load, decide, save: the compare-and-set around [`Lane::step`].

use domain::id::LaneKey;
use domain::lane::{Input, Lane, Outcome};
use domain::time::Timestamp;
use messages::trace::TraceParent;

use crate::{Error, Scheduler};

/// Two writers of one record that keep colliding are told apart by their delays at the latest.
const ATTEMPTS: u32 = 20;

/// All inputs, one after the other, as one transition; none where nothing was applied.
fn fold(lane: &Lane, inputs: &[Input], now: Timestamp) -> Option<Lane> {
    let (mut next, mut applied) = (lane.clone(), false);
    for input in inputs {
        let (stepped, outcome) = next.step(input.clone(), now);
        next = stepped;
        match outcome {
            Outcome::Applied => applied = true,
            Outcome::Duplicate | Outcome::Stale => {
                tracing::debug!(lane = %lane.key, ?outcome, "nothing to apply");
            }
        }
    }
    if !applied {
        return None;
    }
    // One message is one transition, however many inputs it took.
    let visible = next.performed.visible > lane.performed.visible;
    next.sequence = lane.sequence + 1;
    if visible {
        next.performed.visible = next.sequence;
    }
    Some(next)
}

impl Scheduler {
    /// Applies the inputs and returns the record as it then stands, applied or not.
    pub(crate) async fn transact(
        &self,
        key: &LaneKey,
        trace: Option<TraceParent>,
        inputs: Vec<Input>,
    ) -> Result<Lane, Error> {
        for _ in 0..ATTEMPTS {
            let stored = self.records.load(key).await?;
            let now = self.platform.clock.now();
            let mut inputs = inputs.clone();
            // A plan that waits for a gate is looked at in the same transition.
            if let Some(gate) = self.gate_after(&stored.lane, &inputs, now).await? {
                inputs.push(gate);
            }
            let Some(next) = fold(&stored.lane, &inputs, now) else { return Ok(stored.lane) };
            let hop = self.platform.bus.next_hop(trace);
            if self.records.save(&next, stored.at, now, Some(hop)).await?.is_some() {
                tracing::info!(lane = %key, sequence = next.sequence, transition = ?next.transition, "transition");
                return Ok(next);
            }
        }
        Err(Error::Contended(key.clone()))
    }

    async fn gate_after(
        &self,
        lane: &Lane,
        inputs: &[Input],
        now: Timestamp,
    ) -> Result<Option<Input>, Error> {
        if !inputs.iter().any(|input| matches!(input, Input::PlanArrived(_))) {
            return Ok(None);
        }
        match fold(lane, inputs, now) {
            Some(next) => self.look_at_gates(&next).await,
            None => Ok(None),
        }
    }
}
