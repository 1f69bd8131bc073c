//! Structural schemas of the types here, in the form that a CustomResourceDefinition holds (`openAPIV3Schema`).

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// The schema of a type, without references. Unknown fields are outside of it unless it says
/// `x-kubernetes-preserve-unknown-fields`.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// Takes out what a structural schema does not say: titles, `additionalProperties: false` (that is the default), and
/// `nullable` (the API server drops nulls instead).
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|keyword, value| match &**keyword {
                "title" => !value.is_string(),
                "additionalProperties" | "nullable" => !value.is_boolean(),
                _ => true,
            });
            map.values_mut().for_each(tidy);
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}

pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

pub(crate) fn any_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{DestinationSpec, GitStateStoreSpec, PromiseSpec};

    #[test]
    fn defaults_are_upstreams() {
        let destination = schema_of::<DestinationSpec>();
        let properties = &destination["properties"];
        assert_eq!(properties["filepath"]["default"], json!({"mode": "nestedByMetadata"}));
        assert_eq!(
            properties["filepath"]["properties"]["mode"]["enum"],
            json!(["nestedByMetadata", "aggregatedYAML", "none"])
        );
        assert_eq!(properties["cleanup"]["default"], "none");
        assert_eq!(properties["initWorkloads"]["properties"]["enabled"]["default"], true);
        assert_eq!(properties["strictMatchLabels"].get("default"), None);
        assert_eq!(destination["required"], json!(["path", "stateStoreRef"]));

        let store = schema_of::<GitStateStoreSpec>();
        assert_eq!(store["properties"]["branch"]["default"], "main");
        assert_eq!(store["properties"]["gitAuthor"]["default"], json!({"name": "kratix"}));
        assert_eq!(store["required"], json!(["url"]));
    }

    #[test]
    fn what_is_absent_stays_absent() {
        let text = schema_of::<PromiseSpec>().to_string();
        for keyword in ["\"default\"", "\"$ref\"", "\"nullable\"", "\"title\"", "\"anyOf\"", "\"oneOf\""] {
            assert!(!text.contains(keyword), "{keyword} in {text}");
        }
    }
}
