//! Status of a Promise.

use domain::plan::WorkflowAction;
use runtime::clock::rfc3339;
use serde_json::{Map, Value, json};

use super::Facts;
use super::conditions::Conditions;
use super::workflow::{self, Standing, standing};
use resources::keys::PROMISE_VERSION_LABEL;

pub(super) fn status(facts: &Facts<'_>) -> Value {
    let (lane, object) = (facts.lane, facts.object);
    let standing = standing(lane);
    let configured = lane.current_plan().is_some_and(|plan| plan.action == WorkflowAction::Configure);
    let available = configured && standing == Standing::Done;
    let mut conditions = Conditions::of(object, facts.now);
    match standing {
        Standing::Paused => conditions.set("Available", "False", "PausedReconciliation", "Paused"),
        Standing::Suspended => conditions.set("Available", "False", "WorkflowSuspended", "Suspended"),
        _ if available => {
            conditions.set("Available", "True", "PromiseAvailable", "Ready to fulfil resource requests");
        }
        _ => conditions.set("Available", "False", "PromiseUnavailable", "Cannot fulfil resource requests"),
    }
    let required = lane.newest_plan().is_some_and(|plan| !plan.gates.is_empty());
    if !required {
        conditions.set("RequirementsFulfilled", "True", "RequirementsInstalled", "Requirements fulfilled");
    }
    workflow::workflow_conditions(facts, standing, &mut conditions);
    conditions.merge(facts.contributed.get("conditions"));

    let mut status = Map::new();
    workflow::pipelines(lane, &mut status);
    let word = if available { "Available" } else { "Unavailable" };
    let before = object.status().and_then(|status| status.get("lastAvailableTime")).cloned();
    let was_available = object.status().and_then(|status| status.get("status")) == Some(&json!("Available"));
    let last_available = match before {
        Some(time) if !available || was_available => Some(time),
        _ => available.then(|| rfc3339(facts.now).into()),
    };
    api(object, &mut status);
    if let Some(version) = object.label(PROMISE_VERSION_LABEL) {
        status.insert("version".into(), version.into());
    }
    status.insert("status".into(), word.into());
    status.extend(last_available.map(|time| ("lastAvailableTime".into(), time)));
    status.insert(
        "observedGeneration".into(),
        lane.current_plan().map_or(Value::Null, |plan| plan.generation.into()),
    );
    // Of what a Promise's pipelines contribute, upstream's schema keeps the message alone.
    let message = facts.contributed.get("message").cloned();
    let own = if standing == Standing::Done { "Promise configured" } else { "Pending" };
    status.insert("message".into(), message.unwrap_or_else(|| own.into()));
    status.insert("conditions".into(), conditions.into_value());
    status.insert("millrace".into(), workflow::own(lane));
    Value::Object(status)
}

/// Kind and version that the Promise offers.
fn api(object: &resources::Object, status: &mut Map<String, Value>) {
    let Some(api) = object.spec().and_then(|spec| spec.get("api")).filter(|api| !api.is_null()) else {
        return;
    };
    let text = |path: &str| api.pointer(path).and_then(Value::as_str);
    let versions = api.pointer("/spec/versions").and_then(Value::as_array);
    let storage =
        versions.and_then(|versions| versions.iter().find(|version| version["storage"] == json!(true)));
    let version = storage.and_then(|version| version["name"].as_str());
    if let (Some(kind), Some(group), Some(version)) = (text("/spec/names/kind"), text("/spec/group"), version)
    {
        status.insert("kind".into(), kind.into());
        status.insert("apiVersion".into(), format!("{group}/{version}").to_lowercase().into());
    }
}
