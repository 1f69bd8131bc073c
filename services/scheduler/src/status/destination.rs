//! Status of Destinations and stores, from the writer's answers.

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
    json!({ "conditions": conditions.into_value() })
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
    json!({ "conditions": conditions.into_value(), "observedGeneration": answer.generation })
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
