//! State stores in Git: no working tree, one commit and one push for a batch, and the push is the compare-and-set.
//!
//! The lease of a push names our commit's own parent. A plain push would undo a rewind, and a lease on anything else
//! could replace what others wrote; with this one the branch moves from the parent to our commit or not at all.

mod cli;
mod commands;
mod local;
mod mirror;
mod pack;
mod push;
mod tree;
mod url;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use gix::ObjectId;
use gix::refs::FullName;
use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tracing::{debug, warn};

use self::cli::Git;
use self::mirror::{Mirror, NewCommit};
use self::push::Pushed;
use self::url::Remote;
use super::{Change, Committed, Error, Revision, StateStore};
use crate::commit_message::{Author, CommitMessage};

/// What upstream gives one git command.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(90);

/// Packs in the mirror at which upkeep repacks.
const PACKS_FOR_UPKEEP: usize = 20;
/// Packs in the mirror at which a commit repacks first, however busy the store is.
const PACKS_BY_FORCE: usize = 200;

/// One Git state store.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The object's name, for errors and logs.
    pub store: String,
    /// `file:///absolute/path`.
    pub url: String,
    pub branch: String,
    pub author: Author,
    /// A directory for this store alone. What is in it may be deleted whenever the store is not open.
    pub cache: PathBuf,
    /// Where `git` is found, in the form of `PATH`.
    pub search_path: OsString,
    /// The most that one git command may take, see [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
}

/// A branch of a Git repository as a [`StateStore`].
#[derive(Debug)]
pub struct GitStore {
    store: String,
    remote: Remote,
    branch: FullName,
    author: Author,
    mirror: Mirror,
    git: Git,
    /// Whether the remote's place has been looked at and found fit.
    settled: bool,
    /// Whether the mirror was fetched anew and nothing has been pushed from it since: then it is not to blame.
    fresh: bool,
}

/// What [`GitStore::prepare`] came to.
#[derive(Debug)]
#[must_use]
pub enum Prepared {
    /// The expected revision holds everything already.
    Unchanged,
    /// The expected revision is not the store's any more.
    Stale,
    /// A commit that waits for its push.
    Ready(Candidate),
}

/// A commit in the mirror that the remote does not have yet.
#[derive(Debug, Clone)]
pub struct Candidate {
    parent: Option<ObjectId>,
    commit: ObjectId,
}

impl GitStore {
    /// Checks the settings; nothing is read or written yet.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let Settings { store, url, branch, author, cache, search_path, timeout } = settings;
        let unusable = |reason| Error::Unusable { store: store.clone(), reason };
        let remote = Remote::parse(&url).map_err(|error| unusable(error.to_string()))?;
        let branch = FullName::try_from(format!("refs/heads/{branch}"))
            .map_err(|error| unusable(format!("{branch:?} cannot be the name of a branch: {error}")))?;
        // git runs elsewhere, in an empty directory.
        let cache = std::path::absolute(cache).map_err(|error| unusable(error.to_string()))?;
        let mirror = Mirror { directory: cache.join("mirror.git"), branch: branch.clone() };
        let (directory, home) = (mirror.directory.clone(), cache.join("home"));
        let git = Git { directory, home, search_path, protocol: remote.protocol(), timeout };
        Ok(Self { store, remote, branch, author, mirror, git, settled: false, fresh: false })
    }

    /// The first half of a commit: everything but the push. See [`StateStore::commit`].
    pub async fn prepare(
        &mut self,
        expected: &Revision,
        changes: &[Change],
        message: &CommitMessage,
        force_move: bool,
    ) -> Result<Prepared, Error> {
        let parent = expected.id().map(|id| ObjectId::from_hex(id.as_bytes())).transpose();
        let Ok(parent) = parent else { return Ok(Prepared::Stale) }; // no revision of Git's
        self.settle().await?;
        self.repack_from(PACKS_BY_FORCE).await?;
        let mut drafted = self.draft(parent, changes, message, force_move).await;
        for anew in [false, true] {
            match &drafted {
                Err(mirror::Error::Tree(tree::Error::Conflicts(_))) | Ok(_) => break,
                Err(error) => warn!(store = self.store, %error, anew, "the mirror lacks something: fetching"),
            }
            if anew {
                self.rebuild().await?;
            }
            if self.look().await? != *expected {
                return Ok(Prepared::Stale);
            }
            drafted = self.draft(parent, changes, message, force_move).await;
        }
        match drafted {
            Ok(Some(commit)) => Ok(Prepared::Ready(Candidate { parent, commit })),
            Ok(None) => Ok(Prepared::Unchanged),
            Err(mirror::Error::Tree(tree::Error::Conflicts(conflicts))) => {
                Err(Error::Conflicts { store: self.store.clone(), conflicts })
            }
            Err(error) => Err(self.local(&error)),
        }
    }

    /// The second half of a commit: the push, and finding out what became of it.
    pub async fn publish(&mut self, candidate: Candidate) -> Result<Committed, Error> {
        self.settle().await?;
        let Candidate { parent, commit } = candidate;
        let pushed = self.git.push(self.remote.argument(), &self.branch, parent, commit).await;
        let (reason, turned_down) = match pushed.map_err(|error| self.local(&error))? {
            Pushed::Done => {
                self.fresh = false;
                self.remember(commit).await;
                return Ok(Committed::Done { revision: commit.to_string() });
            }
            Pushed::Stale => return Ok(Committed::Stale),
            Pushed::TurnedDown(reason) => (reason, true),
            Pushed::Unclear(reason) => (reason, false),
        };
        // Looked at first, since tracing the commit may mend the mirror. What a broken one sends is turned down too.
        let to_blame = !self.fresh && !self.git.is_sound(commit).await.unwrap_or(true);
        match self.trace(&candidate, &reason).await? {
            Fate::Landed => Ok(Committed::Done { revision: commit.to_string() }),
            Fate::Overtaken => Ok(Committed::Stale),
            Fate::Absent if to_blame => {
                warn!(store = self.store, reason, "the mirror is damaged: fetching it anew");
                self.rebuild().await?;
                Ok(Committed::Stale)
            }
            Fate::Absent if turned_down => Err(Error::Refused { store: self.store.clone(), reason }),
            Fate::Absent => Err(self.unanswered(reason)),
        }
    }

    /// What became of a commit whose push had no clear answer: the branch tells, not git's words.
    async fn trace(&mut self, candidate: &Candidate, reason: &str) -> Result<Fate, Error> {
        let now = self.look().await.map_err(|error| self.unanswered(format!("{reason}; then {error}")))?;
        let parent = candidate.parent.map(|parent| parent.to_string());
        match now.id() {
            now if now == parent.as_deref() => Ok(Fate::Absent),
            None => Ok(Fate::Overtaken),
            Some(tip) => match self.git.holds(tip, candidate.commit).await {
                Ok(true) => Ok(Fate::Landed),
                Ok(false) => Ok(Fate::Overtaken),
                Err(error) => Err(self.unanswered(format!("{reason}; then {error}"))),
            },
        }
    }

    /// What the remote's branch is at, brought into the mirror.
    async fn look(&mut self) -> Result<Revision, Error> {
        self.settle().await?;
        match self.fetch().await? {
            Ok(revision) => return Ok(revision),
            Err(reason) => debug!(store = self.store, reason, "the branch was not fetched"),
        }
        // There may be no branch, the remote may be at fault, or the mirror: one question tells them apart.
        self.settled = false;
        self.settle().await?;
        let asked = self.git.has_branch(self.remote.argument(), &self.branch).await;
        if !asked.map_err(|error| self.unheard(&error))? {
            return Ok(Revision::Absent);
        }
        warn!(store = self.store, "the mirror is damaged: fetching it anew");
        self.rebuild().await?;
        self.fetch().await?.map_err(|reason| self.unanswered(reason))
    }

    /// The inner error says why there is nothing, and leaves open whose fault that is.
    async fn fetch(&self) -> Result<Result<Revision, String>, Error> {
        match self.git.fetch(self.remote.argument(), &self.branch).await {
            Ok(()) => {}
            Err(error @ cli::Error::Failed { .. }) => return Ok(Err(error.to_string())),
            Err(error) => return Err(self.unheard(&error)),
        }
        let mirror = self.mirror.clone();
        Ok(match blocking(move || mirror.tip()).await {
            Ok(Some(tip)) => Ok(Revision::At(tip.to_string())),
            Ok(None) => Err("the branch was fetched and is not there".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Makes sure that there is a mirror, and a remote that takes pushes.
    async fn settle(&mut self) -> Result<(), Error> {
        tokio::fs::create_dir_all(&self.git.home).await.map_err(|error| self.local(&error))?;
        if !self.mirror.exists() {
            let made = self.git.init(&self.mirror.directory, &self.branch).await;
            made.map_err(|error| self.local(&error))?;
        }
        if !self.settled {
            let settled = match &self.remote {
                Remote::File(path) => local::settle(&self.git, path, &self.branch).await,
            };
            settled
                .map_err(|error| Error::Unusable { store: self.store.clone(), reason: error.to_string() })?;
            self.settled = true;
        }
        Ok(())
    }

    /// Starts over with an empty mirror.
    async fn rebuild(&mut self) -> Result<(), Error> {
        let mirror = self.mirror.clone();
        let deleted = spawn_blocking(move || mirror.delete()).await.unwrap_or_else(|error| Err(error.into()));
        deleted.map_err(|error| self.local(&error))?;
        self.fresh = true;
        self.settle().await
    }

    async fn draft(
        &self,
        parent: Option<ObjectId>,
        changes: &[Change],
        message: &CommitMessage,
        even_if_equal: bool,
    ) -> Result<Option<ObjectId>, mirror::Error> {
        let (mirror, seconds) = (self.mirror.clone(), Timestamp::now().as_second());
        let (changes, message, author) = (changes.to_vec(), message.clone(), self.author.clone());
        let new = NewCommit { changes, message, author, seconds, even_if_equal };
        blocking(move || mirror.commit(parent, &new)).await
    }

    /// Moves the mirror's branch after the remote's.
    async fn remember(&self, tip: ObjectId) {
        let mirror = self.mirror.clone();
        if let Err(error) = blocking(move || mirror.advance(tip)).await {
            // The next fetch makes up for it.
            warn!(store = self.store, %error, "the mirror's branch did not move");
        }
    }

    /// Repacks the mirror if it has that many packs. One that cannot be repacked is as good as damaged.
    async fn repack_from(&mut self, least: usize) -> Result<(), Error> {
        let mirror = self.mirror.clone();
        let packs = spawn_blocking(move || mirror.packs()).await.unwrap_or_else(|error| Err(error.into()));
        match packs {
            Ok(packs) if packs >= least => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.local(&error)),
        }
        match self.git.repack().await {
            Ok(()) => Ok(()),
            Err(error @ cli::Error::Start(_)) => Err(self.local(&error)),
            Err(error) => {
                warn!(store = self.store, %error, "the mirror was not repacked: starting over");
                self.rebuild().await
            }
        }
    }

    fn local(&self, error: &dyn std::error::Error) -> Error {
        Error::Local { store: self.store.clone(), reason: error.to_string() }
    }

    /// A command that was to hear from the remote, and did not.
    fn unheard(&self, error: &cli::Error) -> Error {
        match error {
            cli::Error::Start(_) => self.local(error),
            cli::Error::TimedOut { .. } | cli::Error::Failed { .. } | cli::Error::Wait { .. } => {
                self.unanswered(error.to_string())
            }
        }
    }

    fn unanswered(&self, reason: String) -> Error {
        Error::Unanswered { store: self.store.clone(), reason }
    }
}

#[async_trait]
impl StateStore for GitStore {
    async fn snapshot(&mut self) -> Result<Revision, Error> {
        self.look().await
    }

    async fn commit(
        &mut self,
        expected: &Revision,
        changes: &[Change],
        message: &CommitMessage,
        force_move: bool,
    ) -> Result<Committed, Error> {
        match self.prepare(expected, changes, message, force_move).await? {
            Prepared::Unchanged => Ok(Committed::Unchanged { revision: expected.clone() }),
            Prepared::Stale => Ok(Committed::Stale),
            Prepared::Ready(candidate) => self.publish(candidate).await,
        }
    }

    async fn upkeep(&mut self) -> Result<(), Error> {
        self.repack_from(PACKS_FOR_UPKEEP).await
    }
}

/// What became of a commit.
enum Fate {
    /// The branch holds it.
    Landed,
    /// The branch moved without it.
    Overtaken,
    /// The branch is where it was.
    Absent,
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, mirror::Error> + Send + 'static,
) -> Result<T, mirror::Error> {
    spawn_blocking(work).await?
}
