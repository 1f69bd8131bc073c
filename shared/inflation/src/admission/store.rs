//! GitStateStore.

use domain::problem::Problem;
use resources::Object;

use super::check_spec;
use super::parts::part;
use super::url::{self, Access};
use crate::schema::known;

pub(super) fn check_git(object: &mut Object, problems: &mut Vec<Problem>) {
    check_spec(object, &known::GIT_STORE, problems);
    let Some(spec) = object.spec() else { return };
    let text = |field: &str| part::<String>(spec, field);
    match text("url").map(|url| url::access(&url)) {
        None | Some(Ok(Access::File)) => {}
        Some(Ok(Access::Remote)) => problems.push(
            Problem::unsupported("spec.url", "this version writes to `file:` repositories only")
                .help("use the `file:///` URL of a bare repository"),
        ),
        Some(Err(refusal)) => problems.push(refusal),
    }
    if let Some(path) = text("path") {
        check_path("spec.path", &path, problems);
    }
    if text("branch").is_some_and(|branch| !is_branch(&branch)) {
        problems.push(Problem::error("invalid", "spec.branch", "is not the name of a branch"));
    }
}

/// A directory in a repository may not lead out of it, nor into Git's own.
pub(super) fn check_path(field: &str, path: &str, problems: &mut Vec<Problem>) {
    let is_bad = |name: &str| {
        name == ".." || name.eq_ignore_ascii_case(".git") || name.contains(['\\', '\0', '\n', '\r'])
    };
    if let Some(name) = path.split('/').find(|name| is_bad(name)) {
        let message = format!("`{}` may not be part of a path", name.escape_default());
        problems.push(Problem::error("invalid", field, message));
    }
}

/// The rules of `git check-ref-format --branch`.
fn is_branch(name: &str) -> bool {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let is_bad_part = |part: &str| {
        part.is_empty()
            || part.starts_with('.')
            || part.ends_with('.')
            || part.strip_suffix(".lock").is_some()
    };
    let is_special = matches!(name, "@" | "HEAD") || name.starts_with('-');
    let is_range = name.contains("..") || name.contains("@{");
    !(is_special || is_range || name.contains(is_bad) || name.split('/').any(is_bad_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_gits() {
        for name in ["main", "a/b", "release-1.2", "x@y"] {
            assert!(is_branch(name), "{name}");
        }
        for name in
            ["", "-d", "a..b", "a b", "a:b", "/a", "a/", "a//b", "@", "a@{1}", ".a", "a.lock", "HEAD", "a\nb"]
        {
            assert!(!is_branch(name), "{name}");
        }
    }
}
