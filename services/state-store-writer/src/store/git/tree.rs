//! Applies changes to a tree without a working tree. Directories are read when a change goes through them, and every
//! step looks at what stands there first: nothing of somebody else's turns from a file into a directory or back.

use std::collections::BTreeMap;

use bytes::Bytes;
use gix::bstr::BString;
use gix::objs::Tree;
use gix::objs::tree::{Entry, EntryKind, EntryMode};
use gix::{ObjectId, Repository};

use crate::store::{Change, Conflict, Obstacle, StorePath};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{} changes do not fit what is there", .0.len())]
    Conflicts(Vec<Conflict>),
    #[error(transparent)]
    Objects(#[from] gix::Error),
}

/// Applies `changes` in order to the tree `base` (`None` is an empty one) and writes the trees and files that are
/// new. All conflicts are found, and then nothing is written.
pub(super) fn apply(
    repository: &Repository,
    base: Option<ObjectId>,
    changes: &[Change],
) -> Result<ObjectId, Error> {
    let mut editor = Editor { repository, above: Vec::new() };
    let mut root = base.map_or_else(|| Ok(Entries::new()), |base| load(repository, base))?;
    let mut conflicts = Vec::new();
    for (change, wanted) in changes.iter().enumerate() {
        editor.above.clear();
        match editor.change(&mut root, wanted) {
            Ok(()) => {}
            Err(Stop::InTheWay(path, obstacle)) => conflicts.push(Conflict { change, path, obstacle }),
            Err(Stop::Objects(error)) => return Err(Error::Objects(error)),
        }
    }
    if !conflicts.is_empty() {
        return Err(Error::Conflicts(conflicts));
    }
    Ok(match write(repository, root)? {
        Some(tree) => tree,
        None => repository.write_object(Tree::empty())?.detach(),
    })
}

type Entries = BTreeMap<BString, Node>;

enum Node {
    /// As it is in the base, not looked into.
    Stored(EntryMode, ObjectId),
    /// A directory that a change has gone through. If it ends empty it is left out.
    Directory(Entries),
    /// A file that a change has put there.
    File(Bytes),
}

impl Node {
    fn is_directory(&self) -> bool {
        match self {
            Self::Stored(mode, _) => mode.is_tree(),
            Self::Directory(_) => true,
            Self::File(_) => false,
        }
    }

    /// A directory out of which earlier changes have taken everything.
    fn is_void(&self) -> bool {
        match self {
            Self::Directory(entries) => entries.values().all(Self::is_void),
            Self::Stored(..) | Self::File(_) => false,
        }
    }
}

enum Stop {
    InTheWay(String, Obstacle),
    Objects(gix::Error),
}

impl From<gix::Error> for Stop {
    fn from(error: gix::Error) -> Self {
        Self::Objects(error)
    }
}

struct Editor<'r> {
    repository: &'r Repository,
    /// The names gone through, for the path of a conflict.
    above: Vec<String>,
}

impl Editor<'_> {
    fn change(&mut self, root: &mut Entries, change: &Change) -> Result<(), Stop> {
        match change {
            Change::Replace { prefix, files } if !files.is_empty() => self.replace(root, prefix, files),
            Change::Replace { prefix, .. } | Change::Remove { prefix } => self.remove(root, prefix),
            Change::PutFile { path, content } => self.put(root, path, content),
            Change::RemoveFile { path } => self.remove_file(root, path),
        }
    }

    fn replace(
        &mut self,
        root: &mut Entries,
        prefix: &StorePath,
        files: &BTreeMap<StorePath, Bytes>,
    ) -> Result<(), Stop> {
        let (above, name) = prefix.split_last();
        let parent = self.enter(root, above)?;
        if parent.get(name.as_bytes()).is_some_and(|node| !node.is_directory()) {
            return Err(self.in_the_way(name, Obstacle::File));
        }
        self.above.push(name.to_owned());
        let (mut fresh, depth) = (Entries::new(), self.above.len());
        for (path, content) in files {
            self.above.truncate(depth);
            self.put(&mut fresh, path, content)?;
        }
        parent.insert(name.into(), Node::Directory(fresh));
        Ok(())
    }

    fn remove(&mut self, root: &mut Entries, prefix: &StorePath) -> Result<(), Stop> {
        let (above, name) = prefix.split_last();
        if let Some(parent) = self.find(root, above)?
            && parent.get(name.as_bytes()).is_some_and(Node::is_directory)
        {
            parent.remove(name.as_bytes());
        }
        Ok(())
    }

    fn put(&mut self, root: &mut Entries, path: &StorePath, content: &Bytes) -> Result<(), Stop> {
        let (above, name) = path.split_last();
        let parent = self.enter(root, above)?;
        let obstacle = match parent.get(name.as_bytes()) {
            Some(Node::Stored(mode, _)) if mode.is_tree() => Some(Obstacle::Directory),
            Some(Node::Stored(mode, _)) if !mode.is_blob() => Some(Obstacle::Link),
            Some(node @ Node::Directory(_)) if !node.is_void() => Some(Obstacle::Directory),
            Some(Node::Stored(..) | Node::File(_) | Node::Directory(_)) | None => None,
        };
        if let Some(obstacle) = obstacle {
            return Err(self.in_the_way(name, obstacle));
        }
        parent.insert(name.into(), Node::File(content.clone()));
        Ok(())
    }

    fn remove_file(&mut self, root: &mut Entries, path: &StorePath) -> Result<(), Stop> {
        let (above, name) = path.split_last();
        let Some(parent) = self.find(root, above)? else { return Ok(()) };
        match parent.get(name.as_bytes()) {
            Some(Node::Stored(mode, _)) if !mode.is_blob() => {}
            Some(Node::Directory(_)) | None => {}
            Some(Node::Stored(..) | Node::File(_)) => {
                parent.remove(name.as_bytes());
            }
        }
        Ok(())
    }

    /// The directory below `root` at `path`, made where it is missing.
    fn enter<'e, 'p>(
        &mut self,
        mut root: &'e mut Entries,
        path: impl Iterator<Item = &'p str>,
    ) -> Result<&'e mut Entries, Stop> {
        for name in path {
            let node = root.entry(name.into()).or_insert_with(|| Node::Directory(Entries::new()));
            match self.open(node)? {
                Some(entries) => root = entries,
                None => return Err(self.in_the_way(name, Obstacle::File)),
            }
            self.above.push(name.to_owned());
        }
        Ok(root)
    }

    /// The directory below `root` at `path`, if there is one.
    fn find<'e, 'p>(
        &self,
        mut root: &'e mut Entries,
        path: impl Iterator<Item = &'p str>,
    ) -> Result<Option<&'e mut Entries>, Stop> {
        for name in path {
            let Some(node) = root.get_mut(name.as_bytes()) else { return Ok(None) };
            match self.open(node)? {
                Some(entries) => root = entries,
                None => return Ok(None),
            }
        }
        Ok(Some(root))
    }

    /// Looks into a directory; nothing for a file.
    fn open<'e>(&self, node: &'e mut Node) -> Result<Option<&'e mut Entries>, Stop> {
        if let Node::Stored(mode, id) = node
            && mode.is_tree()
        {
            *node = Node::Directory(load(self.repository, *id)?);
        }
        Ok(match node {
            Node::Directory(entries) => Some(entries),
            Node::Stored(..) | Node::File(_) => None,
        })
    }

    fn in_the_way(&self, name: &str, obstacle: Obstacle) -> Stop {
        let above = self.above.iter().map(String::as_str);
        let path = above.chain(Some(name)).collect::<Vec<_>>().join("/");
        Stop::InTheWay(path, obstacle)
    }
}

fn load(repository: &Repository, tree: ObjectId) -> Result<Entries, gix::Error> {
    let tree = repository.find_tree(tree)?;
    let entries = tree.decode()?.entries;
    Ok(entries.iter().map(|e| (e.filename.to_owned(), Node::Stored(e.mode, e.oid.to_owned()))).collect())
}

/// Writes a directory from the bottom up. An empty one is nothing.
fn write(repository: &Repository, entries: Entries) -> Result<Option<ObjectId>, gix::Error> {
    let mut tree = Tree { entries: Vec::with_capacity(entries.len()) };
    for (filename, node) in entries {
        let (mode, oid) = match node {
            Node::Stored(mode, id) => (mode, id),
            Node::File(content) => (EntryKind::Blob.into(), repository.write_blob(&content)?.detach()),
            Node::Directory(entries) => match write(repository, entries)? {
                Some(id) => (EntryKind::Tree.into(), id),
                None => continue,
            },
        };
        tree.entries.push(Entry { mode, filename, oid });
    }
    if tree.entries.is_empty() {
        return Ok(None);
    }
    tree.entries.sort(); // git's order: a directory sorts as if its name ended with `/`
    Ok(Some(repository.write_object(tree)?.detach()))
}
