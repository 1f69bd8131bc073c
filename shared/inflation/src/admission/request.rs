//! A request: an object of the kind that a Promise offers.

use domain::problem::Problem;
use resources::Object;
use resources::keys::PROMISE_NAME_LABEL;
use serde_json::Value;

use super::kind::unknown_version;
use crate::world::InstalledPromise;

pub(super) fn check(
    object: &mut Object,
    promise: &InstalledPromise,
    current: Option<&Object>,
    problems: &mut Vec<Problem>,
) {
    object.metadata.labels.insert(PROMISE_NAME_LABEL.into(), promise.name().into());
    if current.is_none() && promise.object.is_terminating() {
        let message = format!("Promise `{}` is being deleted, it takes no new requests", promise.name());
        problems.push(Problem::error("terminating", "", message));
    }
    let Some(schema) = promise.schemas.get(object.version()) else {
        let served: Vec<&str> = promise.schemas.keys().map(String::as_str).collect();
        problems.push(unknown_version(object, &served));
        return;
    };
    let mut body = Value::Object(std::mem::take(&mut object.body));
    schema.apply(&mut body, "", problems);
    if let Value::Object(body) = body {
        object.body = body;
    }
}
