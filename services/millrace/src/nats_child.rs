//! The NATS server that belongs to an `up`: found, configured, started on the state directory, ended with it.
//!
//! It is started by a thread that lives as long as it does, through a re-execution of this program that first asks the
//! kernel for a signal at its parent's death ([`exec_if_asked`]): it ends with this process, however that ends. Its
//! stdin is the state directory's lock, so an orphan would keep the directory locked. It is in a process group of its
//! own, so a Ctrl-C reaches this process alone.

mod config;
mod exec;
mod find;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;

use runtime::config::BusConfig;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::{oneshot, watch};

pub use exec::exec_if_asked;
pub use find::{Found, find};

use crate::state::{self, Lock, StateDir};

/// A server that is not there by then is not coming.
const START: Duration = Duration::from_secs(20);
/// A server that does not end by then is ended.
const STOP: Duration = Duration::from_secs(10);
const RECHECK: Duration = Duration::from_millis(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Find(#[from] find::Error),
    #[error(transparent)]
    State(#[from] state::Error),
    #[error("preparing the NATS server in {}", directory.display())]
    Prepare { directory: PathBuf, source: io::Error },
    #[error("the key in {}: {message}", file.display())]
    Key { file: PathBuf, message: String },
    #[error("starting {}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("the NATS server has ended ({status}){}", reason.as_ref().map(|line| format!(": {line}")).unwrap_or_default())]
    Ended { status: String, reason: Option<String> },
    #[error("the NATS server has not come up within {} s", START.as_secs())]
    Silent,
}

/// A running server. Dropping it leaves the server to the end of the process; [`NatsChild::stop`] ends it in order.
#[derive(Debug)]
pub struct NatsChild {
    pub bus: BusConfig,
    pub pid: u32,
    directory: PathBuf,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl NatsChild {
    /// Starts a server on the state directory; it holds the lock as long as it lives.
    pub async fn start(state: &StateDir, lock: &Lock) -> Result<Self, Error> {
        let found = find()?;
        let directory = state.server();
        let public_key = key(&state.seed_file())?;
        let failed = |source| Error::Prepare { directory: directory.clone(), source };
        let file = config::prepare(&directory, &public_key).map_err(failed)?;
        let lock = lock.share()?;
        let (started, pid) = oneshot::channel();
        let (report, ended) = watch::channel(None);
        let program = found.program.clone();
        let keep = move || {
            let mut child = match exec::command(&program, &file).stdin(lock).spawn() {
                Ok(child) => child,
                Err(error) => return drop(started.send(Err(error))),
            };
            drop(started.send(Ok(child.id())));
            let _ = report.send(child.wait().ok()); // nobody may be waiting
        };
        let start_failed = |source| Error::Start { program: found.program.clone(), source };
        thread::Builder::new().name("nats-server".into()).spawn(keep).map_err(start_failed)?;
        let pid =
            pid.await.unwrap_or_else(|_| Err(io::Error::other("its thread ended"))).map_err(start_failed)?;
        let bus = BusConfig { nkey_file: Some(state.seed_file()), ..BusConfig::default() };
        let child = Self { bus, pid, directory, ended };
        let url = child.address().await?;
        Ok(Self { bus: BusConfig { url, ..child.bus }, ..child })
    }

    /// The address that the server has chosen.
    async fn address(&self) -> Result<String, Error> {
        let (directory, pid) = (self.directory.clone(), self.pid);
        let chosen = async {
            loop {
                if let Some(url) = config::address(&directory, pid) {
                    return url;
                }
                tokio::time::sleep(RECHECK).await;
            }
        };
        tokio::select! {
            url = tokio::time::timeout(START, chosen) => url.map_err(|_| Error::Silent),
            error = self.ended() => Err(error),
        }
    }

    /// Returns when the server has ended by itself.
    pub async fn ended(&self) -> Error {
        let status = match self.ended.clone().wait_for(Option::is_some).await {
            Ok(status) => status.map(|status| status.to_string()),
            Err(_) => None,
        };
        let status = status.unwrap_or_else(|| "unknown status".into());
        Error::Ended { status, reason: config::last_words(&self.directory, self.pid) }
    }

    /// Ends the server and returns when it is gone.
    pub async fn stop(mut self) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // A descriptor: the number may belong to another process by the time the signal is sent.
        let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return };
        if self.ended.borrow().is_some() {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            if let Err(error) = pidfd_send_signal(&process, signal) {
                tracing::debug!(%error, "the NATS server is gone already");
            }
            if tokio::time::timeout(STOP, self.ended.wait_for(Option::is_some)).await.is_ok() {
                return;
            }
            tracing::warn!(pid = self.pid, "the NATS server does not end");
        }
    }
}

/// The public half of the key in the file, which is made if it is not there.
fn key(file: &Path) -> Result<String, Error> {
    let failed = |message: String| Error::Key { file: file.into(), message };
    let pair = match std::fs::read_to_string(file) {
        Ok(seed) => nkeys::KeyPair::from_seed(seed.trim()).map_err(|error| failed(error.to_string()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let pair = nkeys::KeyPair::new_user();
            let seed = pair.seed().map_err(|error| failed(error.to_string()))?;
            state::write_private(file, seed.as_bytes()).map_err(|error| failed(error.to_string()))?;
            pair
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    Ok(pair.public_key())
}
