//! Kubernetes' structural schemas (`openAPIV3Schema`): nulls dropped, defaults filled in, unknown fields refused, the
//! rest checked as JSON Schema.

mod fill;
pub(crate) mod known;
mod messages;
mod translate;

pub(crate) use fill::unknown_field;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use domain::problem::Problem;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// Largest compiled form of one `pattern`, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

/// A structural schema, compiled when first needed.
#[derive(Debug)]
pub(crate) struct Schema {
    structural: Value,
    compiled: OnceLock<Result<Validator, String>>,
}

impl Schema {
    pub(crate) fn new(structural: Value) -> Self {
        Self { structural, compiled: OnceLock::new() }
    }

    /// Of the objects of a Promise's API. Their heads and `status` are not for the author of the schema to rule.
    pub(crate) fn of_requests(mut structural: Value) -> Self {
        let exempt = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata" | "status");
        if let Some(properties) = structural.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !exempt(name));
        }
        if let Some(required) = structural.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !name.as_str().is_some_and(exempt));
        }
        Self::new(structural)
    }

    /// What is wrong with the schema itself, which stands at `at`.
    pub(crate) fn check(&self, at: &str) -> Vec<Problem> {
        let mut problems = translate::problems(&self.structural, at);
        if let Err(error) = self.compiled() {
            problems.push(Problem::error("schema", at, error.clone()));
        }
        problems
    }

    /// Completes and checks the value at `at`. It is complete even when it has problems.
    pub(crate) fn apply(&self, value: &mut Value, at: &str, problems: &mut Vec<Problem>) {
        fill::fill(&self.structural, value, at, problems);
        match self.compiled() {
            Ok(validator) => {
                let mut found: Vec<_> =
                    validator.iter_errors(value).map(|error| messages::problem(&error, at)).collect();
                found.sort_by(|(_, a), (_, b)| (&a.field, &a.message).cmp(&(&b.field, &b.message)));
                // Of a value of the wrong type nothing else is worth saying.
                let mistyped: BTreeSet<String> = found
                    .iter()
                    .filter(|(is_type, _)| *is_type)
                    .map(|(_, problem)| problem.field.clone())
                    .collect();
                let kept = found.into_iter().filter(|(is_type, p)| *is_type || !mistyped.contains(&p.field));
                problems.extend(kept.map(|(_, problem)| problem));
            }
            Err(error) => problems.push(Problem::error("schema", at, error.clone())),
        }
    }

    fn compiled(&self) -> &Result<Validator, String> {
        self.compiled.get_or_init(|| {
            // Draft 4 is the one OpenAPI 3.0 follows: `exclusiveMinimum` is a boolean. The `regex` engine is linear.
            let options = jsonschema::options().with_draft(Draft::Draft4).offline();
            let options = options.should_validate_formats(true).should_ignore_unknown_formats(true);
            let options = options.with_pattern_options(PatternOptions::regex().size_limit(PATTERN_LIMIT));
            let translated = translate::translate(&self.structural);
            options.build(&translated).map_err(|error| format!("the schema cannot be used: {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &Value, problems: &[&str]) {
        let (schema, mut value) = (Schema::new(schema.clone()), value.clone());
        assert_eq!(schema.check("s"), [], "the schema itself");
        let mut found = Vec::new();
        schema.apply(&mut value, "spec", &mut found);
        let shown = |problem: &Problem| match &problem.help {
            Some(help) => format!("{problem}; {help}"),
            None => problem.to_string(),
        };
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), problems);
        assert_eq!(value, *expected);
    }

    #[test]
    fn defaults_fill_what_is_absent_or_null() {
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "string", "default": "small"},
            "nested": {"type": "object", "default": {}, "properties": {"on": {"type": "boolean", "default": true}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "x": {"type": "string", "default": "y"},
            }}},
            "nothing": {"type": "string"},
            "nullable": {"type": "string", "nullable": true},
        }});
        let value = json!({"size": null, "list": [{}, {"n": 2}], "map": {"a": {}}, "nothing": null, "nullable": null});
        let expected = json!({
            "size": "small", "nested": {"on": true}, "list": [{"n": 1}, {"n": 2}], "map": {"a": {"x": "y"}},
            "nullable": null,
        });
        check(&schema, &value, &expected, &[]);
    }

    #[test]
    fn unknown_fields_are_named_with_the_nearest_known() {
        let schema = json!({"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                     "properties": {"strict": {"type": "object", "properties": {"a": {"type": "string"}}}}},
            "object": {"type": "object", "x-kubernetes-embedded-resource": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }});
        let value = json!({
            "replica": 1, "open": {"anything": [{}], "strict": {"b": 1}}, "labels": {"x": "y"}, "zzz": {},
            "object": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "data": {}},
        });
        check(
            &schema,
            &value,
            &value,
            &[
                "spec.object.data: unknown field `data`",
                "spec.open.strict.b: unknown field `b`; did you mean `a`?",
                "spec.replica: unknown field `replica`; did you mean `replicas`?",
                "spec.zzz: unknown field `zzz`",
            ],
        );
    }

    #[test]
    fn constraints_have_readable_messages() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"},
            "port": {"x-kubernetes-int-or-string": true},
            "size": {"type": "string", "enum": ["small", "large"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 5, "exclusiveMaximum": true},
            "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "minItems": 1},
            "when": {"type": "string", "format": "date-time"},
            "either": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                       "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "odd": {"type": "string", "format": "made-up"},
        }});
        let value = json!({
            "port": true, "size": "huge", "count": 5, "code": "ABCD", "tags": ["a", "a"], "when": "yesterday",
            "either": {}, "odd": "x",
        });
        check(
            &schema,
            &value,
            &value,
            &[
                "spec.code: does not match `^[a-z]+$`",
                "spec.code: longer than 3 characters",
                "spec.count: must be less than 5",
                "spec.either: matches none of the forms that its schema allows",
                "spec.name: required",
                "spec.port: expected integer or string, found boolean",
                "spec.size: expected one of `small`, `large`, found `huge`",
                "spec.tags: has equal items",
                "spec.when: is not a date-time",
            ],
        );
        let value =
            json!({"name": 5, "port": "http", "count": 1.5, "tags": [], "either": {"a": "", "b": ""}});
        check(
            &schema,
            &value,
            &value,
            &[
                "spec.count: expected integer, found number",
                "spec.either: matches more than one of the forms that its schema allows",
                "spec.name: expected string, found integer; put it in quotes",
                "spec.tags: fewer than 1 items",
            ],
        );
    }

    #[test]
    fn what_a_structural_schema_may_not_say_is_named() {
        let schema = Schema::new(json!({"type": "object", "properties": {
            "a": {"$ref": "https://example.com/x"},
            "b": {"type": "string", "pattern": "(?=x)"},
            "c": {"type": "object", "x-kubernetes-validations": [{"rule": "true"}], "const": 1},
            "$ref": {"type": "string"},
        }}));
        let found = schema.check("s").iter().map(|p| format!("{:?} {p}", p.severity)).collect::<Vec<_>>();
        assert_eq!(
            found[..3],
            [
                "Error s.properties.a.$ref: not allowed in a structural schema",
                "Warning s.properties.c.const: unknown keyword, it is ignored",
                "Warning s.properties.c.x-kubernetes-validations: CEL rules are not checked by this version",
            ]
        );
        assert!(found[3].starts_with("Error s: the schema cannot be used:"), "{found:?}");
        assert_eq!(found.len(), 4);
    }
}
