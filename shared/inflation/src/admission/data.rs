//! Secret and ConfigMap. No message repeats a value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::problem::Problem;
use resources::Object;
use serde_json::{Map, Value};

use super::{CONFIG_MAP, SECRET};
use crate::field::child;
use crate::schema::Schema;

const KEY_MAX: usize = 253;

pub(super) fn check_secret(object: &mut Object, current: Option<&Object>, problems: &mut Vec<Problem>) {
    check_body(object, &SECRET, problems);
    check_keys(object, &["data", "stringData"], problems);
    check_base64(object, "data", problems);
    encode_string_data(object);
    check_immutable(object, current, &["data"], problems);
}

pub(super) fn check_config_map(object: &mut Object, current: Option<&Object>, problems: &mut Vec<Problem>) {
    check_body(object, &CONFIG_MAP, problems);
    check_keys(object, &["data", "binaryData"], problems);
    check_base64(object, "binaryData", problems);
    check_immutable(object, current, &["data", "binaryData"], problems);
}

fn check_body(object: &mut Object, schema: &Schema, problems: &mut Vec<Problem>) {
    let mut body = Value::Object(std::mem::take(&mut object.body));
    schema.apply(&mut body, "", problems);
    if let Value::Object(body) = body {
        object.body = body;
    }
}

fn entries<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.body.get(field).and_then(Value::as_object).into_iter().flatten()
}

fn check_keys(object: &Object, fields: &[&str], problems: &mut Vec<Problem>) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    for field in fields {
        for (key, _) in entries(object, field) {
            let is_key =
                !matches!(&**key, "" | "." | "..") && key.len() <= KEY_MAX && key.chars().all(is_plain);
            if !is_key {
                let message = "is not a key: at most 253 letters, digits, `-`, `_` and `.`";
                problems.push(Problem::error("name", child(field, key), message));
            }
        }
    }
}

fn check_base64(object: &mut Object, field: &str, problems: &mut Vec<Problem>) {
    let Some(entries) = object.body.get_mut(field).and_then(Value::as_object_mut) else { return };
    for (key, value) in entries {
        // Encoders break lines.
        let Some(text) = value.as_str().map(|text| text.replace(['\n', '\r'], "")) else { continue };
        if STANDARD.decode(&text).is_ok() {
            *value = text.into();
        } else {
            let problem = Problem::error("invalid", child(field, key), "is not base64");
            problems.push(if field == "data" {
                problem.help("write plain text below `stringData`")
            } else {
                problem
            });
        }
    }
}

/// `stringData` wins over `data`, and is not kept.
fn encode_string_data(object: &mut Object) {
    let Some(Value::Object(plain)) = object.body.remove("stringData") else { return };
    let data = object.body.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(data) = data {
        data.extend(
            plain.into_iter().filter_map(|(key, value)| Some((key, STANDARD.encode(value.as_str()?).into()))),
        );
    }
}

fn check_immutable(object: &Object, current: Option<&Object>, fields: &[&str], problems: &mut Vec<Problem>) {
    let Some(current) = current.filter(|current| current.body.get("immutable") == Some(&Value::Bool(true)))
    else {
        return;
    };
    if object.body.get("immutable") != Some(&Value::Bool(true)) {
        problems.push(Problem::error("immutable", "immutable", "cannot be unset"));
    }
    for field in fields {
        if object.body.get(*field) != current.body.get(*field) {
            problems.push(Problem::error("immutable", *field, "cannot be changed: the object is immutable"));
        }
    }
}
