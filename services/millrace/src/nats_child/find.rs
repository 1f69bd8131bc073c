//! Which `nats-server` to run.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "nats-server";
/// Names the program to run.
const VARIABLE: &str = "MILLRACE_NATS_SERVER";
/// Oldest version whose fixes Millrace relies on.
const MINIMUM: Version = Version(2, 14, 6);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64, u64, u64);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub program: PathBuf,
    pub version: Version,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no nats-server: neither {VARIABLE} nor PATH nor a directory .tools/bin has one")]
    Missing,
    #[error("{} is version {version}; {MINIMUM} or newer is needed", program.display())]
    TooOld { program: PathBuf, version: Version },
    #[error("{} cannot be run", program.display())]
    NotRunnable { program: PathBuf, source: io::Error },
    #[error("{} does not say which version it is: {answer:?}", program.display())]
    NoVersion { program: PathBuf, answer: String },
}

/// The one that [`VARIABLE`] names; else the first that is new enough of those on `PATH`, in `.tools/bin` here or
/// above, and in `.tools/bin` beside or above this program.
pub fn find() -> Result<Found, Error> {
    if let Some(program) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return probe(Path::new(&program));
    }
    let directories = std::env::current_dir().ok().into_iter().chain(std::env::current_exe().ok());
    first(candidates(std::env::var_os("PATH").as_deref(), directories), probe)
}

fn candidates(path: Option<&OsStr>, starts: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
    let path: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let above = |start: PathBuf| start.ancestors().map(|above| above.join(".tools/bin")).collect::<Vec<_>>();
    path.into_iter()
        .chain(starts.flat_map(above))
        .map(|directory| directory.join(PROGRAM))
        .filter(|file| file.is_file())
}

/// The first that will do; else why the first will not.
fn first(
    candidates: impl Iterator<Item = PathBuf>,
    probe: impl Fn(&Path) -> Result<Found, Error>,
) -> Result<Found, Error> {
    let mut refused = None;
    for program in candidates {
        match probe(&program) {
            Ok(found) => return Ok(found),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or(Error::Missing))
}

fn probe(program: &Path) -> Result<Found, Error> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|source| Error::NotRunnable { program: program.into(), source })?;
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = version_in(&answer).ok_or_else(|| Error::NoVersion { program: program.into(), answer })?;
    if version < MINIMUM {
        return Err(Error::TooOld { program: program.into(), version });
    }
    Ok(Found { program: program.into(), version })
}

/// `nats-server: v2.15.1`; what follows a third number, as in `2.16.0-RC.1`, is left out.
fn version_in(answer: &str) -> Option<Version> {
    let (_, version) = answer.split_once(" v")?;
    let mut numbers = version.split('.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().ok()
    });
    Some(Version(numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared_by_number() {
        assert_eq!(version_in("nats-server: v2.15.1"), Some(Version(2, 15, 1)));
        assert_eq!(version_in("nats-server: v2.16.0-RC.1"), Some(Version(2, 16, 0)));
        assert!(version_in("nats-server: v2.9.20").is_some_and(|version| version < MINIMUM));
        assert_eq!(version_in("something else"), None);
    }

    #[test]
    fn an_old_one_does_not_hide_a_newer_one() {
        let probe = |program: &Path| {
            let version = if program.starts_with("/old") { Version(2, 10, 0) } else { Version(2, 15, 1) };
            let program = program.to_owned();
            if version < MINIMUM {
                Err(Error::TooOld { program, version })
            } else {
                Ok(Found { program, version })
            }
        };
        let found = first(["/old/x", "/new/x"].map(PathBuf::from).into_iter(), probe).unwrap();
        assert_eq!(found.program, Path::new("/new/x"));
        assert!(matches!(first(std::iter::once("/old/x".into()), probe), Err(Error::TooOld { .. })));
        assert!(matches!(first(std::iter::empty(), probe), Err(Error::Missing)));
    }

    #[test]
    fn tools_are_sought_upwards() {
        let root = tempfile::tempdir().unwrap();
        let tools = root.path().join(".tools/bin");
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::write(tools.join(PROGRAM), "").unwrap();
        let start = root.path().join("a/b");
        let found: Vec<PathBuf> = candidates(None, std::iter::once(start)).collect();
        assert_eq!(found, [tools.join(PROGRAM)]);
    }
}
