//! What a record and its successor show.

use super::{Findings, Invariant};
use crate::footprint::StoreWrites;
use crate::lane::{Lane, Life, PipelinePhase};
use crate::plan::WorkflowAction;

pub(super) fn numbers(before: &Lane, findings: &mut Findings<'_>) {
    let after = findings.lane;
    let same = before.key == after.key && before.incarnation == after.incarnation;
    findings.require(Invariant::Events, same, || "it follows a record of another lane".into());
    findings.require(Invariant::Events, after.sequence == before.sequence + 1, || {
        format!("it follows record {}", before.sequence)
    });
    findings.require(Invariant::Order, before.run_counter <= after.run_counter, || {
        format!("the run counter goes back from {} to {}", before.run_counter, after.run_counter)
    });
    let life = match (before.life, after.life) {
        (Life::New | Life::Released, Life::Live) | (Life::Live, Life::Live | Life::Released) => true,
        (Life::New | Life::Released | Life::Live, Life::New)
        | (Life::New | Life::Released, Life::Released) => false,
    };
    findings.require(Invariant::Order, life, || format!("{:?} follows {:?}", after.life, before.life));
    for old in &before.seen {
        let older =
            after.seen.iter().find(|new| new.key == old.key && new.resource_version < old.resource_version);
        findings.require(Invariant::NoLostChange, older.is_none(), || {
            format!("{} goes back behind version {}", old.key, old.resource_version.0)
        });
    }
}

pub(super) fn tokens(before: &Lane, findings: &mut Findings<'_>) {
    let after = findings.lane;
    let (Some(old), Some(new)) = (&before.run, &after.run) else {
        let number = after.run.as_ref().map(|run| run.number);
        return findings.require(Invariant::Order, number.is_none_or(|new| new > before.run_counter), || {
            format!("run {number:?} is not above the counter {}", before.run_counter)
        });
    };
    findings.require(Invariant::Order, old.last_token() <= new.last_token(), || {
        format!("token {} follows {}", new.last_token(), old.last_token())
    });
    let fresh = new.number == old.number || new.number > before.run_counter;
    findings.require(Invariant::Order, fresh, || format!("run {} has been used before", new.number));
    if let (Some(one), Some(next)) = (old.token(), new.token()) {
        findings.require(Invariant::SingleRunner, one <= next, || format!("job {next} replaces {one}"));
    }
}

pub(super) fn order(before: &Lane, findings: &mut Findings<'_>) {
    let after = findings.lane;
    let (Some(old), Some(new)) = (&before.run, &after.run) else { return };
    if old.number == new.number {
        let undone = old.pipelines.iter().zip(&new.pipelines).find(|(old, new)| {
            old.phase == PipelinePhase::Succeeded && new.phase != PipelinePhase::Succeeded
        });
        findings.require(Invariant::EffectOnce, undone.is_none(), || {
            format!("{undone:?}: a pipeline that had succeeded runs again in its run")
        });
    }
    let again = old.plan.uid == new.plan.uid
        && old.plan.action == WorkflowAction::Delete
        && new.plan.action == WorkflowAction::Configure;
    findings.require(Invariant::Order, !again, || "configure follows delete".into());
}

pub(super) fn writes(before: &Lane, findings: &mut Findings<'_>) {
    let after = findings.lane;
    for (store, old) in &before.footprint.stores {
        let forward = |new: &StoreWrites| old.serial <= new.serial && old.answered <= new.answered;
        let new = after.footprint.stores.get(store);
        findings.require(Invariant::Order, new.is_some_and(forward), || {
            format!("the writes of {store} go back from {old:?} to {new:?}")
        });
    }
}
