//! Black-box tests: the programs over a real nats-server, real Git repositories, real processes.
//!
//! A test sets up a [`Stage`], applies manifests, lets pipelines run step by step through their [`stage::Signals`],
//! and reads objects and repositories. Nothing sleeps to wait: every wait is for an event, with a limit.

pub mod git;
pub mod laptop;
pub mod manifests;
pub mod programs;
pub mod signals;
pub mod stage;

pub use git::Repository;
pub use laptop::Laptop;
pub use signals::Signals;
pub use stage::Stage;

use std::time::Duration;

/// No wait takes longer on a working system, however busy the machine.
pub const LIMIT: Duration = Duration::from_mins(1);

/// It has run and is settled; a lane that nothing has reached yet is settled too.
pub fn lane_settled(lane: &domain::lane::Lane) -> bool {
    lane.run.is_some() && lane.is_settled()
}

pub fn lane_deleting(lane: &domain::lane::Lane) -> bool {
    lane.is_deleting()
}
