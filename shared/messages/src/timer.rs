//! TIMER: delivered back when it is due.

use domain::id::LaneKey;
use domain::lane::Timer;
use serde::{Deserialize, Serialize};

use crate::envelope::Message;

/// Header that asks the server to hold the message back until a time.
pub const SCHEDULE: &str = "Nats-Schedule";
/// Header that names the subject the held message is then published on.
pub const SCHEDULE_TARGET: &str = "Nats-Schedule-Target";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimerCommand {
    pub lane: LaneKey,
    #[serde(flatten)]
    pub timer: Timer,
}

impl Message for TimerCommand {
    const TYPE: &'static str = "timer";
    const VERSION: u32 = 1;
}
