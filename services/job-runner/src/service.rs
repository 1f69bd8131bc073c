//! The service around the process side: takes jobs off the bus, runs them, and says how they ended.
//!
//! decode -> admit (the record must still want this very job) -> load -> run -> store what it left -> RESULT -> ack.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::lane::{JobOutcome, RunState};
use domain::plan::Plan;
use messages::job::JobCommand;
use messages::result::{JobEnd, ResultBody, ResultMessage};
use messages::subject::{self, DEFAULT_POOL, durable, stream};
use messages::trace::TraceParent;
use runtime::bus::{ConsumerSpec, Delivery, Disposition, Records};
use runtime::shutdown::Shutdown;
use runtime::telemetry::chain;
use runtime::{Platform, artifacts, bus};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::cancels::Cancels;
use crate::images::{self, Images};
use crate::process::{self, Isolation};
use crate::{assemble, end};

/// A runner that is silent for this long has lost its job to another.
const ACK_WAIT: Duration = Duration::from_secs(5);
/// Each tick says that the job is alive, and reads in the record whether it should go on.
const TICK: Duration = Duration::from_millis(1500);
const MOST_JOBS: i64 = 200;
/// When to ask again for a job whose lane is still busy on this host: the record is then read anew.
const IN_HAND: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct Options {
    /// Jobs at a time.
    pub slots: usize,
    /// `REF=scripts:DIR`, `REF=rootfs:DIR`, `REF=host`.
    pub images: Vec<String>,
    /// Directory of this host and user for the lanes' locks.
    pub state: PathBuf,
    pub isolation: Isolation,
}

/// Twice the processors: pipelines wait for the network more than they compute.
pub fn default_slots() -> usize {
    std::thread::available_parallelism().map_or(4, |processors| 2 * processors.get())
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Bus(#[from] bus::Error),
    #[error(transparent)]
    Images(#[from] images::Error),
    #[error("the runner's directory {}", directory.display())]
    Directory { directory: PathBuf, source: std::io::Error },
    #[error("listening for cancels")]
    Cancels(#[source] async_nats::SubscribeError),
    #[error(transparent)]
    Artifact(#[from] artifacts::Error),
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error("the input of {lane} has no YAML form")]
    Input { lane: String, source: serde_saphyr::ser::Error },
}

pub(crate) struct Runner {
    pub(crate) platform: Platform,
    records: Records,
    cancels: Cancels,
    pub(crate) images: Images,
    pub(crate) locks: PathBuf,
    pub(crate) isolation: Isolation,
}

/// Runs until the shutdown; jobs in hand are ended and handed back.
pub async fn run(platform: Platform, options: Options, shutdown: Shutdown) -> Result<(), Error> {
    let locks = options.state.join("lanes");
    std::fs::create_dir_all(&locks)
        .map_err(|source| Error::Directory { directory: locks.clone(), source })?;
    let spec = ConsumerSpec {
        stream: stream::JOB,
        durable: durable::run(DEFAULT_POOL),
        filter: subject::jobs_of(DEFAULT_POOL),
        ack_wait: ACK_WAIT,
        max_ack_pending: MOST_JOBS,
    };
    let runner = Arc::new(Runner {
        records: Records::open(&platform.bus).await?,
        cancels: Cancels::listen(platform.bus.client(), shutdown.clone()).await.map_err(Error::Cancels)?,
        images: Images::parse(&options.images)?,
        locks,
        isolation: options.isolation,
        platform,
    });
    // One fetch per slot: a job that waited behind another in this process would look dead to the server.
    let slots =
        (0..options.slots.max(1)).map(|_| tokio::spawn(runner.clone().slot(spec.clone(), shutdown.clone())));
    futures::future::join_all(slots).await;
    Ok(())
}

impl Runner {
    async fn slot(self: Arc<Self>, spec: ConsumerSpec, mut shutdown: Shutdown) {
        while !shutdown.is_requested() {
            let fetched = async {
                let consumer = self.platform.bus.consumer(&spec).await?;
                loop {
                    let jobs = self.platform.bus.fetch(&consumer, 1, &mut shutdown).await?;
                    for delivery in jobs {
                        let disposition = self.handle(&delivery, shutdown.clone()).await;
                        delivery.settle(&self.platform.bus, disposition).await;
                    }
                    if shutdown.is_requested() {
                        return Ok::<(), bus::Error>(());
                    }
                }
            };
            if let Err(error) = fetched.await {
                tracing::warn!(error = chain(&error), "no jobs for a moment");
                tokio::select! {
                    () = shutdown.requested() => {}
                    () = tokio::time::sleep(Duration::from_millis(500)) => {}
                }
            }
        }
    }

    async fn handle(&self, delivery: &Delivery, shutdown: Shutdown) -> Disposition {
        let received = match delivery.decode::<JobCommand>() {
            Ok(received) => received,
            Err(error) => return Disposition::Dead(chain(&error)),
        };
        let (command, trace) = (received.message, received.trace);
        tracing::info!(lane = %command.lane, job = %command.job, "job received");
        let (cancel, cancelled) = watch::channel(false);
        let Some(_held) = self.cancels.register(&command.lane, &command.job, cancel.clone()) else {
            return Disposition::Retry(IN_HAND);
        };
        let taken = self.take(&command, trace, cancelled, shutdown);
        tokio::pin!(taken);
        let mut ticks = tokio::time::interval(TICK);
        ticks.tick().await;
        // Until the result is out: also while outputs are read and stored.
        let taken = loop {
            tokio::select! {
                taken = &mut taken => break taken,
                _ = ticks.tick() => {
                    delivery.progress().await;
                    self.reconsider(&command, &cancel).await;
                }
            }
        };
        taken.unwrap_or_else(|error| {
            tracing::warn!(lane = %command.lane, job = %command.job, error = chain(&error), "trying again");
            Disposition::Retry(Duration::from_secs(1))
        })
    }

    async fn take(
        &self,
        command: &JobCommand,
        trace: Option<TraceParent>,
        cancelled: watch::Receiver<bool>,
        shutdown: Shutdown,
    ) -> Result<Disposition, Error> {
        let outcome = match self.standing(command).await? {
            Standing::Over => return Ok(Disposition::Ack),
            Standing::Cancelled => JobOutcome::Cancelled { log: None },
            Standing::Wanted => match self.execute(command, cancelled, shutdown.clone()).await? {
                Some(outcome) => outcome,
                None if shutdown.is_requested() => return Ok(Disposition::Retry(Duration::ZERO)),
                None => return Ok(Disposition::Retry(IN_HAND)),
            },
        };
        self.answer(command, outcome, trace).await?;
        Ok(Disposition::Ack)
    }

    /// Whether the record still wants this job.
    async fn standing(&self, command: &JobCommand) -> Result<Standing, Error> {
        let lane = self.records.load(&command.lane).await?.lane;
        Ok(match (lane.job(), lane.run.map(|run| run.state)) {
            (Some(job), Some(RunState::Running { cancel, .. })) if job == command.job => match cancel {
                Some(_) => Standing::Cancelled,
                None => Standing::Wanted,
            },
            _ => Standing::Over,
        })
    }

    /// Runs the job. None: it did not come to an end here, and is to be delivered again.
    async fn execute(
        &self,
        command: &JobCommand,
        cancelled: watch::Receiver<bool>,
        mut shutdown: Shutdown,
    ) -> Result<Option<JobOutcome>, Error> {
        let plan: Plan = match self.platform.artifacts.get_json(&command.plan).await {
            Ok(plan) => plan,
            // It will not come back by itself: better a run that fails and says why than one that waits for ever.
            Err(error @ artifacts::Error::Missing(_)) => {
                return Ok(Some(JobOutcome::Failed { message: chain(&error), log: None }));
            }
            Err(error) => return Err(error.into()),
        };
        let contributed: Map<String, Value> = match &command.contributed {
            Some(digest) => self.platform.artifacts.get_json(digest).await?,
            None => Map::new(),
        };
        let (job, token) = match assemble::job(self, command, &plan, &contributed)? {
            Ok(ready) => ready,
            Err(message) => return Ok(Some(JobOutcome::Failed { message, log: None })),
        };
        let running = process::run(job, token, cancelled);
        tokio::pin!(running);
        let finished = tokio::select! {
            finished = &mut running => finished?,
            // Dropping it ends the job's tree.
            () = shutdown.requested() => return Ok(None),
        };
        end::outcome(self, command, &plan, contributed, finished).await
    }

    /// An outage of the bus ends nothing: only a record that says so does.
    async fn reconsider(&self, command: &JobCommand, cancel: &watch::Sender<bool>) {
        match self.standing(command).await {
            Ok(Standing::Wanted) => {}
            Ok(Standing::Cancelled | Standing::Over) => drop(cancel.send_replace(true)),
            Err(error) => tracing::debug!(error = chain(&error), "record not read; the job goes on"),
        }
    }

    async fn answer(
        &self,
        command: &JobCommand,
        end: JobOutcome,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let subject = subject::result(&command.lane.0);
        let body = ResultBody::Job(JobEnd { lane: command.lane.clone(), job: command.job.clone(), end });
        let encoded = self.platform.bus.encode(&subject, &ResultMessage { body }, trace)?;
        let id = subject::result_message_id(&command.job);
        tracing::info!(lane = %command.lane, job = %command.job, "result published");
        Ok(self.platform.bus.publish_surely(&subject, &encoded, Some(&id)).await?)
    }
}

enum Standing {
    Wanted,
    Cancelled,
    /// The record has moved on: nobody waits for a result.
    Over,
}
