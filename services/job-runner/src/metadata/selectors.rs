//! `destination-selectors.yaml`, and the groups that it divides an output into.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Error, shown};
use crate::outputs::Output;

/// The group of everything that is in no named directory.
pub const DEFAULT_DIRECTORY: &str = ".";

/// Which Destinations a directory of the output is for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// A name at the top of the output, or [`DEFAULT_DIRECTORY`].
    #[serde(default)]
    pub directory: String,
}

/// Files that are placed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// A name at the top of the output, or [`DEFAULT_DIRECTORY`].
    pub directory: String,
    /// The group's entry in `destination-selectors.yaml`.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// By path relative to the output, so with the group's directory in front.
    pub files: BTreeMap<String, Vec<u8>>,
}

pub(super) fn check(mut selectors: Vec<Selector>) -> Result<Vec<Selector>, Error> {
    let mut seen = BTreeSet::new();
    for (index, selector) in selectors.iter_mut().enumerate() {
        if selector.match_labels.is_empty() {
            return Err(Error::NoLabels { index });
        }
        selector.directory = clean(&selector.directory)?;
        if !seen.insert(selector.directory.clone()) {
            return Err(Error::DuplicateDirectory { directory: shown(&selector.directory) });
        }
    }
    Ok(selectors)
}

/// `a`, `a/`, `./a` and `b/../a` are the same name at the top of the output.
fn clean(directory: &str) -> Result<String, Error> {
    let outside = || Error::Outside { directory: shown(directory) };
    if directory.starts_with('/') {
        return Err(outside());
    }
    let mut parts = Vec::new();
    for part in directory.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or_else(outside)?),
            part => parts.push(part),
        }
    }
    match *parts {
        [] => Ok(DEFAULT_DIRECTORY.into()),
        [name] => Ok(name.into()),
        [..] => Err(Error::SubDirectory { directory: shown(directory) }),
    }
}

/// One group per named directory, in the order of the selectors, even without a file in it; last the default group,
/// which is left out when it has no files.
pub fn groups(output: Output, selectors: &[Selector]) -> Result<Vec<Group>, Error> {
    let Output { mut files, directories } = output;
    let mut groups = Vec::new();
    for Selector { directory, match_labels } in selectors.iter().filter(|s| s.directory != DEFAULT_DIRECTORY)
    {
        if !directories.contains(directory) {
            return Err(Error::NoSuchDirectory { directory: shown(directory) });
        }
        let prefix = format!("{directory}/");
        groups.push(Group {
            directory: directory.clone(),
            match_labels: Some(match_labels.clone()),
            files: files.extract_if(.., |path, _| path.starts_with(&prefix)).collect(),
        });
    }
    if !files.is_empty() {
        let own = selectors.iter().find(|selector| selector.directory == DEFAULT_DIRECTORY);
        let match_labels = own.map(|selector| selector.match_labels.clone());
        groups.push(Group { directory: DEFAULT_DIRECTORY.into(), match_labels, files });
    }
    Ok(groups)
}
