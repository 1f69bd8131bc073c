//! A list of conditions, whose transition times move only when their status does.

use domain::time::Timestamp;
use resources::{Condition, Object};
use serde_json::{Map, Value};

pub(super) struct Conditions {
    before: Vec<Condition>,
    now: String,
    list: Vec<Condition>,
}

impl Conditions {
    pub(super) fn of(object: &Object, now: Timestamp) -> Self {
        let list = object.status().and_then(|status| status.get("conditions")).cloned();
        let before = list.and_then(|list| serde_json::from_value(list).ok()).unwrap_or_default();
        Self { before, now: runtime::clock::rfc3339(now), list: Vec::new() }
    }

    pub(super) fn set(&mut self, kind: &str, status: &str, reason: &str, message: impl Into<String>) {
        let since = self.before.iter().find(|old| old.kind == kind && old.status == status);
        let since =
            since.and_then(|old| old.last_transition_time.clone()).unwrap_or_else(|| self.now.clone());
        self.list.retain(|condition| condition.kind != kind);
        self.list.push(Condition {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            last_transition_time: Some(since),
            observed_generation: None,
        });
    }

    /// Takes over those of before whose type is kept, as they are.
    pub(super) fn keep(&mut self, keep: impl Fn(&str) -> bool) {
        self.list.extend(self.before.iter().filter(|condition| keep(&condition.kind)).cloned());
    }

    /// Conditions that a pipeline wrote, by type; its own come on top of ours.
    pub(super) fn merge(&mut self, contributed: Option<&Value>) {
        let list: Vec<Condition> =
            contributed.and_then(|list| serde_json::from_value(list.clone()).ok()).unwrap_or_default();
        for Condition { kind, status, reason, message, .. } in list {
            self.set(&kind, &status, &reason, message);
        }
    }

    pub(super) fn into_value(mut self) -> Value {
        self.list.sort_by(|a, b| a.kind.cmp(&b.kind));
        serde_json::to_value(self.list).unwrap_or_default()
    }
}

/// Overwrites keys of a status with what the pipelines contributed, except those that are not theirs.
pub(super) fn overlay(status: &mut Map<String, Value>, contributed: &Map<String, Value>) {
    for (key, value) in contributed {
        if !matches!(key.as_str(), "conditions" | "kratix" | "millrace") {
            status.insert(key.clone(), value.clone());
        }
    }
}
