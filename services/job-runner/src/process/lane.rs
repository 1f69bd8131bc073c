//! The lane's two lock files, and the newest token that this host has seen of the lane.
//!
//! A job holds both: `<lock>` in the supervisor and the containers' first processes, `<lock>.tree` in every process of
//! its commands as well (which may let go of it, hence the other). A new supervisor needs both, so that it starts only
//! when the last process of the former tree is gone, even if its supervisor was killed.
//!
//! The first file also holds the newest token. Whoever waits for the lock raises it to its own; a supervisor that finds
//! a newer one than its own ends its job.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_lock, flock, open};
use rustix::io::{Errno, pread, pwrite};

use super::failure::{Failure, at};
use super::job::{FenceToken, Outcome};
use super::sys::keep_over_exec;
use super::watch::Watch;

const RETRY: Duration = Duration::from_millis(20);
/// A token as text: four numbers of fixed width and their separators, so that a newer one overwrites an older one.
const TOKEN_BYTES: usize = 20 + 1 + 20 + 1 + 10 + 1 + 10 + 1;

/// Both locks of a lane, held.
pub(super) struct Lane {
    token: FenceToken,
    lock: OwnedFd,
    path: PathBuf,
    _tree: OwnedFd,
}

/// Takes both locks, or says why the job must not run.
pub(super) fn take(
    path: &Path,
    token: FenceToken,
    watch: &mut Watch,
) -> Result<Result<Lane, Outcome>, Failure> {
    let lock = open_lock(path)?;
    let tree_path = beside(path, ".tree");
    let tree = open_lock(&tree_path)?;
    for (file, path) in [(&lock, path), (&tree, &*tree_path)] {
        loop {
            match raise(&lock, path, token)? {
                Some(highest) if highest > token => return Ok(Err(Outcome::Fenced { highest })),
                Some(_) if try_lock(file, path)? => break,
                Some(_) | None => {}
            }
            match watch.wait(&[], RETRY)? {
                None => {}
                Some(Outcome::TimedOut) => return Ok(Err(Outcome::LaneBusy)),
                Some(outcome) => return Ok(Err(outcome)),
            }
        }
    }
    at(format!("lock {}", tree_path.display()), keep_over_exec(tree.as_fd()))?;
    Ok(Ok(Lane { token, lock, path: path.into(), _tree: tree }))
}

impl Lane {
    /// The newer token that asks for the lane, if one does.
    pub(super) fn newer(&self) -> Result<Option<FenceToken>, Failure> {
        Ok(raise(&self.lock, &self.path, self.token)?.filter(|highest| *highest > self.token))
    }
}

/// A lane's name may hold dots, so nothing is replaced in it.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Opened here and not in the runner: a stopped runner must not hold it.
fn open_lock(path: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    at(format!("lock {}", path.display()), open(path, flags, Mode::RUSR | Mode::WUSR))
}

fn try_lock(file: &OwnedFd, path: &Path) -> Result<bool, Failure> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(e) => at(format!("lock {}", path.display()), Err(e)),
    }
}

/// The newest token, after raising it to `token`; `None` while another supervisor does the same.
///
/// Read and write are one step under a record lock, which is apart from `flock` and which nobody holds for longer.
fn raise(file: &OwnedFd, path: &Path, token: FenceToken) -> Result<Option<FenceToken>, Failure> {
    let what = || format!("token in {}", path.display());
    match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::AGAIN | Errno::ACCESS | Errno::INTR) => return Ok(None),
        Err(e) => return at(what(), Err(e)),
    }
    let highest = (|| {
        let mut text = [0; TOKEN_BYTES];
        let known = match pread(file, &mut text, 0)? {
            0 => None,
            read => Some(parse(&text[..read]).ok_or_else(unreadable)?),
        };
        if known.is_none_or(|known| known < token) {
            pwrite(file, format(token).as_bytes(), 0)?;
        }
        Ok::<_, io::Error>(known.map_or(token, |known| known.max(token)))
    })();
    let released = fcntl_lock(file, FlockOperation::Unlock);
    at(what(), highest.and_then(|highest| Ok(released.map(|()| Some(highest))?)))
}

fn unreadable() -> io::Error {
    io::Error::other("not a token; remove the file once no job of the lane runs on this host")
}

fn format(token: FenceToken) -> String {
    let FenceToken { incarnation, run, pipeline, attempt } = token;
    format!("{incarnation:020}/{run:020}/{pipeline:010}/{attempt:010}\n")
}

fn parse(text: &[u8]) -> Option<FenceToken> {
    let text = str::from_utf8(text).ok()?.strip_suffix('\n')?;
    let mut parts = text.split('/');
    let token = FenceToken {
        incarnation: parts.next()?.parse().ok()?,
        run: parts.next()?.parse().ok()?,
        pipeline: parts.next()?.parse().ok()?,
        attempt: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(run: u64, attempt: u32) -> FenceToken {
        FenceToken { incarnation: 1_760_000_000, run, pipeline: 0, attempt }
    }

    #[test]
    fn tokens_are_written_in_a_fixed_width() {
        let longest =
            FenceToken { incarnation: u64::MAX, run: u64::MAX, pipeline: u32::MAX, attempt: u32::MAX };
        for token in [token(0, 1), longest] {
            let text = format(token);
            assert_eq!(text.len(), TOKEN_BYTES);
            assert_eq!(parse(text.as_bytes()), Some(token));
        }
    }

    #[test]
    fn what_is_not_a_token_is_none() {
        for text in ["", "\n", "1/2/3\n", "1/2/3/4", "1/2/3/4/5\n", "a/2/3/4\n", "1/2/3/99999999999\n"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_file_keeps_its_newest_token() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("redis.default.a");
        let file = open_lock(&path).unwrap();
        for (given, highest) in
            [(token(9, 2), token(9, 2)), (token(10, 1), token(10, 1)), (token(9, 9), token(10, 1))]
        {
            assert_eq!(raise(&file, &path, given).unwrap(), Some(highest));
        }
        assert_eq!(raise(&open_lock(&path).unwrap(), &path, token(1, 1)).unwrap(), Some(token(10, 1)));
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lane");
        std::fs::write(&path, "what?\n").unwrap();
        let error = raise(&open_lock(&path).unwrap(), &path, token(1, 1)).unwrap_err().to_string();
        assert!(error.contains("lane") && error.contains("remove the file"), "{error}");
    }

    #[test]
    fn lanes_that_differ_after_a_dot_have_different_files() {
        assert_ne!(
            beside(Path::new("/r/redis.default.a"), ".tree"),
            beside(Path::new("/r/redis.default.b"), ".tree")
        );
    }
}
