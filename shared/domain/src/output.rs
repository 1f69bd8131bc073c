//! What a pipeline's job left behind, in groups that are placed as a whole.

use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::plan::{Labels, WorkflowType};

/// Name of the default group's directory: everything that stands in no named one.
pub const DEFAULT_DIRECTORY: &str = ".";

/// One entry of a `destinationSelectors` list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    pub match_labels: Labels,
}

/// A workload group: the files of one directory of an output, and where its pipeline wants them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputGroup {
    pub directory: String,
    /// The group's entry in `destination-selectors.yaml`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own_selector: Option<Labels>,
    /// Of the packed files.
    pub digest: Digest,
    pub files: u32,
}

/// A group as a lane remembers it: which pipeline made it, in which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub pipeline: String,
    pub run: u64,
    pub directory: String,
    /// All selectors merged by precedence (see [`merged_selector`]).
    pub selector: Labels,
    pub digest: Digest,
}

/// MD5 of the directory's name in hex; its first five characters are part of paths and names.
pub fn group_id(directory: &str) -> String {
    hex::encode(Md5::digest(directory))
}

/// The selector of a group. On a key that several name: Promise before the promise workflow (`inherited`) before the
/// resource workflow (`own`), and within the Promise's list the first entry (kratix-S7). A named directory takes
/// only the workflow's own selector.
pub fn merged_selector(
    directory: &str,
    own: Option<&Labels>,
    inherited: &Labels,
    promise: &[Selector],
) -> Labels {
    let common = promise.iter().map(|selector| &selector.match_labels).chain([inherited]);
    let common = common.filter(|_| directory == DEFAULT_DIRECTORY);
    let mut merged = Labels::new();
    for (key, value) in common.chain(own).flatten() {
        merged.entry(key.clone()).or_insert_with(|| value.clone());
    }
    merged
}

/// Whether outputs go to one Destination or to all that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    One,
    All,
}

impl From<WorkflowType> for Spread {
    fn from(workflow: WorkflowType) -> Self {
        match workflow {
            WorkflowType::Resource => Self::One,
            WorkflowType::Promise => Self::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    }

    /// kratix-P4.
    #[test]
    fn group_ids_are_upstreams() {
        assert_eq!(group_id("."), "5058f1af8388633f609cadb75a75dc9d");
    }

    /// kratix-S7: the Promise wins over the workflow, the first entry within the Promise wins.
    #[test]
    fn the_promise_wins_on_equal_keys() {
        let promise = [
            Selector { match_labels: labels(&[("env", "dev")]) },
            Selector { match_labels: labels(&[("env", "prod"), ("zone", "a")]) },
        ];
        let inherited = labels(&[("zone", "b"), ("tier", "silver")]);
        let own = labels(&[("env", "test"), ("tier", "gold"), ("size", "s")]);
        assert_eq!(
            merged_selector(DEFAULT_DIRECTORY, Some(&own), &inherited, &promise),
            labels(&[("env", "dev"), ("zone", "a"), ("tier", "silver"), ("size", "s")])
        );
        assert_eq!(
            merged_selector("named", Some(&own), &inherited, &promise),
            own,
            "a named one has its own only"
        );
    }
}
