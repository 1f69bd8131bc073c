//! The job's first process: from `exec` on with one thread, it owns the lane's lock, the namespaces and every deadline.

use std::fs;
use std::io::{self, Read, Write};
use std::process;
use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_send_signal, setsid, umask, wait,
    waitid,
};
use serde::{Deserialize, Serialize};

use super::container;
use super::failure::{Failure, at};
use super::job::{Container, End, Limits, Outcome, Report};
use super::lane;
use super::log::Log;
use super::place::Place;
use super::sys::{Forked, close_inherited, fork};
use super::watch::Watch;
use super::wire::{Directories, Order, send_report};

const TICK: Duration = Duration::from_secs(1);

/// Takes the order from standard input, runs it, and sends the report over standard output, a socket.
pub(super) fn enter() -> ! {
    let (report, directories) = match supervise() {
        Ok((report, directories)) => (report, directories),
        Err(failure) => (Report::nothing_ran(Outcome::Refused(failure.to_string())), None),
    };
    let sent = send_report(io::stdout().as_fd(), &report, directories.as_ref());
    process::exit(i32::from(sent.is_err()))
}

fn supervise() -> Result<(Report, Option<Directories>), Failure> {
    prepare()?;
    let stdin = at("order", io::stdin().as_fd().try_clone_to_owned())?;
    let order = at("order", Order::read_from(&mut fs::File::from(stdin)))?;
    run(&order)
}

/// Makes this a process of its own: of one thread, without the runner's descriptors, terminal and file mode mask.
fn prepare() -> Result<(), Failure> {
    at("descriptors", close_inherited())?;
    if at("threads", fs::read_dir("/proc/self/task"))?.count() != 1 {
        let why = "a supervisor must have one thread: call supervise_if_asked first thing in main";
        return Err(Failure::Invalid(why.into()));
    }
    at("session", setsid())?;
    umask(Mode::from_raw_mode(0o022));
    Ok(())
}

fn run(order: &Order) -> Result<(Report, Option<Directories>), Failure> {
    let Order { job, token, .. } = order;
    let mut watch = Watch::new(job.limits.lock_wait);
    match lane::take(&job.lock, *token, &mut watch)? {
        Ok(lane) => watch.start(lane, job.limits.wall),
        Err(outcome) => return Ok((Report::nothing_ran(outcome), None)),
    }
    let place = Place::make(order)?;
    let mut report = Report::nothing_ran(Outcome::Succeeded);
    for (index, container) in job.containers.iter().enumerate() {
        let (outcome, end) = run_container(container, index, &place, &job.limits, &mut watch)?;
        report.containers.push(end);
        report.outcome = outcome;
        if report.outcome != Outcome::Succeeded {
            break;
        }
    }
    let directories = place.open_results()?;
    // Every process is dead and reaped. A stopped runner must not keep the lane by not reading the report.
    drop(watch);
    Ok((report, Some(directories)))
}

/// What a container's first process says of the command.
#[derive(Serialize, Deserialize)]
enum Status {
    Exited(i32),
    Signaled(i32),
    NotStarted(String),
}

fn run_container(
    container: &Container,
    index: usize,
    place: &Place,
    limits: &Limits,
    watch: &mut Watch,
) -> Result<(Outcome, End), Failure> {
    let pipe = || at("pipe", pipe_with(PipeFlags::CLOEXEC));
    let (status_read, status_write) = pipe()?;
    let (out_read, out_write) = pipe()?;
    let (err_read, err_write) = pipe()?;
    let first = match at("new process", fork(matches!(place, Place::Namespaces { .. })))? {
        Forked::Parent(pidfd) => pidfd,
        Forked::Child => {
            drop((status_read, out_read, err_read));
            let ended =
                container::run(container, index, place, limits, &status_write, (out_write, err_write));
            say(status_write, &ended.map_or_else(|why| Status::NotStarted(why.to_string()), Status::from))
        }
    };
    drop((status_write, out_write, err_write));
    let mut logs = [Log::new(out_read, limits.log_bytes)?, Log::new(err_read, limits.log_bytes)?];
    let stopped = attend(first.as_fd(), &mut logs, watch)?;
    if let Place::Directory(_) = place {
        kill_descendants()?;
    }
    let [(stdout, dropped_out), (stderr, dropped_err)] = logs.map(Log::finish);
    let mut end = End {
        name: container.name.clone(),
        stdout,
        stderr,
        dropped: dropped_out + dropped_err,
        ..End::default()
    };
    let outcome = match (stopped, hear(status_read)?) {
        (Some(outcome), _) => outcome,
        (None, Status::NotStarted(why)) => Outcome::Refused(why),
        (None, Status::Exited(code)) => {
            end.exit_code = Some(code);
            if code == 0 { Outcome::Succeeded } else { Outcome::Failed }
        }
        (None, Status::Signaled(signal)) => {
            end.signal = Some(signal);
            Outcome::Failed
        }
    };
    Ok((outcome, end))
}

/// Reads the logs until the first process ends, or must be killed; then how. Returns when its namespace is empty.
fn attend(first: BorrowedFd, logs: &mut [Log; 2], watch: &mut Watch) -> Result<Option<Outcome>, Failure> {
    loop {
        let mut sources = vec![first];
        sources.extend(logs.iter().filter_map(Log::source));
        if let Some(outcome) = watch.wait(&sources, TICK)? {
            at("kill", pidfd_send_signal(first, Signal::KILL))?;
            // Returns when the kernel has killed and reaped every process of the namespace, not only pid 1.
            at("wait", waitid(WaitId::PidFd(first), WaitIdOptions::EXITED))?;
            return Ok(Some(outcome));
        }
        for log in &mut *logs {
            log.read();
        }
        let ended = waitid(WaitId::PidFd(first), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        if at("wait", ended)?.is_some() {
            return Ok(None);
        }
    }
}

impl From<rustix::process::WaitStatus> for Status {
    fn from(status: rustix::process::WaitStatus) -> Self {
        match status.exit_status() {
            Some(code) => Self::Exited(code),
            None => Self::Signaled(status.terminating_signal().unwrap_or_default()),
        }
    }
}

/// The last that a first process does.
fn say(pipe: OwnedFd, status: &Status) -> ! {
    let said = serde_json::to_vec(status).map_err(io::Error::from);
    let said = said.and_then(|text| fs::File::from(pipe).write_all(&text));
    process::exit(i32::from(said.is_err()))
}

/// A first process that said nothing was killed itself, as by the kernel for want of memory.
fn hear(pipe: OwnedFd) -> Result<Status, Failure> {
    let mut text = Vec::new();
    at("status", fs::File::from(pipe).read_to_end(&mut text))?;
    Ok(serde_json::from_slice(&text).unwrap_or(Status::Signaled(Signal::KILL.as_raw())))
}

/// Without a pid namespace: kills what a container left, however it detached itself. Orphans become our children.
fn kill_descendants() -> Result<(), Failure> {
    loop {
        let children = at("children", fs::read_to_string("/proc/thread-self/children"))?;
        for child in children.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            match kill_process(child, Signal::KILL) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(e) => return at("kill", Err(e)),
            }
        }
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(()),
            Err(e) => return at("wait", Err(e)),
        }
    }
}
