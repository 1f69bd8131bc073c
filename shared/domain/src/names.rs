//! Names and paths that people and other tools see: byte for byte as upstream.

use md5::{Digest as _, Md5};

use crate::id::LaneKey;
use crate::output::group_id;
use crate::plan::WorkflowType;

/// Longest name that still gets a suffix appended without a cut.
const LONGEST: usize = 57;

/// First five hex characters of an MD5.
fn five(text: &str) -> String {
    let mut hex = hex::encode(Md5::digest(text));
    hex.truncate(5);
    hex
}

/// The deterministic variant of upstream's names: cut to 56 characters if longer than 57, trailing characters that
/// are no letters or digits taken off, then `-` and five characters of the MD5 of the whole name.
pub fn deterministic(full: &str) -> String {
    let kept: String = if full.len() > LONGEST {
        let cut: String = full.chars().take(LONGEST - 1).collect();
        cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).into()
    } else {
        full.into()
    };
    format!("{kept}-{}", five(full))
}

/// `<promise>-<type>-<action>-<pipeline>`, at most [`PIPELINE_ID_MAX`] characters.
pub fn pipeline_id(promise: &str, workflow: WorkflowType, action: &str, pipeline: &str) -> String {
    format!("{promise}-{}-{action}-{pipeline}", workflow.as_str())
}

pub const PIPELINE_ID_MAX: usize = 60;

/// Whose outputs they are: a Promise's own (dependencies) or a request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    pub promise: &'a str,
    /// Namespace and name; none for the Promise itself.
    pub request: Option<(&'a str, &'a str)>,
}

impl<'a> Owner<'a> {
    pub fn of(lane: &'a LaneKey, workflow: WorkflowType, promise: &'a str) -> Self {
        let request = match workflow {
            WorkflowType::Promise => None,
            WorkflowType::Resource => Some((lane.0.namespace.as_deref().unwrap_or("default"), &*lane.0.name)),
        };
        Self { promise, request }
    }

    /// Upstream's name of the Work and its WorkPlacement:
    /// `<promise>[-<request>]-<pipeline>-<5>.<destination>-<5 of the group>`.
    pub fn placement_name(&self, pipeline: &str, destination: &str, directory: &str) -> String {
        let work = match self.request {
            Some((_, request)) => format!("{}-{request}-{pipeline}", self.promise),
            None => format!("{}-{pipeline}", self.promise),
        };
        format!("{}.{destination}-{}", deterministic(&work), &group_id(directory)[..5])
    }

    /// Directory of a group below the Destination's path in mode `nestedByMetadata`.
    pub fn nested_directory(&self, pipeline: &str, directory: &str) -> String {
        let group = &group_id(directory)[..5];
        match self.request {
            Some((namespace, request)) => {
                format!("resources/{namespace}/{}/{request}/{pipeline}/{group}", self.promise)
            }
            None => format!("dependencies/{}/{pipeline}/{group}", self.promise),
        }
    }
}

/// Joins directory names, leaving out empty ones, `.` and surrounding slashes.
pub fn join_path(parts: &[&str]) -> String {
    let names = parts.iter().flat_map(|part| part.split('/')).filter(|name| !matches!(*name, "" | "."));
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kratix-P4.
    #[test]
    fn long_names_are_cut_and_marked() {
        assert_eq!(deterministic("short"), format!("short-{}", five("short")));
        let long = format!("{}-{}", "a".repeat(55), "b".repeat(10));
        assert_eq!(deterministic(&long), format!("{}-{}", "a".repeat(55), five(&long)), "no dash at the cut");
        assert!(deterministic(&"x".repeat(200)).len() <= 63);
    }

    /// kratix-F6.
    #[test]
    fn each_placement_has_a_directory_of_its_own() {
        let request = Owner { promise: "redis", request: Some(("team-a", "cache")) };
        assert_eq!(request.nested_directory("install", "."), "resources/team-a/redis/cache/install/5058f");
        let promise = Owner { promise: "redis", request: None };
        assert_eq!(promise.nested_directory("setup", "."), "dependencies/redis/setup/5058f");
        assert_eq!(join_path(&["", "/a/./b/", "c"]), "a/b/c");
    }
}
