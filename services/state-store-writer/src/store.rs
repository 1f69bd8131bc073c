//! The port to a state store: look at what it holds, then change directories of it in one commit.
//!
//! A commit is a compare-and-set on the revision that its caller has seen, so that two writers, or a writer
//! that was frozen for a while, cannot undo each other's work.

pub mod git;
mod path;

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use crate::commit_message::CommitMessage;

pub use path::{InvalidPath, StorePath};

/// What a store's branch is at. Equal revisions hold equal files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// The store answers, and there is nothing in it yet: the first commit creates the branch.
    Absent,
    /// The store's own name for a state, such as a commit id.
    At(String),
}

impl Revision {
    /// The name that goes into a placement's `versionID` (kratix-F8); nothing while the branch is absent.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::At(id) => Some(id),
        }
    }
}

/// One change to a store. Changes of a commit take effect in order, and all or none of them.
///
/// What no change names is not touched, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The directory holds exactly these files afterwards; their paths are relative to it. Without files it is
    /// gone.
    Replace { prefix: StorePath, files: BTreeMap<StorePath, Bytes> },
    /// The directory is gone afterwards. Nothing to do if there is none.
    Remove { prefix: StorePath },
    /// One file has this content afterwards; its siblings stay.
    PutFile { path: StorePath, content: Bytes },
    /// One file is gone afterwards; its siblings stay. Nothing to do if there is none.
    RemoveFile { path: StorePath },
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Committed {
    /// The expected revision holds everything that was wanted: nothing was written (kratix-F8).
    Unchanged { revision: Revision },
    /// The store holds the changes since this revision.
    Done { revision: String },
    /// The store is not at the expected revision: take a snapshot, decide again (kratix-F14).
    Stale,
}

/// A place that keeps files under revisions.
#[async_trait]
pub trait StateStore: Send {
    /// What the store's branch is at now.
    async fn snapshot(&mut self) -> Result<Revision, Error>;

    /// Makes one commit of `changes` on `expected` and publishes it if the store is still there.
    ///
    /// With nothing to do the answer is [`Committed::Unchanged`]; `force_move` makes an empty commit then, which
    /// moves the branch and so ends what a frozen writer has prepared. After [`Error::Unanswered`] the commit may
    /// be there, now or later: the same changes on a new snapshot are safe.
    async fn commit(
        &mut self,
        expected: &Revision,
        changes: &[Change],
        message: &CommitMessage,
        force_move: bool,
    ) -> Result<Committed, Error>;

    /// Housekeeping of what is kept locally about the store, for moments when nothing is queued.
    async fn upkeep(&mut self) -> Result<(), Error>;
}

/// Why a store was not looked at or changed: the message of a failure condition (kratix-F9). Every text names the
/// store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was written, and waiting does not help: the store's settings or the place they name must change.
    #[error("store {store} cannot be used: {reason}")]
    Unusable { store: String, reason: String },
    /// Nothing was written. Without the changes named here the commit can be made.
    #[error("store {store}: {}", Listed(conflicts))]
    Conflicts { store: String, conflicts: Vec<Conflict> },
    /// The store got the commit and turned it down, as by a hook or a policy.
    #[error("store {store} refused the commit: {reason}")]
    Refused { store: String, reason: String },
    /// No conversation, or it ended without an answer.
    #[error("store {store} did not answer: {reason}")]
    Unanswered { store: String, reason: String },
    /// Trouble on this machine: the cache's disk, or the program that talks to the store.
    #[error("store {store}: {reason}")]
    Local { store: String, reason: String },
}

/// A change that does not fit what somebody else put there (or what an earlier change of the batch did).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {obstacle}")]
pub struct Conflict {
    /// Index of the change within the commit.
    pub change: usize,
    /// What is in the way, from the root of the store.
    pub path: String,
    pub obstacle: Obstacle,
}

/// What stands where something else is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    File,
    Directory,
    Link,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::File => "a file stands where a directory is needed",
            Self::Directory => "a directory stands where a file is needed",
            Self::Link => "a link stands where a file is needed",
        })
    }
}

struct Listed<'a>(&'a [Conflict]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, conflict) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(formatter, "{separator}{conflict}")?;
        }
        Ok(())
    }
}
