//! What a failed check says to a person. Values of objects are quoted only where the choice is among known words.

use domain::problem::Problem;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::LocationSegment;
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::field::{child, item};

/// Longest value that is quoted.
const LONGEST_QUOTE: usize = 60;

/// A failed check of the value at `at`, and whether it is the one of its type.
pub(super) fn problem(error: &ValidationError<'_>, at: &str) -> (bool, Problem) {
    let mut field = at.to_owned();
    for segment in error.instance_path() {
        field = match segment {
            LocationSegment::Property(name) => child(&field, &name),
            LocationSegment::Index(index) => item(&field, index),
        };
    }
    if let Kind::Required { property } = error.kind() {
        let field = child(&field, property.as_str().unwrap_or_default());
        return (false, Problem::error("required", field, "required"));
    }
    let problem = Problem::error("schema", field, message(error));
    match error.kind() {
        Kind::Type { kind: TypeKind::Single(JsonType::String) } if is_bare_scalar(error.instance()) => {
            (true, problem.help("put it in quotes"))
        }
        kind => (matches!(kind, Kind::Type { .. }), problem),
    }
}

fn message(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Type { kind } => format!("expected {}, found {}", expected(kind), type_of(error.instance())),
        Kind::Enum { options } => format!("expected one of {}{}", choices(options), found(error.instance())),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MinLength { limit } => format!("shorter than {limit} characters"),
        Kind::MaxLength { limit } => format!("longer than {limit} characters"),
        Kind::MinItems { limit } => format!("fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("more than {limit} items"),
        Kind::MinProperties { limit } => format!("fewer than {limit} fields"),
        Kind::MaxProperties { limit } => format!("more than {limit} fields"),
        Kind::Pattern { pattern } => format!("does not match `{pattern}`"),
        Kind::Format { format } => format!("is not a {format}"),
        Kind::UniqueItems => "has equal items".into(),
        Kind::Not { .. } => "matches a form that its schema rules out".into(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            "matches none of the forms that its schema allows".into()
        }
        Kind::OneOfMultipleValid { .. } => "matches more than one of the forms that its schema allows".into(),
        _ => error.masked().to_string(),
    }
}

fn expected(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.as_str().into(),
        TypeKind::Multiple(set) => set.iter().map(JsonType::as_str).collect::<Vec<_>>().join(" or "),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_bare_scalar(value: &Value) -> bool {
    value.is_boolean() || value.is_number()
}

fn choices(options: &Value) -> String {
    let words = options.as_array().into_iter().flatten();
    words.map(|word| format!("`{}`", as_text(word))).collect::<Vec<_>>().join(", ")
}

fn found(value: &Value) -> String {
    let text = as_text(value);
    if text.chars().count() > LONGEST_QUOTE { String::new() } else { format!(", found `{text}`") }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
