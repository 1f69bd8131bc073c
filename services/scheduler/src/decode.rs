//! From messages to inputs.

use domain::id::LaneKey;
use domain::lane::{Input, PlanArrival};
use domain::problem::{Problem, Severity};
use messages::envelope::Message;
use messages::plan::PlanEntry;
use messages::result::{ResultBody, ResultMessage};
use messages::timer::TimerCommand;
use messages::trace::TraceParent;
use runtime::bus::Delivery;

use crate::{Error, Scheduler};

fn decoded<M: Message>(delivery: &Delivery) -> Result<(M, Option<TraceParent>), Error> {
    let received = delivery.decode::<M>();
    let failed = |source| Error::Decode { subject: delivery.subject.clone(), source };
    received.map(|received| (received.message, received.trace)).map_err(failed)
}

/// What the lane is told of a plan; none where the object cannot be planned.
pub(crate) fn arrival(entry: &PlanEntry) -> Option<PlanArrival> {
    let unsupported: Vec<Problem> =
        entry.problems.iter().filter(|problem| problem.severity == Severity::Unsupported).cloned().collect();
    Some(PlanArrival {
        plan: entry.plan.clone()?,
        sources: entry.sources.clone(),
        controls: entry.controls.clone(),
        unsupported,
    })
}

impl Scheduler {
    pub(crate) async fn on_plan(&self, delivery: &Delivery) -> Result<(), Error> {
        if delivery.payload.is_empty() {
            return Ok(()); // the object is gone
        }
        let (entry, trace) = decoded::<PlanEntry>(delivery)?;
        self.take_plan(&entry, trace).await
    }

    pub(crate) async fn take_plan(&self, entry: &PlanEntry, trace: Option<TraceParent>) -> Result<(), Error> {
        let Some(arrival) = arrival(entry) else { return self.report_support(entry).await };
        let lane = self.transact(&entry.lane, trace, vec![Input::PlanArrived(arrival)]).await?;
        self.perform(lane, trace).await
    }

    pub(crate) async fn on_result(&self, delivery: &Delivery) -> Result<(), Error> {
        let (message, trace) = decoded::<ResultMessage>(delivery)?;
        let (lane, input): (LaneKey, Input) = match message.body {
            ResultBody::Job(end) => {
                let destinations = self.destinations();
                (end.lane, Input::JobFinished { job: end.job, outcome: end.end, destinations })
            }
            ResultBody::Write(answer) => {
                let (store, serial, result) = (answer.store, answer.serial, answer.answer);
                (answer.lane, Input::WriteAnswered { store, serial, result })
            }
            ResultBody::Destination(answer) => return self.report_destination(&answer).await,
        };
        let lane = self.transact(&lane, trace, vec![input]).await?;
        self.perform(lane, trace).await
    }

    pub(crate) async fn on_timer(&self, delivery: &Delivery) -> Result<(), Error> {
        let (command, trace) = decoded::<TimerCommand>(delivery)?;
        let lane = self.transact(&command.lane, trace, vec![Input::TimerFired(command.timer)]).await?;
        self.perform(lane, trace).await
    }
}
