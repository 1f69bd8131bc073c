//! The inflater: what. Admits objects (the only writer of specs), and turns each change into an explicit plan.
//!
//! `admit.apply`, `admit.delete` -> check -> write -> INTENT; INTENT -> read -> inflate -> PLAN.

mod admission;
mod error;
mod intents;
mod sweep;
mod world;

pub use error::Error;

use std::sync::Arc;
use std::time::Duration;

use messages::subject::{self, durable, stream};
use runtime::Platform;
use runtime::bus::{ConsumerSpec, Delivery, Disposition, Register};
use runtime::shutdown::Shutdown;

use world::Worlds;

const CONCURRENCY: usize = 16;

pub(crate) struct Inflater {
    platform: Platform,
    plans: Register,
    worlds: Worlds,
    /// Held while an object is checked and written that others must not clash with.
    unique: tokio::sync::Mutex<()>,
}

/// Runs until the shutdown.
pub async fn run(platform: Platform, shutdown: Shutdown) -> Result<(), Error> {
    let bus = platform.bus.clone();
    let worlds = Worlds::follow(platform.objects.clone(), shutdown.clone()).await?;
    let plans = Register::open(&bus, stream::PLAN).await?;
    let inflater = Arc::new(Inflater { platform, plans, worlds, unique: tokio::sync::Mutex::new(()) });
    let intents = ConsumerSpec {
        stream: stream::INTENT,
        durable: durable::INFLATE.into(),
        filter: subject::ALL_INTENTS.into(),
        ack_wait: Duration::from_secs(5),
        max_ack_pending: 256,
    };
    let handler = inflater.clone();
    let handle = move |delivery: Arc<Delivery>| {
        let inflater = handler.clone();
        async move {
            match inflater.on_intent(&delivery).await {
                Ok(()) => Disposition::Ack,
                Err(error) => error.disposition(&delivery),
            }
        }
    };
    tokio::try_join!(
        inflater.serve_admission(shutdown.clone()),
        async { Ok(bus.consume(&intents, CONCURRENCY, shutdown.clone(), handle).await?) },
        async {
            let _: () =
                runtime::sweep::until_shutdown(sweep::EVERY, shutdown.clone(), || inflater.sweep()).await;
            Ok(())
        },
    )?;
    Ok(())
}
