//! All about one object, for people.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use domain::lane::Lane;
use domain::time::Timestamp;
use resources::Object;
use resources::keys::{
    KUBECTL_LAST_APPLIED_ANNOTATION, LAST_APPLIED_ANNOTATION, ORIGIN_DIGEST_ANNOTATION,
    ORIGIN_DIRECTORY_ANNOTATION, ORIGIN_FILE_ANNOTATION,
};
use serde_json::Value;

use super::age;
use super::table::Table;
use crate::deleted::origin;
use crate::events::{Event, detail};
use crate::failure::Failure;
use crate::kinds::Kind;

/// Lines of a `spec` that are shown; `get -o yaml` has them all.
const SPEC_LINES: usize = 40;
const EVENTS: usize = 12;
/// Width of the longest title.
const TITLE: usize = 14;

/// Annotations that are shown in another way, or are for programs.
const OWN_ANNOTATIONS: [&str; 5] = [
    LAST_APPLIED_ANNOTATION,
    KUBECTL_LAST_APPLIED_ANNOTATION,
    ORIGIN_DIGEST_ANNOTATION,
    ORIGIN_DIRECTORY_ANNOTATION,
    ORIGIN_FILE_ANNOTATION,
];

/// What is known of the object.
pub(crate) struct Known<'a> {
    pub kind: &'a Kind,
    pub object: &'a Object,
    /// For Promises and requests.
    pub lane: Option<&'a Lane>,
    /// Oldest first.
    pub events: &'a [Event],
    pub now: Timestamp,
}

pub(crate) fn describe(known: &Known<'_>) -> Result<String, Failure> {
    let mut text = head(known);
    if known.kind.is_secret() || known.object.body.contains_key("data") {
        text += &data(known.object);
    }
    if let Some(spec) = known.object.spec() {
        text += &summary(spec)?;
    }
    text += &conditions(known.object, known.now);
    text += &pipelines(known.object, known.now);
    text += &placements(known.object);
    text += &events(known.events, known.now);
    Ok(text)
}

fn line(title: &str, value: &str) -> String {
    format!("{:<TITLE$}{value}\n", format!("{title}:")).trim_end().to_owned() + "\n"
}

fn head(known: &Known<'_>) -> String {
    let meta = &known.object.metadata;
    let mut text = line("Name", &meta.name);
    if let Some(namespace) = &meta.namespace {
        text += &line("Namespace", namespace);
    }
    text += &line("Kind", &known.object.kind);
    text += &line("API Version", &known.object.api_version);
    text += &pairs("Labels", &meta.labels);
    let mut annotations = meta.annotations.clone();
    annotations.retain(|key, _| !OWN_ANNOTATIONS.contains(&&**key));
    text += &pairs("Annotations", &annotations);
    if let Some(origin) = origin(known.object) {
        text += &line("From", &Path::new(&origin.directory).join(origin.file).display().to_string());
    }
    if let Some(created) = &meta.creation_timestamp {
        text += &line("Created", &format!("{created} ({} ago)", age::since(Some(created), known.now)));
    }
    if let Some(deleted) = &meta.deletion_timestamp {
        text += &line("Deletion", &format!("asked for {} ago", age::since(Some(deleted), known.now)));
    }
    if let Some(waiting) = known.lane.and_then(Lane::waiting) {
        text += &line("Waiting", &waiting.to_string());
    }
    if let Some(notice) = known.lane.and_then(|lane| lane.notice.as_deref()) {
        text += &line("Notice", notice);
    }
    text
}

fn pairs(title: &str, pairs: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (index, (key, value)) in pairs.iter().enumerate() {
        let title = if index == 0 { format!("{title}:") } else { String::new() };
        let _ = writeln!(text, "{title:<TITLE$}{key}={value}");
    }
    if pairs.is_empty() { line(title, "<none>") } else { text }
}

/// Names and sizes; values are nobody's business here.
fn data(object: &Object) -> String {
    let mut text = "Data:\n".to_owned();
    for field in ["data", "binaryData"] {
        for (key, value) in object.body.get(field).and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let encoded = field == "binaryData" || object.kind == "Secret";
            let size = if encoded { decoded_size(value) } else { value.len() };
            let _ = writeln!(text, "  {key}: {size} bytes");
        }
    }
    text
}

/// Of what stands in base64.
fn decoded_size(text: &str) -> usize {
    text.bytes().filter(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte)).count() * 3 / 4
}

fn summary(spec: &Value) -> Result<String, Failure> {
    let mut spec = spec.clone();
    if let Some(api) = spec.get_mut("api")
        && let Some(name) = api.pointer("/metadata/name").cloned()
    {
        *api = name; // the schema is long, and the name says what it is
    }
    let yaml = super::structured(&spec, false)?;
    let mut text = "Spec:\n".to_owned();
    for line in yaml.lines().take(SPEC_LINES) {
        let _ = writeln!(text, "  {line}");
    }
    let left = yaml.lines().count().saturating_sub(SPEC_LINES);
    if left > 0 {
        let _ = writeln!(text, "  ... {left} more lines, shown by get -o yaml");
    }
    Ok(text)
}

/// A table below its title, or nothing.
fn section(title: &str, table: &Table) -> String {
    if table.is_empty() {
        return String::new();
    }
    let mut text = format!("{title}:\n");
    for line in table.to_string().lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// One row per entry of a list in the status.
fn listed(object: &Object, pointer: &str, header: &[&str], row: impl Fn(&Value) -> Vec<String>) -> Table {
    let mut table = Table::new(header.iter().copied());
    let list = object.status().and_then(|status| status.pointer(pointer)?.as_array());
    for entry in list.into_iter().flatten() {
        table.row(row(entry));
    }
    table
}

fn cell(entry: &Value, field: &str) -> String {
    match entry.get(field) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn conditions(object: &Object, now: Timestamp) -> String {
    let header = ["TYPE", "STATUS", "REASON", "MESSAGE", "SINCE"];
    let table = listed(object, "/conditions", &header, |entry| {
        let since = age::since(entry["lastTransitionTime"].as_str(), now);
        ["type", "status", "reason", "message"]
            .map(|field| cell(entry, field))
            .into_iter()
            .chain([since])
            .collect()
    });
    section("Conditions", &table)
}

fn pipelines(object: &Object, now: Timestamp) -> String {
    let header = ["NAME", "PHASE", "ATTEMPTS", "SINCE", "MESSAGE"];
    let table = listed(object, "/kratix/workflows/pipelines", &header, |entry| {
        let since = age::since(entry["lastTransitionTime"].as_str(), now);
        vec![
            cell(entry, "name"),
            cell(entry, "phase"),
            cell(entry, "attempts"),
            since,
            cell(entry, "message"),
        ]
    });
    section("Pipelines", &table)
}

fn placements(object: &Object) -> String {
    let header = ["PIPELINE", "DESTINATION", "PATH", "REVISION"];
    let table = listed(object, "/millrace/placements", &header, |entry| {
        let revision = cell(entry, "revision").chars().take(8).collect();
        vec![cell(entry, "pipeline"), cell(entry, "destination"), cell(entry, "path"), revision]
    });
    section("Placements", &table)
}

fn events(events: &[Event], now: Timestamp) -> String {
    let mut table = Table::new(["AGE", "TRANSITION", "DETAIL"]);
    for event in &events[events.len().saturating_sub(EVENTS)..] {
        table.row([age::since(Some(&event.time), now), event.transition(), detail(&event.lane)]);
    }
    section("Events", &table)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Kinds;

    fn shown(spelling: &str, value: Value) -> String {
        let kinds = Kinds::of(&[crate::kinds::tests::promise("redis", "Redis", "rd")]);
        let kind = kinds.spelled(spelling).unwrap();
        let object = Object::from_value(value).unwrap();
        let now = Timestamp(1_767_225_600_000);
        describe(&Known { kind: &kind, object: &object, lane: None, events: &[], now }).unwrap()
    }

    #[test]
    fn a_request_shows_where_it_stands() {
        let text = shown(
            "redis",
            json!({
                "apiVersion": "a.io/v1", "kind": "Redis",
                "metadata": {
                    "name": "cache", "namespace": "team-a", "creationTimestamp": "2025-12-31T23:58:10Z",
                    "labels": {"a": "b", "c": "d"}, "annotations": {LAST_APPLIED_ANNOTATION: "{}"},
                },
                "spec": {"size": "small"},
                "status": {
                    "conditions": [{"type": "Reconciled", "status": "True", "reason": "Reconciled",
                                    "message": "Reconciled", "lastTransitionTime": "2025-12-31T23:59:50Z"}],
                    "kratix": {"workflows": {"pipelines": [{"name": "install", "phase": "Succeeded", "attempts": 1,
                                                            "lastTransitionTime": "2025-12-31T23:59:50Z"}]}},
                    "millrace": {"placements": [{"pipeline": "install", "destination": "dev", "path": "dev/resources",
                                                 "revision": "0123456789abcdef"}]},
                },
            }),
        );
        let expected = "\
Name:         cache
Namespace:    team-a
Kind:         Redis
API Version:  a.io/v1
Labels:       a=b
              c=d
Annotations:  <none>
Created:      2025-12-31T23:58:10Z (110s ago)
Spec:
  size: small
Conditions:
  TYPE         STATUS   REASON       MESSAGE      SINCE
  Reconciled   True     Reconciled   Reconciled   10s
Pipelines:
  NAME      PHASE       ATTEMPTS   SINCE   MESSAGE
  install   Succeeded   1          10s
Placements:
  PIPELINE   DESTINATION   PATH            REVISION
  install    dev           dev/resources   01234567
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_secret_shows_sizes_only() {
        let text = shown(
            "secret",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git", "namespace": "default"},
                   "data": {"password": "aHVudGVyMg==", "empty": ""}}),
        );
        assert!(text.ends_with("Data:\n  empty: 0 bytes\n  password: 7 bytes\n"), "{text}");
        assert!(!text.contains("aHVudGVyMg"), "{text}");
    }

    #[test]
    fn a_promise_is_shortened() {
        let containers: Vec<Value> = (0..50).map(|n| json!({"name": format!("c{n}")})).collect();
        let mut promise = crate::kinds::tests::promise("redis", "Redis", "rd").to_value();
        promise["spec"]["workflows"] = json!(containers);
        let text = shown("promise", promise);
        assert!(text.contains("\n  api: rediss.a.io\n"), "{text}");
        assert!(text.contains("more lines, shown by get -o yaml"), "{text}");
    }
}
