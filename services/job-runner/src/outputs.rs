//! Collects what a job left in `/kratix/output`: regular files only, never through a link and never from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, statat};

use crate::process::Limits;

/// Longer than any path that a state store takes; it bounds how deep directories may lie.
const MAX_PATH_BYTES: usize = 1024;

/// The files of an output, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// By path relative to the output directory.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Names of the directories at the top, also of those without files.
    pub directories: BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: a {kind} in an output is not allowed; it takes regular files and directories")]
    Kind { path: String, kind: &'static str },
    #[error("{path}: a part of the path is or may be taken for `.git`, which is not allowed in an output")]
    Git { path: String },
    #[error("{path:?}: a name in an output must be UTF-8 and hold no control characters")]
    Name { path: String },
    #[error("{path}: a path in an output is at most {MAX_PATH_BYTES} bytes long")]
    PathTooLong { path: String },
    #[error("{path}: with this file the output is larger than {limit} bytes")]
    TooLarge { path: String, limit: u64 },
    #[error("{path}: with this the output has more than {limit} files and directories")]
    TooMany { path: String, limit: u64 },
    #[error("{path}: cannot be read")]
    Read { path: String, source: io::Error },
}

/// Reads everything below `directory`, up to `limits.output_bytes` and `limits.output_files`. Sizes are what files
/// claim, so a hole counts; they are checked before reading.
pub fn collect(directory: BorrowedFd, limits: &Limits) -> Result<Output, Error> {
    let mut output = Output::default();
    let mut left = Left { bytes: limits.output_bytes, entries: limits.output_files, limits };
    let mut pending = vec![String::new()];
    while let Some(parent) = pending.pop() {
        for path in entries(directory, &parent, &mut left)? {
            match kind(directory, &path)? {
                FileType::RegularFile => {
                    let content = left.read(directory, &path)?;
                    output.files.insert(path, content);
                }
                FileType::Directory => {
                    if parent.is_empty() {
                        output.directories.insert(path.clone());
                    }
                    pending.push(path);
                }
                other => return Err(Error::Kind { path, kind: name_of(other) }),
            }
        }
    }
    Ok(output)
}

/// What may still come.
struct Left<'a> {
    bytes: u64,
    entries: u64,
    limits: &'a Limits,
}

impl Left<'_> {
    fn count(&mut self, path: &str) -> Result<(), Error> {
        let too_many = || Error::TooMany { path: path.into(), limit: self.limits.output_files };
        self.entries = self.entries.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    fn read(&mut self, directory: BorrowedFd, path: &str) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Read { path: path.into(), source };
        let file = open_file(directory, path).map_err(failed)?;
        match read_file(file, self.bytes).map_err(failed)? {
            Some(content) => {
                self.bytes -= content.len() as u64;
                Ok(content)
            }
            None => Err(Error::TooLarge { path: path.into(), limit: self.limits.output_bytes }),
        }
    }
}

/// Paths of what is in the directory `parent`, in order, with names that may be in an output.
fn entries(directory: BorrowedFd, parent: &str, left: &mut Left) -> Result<Vec<String>, Error> {
    let failed =
        |source: io::Error| Error::Read { path: if parent.is_empty() { "." } else { parent }.into(), source };
    let fd = open_beneath(directory, if parent.is_empty() { "." } else { parent }, OFlags::DIRECTORY)
        .map_err(failed)?;
    let mut paths = Vec::new();
    for entry in Dir::new(fd).map_err(|e| failed(e.into()))? {
        let entry = entry.map_err(|e| failed(e.into()))?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            let path = checked_path(parent, name.to_bytes())?;
            left.count(&path)?;
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn checked_path(parent: &str, name: &[u8]) -> Result<String, Error> {
    let shown = || join(parent, &String::from_utf8_lossy(name));
    let name = match str::from_utf8(name) {
        Ok(name) if !name.contains(char::is_control) => name,
        _ => return Err(Error::Name { path: shown() }),
    };
    let path = join(parent, name);
    if is_git(name) {
        return Err(Error::Git { path });
    }
    if path.len() > MAX_PATH_BYTES { Err(Error::PathTooLong { path }) } else { Ok(path) }
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.into() } else { format!("{parent}/{name}") }
}

/// Names that git itself refuses, since some file system takes them for `.git`.
fn is_git(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name).trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

fn kind(directory: BorrowedFd, path: &str) -> Result<FileType, Error> {
    let stat = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|e| Error::Read { path: path.into(), source: e.into() })?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "file of unknown kind",
    }
}

/// Opens a path below `directory`, and nothing that is elsewhere.
fn open_beneath(directory: BorrowedFd, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    Ok(openat2(directory, path, flags, Mode::empty(), resolve)?)
}

/// Opens a regular file below `directory`; anything else there is an error.
pub(crate) fn open_file(directory: BorrowedFd, path: &str) -> io::Result<File> {
    let file = open_beneath(directory, path, OFlags::NOFOLLOW)?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        other => Err(io::Error::other(format!("a {} and not a regular file", name_of(other)))),
    }
}

/// The content of a file, unless it is larger than `limit`; never reads more than that.
pub(crate) fn read_file(file: File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if fstat(file.as_fd())?.st_size.cast_unsigned() > limit {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= limit).then_some(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tempfile::TempDir;

    const SMALL: Limits = Limits { output_bytes: 10, output_files: 4, ..Limits::DEFAULT };

    fn open(directory: &TempDir) -> File {
        File::open(directory.path()).unwrap()
    }

    fn collected(directory: &TempDir) -> Result<Output, Error> {
        collect(open(directory).as_fd(), &SMALL)
    }

    /// The error for a directory that `make` has put something in.
    fn refused(make: impl FnOnce(&Path)) -> String {
        let directory = tempfile::tempdir().unwrap();
        make(directory.path());
        collected(&directory).unwrap_err().to_string()
    }

    #[test]
    fn files_come_with_their_paths_and_top_directories_also_when_empty() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("a/.hidden")).unwrap();
        fs::create_dir(directory.path().join("empty")).unwrap();
        fs::write(directory.path().join("a/.hidden/ü x.yaml"), "12345").unwrap();
        let output = collected(&directory).unwrap();
        assert_eq!(output.files, BTreeMap::from([("a/.hidden/ü x.yaml".into(), b"12345".to_vec())]));
        assert_eq!(output.directories, BTreeSet::from(["a".into(), "empty".into()]));
    }

    #[test]
    fn limits_hold_to_the_byte_and_the_file() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["1", "2", "3", "4"] {
            fs::write(directory.path().join(name), if name == "1" { "1234567890" } else { "" }).unwrap();
        }
        assert_eq!(collected(&directory).unwrap().files.len(), 4);
        fs::write(directory.path().join("2"), "1").unwrap();
        let error = collected(&directory).unwrap_err().to_string();
        assert!(error.starts_with("2: ") && error.contains("10 bytes"), "{error}");
        fs::write(directory.path().join("5"), "").unwrap();
        let error = collected(&directory).unwrap_err().to_string();
        assert!(error.contains("more than 4 files"), "{error}");
    }

    #[test]
    fn a_hole_counts() {
        let error = refused(|at| File::create(at.join("hole")).unwrap().set_len(1 << 40).unwrap());
        assert!(error.starts_with("hole: ") && error.contains("larger"), "{error}");
    }

    #[test]
    fn what_is_no_file_is_refused_by_its_path() {
        for (target, kind) in
            [("/etc/passwd", "symbolic link"), ("nowhere", "symbolic link"), ("..", "symbolic link")]
        {
            let error = refused(|at| {
                fs::create_dir(at.join("d")).unwrap();
                symlink(target, at.join("d/x")).unwrap();
            });
            assert!(error.starts_with("d/x: ") && error.contains(kind), "{error}");
        }
        let error = refused(|at| {
            rustix::fs::mknodat(rustix::fs::CWD, at.join("p"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        });
        assert!(error.starts_with("p: ") && error.contains("named pipe"), "{error}");
        let error = refused(|at| drop(std::os::unix::net::UnixListener::bind(at.join("s")).unwrap()));
        assert!(error.starts_with("s: ") && error.contains("socket"), "{error}");
    }

    #[test]
    fn what_git_could_take_for_its_own_is_refused() {
        for name in [".git", ".GIT", ".Git.", ".git ", "git~1", ".git::$INDEX_ALLOCATION"] {
            let error = refused(|at| fs::create_dir_all(at.join("d").join(name)).unwrap());
            assert!(error.starts_with(&format!("d/{name}: ")) && error.contains("`.git`"), "{error}");
        }
        for name in [".gitignore", ".github", "git", "x.git"] {
            assert!(!is_git(name), "{name}");
        }
    }

    #[test]
    fn names_are_text() {
        for name in [&b"a\nb"[..], b"\x7f", b"\xff\xfe"] {
            let error = refused(|at| fs::write(at.join(OsStr::from_bytes(name)), "").unwrap());
            assert!(error.contains("UTF-8") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn depth_is_bounded_by_the_length_of_paths() {
        let part = "x".repeat(250);
        let error = refused(|at| fs::create_dir_all(at.join([&*part; 5].join("/"))).unwrap());
        assert!(error.contains("1024 bytes long"), "{error}");
    }

    #[test]
    fn only_regular_files_below_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let fd = File::open(directory.path()).unwrap();
        symlink("/etc", directory.path().join("out")).unwrap();
        for path in ["../etc/passwd", "/etc/passwd", "out/passwd", "out", "."] {
            assert!(open_file(fd.as_fd(), path).is_err(), "{path}");
        }
    }
}
