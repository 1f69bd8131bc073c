//! Status of Destinations and stores, from the writer's answers.

use domain::footprint::Place;
use domain::id::ObjectKey;
use domain::lane::WriteResult;
use domain::time::Timestamp;
use messages::result::DestinationAnswer;
use resources::Object;
use serde_json::{Value, json};

use super::conditions::Conditions;

pub(crate) fn without_store(destination: &Object, store: &ObjectKey, now: Timestamp) -> Value {
    let mut conditions = Conditions::of(destination, now);
    let message =
        format!("state store {} does not exist, or this version does not write to it", store.readable());
    conditions.set("Ready", "False", "StateStoreNotFound", message);
    let mut status = json!({ "conditions": conditions.into_value() });
    if let Some(place) = canary_place(destination) {
        status["millrace"] = json!({ "canary": place });
    }
    status
}

pub(crate) fn is_ready(destination: &Object) -> bool {
    let conditions =
        destination.status().and_then(|status| status.get("conditions")).and_then(Value::as_array);
    conditions
        .is_some_and(|list| list.iter().any(|found| found["type"] == "Ready" && found["status"] == "True"))
}

pub(crate) fn destination(object: &Object, answer: &DestinationAnswer, now: Timestamp) -> Value {
    let mut conditions = Conditions::of(object, now);
    conditions.keep(|kind| kind != "Ready");
    match &answer.answer {
        WriteResult::Written { .. } => {
            conditions.set("Ready", "True", "TestDocumentsWritten", "The Destination can be written");
        }
        WriteResult::Failed { message } => {
            conditions.set("Ready", "False", "StateStoreWriteFailed", message.clone());
        }
    }
    let mut status =
        json!({ "conditions": conditions.into_value(), "observedGeneration": answer.generation });
    if let Some(place) = answer.place.clone().or_else(|| canary_place(object)) {
        status["millrace"] = json!({ "canary": place });
    }
    status
}

/// Where the canary documents were written last: they are taken away from there when the Destination moves.
pub(crate) fn canary_place(destination: &Object) -> Option<Place> {
    serde_json::from_value(destination.status()?.pointer("/millrace/canary")?.clone()).ok()
}

pub(crate) fn store(object: &Object, answer: &DestinationAnswer, now: Timestamp) -> Value {
    let mut conditions = Conditions::of(object, now);
    conditions.keep(|kind| kind != "Ready");
    let word = match &answer.answer {
        WriteResult::Written { .. } => {
            conditions.set("Ready", "True", "StateStoreReady", "The state store can be written");
            "Ready"
        }
        WriteResult::Failed { message } => {
            conditions.set("Ready", "False", "StateStoreError", message.clone());
            "NotReady"
        }
    };
    let generation = object.metadata.generation;
    json!({ "status": word, "conditions": conditions.into_value(), "observedGeneration": generation })
}
