//! A directory with a bare repository, stores that write to it, and somebody else who does too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use state_store_writer::commit_message::{Author, CommitMessage};
use state_store_writer::store::git::{Candidate, DEFAULT_TIMEOUT, GitStore, Prepared, Settings};
use state_store_writer::store::{Change, Committed, Revision, StateStore, StorePath};
use tempfile::TempDir;

pub(crate) const FILE: &str = "100644";
pub(crate) const LINK: &str = "120000";

pub(crate) struct Site {
    root: TempDir,
}

impl Site {
    /// No repository yet.
    pub(crate) fn vacant() -> Result<Self> {
        Ok(Self { root: TempDir::new()? })
    }

    /// An empty bare repository.
    pub(crate) fn bare() -> Result<Self> {
        let site = Self::vacant()?;
        site.git(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main"])?;
        std::fs::create_dir(site.repository().join("hooks"))?;
        Ok(site)
    }

    /// A bare repository with one commit of somebody else.
    pub(crate) fn with_readme() -> Result<Self> {
        let site = Self::bare()?;
        site.foreign(&[(FILE, "README", "theirs")])?;
        Ok(site)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.path("state.git")
    }

    pub(crate) fn mirror(&self, name: &str) -> PathBuf {
        self.path(name).join("mirror.git")
    }

    pub(crate) fn settings(&self, name: &str) -> Settings {
        Settings {
            store: format!("store-{name}"),
            url: format!("file://{}", self.repository().display()),
            branch: "main".to_owned(),
            author: Author::default(),
            cache: self.path(name),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    pub(crate) fn store(&self, name: &str) -> Result<GitStore> {
        Ok(GitStore::new(self.settings(name))?)
    }

    pub(crate) fn store_with_timeout(&self, name: &str, timeout: Duration) -> Result<GitStore> {
        Ok(GitStore::new(Settings { timeout, ..self.settings(name) })?)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String> {
        git(&self.repository(), arguments, "")
    }

    /// Somebody else commits to main: entries of (mode, path, content).
    pub(crate) fn foreign(&self, entries: &[(&str, &str, &str)]) -> Result<String> {
        let mut stream = "commit refs/heads/main\ncommitter ada <a@b.c> 1700000000 +0000\n".to_owned();
        stream.push_str("data 6\ntheirs\n");
        if self.tip().is_ok() {
            stream.push_str("from refs/heads/main^0\n");
        }
        for (mode, path, content) in entries {
            writeln!(stream, "M {mode} inline {path}\ndata {}\n{content}", content.len())?;
        }
        git(&self.repository(), &["fast-import", "--quiet", "--done"], &(stream + "done\n"))?;
        self.tip()
    }

    pub(crate) fn tip(&self) -> Result<String> {
        self.git(&["rev-parse", "--verify", "--quiet", "refs/heads/main"])
    }

    pub(crate) fn commits(&self) -> Result<usize> {
        Ok(self.git(&["rev-list", "--count", "refs/heads/main"])?.parse()?)
    }

    /// All that main holds: path to content.
    pub(crate) fn files(&self) -> Result<BTreeMap<String, String>> {
        let names = self.git(&["ls-tree", "-r", "-z", "--name-only", "refs/heads/main"])?;
        let names = names.split('\0').filter(|name| !name.is_empty());
        names.map(|name| Ok((name.to_owned(), self.git(&["show", &format!("main:{name}")])?))).collect()
    }

    #[track_caller]
    pub(crate) fn assert_files(&self, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned()));
        assert_eq!(self.files().expect("the branch can be read"), expected.collect());
    }

    /// A hook of the repository that takes the pushes.
    pub(crate) fn hook(&self, name: &str, script: &str) -> Result<()> {
        executable(&self.repository().join("hooks").join(name), script)
    }
}

pub(crate) fn executable(path: &Path, script: &str) -> Result<()> {
    std::fs::create_dir_all(path.parent().context("a directory")?)?;
    std::fs::write(path, format!("#!/bin/sh\n{script}\n"))?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
}

/// Runs git on `repository`, apart from whatever this machine's user has set up.
pub(crate) fn git(repository: &Path, arguments: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
    command.arg("--git-dir").arg(repository).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().context("a pipe")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

pub(crate) fn path(text: &str) -> StorePath {
    StorePath::parse(text).expect("a clean path")
}

pub(crate) fn replace(prefix: &str, files: &[(&str, &str)]) -> Change {
    let files = files.iter().map(|(name, content)| (path(name), Bytes::from((*content).to_owned())));
    Change::Replace { prefix: path(prefix), files: files.collect() }
}

pub(crate) fn remove(prefix: &str) -> Change {
    Change::Remove { prefix: path(prefix) }
}

pub(crate) fn put(file: &str, content: &str) -> Change {
    Change::PutFile { path: path(file), content: Bytes::from(content.to_owned()) }
}

pub(crate) fn remove_file(file: &str) -> Change {
    Change::RemoveFile { path: path(file) }
}

pub(crate) fn message() -> CommitMessage {
    CommitMessage::of_batch(["a"], [])
}

/// Commits on a fresh snapshot, which must succeed.
pub(crate) async fn write(store: &mut GitStore, changes: &[Change]) -> Result<String> {
    let expected = store.snapshot().await?;
    match store.commit(&expected, changes, &message(), false).await? {
        Committed::Done { revision } => Ok(revision),
        other => bail!("{other:?}"),
    }
}

/// The first half of a commit, which must have something to push.
pub(crate) async fn prepare(
    store: &mut GitStore,
    expected: &Revision,
    changes: &[Change],
) -> Result<Candidate> {
    match store.prepare(expected, changes, &message(), false).await? {
        Prepared::Ready(candidate) => Ok(candidate),
        other => bail!("{other:?}"),
    }
}
