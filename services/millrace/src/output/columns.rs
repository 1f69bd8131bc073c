//! Which columns a kind has, and how they are read off an object.

use std::collections::BTreeSet;

use domain::id::ResourceKind;
use resources::Object;
use resources::kinds::Support;
use serde_json::Value;

use crate::kinds::{Kind, Role};

/// A column between the name and the age.
pub(super) struct Column {
    pub header: &'static str,
    wide: bool,
    pub value: fn(&Object) -> String,
}

const fn column(header: &'static str, value: fn(&Object) -> String) -> Column {
    Column { header, wide: false, value }
}

const fn wide(header: &'static str, value: fn(&Object) -> String) -> Column {
    Column { header, wide: true, value }
}

static PROMISE: &[Column] = &[
    column("STATUS", |o| at(o, "/status/status")),
    column("KIND", |o| at(o, "/status/kind")),
    wide("API VERSION", |o| at(o, "/status/apiVersion")),
    column("VERSION", |o| at(o, "/status/version")),
    column("READY", |o| condition(o, "Reconciled", "status")),
    wide("MESSAGE", |o| at(o, "/status/message")),
];

static REQUEST: &[Column] = &[
    column("MESSAGE", |o| at(o, "/status/message")),
    column("STATUS", |o| condition(o, "Reconciled", "message")),
    wide("RUN", |o| at(o, "/status/millrace/run")),
    wide("DESTINATIONS", destinations),
];

static DESTINATION: &[Column] = &[
    column("READY", |o| condition(o, "Ready", "status")),
    column("PATH", |o| at(o, "/spec/path")),
    column("STORE", |o| at(o, "/spec/stateStoreRef/name")),
    wide("MODE", |o| at(o, "/spec/filepath/mode")),
    wide("LABELS", labels),
];

static GIT_STORE: &[Column] = &[
    column("READY", |o| condition(o, "Ready", "status")),
    column("URL", |o| at(o, "/spec/url")),
    column("BRANCH", |o| at(o, "/spec/branch")),
    wide("PATH", |o| at(o, "/spec/path")),
    wide("MESSAGE", |o| condition(o, "Ready", "message")),
];

static SECRET: &[Column] = &[column("TYPE", |o| at(o, "/type")), column("DATA", entries)];

static CONFIG_MAP: &[Column] = &[column("DATA", entries)];

static NOT_ACTED: &[Column] = &[
    column("SUPPORTED", |o| condition(o, "Supported", "status")),
    wide("MESSAGE", |o| condition(o, "Supported", "message")),
];

/// The columns of a kind.
pub(super) fn of(kind: &Kind, wide: bool) -> Vec<&'static Column> {
    let ResourceKind { plural, group } = &kind.resource;
    let all = match (&kind.role, &**group, &**plural) {
        (Role::Request { .. }, _, _) => REQUEST,
        (_, "", "secrets") => SECRET,
        (_, "", "configmaps") => CONFIG_MAP,
        (_, _, "promises") => PROMISE,
        (_, _, "destinations") => DESTINATION,
        (_, _, "gitstatestores") => GIT_STORE,
        (Role::Known(Support::KnownNotActed), _, _) => NOT_ACTED,
        (Role::Known(Support::Acted | Support::Ignored), _, _) => &[],
    };
    all.iter().filter(|column| wide || !column.wide).collect()
}

/// A scalar by its place in the object; empty when there is none.
fn at(object: &Object, pointer: &str) -> String {
    let (field, rest) = pointer[1..].split_once('/').unwrap_or((&pointer[1..], ""));
    let value = object.body.get(field);
    let value =
        if rest.is_empty() { value } else { value.and_then(|value| value.pointer(&format!("/{rest}"))) };
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn condition(object: &Object, kind: &str, field: &str) -> String {
    let conditions = object.status().and_then(|status| status.get("conditions")?.as_array());
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == *kind);
    found.and_then(|condition| condition[field].as_str()).unwrap_or_default().to_owned()
}

fn destinations(object: &Object) -> String {
    let placements = object.status().and_then(|status| status.pointer("/millrace/placements")?.as_array());
    let names = placements.into_iter().flatten().filter_map(|placement| placement["destination"].as_str());
    names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",")
}

fn labels(object: &Object) -> String {
    let labels = object.metadata.labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(",")
}

fn entries(object: &Object) -> String {
    let count =
        |field: &str| object.body.get(field).and_then(Value::as_object).map_or(0, serde_json::Map::len);
    (count("data") + count("binaryData")).to_string()
}
