//! What the API server does to a value before it checks it: drops nulls, fills in defaults; and finds unknown fields.

use domain::problem::Problem;
use serde_json::{Map, Value};

use crate::field::{child, item};
use crate::nearest::did_you_mean;

pub(super) fn fill(schema: &Value, value: &mut Value, at: &str, problems: &mut Vec<Problem>) {
    match value {
        Value::Object(fields) if may_be(schema, "object") => fill_fields(schema, fields, at, problems),
        Value::Array(items) if may_be(schema, "array") => {
            if let Some(inner) = schema.get("items") {
                for (index, value) in items.iter_mut().enumerate() {
                    fill(inner, value, &item(at, index), problems);
                }
            }
        }
        _ => {}
    }
}

/// A value of another type is reported once, by the check of types.
fn may_be(schema: &Value, kind: &str) -> bool {
    schema.get("type").is_none_or(|found| found == kind)
}

fn fill_fields(schema: &Value, fields: &mut Map<String, Value>, at: &str, problems: &mut Vec<Problem>) {
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let is_set = |schema: &Value, flag: &str| schema.get(flag) == Some(&Value::Bool(true));
    fields.retain(|name, value| {
        !(value.is_null() && properties.get(name).is_some_and(|inner| !is_set(inner, "nullable")))
    });
    for (name, inner) in properties {
        if let Some(default) = inner.get("default").filter(|_| !fields.contains_key(name)) {
            fields.insert(name.clone(), default.clone());
        }
    }
    let others = schema.get("additionalProperties").filter(|others| **others != Value::Bool(false));
    // A schema that says nothing about its fields and no type allows any.
    let is_open = is_set(schema, "x-kubernetes-preserve-unknown-fields")
        || (schema.get("type").is_none() && properties.is_empty());
    let is_embedded = is_set(schema, "x-kubernetes-embedded-resource");
    for (name, value) in fields {
        let field = child(at, name);
        if let Some(inner) = properties.get(name).or(others) {
            fill(inner, value, &field, problems);
        } else if !(is_open || is_embedded && matches!(&**name, "apiVersion" | "kind" | "metadata")) {
            problems.push(unknown_field(field, name, properties.keys().map(String::as_str)));
        }
    }
}

pub(crate) fn unknown_field<'a>(
    field: String,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Problem {
    let problem = Problem::error("unknown-field", field, format!("unknown field `{name}`"));
    Problem { help: did_you_mean(name, known), ..problem }
}
