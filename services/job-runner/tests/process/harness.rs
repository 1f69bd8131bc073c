//! A host for one test: a runner directory, a line to the commands of its jobs, and runners of its own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use job_runner::images::Resolved;
use job_runner::outputs::{self, Output};
use job_runner::process::{self, Container, End, FenceToken, Finished, Job, Outcome};
use rustix::fd::AsFd;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// Where [`user`](crate::user) has put a copy of the program that its user may run.
pub(crate) const PROGRAM: &str = "MILLRACE_TEST_JOB_RUNNER";

pub(crate) fn program() -> PathBuf {
    std::env::var_os(PROGRAM).map_or_else(|| env!("CARGO_BIN_EXE_job-runner").into(), PathBuf::from)
}

pub(crate) fn token(run: u64) -> FenceToken {
    FenceToken { incarnation: 1_760_000_000, run, pipeline: 0, attempt: 1 }
}

pub(crate) struct Host {
    pub(crate) directory: TempDir,
    listener: TcpListener,
}

impl Host {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // A root runner's commands are another user.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { directory, listener: TcpListener::from_std(listener).unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.path("redis.default.example")
    }

    /// A container of this host's bash.
    pub(crate) fn container(&self, script: &str) -> Container {
        let mut container = Container::new("main", Resolved::Host, words(&["bash", "-c", script]));
        container.env = vec![("PORT".into(), self.listener.local_addr().unwrap().port().to_string())];
        container
    }

    pub(crate) fn job(&self, script: &str) -> Job {
        self.job_of(vec![self.container(script)])
    }

    pub(crate) fn job_of(&self, containers: Vec<Container>) -> Job {
        let mut job = Job::new(self.lock(), containers, *b"kind: Redis\n");
        job.supervisor = program();
        job
    }

    /// A job that calls and then waits for a line from us, and whose other processes hold the line too.
    pub(crate) fn waiting_job(&self, before: &str) -> Job {
        self.job(&format!("exec 3<>/dev/tcp/127.0.0.1/$PORT; {before}\necho here >&3; read -u 3; echo told"))
    }

    /// Waits for the call of a [`Host::waiting_job`].
    pub(crate) async fn call(&self) -> Call {
        let mut line = BufReader::new(soon(self.listener.accept()).await.unwrap().0);
        let mut text = String::new();
        soon(line.read_line(&mut text)).await.unwrap();
        assert_eq!(text, "here\n");
        Call { line }
    }

    /// A process of its own that runs [`Host::waiting_job`] with the token of run 1.
    pub(crate) fn runner(&self) -> Runner {
        self.runner_by(&["env"])
    }

    /// The same, started by a command that changes what it finds.
    pub(crate) fn runner_by(&self, prefix: &[&str]) -> Runner {
        let child = Command::new(prefix[0])
            .args(&prefix[1..])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "harness::be_a_runner", "--ignored"])
            .env("RUNNER_DIRECTORY", self.directory.path())
            .env("RUNNER_PORT", self.listener.local_addr().unwrap().port().to_string())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Runner { child, said: self.path("said") }
    }
}

/// A line to a running command and all its descendants.
pub(crate) struct Call {
    line: BufReader<TcpStream>,
}

impl Call {
    pub(crate) async fn answer(&mut self) {
        self.line.get_mut().write_all(b"go on\n").await.unwrap();
    }

    /// Returns when the last process that held the line is gone.
    pub(crate) async fn all_gone(mut self) {
        match soon(self.line.read_to_end(&mut vec![])).await {
            Ok(_) => {}
            Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "{e}"),
        }
    }
}

pub(crate) struct Runner {
    child: Child,
    said: PathBuf,
}

impl Runner {
    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn signal_supervisor(&self, signal: Signal) {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let children: Vec<String> =
            tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap()).collect();
        let pid = Pid::from_raw(children.concat().trim().parse().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// How its job ended, as it says itself; nothing if it could not.
    pub(crate) async fn said(mut self) -> String {
        soon(self.child.wait()).await.unwrap();
        fs::read_to_string(self.said).unwrap_or_default()
    }
}

/// Not a test: what [`Host::runner`] starts, so that it can be killed and stopped.
#[test]
#[ignore = "a part of other tests"]
fn be_a_runner() {
    let directory = PathBuf::from(std::env::var("RUNNER_DIRECTORY").unwrap());
    let script = "exec 3<>/dev/tcp/127.0.0.1/$PORT; setsid sleep 1000 & echo here >&3; read -u 3; echo told";
    let mut container = Container::new("main", Resolved::Host, words(&["bash", "-c", script]));
    container.env = vec![("PORT".into(), std::env::var("RUNNER_PORT").unwrap())];
    let mut job = Job::new(directory.join("redis.default.example"), vec![container], "");
    job.supervisor = program();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let said = match runtime.block_on(run(job, 1)) {
        Ok(finished) => format!("{:?}", finished.report.outcome),
        Err(error) => error.to_string(),
    };
    fs::write(directory.join("said"), said).unwrap();
}

pub(crate) async fn run(job: Job, number: u64) -> Result<Finished, process::Error> {
    process::run(job, token(number), watch::channel(false).1).await
}

pub(crate) async fn outcome(job: Job, number: u64) -> Outcome {
    run(job, number).await.unwrap().report.outcome
}

/// Runs a job whose one container succeeds.
pub(crate) async fn succeed(job: Job) -> (End, Output) {
    let limits = job.limits.clone();
    let finished = run(job, 1).await.unwrap();
    let end = finished.report.containers.last().cloned().unwrap_or_default();
    assert_eq!(finished.report.outcome, Outcome::Succeeded, "{end:?}");
    (end, outputs::collect(finished.output.unwrap().as_fd(), &limits).unwrap())
}

/// What a script prints.
pub(crate) async fn printed(script: &str) -> String {
    let host = Host::new();
    let (end, _) = succeed(host.job(script)).await;
    end.stdout
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).into()).collect()
}

pub(crate) fn write_executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Longer than anything here takes; a test that waits for so long has failed.
async fn soon<T>(done: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), done).await.expect("took too long")
}
