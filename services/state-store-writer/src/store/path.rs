//! Validated relative paths: whatever a pipeline calls its files, none leaves its directory or reaches into the
//! bookkeeping of a checkout.

use std::fmt;

use gix::validate::path::{component, component as validate};

/// Room for a directory and a file below it within the 4096 bytes that a file system takes.
const MOST_BYTES: usize = 2000;
/// Keeps recursion over a tree shallow.
const MOST_COMPONENTS: usize = 100;
/// What a file system takes for one name.
const MOST_BYTES_OF_NAME: usize = 255;

/// A clean relative path, UTF-8, `/` between its components, never empty.
///
/// No component is empty, `.`, `..`, longer than 255 bytes or holds a control character, and none is `.git` on any
/// file system: in another case, as `git~1`, with dots, spaces or a stream behind it, behind a backslash, or with
/// characters in it that HFS+ ignores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorePath(String);

/// Why a text is no [`StorePath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("path {path:?}: {reason}")]
pub struct InvalidPath {
    pub path: String,
    pub reason: &'static str,
}

impl StorePath {
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        match objection(text) {
            None => Ok(Self(text.to_owned())),
            Some(reason) => Err(InvalidPath { path: text.to_owned(), reason }),
        }
    }

    /// This directory's `below`. The bounds on length hold for each of the two.
    #[must_use]
    pub fn join(&self, below: &Self) -> Self {
        Self(format!("{self}/{below}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The components above the last, and the last.
    pub(crate) fn split_last(&self) -> (impl Iterator<Item = &str>, &str) {
        let (above, last) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (above.split('/').filter(|component| !component.is_empty()), last)
    }
}

impl fmt::Display for StorePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn objection(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("is empty");
    }
    if text.starts_with('/') {
        return Some("is absolute");
    }
    if text.len() > MOST_BYTES || text.split('/').count() > MOST_COMPONENTS {
        return Some("is too long");
    }
    text.split('/').find_map(objection_to_component)
}

fn objection_to_component(name: &str) -> Option<&'static str> {
    if name.len() > MOST_BYTES_OF_NAME {
        return Some("has a component longer than 255 bytes");
    }
    if name.chars().any(char::is_control) {
        return Some("holds a control character");
    }
    // Names that only Windows refuses are the pipelines' own affair; `.git` by any spelling is not.
    let options = component::Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    let refused = |part: &str| validate(part.into(), None, options).err();
    match refused(name).or_else(|| name.split('\\').filter(|part| !part.is_empty()).find_map(refused))? {
        component::Error::Empty => Some("has an empty component"),
        component::Error::Relative => Some("has a component `.` or `..`"),
        component::Error::DotGitDir => Some("has a component that is `.git` on some file system"),
        _ => Some("has a component that cannot be the name of a file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, reason: &str) {
        let error = StorePath::parse(text).expect_err(text);
        assert!(error.reason.contains(reason), "{text:?}: {error}");
    }

    #[test]
    fn ordinary_paths_are_kept_as_they_are() {
        for text in
            ["a", "a/b.yaml", ".kratix/x.yaml", ".gitignore", "a b/ü:*?", "...", "git", "x.git", ".gitkeep"]
        {
            assert_eq!(StorePath::parse(text).expect(text).as_str(), text);
        }
    }

    #[test]
    fn what_leaves_the_directory_is_refused() {
        for text in ["..", "a/..", "../a", "a/../../b", ".", "./a", "a\\..\\b"] {
            refused(text, "`..`");
        }
        refused("/a", "absolute");
        for text in ["a//b", "a/"] {
            refused(text, "empty component");
        }
        refused("", "empty");
    }

    #[test]
    fn the_bookkeeping_of_a_checkout_is_refused_by_any_spelling() {
        let spellings =
            [".git", "a/.GIT/config", ".Git ", ".git.", ".git . .", "git~1", "GIT~1/x", ".git::$INDEX"];
        for text in spellings.into_iter().chain([".g\u{200c}it", "a\\.git\\hooks", ".git\\x", "\u{feff}.git"])
        {
            refused(text, "`.git`");
        }
    }

    #[test]
    fn control_characters_and_lengths_are_refused() {
        for text in ["a\nb", "a\0", "a/\u{7f}", "\u{85}"] {
            refused(text, "control character");
        }
        refused(&"a".repeat(256), "255 bytes");
        refused(&vec!["a"; 101].join("/"), "too long");
        refused(&vec!["a".repeat(250); 9].join("/"), "too long");
    }

    #[test]
    fn parts_of_a_path() {
        let path = StorePath::parse("a/b/c").expect("a path");
        let (above, last) = path.split_last();
        assert_eq!((above.collect::<Vec<_>>(), last), (vec!["a", "b"], "c"));
        let single = StorePath::parse("a").expect("a path");
        let (above, last) = single.split_last();
        assert_eq!((above.count(), last), (0, "a"));
        assert_eq!(path.join(&single).as_str(), "a/b/c/a");
    }
}
