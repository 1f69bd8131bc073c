//! The git commands that a store needs, by what they are for.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use gix::ObjectId;
use gix::refs::FullName;

use super::cli::{Error, Git};
use super::push::{self, Pushed};

impl Git {
    /// Makes an empty bare repository whose `HEAD` names `branch`.
    pub(super) async fn init(&self, directory: &Path, branch: &FullName) -> Result<(), Error> {
        let head = format!("--initial-branch={}", branch.shorten());
        let mut arguments = words(&["init", "--quiet", "--bare", "--template=", &head]);
        arguments.push(directory.into());
        self.succeed(&arguments).await.map(drop)
    }

    /// Brings the mirror's branch to where the remote's is. An error also if the remote has no such branch.
    pub(super) async fn fetch(&self, remote: &OsStr, branch: &FullName) -> Result<(), Error> {
        let mut arguments = words(&["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
        arguments.extend([remote.to_owned(), format!("+{0}:{0}", branch.as_bstr()).into()]);
        self.succeed(&arguments).await.map(drop)
    }

    /// Whether the remote has the branch, whatever state the mirror is in.
    pub(super) async fn has_branch(&self, remote: &OsStr, branch: &FullName) -> Result<bool, Error> {
        let name = branch.as_bstr().to_string();
        let listed = self.succeed(&[OsStr::new("ls-remote"), remote, OsStr::new(&name)]).await?;
        // The pattern also matches longer names that end like it.
        Ok(listed.lines().any(|line| line.split_once('\t').is_some_and(|(_, listed)| listed == name)))
    }

    /// Moves the remote's branch from `parent` to `commit`, which must be a child of it: a lease that holds would
    /// let any other commit through. Without a parent the branch must not exist yet.
    pub(super) async fn push(
        &self,
        remote: &OsStr,
        branch: &FullName,
        parent: Option<ObjectId>,
        commit: ObjectId,
    ) -> Result<Pushed, Error> {
        let name = branch.as_bstr().to_string();
        let expected = parent.map(|parent| parent.to_string()).unwrap_or_default();
        let lease = format!("--force-with-lease={name}:{expected}");
        let mut arguments = words(&["push", "--porcelain", "--no-verify", "--no-progress", &lease]);
        arguments.extend([remote.to_owned(), format!("{commit}:{name}").into()]);
        match self.run(&arguments).await {
            Ok(output) => Ok(push::judge(&name, output.status.success(), &output.stdout, &output.stderr)),
            Err(error @ (Error::TimedOut { .. } | Error::Wait { .. })) => {
                Ok(Pushed::Unclear(error.to_string()))
            }
            Err(error @ (Error::Start(_) | Error::Failed { .. })) => Err(error),
        }
    }

    /// Whether the mirror knows `tip` as a descendant of `commit`, or as `commit` itself.
    pub(super) async fn holds(&self, tip: &str, commit: ObjectId) -> Result<bool, Error> {
        let arguments = words(&["merge-base", "--is-ancestor", &commit.to_string(), tip]);
        let output = self.run(&arguments).await?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(Error::failed(&arguments, output)),
        }
    }

    /// Whether the mirror's objects are sound, and all that `commit` needs is among them.
    pub(super) async fn is_sound(&self, commit: ObjectId) -> Result<bool, Error> {
        let output = self.run(&["fsck", "--no-dangling", "--no-progress", &commit.to_string()]).await?;
        Ok(output.status.success())
    }

    /// Joins packs, so that each is at least twice as large as the next.
    pub(super) async fn repack(&self) -> Result<(), Error> {
        self.succeed(&["repack", "-d", "-q", "--geometric=2"]).await.map(drop)
    }
}

fn words(arguments: &[&str]) -> Vec<OsString> {
    arguments.iter().map(OsString::from).collect()
}
