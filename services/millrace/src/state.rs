//! The state directory: everything an `up` keeps, for one user, used by one process at a time.
//!
//! ```text
//! up.lock      locked by whoever uses the directory, and by its NATS server; tells who that is, and the address
//! nkey.seed    the key that the server asks for
//! nats/        the server: configuration, log, ports, JetStream's store
//! deleted.json objects that were deleted by hand and not since changed in their files
//! cache/       the state-store-writer's copies of repositories
//! locks/       the job-runner's
//! ```

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// Its name where none is given.
pub(crate) const DEFAULT_NAME: &str = ".millrace";

const LOCK: &str = "up.lock";
/// How often somebody who waits for the directory looks again.
pub(crate) const RECHECK: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("state directory {}", directory.display())]
    Unusable { directory: PathBuf, source: io::Error },
    #[error("{} holds files and is no state directory of Millrace", .0.display())]
    Foreign(PathBuf),
    #[error("state directory {} is in use by {holder}", directory.display())]
    Held { directory: PathBuf, holder: String },
    #[error("no state directory: there is no {DEFAULT_NAME} here or in a directory above")]
    NotFound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

/// Who uses the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    pub pid: u32,
    /// An `up` that others may use, once its address is known.
    pub serves: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub url: Option<String>,
}

/// The directory is ours until this and every copy of its descriptor are closed.
#[derive(Debug)]
pub struct Lock {
    file: File,
    directory: PathBuf,
}

impl StateDir {
    /// Makes the directory unless it is there.
    pub fn create(root: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Unusable { directory: root.into(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        let mut entries = root.read_dir().map_err(failed)?;
        let is_ours = root.ends_with(DEFAULT_NAME) || root.join(LOCK).exists();
        if !is_ours && entries.next().is_some() {
            return Err(Error::Foreign(root));
        }
        std::fs::set_permissions(&root, Permissions::from_mode(0o700)).map_err(failed)?;
        // A state directory in a repository is nobody else's business.
        std::fs::write(root.join(".gitignore"), "*\n").map_err(failed)?;
        Ok(Self { root })
    }

    /// One that is there: the one named, else the nearest from `start` upwards.
    pub fn find(named: Option<&Path>, start: &Path) -> Result<Self, Error> {
        let is_state = |path: &PathBuf| path.join(LOCK).is_file();
        match named {
            Some(path) if is_state(&path.into()) => Ok(Self { root: path.into() }),
            Some(path) => Err(Error::Unusable { directory: path.into(), source: ErrorKind::NotFound.into() }),
            None => {
                let mut candidates = start.ancestors().map(|path| path.join(DEFAULT_NAME));
                candidates.find(is_state).map(|root| Self { root }).ok_or(Error::NotFound)
            }
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn seed_file(&self) -> PathBuf {
        self.root.join("nkey.seed")
    }

    pub fn server(&self) -> PathBuf {
        self.root.join("nats")
    }

    pub fn deleted_file(&self) -> PathBuf {
        self.root.join("deleted.json")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Result<Option<Lock>, Error> {
        let failed = |source: io::Error| Error::Unusable { directory: self.root.clone(), source };
        let file = open_private(&self.root.join(LOCK)).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let lock = Lock { file, directory: self.root.clone() };
                lock.tell(&Holder { pid: std::process::id(), ..Holder::default() })?;
                Ok(Some(lock))
            }
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Takes the lock, waiting for its holder to go.
    pub async fn lock(&self, patience: Duration) -> Result<Lock, Error> {
        let taken = tokio::time::timeout(patience, async {
            loop {
                if let Some(lock) = self.try_lock()? {
                    return Ok(lock);
                }
                tokio::time::sleep(RECHECK).await;
            }
        });
        taken.await.unwrap_or_else(|_| Err(self.held()))
    }

    /// None while nobody is there, or one who has not said anything yet.
    pub fn holder(&self) -> Option<Holder> {
        serde_json::from_slice(&std::fs::read(self.root.join(LOCK)).ok()?).ok()
    }

    pub fn held(&self) -> Error {
        let holder =
            self.holder().map_or_else(|| "another process".into(), |holder| holder.describe(is_alive));
        Error::Held { directory: self.root.clone(), holder }
    }
}

impl Holder {
    fn describe(&self, is_alive: impl Fn(u32) -> bool) -> String {
        match self.server {
            Some(server) if !is_alive(self.pid) => {
                format!("process {server}, the NATS server of an `up` that is gone")
            }
            _ => format!("process {}", self.pid),
        }
    }
}

/// Whether there is a process of this number, anybody's.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

impl Lock {
    /// Says who holds the directory.
    pub fn tell(&self, holder: &Holder) -> Result<(), Error> {
        let failed = |source| Error::Unusable { directory: self.directory.clone(), source };
        let text = serde_json::to_vec(holder).map_err(|error| failed(error.into()))?;
        let mut file = &self.file;
        let written =
            file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| file.write_all(&text));
        written.map_err(failed)
    }

    /// For a process that is to hold the lock as well.
    pub fn share(&self) -> Result<File, Error> {
        self.file.try_clone().map_err(|source| Error::Unusable { directory: self.directory.clone(), source })
    }
}

/// Opens or makes a file that only its owner may read.
fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Replaces a file that only its owner may read.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?; // made with 0600
    file.write_all(content)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Reads, changes and writes a small file while nobody else does.
pub(crate) fn update_private<T>(
    path: &Path,
    change: impl FnOnce(&[u8]) -> io::Result<(Option<Vec<u8>>, T)>,
) -> io::Result<T> {
    let mut file = open_private(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    let (changed, result) = change(&content)?;
    if let Some(changed) = changed {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&changed)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_once_and_tells_by_whom() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::create(&root.path().join("deep/state")).unwrap();
        assert_eq!(state.root().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let lock = state.try_lock().unwrap().unwrap();
        assert!(state.try_lock().unwrap().is_none());
        assert!(state.held().to_string().ends_with(&format!("process {}", std::process::id())));
        // A copy of the descriptor keeps it, as a server that outlives its `up` does.
        let copy = lock.share().unwrap();
        drop(lock);
        assert!(state.try_lock().unwrap().is_none());
        drop(copy);
        assert!(state.try_lock().unwrap().is_some());
    }

    #[test]
    fn the_nearest_directory_upwards_is_found() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::create(&root.path().join(DEFAULT_NAME)).unwrap();
        drop(state.try_lock().unwrap());
        let below = root.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        assert_eq!(StateDir::find(None, &below).unwrap().root(), root.path().join(DEFAULT_NAME));
        assert!(matches!(StateDir::find(Some(&below), &below), Err(Error::Unusable { .. })));
    }

    #[test]
    fn a_directory_of_somebody_else_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("thesis.txt"), "").unwrap();
        assert!(matches!(StateDir::create(root.path()), Err(Error::Foreign(_))));
    }

    #[test]
    fn the_holder_is_the_server_when_its_parent_is_gone() {
        let holder = Holder { pid: 1, serves: true, server: Some(2), url: None };
        assert_eq!(holder.describe(|_| true), "process 1");
        assert_eq!(holder.describe(|pid| pid == 2), "process 2, the NATS server of an `up` that is gone");
    }

    #[test]
    fn small_files_are_private() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("f");
        for expected in ["", "x", "xx"] {
            update_private(&path, |old| {
                assert_eq!(old, expected.as_bytes());
                Ok((Some([old, b"x"].concat()), ()))
            })
            .unwrap();
        }
        write_private(&root.path().join("g"), b"secret").unwrap();
        for name in ["f", "g"] {
            assert_eq!(root.path().join(name).metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
