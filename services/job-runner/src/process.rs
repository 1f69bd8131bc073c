//! Runs a job's containers as if in containers: Linux namespaces, no engine, as root and as an ordinary user.
//!
//! A job has three kinds of process. The **runner** is the service: [`run`] starts a supervisor per job, sends it
//! heartbeats, and takes its report. The **supervisor** is this program, executed again with one thread
//! ([`supervise_if_asked`]): it owns the lane's lock, the namespaces and every deadline. Per container, a **first
//! process** (pid 1 of its own namespace) builds the root, starts the command and reaps.
//!
//! The supervisor kills the whole tree when the runner's pipe ends, when no heartbeat came for 2.5 s (the time that the
//! machine sleeps counts), when a job of the lane with a newer token asks for the lock, when the job is cancelled, and
//! at the wall limit. It is the supervisor that holds the lane's lock, so a stopped or dead runner cannot keep a lane.
//!
//! # What a command sees
//!
//! * `/kratix/input/object.yaml`, read-only; `/kratix/output` and `/kratix/metadata`, each a tmpfs whose size is its
//!   limit, shared by the containers of the job and by nothing else.
//! * `/usr`, `/bin`, `/sbin`, `/lib*` and `/etc` of the host read-only, or the directories and files of an unpacked
//!   image instead; a new `/tmp` per container, `/proc`, and a small `/dev`. Nothing else of the host: no `/home`,
//!   `/root`, `/run`, `/var`.
//! * Its own processes only; the network of the host, with its `/etc/resolv.conf` (left out when an unpacked image has
//!   no such file in an `/etc` of its own); the environment given, and `PATH` and `HOME` when they are not.
//! * No capability over any mount: it runs in a second user namespace, made after the mounts. Outside it is the
//!   runner's user, or 65534 when the runner is root: what is mounted into a root runner's job must be world-readable.
//!
//! There is no limit of memory or CPU, and no seccomp filter; the host's loopback services can be reached.
//!
//! # Without namespaces
//!
//! [`Isolation::None`], asked for explicitly, runs commands as plain processes of the runner's user, who can do
//! whatever that user can. There is no `/kratix`: the variable `MILLRACE_KRATIX_DIR` names a temporary directory with
//! `input`, `output` and `metadata`. Neither sizes nor processes are limited while a command runs, unpacked images and
//! mounts are refused, and of a killed supervisor's job only the command itself is sure to die with it.

mod container;
mod failure;
mod job;
mod lane;
mod log;
mod place;
mod root;
mod runner;
mod supervisor;
mod sys;
mod watch;
mod wire;

pub use job::{Container, End, FenceToken, Isolation, Job, Limits, Mount, Outcome, Report};
pub use root::SCRIPTS;
pub use runner::{Error, Finished, run};

/// First argument of a program that is to be a supervisor.
const SUPERVISE: &str = "__supervise-job";

/// Becomes a supervisor, and never returns, if the program was started as one.
///
/// The first thing in `main` of every program that may run jobs, before any thread exists: a supervisor forks, and a
/// fork of a program with threads may do next to nothing.
pub fn supervise_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|word| word == SUPERVISE) {
        supervisor::enter()
    }
}
