//! Notices changes: of directories, and of the Promises that are installed.

use std::collections::BTreeMap;
use std::path::Path;
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
use crate::failure::Failure;
use crate::kinds::promises;
use crate::manifests::{is_manifest, may_hold_manifests};

/// Editors and checkouts change many files at once: a change is taken when nothing has followed for this long,
const QUIET: Duration = Duration::from_millis(50);
/// and at the latest after this.
const LATEST: Duration = Duration::from_secs(1);

/// Watches as long as it lives.
pub(super) struct Changes {
    seen: watch::Receiver<u64>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    pub(super) fn of(directories: &[Watched]) -> notify::Result<Self> {
        let (count, seen) = watch::channel(0u64);
        let roots: Vec<_> = directories.iter().map(|directory| directory.path.clone()).collect();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error means that events may have been lost, and then everything may have changed.
            if event.is_ok_and(|event| !roots.iter().any(|root| concerns(&event, root))) {
                return;
            }
            count.send_modify(|count| *count += 1);
        })?;
        for directory in directories {
            watcher.watch(&directory.path, RecursiveMode::Recursive)?;
        }
        Ok(Self { seen, _watcher: watcher })
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

/// The Promises that are installed, as far as their specs go.
pub(super) struct Installed(watch::Receiver<BTreeMap<ObjectKey, Option<i64>>>);

impl Installed {
    /// Returns once all that are there were read. Follows until the shutdown.
    pub(super) async fn follow(objects: &Arc<dyn Objects>, shutdown: Shutdown) -> Result<Self, Failure> {
        let mut snapshot = Snapshot::follow(objects.clone(), vec![promises()], shutdown.clone()).await?;
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
                // A new status changes nothing about the API.
                tell.send_if_modified(|old| {
                    let changed = *old != new;
                    *old = new;
                    changed
                });
            }
        });
        Ok(Self(seen))
    }

    /// Returns when a Promise was installed, changed or removed.
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
