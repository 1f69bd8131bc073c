//! What a runner asks of a supervisor, and what it hears back.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::images::Resolved;

/// Containers that run one after another until one fails, on the same input, output and metadata.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub containers: Vec<Container>,
    /// Content of `/kratix/input/object.yaml`. Travels apart from the rest, not as JSON.
    #[serde(skip)]
    pub input: Vec<u8>,
    /// The lane's lock file, in a directory of the runner's user and this host. It remembers the newest token, so it
    /// stays when the job is over; beside it, its name and `.tree`, is the one that the job's processes hold.
    pub lock: PathBuf,
    pub limits: Limits,
    pub isolation: Isolation,
    /// The program that becomes the supervisor: one whose `main` calls [`super::supervise_if_asked`].
    #[serde(skip)]
    pub supervisor: PathBuf,
}

impl Job {
    /// A job with default limits, in namespaces, supervised by this very program.
    pub fn new(lock: impl Into<PathBuf>, containers: Vec<Container>, input: impl Into<Vec<u8>>) -> Self {
        Self {
            containers,
            input: input.into(),
            lock: lock.into(),
            limits: Limits::default(),
            isolation: Isolation::Namespaces,
            supervisor: "/proc/self/exe".into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    Namespaces,
    /// Plain processes of the runner's user; see [`super`].
    None,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Container {
    pub name: String,
    /// What stands in for its image.
    pub image: Resolved,
    /// As in Kubernetes: replaces the entrypoint. Without one the image's own is run.
    pub command: Vec<String>,
    /// As in Kubernetes: follows `command`, or the entrypoint.
    pub args: Vec<String>,
    /// Of two equal names the later one counts.
    pub env: Vec<(String, String)>,
    pub working_dir: PathBuf,
    pub mounts: Vec<Mount>,
}

impl Container {
    /// A container without arguments, variables or mounts, in `/`.
    pub fn new(name: impl Into<String>, image: Resolved, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            image,
            command,
            args: vec![],
            env: vec![],
            working_dir: "/".into(),
            mounts: vec![],
        }
    }
}

/// A directory of the host, seen read-only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mount {
    pub source: PathBuf,
    /// Absolute, below none of the directories that come from the host or the image.
    pub target: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From the lock to the end of the last container.
    pub wall: Duration,
    /// How long to wait for an older job of the lane to end.
    pub lock_wait: Duration,
    /// Size of `/kratix/output`; each file counts in pages of 4 KiB. It is memory.
    pub output_bytes: u64,
    /// Files and directories in `/kratix/output`.
    pub output_files: u64,
    /// Size of `/kratix/metadata`.
    pub metadata_bytes: u64,
    /// Size of `/tmp`, per container.
    pub tmp_bytes: u64,
    /// Kept of stdout and of stderr each, per container, from their beginning.
    pub log_bytes: usize,
    /// Processes and threads that a command may have at a time.
    pub processes: u64,
    /// The user and group id that a command sees as its own.
    pub uid: u32,
}

impl Limits {
    pub const DEFAULT: Self = Self {
        wall: Duration::from_mins(10),
        lock_wait: Duration::from_secs(10),
        output_bytes: 64 << 20,
        output_files: 200_000,
        metadata_bytes: 4 << 20,
        tmp_bytes: 256 << 20,
        log_bytes: 1 << 20,
        processes: 512,
        uid: 0,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Orders the jobs of a lane; on a host, an older one never runs after a newer one. The order of the fields matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FenceToken {
    /// Of the lane's records: run numbers may come again when those were lost.
    pub incarnation: u64,
    pub run: u64,
    pub pipeline: u32,
    pub attempt: u32,
}

impl fmt::Display for FenceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.incarnation, self.run, self.pipeline, self.attempt)
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Succeeded,
    /// The last container of the report ended with another code than 0, or by a signal.
    Failed,
    /// Killed at the wall limit.
    TimedOut,
    /// Killed because [`super::run`] was told to, or its future dropped.
    Cancelled,
    /// Killed because the runner was silent: it was stopped, or the machine slept.
    RunnerSilent,
    /// Killed because a job of the lane with a newer token came.
    Superseded {
        by: FenceToken,
    },
    /// Nothing ran: a job of the lane with a newer token has come before.
    Fenced {
        highest: FenceToken,
    },
    /// Nothing ran: within `lock_wait` another job of the lane did not end.
    LaneBusy,
    /// Nothing ran, or a container could not be set up; says why and, where there is one, the remedy.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub outcome: Outcome,
    /// Of the containers that were started, in their order.
    pub containers: Vec<End>,
}

impl Report {
    pub(super) fn nothing_ran(outcome: Outcome) -> Self {
        Self { outcome, containers: vec![] }
    }
}

/// A container's end. Neither code nor signal: it was killed by the supervisor, or never ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub name: String,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Bytes of both streams that were read and not kept.
    pub dropped: u64,
}
