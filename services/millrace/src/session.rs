//! Reaching a system: a running `up`, a server elsewhere, or a state directory that nobody serves at the moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use runtime::Platform;
use runtime::artifacts::Artifacts;
use runtime::bus::Bus;
use runtime::clock::Clock;
use runtime::config::BusConfig;
use runtime::objects::Embedded;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::nats_child::NatsChild;
use crate::state::{Holder, Lock, RECHECK, StateDir};

/// How long to wait for whoever holds the state directory: another command, an `up` that starts or ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Which system a command is for.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Which system")]
pub(crate) struct Target {
    /// State directory of `up` [default: the nearest .millrace here or above]
    #[arg(long, global = true, value_name = "DIR", env = "MILLRACE_STATE")]
    pub state: Option<PathBuf>,
    /// A NATS server instead
    #[arg(long, global = true, value_name = "URL", env = "MILLRACE_NATS")]
    pub nats: Option<String>,
    /// File with the nkey seed for it
    #[arg(long, global = true, value_name = "FILE", env = "MILLRACE_NKEY")]
    pub nkey: Option<PathBuf>,
}

/// A connection, and the server behind it when that is there for this command only.
pub(crate) struct Session {
    pub platform: Platform,
    /// None for a server elsewhere.
    pub state: Option<StateDir>,
    server: Option<NatsChild>,
}

impl Session {
    /// For commands that only read: without an `up` they start a server on its state for themselves.
    pub(crate) async fn reading(target: &Target) -> Result<Self, Failure> {
        match locate(target).await? {
            Located::Elsewhere(bus) => Self::connect(&bus, None).await,
            Located::Running(state, bus) => Self::connect(&bus, Some(state)).await,
            Located::Idle(state, lock) => {
                let server = NatsChild::start(&state, &lock).await?;
                // An `up` may have ended before it had made its streams.
                match Platform::embedded(&server.bus, Clock::System).await {
                    Ok(platform) => Ok(Self { platform, state: Some(state), server: Some(server) }),
                    Err(error) => {
                        server.stop().await;
                        Err(error.into())
                    }
                }
            }
        }
    }

    /// For commands that need the services.
    pub(crate) async fn serving(target: &Target) -> Result<Self, Failure> {
        match locate(target).await? {
            Located::Elsewhere(bus) => Self::connect(&bus, None).await,
            Located::Running(state, bus) => Self::connect(&bus, Some(state)).await,
            Located::Idle(state, _) => Err(Failure::NotServed(state.root().into())),
        }
    }

    /// To a system that is served: its streams are there, and are not this command's to change.
    async fn connect(config: &BusConfig, state: Option<StateDir>) -> Result<Self, Failure> {
        let bus = Bus::connect(config).await?;
        let objects = Arc::new(Embedded::open(&bus, Clock::System).await?);
        let artifacts = Artifacts::open(&bus).await?;
        Ok(Self { platform: Platform { bus, objects, artifacts, clock: Clock::System }, state, server: None })
    }

    /// Ends the server if it is this command's own.
    pub(crate) async fn close(self) {
        if let Some(server) = self.server {
            drop(self.platform);
            server.stop().await;
        }
    }
}

enum Located {
    Elsewhere(BusConfig),
    Running(StateDir, BusConfig),
    /// Nobody uses it, and while the lock is held nobody else will.
    Idle(StateDir, Lock),
}

async fn locate(target: &Target) -> Result<Located, Failure> {
    if let Some(url) = &target.nats {
        let bus = BusConfig { url: url.clone(), nkey_file: target.nkey.clone(), ..BusConfig::default() };
        return Ok(Located::Elsewhere(bus));
    }
    let here = std::env::current_dir().map_err(|source| Failure::File { file: ".".into(), source })?;
    let state = StateDir::find(target.state.as_deref(), &here)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = state.try_lock()? {
            return Ok(Located::Idle(state, lock));
        }
        if let Some(Holder { serves: true, url: Some(url), .. }) = state.holder() {
            let bus = BusConfig { url, nkey_file: Some(state.seed_file()), ..BusConfig::default() };
            return Ok(Located::Running(state, bus));
        }
        if Instant::now() >= deadline {
            return Err(state.held().into());
        }
        tokio::time::sleep(RECHECK).await;
    }
}
