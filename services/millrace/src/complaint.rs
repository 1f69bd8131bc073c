//! What is wrong with an object or a command, on one line for people and as one object for programs.

use std::fmt;

use domain::id::ObjectKey;
use domain::problem::{Problem, Severity};
use resources::Object;
use serde_json::{Value, json};

/// Which object is meant, as its manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
}

/// Where a document stands; lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub file: String,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Complaint {
    pub object: Option<Subject>,
    pub location: Option<Location>,
    pub problem: Problem,
}

impl Subject {
    pub(crate) fn of(object: &Object) -> Self {
        Self {
            kind: object.kind.clone(),
            name: object.name().to_owned(),
            namespace: object.namespace().map(str::to_owned),
        }
    }

    /// Of an object that is known by its key alone.
    pub(crate) fn of_key(kind: &str, key: &ObjectKey) -> Self {
        Self { kind: kind.to_owned(), name: key.name.clone(), namespace: key.namespace.clone() }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, " ({namespace})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Complaint {
    /// About the command as a whole.
    pub(crate) fn general(problem: Problem) -> Self {
        Self { object: None, location: None, problem }
    }

    pub(crate) fn to_json(&self) -> Value {
        let Problem { severity, code, field, message, help } = &self.problem;
        json!({
            "object": self.object.as_ref().map(ToString::to_string),
            "field": Some(field).filter(|field| !field.is_empty()),
            "file": self.location.as_ref().map(|location| &location.file),
            "line": self.location.as_ref().map(|location| location.line),
            "severity": severity,
            "code": code,
            "message": message,
            "help": help,
        })
    }
}

/// `error: KIND/NAME (ns): FIELD: message (FILE:LINE)`, then `help: remedy` on a line of its own.
impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.problem.severity {
            Severity::Error => "error: ",
            Severity::Warning => "warning: ",
            Severity::Unsupported => "not acted on: ",
        })?;
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        self.problem.fmt(f)?;
        if let Some(location) = &self.location {
            write!(f, " ({location})")?;
        }
        match &self.problem.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint() -> Complaint {
        let problem = Problem::error("schema", "spec.size", "expected integer, found string");
        Complaint {
            object: Some(Subject {
                kind: "Redis".into(),
                name: "cache".into(),
                namespace: Some("team-a".into()),
            }),
            location: Some(Location { file: "a/b.yaml".into(), line: 7 }),
            problem: problem.help("write 3 instead of \"3\""),
        }
    }

    #[test]
    fn people_see_one_line_and_the_remedy() {
        assert_eq!(
            complaint().to_string(),
            "error: Redis/cache (team-a): spec.size: expected integer, found string (a/b.yaml:7)\n\
             help: write 3 instead of \"3\""
        );
        let general = Complaint::general(Problem::warning("old", "", "something is old"));
        assert_eq!(general.to_string(), "warning: something is old");
    }

    #[test]
    fn programs_see_every_part() {
        let expected = json!({
            "object": "Redis/cache (team-a)", "field": "spec.size", "file": "a/b.yaml", "line": 7,
            "severity": "error", "code": "schema", "message": "expected integer, found string",
            "help": "write 3 instead of \"3\"",
        });
        assert_eq!(complaint().to_json(), expected);
        let general = Complaint::general(Problem::error("x", "", "y")).to_json();
        assert_eq!(
            (&general["object"], &general["field"], &general["help"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
    }
}
