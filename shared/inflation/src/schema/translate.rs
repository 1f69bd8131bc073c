//! A structural schema as JSON Schema: only keywords that it may have, Kubernetes' own replaced by what they mean.

use domain::problem::Problem;
use serde_json::{Map, Value, json};

use crate::field::{child, item};

/// Keywords with the same meaning in both.
const SAME: [&str; 16] = [
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "uniqueItems",
];
/// Keywords with schemas in them: one each, a list each, or a map each.
const ONE: [&str; 3] = ["additionalProperties", "items", "not"];
const LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const MAP: &str = "properties";
/// Keywords that check nothing here.
const SILENT: [&str; 7] = ["default", "description", "example", "externalDocs", "nullable", "title", "type"];
/// Keywords that the API server refuses.
const FORBIDDEN: [&str; 7] =
    ["$ref", "$schema", "additionalItems", "definitions", "dependencies", "id", "patternProperties"];

pub(super) fn translate(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (keyword, value) in keywords {
        let translated = match &**keyword {
            same if SAME.contains(&same) => value.clone(),
            one if ONE.contains(&one) => translate(value),
            list if LIST.contains(&list) => value.as_array().into_iter().flatten().map(translate).collect(),
            MAP => value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, one)| (name.clone(), translate(one)))
                .collect(),
            "x-kubernetes-list-type" if value == "set" => {
                out.insert("uniqueItems".into(), Value::Bool(true));
                continue;
            }
            _ => continue,
        };
        out.insert(keyword.clone(), translated);
    }
    let is_set = |flag: &str| keywords.get(flag) == Some(&Value::Bool(true));
    let mut types: Vec<Value> = match keywords.get("type") {
        _ if is_set("x-kubernetes-int-or-string") => vec![json!("integer"), json!("string")],
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    if is_set("nullable") && !types.is_empty() {
        types.push(json!("null"));
        if let Some(choices) = out.get_mut("enum").and_then(Value::as_array_mut) {
            choices.push(Value::Null);
        }
    }
    match types.len() {
        0 => None,
        1 => out.insert("type".into(), types.remove(0)),
        _ => out.insert("type".into(), types.into()),
    };
    Value::Object(out)
}

/// Keywords that a structural schema may not have (errors), and those that have no effect here (warnings).
pub(super) fn problems(schema: &Value, at: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let field = child(at, keyword);
        match &**keyword {
            one if ONE.contains(&one) => problems.extend(self::problems(value, &field)),
            list if LIST.contains(&list) => {
                for (index, one) in value.as_array().into_iter().flatten().enumerate() {
                    problems.extend(self::problems(one, &item(&field, index)));
                }
            }
            MAP => {
                for (name, one) in value.as_object().into_iter().flatten() {
                    problems.extend(self::problems(one, &child(&field, name)));
                }
            }
            "x-kubernetes-validations" => {
                problems.push(Problem::warning(
                    "not-checked",
                    field,
                    "CEL rules are not checked by this version",
                ));
            }
            name if FORBIDDEN.contains(&name) => {
                problems.push(Problem::error("schema", field, "not allowed in a structural schema"));
            }
            name if SAME.contains(&name) || SILENT.contains(&name) => {}
            name if name.starts_with("x-") => {}
            _ => problems.push(Problem::warning("no-effect", field, "unknown keyword, it is ignored")),
        }
    }
    problems
}
