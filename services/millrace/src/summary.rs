//! What a settled system has made: what was placed where, and the local repositories.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use domain::id::ResourceKind;
use resources::keys::KRATIX_GROUP;
use resources::{GitStateStoreSpec, Object};

use crate::exit::Exit;
use crate::output::table::Table;
use crate::quiet::{Verdict, View};

/// Characters of a revision that are shown.
const REVISION: usize = 8;
/// Commits of a repository that are shown.
const COMMITS: usize = 10;
/// Files of a repository that are shown.
const FILES: usize = 200;

/// One row per placement.
pub(crate) fn placements(view: &View) -> String {
    let mut table = Table::new(["OBJECT", "PIPELINE", "DESTINATION", "PATH", "REVISION"]);
    for lane in view.lanes.values() {
        for placement in &lane.footprint.placements {
            let revision =
                lane.footprint.stores.get(&placement.store).and_then(|writes| writes.revision.clone());
            let revision: String = revision.unwrap_or_default().chars().take(REVISION).collect();
            let (pipeline, destination) = (placement.pipeline.clone(), placement.destination.clone());
            let object = view.kinds.readable(&lane.key.0);
            table.row([object, pipeline, destination, placement.place.prefix.clone(), revision]);
        }
    }
    if table.is_empty() { "nothing is placed\n".into() } else { table.to_string() }
}

impl Verdict {
    pub(crate) fn exit(&self) -> Exit {
        if !self.failed.is_empty() || self.refused > 0 {
            Exit::Failed
        } else if self.waiting.is_empty() {
            Exit::Done
        } else {
            Exit::Waiting
        }
    }
}

/// Why not everything is done; empty when it is.
pub(crate) fn reasons(view: &View, verdict: &Verdict) -> String {
    let mut text = String::new();
    for (title, reasons) in
        [("failed", &verdict.failed), ("waiting", &verdict.waiting), ("note", &verdict.notes)]
    {
        for reason in reasons {
            let _ = writeln!(text, "{title}: {}: {}", view.kinds.readable(&reason.object), reason.reason);
        }
    }
    match verdict.refused {
        0 => {}
        1 => text += "failed: a document was refused\n",
        many => drop(writeln!(text, "failed: {many} documents were refused")),
    }
    text
}

/// Files and newest commits of every repository on this machine that the stores name.
pub(crate) fn repositories(view: &View) -> String {
    let stores =
        view.objects.iter().filter(|(key, _)| key.kind == ResourceKind::new("gitstatestores", KRATIX_GROUP));
    let local = stores.filter_map(|(_, object)| local(object));
    let mut all: Vec<(PathBuf, String)> = local.collect();
    all.sort();
    all.dedup();
    all.iter().map(|(path, branch)| repository(path, branch)).collect()
}

/// Directory and branch of a store with a `file:` address.
fn local(store: &Object) -> Option<(PathBuf, String)> {
    let spec: GitStateStoreSpec = store.parse_spec().ok()?;
    let path = spec.url.strip_prefix("file://").filter(|path| path.starts_with('/'))?;
    Some((PathBuf::from(OsString::from_vec(decode(path.as_bytes()))), spec.branch))
}

/// `%41` is `A`; a `%` without two digits behind it stands for itself.
fn decode(mut text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    while let Some((&first, rest)) = text.split_first() {
        let escaped = rest
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(escaped.unwrap_or(first));
        text = if escaped.is_some() { &rest[2..] } else { rest };
    }
    decoded
}

fn repository(path: &Path, branch: &str) -> String {
    let mut text = format!("\n{} ({branch})\n", path.display());
    let branch = format!("refs/heads/{branch}");
    let files = git(path, &["ls-tree", "-r", "--name-only", &branch]);
    let commits = git(path, &["log", "--format=%h %s", &format!("--max-count={COMMITS}"), &branch]);
    match (files, commits) {
        (Ok(files), Ok(commits)) => {
            let count = files.lines().count();
            for file in files.lines().take(FILES) {
                let _ = writeln!(text, "  {file}");
            }
            if count > FILES {
                let _ = writeln!(text, "  ... {} more files", count - FILES);
            }
            text += "  newest commits:\n";
            for commit in commits.lines() {
                let _ = writeln!(text, "    {commit}");
            }
        }
        (Err(reason), _) | (_, Err(reason)) => {
            let _ = writeln!(text, "  cannot be shown: {reason}");
        }
    }
    text
}

/// Reads a repository; neither the person's nor the machine's settings count.
fn git(path: &Path, arguments: &[&str]) -> Result<String, String> {
    let inner = path.join(".git");
    let directory = if inner.is_dir() { &inner } else { path };
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(directory)
        .args(["-c", "core.quotePath=off"])
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .map_err(|error| format!("git: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let reason = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        Err(if reason.is_empty() { output.status.to_string() } else { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quiet::judge::Reason;

    #[test]
    fn a_failure_outweighs_what_waits() {
        let reason = || Reason { object: "redis_a_io.default.a".parse().unwrap(), reason: "r".into() };
        let mut verdict = Verdict::default();
        assert_eq!(verdict.exit(), Exit::Done);
        verdict.notes.push(reason());
        assert_eq!(verdict.exit(), Exit::Done);
        verdict.waiting.push(reason());
        assert_eq!(verdict.exit(), Exit::Waiting);
        verdict.failed.push(reason());
        assert_eq!(verdict.exit(), Exit::Failed);
        assert_eq!(Verdict { refused: 1, ..Verdict::default() }.exit(), Exit::Failed);
        assert_eq!(
            reasons(&View::default(), &verdict),
            "failed: redis/a (default): r\nwaiting: redis/a (default): r\nnote: redis/a (default): r\n"
        );
    }

    #[test]
    fn addresses_are_decoded() {
        assert_eq!(decode(b"/a%20b/100%25/%zz/%"), b"/a b/100%/%zz/%");
    }

    #[test]
    fn a_repository_is_shown_with_its_files_and_commits() {
        let root = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let status =
                Command::new("git").current_dir(root.path()).args(author).args(arguments).output().unwrap();
            assert!(status.status.success(), "{status:?}");
        };
        run(&["init", "-q", "-b", "main"]);
        std::fs::write(root.path().join("a.yaml"), "a: 1\n").unwrap();
        run(&["add", "a.yaml"]);
        run(&["commit", "-q", "-m", "first"]);
        let text = repository(root.path(), "main");
        assert!(text.contains("\n  a.yaml\n  newest commits:\n    "), "{text}");
        assert!(text.ends_with(" first\n"), "{text}");
        assert!(repository(root.path(), "other").contains("cannot be shown"));
    }
}
