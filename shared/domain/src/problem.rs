//! What is wrong with an object, in the form that every surface shows: object, field, message, remedy.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The object is refused.
    Error,
    /// The object is taken; its author should look.
    Warning,
    /// The object is taken, and gets condition `Supported=False`: it names something this version does not act on.
    Unsupported,
}

/// One finding about one field of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub severity: Severity,
    /// Stable, for programs: `unknown-field`, `schema`, `immutable`, ...
    pub code: String,
    /// `spec.workflows.resource.configure[0].spec.containers[0].image`; empty: the whole object.
    pub field: String,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub help: Option<String>,
}

impl Problem {
    fn new(severity: Severity, code: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity, code: code.into(), field: field.into(), message: message.into(), help: None }
    }

    pub fn error(code: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, field, message)
    }

    pub fn warning(code: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, field, message)
    }

    pub fn unsupported(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Unsupported, "unsupported", field, message)
    }

    #[must_use]
    pub fn help(mut self, remedy: impl Into<String>) -> Self {
        self.help = Some(remedy.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}
