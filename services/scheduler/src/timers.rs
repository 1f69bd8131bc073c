//! Timers: messages that the server holds back until they are due.

use domain::id::LaneKey;
use domain::lane::{Input, Timer};
use domain::time::Timestamp;
use messages::subject;
use messages::timer::{SCHEDULE, SCHEDULE_TARGET, TimerCommand};
use messages::trace::TraceParent;

use crate::{Error, Scheduler};

/// `@at <RFC 3339>`, not before the time: rounded up to whole seconds.
fn schedule(at: Timestamp) -> String {
    format!("@at {}", runtime::clock::rfc3339(Timestamp(at.0 + 999)))
}

impl Scheduler {
    /// Sets the timer unless it is set to the same time already. One that is past fires at once.
    pub(crate) async fn arm_timer(
        &self,
        lane: &LaneKey,
        timer: Timer,
        at: Timestamp,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        if at <= self.platform.clock.now() {
            let next = self.transact(lane, trace, vec![Input::TimerFired(timer)]).await?;
            return Box::pin(self.perform(next, trace)).await;
        }
        let (set, due) = (subject::timer_set(&timer, lane), subject::timer_due(&timer, lane));
        let when = schedule(at);
        let current = self.timers.load(&set).await?;
        if current.is_some_and(|current| current.header(SCHEDULE).as_ref() == Some(&when)) {
            return Ok(());
        }
        let mut encoded =
            self.platform.bus.encode(&set, &TimerCommand { lane: lane.clone(), timer }, trace)?;
        encoded.headers.extend([(SCHEDULE, when), (SCHEDULE_TARGET, due), ("Nats-Rollup", "sub".to_owned())]);
        Ok(self.platform.bus.publish_surely(&set, &encoded, None).await?)
    }
}
