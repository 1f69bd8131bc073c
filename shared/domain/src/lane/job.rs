//! A job ends: what it leaves is wanted, and the lane goes on.

use super::Lane;
use super::input::{JobOutcome, Outcome};
use super::run::{Cancel, PipelinePhase, RunState};
use super::step::Transition;
use crate::placement::Destinations;
use crate::time::Timestamp;
use crate::token::{JobId, Token};

/// No lane gets here by running; what a number above would do to the counter could not be undone.
const NO_SUCH_RUN: u64 = 1 << 53;

impl Lane {
    pub(super) fn job_finished(
        &mut self,
        job: &JobId,
        outcome: JobOutcome,
        destinations: &Destinations,
        now: Timestamp,
    ) -> Result<Transition, Outcome> {
        if self.job().as_ref() != Some(job) {
            let past = self.highest_token().is_some_and(|highest| job.token <= highest);
            return Err(if past && job.incarnation == self.incarnation {
                Outcome::Duplicate
            } else {
                Outcome::Stale
            });
        }
        let (index, cancel) = match self.run.as_ref().map(|run| &run.state) {
            Some(RunState::Running { pipeline, cancel }) => (*pipeline, *cancel),
            _ => return Err(Outcome::Stale),
        };
        let transition = self.take_outcome(index, outcome, destinations, now);
        match (cancel, transition) {
            (Some(cancel), _) => self.finish_cancel(cancel),
            (None, Transition::PipelineSucceeded) => self.next_pipeline(index + 1, now),
            // Nobody asked for a cancelled or refused job to end: it is simply run again.
            (None, Transition::PipelineCancelled | Transition::RunRenumbered) => {
                self.next_pipeline(index, now);
            }
            (None, _) => {}
        }
        Ok(transition)
    }

    fn take_outcome(
        &mut self,
        index: u32,
        outcome: JobOutcome,
        destinations: &Destinations,
        now: Timestamp,
    ) -> Transition {
        let phase = |lane: &mut Self, phase, message: Option<String>, log| {
            let pipeline = lane.run.as_mut().and_then(|run| run.pipeline_mut(index));
            if let Some(pipeline) = pipeline {
                (pipeline.phase, pipeline.message, pipeline.log, pipeline.since) = (phase, message, log, now);
            }
        };
        match outcome {
            JobOutcome::Succeeded { groups, contributed, log } => {
                phase(self, PipelinePhase::Succeeded, None, log);
                self.contributed = contributed.or_else(|| self.contributed.take());
                self.want(index, groups, destinations);
                Transition::PipelineSucceeded
            }
            JobOutcome::Failed { message, log } => {
                phase(self, PipelinePhase::Failed, Some(message), log);
                self.set_state(RunState::Failed { pipeline: index });
                Transition::PipelineFailed
            }
            JobOutcome::Cancelled { log } => {
                phase(self, PipelinePhase::Pending, None, log);
                Transition::PipelineCancelled
            }
            JobOutcome::Suspended { message, retry_after, contributed, log } => {
                phase(self, PipelinePhase::Suspended, Some(message), log);
                self.contributed = contributed.or_else(|| self.contributed.take());
                let retry_at = retry_after.map(|after| now + after);
                self.set_state(RunState::Suspended { pipeline: index, retry_at });
                Transition::PipelineSuspended
            }
            JobOutcome::Refused { highest } => {
                if self.renumber_above(highest) {
                    phase(self, PipelinePhase::Pending, None, None);
                    return Transition::RunRenumbered;
                }
                phase(
                    self,
                    PipelinePhase::Failed,
                    Some(format!("a sink claims to know run {}", highest.run)),
                    None,
                );
                self.set_state(RunState::Failed { pipeline: index });
                Transition::PipelineFailed
            }
        }
    }

    pub(super) fn set_state(&mut self, state: RunState) {
        if let Some(run) = self.run.as_mut() {
            run.state = state;
        }
    }

    /// The job has ended, one way or another: what its cancelling was for can go on.
    fn finish_cancel(&mut self, cancel: Cancel) {
        match cancel {
            Cancel::Restart | Cancel::Replaced => {
                self.controls.again = true;
                self.set_state(RunState::Superseded);
            }
            Cancel::Abort => self.set_state(RunState::Aborted),
        }
    }

    /// Goes on at pipeline `index`, or past the last one; unless something newer waits (rule 3)
    /// or the lane is held.
    fn next_pipeline(&mut self, index: u32, now: Timestamp) {
        let ends = self.controls.again || !self.may_go_on();
        let Some(run) = self.run.as_mut() else { return };
        if ends {
            run.state = RunState::Superseded;
        } else if !run.run_pipeline(index, now) {
            self.pipelines_done();
        }
    }

    /// A sink knows a higher token: this run goes on under a number above it, if such a number is credible.
    fn renumber_above(&mut self, highest: Token) -> bool {
        let Some(run) = self.run.as_mut().filter(|_| highest.run < NO_SUCH_RUN) else { return false };
        let old = run.number;
        self.run_counter = self.run_counter.max(highest.run) + 1;
        run.number = self.run_counter;
        for output in self.outputs.iter_mut().filter(|output| output.run == old) {
            output.run = run.number;
        }
        true
    }
}
