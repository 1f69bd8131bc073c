//! The service's side: starts a supervisor per job, keeps its heartbeat going, takes report and directories.

use std::io::{self, PipeReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use tempfile::TempDir;
use tokio::sync::{oneshot, watch};

use super::SUPERVISE;
use super::job::{FenceToken, Isolation, Job, Report};
use super::wire::{BEAT, CANCEL, Order, receive_report};

const BEAT_INTERVAL: Duration = Duration::from_millis(200);

/// What a job left: its directories, readable as long as this lives.
#[derive(Debug)]
pub struct Finished {
    pub report: Report,
    /// `/kratix/output` as a directory; `None` when nothing ran.
    pub output: Option<OwnedFd>,
    /// `/kratix/metadata` as a directory; `None` when nothing ran.
    pub metadata: Option<OwnedFd>,
    /// Where they are when nothing was mounted.
    _directory: Option<TempDir>,
}

/// Why a job has no report. It may have run, in part; nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("job of lane {lane}: cannot start its supervisor {program}")]
    Start { lane: String, program: String, source: io::Error },
    #[error("job of lane {lane}: its supervisor ended without a report ({status})")]
    NoReport { lane: String, status: ExitStatus },
    #[error("job of lane {lane}: lost its supervisor")]
    Lost { lane: String, source: io::Error },
}

/// Runs one job to its end, which may be an end by `cancel` turning true. Dropping the future cancels too.
///
/// A thread of the job's own does all that blocks and sends the heartbeats: they stop when this process is stopped or
/// dies, and do not depend on its async threads.
///
/// # Errors
///
/// Only for a supervisor that could not be started or did not live to report; how a job itself ended, or why it was not
/// run, is in the report.
pub async fn run(job: Job, token: FenceToken, mut cancel: watch::Receiver<bool>) -> Result<Finished, Error> {
    let lane = lane(&job.lock);
    let lost = |source| Error::Lost { lane: lane.clone(), source };
    let (stop_seen, stop) = io::pipe().map_err(lost)?;
    let (report, mut finished) = oneshot::channel();
    thread::Builder::new()
        .name("job".into())
        .spawn(move || drop(report.send(drive(job, token, &stop_seen))))
        .map_err(lost)?;
    let asked = async {
        if cancel.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await; // nobody is left who could ask
        }
    };
    let finished = tokio::select! {
        finished = &mut finished => finished,
        () = asked => {
            drop(stop);
            finished.await
        }
    };
    finished.unwrap_or_else(|_| Err(lost(io::Error::other("its thread ended"))))
}

/// A lane is named in errors as its lock file is.
fn lane(lock: &Path) -> String {
    lock.file_name().unwrap_or(lock.as_os_str()).display().to_string()
}

/// The job's thread. The other end of `stop` being closed means to cancel.
fn drive(job: Job, token: FenceToken, stop: &PipeReader) -> Result<Finished, Error> {
    let lane = lane(&job.lock);
    let lost = |source| Error::Lost { lane: lane.clone(), source };
    let directory = match job.isolation {
        Isolation::Namespaces => None,
        Isolation::None => Some(tempfile::Builder::new().prefix("millrace-job-").tempdir().map_err(lost)?),
    };
    let (ours, theirs) = UnixStream::pair().map_err(lost)?;
    let ours = OwnedFd::from(ours);
    let order = Order { directory: directory.as_ref().map(|directory| directory.path().into()), token, job };
    let mut text = vec![];
    order.write_to(&mut text).map_err(lost)?;
    let mut supervisor = Command::new(&order.job.supervisor)
        .arg(SUPERVISE)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .map_err(|source| Error::Start {
            lane: lane.clone(),
            program: order.job.supervisor.display().to_string(),
            source,
        })?;
    let mut pipe = supervisor.stdin.take();
    beat_until_report(pipe.as_mut(), &text, &ours, stop).map_err(lost)?;
    let received = receive_report(&ours).map_err(lost)?;
    let status = supervisor.wait().map_err(lost)?;
    let Some((report, directories)) = received else { return Err(Error::NoReport { lane, status }) };
    let [output, metadata] = directories.map_or([None, None], |both| both.map(Some));
    Ok(Finished { report, output, metadata, _directory: directory })
}

/// Sends the order, then heartbeats until there is something to receive.
fn beat_until_report(
    mut pipe: Option<&mut ChildStdin>,
    order: &[u8],
    socket: &OwnedFd,
    stop: &PipeReader,
) -> io::Result<()> {
    // A supervisor that has gone does not read; what it has to say, or its silence, is for the caller.
    let mut send = |bytes: &[u8]| match pipe.as_mut().map(|pipe| pipe.write_all(bytes)) {
        Some(Err(e)) if e.kind() != io::ErrorKind::BrokenPipe => Err(e),
        _ => Ok(()),
    };
    send(order)?;
    let mut stopping = false;
    loop {
        let mut sources = vec![PollFd::new(socket, PollFlags::IN)];
        if !stopping {
            sources.push(PollFd::new(stop, PollFlags::IN));
        }
        let interval = Timespec { tv_sec: 0, tv_nsec: BEAT_INTERVAL.subsec_nanos().into() };
        match poll(&mut sources, Some(&interval)) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        if !sources[0].revents().is_empty() {
            return Ok(());
        }
        let stop_now = sources.get(1).is_some_and(|stop| !stop.revents().is_empty());
        stopping |= stop_now;
        send(&[if stop_now { CANCEL } else { BEAT }])?;
    }
}
