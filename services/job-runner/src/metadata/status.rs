//! `status.yaml`: what the pipeline adds to its object's status.

use serde_json::{Map, Value};

use super::Error;

/// Written by the platform alone.
const RESERVED: [&str; 2] = ["kratix", "millrace"];

pub(super) fn check(status: Map<String, Value>) -> Result<Map<String, Value>, Error> {
    if let Some(key) = RESERVED.into_iter().find(|key| status.contains_key(*key)) {
        return Err(Error::ReservedStatus { key });
    }
    let named = |condition: &Value| {
        let kind = condition.as_object().and_then(|condition| condition.get("type"));
        kind.and_then(Value::as_str).is_some_and(|kind| !kind.is_empty())
    };
    match status.get("conditions") {
        None => Ok(status),
        Some(Value::Array(conditions)) if conditions.iter().all(named) => Ok(status),
        Some(_) => Err(Error::Conditions),
    }
}
