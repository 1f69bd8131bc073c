//! The composition root: a NATS server, all services and the directory sync in one process.

pub(crate) mod configuration;
mod outage;
mod services;

use std::path::PathBuf;
use std::time::Duration;

use job_runner::process::Isolation;
use runtime::Platform;
use runtime::clock::Clock;
use runtime::shutdown::{GRACE, Shutdown};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::nats_child::NatsChild;
use crate::progress::Progress;
use crate::quiet::{self, Standing, Verdict, View};
use crate::session::PATIENCE;
use crate::state::{Holder, Lock, StateDir};
use crate::summary;
use crate::sync::{self, Watched};
use outage::Outage;

/// After this, people are told that `up` waits for its predecessor.
const NOTICE: Duration = Duration::from_millis(500);

pub(crate) struct Options {
    pub state: PathBuf,
    pub directories: Vec<Watched>,
    pub until_settled: bool,
    pub timeout: Option<Duration>,
    pub slots: usize,
    pub images: Vec<String>,
    pub isolation: Isolation,
}

/// Why an `up` ends without a failure.
enum End {
    Settled(Verdict),
    TimedOut(String),
    Interrupted,
}

/// Serves until it is told to end, or has nothing left to do.
pub(crate) async fn up(options: Options, console: &Console) -> Result<Exit, Failure> {
    let signals = Shutdown::on_signals().map_err(|error| Failure::System(format!("signals: {error}")))?;
    let state = StateDir::create(&options.state)?;
    let lock = lock(&state, console).await?;
    let server = NatsChild::start(&state, &lock).await?;
    let ended = tokio::select! {
        ended = serve(&options, &state, &lock, &server, console, signals) => ended,
        error = server.ended() => Err(error.into()),
    };
    server.stop().await;
    match ended? {
        End::Settled(verdict) => Ok(verdict.exit()),
        End::TimedOut(reason) => {
            console.say(&format!("gave up: {reason}"));
            Ok(Exit::TimedOut)
        }
        End::Interrupted if options.until_settled => Ok(Exit::Interrupted),
        End::Interrupted => Ok(Exit::Done),
    }
}

async fn lock(state: &StateDir, console: &Console) -> Result<Lock, Failure> {
    if let Ok(lock) = state.lock(NOTICE).await {
        return Ok(lock);
    }
    console.say(&format!("waiting: {}", state.held()));
    Ok(state.lock(PATIENCE).await?)
}

async fn serve(
    options: &Options,
    state: &StateDir,
    lock: &Lock,
    server: &NatsChild,
    console: &Console,
    mut signals: Shutdown,
) -> Result<End, Failure> {
    let holder = Holder { pid: std::process::id(), serves: true, server: Some(server.pid), url: None };
    lock.tell(&holder)?;
    let platform = Platform::embedded(&server.bus, Clock::System).await?;
    let (trigger, shutdown) = Shutdown::new();
    let mut tasks = JoinSet::new();
    services::spawn(&mut tasks, &platform, options, state, &shutdown);
    let (standing, synced) = watch::channel(sync::Standing::default());
    services::spawn_sync(&mut tasks, &platform, options, state, console, standing, &shutdown);
    // From here on others may ask.
    lock.tell(&Holder { url: Some(server.bus.url.clone()), ..holder })?;
    console.say(&format!("serving {} at {}", state.root().display(), server.bus.url));
    let ended = tokio::select! {
        () = signals.requested() => Ok(End::Interrupted),
        failure = services::ended(&mut tasks) => Err(failure),
        ended = Box::pin(settle(options, &platform, synced, console)) => ended,
    };
    trigger.request();
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, all).await.is_err() {
        tracing::warn!("ended with work in hand; it will be done next time");
    }
    ended
}

/// Shows what happens. Returns when everything is done, if that is asked for, or when the time is up. A bus that does
/// not answer is said, and asked again.
async fn settle(
    options: &Options,
    platform: &Platform,
    mut synced: watch::Receiver<sync::Standing>,
    console: &Console,
) -> Result<End, Failure> {
    let mut progress = Progress::new(console);
    let mut outage = Outage::new(console);
    let mut obstacle = "nothing has been looked at yet".to_owned();
    let reached = async {
        let probe = quiet::open(platform, |failure| obstacle = outage.failed(failure)).await;
        let (view, verdict) = quiet::reached(&probe, &mut synced, |looked| match looked {
            Ok((view, standing)) => {
                outage.over();
                progress.update(view);
                if let Standing::Busy(reason) | Standing::Draining(reason) = standing {
                    tracing::debug!(reason, "not quiet");
                    obstacle.clone_from(reason);
                }
            }
            Err(failure) => obstacle = outage.failed(failure),
        })
        .await;
        (probe, view, verdict)
    };
    let settled = match options.timeout {
        None => Some(reached.await),
        Some(limit) => tokio::time::timeout(limit, reached).await.ok(),
    };
    progress.finish();
    let Some((probe, view, verdict)) = settled else {
        return Ok(End::TimedOut(obstacle));
    };
    show(&view, &verdict, console).await?;
    if options.until_settled {
        return Ok(End::Settled(verdict));
    }
    console.say("settled; serving until Ctrl-C");
    let never = quiet::follow(&probe, |looked| match looked {
        Ok(view) => {
            outage.over();
            progress.update(view);
        }
        Err(failure) => drop(outage.failed(failure)),
    });
    match never.await {}
}

async fn show(view: &View, verdict: &Verdict, console: &Console) -> Result<(), Failure> {
    let reasons = summary::reasons(view, verdict);
    let placements = summary::placements(view);
    let view = view.clone();
    let repositories = tokio::task::spawn_blocking(move || summary::repositories(&view)).await;
    let repositories =
        repositories.map_err(|error| Failure::System(format!("reading repositories: {error}")))?;
    console.print(&format!("{placements}{repositories}"))?;
    reasons.lines().for_each(|line| console.say(line));
    Ok(())
}
