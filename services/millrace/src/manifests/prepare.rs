//! What only this machine knows is put into a document before it is sent: variables of the environment, and
//! directories that are meant relative to the file.

use std::path::{Component, Path, PathBuf};

use domain::problem::Problem;
use resources::Object;
use resources::keys::KRATIX_GROUP;
use serde_json::Value;

const OPEN: &str = "${env:";

/// The object with both put in; or all that is missing.
///
/// `variable`: looks a variable up. `base`: the directory of the file.
pub(crate) fn prepare(
    object: &Object,
    base: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Object, Vec<Problem>> {
    let mut object = object.clone();
    if is_secret(&object) {
        fill_secret(&mut object, variable)?;
    }
    if object.kind == "GitStateStore" && object.group() == KRATIX_GROUP {
        resolve_url(&mut object, base);
    }
    Ok(object)
}

fn is_secret(object: &Object) -> bool {
    object.kind == "Secret" && object.group().is_empty()
}

fn string_data(object: &Object) -> impl Iterator<Item = (&String, &str)> {
    let data = object.body.get("stringData").and_then(Value::as_object);
    data.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)))
}

/// Whether it depends on the environment, so that an unchanged document may be a changed object.
pub(crate) fn uses_environment(object: &Object) -> bool {
    is_secret(object) && string_data(object).any(|(_, value)| value.contains(OPEN))
}

/// Whether the text of a Secret holds something that others must not read.
pub(crate) fn holds_secrets(object: &Object) -> bool {
    let has_data = object.body.get("data").and_then(Value::as_object).is_some_and(|data| !data.is_empty());
    is_secret(object) && (has_data || string_data(object).any(|(_, value)| !value.contains(OPEN)))
}

fn fill_secret(object: &mut Object, variable: impl Fn(&str) -> Option<String>) -> Result<(), Vec<Problem>> {
    let Some(data) = object.body.get_mut("stringData").and_then(Value::as_object_mut) else { return Ok(()) };
    let mut problems = Vec::new();
    for (key, value) in data {
        let Some(text) = value.as_str() else { continue };
        match fill(text, &variable) {
            Ok(filled) => *value = Value::String(filled),
            Err(name) => {
                let field = format!("stringData.{key}");
                let message = format!("the environment has no variable {name}");
                problems.push(
                    Problem::error("environment", field, message)
                        .help(format!("export {name} and try again")),
                );
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The text with every `${env:NAME}` replaced; or the first name that has no value.
fn fill<'a>(text: &'a str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, &'a str> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, after)) = after.split_once('}') else { break };
        filled += before;
        filled += &variable(name).ok_or(name)?;
        rest = after;
    }
    Ok(filled + rest)
}

/// `file:./x` means a directory beside the file.
fn resolve_url(object: &mut Object, base: &Path) {
    let url = object.body.get_mut("spec").and_then(|spec| spec.get_mut("url"));
    let Some(url) = url else { return };
    if let Some(path) =
        url.as_str().and_then(|url| url.strip_prefix("file:")).filter(|path| !path.starts_with('/'))
    {
        *url = Value::String(file_url(base, path));
    }
}

/// The base is a path, and `path` a part of a URL, in which `%` starts an escape.
fn file_url(base: &Path, path: &str) -> String {
    let base = PathBuf::from(base.display().to_string().replace('%', "%25"));
    let mut resolved = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    format!("file://{}", resolved.display())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn secret(string_data: &Value) -> Object {
        object(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": string_data}),
        )
    }

    fn environment(name: &str) -> Option<String> {
        matches!(name, "A" | "B").then(|| format!("<{name}>"))
    }

    #[test]
    fn variables_are_put_into_secrets() {
        let source =
            secret(&json!({"x": "${env:A}", "y": "a ${env:A} b ${env:B}", "z": "plain ${env:", "n": 5}));
        let filled = prepare(&source, Path::new("/"), environment).unwrap();
        assert_eq!(
            filled.body["stringData"],
            json!({"x": "<A>", "y": "a <A> b <B>", "z": "plain ${env:", "n": 5})
        );
        assert!(uses_environment(&source));
    }

    #[test]
    fn what_is_missing_is_all_named() {
        let problems =
            prepare(&secret(&json!({"x": "${env:NO}", "y": "${env:NEITHER}"})), Path::new("/"), environment);
        let problems: Vec<String> = problems.unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "stringData.x: the environment has no variable NO",
                "stringData.y: the environment has no variable NEITHER"
            ]
        );
    }

    #[test]
    fn variables_stay_out_of_everything_else() {
        let map = object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"x": "${env:A}"}}),
        );
        assert_eq!(prepare(&map, Path::new("/"), environment).unwrap(), map);
    }

    #[test]
    fn only_values_that_are_written_down_are_secrets() {
        assert!(!holds_secrets(&secret(&json!({"x": "${env:A}"}))));
        assert!(holds_secrets(&secret(&json!({"x": "hunter2"}))));
        let data =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"x": "aGk="}});
        assert!(holds_secrets(&object(data)));
    }

    #[test]
    fn relative_stores_are_beside_their_manifest() {
        let url = |url: &str, base: &str| {
            let store = json!({"apiVersion": "platform.kratix.io/v1alpha1", "kind": "GitStateStore",
                               "metadata": {"name": "s"}, "spec": {"url": url}});
            let store = prepare(&object(store), Path::new(base), environment).unwrap();
            store.spec().unwrap()["url"].as_str().unwrap().to_owned()
        };
        assert_eq!(url("file:./state.git", "/a/b"), "file:///a/b/state.git");
        assert_eq!(url("file:../state.git", "/a/b"), "file:///a/state.git");
        assert_eq!(url("file:state%20x.git", "/100%"), "file:///100%25/state%20x.git");
        for absolute in ["file:///srv/state.git", "https://example.com/x.git", "git@example.com:x.git"] {
            assert_eq!(url(absolute, "/a"), absolute);
        }
    }
}
