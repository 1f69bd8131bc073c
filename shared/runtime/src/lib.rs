//! Adapters that all services share: the bus, objects, artifacts, configuration, logs, shutdown, time.
//!
//! The only shared crate with a runtime. A service gets a [`Platform`] and a [`shutdown::Shutdown`] and runs until
//! it is asked to stop.

pub mod artifacts;
pub mod bus;
pub mod clock;
pub mod config;
pub mod objects;
pub mod pack;
pub mod service;
pub mod shutdown;
pub mod sweep;
pub mod telemetry;

use std::sync::Arc;

/// What every service stands on.
#[derive(Clone)]
pub struct Platform {
    pub bus: bus::Bus,
    pub objects: Arc<dyn objects::Objects>,
    pub artifacts: artifacts::Artifacts,
    pub clock: clock::Clock,
}

impl Platform {
    /// Connects, makes sure that every stream and bucket is there, and opens the embedded objects.
    pub async fn embedded(config: &config::BusConfig, clock: clock::Clock) -> Result<Self, bus::Error> {
        let bus = bus::Bus::connect(config).await?;
        bus.provision(config).await?;
        let bus = bus.identified().await?;
        let objects = Arc::new(objects::Embedded::open(&bus, clock.clone()).await?);
        let artifacts = artifacts::Artifacts::open(&bus).await?;
        Ok(Self { bus, objects, artifacts, clock })
    }
}
