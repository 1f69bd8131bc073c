//! The scheduler: the one writer of lane records. It decides when, and never how.
//!
//! Every input goes the same way: decode -> load the record -> [`Lane::step`](domain::lane::Lane::step) -> save by
//! compare-and-set -> perform what is pending -> acknowledge. Any number of replicas may do so at once.

mod decode;
mod dependents;
mod destinations;
mod error;
mod gates;
mod lanes;
mod perform;
mod status;
mod sweep;
mod timers;

pub use error::Error;

use std::sync::Arc;
use std::time::Duration;

use messages::subject::{self, durable, stream};
use resources::keys::KRATIX_GROUP;
use runtime::Platform;
use runtime::bus::{ConsumerSpec, Delivery, Disposition, Records, Register};
use runtime::objects::Snapshot;
use runtime::shutdown::Shutdown;

use domain::id::ResourceKind;

/// Messages handled at a time, per consumer.
const CONCURRENCY: usize = 32;
/// How long a message waits when its replica has died.
const ACK_WAIT: Duration = Duration::from_secs(5);

/// What every part of the scheduler works with.
#[derive(Clone)]
pub(crate) struct Scheduler {
    platform: Platform,
    records: Records,
    plans: Register,
    timers: Register,
    jobs: Register,
    /// Destinations and stores.
    places: Snapshot,
}

fn destination_kinds() -> [ResourceKind; 3] {
    ["destinations", "gitstatestores", "bucketstatestores"]
        .map(|plural| ResourceKind::new(plural, KRATIX_GROUP))
}

/// Runs until the shutdown.
pub async fn run(platform: Platform, shutdown: Shutdown) -> Result<(), Error> {
    let bus = platform.bus.clone();
    let places =
        Snapshot::follow(platform.objects.clone(), destination_kinds().to_vec(), shutdown.clone()).await?;
    let scheduler = Arc::new(Scheduler {
        records: Records::open(&bus).await?,
        plans: Register::open(&bus, stream::PLAN).await?,
        timers: Register::open(&bus, stream::TIMER).await?,
        jobs: Register::open(&bus, stream::JOB).await?,
        places,
        platform,
    });
    let spec = |stream, filter: &str, durable: String| ConsumerSpec {
        stream,
        durable,
        filter: filter.to_owned(),
        ack_wait: ACK_WAIT,
        max_ack_pending: 256,
    };
    let plans = spec(stream::PLAN, subject::ALL_PLANS, durable::SCHEDULE.into());
    let results = spec(stream::RESULT, subject::ALL_RESULTS, durable::SCHEDULE.into());
    let due = spec(stream::TIMER, subject::ALL_TIMERS_DUE, durable::SCHEDULE.into());
    let intents = destination_kinds().map(|kind| {
        spec(
            stream::INTENT,
            &subject::intents_of(&kind),
            format!("{}-{}", durable::DESTINATIONS, kind.plural),
        )
    });
    let [destinations, git_stores, bucket_stores] = &intents;
    tokio::try_join!(
        scheduler.consume(&plans, &shutdown, |s, d| async move { s.on_plan(&d).await }),
        scheduler.consume(&results, &shutdown, |s, d| async move { s.on_result(&d).await }),
        scheduler.consume(&due, &shutdown, |s, d| async move { s.on_timer(&d).await }),
        scheduler.consume(destinations, &shutdown, |s, d| async move { s.on_destination(&d).await }),
        scheduler.consume(git_stores, &shutdown, |s, d| async move { s.on_destination(&d).await }),
        scheduler.consume(bucket_stores, &shutdown, |s, d| async move { s.on_destination(&d).await }),
        async {
            let _: () =
                runtime::sweep::until_shutdown(sweep::EVERY, shutdown.clone(), || scheduler.sweep()).await;
            Ok(())
        },
    )?;
    Ok(())
}

impl Scheduler {
    async fn consume<F, H>(
        self: &Arc<Self>,
        spec: &ConsumerSpec,
        shutdown: &Shutdown,
        handle: F,
    ) -> Result<(), Error>
    where
        F: Fn(Arc<Self>, Arc<Delivery>) -> H + Send + Sync + 'static,
        H: Future<Output = Result<(), Error>> + Send,
    {
        let scheduler = self.clone();
        let handle = move |delivery: Arc<Delivery>| {
            let handled = handle(scheduler.clone(), delivery.clone());
            async move {
                match handled.await {
                    Ok(()) => Disposition::Ack,
                    Err(error) => error.disposition(&delivery),
                }
            }
        };
        Ok(self.platform.bus.consume(spec, CONCURRENCY, shutdown.clone(), handle).await?)
    }
}
