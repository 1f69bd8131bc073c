//! Reading an object part by part: one part of the wrong shape does not keep the others from being checked.

use domain::problem::Problem;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A field as its type; none when it is absent, or of another shape (then the schema has said so).
pub(super) fn part<T: DeserializeOwned>(parent: &Value, field: &str) -> Option<T> {
    serde_json::from_value(parent.get(field)?.clone()).ok()
}

/// The items of a list; none when it is absent or no list.
pub(super) fn items<'a>(parent: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    parent.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// Whether a field says anything.
pub(super) fn is_set(parent: &Value, field: &str) -> bool {
    match parent.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => true,
    }
}

pub(super) fn required(field: impl Into<String>) -> Problem {
    Problem::error("required", field, "required")
}

pub(super) fn not_acted_on(field: impl Into<String>, what: &str) -> Problem {
    Problem::unsupported(field, format!("this version does not act on {what}"))
}
