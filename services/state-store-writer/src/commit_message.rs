//! Who a commit is by and what it says: upstream's subjects, and a trailer for every placement.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The name upstream uses where a store names nobody.
const DEFAULT_NAME: &str = "kratix";
const CANARY: &str = "kratix-canary";

/// Author and committer of every commit, from the store's `gitAuthor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    name: String,
    email: String,
}

impl Author {
    /// An empty name becomes `kratix`; the e-mail address may be empty. Characters that would break a commit's
    /// header are left out.
    pub fn new(name: &str, email: &str) -> Self {
        let clean = |text: &str| {
            let kept: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
            kept.trim().to_owned()
        };
        let name = Some(clean(name)).filter(|name| !name.is_empty());
        Self { name: name.unwrap_or_else(|| DEFAULT_NAME.to_owned()), email: clean(email) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }
}

impl Default for Author {
    fn default() -> Self {
        Self::new("", "")
    }
}

/// A whole commit message, subject and trailers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMessage(String);

impl CommitMessage {
    /// The message of a batch. One placement alone has upstream's subject (`Update from:`, `Delete from:`), several
    /// are counted; `Placement:` and `Removed:` trailers follow, each kind sorted by name.
    pub fn of_batch<'a>(
        updated: impl IntoIterator<Item = &'a str>,
        removed: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let updated: BTreeSet<String> = updated.into_iter().map(on_one_line).collect();
        let removed: BTreeSet<String> = removed.into_iter().map(on_one_line).collect();
        let mut text = match (updated.len(), removed.len(), updated.first(), removed.first()) {
            (1, 0, Some(name), _) => format!("Update from: {name}\n\n"),
            (0, 1, _, Some(name)) => format!("Delete from: {name}\n\n"),
            (updated, removed, ..) => format!("Update {} placements\n\n", updated + removed),
        };
        let trailers = updated.iter().map(|name| ("Placement", name));
        for (key, name) in trailers.chain(removed.iter().map(|name| ("Removed", name))) {
            writeln!(text, "{key}: {name}").expect("a string takes any text");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        Self(text)
    }

    /// For the canary documents of a Destination.
    pub fn of_canary() -> Self {
        Self(format!("Update from: {CANARY}\n"))
    }

    /// For their removal.
    pub fn of_canary_removal() -> Self {
        Self(format!("Delete from: {CANARY}\n"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn on_one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(updated: &[&str], removed: &[&str], expected: &str) {
        let message = CommitMessage::of_batch(updated.iter().copied(), removed.iter().copied());
        assert_eq!(message.as_str(), expected);
    }

    #[test]
    fn one_placement_has_upstreams_subject() {
        check(&["a"], &[], "Update from: a\n\nPlacement: a\n");
        check(&["a", "a"], &[], "Update from: a\n\nPlacement: a\n");
        check(&[], &["b"], "Delete from: b\n\nRemoved: b\n");
    }

    #[test]
    fn several_placements_are_counted_and_listed_in_order() {
        check(&["b", "a"], &["c"], "Update 3 placements\n\nPlacement: a\nPlacement: b\nRemoved: c\n");
        check(&[], &["d", "c"], "Update 2 placements\n\nRemoved: c\nRemoved: d\n");
        check(&[], &[], "Update 0 placements\n");
    }

    #[test]
    fn a_name_cannot_add_lines() {
        check(&["a\nRemoved: b"], &[], "Update from: a Removed: b\n\nPlacement: a Removed: b\n");
    }

    #[test]
    fn canaries_have_a_subject_alone() {
        assert_eq!(CommitMessage::of_canary().as_str(), "Update from: kratix-canary\n");
        assert_eq!(CommitMessage::of_canary_removal().as_str(), "Delete from: kratix-canary\n");
    }

    #[test]
    fn authors() {
        let author = Author::new(" Ada <b>\n", "ada@example.com");
        assert_eq!((author.name(), author.email()), ("Ada b", "ada@example.com"));
        assert_eq!((Author::default().name(), Author::default().email()), ("kratix", ""));
    }
}
