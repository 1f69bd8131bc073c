//! Objects as text: tables as `kubectl` prints them, YAML, JSON.

pub(crate) mod age;
mod columns;
pub(crate) mod describe;
pub(crate) mod table;

use clap::ValueEnum;
use domain::time::Timestamp;
use resources::Object;
use resources::keys::{KUBECTL_LAST_APPLIED_ANNOTATION, LAST_APPLIED_ANNOTATION};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::kinds::Kind;
use table::Table;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    /// A table with more columns
    Wide,
    Yaml,
    Json,
}

/// A value in one of the two formats for programs.
pub(crate) fn structured(value: &impl Serialize, json: bool) -> Result<String, Failure> {
    let failed = |format, message| Failure::Format { what: "the result".into(), format, message };
    if json {
        let text = serde_json::to_string_pretty(value).map_err(|error| failed("JSON", error.to_string()))?;
        return Ok(text + "\n");
    }
    let text = serde_saphyr::to_string(value).map_err(|error| failed("YAML", error.to_string()))?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// What may be shown of an object: a Secret's last-applied annotation repeats its `stringData` in the clear.
pub(crate) fn showable(mut object: Object) -> Object {
    if object.kind == "Secret" && object.group().is_empty() {
        for annotation in [LAST_APPLIED_ANNOTATION, KUBECTL_LAST_APPLIED_ANNOTATION] {
            object.metadata.annotations.remove(annotation);
        }
    }
    object
}

/// One object as itself, several as a `List`.
pub(crate) fn list(objects: &[Object], single: bool) -> Value {
    match objects {
        [one] if single => one.to_value(),
        objects => {
            let items: Vec<Value> = objects.iter().map(Object::to_value).collect();
            json!({"apiVersion": "v1", "kind": "List", "items": items})
        }
    }
}

/// What a table of one kind shows besides the objects themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub wide: bool,
    /// A column for the namespace.
    pub namespaces: bool,
    /// Names as `kind/name`: several kinds are shown.
    pub qualified: bool,
    pub now: Timestamp,
}

/// A table of objects of one kind.
pub(crate) fn table(kind: &Kind, objects: &[Object], view: View) -> String {
    let columns = columns::of(kind, view.wide);
    let mut header: Vec<&str> = Vec::new();
    if view.namespaces && kind.namespaced {
        header.push("NAMESPACE");
    }
    header.push("NAME");
    header.extend(columns.iter().map(|column| column.header));
    header.push("AGE");
    let mut table = Table::new(header);
    for object in objects {
        let mut row = Vec::new();
        if view.namespaces && kind.namespaced {
            row.push(object.namespace().unwrap_or_default().to_owned());
        }
        let name = object.name();
        row.push(if view.qualified { format!("{}/{name}", kind.qualified()) } else { name.to_owned() });
        row.extend(columns.iter().map(|column| (column.value)(object)));
        row.push(age::since(object.metadata.creation_timestamp.as_deref(), view.now));
        table.row(row);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn shown(spelling: &str, objects: &[Object], wide: bool) -> String {
        let kinds = Kinds::of(&[crate::kinds::tests::promise("redis", "Redis", "rd")]);
        let kind = kinds.spelled(spelling).unwrap();
        let now = Timestamp(1_767_225_600_000); // 2026-01-01T00:00:00Z
        table(&kind, objects, View { wide, namespaces: true, qualified: false, now })
    }

    #[test]
    fn requests_have_upstreams_columns() {
        let cache = object(json!({
            "apiVersion": "a.io/v1", "kind": "Redis",
            "metadata": {"name": "cache", "namespace": "team-a", "creationTimestamp": "2025-12-31T23:58:10Z"},
            "status": {
                "message": "ready", "conditions": [{"type": "Reconciled", "status": "True", "message": "Reconciled"}],
                "millrace": {"run": 3, "placements": [{"destination": "dev"}, {"destination": "dev"}, {"destination": "qa"}]},
            },
        }));
        let bare = object(
            json!({"apiVersion": "a.io/v1", "kind": "Redis", "metadata": {"name": "b", "namespace": "team-a"}}),
        );
        assert_eq!(
            shown("redis", &[cache.clone(), bare], false),
            "NAMESPACE   NAME    MESSAGE   STATUS       AGE\n\
             team-a      cache   ready     Reconciled   110s\n\
             team-a      b                              <unknown>\n"
        );
        assert_eq!(
            shown("rd", &[cache], true),
            "NAMESPACE   NAME    MESSAGE   STATUS       RUN   DESTINATIONS   AGE\n\
             team-a      cache   ready     Reconciled   3     dev,qa         110s\n"
        );
    }

    #[test]
    fn promises_show_their_api_and_version() {
        let promise = object(json!({
            "apiVersion": "platform.kratix.io/v1alpha1", "kind": "Promise", "metadata": {"name": "redis"},
            "status": {"status": "Available", "kind": "Redis", "apiVersion": "a.io/v1", "version": "v1.2",
                       "conditions": [{"type": "Reconciled", "status": "True"}]},
        }));
        assert_eq!(
            shown("promise", &[promise], true),
            "NAME    STATUS      KIND    API VERSION   VERSION   READY   MESSAGE   AGE\n\
             redis   Available   Redis   a.io/v1       v1.2      True              <unknown>\n"
        );
    }

    #[test]
    fn secrets_are_counted_not_shown() {
        let secret = object(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git", "namespace": "default"},
            "data": {"a": "aHVudGVyMg==", "b": ""}, "type": "Opaque",
        }));
        assert_eq!(
            shown("secret", &[secret], false),
            "NAMESPACE   NAME   TYPE     DATA   AGE\ndefault     git    Opaque   2      <unknown>\n"
        );
    }

    #[test]
    fn only_secrets_are_shown_without_what_was_applied_last() {
        let of = |kind: &str| {
            let annotations =
                json!({LAST_APPLIED_ANNOTATION: "plain", KUBECTL_LAST_APPLIED_ANNOTATION: "plain", "a": "b"});
            showable(object(json!({
                "apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "annotations": annotations},
            })))
        };
        let secret = list(&[of("Secret")], false).to_string();
        assert!(!secret.contains("plain") && secret.contains(r#""a":"b""#), "{secret}");
        assert_eq!(of("ConfigMap").metadata.annotations.len(), 3);
    }

    #[test]
    fn what_is_not_acted_on_says_so() {
        let stage = object(json!({
            "apiVersion": "kargo.akuity.io/v1alpha1", "kind": "Stage", "metadata": {"name": "dev", "namespace": "p"},
            "status": {"conditions": [{"type": "Supported", "status": "False"}]},
        }));
        assert_eq!(
            shown("stage", &[stage], false),
            "NAMESPACE   NAME   SUPPORTED   AGE\np           dev    False       <unknown>\n"
        );
    }

    #[test]
    fn yaml_can_be_applied_again() {
        let value = json!({"kind": "K", "text": "two\nlines\n", "yes": "yes", "n": "0755", "e": {}, "l": [{"a": 1}, []]});
        let text = structured(&value, false).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{text}");
    }
}
