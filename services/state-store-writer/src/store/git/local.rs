//! The repository behind a `file:` address: made where there is nothing, refused where pushes would do harm.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix::refs::FullName;
use rustix::process::geteuid;
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use super::cli::{self, Git};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(
        "{path}: a working copy with {branch} checked out, which a push would leave behind; use a bare repository \
         (git clone --bare), or check out another branch there (git switch --detach)"
    )]
    CheckedOut { path: PathBuf, branch: String },
    #[error("{path}: neither empty nor a Git repository: {reason}")]
    Occupied { path: PathBuf, reason: String },
    #[error(
        "{path}: belongs to user {owner}, and this process runs as user {ours}; git works on repositories of its own \
         user only: run as that user, or change the owner (chown -R {ours} {path})"
    )]
    Owner { path: PathBuf, owner: u32, ours: u32 },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}: could not be made a repository: {error}")]
    Init { path: PathBuf, error: cli::Error },
}

/// Makes sure that `path` takes pushes to `branch`: a missing path or an empty directory becomes a bare repository,
/// with permissions that follow the umask.
pub(super) async fn settle(git: &Git, path: &Path, branch: &FullName) -> Result<(), Error> {
    match look_at(path, branch).await? {
        Site::Ready => Ok(()),
        Site::Empty => init(git, path, path, branch).await, // in place: it may be where a volume is mounted
        Site::Missing => create(git, path, branch).await,
    }
}

async fn init(git: &Git, directory: &Path, path: &Path, branch: &FullName) -> Result<(), Error> {
    git.init(directory, branch).await.map_err(|error| Error::Init { path: path.to_owned(), error })
}

async fn look_at(path: &Path, branch: &FullName) -> Result<Site, Error> {
    let (path, branch) = (path.to_owned(), branch.clone());
    let failed = |error| Error::Io { path: path.clone(), error };
    let survey = {
        let path = path.clone();
        move || survey(&path, &branch)
    };
    spawn_blocking(survey).await.map_err(|error| failed(error.into()))?
}

enum Site {
    Missing,
    Empty,
    Ready,
}

fn survey(path: &Path, branch: &FullName) -> Result<Site, Error> {
    let failed = |error| Error::Io { path: path.to_owned(), error };
    let occupied = |reason| Error::Occupied { path: path.to_owned(), reason };
    match std::fs::read_dir(path).map(|mut entries| entries.next()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Site::Missing),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(occupied(error.to_string()));
        }
        Err(error) => return Err(failed(error)),
        Ok(None) => return Ok(Site::Empty),
        Ok(Some(_)) => {}
    }
    let opened = gix::open_opts(path, gix::open::Options::isolated());
    let repository = opened.map_err(|error| occupied(error.to_string()))?;
    let directory = repository.git_dir();
    let (owner, ours) = (std::fs::metadata(directory).map_err(failed)?.uid(), geteuid().as_raw());
    if owner != ours {
        return Err(Error::Owner { path: directory.to_owned(), owner, ours });
    }
    let head = repository.head_name().ok().flatten();
    if !repository.is_bare() && head.as_ref() == Some(branch) {
        return Err(Error::CheckedOut { path: path.to_owned(), branch: branch.shorten().to_string() });
    }
    Ok(Site::Ready)
}

/// Makes the repository beside its place and renames it there, so that no half of one is ever found.
async fn create(git: &Git, path: &Path, branch: &FullName) -> Result<(), Error> {
    let failed = |error| Error::Io { path: path.to_owned(), error };
    let parent = path.parent().unwrap_or(path).to_owned();
    let workshop =
        spawn_blocking(move || workshop_in(&parent)).await.unwrap_or_else(|error| Err(error.into()));
    let workshop = workshop.map_err(failed)?;
    let made = workshop.path().join("repository");
    init(git, &made, path, branch).await?;
    match tokio::fs::rename(&made, path).await {
        Ok(()) => Ok(()),
        // Somebody else was faster; what they made must do.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            match look_at(path, branch).await? {
                Site::Ready => Ok(()),
                Site::Missing | Site::Empty => Err(failed(error)),
            }
        }
        Err(error) => Err(failed(error)),
    }
}

/// A directory that is gone when dropped.
fn workshop_in(parent: &Path) -> io::Result<TempDir> {
    std::fs::create_dir_all(parent)?;
    tempfile::Builder::new().prefix(".new-state-store-").tempdir_in(parent)
}
