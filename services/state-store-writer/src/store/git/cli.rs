//! The git command line in a closed environment: the only transport.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Options of every call; besides them git reads the mirror's own configuration alone.
const CLOSED: [&str; 8] = [
    "core.fsync=none", // the mirror is a cache: after a crash it is fetched again
    "core.hooksPath=/dev/null",
    "credential.helper=",
    "fetch.unpackLimit=1", // one pack per fetch, never loose objects
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=1",
    "protocol.allow=never",
];

/// How long a command may take to clean up after the polite signal. Killed at once, it leaves lock files behind, in
/// a `file:` repository even on the other side.
const GRACE: Duration = Duration::from_secs(5);

/// More of what a command says is read, so that it does not stall, and dropped.
const MOST_OUTPUT: usize = 64 * 1024;

/// Runs git on one mirror.
#[derive(Debug)]
pub(super) struct Git {
    /// `--git-dir` of every call, so that git never looks for a repository by itself.
    pub(super) directory: PathBuf,
    /// An empty directory: `HOME` and the working directory.
    pub(super) home: PathBuf,
    /// Where git and the programs it starts are found.
    pub(super) search_path: OsString,
    /// The transport that is allowed.
    pub(super) protocol: &'static str,
    /// The most that one command may take.
    pub(super) timeout: Duration,
}

/// What a command that ended by itself has said.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("git could not be started: {0}")]
    Start(io::Error),
    #[error("git {command} took longer than {limit:?} and was ended")]
    TimedOut { command: String, limit: Duration },
    #[error("git {command} ended with {status}: {stderr}")]
    Failed { command: String, status: ExitStatus, stderr: String },
    #[error("git {command}: its end was missed: {error}")]
    Wait { command: String, error: io::Error },
}

impl Git {
    /// Runs one command to its end, whatever that is. On timeout, and when the future is dropped, the command's
    /// whole process group is ended: `git push` alone would leave its transport running.
    pub(super) async fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Output, Error> {
        let mut child = self.command(arguments).spawn().map_err(Error::Start)?;
        let mut group = Group::of(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let end = async { tokio::join!(beginning(stdout), beginning(stderr), child.wait()) };
        tokio::pin!(end);
        if let Ok((stdout, stderr, status)) = timeout(self.timeout, &mut end).await {
            group.ended();
            let status = status.map_err(|error| Error::Wait { command: name(arguments), error })?;
            return Ok(Output { status, stdout, stderr });
        }
        group.signal(Signal::TERM);
        let ended = timeout(GRACE, &mut end).await;
        // What is left did not obey, or is a hook, which holds none of the pipes.
        group.signal(Signal::KILL);
        if ended.is_err() {
            // Only a process that has left the group can still hold the pipes; it is not waited for.
            let _ = timeout(GRACE, &mut end).await;
        }
        group.ended();
        Err(Error::TimedOut { command: name(arguments), limit: self.timeout })
    }

    /// Runs one command that must succeed, and returns what it printed.
    pub(super) async fn succeed<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<String, Error> {
        let output = self.run(arguments).await?;
        if output.status.success() { Ok(output.stdout) } else { Err(Error::failed(arguments, output)) }
    }

    fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", &self.search_path).env("HOME", &self.home).current_dir(&self.home);
        command.env("LC_ALL", "C"); // what is shown to users does not depend on the machine's language
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_TERMINAL_PROMPT", "0");
        for option in CLOSED {
            command.args(["-c", option]);
        }
        command.arg("-c").arg(format!("protocol.{}.allow=always", self.protocol));
        command.arg("--git-dir").arg(&self.directory).args(arguments);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Error {
    pub(super) fn failed<A: AsRef<OsStr>>(arguments: &[A], output: Output) -> Self {
        let Output { status, stderr, .. } = output;
        Self::Failed { command: name(arguments), status, stderr: stderr.trim().to_owned() }
    }
}

fn name<A: AsRef<OsStr>>(arguments: &[A]) -> String {
    arguments.first().map(|name| name.as_ref().to_string_lossy().into_owned()).unwrap_or_default()
}

/// A process group that is told to end when this is dropped before [`Group::ended`].
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // The only failure is that nobody is left in it.
            let _ = kill_process_group(group, signal);
        }
    }

    fn ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}

/// Reads to the end and keeps the beginning. A read error counts as the end.
async fn beginning(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 8192]);
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let room = MOST_OUTPUT.saturating_sub(kept.len()).min(read);
        kept.extend_from_slice(&buffer[..room]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
