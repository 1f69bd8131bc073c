//! Objects on a command line: `KIND NAME...`, `KIND/NAME...`, with `NS/NAME` wherever a name is.

use clap::Args;
use domain::id::ObjectKey;
use resources::Object;

use crate::failure::Failure;
use crate::kinds::{DEFAULT_NAMESPACE, Kind, Kinds};

/// In which namespaces a command looks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Scope {
    /// Namespace [default: default]
    #[arg(short, long, value_name = "NS")]
    pub namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
}

impl Scope {
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    pub(crate) fn takes(&self, key: &ObjectKey) -> bool {
        self.all_namespaces || key.namespace.as_deref().is_none_or(|namespace| namespace == self.namespace())
    }
}

/// A name, in a namespace of its own if one stands before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub namespace: Option<String>,
    pub name: String,
}

/// The words of a command line, by kind; a kind without names means all of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub kind: String,
    pub names: Vec<Name>,
}

/// `pods,services`; `pod a b`; `pod/a service/ns/b`.
pub(crate) fn parse(words: &[String]) -> Result<Vec<Wanted>, Failure> {
    let usage =
        |text: &str| Failure::Usage(format!("`{text}` names no object; write KIND NAME or KIND/NAME"));
    let (first, rest) = words.split_first().ok_or_else(|| Failure::Usage("which kind?".into()))?;
    if !first.contains('/') {
        let names =
            rest.iter().map(|word| name(word).ok_or_else(|| usage(word))).collect::<Result<Vec<_>, _>>()?;
        let kinds = first.split(',').filter(|kind| !kind.is_empty());
        return Ok(kinds.map(|kind| Wanted { kind: kind.into(), names: names.clone() }).collect());
    }
    let one = |word: &String| {
        let (kind, rest) = word.split_once('/')?;
        (!kind.is_empty()).then_some(())?;
        Some(Wanted { kind: kind.into(), names: vec![name(rest)?] })
    };
    words.iter().map(|word| one(word).ok_or_else(|| usage(word))).collect()
}

fn name(word: &str) -> Option<Name> {
    let (namespace, name) = match word.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, word),
    };
    let is_name = |text: &str| !text.is_empty() && !text.contains('/');
    (is_name(name) && namespace.is_none_or(is_name))
        .then(|| Name { namespace: namespace.map(Into::into), name: name.into() })
}

impl Name {
    pub(crate) fn key(&self, kind: &Kind, scope: &Scope) -> ObjectKey {
        kind.key(Some(self.namespace.as_deref().unwrap_or_else(|| scope.namespace())), &self.name)
    }
}

/// The one object that a command is about.
pub(crate) fn one(words: &[String], kinds: &Kinds, scope: &Scope) -> Result<(Kind, ObjectKey), Failure> {
    let wanted = parse(words)?;
    match &wanted[..] {
        [Wanted { kind, names }] if names.len() == 1 => {
            let kind = kinds.spelled(kind)?;
            let key = names[0].key(&kind, scope);
            Ok((kind, key))
        }
        _ => Err(Failure::Usage("name one object, as KIND NAME or KIND/NAME".into())),
    }
}

/// A label selector: `a=b,c!=d,e,!f`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Is(String, String),
    IsNot(String, String),
    Present(String),
    Absent(String),
}

impl std::str::FromStr for LabelSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let requirement = |part: &str| {
            let part = part.trim();
            let pair = |(key, value): (&str, &str)| (key.trim().to_owned(), value.trim().to_owned());
            let parsed = if let Some(two) = part.split_once("!=") {
                let (key, value) = pair(two);
                Requirement::IsNot(key, value)
            } else if let Some(two) = part.split_once("==").or_else(|| part.split_once('=')) {
                let (key, value) = pair(two);
                Requirement::Is(key, value)
            } else if let Some(key) = part.strip_prefix('!') {
                Requirement::Absent(key.trim().to_owned())
            } else {
                Requirement::Present(part.to_owned())
            };
            let is_plain = |key: &str| !key.is_empty() && !key.contains([' ', '(', ')', '!', '=']);
            if is_plain(parsed.key()) {
                Ok(parsed)
            } else {
                Err(format!("`{part}` is none of a=b, a!=b, a, !a"))
            }
        };
        text.split(',').map(requirement).collect::<Result<_, _>>().map(Self)
    }
}

impl Requirement {
    fn key(&self) -> &str {
        match self {
            Self::Is(key, _) | Self::IsNot(key, _) | Self::Present(key) | Self::Absent(key) => key,
        }
    }
}

impl LabelSelector {
    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|requirement| match (requirement, object.label(requirement.key())) {
            (Requirement::Is(_, wanted), found) => found == Some(wanted),
            (Requirement::IsNot(_, unwanted), found) => found != Some(unwanted),
            (Requirement::Present(_), found) => found.is_some(),
            (Requirement::Absent(_), found) => found.is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn summary(line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let wanted = parse(&words).map_err(|failure| failure.to_string())?;
        let name = |name: &Name| match &name.namespace {
            Some(namespace) => format!("{}@{namespace}", name.name),
            None => name.name.clone(),
        };
        let one = |wanted: &Wanted| {
            format!("{}[{}]", wanted.kind, wanted.names.iter().map(name).collect::<Vec<_>>().join(" "))
        };
        Ok(wanted.iter().map(one).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn every_form_is_read() {
        for (line, expected) in [
            ("promises", "promises[]"),
            ("promises,dest", "promises[] dest[]"),
            ("redis a team/b", "redis[a b@team]"),
            ("redis/a", "redis[a]"),
            ("redis/a promise/b redis/team/c", "redis[a] promise[b] redis[c@team]"),
        ] {
            assert_eq!(summary(line).as_deref(), Ok(expected));
        }
        for line in ["", "redis/", "/a", "redis a/b/c", "redis/a b", "redis/a//b"] {
            assert!(summary(line).is_err(), "{line}");
        }
    }

    #[test]
    fn selectors_select() {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "labels": {"a": "1", "b": ""}}});
        let object = Object::from_value(object).unwrap();
        for (selector, expected) in [
            ("a=1", true),
            ("a==1,b", true),
            ("a = 1", true),
            ("a=2", false),
            ("a!=2", true),
            ("c!=2", true),
            ("!c", true),
            ("!a", false),
            ("c", false),
            ("b=", true),
        ] {
            assert_eq!(
                selector.parse::<LabelSelector>().map(|selector| selector.matches(&object)),
                Ok(expected),
                "{selector}"
            );
        }
        assert!("".parse::<LabelSelector>().is_err());
        assert!("a in (1,2)".parse::<LabelSelector>().is_err());
    }
}
