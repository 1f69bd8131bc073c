//! Notices changes: of directories, and of the objects that decide what becomes of others' documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::id::ObjectKey;
use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use runtime::objects::{Objects, Snapshot};
use runtime::shutdown::Shutdown;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::directory::Watched;
use super::refusal::contended;
use crate::failure::Failure;
use crate::manifests::{is_manifest, may_hold_manifests, walk};

/// Editors and checkouts change many files at once: a change is taken when nothing has followed for this long,
const QUIET: Duration = Duration::from_millis(50);
/// and at the latest after this.
const LATEST: Duration = Duration::from_secs(1);

/// Watches as long as it lives.
pub(super) struct Changes {
    seen: watch::Receiver<u64>,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Changes {
    pub(super) fn new(directories: &[Watched]) -> notify::Result<Self> {
        let (count, seen) = watch::channel(0u64);
        let roots: Vec<_> = directories.iter().map(|directory| directory.path.clone()).collect();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error means that events may have been lost, and then everything may have changed.
            if event.is_ok_and(|event| !roots.iter().any(|root| concerns(&event, root))) {
                return;
            }
            count.send_modify(|count| *count += 1);
        })?;
        Ok(Self { seen, watcher, watched: BTreeSet::new() })
    }

    /// Watches every directory that may hold manifests, and no other: a state directory or a repository among them
    /// is written all the time. Called before the directories are read, so that no change falls between.
    pub(super) fn cover(&mut self, directories: &[Watched]) -> notify::Result<()> {
        // What cannot be walked is complained about when it is read.
        let trees = directories.iter().filter_map(|directory| walk(&directory.path).ok());
        let there: BTreeSet<PathBuf> = trees.flat_map(|tree| tree.directories).collect();
        for gone in self.watched.difference(&there) {
            if let Err(error) = self.watcher.unwatch(gone) {
                tracing::debug!(%error, directory = %gone.display(), "its watch went with it");
            }
        }
        for new in there.difference(&self.watched) {
            match self.watcher.watch(new, RecursiveMode::NonRecursive) {
                Err(error) if new.exists() => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.watched = there;
        Ok(())
    }

    /// Returns when a file has changed and nothing has followed for a moment.
    pub(super) async fn settled(&mut self) {
        if self.seen.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let latest = Instant::now() + LATEST;
        while matches!(timeout_at(latest, timeout(QUIET, self.seen.changed())).await, Ok(Ok(Ok(())))) {}
    }
}

/// The Promises, Destinations and stores that are installed, as far as their specs go.
pub(super) struct Installed(watch::Receiver<BTreeMap<ObjectKey, Option<i64>>>);

impl Installed {
    /// Returns once all that are there were read. Follows until the shutdown.
    pub(super) async fn follow(objects: &Arc<dyn Objects>, shutdown: Shutdown) -> Result<Self, Failure> {
        let mut snapshot = Snapshot::follow(objects.clone(), contended(), shutdown.clone()).await?;
        let generations = |snapshot: &Snapshot| {
            let objects = &snapshot.now().objects;
            objects
                .iter()
                .map(|(key, object)| (key.clone(), object.metadata.generation))
                .collect::<BTreeMap<_, _>>()
        };
        let (tell, seen) = watch::channel(generations(&snapshot));
        tokio::spawn(async move {
            let mut shutdown = shutdown;
            loop {
                tokio::select! {
                    () = shutdown.requested() => return,
                    () = snapshot.changed() => {}
                }
                let new = generations(&snapshot);
                // A new status changes nothing about an API or a place.
                tell.send_if_modified(|old| {
                    let changed = *old != new;
                    *old = new;
                    changed
                });
            }
        });
        Ok(Self(seen))
    }

    /// Returns when one was installed, changed or removed.
    pub(super) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether an event may have changed a manifest below the directory.
fn concerns(event: &Event, root: &Path) -> bool {
    let names_only = match event.kind {
        EventKind::Access(_) => return false,
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => true,
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => false,
    };
    event.need_rescan()
        || event.paths.iter().any(|path| {
            let Ok(below) = path.strip_prefix(root) else { return false };
            let directories = below.ancestors().skip(1);
            directories.filter(|directory| *directory != Path::new("")).all(may_hold_manifests)
                // A directory that comes or goes takes its files with it.
                && (is_manifest(below) || (names_only && may_hold_manifests(below)))
        })
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, DataChange, RemoveKind, RenameMode};

    use super::*;

    #[tokio::test]
    async fn a_new_directory_is_watched_once_it_is_covered() {
        let root = tempfile::tempdir().unwrap();
        let directories = [Watched::new(root.path()).unwrap()];
        let mut changes = Changes::new(&directories).unwrap();
        changes.cover(&directories).unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        changes.settled().await;
        changes.cover(&directories).unwrap();
        std::fs::write(root.path().join("sub/a.yaml"), "").unwrap();
        changes.settled().await;
        std::fs::remove_dir_all(root.path().join("sub")).unwrap();
        changes.settled().await;
        changes.cover(&directories).unwrap();
        assert_eq!(changes.watched.len(), 1);
    }

    #[test]
    fn only_what_may_change_a_manifest_counts() {
        let create = EventKind::Create(CreateKind::Any);
        let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let rename = EventKind::Modify(ModifyKind::Name(RenameMode::Any));
        let remove = EventKind::Remove(RemoveKind::Folder);
        for (kind, path, expected) in [
            (write, "/d/a.yaml", true),
            (write, "/d/sub/a.json", true),
            (write, "/d/notes.txt", false),
            (write, "/e/a.yaml", false),
            (create, "/d/sub", true),
            (rename, "/d/sub", true),
            (remove, "/d/sub", true),
            (create, "/d/.git/x.yaml", false),
            (create, "/d/state.git/objects/12", false),
            (create, "/d/.millrace", false),
            (EventKind::Access(AccessKind::Any), "/d/a.yaml", false),
        ] {
            let event = Event::new(kind).add_path(path.into());
            assert_eq!(concerns(&event, Path::new("/d")), expected, "{kind:?} {path}");
        }
    }
}
