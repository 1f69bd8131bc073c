//! Condition `Supported` of an object without a lane.

use domain::problem::Problem;
use domain::time::Timestamp;
use resources::Object;
use serde_json::{Map, Value};

use super::conditions::Conditions;

const SUPPORTED: &str = "Supported";

/// The status with the condition set, or without it when nothing is left to say; all else as it is.
pub(super) fn status(object: &Object, problems: &[Problem], now: Timestamp) -> Value {
    let mut status = object.status().and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    let mut conditions = Conditions::of(object, now);
    conditions.keep(|kind| kind != SUPPORTED);
    if !problems.is_empty() {
        let fields: Vec<String> = problems.iter().map(ToString::to_string).collect();
        conditions.set(SUPPORTED, "False", "NotActedOn", fields.join("; "));
    }
    status.insert("conditions".into(), conditions.into_value());
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_condition_comes_and_goes_and_leaves_the_rest() {
        let ready = json!({"type": "Ready", "status": "True", "reason": "x", "message": ""});
        let mut object = Object::from_value(json!({
            "apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "status": {"a": 1, "conditions": [ready]},
        }))
        .unwrap();
        let problems = [Problem::unsupported("spec.mode", "not acted on")];
        let with = status(&object, &problems, Timestamp(0));
        assert_eq!(with["a"], 1);
        assert_eq!(with["conditions"][0]["type"], "Ready");
        assert_eq!(with["conditions"][1]["message"], "spec.mode: not acted on");
        object.body.insert("status".into(), with);
        let without = status(&object, &[], Timestamp(0));
        assert_eq!(without["conditions"].as_array().map(Vec::len), Some(1));
    }
}
