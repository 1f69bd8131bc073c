//! A bare mirror of the remote's branch: a cache, in which commits are prepared. Every call blocks.

use std::io;
use std::path::PathBuf;

use gix::refs::FullName;
use gix::refs::transaction::PreviousValue;
use gix::{ObjectId, Repository};

use super::{pack, tree};
use crate::commit_message::{Author, CommitMessage};
use crate::store::Change;

/// Packs that one open repository can hold; far above what upkeep lets pile up.
const PACK_SLOTS: u16 = 1024;

/// A mirror on disk. It is opened anew for each operation, and so sees what git did to it in between.
#[derive(Debug, Clone)]
pub(super) struct Mirror {
    pub(super) directory: PathBuf,
    /// `refs/heads/<branch>`.
    pub(super) branch: FullName,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Tree(#[from] tree::Error),
    #[error(transparent)]
    Objects(#[from] gix::Error),
    #[error(transparent)]
    Pack(#[from] pack::Error),
    #[error("the work was cut short: {0}")]
    CutShort(#[from] tokio::task::JoinError),
}

/// What a new commit is made of, besides its parent.
pub(super) struct NewCommit {
    pub(super) changes: Vec<Change>,
    pub(super) message: CommitMessage,
    pub(super) author: Author,
    /// Seconds since 1970.
    pub(super) seconds: i64,
    /// Make a commit even if its files equal the parent's.
    pub(super) even_if_equal: bool,
}

impl Mirror {
    pub(super) fn exists(&self) -> bool {
        self.directory.join("HEAD").is_file()
    }

    /// Where the mirror's copy of the branch is.
    pub(super) fn tip(&self) -> Result<Option<ObjectId>, Error> {
        let repository = self.open()?;
        let Some(mut reference) = repository.try_find_reference(self.branch.as_ref())? else {
            return Ok(None);
        };
        Ok(Some(reference.peel_to_id()?.detach()))
    }

    /// Writes a commit on `parent`, moving no branch. Nothing if it would change nothing.
    pub(super) fn commit(
        &self,
        parent: Option<ObjectId>,
        new: &NewCommit,
    ) -> Result<Option<ObjectId>, Error> {
        let repository = self.open()?.with_object_memory();
        let base = match parent {
            Some(parent) => Some(repository.find_commit(parent)?.tree_id()?.detach()),
            None => None,
        };
        let tree = tree::apply(&repository, base, &new.changes)?;
        let unchanged = tree == base.unwrap_or_else(|| ObjectId::empty_tree(repository.object_hash()));
        if unchanged && !new.even_if_equal {
            return Ok(None);
        }
        let time = format!("{} +0000", new.seconds);
        let (name, email) = (new.author.name().into(), new.author.email().into());
        let who = gix::actor::SignatureRef { name, email, time: &time };
        let commit = repository.new_commit_as(who, who, new.message.as_str(), tree, parent)?.id;
        pack::write(&repository, &self.packs_directory())?;
        Ok(Some(commit))
    }

    /// Remembers the tip that the remote has acknowledged: upkeep must find its objects reachable.
    pub(super) fn advance(&self, tip: ObjectId) -> Result<(), Error> {
        self.open()?.reference(self.branch.clone(), tip, PreviousValue::Any, "pushed")?;
        Ok(())
    }

    /// How many packs there are.
    pub(super) fn packs(&self) -> io::Result<usize> {
        let mut packs = 0;
        for entry in std::fs::read_dir(self.packs_directory())? {
            packs += usize::from(entry?.path().extension().is_some_and(|extension| extension == "pack"));
        }
        Ok(packs)
    }

    /// Deletes the mirror, whatever state it is in.
    pub(super) fn delete(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn open(&self) -> Result<Repository, gix::Error> {
        let slots = gix::odb::store::init::Slots::Given(PACK_SLOTS);
        gix::open_opts(&self.directory, gix::open::Options::isolated().object_store_slots(slots))
    }

    fn packs_directory(&self) -> PathBuf {
        self.directory.join("objects/pack")
    }
}
