//! Status of a resource request.

use domain::lane::GateState;
use serde_json::{Map, Value};

use super::Facts;
use super::conditions::{Conditions, overlay};
use super::workflow::{self, Standing, standing};

pub(super) fn status(facts: &Facts<'_>) -> Value {
    let lane = facts.lane;
    let standing = standing(lane);
    let mut conditions = Conditions::of(facts.object, facts.now);
    match &lane.gate {
        GateState::Closed { reason } if !lane.queue.is_empty() => {
            conditions.set("PromiseAvailable", "False", "PromiseNotAvailable", reason.clone());
        }
        GateState::Closed { .. } | GateState::Open => {
            conditions.set("PromiseAvailable", "True", "PromiseAvailable", "Promise is available");
        }
    }
    workflow::workflow_conditions(facts, standing, &mut conditions);
    conditions.merge(facts.contributed.get("conditions"));

    let mut status = Map::new();
    workflow::pipelines(lane, &mut status);
    let message = if standing == Standing::Done { "Resource requested" } else { "Pending" };
    status.insert("message".into(), message.into());
    if let Some(plan) = lane.current_plan() {
        status.insert("observedGeneration".into(), plan.generation.into());
    }
    overlay(&mut status, &facts.contributed);
    status.insert("conditions".into(), conditions.into_value());
    status.insert("millrace".into(), workflow::own(lane));
    Value::Object(status)
}
